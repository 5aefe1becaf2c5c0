//! `tokenline parse --from ...-batch`: the records and tool calls in a batch result file.

use tokenline::json::Raw;
use tokenline::llm::batch::{BatchFormat, BatchOutcome, BatchResult};
use tokenline::llm::{Provider, ResponseEvent, ResponseParser};
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
    let mut results = Results { format, rules, limits, parser: None };
    while !emitter.is_done()
        && let Some(chunk) = source.read()?
    {
        decode(&mut lines, chunk, emitter, |event, emitter| results.line(event, emitter))?;
        emitter.flush()?;
    }
    decode_end(&mut lines, emitter, |event, emitter| results.line(event, emitter))
}

struct Results<'r> {
    format: BatchFormat,
    rules: &'r Rules,
    limits: Limits,
    /// The parser of the previous response, reused for the same provider.
    parser: Option<(Provider, ResponseParser<Raw>)>,
}

impl Results<'_> {
    fn line(&mut self, event: LentEvent<'_>, emitter: &mut Emitter) -> Result<(), Failure> {
        emitter.set_part("", None);
        match event {
            Event::Record(record) => {
                let result = self.format.read(record.value);
                self.result(result, &record.map(|_| ()), emitter)
            }
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                emitter.diagnostic(EventOrigin::Input, &diagnostic)
            }
            _ => Ok(()),
        }
    }

    fn result(
        &mut self,
        result: BatchResult,
        line: &Record<()>,
        emitter: &mut Emitter,
    ) -> Result<(), Failure> {
        let BatchResult { custom_id, status, outcome, .. } = result;
        emitter.set_part("custom_id", custom_id.as_deref());
        emitter.batch_result(line.line, status)?;
        let (provider, body) = match outcome {
            BatchOutcome::Response { provider, body } => (provider, body),
            BatchOutcome::Failed { message } => {
                let diagnostic = Diagnostic::new(Code::ProviderError, line.line, line.span, 1, message);
                return emitter.diagnostic(EventOrigin::Input, &diagnostic.with_origin(Origin::Wire));
            }
            _ => return Ok(()),
        };
        let parser = self.parser_of(provider);
        parser.push(body.as_str().as_bytes());
        parser.finish();
        while let Some(mut event) = parser.next_event() {
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

    fn parser_of(&mut self, provider: Provider) -> &mut ResponseParser<Raw> {
        let parser = self.parser.take().filter(|(previous, _)| *previous == provider);
        let (_, parser) = self.parser.insert(parser.unwrap_or_else(|| {
            let options = self.rules.options.clone().limits(self.limits);
            (provider, response::configure(ResponseParser::new(provider, options).whole_body(), self.rules))
        }));
        parser.reset();
        parser
    }
}
