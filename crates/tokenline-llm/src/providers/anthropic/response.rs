//! Responses as they are written for clients: events, and whole bodies.

use tokenline_core::json::Raw;

use crate::Provider;
use crate::delta::{FinishReason, Usage};
use crate::request::json::{Node, Object};
use crate::request::{KeptMessage, Message};
use crate::writer::{
    CollectedChoice, CollectedPart, Collector, Failure, PartKind, ResponseHead, Step, StepRules, StepWriter,
    WireWriter, append, append_event, append_json,
};

/// Writes a response as events, or as one body.
///
/// The clients' libraries need this: a line with each event's name; blocks one after the other, numbered from 0 without
/// gaps; arguments only in deltas; usage in the first and the last event.
pub(super) struct Writer {
    head: ResponseHead,
    out: Vec<u8>,
    whole: Option<Collector>,
    /// The number of blocks that have ended.
    blocks: u64,
    is_open: bool,
    reason: Option<FinishReason>,
    /// The text of a refusal: it is a part of the end, not a block.
    refusal: String,
    kept: Option<KeptMessage>,
}

impl Writer {
    pub(super) fn new(head: ResponseHead, is_streamed: bool) -> Self {
        let whole = (!is_streamed).then(Collector::default);
        Self {
            head,
            out: Vec::new(),
            whole,
            blocks: 0,
            is_open: false,
            reason: None,
            refusal: String::new(),
            kept: None,
        }
    }

    fn event(&mut self, name: &str, members: Object) {
        let data = members.into_iter().fold(kind(name), |data, (name, node)| data.with(&name, node));
        append_event(&mut self.out, Some(name), &data);
    }

    fn start_block(&mut self, block: Object) {
        let members = Object::new().with("index", self.blocks).with("content_block", block);
        self.event("content_block_start", members);
        self.is_open = true;
    }

    fn end_block(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.event("content_block_stop", Object::new().with("index", self.blocks));
            self.blocks += 1;
        }
    }

    fn whole_block(&mut self, block: Object) {
        self.end_block();
        self.start_block(block);
        self.end_block();
    }

    fn delta(&mut self, of_type: &str, member: &str, text: &str) {
        let (out, index) = (&mut self.out, self.blocks);
        out.extend_from_slice(
            b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":",
        );
        append(out, format_args!("{index},\"delta\":{{\"type\":\"{of_type}\",\"{member}\":"));
        append_json(out, text);
        out.extend_from_slice(b"}}\n\n");
    }

    /// Data for the next request: of the open block, or a block of its own.
    fn opaque(&mut self, data: &Raw) {
        if self.head.upstream != Some(Provider::Anthropic) {
            return;
        }
        if is_block(data) {
            return self.whole_block(Object::new().with_members_of(Some(data)));
        }
        if !self.is_open {
            self.start_block(block_of(PartKind::Reasoning, ""));
        }
        let signature = data.with_value(|data| Some(data.get("signature")?.as_str()?.into_owned()));
        if let Some(signature) = signature {
            self.delta("signature_delta", "signature", &signature);
        }
        self.end_block();
    }

    fn end(&mut self, usage: Option<&Usage>) {
        if let Some(kept) = self.kept.take() {
            self.whole_block(kept_block(&kept));
        }
        let delta = end_members(Object::new(), self.reason.as_ref(), &self.refusal);
        let usage = usage_object(usage.copied().unwrap_or_default());
        self.event("message_delta", Object::new().with("delta", delta).with("usage", usage));
        self.event("message_stop", Object::new());
    }
}

impl StepWriter for Writer {
    fn write(&mut self, choice: u64, step: Step<'_>) {
        if let Some(whole) = &mut self.whole {
            return whole.write(choice, step);
        }
        match step {
            Step::Start => {
                let null = || Node::from(serde_json::Value::Null);
                let message = message(&self.head, Vec::new())
                    .with("stop_reason", null())
                    .with("stop_sequence", null())
                    .with("usage", usage_object(Usage::default()));
                self.event("message_start", Object::new().with("message", message));
            }
            Step::PartStart(PartKind::Refusal) => {}
            Step::PartDelta(PartKind::Refusal, text) => self.refusal.push_str(text),
            Step::PartStart(kind) => self.start_block(block_of(kind, "")),
            Step::PartDelta(PartKind::Reasoning, text) => self.delta("thinking_delta", "thinking", text),
            Step::PartDelta(_, text) => self.delta("text_delta", "text", text),
            Step::PartEnd(_) => self.end_block(),
            Step::Opaque(data) => self.opaque(data),
            Step::Record(record) => {
                self.start_block(block_of(PartKind::Text, ""));
                self.delta("text_delta", "text", &format!("{}\n", record.to_single_line()));
                self.end_block();
            }
            Step::CallStart { id, name, .. } => {
                self.start_block(call_block(id, name, Node::from(Object::new())));
            }
            Step::CallArguments { text, .. } => self.delta("input_json_delta", "partial_json", text),
            Step::CallEnd { .. } => self.end_block(),
            // Only if rejects are shown.
            Step::CallRejected { .. } | Step::CallDiscarded { .. } => {}
            Step::Finish(reason) => self.reason = Some(reason.clone()),
            Step::End(usage) => self.end(usage),
            Step::Failed(failure) => {
                append_event(&mut self.out, Some("error"), &error_body(failure, None));
            }
        }
    }
}

impl WireWriter for Writer {
    fn rules(&self) -> StepRules {
        StepRules::default()
    }

    fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn keep_message(&mut self, message: &Message) {
        self.kept = KeptMessage::of(message, Provider::Anthropic);
    }

    fn body(&self) -> String {
        let Some(whole) = &self.whole else { return String::new() };
        let choice = whole.choices.first();
        let parts = choice.map_or(&[][..], |choice| &choice.parts);
        let own = self.head.upstream == Some(Provider::Anthropic);
        let blocks = parts.iter().filter_map(|part| whole_block(part, own));
        let blocks = blocks.chain(self.kept.as_ref().map(kept_block)).collect();
        let reason = choice.and_then(|CollectedChoice { reason, .. }| reason.as_ref());
        let refusal = parts.iter().filter_map(|part| match part {
            CollectedPart::Text { kind: PartKind::Refusal, text, .. } => Some(text.as_str()),
            _ => None,
        });
        end_members(message(&self.head, blocks), reason, &refusal.collect::<String>())
            .with("usage", usage_object(whole.usage.unwrap_or_default()))
            .to_string()
    }

    fn ping(&self) -> &'static str {
        "event: ping\ndata: {\"type\":\"ping\"}\n\n"
    }
}

/// The types of errors that clients know.
const TYPES: [&str; 11] = [
    "api_error",
    "authentication_error",
    "billing_error",
    "conflict_error",
    "invalid_request_error",
    "not_found_error",
    "overloaded_error",
    "permission_error",
    "rate_limit_error",
    "request_too_large",
    "timeout_error",
];

/// The body of an error, and the data of an error in a stream.
pub(super) fn error_body(failure: &Failure, request_id: Option<&str>) -> Object {
    let of_type = match failure.status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    // This API has types in place of codes.
    let own = failure.code.as_deref().filter(|code| TYPES.contains(code));
    let of_type = own.unwrap_or(of_type);
    let request_id = request_id.map_or_else(|| Node::from(serde_json::Value::Null), Node::from);
    kind("error")
        .with("error", kind(of_type).with("message", &failure.message))
        .with("request_id", request_id)
}

fn kind(name: &str) -> Object {
    Object::new().with("type", name)
}

fn message(head: &ResponseHead, content: Vec<Object>) -> Object {
    Object::new()
        .with("id", &format!("msg_{}", head.id))
        .with("type", "message")
        .with("role", "assistant")
        .with("model", &head.model)
        .with("content", content)
}

/// Adds why the response ended.
fn end_members(object: Object, reason: Option<&FinishReason>, refusal: &str) -> Object {
    let details = || kind("refusal").with("explanation", refusal);
    let is_refusal = !refusal.is_empty() && reason != Some(&FinishReason::ToolCalls);
    object
        .with("stop_reason", if is_refusal { "refusal" } else { stop_reason(reason) })
        .with("stop_sequence", serde_json::Value::Null)
        .with_some("stop_details", is_refusal.then(details))
}

fn block_of(of: PartKind, text: &str) -> Object {
    match of {
        // Without a signature, the API refuses it in the next request; a gateway omits it.
        PartKind::Reasoning => kind("thinking").with("thinking", text).with("signature", ""),
        PartKind::Text | PartKind::Refusal => kind("text").with("text", text),
    }
}

fn call_block(id: &str, name: &str, input: Node) -> Object {
    kind("tool_use").with("id", id).with("name", name).with("input", input)
}

/// The block with the data that another provider attached to the message.
fn kept_block(kept: &KeptMessage) -> Object {
    kind("redacted_thinking").with("data", kept.as_str())
}

/// A complete block. `own` says whether the data in it is Anthropic's.
fn whole_block(part: &CollectedPart, own: bool) -> Option<Object> {
    Some(match part {
        CollectedPart::Text { kind: PartKind::Reasoning, text, opaque } => {
            let data = opaque.as_ref().filter(|data| own && !is_block(data));
            block_of(PartKind::Reasoning, text).with_members_of(data)
        }
        CollectedPart::Text { kind: PartKind::Refusal, .. } => return None,
        CollectedPart::Text { kind, text, .. } => block_of(*kind, text),
        CollectedPart::Opaque(data) if own && is_block(data) => Object::new().with_members_of(Some(data)),
        CollectedPart::Opaque(data) if own => block_of(PartKind::Reasoning, "").with_members_of(Some(data)),
        CollectedPart::Opaque(_) => return None,
        CollectedPart::Call { id, name, arguments } => call_block(id, name, Node::from(arguments)),
    })
}

/// Whether opaque data is a block of its own, such as redacted thinking.
fn is_block(data: &Raw) -> bool {
    data.with_value(|data| data.get("type").is_some())
}

/// A stop reason in the words of this API.
fn stop_reason(reason: Option<&FinishReason>) -> &str {
    match reason {
        None | Some(FinishReason::Stop) => "end_turn",
        Some(FinishReason::ToolCalls) => "tool_use",
        Some(FinishReason::Length | FinishReason::Repetition) => "max_tokens",
        Some(FinishReason::ContentFilter) => "refusal",
        Some(reason) => reason.as_str(),
    }
}

/// Token counts. Those read from the cache or written to it are not among the input tokens.
fn usage_object(usage: Usage) -> Object {
    let read = usage.cached_input_tokens.unwrap_or(0);
    let created = usage.cache_creation_input_tokens.unwrap_or(0);
    Object::new()
        .with("input_tokens", usage.input_tokens.unwrap_or(0).saturating_sub(read).saturating_sub(created))
        .with("cache_creation_input_tokens", created)
        .with("cache_read_input_tokens", read)
        .with("output_tokens", usage.output_tokens.unwrap_or(0))
}
