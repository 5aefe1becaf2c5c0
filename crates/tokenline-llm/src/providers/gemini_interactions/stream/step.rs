//! The steps of an interaction, and their deltas.

use std::borrow::Cow;

use tokenline_core::json::{Object, Value};

use crate::delta::Delta;
use crate::providers::api::Sink;
use crate::providers::blocks::BlockKind;
use crate::providers::values::{read_text, text_of, unreadable};

/// The start of a step, or a complete step.
pub(super) struct Step<'a> {
    pub(super) kind: BlockKind,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    arguments: Option<Value<'a>>,
    /// The text: a string, or a list of contents.
    content: Option<Value<'a>>,
}

const STEP: &str = "step";
const CONTENT: &str = "step.content[]";
const DELTA: &str = "step.delta.delta";

/// The repeated input of an interaction, and tools run by Google's servers.
const IGNORED: [&str; 14] = [
    "user_input",
    "function_result",
    "code_execution_call",
    "code_execution_result",
    "file_search_call",
    "file_search_result",
    "google_maps_call",
    "google_maps_result",
    "google_search_call",
    "google_search_result",
    "mcp_server_tool_call",
    "mcp_server_tool_result",
    "url_context_call",
    "url_context_result",
];

impl<'a> Step<'a> {
    pub(super) fn read(step: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let of_type = step.get("type").and_then(Value::as_str);
        let kind = match of_type.as_deref().unwrap_or("no type") {
            // Earlier versions list the contents directly.
            "model_output" | "text" => BlockKind::Text,
            "thought" => BlockKind::Reasoning,
            "function_call" => BlockKind::Call,
            other => {
                if !IGNORED.contains(&other) {
                    sink(Delta::Unknown { parent: STEP, name: other.into() });
                }
                BlockKind::Ignored
            }
        };
        let mut read = Self { kind, id: None, name: None, arguments: None, content: None };
        if kind == BlockKind::Ignored {
            return read;
        }
        for (name, value) in step.as_object().into_iter().flatten() {
            match name {
                "id" => read.id = text_of(value),
                "name" => read.name = value.as_str(),
                "arguments" => read.arguments = Some(value),
                "content" | "summary" | "text" => read.content = Some(value),
                "signature" => {}
                "type" | "status" | "annotations" => {}
                _ => sink(Delta::Unknown { parent: STEP, name: name.into() }),
            }
        }
        read
    }

    /// The arguments of a call. In a stream, `{}` stands for arguments that follow.
    pub(super) fn arguments(&self, is_whole: bool) -> Option<String> {
        let is_blank = |value: Value<'_>| !is_whole && value.as_object().is_some_and(Object::is_empty);
        let arguments = self.arguments.filter(|arguments| !is_blank(*arguments));
        arguments.and_then(text_of).map(Cow::into_owned)
    }

    /// Passes the texts inside the step to `each`.
    pub(super) fn texts(&self, sink: &mut Sink<'_>, mut each: impl FnMut(&str, &mut Sink<'_>)) {
        let Some(content) = self.content else { return };
        match content.as_array() {
            Some(contents) => {
                for content in contents {
                    if let Some(text) = text_in(content, sink) {
                        each(&text, sink);
                    }
                }
            }
            None => match read_text(content, sink) {
                Some(text) => each(&text, sink),
                None => unreadable(STEP, "content", content, sink),
            },
        }
    }
}

/// The text of a content.
fn text_in<'a>(content: Value<'a>, sink: &mut Sink<'_>) -> Option<Cow<'a, str>> {
    let Some(members) = content.as_object() else {
        unreadable(STEP, "content[]", content, sink);
        return None;
    };
    let (mut of_type, mut text) = (None, None);
    for (name, value) in members {
        match name {
            "type" => of_type = value.as_str(),
            "text" => text = read_text(value, sink),
            "annotations" => {}
            _ => sink(Delta::Unknown { parent: CONTENT, name: name.into() }),
        }
    }
    match of_type.as_deref() {
        None | Some("text") => text,
        Some(other) => {
            sink(Delta::Unknown { parent: CONTENT, name: other.into() });
            None
        }
    }
}

/// The next piece of a step.
pub(super) struct StepDelta<'a> {
    pub(super) kind: BlockKind,
    pub(super) text: Option<Cow<'a, str>>,
}

impl<'a> StepDelta<'a> {
    pub(super) fn read(delta: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let of_type = delta.get("type").and_then(Value::as_str);
        let (kind, member) = match of_type.as_deref().unwrap_or("no type") {
            "text" => (BlockKind::Text, "text"),
            "thought_summary" => (BlockKind::Reasoning, "content"),
            "arguments_delta" => (BlockKind::Call, "arguments"),
            "thought_signature" => (BlockKind::Ignored, "signature"),
            other => {
                if !IGNORED.contains(&other) {
                    sink(Delta::Unknown { parent: DELTA, name: other.into() });
                }
                return Self { kind: BlockKind::Ignored, text: None };
            }
        };
        let mut read = Self { kind, text: None };
        for (name, value) in delta.as_object().into_iter().flatten() {
            match name {
                "signature" => {}
                _ if name == member => read.read_text(name, value, sink),
                "type" | "annotations" => {}
                _ => sink(Delta::Unknown { parent: DELTA, name: name.into() }),
            }
        }
        read
    }

    fn read_text(&mut self, name: &str, value: Value<'a>, sink: &mut Sink<'_>) {
        let is_content = self.kind == BlockKind::Reasoning && value.as_object().is_some();
        let text = match self.kind {
            _ if is_content => text_in(value, sink),
            // Arguments may also be sent as an object.
            BlockKind::Call => read_text(value, sink).or_else(|| text_of(value)),
            _ => read_text(value, sink),
        };
        match text {
            Some(text) => self.text = Some(text),
            None if is_content => {}
            None => unreadable(DELTA, name, value, sink),
        }
    }
}
