//! `tokenline parse --from ...-batch`: the records and tool calls in a batch result file.

use tokenline::json::Value;
use tokenline::llm::batch::{BatchFormat, BatchReader};
use tokenline::llm::{ResponseEvent, ResponseParser};
use tokenline::{Code, Diagnostic, Event, LentEvent, Limits, Options, Origin, Record, RecordDecoder};

use crate::emit::{Emitter, EventOrigin};
use crate::failure::Failure;
use crate::load;
use crate::parse::{Rules, decode, decode_end};
use crate::response;
use crate::source::Source;

/// Parses the results in order. Failed results and malformed lines are rejected.
pub(crate) fn parse(
    format: BatchFormat,
    rules: &Rules,
    source: &mut Source,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let max = load::MAX_RESPONSE as usize;
    let limits = Limits { line_bytes: max, sse_event_bytes: max, ..rules.options.limits };
    let mut lines = RecordDecoder::new(Options::strict().limits(limits));
    let configured = rules.clone();
    let reader = BatchReader::new(format, move |provider| {
        let options = configured.options.clone().limits(limits);
        response::configure(ResponseParser::new(provider, options), &configured)
    });
    let mut results = Results { reader };
    while !emitter.is_done()
        && let Some(chunk) = source.read()?
    {
        decode(&mut lines, chunk, emitter, |event, emitter| results.line(event, emitter))?;
        emitter.flush()?;
    }
    decode_end(&mut lines, emitter, |event, emitter| results.line(event, emitter))
}

struct Results {
    reader: BatchReader,
}

impl Results {
    fn line(&mut self, event: LentEvent<'_>, emitter: &mut Emitter) -> Result<(), Failure> {
        emitter.set_part("", None);
        match event {
            Event::Record(record) => self.result(&record, emitter),
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                emitter.diagnostic(EventOrigin::Input, &diagnostic)
            }
            _ => Ok(()),
        }
    }

    fn result(&mut self, line: &Record<Value<'_>>, emitter: &mut Emitter) -> Result<(), Failure> {
        let mut result = self.reader.read(line.value);
        emitter.set_part("custom_id", result.custom_id.as_deref());
        emitter.batch_result(line.line, result.status)?;
        if let Some(message) = result.error.take() {
            let diagnostic = Diagnostic::new(Code::ProviderError, line.line, line.span, 1, message);
            return emitter.diagnostic(EventOrigin::Input, &diagnostic.with_origin(Origin::Wire));
        }
        while let Some(mut event) = result.next_event() {
            if let ResponseEvent::Rejected { diagnostic, .. } | ResponseEvent::Note { diagnostic, .. } =
                &mut event
                && diagnostic.origin == Origin::Wire
            {
                (diagnostic.line, diagnostic.span) = (line.line, line.span);
            }
            response::handle(&event, emitter)?;
            if emitter.is_done() {
                break;
            }
        }
        Ok(())
    }
}
