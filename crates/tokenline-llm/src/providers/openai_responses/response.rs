//! Responses as they are written for clients: events, and whole bodies.

mod resource;

use std::borrow::Cow;

use tokenline_core::json::{Raw, Value};

use crate::Provider;
use crate::delta::{FinishReason, Usage};
use crate::request::json::{Node, Object};
use crate::request::{KeptMessage, Message};
use crate::writer::{
    Failure, PartKind, ResponseHead, Step, StepRules, StepWriter, WireWriter, append, append_event,
    append_json,
};
use resource::Status;

/// Writes a response as events, or as one body.
///
/// The clients' libraries need this: each event with its number; ids that stay the same from the start of an item to the
/// final resource; every item again in that resource.
pub(super) struct Writer {
    head: ResponseHead,
    out: Vec<u8>,
    is_streamed: bool,
    /// The number of events so far.
    events: u64,
    /// The items that are complete.
    items: Vec<Node>,
    /// The item that is open; its position is the number of those that are complete.
    open: Option<OpenItem>,
    reason: Option<FinishReason>,
    kept: Option<KeptMessage>,
    /// The final resource.
    resource: Option<Object>,
}

struct OpenItem {
    id: String,
    /// The text or the arguments so far.
    text: String,
    /// Its id is not known yet, so that its text waits.
    is_held: bool,
}

impl Writer {
    pub(super) fn new(head: ResponseHead, is_streamed: bool) -> Self {
        Self {
            head,
            out: Vec::new(),
            is_streamed,
            events: 0,
            items: Vec::new(),
            open: None,
            reason: None,
            kept: None,
            resource: None,
        }
    }

    fn event(&mut self, name: &str, members: Object) {
        if !self.is_streamed {
            return;
        }
        let data = Object::new().with("type", name).with("sequence_number", self.events);
        let data = members.into_iter().fold(data, |data, (name, node)| data.with(&name, node));
        append_event(&mut self.out, Some(name), &data);
        self.events += 1;
    }

    /// A delta: the event that comes with each token. `place` has the members before it, `rest` those after it.
    fn delta_event(&mut self, kind: &str, place: &str, text: &str, rest: &str) {
        if !self.is_streamed {
            return;
        }
        let (out, number, index) = (&mut self.out, self.events, self.items.len());
        append(
            out,
            format_args!("event: response.{kind}.delta\ndata: {{\"type\":\"response.{kind}.delta\","),
        );
        append(out, format_args!("\"sequence_number\":{number},\"item_id\":"));
        append_json(out, self.open.as_ref().map_or("", |open| &open.id));
        append(out, format_args!(",\"output_index\":{index}{place},\"delta\":"));
        append_json(out, text);
        append(out, format_args!("{rest}}}\n\n"));
        self.events += 1;
    }

    /// The members that say where an event belongs.
    fn place(&self) -> Object {
        let id = self.open.as_ref().map_or("", |open| &open.id);
        Object::new().with("item_id", id).with("output_index", self.items.len() as u64)
    }

    fn item_event(&mut self, name: &str, item: Node) {
        self.event(name, Object::new().with("output_index", self.items.len() as u64).with("item", item));
    }

    fn start_item(&mut self, id: String, item: Object) {
        self.open = Some(OpenItem { id, text: String::new(), is_held: false });
        self.item_event("response.output_item.added", item.into());
    }

    fn end_item(&mut self, item: Node) {
        self.item_event("response.output_item.done", item.clone());
        self.items.push(item);
        self.open = None;
    }

    fn next_id(&self, prefix: &str) -> String {
        format!("{prefix}_{}_{}", self.head.id, self.items.len() + 1)
    }
}

// Parts of text.
impl Writer {
    fn start_part(&mut self, kind: PartKind) {
        if kind == PartKind::Reasoning {
            if self.head.upstream == Some(Provider::OpenAiResponses) {
                // The item that goes back to the provider has its id, which comes at its end.
                self.open = Some(OpenItem { id: String::new(), text: String::new(), is_held: true });
                return;
            }
            let id = self.next_id("rs");
            self.start_reasoning(id);
            return self.start_summary(0);
        }
        let id = self.next_id("msg");
        let item = message_item(&id, "in_progress", Vec::new());
        self.start_item(id, item);
        let members = self.place().with("content_index", 0u64).with("part", content_part(kind, ""));
        self.event("response.content_part.added", members);
    }

    fn delta(&mut self, kind: PartKind, text: &str) {
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        if open.is_held {
            return;
        }
        match kind {
            PartKind::Reasoning => {
                self.delta_event("reasoning_summary_text", r#","summary_index":0"#, text, "");
            }
            PartKind::Refusal => self.delta_event("refusal", r#","content_index":0"#, text, ""),
            PartKind::Text => {
                self.delta_event("output_text", r#","content_index":0"#, text, r#","logprobs":[]"#);
            }
        }
    }

    fn end_part(&mut self, kind: PartKind) {
        let Some(OpenItem { id, text, is_held }) = &self.open else { return };
        let (id, text, is_held) = (id.clone(), text.clone(), *is_held);
        let place = self.place();
        match kind {
            PartKind::Reasoning if is_held => {
                self.whole_reasoning(reasoning_item(&self.next_id("rs"), &text).into());
            }
            PartKind::Reasoning => {
                self.end_summary(0, &text);
                self.end_item(reasoning_item(&id, &text).into());
            }
            PartKind::Text | PartKind::Refusal => {
                let place = place.with("content_index", 0u64);
                let part = content_part(kind, &text);
                let (name, done) = match kind {
                    PartKind::Refusal => ("response.refusal.done", place.clone().with("refusal", &text)),
                    _ => {
                        let done = place.clone().with("text", &text).with("logprobs", Vec::<Node>::new());
                        ("response.output_text.done", done)
                    }
                };
                self.event(name, done);
                self.event("response.content_part.done", place.with("part", part.clone()));
                self.end_item(message_item(&id, "completed", vec![part]).into());
            }
        }
    }

    fn text_item(&mut self, text: &str) {
        self.start_part(PartKind::Text);
        self.delta(PartKind::Text, text);
        self.end_part(PartKind::Text);
    }
}

// Reasoning.
impl Writer {
    fn start_reasoning(&mut self, id: String) {
        let item =
            Object::new().with("type", "reasoning").with("id", &id).with("summary", Vec::<Node>::new());
        self.start_item(id, item);
    }

    fn start_summary(&mut self, index: u64) {
        let members = self.place().with("summary_index", index).with("part", summary_part(""));
        self.event("response.reasoning_summary_part.added", members);
    }

    fn end_summary(&mut self, index: u64, text: &str) {
        let place = self.place().with("summary_index", index);
        self.event("response.reasoning_summary_text.done", place.clone().with("text", text));
        self.event("response.reasoning_summary_part.done", place.with("part", summary_part(text)));
    }

    /// A reasoning item that is known in all: its id, and the parts of its summary.
    fn whole_reasoning(&mut self, item: Node) {
        let raw = Raw::new(&item.to_string()).ok();
        let (id, summary) = raw.as_ref().map(id_and_summary).unwrap_or_default();
        self.start_reasoning(id.unwrap_or_else(|| self.next_id("rs")));
        for (index, text) in (0..).zip(&summary) {
            self.start_summary(index);
            self.delta_event("reasoning_summary_text", &format!(",\"summary_index\":{index}"), text, "");
            self.end_summary(index, text);
        }
        self.end_item(item);
    }

    /// The item as the provider expects it back.
    fn opaque(&mut self, data: &Raw) {
        if self.head.upstream == Some(Provider::OpenAiResponses) {
            self.open = None;
            self.whole_reasoning(Node::verbatim(data));
        }
    }
}

// Calls.
impl Writer {
    fn end_call(&mut self, call_id: &str, name: &str, arguments: &Raw) {
        let Some(OpenItem { id, .. }) = &self.open else { return };
        let (id, arguments) = (id.clone(), arguments.to_single_line());
        let members = self.place().with("name", name).with("arguments", &*arguments);
        self.event("response.function_call_arguments.done", members);
        self.end_item(call_item(&id, "completed", call_id, name, &arguments).into());
    }
}

// The ends.
impl Writer {
    fn end(&mut self, usage: Option<&Usage>) {
        if let Some(kept) = self.kept.take() {
            let item = reasoning_item(&self.next_id("rs"), "");
            self.whole_reasoning(item.with("encrypted_content", kept.as_str()).into());
        }
        let status = Status::of(self.reason.as_ref());
        let name = format!("response.{}", status.as_str());
        let resource = resource::of(&self.head, &status, self.items.clone(), usage);
        self.event(&name, Object::new().with("response", resource.clone()));
        self.resource = Some(resource);
    }

    fn fail(&mut self, failure: &Failure) {
        self.event("error", resource::error(failure));
        let status = Status::Failed(failure);
        let resource = resource::of(&self.head, &status, self.items.clone(), None);
        self.event("response.failed", Object::new().with("response", resource));
    }
}

impl StepWriter for Writer {
    fn write(&mut self, _: u64, step: Step<'_>) {
        match step {
            Step::Start => {
                for name in ["response.created", "response.in_progress"] {
                    let resource = resource::of(&self.head, &Status::InProgress, Vec::new(), None);
                    self.event(name, Object::new().with("response", resource));
                }
            }
            Step::PartStart(kind) => self.start_part(kind),
            Step::PartDelta(kind, text) => self.delta(kind, text),
            Step::PartEnd(kind) => self.end_part(kind),
            Step::Opaque(data) => self.opaque(data),
            Step::Record(record) => self.text_item(&format!("{}\n", record.to_single_line())),
            Step::CallStart { id: call_id, name, .. } => {
                let id = self.next_id("fc");
                let item = call_item(&id, "in_progress", call_id, name, "");
                self.start_item(id, item);
            }
            Step::CallArguments { text, .. } => self.delta_event("function_call_arguments", "", text, ""),
            Step::CallEnd { id, name, arguments, .. } => self.end_call(id, name, arguments),
            // Only if rejects are shown.
            Step::CallRejected { .. } | Step::CallDiscarded { .. } => {}
            Step::Finish(reason) => self.reason = Some(reason.clone()),
            Step::End(usage) => self.end(usage),
            Step::Failed(failure) => self.fail(failure),
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
        self.kept = KeptMessage::of(message, Provider::OpenAiResponses);
    }

    fn body(&self) -> String {
        self.resource.as_ref().map_or_else(String::new, Object::to_string)
    }

    fn ping(&self) -> &'static str {
        ": ping\n\n"
    }
}

/// The event of an error in a stream that another server writes.
pub(super) fn error_event(failure: &Failure) -> Object {
    resource::error(failure)
        .into_iter()
        .fold(Object::new().with("type", "error"), |all, (name, node)| all.with(&name, node))
}

fn message_item(id: &str, status: &str, content: Vec<Object>) -> Object {
    let item = Object::new().with("type", "message").with("id", id).with("status", status);
    item.with("role", "assistant").with("content", content)
}

fn content_part(kind: PartKind, text: &str) -> Object {
    match kind {
        PartKind::Refusal => Object::new().with("type", "refusal").with("refusal", text),
        PartKind::Text | PartKind::Reasoning => {
            let part = Object::new().with("type", "output_text").with("text", text);
            part.with("annotations", Vec::<Node>::new()).with("logprobs", Vec::<Node>::new())
        }
    }
}

fn reasoning_item(id: &str, text: &str) -> Object {
    let summary = if text.is_empty() { Vec::new() } else { vec![summary_part(text)] };
    Object::new().with("type", "reasoning").with("id", id).with("summary", summary)
}

fn summary_part(text: &str) -> Object {
    Object::new().with("type", "summary_text").with("text", text)
}

fn call_item(id: &str, status: &str, call_id: &str, name: &str, arguments: &str) -> Object {
    let item = Object::new().with("type", "function_call").with("id", id).with("call_id", call_id);
    item.with("name", name).with("arguments", arguments).with("status", status)
}

/// The id of a reasoning item, and the texts of its summary.
fn id_and_summary(item: &Raw) -> (Option<String>, Vec<String>) {
    item.with_value(|item| {
        let text = |value: Value<'_>| value.as_str().map(Cow::into_owned);
        let parts = item.get("summary").and_then(Value::as_array).into_iter().flatten();
        let texts = parts.filter_map(|part| text(part.get("text")?)).collect();
        (item.get("id").and_then(text), texts)
    })
}
