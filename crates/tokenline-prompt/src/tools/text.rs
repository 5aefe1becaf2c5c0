//! Reads the calls in a complete text.

use std::sync::Arc;

use tokenline_core::{
    CheckedChunk, Code, CompletedBy, Diagnostic, Event, LentEvent, Options, Record, RecordDecoder,
    RejectedCall, ToolCall, ValidateCall, json::Value,
};
use tokenline_schema::ToolSet;

use super::parsed::Collector;

/// The meaning of a complete object that does not look like a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NonCall {
    /// An invalid call: only calls are expected.
    Rejected,
    /// Text: the response itself may be JSON.
    Text,
}

/// The end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Complete.
    Clean,
    /// At a limit: the last call may be truncated.
    Truncated,
}

/// Reads all calls in a text, with the same decoder as streams. A line that is not UTF-8 is rejected.
pub(super) fn read(
    text: &[u8],
    options: Options,
    tools: Option<&Arc<ToolSet>>,
    (end, data): (End, NonCall),
    into: &mut Collector,
) {
    let mut decoder = RecordDecoder::new(options);
    if let Some(tools) = tools {
        decoder = decoder.with_tools(Arc::clone(tools) as _);
    }
    let mut reader =
        Reader { text, tools: tools.map(|tools| &**tools as &dyn ValidateCall), end, data, into };
    let mut chunk = CheckedChunk::new(text);
    while let Some(event) = decoder.next_event(&mut chunk) {
        reader.event(event);
    }
    while let Some(event) = decoder.finish() {
        reader.event(event);
    }
}

struct Reader<'a> {
    text: &'a [u8],
    tools: Option<&'a dyn ValidateCall>,
    end: End,
    data: NonCall,
    into: &'a mut Collector,
}

impl Reader<'_> {
    fn event(&mut self, event: LentEvent<'_>) {
        match event {
            Event::Record(record) => self.record(&record),
            Event::Rejected(diagnostic) => {
                let range = diagnostic.span.start as usize..diagnostic.span.end as usize;
                let received = self.text.get(range).unwrap_or_default();
                self.into.reject(diagnostic, &String::from_utf8_lossy(received));
            }
            Event::Note(diagnostic) => self.into.note(diagnostic),
            other => unreachable!("partials are disabled: {other:?}"),
        }
    }

    fn record(&mut self, record: &Record<Value<'_>>) {
        if self.data == NonCall::Text && !ToolCall::is_in(record.value, self.tools) {
            let message = "an object that is not a tool call";
            self.into.note(Diagnostic::new(Code::Prose, record.line, record.span, record.column, message));
            return;
        }
        for call in ToolCall::all_from_record(record, self.tools) {
            match call {
                Ok(call) if self.end == End::Truncated && call.completion == CompletedBy::EndOfInput => {
                    self.into.add(Err(Box::new(unsealed(call, record))));
                }
                call => self.into.add(call),
            }
        }
    }
}

#[cold]
fn unsealed(call: ToolCall, record: &Record<Value<'_>>) -> RejectedCall {
    let message = "the tool call is balanced, but the text was cut off without proof that it is complete";
    let diagnostic = Diagnostic::new(Code::Unsealed, record.line, record.span, record.column, message);
    let mut rejected = RejectedCall::new(diagnostic, record.value.raw());
    (rejected.name, rejected.call_id) = (Some(call.name), call.call_id);
    rejected
}
