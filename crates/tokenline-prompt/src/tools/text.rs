//! The one way in which a text that is at hand as a whole is read for calls.

use std::sync::Arc;

use tokenline_core::{
    Code, CompletedBy, Diagnostic, Event, LentEvent, Options, Record, RecordDecoder, RejectedCall, ToolCall,
    ValidateCall, json::Value,
};
use tokenline_schema::ToolSet;

use super::parsed::Collector;

/// What a whole object is that does not look like a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// A call that is not in order: calls were asked for, and nothing else.
    Rejected,
    /// Text: the answer itself may be JSON.
    Text,
}

/// How a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself.
    Clean,
    /// At a limit: what came last may be cut.
    Cut,
}

/// Reads all calls of a text. Streams do the same with the same machine.
pub(super) fn read(
    text: &str,
    options: Options,
    tools: Option<&Arc<ToolSet>>,
    (end, data): (End, Data),
    into: &mut Collector,
) {
    let mut decoder = RecordDecoder::new(options);
    if let Some(tools) = tools {
        decoder = decoder.with_tools(Arc::clone(tools) as _);
    }
    let mut reader =
        Reader { text, tools: tools.map(|tools| &**tools as &dyn ValidateCall), end, data, into };
    let mut rest = text.as_bytes();
    loop {
        let decoded = decoder.decode(rest);
        rest = &rest[decoded.consumed..];
        match decoded.event {
            Some(event) => reader.event(event),
            None => break,
        }
    }
    while let Some(event) = decoder.finish() {
        reader.event(event);
    }
}

struct Reader<'a> {
    text: &'a str,
    tools: Option<&'a dyn ValidateCall>,
    end: End,
    data: Data,
    into: &'a mut Collector,
}

impl Reader<'_> {
    fn event(&mut self, event: LentEvent<'_>) {
        match event {
            Event::Record(record) => self.record(&record),
            Event::Rejected(diagnostic) => {
                let range = diagnostic.span.start as usize..diagnostic.span.end as usize;
                let received = self.text.get(range).unwrap_or_default();
                self.into.reject(diagnostic, received);
            }
            Event::Note(diagnostic) => self.into.note(diagnostic),
            other => unreachable!("no partials were asked for: {other:?}"),
        }
    }

    fn record(&mut self, record: &Record<Value<'_>>) {
        if self.data == Data::Text && !ToolCall::is_in(record.value, self.tools) {
            let message = "an object that is no tool call";
            self.into.note(Diagnostic::new(Code::Prose, record.line, record.span, record.column, message));
            return;
        }
        for call in ToolCall::all_from_record(record, self.tools) {
            match call {
                Ok(call) if self.end == End::Cut && call.completion == CompletedBy::EndOfInput => {
                    self.into.add(Err(Box::new(unsealed(call, record))));
                }
                call => self.into.add(call),
            }
        }
    }
}

#[cold]
fn unsealed(call: ToolCall, record: &Record<Value<'_>>) -> RejectedCall {
    let message = "the tool call is balanced, but the text was cut off before it was known to be whole";
    let diagnostic = Diagnostic::new(Code::Unsealed, record.line, record.span, record.column, message);
    let mut rejected = RejectedCall::new(diagnostic, record.value.raw());
    (rejected.name, rejected.call_id) = (Some(call.name), call.call_id);
    rejected
}
