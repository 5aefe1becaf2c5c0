//! `tokenline parse --from ...-batch`: the records and tool calls in a batch result file.

use tokenline::json::{Raw, Value};
use tokenline::llm::batch::{BatchFormat, BatchReader};
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
    let settings = rules.clone();
    let mut results = BatchReader::new(format, rules.options.clone().limits(limits))
        .with_settings(move |parser| response::configure(parser, &settings));
    while !emitter.is_done()
        && let Some(chunk) = source.read()?
    {
        decode(&mut lines, chunk, emitter, |event, emitter| read_line(&mut results, event, emitter))?;
        emitter.flush()?;
    }
    decode_end(&mut lines, emitter, |event, emitter| read_line(&mut results, event, emitter))
}

fn read_line(
    results: &mut BatchReader<Raw>,
    event: LentEvent<'_>,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    emitter.set_part("", None);
    match event {
        Event::Record(record) => read_result(results, &record, emitter),
        Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
            emitter.diagnostic(EventOrigin::Input, &diagnostic)
        }
        _ => Ok(()),
    }
}

fn read_result(
    results: &mut BatchReader<Raw>,
    line: &Record<Value<'_>>,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let mut result = results.read(line.value, line.line, line.span);
    emitter.set_part("custom_id", result.custom_id.as_deref());
    emitter.batch_result(line.line, result.status)?;
    if let Some(failure) = &result.failure {
        let message = failure.message.as_str();
        let diagnostic = Diagnostic::new(Code::ProviderError, line.line, line.span, 1, message);
        return emitter.diagnostic(EventOrigin::Input, &diagnostic.with_origin(Origin::Wire));
    }
    while let Some(event) = result.next_event() {
        response::handle(&event, emitter)?;
        if emitter.is_done() {
            break;
        }
    }
    Ok(())
}
