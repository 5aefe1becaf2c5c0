//! Ollama's chat and generate APIs.
//!
//! The wire format: <https://github.com/ollama/ollama/blob/main/docs/api.md>.

use tokenline_core::json::{Parser, SyntaxError, Value};
use tokenline_core::{CallDelta, CompletedBy};

use crate::delta::{Delta, FinishReason, Usage};
use crate::providers::api::{EventReader, Sink};
use crate::providers::call_blocks::CallBlocks;
use crate::providers::values::{
    as_u64, error_delta, is_error, is_null_or_empty, read_text, text_of, unknown, unreadable,
};

/// The lines of `/api/chat` and `/api/generate`.
///
/// A response is one choice, 0. Its text is block 0; its calls, each sent at once, are the blocks from 1 on.
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader {
    calls: CallBlocks,
}

impl EventReader for Reader {
    const INCIDENTAL: &'static [&'static str] = &["/created_at"];

    fn event(&mut self, _: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        self.line(event, sink);
    }

    /// Every line is JSON.
    fn non_object(
        &mut self,
        json: &mut Parser,
        _: &str,
        data: &str,
        sink: &mut Sink<'_>,
    ) -> Result<(), SyntaxError> {
        json.parse_lossy(data).map(|line| self.line(line, sink))
    }

    fn is_repeatable(&self, _: &str, _: Value<'_>) -> bool {
        true
    }

    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        self.line(body, sink);
        let is_response = ["message", "response"].iter().any(|name| body.get(name).is_some());
        if is_response && body.get("done").and_then(Value::as_bool) != Some(true) {
            sink(Delta::Terminator);
        }
    }
}

impl Reader {
    fn line(&mut self, line: Value<'_>, sink: &mut Sink<'_>) {
        let Some(members) = line.as_object() else {
            return sink(Delta::Unknown { parent: "data", name: line.kind().as_str().into() });
        };
        // `/api/generate` has no `message` around it.
        let mut bare = Message::default();
        let (mut message, mut error, mut done, mut reason) = (None, None, None, None);
        for (name, value) in members {
            match name {
                "message" => message = Some(value),
                "response" => bare.content = Some(value),
                "thinking" => bare.thinking = Some(value),
                "tool_calls" => bare.calls = Some(value),
                "done" => done = Some(value),
                "done_reason" => reason = value.as_str(),
                "error" => error = Some(value).filter(|error| is_error(*error)),
                "prompt_eval_count" | "eval_count" => {}
                "total_duration" | "load_duration" | "prompt_eval_duration" | "eval_duration" => {}
                "model" | "created_at" | "remote_model" | "remote_host" | "logprobs" => {}
                // The conversation so far, as numbers; the rendered prompt; a sign-in link.
                "context" | "_debug_info" | "signin_url" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        if message.is_some() || bare.content.is_some() || done.is_some() {
            sink(Delta::Start { choice: 0 });
        }
        self.emit_message("", &bare, sink);
        if let Some(message) = message {
            let message = read_message(message, sink);
            self.emit_message("message", &message, sink);
        }
        if let Some(error) = error {
            sink(error_delta(error));
        }
        match done.map(|done| (done, done.as_bool())) {
            Some((_, Some(true))) => {
                if let Some(usage) = read_usage(line) {
                    sink(Delta::Usage(usage));
                }
                // Old servers give no reason.
                let reason = finish_reason(reason.as_deref().unwrap_or_default());
                sink(Delta::Finish { choice: 0, reason });
                sink(Delta::Terminator);
            }
            Some((done, None)) => unknown("", "done", done, sink),
            Some((_, Some(false))) | None => {}
        }
    }

    fn emit_message(&mut self, place: &'static str, message: &Message<'_>, sink: &mut Sink<'_>) {
        let content = if place.is_empty() { "response" } else { "content" };
        for (name, value) in [("thinking", message.thinking), (content, message.content)] {
            match value.map(|value| (value, read_text(value, sink))) {
                Some((_, Some(text))) if text.is_empty() => {}
                Some((_, Some(text))) => sink(match name {
                    "thinking" => Delta::Reasoning { choice: 0, text: &text },
                    _ => Delta::Text { choice: 0, block: 0, text: &text },
                }),
                Some((value, None)) if name == "thinking" => unknown(place, name, value, sink),
                Some((value, None)) => unreadable(place, name, value, sink),
                None => {}
            }
        }
        match message.calls.map(|calls| (calls, calls.as_array())) {
            Some((_, Some(calls))) => calls.into_iter().for_each(|call| self.tool_call(call, sink)),
            Some((calls, None)) => unreadable(place, "tool_calls", calls, sink),
            None => {}
        }
    }

    fn tool_call(&mut self, value: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "message.tool_calls[]";
        const FUNCTION: &str = "message.tool_calls[].function";
        let Some(members) = value.as_object() else {
            return unreadable("message", "tool_calls[]", value, sink);
        };
        let (mut id, mut function) = (None, None);
        for (name, value) in members {
            match name {
                "id" => id = text_of(value),
                "function" => function = Some(value),
                // Compatible servers add OpenAI's members.
                "type" | "index" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        let (mut tool, mut arguments) = (None, None);
        let Some(function) = function else {
            return sink(Delta::Unknown { parent: PLACE, name: "no function".into() });
        };
        let Some(members) = function.as_object() else {
            return unreadable(PLACE, "function", function, sink);
        };
        for (name, value) in members {
            match name {
                "name" => tool = value.as_str(),
                "arguments" => arguments = text_of(value),
                // Models that write one call per line give every call the index 0.
                "index" => {}
                _ => sink(Delta::Unknown { parent: FUNCTION, name: name.into() }),
            }
        }
        let block = self.calls.begin(id.as_deref(), tool.as_deref());
        let call = CallDelta {
            index: Some(block),
            id: id.as_deref(),
            name: tool.as_deref(),
            arguments: arguments.as_deref().unwrap_or_default(),
            is_whole: true,
            lossy: false,
        };
        sink(Delta::ToolCall { choice: 0, call });
        sink(Delta::BlockStop { choice: 0, block, completion: Some(CompletedBy::ItemStop) });
    }
}

/// The parts of a message that belong to the response.
#[derive(Default)]
struct Message<'a> {
    thinking: Option<Value<'a>>,
    content: Option<Value<'a>>,
    calls: Option<Value<'a>>,
}

fn read_message<'a>(message: Value<'a>, sink: &mut Sink<'_>) -> Message<'a> {
    let mut parts = Message::default();
    let Some(members) = message.as_object() else {
        unreadable("", "message", message, sink);
        return parts;
    };
    for (name, value) in members {
        match name {
            "content" => parts.content = Some(value),
            "thinking" => parts.thinking = Some(value),
            "tool_calls" => parts.calls = Some(value),
            "images" if is_null_or_empty(value) => {}
            "role" | "tool_name" | "tool_call_id" => {}
            _ => sink(Delta::Unknown { parent: "message", name: name.into() }),
        }
    }
    parts
}

fn read_usage(line: Value<'_>) -> Option<Usage> {
    let tokens = |name| line.get(name).and_then(as_u64);
    let (input_tokens, output_tokens) = (tokens("prompt_eval_count"), tokens("eval_count"));
    let total = input_tokens.zip(output_tokens).map(|(input, output)| input.saturating_add(output));
    (input_tokens.or(output_tokens).is_some()).then_some(Usage {
        input_tokens,
        output_tokens,
        total_tokens: total,
        ..Usage::default()
    })
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "stop" | "" => FinishReason::Stop,
        "length" => FinishReason::Length,
        // `load` and `unload`, for requests without a prompt.
        other => FinishReason::other(other),
    }
}
