//! Reads the calls in a complete text.

use std::convert::Infallible;
use std::sync::Arc;

use tokenline_core::adapter::{Judge, Passage, Rules, SourceEnd, Verdict};
use tokenline_core::json::Value;
use tokenline_core::{
    CheckedChunk, Code, CompletedBy, Diagnostic, Event, LentEvent, Options, Reads, Record, RecordDecoder,
    ToolCall, ValidateCall,
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

/// Reads all calls in a text, with the same decoder and judge as streams. A line that is not UTF-8 is rejected. If the
/// end [failed](SourceEnd::Failed), at a limit for instance, the last call may be truncated.
pub(super) fn read(
    text: &[u8],
    options: Options,
    tools: Option<&Arc<ToolSet>>,
    (end, data): (SourceEnd, NonCall),
    into: &mut Collector,
) {
    let mut rules = Rules::default();
    rules.set_reads(Reads::ToolCalls);
    let limits = options.limits;
    let mut decoder = RecordDecoder::new(options);
    if let Some(tools) = tools {
        rules.set_tools(Arc::clone(tools) as _);
        decoder = decoder.with_tools(Arc::clone(tools));
    }
    let judge = Judge::new(Arc::new(rules), &limits);
    let mut reader =
        Reader { text, tools: tools.map(|tools| &**tools as &dyn ValidateCall), judge, data, into };
    let passage = Passage::chunk(text, 0);
    let mut chunk = CheckedChunk::new(text);
    while let Some(event) = decoder.next_event(&mut chunk) {
        reader.event(event, passage);
    }
    let passage = Passage::end(text.len() as u64, CompletedBy::EndOfInput, end);
    while let Some(event) = decoder.finish() {
        reader.event(event, passage);
    }
}

struct Reader<'a> {
    text: &'a [u8],
    tools: Option<&'a dyn ValidateCall>,
    judge: Judge,
    data: NonCall,
    into: &'a mut Collector,
}

impl Reader<'_> {
    fn event(&mut self, event: LentEvent<'_>, passage: Passage<'_>) {
        if let Event::Record(record) = &event
            && self.data == NonCall::Text
            && !ToolCall::is_in(record.value, self.tools)
        {
            let message = "an object that is not a tool call";
            self.into.note(Diagnostic::new(Code::Prose, record.line, record.span, record.column, message));
            return;
        }
        let Self { text, judge, into, .. } = self;
        let make = |record: &Record<Value<'_>>| Ok(Ok(record.map(|_| ())));
        let Ok(other) = judge.event(event, passage, make, |verdict| {
            match verdict {
                Verdict::Call(call, _) => into.add(Ok(call)),
                Verdict::RejectedCall(call) | Verdict::NotACall(call) => into.add(Err(call)),
                Verdict::Rejected(diagnostic) => {
                    let range = diagnostic.span.start as usize..diagnostic.span.end as usize;
                    let received = text.get(range).unwrap_or_default();
                    into.reject(diagnostic, &String::from_utf8_lossy(received));
                }
                Verdict::Record(_) | Verdict::Ask(_) => unreachable!("records are read as calls"),
            }
            Ok::<_, Infallible>(())
        });
        match other {
            None => {}
            Some(Event::Note(diagnostic)) => into.note(diagnostic),
            Some(other) => unreachable!("partials are disabled: {other:?}"),
        }
    }
}
