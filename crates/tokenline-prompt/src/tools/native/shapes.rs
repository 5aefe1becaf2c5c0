//! Where each shape has its calls and its text.

use tokenline_core::json::{Kind, Object, Value};
use tokenline_core::{Code, Completion};

use super::NativeShape;
use super::answer::{Answer, Choice, Ending};
use super::call::Seal;

/// Reads a response. Answers whether it has anything of this shape.
pub(super) fn read<'a>(shape: NativeShape, response: Value<'a>, answer: &mut Answer<'a>) -> bool {
    match shape {
        NativeShape::OpenAiChat => openai_chat(response, answer),
        NativeShape::OpenAiResponses => openai_responses(response, answer),
        NativeShape::Anthropic => anthropic(response, answer),
        NativeShape::Gemini => gemini(response, answer),
        NativeShape::Ollama => ollama(response, answer),
    }
}

/// The response itself, if it is a list of what stands in one of this shape.
fn list_of(shape: NativeShape, response: Value<'_>) -> Option<Value<'_>> {
    (response.as_array().is_some() && NativeShape::find(response) == Some(shape)).then_some(response)
}

/// Reasons for which compatible servers end a whole answer.
const CLEAN: &[&str] =
    &["stop", "tool_calls", "function_call", "tool_use", "eos", "eos_token", "stop_sequence", "end_turn"];

fn openai_chat<'a>(response: Value<'a>, answer: &mut Answer<'a>) -> bool {
    if let Some(choices) = response.get("choices").and_then(Value::as_array) {
        for choice in choices {
            answer.error(choice);
            if let Some(message) = choice.get("message") {
                // OpenRouter's, of the provider behind it: the reason itself may say `tool_calls`.
                let native = choice.get("native_finish_reason").and_then(Value::as_str);
                let ending = match native.as_deref() {
                    Some("max_output_tokens" | "max_tokens" | "length" | "MAX_TOKENS") => Ending::Cut,
                    _ => Ending::of(choice.get("finish_reason"), CLEAN),
                };
                answer.choices.extend(chat_message(message, Seal::Undecided, ending));
            }
        }
        return true;
    }
    let choice = chat_message(response, Seal::Undecided, Ending::Untold);
    let is_message = choice.is_some();
    answer.choices.extend(choice);
    is_message
}

/// A message with `content` and `tool_calls`, if it is one.
fn chat_message<'a>(message: Value<'a>, seal: Seal, ending: Ending) -> Option<Choice<'a>> {
    let (content, calls) = (message.get("content"), message.get("tool_calls"));
    // How calls came before there were several.
    let function = message.get("function_call").filter(|function| !function.is_null());
    if content.is_none() && calls.is_none() && function.is_none() {
        return None;
    }
    let mut choice = Choice::default();
    choice.text(content);
    let listed = calls.and_then(Value::as_array).into_iter().flatten();
    // Not in a list, it is the only one.
    let alone = calls.filter(|calls| !matches!(calls.kind(), Kind::Array | Kind::Null));
    listed.chain(alone).chain(function).for_each(|call| choice.call(call, seal));
    choice.end(ending);
    Some(choice)
}

fn openai_responses<'a>(response: Value<'a>, answer: &mut Answer<'a>) -> bool {
    let list = list_of(NativeShape::OpenAiResponses, response).or_else(|| response.get("output"));
    let Some(items) = list.and_then(Value::as_array) else {
        return false;
    };
    let mut choice = Choice::default();
    for item in items {
        let kind = item.get("type").and_then(Value::as_str);
        match kind.as_deref().unwrap_or_default() {
            "function_call" | "custom_tool_call" => {
                let status = item.get("status").and_then(Value::as_str);
                let seal = match status.as_deref() {
                    Some("completed") => Seal::Whole(Completion::ItemStop),
                    Some("incomplete") => Seal::Cut,
                    _ => Seal::Undecided,
                };
                choice.call(item, seal);
            }
            "message" => {
                choice.seal_calls(Completion::NextItem);
                choice.end_text();
                choice.text(item.get("content"));
            }
            // Reasoning, and what the server itself runs.
            _ => choice.seal_calls(Completion::NextItem),
        }
    }
    choice.end(Ending::of(response.get("status"), &["completed"]));
    answer.choices.push(choice);
    true
}

fn anthropic<'a>(response: Value<'a>, answer: &mut Answer<'a>) -> bool {
    let list = list_of(NativeShape::Anthropic, response);
    let Some(content) = list.or_else(|| response.get("content")) else { return false };
    let mut choice = Choice::default();
    choice.text(content.as_str().map(|_| content));
    for block in content.as_array().into_iter().flatten() {
        // A block begins where the one before has ended.
        choice.seal_calls(Completion::ItemStop);
        match block.get("type").and_then(Value::as_str).as_deref() {
            Some("tool_use") => choice.call(block, Seal::Undecided),
            Some("text" | "output_text") => {
                choice.end_text();
                choice.text(block.get("text"));
            }
            _ => {}
        }
    }
    choice.end(Ending::of(response.get("stop_reason"), &["end_turn", "stop_sequence", "tool_use"]));
    answer.choices.push(choice);
    true
}

fn gemini<'a>(response: Value<'a>, answer: &mut Answer<'a>) -> bool {
    // A body that was streamed as an array: its chunks are one answer.
    if let Some(chunks) = response.as_array() {
        let mut is_any = false;
        for chunk in chunks {
            answer.error(chunk);
            is_any |= gemini(chunk, answer);
        }
        join(answer);
        return is_any;
    }
    // Code Assist's envelope around the same.
    if let Some(inner) = response.get("response").filter(|inner| inner.as_object().is_some()) {
        return gemini(inner, answer);
    }
    if let Some(candidates) = response.get("candidates").and_then(Value::as_array) {
        for candidate in candidates {
            let reason = candidate.get("finishReason");
            let said = reason.and_then(Value::as_str);
            if let (Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL"), Some(at)) =
                (said.as_deref(), reason)
            {
                let message =
                    "the model wrote a tool call that the provider could not read; nothing of it was sent";
                answer.find(Code::MalformedJson, at, message);
            }
            let ending = Ending::of(reason, &["STOP", "FUNCTION_CALL", "FINISH_REASON_UNSPECIFIED"]);
            let parts = candidate.get("content").and_then(|content| content.get("parts"));
            answer.choices.push(gemini_parts(parts, ending));
        }
    } else if let Some(parts) = response.get("parts") {
        answer.choices.push(gemini_parts(Some(parts), Ending::Untold));
    } else if let Some(feedback) = response.get("promptFeedback") {
        answer.find(Code::ProviderError, feedback, "the provider refused the prompt");
    } else {
        return false;
    }
    true
}

/// The provider has read the calls itself, so each of them is whole.
fn gemini_parts(parts: Option<Value<'_>>, ending: Ending) -> Choice<'_> {
    let mut choice = Choice::default();
    choice.text(parts);
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    for call in parts.filter_map(|part| part.get("functionCall")) {
        // Arguments that were streamed in pieces are for the decoder of streams.
        let is_piece = call.get("willContinue").and_then(Value::as_bool) == Some(true)
            || call.get("partialArgs").is_some();
        let is_blank = call.as_object().is_some_and(Object::is_empty);
        match (is_piece, is_blank) {
            (true, _) => choice.call(call, Seal::Cut),
            (false, true) => {}
            (false, false) => choice.call(call, Seal::Whole(Completion::ItemStop)),
        }
    }
    choice.end(ending);
    choice
}

/// Makes one choice of all.
fn join(answer: &mut Answer<'_>) {
    let mut choices = std::mem::take(&mut answer.choices).into_iter();
    let Some(mut all) = choices.next() else { return };
    for choice in choices {
        all.text.push_str(&choice.text);
        all.calls.extend(choice.calls);
        all.is_cut |= choice.is_cut;
    }
    answer.choices.push(all);
}

fn ollama<'a>(response: Value<'a>, answer: &mut Answer<'a>) -> bool {
    let ending = Ending::of(response.get("done_reason"), &["stop"]);
    // As the server has read them.
    let seal = Seal::Whole(Completion::ItemStop);
    let message = response.get("message").unwrap_or(response);
    if let Some(choice) = chat_message(message, seal, ending) {
        answer.choices.push(choice);
    } else if let Some(text) = response.get("response") {
        let mut choice = Choice::default();
        choice.text(Some(text));
        choice.end(ending);
        answer.choices.push(choice);
    } else {
        return false;
    }
    true
}
