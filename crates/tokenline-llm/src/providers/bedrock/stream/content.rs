//! The content blocks of a message, and their deltas.

use std::borrow::Cow;

use tokenline_core::json::Value;

use crate::delta::Delta;
use crate::providers::api::Sink;
use crate::providers::blocks::BlockKind;
use crate::providers::values::{read_text, text_of, unknown, unreadable};

/// The start of a block, or a complete block.
#[derive(Default)]
pub(super) struct Content<'a> {
    /// `None` if not given.
    pub(super) kind: Option<BlockKind>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    input: Option<Value<'a>>,
    pub(super) texts: Vec<Cow<'a, str>>,
}

const START: &str = "contentBlockStart.start";
const CONTENT: &str = "content[]";
const DELTA: &str = "contentBlockDelta.delta";

impl<'a> Content<'a> {
    /// Reads the start of a block.
    pub(super) fn read_start(start: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let mut content = Self::default();
        for (name, value) in start.as_object().into_iter().flatten() {
            match name {
                "toolUse" => content.read_call(value, sink),
                _ => content.ignore(START, name, sink),
            }
        }
        content
    }

    /// Reads a complete block.
    pub(super) fn read(block: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let mut content = Self::default();
        for (name, value) in block.as_object().into_iter().flatten() {
            match name {
                "text" => content.push(BlockKind::Text, value, sink),
                "toolUse" => content.read_call(value, sink),
                "reasoningContent" => content.read_reasoning(value, sink),
                "citationsContent" => content.read_cited(value, sink),
                _ => content.ignore(CONTENT, name, sink),
            }
        }
        content
    }

    /// Reads a call, which may be run by the server.
    fn read_call(&mut self, call: Value<'a>, sink: &mut Sink<'_>) {
        let mut kind = BlockKind::Call;
        for (name, value) in call.as_object().into_iter().flatten() {
            match name {
                "toolUseId" => self.id = text_of(value),
                "name" => self.name = value.as_str(),
                "input" => self.input = Some(value),
                "type" if value.as_str().as_deref() == Some("server_tool_use") => kind = BlockKind::Ignored,
                _ => sink(Delta::Unknown { parent: "toolUse", name: name.into() }),
            }
        }
        self.kind = Some(kind);
    }

    fn read_reasoning(&mut self, reasoning: Value<'a>, sink: &mut Sink<'_>) {
        const PLACE: &str = "content[].reasoningContent";
        self.kind = Some(BlockKind::Reasoning);
        for (name, value) in reasoning.as_object().into_iter().flatten() {
            match name {
                "reasoningText" => {
                    for (name, value) in value.as_object().into_iter().flatten() {
                        match name {
                            "text" => self.push(BlockKind::Reasoning, value, sink),
                            "signature" => {}
                            _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
                        }
                    }
                }
                "redactedContent" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
    }

    /// Reads a text with citations.
    fn read_cited(&mut self, cited: Value<'a>, sink: &mut Sink<'_>) {
        const PLACE: &str = "content[].citationsContent";
        for (name, value) in cited.as_object().into_iter().flatten() {
            match (name, value.as_array()) {
                ("content", Some(parts)) => {
                    for text in parts.into_iter().filter_map(|part| part.get("text")) {
                        self.push(BlockKind::Text, text, sink);
                    }
                }
                ("content", None) => unknown(PLACE, name, value, sink),
                ("citations", _) => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
    }

    fn push(&mut self, kind: BlockKind, value: Value<'a>, sink: &mut Sink<'_>) {
        self.kind = Some(kind);
        match read_text(value, sink) {
            Some(text) => self.texts.push(text),
            None => unreadable(CONTENT, "text", value, sink),
        }
    }

    /// Ignores a block of another kind. The results of the server's tools are known.
    fn ignore(&mut self, parent: &'static str, name: &str, sink: &mut Sink<'_>) {
        self.kind.get_or_insert(BlockKind::Ignored);
        if name != "toolResult" {
            sink(Delta::Unknown { parent, name: name.into() });
        }
    }

    /// The id of a call, and the name of its tool.
    pub(super) fn header(&self) -> (Option<&str>, Option<&str>) {
        (self.id.as_deref(), self.name.as_deref())
    }

    pub(super) fn arguments(&self) -> Option<String> {
        self.input.and_then(text_of).map(Cow::into_owned)
    }
}

/// The next piece of a block.
pub(super) struct ContentDelta<'a> {
    pub(super) kind: BlockKind,
    pub(super) text: Cow<'a, str>,
}

impl<'a> ContentDelta<'a> {
    pub(super) fn read(delta: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let mut read = Self { kind: BlockKind::Ignored, text: Cow::Borrowed("") };
        for (name, value) in delta.as_object().into_iter().flatten() {
            match name {
                "text" => read.carry(BlockKind::Text, name, value, sink),
                "toolUse" => read.read_members(value, (BlockKind::Call, "input"), "toolUse", sink),
                "reasoningContent" => {
                    read.read_members(value, (BlockKind::Reasoning, "text"), "reasoningContent", sink);
                }
                "citation" | "toolResult" => {}
                _ => sink(Delta::Unknown { parent: DELTA, name: name.into() }),
            }
        }
        read
    }

    fn read_members(
        &mut self,
        value: Value<'a>,
        (kind, carrier): (BlockKind, &str),
        parent: &'static str,
        sink: &mut Sink<'_>,
    ) {
        for (name, value) in value.as_object().into_iter().flatten() {
            match name {
                "signature" | "redactedContent" => {}
                _ if name == carrier => self.carry(kind, name, value, sink),
                _ => sink(Delta::Unknown { parent, name: name.into() }),
            }
        }
    }

    fn carry(&mut self, kind: BlockKind, name: &str, value: Value<'a>, sink: &mut Sink<'_>) {
        match read_text(value, sink) {
            Some(text) => (self.kind, self.text) = (kind, text),
            None => unreadable(DELTA, name, value, sink),
        }
    }
}
