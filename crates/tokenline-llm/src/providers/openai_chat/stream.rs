//! OpenAI chat completions, and compatible servers.
//!
//! The wire format: <https://platform.openai.com/docs/api-reference/chat-streaming>.

mod mirror;

use std::borrow::Cow;

use tokenline_core::CallDelta;
use tokenline_core::json::{Parser, SyntaxError, Value};

use self::mirror::Mirrors;
use super::Api;
use crate::delta::{Delta, FinishReason, OpaqueTarget, Usage};
use crate::providers::api::{EventReader, ProviderApi, Sink};
use crate::providers::values::{
    as_u64, bare_error, base_resp_error, custom_input, error_delta, is_empty, is_error, is_null_or_empty,
    non_object, read_text, text_of, unknown, unknown_event, unreadable,
};

/// The chunks of a stream, each self-contained, but for reasoning that comes twice.
///
/// Supports OpenAI's servers and the deviations of compatible ones (Azure, Mistral, Groq, Alibaba, DeepSeek,
/// OpenRouter, Venice, vLLM, llama.cpp, Gemini's compatible endpoint).
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader {
    reasoning: Mirrors,
}

impl EventReader for Reader {
    const INCIDENTAL: &'static [&'static str] = &["/id", "/created", "/obfuscation"];

    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        unknown_event(name, sink);
        self.reasoning.has_message = false;
        chunk(event, name == "error", &mut self.reasoning, sink);
    }

    fn repeated_reasoning(&mut self, choice: u64, text: &str) {
        self.reasoning.repeat(choice, text);
    }

    fn non_object(
        &mut self,
        json: &mut Parser,
        name: &str,
        data: &str,
        sink: &mut Sink<'_>,
    ) -> Result<(), SyntaxError> {
        unknown_event(name, sink);
        match data {
            "" => {}
            "[DONE]" => sink(Delta::Terminator),
            _ => return non_object(json, name, data, sink),
        }
        Ok(())
    }

    fn is_repeatable(&self, _: &str, _: Value<'_>) -> bool {
        !self.reasoning.has_message
    }

    /// A complete response, or the message in one.
    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        if body.get("choices").is_none() && body.get("role").is_some() {
            sink(Delta::Start { choice: 0 });
            read_delta(0, body, true, &mut self.reasoning, sink);
        } else {
            chunk(body, false, &mut self.reasoning, sink);
        }
        if Api.has_body(body) {
            sink(Delta::Terminator);
        }
    }
}

fn chunk(chunk: Value<'_>, is_named_error: bool, mirrors: &mut Mirrors, sink: &mut Sink<'_>) {
    let (mut choices, mut usage, mut error, mut message) = (None, None, None, None);
    let (mut is_whole_error, mut status) = (is_named_error, None);
    let Some(members) = chunk.as_object() else { return };
    for (name, value) in members {
        match name {
            "choices" => choices = Some(value),
            "usage" => usage = Some(value).filter(|usage| !usage.is_null()).or(usage),
            "error" => error = Some(value).filter(|error| is_error(*error)),
            "base_resp" => status = Some(value),
            "message" => message = Some(value),
            // Marks vLLM's errors.
            "object" => is_whole_error |= value.as_str().is_some_and(|object| object == "error"),
            // Groq reports usage only here.
            "x_groq" => usage = usage.or(value.get("usage")),
            "id" | "created" | "model" | "system_fingerprint" | "service_tier" | "obfuscation" => {}
            "provider" | "timings" | "prompt_filter_results" | "type" | "param" | "code" => {}
            _ => sink(Delta::Unknown { parent: "", name: name.into() }),
        }
    }
    match choices.map(|choices| (choices, choices.as_array())) {
        Some((_, Some(choices))) => {
            let places = 0..choices.len() as u64;
            for (place, value) in places.zip(choices) {
                error = error.or(choice(place, value, mirrors, sink));
            }
        }
        Some((choices, None)) => unreadable("", "choices", choices, sink),
        None => {}
    }
    if let Some(usage) = usage.and_then(read_usage) {
        sink(Delta::Usage(usage));
    }
    match error {
        Some(error) => sink(error_delta(error)),
        None if is_whole_error => sink(error_delta(chunk)),
        None if status.is_none() && choices.is_some() && message.is_none() => {}
        None => without_error(chunk, sink),
    }
}

/// Reads what is unusual in a chunk without a member `error`: another kind of error, or a member `message`.
#[cold]
fn without_error(chunk: Value<'_>, sink: &mut Sink<'_>) {
    let failure = chunk.get("base_resp").and_then(base_resp_error);
    let is_part = chunk.get("choices").is_some_and(|choices| !choices.is_null());
    match (failure.or_else(|| bare_error(chunk).filter(|_| !is_part)), chunk.get("message")) {
        (Some(message), _) => sink(Delta::Error { message, code: None }),
        (None, Some(message)) => unknown("", "message", message, sink),
        (None, None) => {}
    }
}

fn read_usage(usage: Value<'_>) -> Option<Usage> {
    let mut read = Usage::default();
    let mut cache_hits = None;
    for (name, value) in usage.as_object()? {
        match name {
            "prompt_tokens" => read.input_tokens = as_u64(value),
            "completion_tokens" => read.output_tokens = as_u64(value),
            "total_tokens" => read.total_tokens = as_u64(value),
            "prompt_tokens_details" => read.cached_input_tokens = value.get("cached_tokens").and_then(as_u64),
            // DeepSeek's.
            "prompt_cache_hit_tokens" => cache_hits = as_u64(value),
            "completion_tokens_details" => {
                read.reasoning_tokens = value.get("reasoning_tokens").and_then(as_u64);
            }
            _ => {}
        }
    }
    read.cached_input_tokens = read.cached_input_tokens.or(cache_hits);
    Some(read)
}

/// Reads a choice. Returns its error, if it has one, as OpenRouter sends it.
fn choice<'a>(
    position: u64,
    value: Value<'a>,
    mirrors: &mut Mirrors,
    sink: &mut Sink<'_>,
) -> Option<Value<'a>> {
    const PLACE: &str = "choices[]";
    let Some(members) = value.as_object() else {
        unreadable("", PLACE, value, sink);
        return None;
    };
    let (mut index, mut error) = (None, None);
    let (mut delta, mut message, mut reason, mut native_reason) = (None, None, None, None);
    for (name, value) in members {
        match name {
            "index" => index = as_u64(value),
            "delta" => delta = Some(value),
            "message" => message = Some(value),
            "finish_reason" => reason = value.as_str(),
            "error" => error = Some(value).filter(|error| is_error(*error)),
            // OpenRouter passes on the original provider's reason.
            "native_finish_reason" => native_reason = value.as_str(),
            "logprobs" | "content_filter_results" | "content_filter_offsets" => {}
            // vLLM: the stop sequence, and the tokens.
            "stop_reason" | "token_ids" => {}
            _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
        }
    }
    let index = index.unwrap_or(position);
    sink(Delta::Start { choice: index });
    // A server that does not stream sends a complete message; beside a delta, or after some, it is the text so far.
    match (delta, message) {
        (delta, Some(message)) if delta.is_none_or(is_empty) => {
            whole_message(index, message, mirrors, sink);
        }
        (Some(delta), _) => read_delta(index, delta, false, mirrors, sink),
        (None, _) => {}
    }
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        let is_limit =
            native_reason.is_some_and(|native| FinishReason::named(&native) == FinishReason::Length);
        let reason = if is_limit { FinishReason::Length } else { FinishReason::named(&reason) };
        sink(Delta::Finish { choice: index, reason });
    }
    error
}

#[cold]
fn whole_message(choice: u64, message: Value<'_>, mirrors: &mut Mirrors, sink: &mut Sink<'_>) {
    mirrors.has_message = true;
    match message.as_object() {
        Some(_) => read_delta(choice, message, true, mirrors, sink),
        None => unknown("choices[]", "message", message, sink),
    }
}

/// With `is_whole`, the delta is a complete message.
fn read_delta(choice: u64, delta: Value<'_>, is_whole: bool, mirrors: &mut Mirrors, sink: &mut Sink<'_>) {
    const PLACE: &str = "choices[].delta";
    let Some(members) = delta.as_object() else {
        return unreadable("choices[]", "delta", delta, sink);
    };
    let (mut text, mut reasoning, mut other_reasoning, mut refusal) = (None, None, None, None);
    let (mut calls, mut function, mut details) = (None, None, None);
    for (name, value) in members {
        match name {
            "content" => text = Some(value),
            "reasoning_content" => reasoning = Some(value),
            "reasoning" => other_reasoning = Some(value),
            "refusal" => refusal = Some(value),
            "tool_calls" => calls = Some(value),
            // The original form of calls, one per message.
            "function_call" => function = Some(value),
            "role" | "index" => {}
            // OpenRouter: the text of `reasoning`, and signatures.
            "reasoning_details" => details = Some(value),
            _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
        }
    }
    // DeepSeek and Kimi expect the text back under this name, OpenRouter its details.
    let named = || {
        reasoning.filter(|value| !is_null_or_empty(*value)).map(|_| Cow::Borrowed("\"reasoning_content\""))
    };
    let detailed = details.filter(|details| details.as_array().is_some_and(|details| !details.is_empty()));
    let detailed = detailed.map(|details| format!(r#"{{"reasoning_details":{}}}"#, details.raw()).into());
    let opaque: Option<Cow<'_, str>> = detailed.or_else(named);
    // Servers that use both names send the same reasoning twice, in one chunk or in two.
    let names = [reasoning, other_reasoning].map(|value| value.is_some_and(|value| !is_null_or_empty(value)));
    let reasoning = reasoning.filter(|_| names[0]).or(other_reasoning);
    if let Some(data) = opaque {
        sink(Delta::Opaque { choice, target: OpaqueTarget::ReasoningMember, data });
    }
    // Of a server that sends messages in place of deltas, each is a piece.
    let is_repetition = is_whole && mirrors.has_pieces(choice);
    for (name, value) in [("reasoning", reasoning), ("content", text), ("refusal", refusal)] {
        match value.map(|value| (value, read_text(value, sink))) {
            Some(_) if is_repetition => {}
            Some((_, Some(text))) if text.is_empty() => {}
            Some((_, Some(text))) if name == "reasoning" => {
                mirrors.add_piece(choice, is_whole);
                let text = mirrors.new_text(choice, names, &text);
                if !text.is_empty() {
                    sink(Delta::Reasoning { choice, text: &text });
                }
            }
            Some((_, Some(text))) => {
                mirrors.add_piece(choice, is_whole);
                sink(match name {
                    "content" => Delta::Text { choice, block: 0, text: &text },
                    _ => Delta::Refusal { choice, text: &text },
                });
            }
            Some((value, None)) if name == "content" && value.as_array().is_some() => {
                mirrors.add_piece(choice, is_whole);
                value.as_array().into_iter().flatten().for_each(|part| content_part(choice, part, sink));
            }
            Some((value, None)) if name == "content" => unreadable(PLACE, name, value, sink),
            Some((value, None)) => unknown(PLACE, name, value, sink),
            None => {}
        }
    }
    match calls.map(|calls| (calls, calls.as_array())) {
        Some((_, Some(calls))) => {
            for (place, call) in (0..).zip(calls) {
                tool_call(choice, is_whole.then_some(place), call, sink);
            }
        }
        Some((call, None)) if is_whole && call.as_object().is_some() => {
            tool_call(choice, Some(0), call, sink);
        }
        Some((calls, None)) => unreadable(PLACE, "tool_calls", calls, sink),
        None => {}
    }
    // Some servers send a call under both names.
    let has_calls = || calls.and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    if let Some(function) = function.filter(|function| !function.is_null() && !has_calls()) {
        function_call(choice, CallDelta::default(), function, sink);
    }
}

/// A part of Mistral's `content` array.
#[inline(never)]
fn content_part(choice: u64, part: Value<'_>, sink: &mut Sink<'_>) {
    const PLACE: &str = "choices[].delta.content[]";
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    match &*kind {
        "text" | "output_text" | "" => match part.get("text").map(|text| (text, read_text(text, sink))) {
            Some((_, Some(text))) => sink(Delta::Text { choice, block: 0, text: &text }),
            Some((text, None)) => unreadable(PLACE, "text", text, sink),
            None if part.as_object().is_none() => unreadable("choices[].delta", "content[]", part, sink),
            // Some servers omit what is empty.
            None if kind.is_empty() => sink(Delta::Unknown { parent: PLACE, name: "no type".into() }),
            None => {}
        },
        _ if part.get("text").is_some_and(|text| text.as_str().is_some()) => {
            unreadable(PLACE, &kind, part, sink);
        }
        "thinking" => {
            let thinking = part.get("thinking");
            let parts = thinking.and_then(Value::as_array).into_iter().flatten();
            for part in parts.filter_map(|part| part.get("text")).chain(thinking) {
                if let Some(text) = read_text(part, sink) {
                    sink(Delta::Reasoning { choice, text: &text });
                }
            }
        }
        _ => sink(Delta::Unknown { parent: PLACE, name: kind }),
    }
}

/// `place` is the position of a call in a complete message.
fn tool_call(choice: u64, place: Option<u64>, value: Value<'_>, sink: &mut Sink<'_>) {
    const PLACE: &str = "choices[].delta.tool_calls[]";
    let Some(members) = value.as_object().filter(|members| place.is_none() || !members.is_empty()) else {
        if place.is_some() {
            return sink(Delta::Unknown { parent: "choices[].message", name: "tool_calls[]".into() });
        }
        return unreadable("choices[].delta", "tool_calls[]", value, sink);
    };
    let (mut index, mut id, mut function, mut custom) = (None, None, None, None);
    for (name, value) in members {
        match name {
            "index" => index = as_u64(value),
            "id" => id = text_of(value),
            "function" => function = Some(value).filter(|function| !function.is_null()),
            "custom" if place.is_some() => custom = Some(value),
            // Only functions are streamed in this form; `extra_content` holds Gemini's signatures.
            "type" | "extra_content" => {}
            _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
        }
    }
    let (index, is_whole) = (place.or(index), place.is_some());
    let header = CallDelta { index, id: id.as_deref(), is_whole, ..CallDelta::default() };
    match (function, custom) {
        (Some(function), _) => function_call(choice, header, function, sink),
        (None, Some(custom)) => {
            let text = |name| custom.get(name).and_then(Value::as_str);
            let arguments = text("input").map(|input| custom_input(&input)).unwrap_or_default();
            let (name, arguments) = (text("name"), arguments.as_str());
            sink(Delta::ToolCall { choice, call: CallDelta { name: name.as_deref(), arguments, ..header } });
        }
        (None, None) => sink(Delta::ToolCall { choice, call: header }),
    }
}

fn function_call(choice: u64, header: CallDelta<'_>, function: Value<'_>, sink: &mut Sink<'_>) {
    const PLACE: &str = "choices[].delta.tool_calls[].function";
    let (mut tool, mut arguments) = (None, None);
    let Some(members) = function.as_object() else {
        return unreadable("choices[].delta.tool_calls[]", "function", function, sink);
    };
    for (name, value) in members {
        match name {
            "name" => tool = value.as_str(),
            "arguments" => arguments = read_text(value, sink).or_else(|| text_of(value)),
            _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
        }
    }
    let arguments = arguments.as_deref().unwrap_or_default();
    sink(Delta::ToolCall { choice, call: CallDelta { name: tool.as_deref(), arguments, ..header } });
}
