//! Responses as they are written for clients: chunks, and whole bodies.

use tokenline_core::json::Raw;

use crate::Provider;
use crate::delta::{FinishReason, Usage};
use crate::request::json::{Node, Object};
use crate::request::{AssistantPart, Message};
use crate::writer::{
    CollectedChoice, CollectedPart, Collector, Failure, PartKind, ResponseHead, Step, StepRules, StepWriter,
    WireWriter, append, append_event, append_json,
};

/// Writes a response as chunks, or as one body.
///
/// The clients' libraries need this: the role once; id, type and name of a call together and once; indexes from 0 in
/// order; a finish reason always; usage in the last chunk, and no chunk without choices unless usage was asked for.
pub(super) struct Writer {
    head: ResponseHead,
    out: Vec<u8>,
    /// The whole response, if it is not streamed.
    whole: Option<Collector>,
    /// Each chunk up to the index of its choice.
    start: Vec<u8>,
    /// Members of the message that a provider expects back.
    kept: Option<Raw>,
}

impl Writer {
    pub(super) fn new(head: ResponseHead, is_streamed: bool) -> Self {
        let start = chunk_start(&head);
        let whole = (!is_streamed).then(Collector::default);
        Self { head, out: Vec::new(), whole, start, kept: None }
    }

    /// A chunk. `delta` writes the members of its delta.
    fn chunk(&mut self, choice: u64, reason: Option<&FinishReason>, delta: impl FnOnce(&mut Vec<u8>)) {
        let out = &mut self.out;
        out.extend_from_slice(&self.start);
        append(out, format_args!("{choice},\"delta\":{{"));
        delta(out);
        out.extend_from_slice(b"},\"logprobs\":null,\"finish_reason\":");
        match reason {
            Some(reason) => append_json(out, name_of(reason)),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(if self.head.include_usage { b"}],\"usage\":null}\n\n" } else { b"}]}\n\n" });
    }

    /// A chunk with a piece of text.
    fn text(&mut self, choice: u64, kind: PartKind, text: &str) {
        self.chunk(choice, None, |out| {
            append(out, format_args!("\"{}\":", member(kind)));
            append_json(out, text);
        });
    }

    fn end(&mut self, usage: Option<&Usage>) {
        if self.head.include_usage {
            let usage = usage_object(usage.copied().unwrap_or_default());
            let data = envelope(&self.head, "chat.completion.chunk")
                .with("choices", Vec::<Node>::new())
                .with("usage", usage);
            append_event(&mut self.out, None, &data);
        }
        self.out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

impl StepWriter for Writer {
    fn write(&mut self, choice: u64, step: Step<'_>) {
        if let Some(whole) = &mut self.whole {
            return whole.write(choice, step);
        }
        match step {
            Step::Start => self.chunk(choice, None, |out| {
                out.extend_from_slice(br#""role":"assistant","content":"""#);
            }),
            Step::PartDelta(kind, text) => self.text(choice, kind, text),
            Step::Record(record) => {
                self.text(choice, PartKind::Text, &format!("{}\n", record.to_single_line()));
            }
            Step::CallStart { index, id, name } => self.chunk(choice, None, |out| {
                append(out, format_args!(r#""tool_calls":[{{"index":{index},"id":"#));
                append_json(out, id);
                out.extend_from_slice(br#","type":"function","function":{"name":"#);
                append_json(out, name);
                out.extend_from_slice(br#","arguments":""}}]"#);
            }),
            Step::CallArguments { index, text } => self.chunk(choice, None, |out| {
                append(out, format_args!(r#""tool_calls":[{{"index":{index},"function":{{"arguments":"#));
                append_json(out, text);
                out.extend_from_slice(b"}}]");
            }),
            Step::Finish(reason) => {
                if let Some(kept) = self.kept.take_if(|_| choice == 0) {
                    let members = Object::new().with_members_of(Some(&kept)).to_string();
                    let members = members.trim_start_matches('{').strip_suffix('}').unwrap_or_default();
                    self.chunk(choice, None, |out| out.extend_from_slice(members.as_bytes()));
                }
                self.chunk(choice, Some(reason), |_| {});
            }
            Step::End(usage) => self.end(usage),
            Step::Failed(failure) => append_event(&mut self.out, None, &error_body(failure)),
            Step::PartStart(_) | Step::PartEnd(_) | Step::Opaque(_) | Step::CallEnd { .. } => {}
            // Only if rejects are shown.
            Step::CallRejected { .. } | Step::CallDiscarded { .. } => {}
        }
    }
}

impl WireWriter for Writer {
    fn rules(&self) -> StepRules {
        StepRules { has_choices: true, keeps_white_space: true, is_interleaved: true, ..StepRules::default() }
    }

    fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Only the members that a server of this API sent: clients keep no others.
    fn keep_message(&mut self, message: &Message) {
        let Message::Assistant(parts) = message else { return };
        let data = parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning { .. } => part.opaque_of(Provider::OpenAiChat),
            _ => None,
        });
        self.kept = data.rev().find(|data| data.as_str().starts_with('{')).cloned();
    }

    fn body(&self) -> String {
        let Some(whole) = &self.whole else { return String::new() };
        let mut choices: Vec<&CollectedChoice> = whole.choices.iter().collect();
        choices.sort_by_key(|choice| choice.index);
        let choices: Vec<Object> = choices.into_iter().map(|choice| self.whole_choice(choice)).collect();
        envelope(&self.head, "chat.completion")
            .with("choices", choices)
            .with_some("usage", whole.usage.map(usage_object))
            .to_string()
    }

    fn ping(&self) -> &'static str {
        ": ping\n\n"
    }
}

impl Writer {
    fn whole_choice(&self, choice: &CollectedChoice) -> Object {
        let text_of = |of: PartKind| {
            let texts = choice.parts.iter().filter_map(|part| match part {
                CollectedPart::Text { kind, text, .. } if *kind == of => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<String>()
        };
        let calls = choice.parts.iter().filter_map(|part| match part {
            CollectedPart::Call { id, name, arguments } => {
                let function =
                    Object::new().with("name", name).with("arguments", &*arguments.to_single_line());
                Some(Object::new().with("id", id).with("type", "function").with("function", function))
            }
            _ => None,
        });
        let calls: Vec<Object> = calls.collect();
        let or_null = |text: String, is_null: bool| match is_null {
            true => Node::from(serde_json::Value::Null),
            false => Node::from(&text),
        };
        let (text, refusal) = (text_of(PartKind::Text), text_of(PartKind::Refusal));
        let is_silent = text.is_empty() && (!calls.is_empty() || !refusal.is_empty());
        let message = Object::new()
            .with("role", "assistant")
            .with("content", or_null(text, is_silent))
            .with("refusal", or_null(refusal.clone(), refusal.is_empty()))
            .with_any("reasoning_content", &text_of(PartKind::Reasoning))
            .with_members_of(self.kept.as_ref().filter(|_| choice.index == 0))
            .with_any("tool_calls", calls);
        let reason = choice.reason.as_ref().map_or("stop", name_of);
        Object::new()
            .with("index", choice.index)
            .with("message", message)
            .with("logprobs", serde_json::Value::Null)
            .with("finish_reason", reason)
    }
}

/// The body of an error.
pub(in crate::providers) fn error_body(failure: &Failure) -> Object {
    let (kind, code) = match failure.status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        402 => ("insufficient_quota", Some("insufficient_quota")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("rate_limit_exceeded", Some("rate_limit_exceeded")),
        400..500 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    let null = || Node::from(serde_json::Value::Null);
    let error = Object::new()
        .with("message", &failure.message)
        .with("type", kind)
        .with("param", null())
        .with("code", failure.openai_code().or(code).map_or_else(null, Node::from));
    Object::new().with("error", error)
}

fn member(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Text => "content",
        PartKind::Reasoning => "reasoning_content",
        PartKind::Refusal => "refusal",
    }
}

/// A finish reason in the words of this API.
fn name_of(reason: &FinishReason) -> &str {
    match reason {
        // The response goes no further, and the model is not to blame.
        FinishReason::Repetition => "length",
        reason => reason.as_str(),
    }
}

fn envelope(head: &ResponseHead, object: &str) -> Object {
    Object::new()
        .with("id", &format!("chatcmpl-{}", head.id))
        .with("object", object)
        .with("created", head.created)
        .with("model", &head.model)
}

/// A chunk up to the index of its choice.
fn chunk_start(head: &ResponseHead) -> Vec<u8> {
    let envelope = envelope(head, "chat.completion.chunk").to_string();
    let members = envelope.strip_suffix('}').unwrap_or(&envelope);
    format!("data: {members},\"choices\":[{{\"index\":").into_bytes()
}

fn usage_object(usage: Usage) -> Object {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    let details = |name, tokens: Option<u64>| tokens.map(|tokens| Object::new().with(name, tokens));
    Object::new()
        .with("prompt_tokens", input)
        .with("completion_tokens", output)
        .with("total_tokens", usage.total_tokens.unwrap_or(input.saturating_add(output)))
        .with_some("prompt_tokens_details", details("cached_tokens", usage.cached_input_tokens))
        .with_some("completion_tokens_details", details("reasoning_tokens", usage.reasoning_tokens))
}
