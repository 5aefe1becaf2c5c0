//! `tokenline parse --from PROVIDER`: a response body in, records and tool calls out.

use std::sync::Arc;

use tokenline::json::Raw;
use tokenline::llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};
use tokenline::{Code, EarlyEnd, Options, Reads};

use crate::args::EmitKind;
use crate::emit::{Emitter, EventOrigin, Sink};
use crate::failure::Failure;
use crate::parse::Rules;
use crate::source::Source;

/// Parses a recorded or piped stream to its end.
pub(crate) fn parse(
    provider: Provider,
    rules: &Rules,
    source: &mut Source,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let mut parser = ResponseParser::new(provider, options(rules, rules.options.clone()));
    let mut beginning = Vec::new();
    while let Some(chunk) = source.read()? {
        if beginning.len() < Provider::DETECT_BYTES {
            beginning.extend_from_slice(&chunk[..chunk.len().min(Provider::DETECT_BYTES)]);
        }
        parser.push(chunk);
        write_events(&mut parser, emitter)?;
        if emitter.is_done() {
            return Ok(());
        }
        if is_stopped(&parser) {
            break;
        }
        // Complete records reach the reader before the next read blocks.
        emitter.flush()?;
    }
    parser.finish();
    write_events(&mut parser, emitter)?;
    if emitter.is_done() {
        return Ok(());
    }
    if !parser.is_complete()
        && let Some(other) = Provider::detect(&beginning).filter(|other| *other != provider)
    {
        emitter.remark(&format!("this looks like --from {}", other.as_str()));
    }
    complete(&parser, emitter)
}

/// How the rules read a response whose text is parsed with these options.
pub(crate) fn options(rules: &Rules, text: Options) -> ResponseOptions {
    let mut options = ResponseOptions::from(text);
    options = match (rules.emit, rules.reads()) {
        (EmitKind::Text, _) => options.text_as(TextMode::Text).text_deltas(),
        (_, Reads::Records) => options.text_as(TextMode::Records),
        (_, Reads::ToolCalls) => options.text_as(TextMode::ToolCalls),
        (_, Reads::RecordsAndToolCalls) => options.text_as(TextMode::RecordsAndToolCalls),
    };
    if rules.emit.has_events() {
        options = options.text_and_reasoning();
    }
    if let Some(schema) = &rules.schema {
        options = options.validator(schema.clone());
    }
    if let Some(tools) = &rules.tools {
        options = options.tools(Arc::clone(tools));
    }
    if let Some(texts) = &rules.rejected_texts {
        options = options.repair(texts.hook());
    }
    options.stop_on_repetition(rules.repetition)
}

/// Writes the pending events, up to the quota.
fn write_events(parser: &mut ResponseParser<Raw>, emitter: &mut Emitter) -> Result<(), Failure> {
    while let Some(event) = parser.next_event() {
        handle(&event, emitter)?;
        if emitter.is_done() {
            break;
        }
    }
    Ok(())
}

/// Writes one event of a response.
pub(crate) fn handle(event: &ResponseEvent<Raw>, emitter: &mut Emitter<impl Sink>) -> Result<(), Failure> {
    match event {
        ResponseEvent::Record { choice, block, record } => {
            emitter.owned_record(EventOrigin::Block(*choice, *block), record)
        }
        ResponseEvent::ToolCall { choice, block, call, record, .. } => {
            emitter.tool_call(EventOrigin::Block(*choice, *block), call, record.as_ref())
        }
        ResponseEvent::Partial { choice, block, delta } => {
            emitter.partial(EventOrigin::Block(*choice, *block), delta)
        }
        // As of a text that is not a response: the text that follows shows it.
        ResponseEvent::PartialDiscarded { .. } => Ok(()),
        ResponseEvent::Invalid { choice, block, diagnostic } => {
            emitter.invalid(EventOrigin::Block(*choice, *block), diagnostic)
        }
        ResponseEvent::RejectedCall { choice, block, call, .. } => {
            emitter.rejected_call(EventOrigin::Block(*choice, *block), call)
        }
        ResponseEvent::Rejected { choice, block, diagnostic }
        | ResponseEvent::Note { choice, block, diagnostic } => {
            let origin = choice.map_or(EventOrigin::Input, |choice| EventOrigin::Block(choice, *block));
            emitter.diagnostic(origin, diagnostic)
        }
        ResponseEvent::Refusal { choice, text } => {
            emitter.refusal(text);
            emitter.fragment("refusal", EventOrigin::Block(*choice, 0), text)
        }
        ResponseEvent::Text { choice, block, text } => {
            emitter.fragment("text", EventOrigin::Block(*choice, *block), text)
        }
        ResponseEvent::Reasoning { choice, opaque: Some(data), .. } => {
            emitter.opaque(EventOrigin::Block(*choice, 0), data)
        }
        ResponseEvent::Reasoning { choice, text, .. } => {
            emitter.fragment("reasoning", EventOrigin::Block(*choice, 0), text)
        }
        ResponseEvent::Finish { choice, reason } => emitter.finish(*choice, reason),
        ResponseEvent::Usage(usage) => emitter.usage(usage),
        other => unreachable!("unexpected event: {other:?}"),
    }
}

/// Whether the response was stopped because it repeats itself.
fn is_stopped(parser: &ResponseParser<Raw>) -> bool {
    parser.report().ended_by() == Some(EarlyEnd::Repetition)
}

/// The failure of a text that was stopped because it repeats itself. Its diagnostic has been written.
pub(crate) fn stopped(emitter: &mut Emitter) -> Failure {
    emitter.note_stop();
    Failure::Source(format!("{}: stopped, because the model repeats itself", emitter.source()))
}

/// Fails if the response is incomplete. Its diagnostic has been written.
pub(crate) fn complete(parser: &ResponseParser<Raw>, emitter: &mut Emitter) -> Result<(), Failure> {
    let unknown = parser.unknown();
    if !unknown.is_empty() {
        emitter.remark(&format!("ignored as unknown: {unknown}"));
    }
    if parser.is_complete() {
        Ok(())
    } else if is_stopped(parser) {
        Err(stopped(emitter))
    } else if emitter.report().by_code().contains_key(&Code::ProviderError) {
        Err(Failure::Source(format!("{}: the provider reported an error", emitter.source())))
    } else {
        Err(Failure::Source(format!("{}: the source is incomplete", emitter.source())))
    }
}
