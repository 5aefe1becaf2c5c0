//! The texts of rejects, for `--show-values`.

use std::sync::Arc;

use console::Term;
use tokenline::json::Parser;
use tokenline::schema::{SchemaValidator, ToolSet};
use tokenline::{
    CompletedBy, Diagnostic, Origin, Record, Recovered, Rejected, RejectedCall, Span, ToolCall,
    Validate as _, adapter,
};

use crate::excerpt::Excerpt;

/// The texts of the rejects that are not written yet. Clones share them.
#[derive(Clone)]
pub(crate) struct RejectedTexts {
    texts: adapter::RejectedTexts,
    /// The schema of the records and the tools, to find the place of a violation.
    schema: Option<SchemaValidator>,
    tools: Option<Arc<ToolSet>>,
}

impl RejectedTexts {
    pub(crate) fn new(schema: Option<SchemaValidator>, tools: Option<Arc<ToolSet>>) -> Self {
        Self { texts: adapter::RejectedTexts::default(), schema, tools }
    }

    /// The texts of other rejects, of the same rules.
    pub(crate) fn separate(&self) -> Self {
        Self::new(self.schema.clone(), self.tools.clone())
    }

    /// A repair hook that keeps each text, and replaces none.
    pub(crate) fn hook(&self) -> impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static {
        self.texts.hook()
    }

    pub(crate) fn push(&self, rejected: Rejected) {
        self.texts.push(rejected);
    }

    /// Takes the text of a reject. Those that are asked for again are decided out of order.
    pub(super) fn take(&self, diagnostic: &Diagnostic) -> Option<String> {
        self.texts.remove(diagnostic)
    }

    /// The place of the fault in the text of a rejected record, if messages go to a terminal.
    pub(super) fn excerpt(&self, text: &str) -> Option<Excerpt> {
        excerpt(text, || self.fault(text))
    }

    /// The place of the fault in what was received of a rejected call, likewise.
    pub(super) fn excerpt_of_call(&self, call: &RejectedCall) -> Option<Excerpt> {
        excerpt(&call.received, || self.fault_of_call(call))
    }

    /// The offset of the fault in the text of a rejected record.
    fn fault(&self, text: &str) -> Option<usize> {
        let mut parser = Parser::new();
        match parser.parse(text) {
            Err(error) => Some(error.offset),
            Ok(record) if record.as_object().is_none() => Some(0),
            Ok(record) => Some(self.schema.as_ref()?.validate(record).err()?.offset),
        }
    }

    /// The offset of the fault in what was received of a call: its arguments, or all of it if it was written in a text.
    fn fault_of_call(&self, call: &RejectedCall) -> Option<usize> {
        let RejectedCall { received, diagnostic, .. } = call;
        if diagnostic.origin == Origin::Arguments {
            return Some(offset_of(received, diagnostic));
        }
        let mut parser = Parser::new();
        let value = match parser.parse(received) {
            Err(error) => return received.trim_start().starts_with('{').then_some(error.offset),
            Ok(value) => value,
        };
        let span = Span::new(0, received.len() as u64);
        let (completion, recovered) = (CompletedBy::EndOfInput, Recovered::NONE);
        let record = Record { value, line: 1, column: 1, span, completion, recovered };
        let tools = self.tools.as_deref().map(|tools| tools as _);
        Some(offset_of(received, &ToolCall::from_record(&record, tools).err()?.diagnostic))
    }
}

/// The excerpt of a text on a terminal.
fn excerpt(text: &str, fault: impl FnOnce() -> Option<usize>) -> Option<Excerpt> {
    let term = Term::stderr();
    let at = term.is_term().then(fault).flatten()?;
    Some(Excerpt::new(text.as_bytes(), at, &term))
}

/// The offset of the line and the column of a diagnostic.
fn offset_of(text: &str, diagnostic: &Diagnostic) -> usize {
    let before = usize::try_from(diagnostic.line).unwrap_or(usize::MAX).saturating_sub(1);
    let line_start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    line_start + usize::try_from(diagnostic.column).unwrap_or(usize::MAX).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use tokenline::Code;

    use super::*;

    #[test]
    fn the_fault_of_a_call_is_found_in_what_was_received() {
        let tools = r#"[{"name":"ls","parameters":{"properties":{"path":{"type":"string"}}}}]"#;
        let tools = ToolSet::from_json_str(tools).expect("tools");
        let texts = RejectedTexts::new(None, Some(Arc::new(tools)));
        let fault = |received: &str, origin| {
            let diagnostic = Diagnostic::new(Code::InvalidParameters, 2, Span::default(), 9, "");
            texts.fault_of_call(&RejectedCall::new(diagnostic.with_origin(origin), received))
        };
        // Native: where the diagnostic says.
        assert_eq!(fault("{\n\"path\": 7}", Origin::Arguments), Some(10));
        // In a text: the diagnostic is about the text around it.
        assert_eq!(fault(r#"{"name":"ls","parameters":{"path":7}}"#, Origin::Text), Some(34));
        assert_eq!(fault(r#"{"name":"ls","parameters":{"path":NaN}}"#, Origin::Text), Some(34));
        assert_eq!(fault("[ls(path=", Origin::Text), None);
    }
}
