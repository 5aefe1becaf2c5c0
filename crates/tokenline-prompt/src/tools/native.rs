//! Reads complete responses of providers.

use std::sync::Arc;

use tokenline_core::adapter::SourceEnd;
use tokenline_core::json::{Parser, Raw};
use tokenline_core::{Code, Diagnostic, Options, Origin, RejectedCall, Span, ToolCall};
use tokenline_llm::{FinishReason, Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};
use tokenline_schema::ToolSet;

use super::parsed::Collector;
use super::text::{self, NonCall};

/// One of the choices of a response.
#[derive(Default)]
struct Choice {
    index: u64,
    calls: Vec<Result<ToolCall, Box<RejectedCall>>>,
    text: String,
    /// The block of the latest text.
    block: u64,
    is_truncated: bool,
    is_filtered: bool,
}

/// Reads the native calls of a response, or else the calls in its text, with these options. Anything that is not a
/// response is read as text.
pub(super) fn read(
    response: &str,
    provider: Option<Provider>,
    tools: Option<&Arc<ToolSet>>,
    (options, end): (Options, SourceEnd),
    into: &mut Collector,
) {
    let Some(provider) = provider_of(response, provider) else {
        return text::read(response.as_bytes(), options, tools, (end, NonCall::Text), into);
    };
    let mut reading = ResponseOptions::from(Options::lenient().limits(*into.limits()))
        .text_as(TextMode::Text)
        .text_and_reasoning();
    if let Some(tools) = tools {
        reading = reading.tools(Arc::clone(tools));
    }
    let mut parser = ResponseParser::<Raw>::new(provider, reading).whole_body();
    parser.push(response.as_bytes());
    parser.finish();

    let mut choices: Vec<Choice> = Vec::new();
    while let Some(event) = parser.next_event() {
        add(event, &mut choices, into);
    }
    // Members of calls with the wrong type.
    for (name, count) in parser.unknown().iter().filter(|(name, _)| name.contains("tool_calls")) {
        for _ in 0..count {
            into.reject(
                of_all(response, Code::NotAnObject, format!("invalid member of a tool call: {name}")),
                "",
            );
        }
    }

    // Some servers put the text into one choice and the calls into the next.
    let first = |is_it: fn(&&Choice) -> bool| choices.iter().find(is_it).map(|choice| choice.index);
    let counts = first(|choice| !choice.calls.is_empty())
        .or_else(|| first(|choice| !choice.text.trim().is_empty()))
        .or_else(|| first(|choice| choice.is_filtered));
    let Some(choice) = choices.into_iter().find(|choice| Some(choice.index) == counts) else { return };
    if !choice.calls.is_empty() {
        choice.calls.into_iter().for_each(|call| into.add(call));
    } else if choice.text.trim().is_empty() {
        into.reject(of_all(response, Code::ProviderError, "the provider refused the prompt"), "");
    } else {
        let end = if choice.is_truncated { SourceEnd::Failed } else { SourceEnd::Clean };
        text::read(choice.text.as_bytes(), options, tools, (end, NonCall::Text), into);
    }
}

/// A diagnostic for the complete response.
fn of_all(response: &str, code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, 1, Span::new(0, response.len() as u64), 1, message).with_origin(Origin::Wire)
}

/// The provider of a response.
fn provider_of(response: &str, expected: Option<Provider>) -> Option<Provider> {
    let found = Provider::of_body(response);
    if found.is_some() {
        return expected.or(found);
    }
    // An error has the same members for all providers, but so may a call.
    let mut json = Parser::new();
    let body = json.parse(response).ok()?;
    let is_error = body.get("error").is_some() || body.get("object").is_some();
    (is_error && !ToolCall::is_in(body, None)).then(|| expected.unwrap_or(Provider::OpenAiChat))
}

fn choice_at(index: u64, choices: &mut Vec<Choice>) -> &mut Choice {
    let known = choices.iter().position(|choice| choice.index == index);
    let at = known.unwrap_or_else(|| {
        choices.push(Choice { index, ..Choice::default() });
        choices.len() - 1
    });
    &mut choices[at]
}

fn add(event: ResponseEvent<Raw>, choices: &mut Vec<Choice>, into: &mut Collector) {
    match event {
        ResponseEvent::ToolCall { choice, call, .. } => choice_at(choice, choices).calls.push(Ok(call)),
        ResponseEvent::RejectedCall { choice, call, .. } => choice_at(choice, choices).calls.push(Err(call)),
        ResponseEvent::Text { choice, block, text } => {
            let choice = choice_at(choice, choices);
            // A new text starts on a new line.
            if block != choice.block && !choice.text.is_empty() && !choice.text.ends_with('\n') {
                choice.text.push('\n');
            }
            choice.block = block;
            choice.text.push_str(&text);
        }
        ResponseEvent::Finish { choice, reason } => {
            let choice = choice_at(choice, choices);
            choice.is_truncated = !reason.is_clean();
            choice.is_filtered = reason == FinishReason::ContentFilter;
        }
        // A truncated text is reported by its truncated call.
        ResponseEvent::Rejected { choice: Some(_), diagnostic, .. } if diagnostic.code == Code::Truncated => {
        }
        ResponseEvent::Rejected { diagnostic, .. } => into.reject(diagnostic, ""),
        // The choice knows it.
        ResponseEvent::Note { diagnostic, .. } if diagnostic.code == Code::TokenLimit => {}
        ResponseEvent::Note { diagnostic, .. } => into.note(diagnostic),
        _ => {}
    }
}
