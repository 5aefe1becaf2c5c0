//! The content blocks of a message.

use std::borrow::Cow;

use tokenline_core::json::{Object, Value};

use super::Reader;
use crate::delta::{Delta, OpaqueTarget};
use crate::providers::api::Sink;
use crate::providers::blocks::{BlockKind, Piece};
use crate::providers::values::{is_null_or_empty, opaque, read_text, text_of, unknown, unreadable};

impl Reader {
    /// With `is_whole`, no deltas of the block follow.
    pub(super) fn start_block(
        &mut self,
        index: u64,
        block: Option<Value<'_>>,
        is_whole: bool,
        sink: &mut Sink<'_>,
    ) {
        let start = BlockStart::read(block, sink);
        match start.kind {
            BlockKind::Call => {
                // In a stream, `{}` stands for arguments that follow, as Anthropic sends them.
                let is_blank =
                    |input: Value<'_>| !is_whole && input.as_object().is_some_and(Object::is_empty);
                let input = start.input.filter(|input| !is_blank(*input)).and_then(text_of);
                let header = (start.id.as_deref(), start.name.as_deref());
                self.blocks.start_call(index, header, input.map(Cow::into_owned), sink);
            }
            kind => {
                self.blocks.start(index, kind, sink);
                self.blocks.piece(Piece { block: index, kind }, &start.text.unwrap_or_default(), sink);
            }
        }
        if let Some(data) = start.opaque {
            sink(Delta::Opaque { choice: 0, target: OpaqueTarget::Reasoning, data: data.into() });
        }
    }

    pub(super) fn read_delta(&mut self, index: u64, delta: Option<Value<'_>>, sink: &mut Sink<'_>) {
        const PLACE: &str = "content_block_delta.delta";
        let name = delta.and_then(|delta| delta.get("type")?.as_str());
        let name = name.as_deref().unwrap_or("no type");
        if let Some(delta) = delta {
            read_opaque(name, delta, sink);
        }
        if self.blocks.ignores(index) {
            return;
        }
        let has_text = |delta: &Value<'_>| delta.get("type").is_none() && delta.get("text").is_some();
        if let Some(value) = delta.filter(|delta| delta.as_object().is_none() || has_text(delta)) {
            return unreadable("content_block_delta", "delta", value, sink);
        }
        let Some((kind, carrier)) = kind_and_carrier(name) else {
            return sink(Delta::Unknown { parent: PLACE, name: name.into() });
        };
        let mut fragment = None;
        for (name, value) in delta.and_then(Value::as_object).into_iter().flatten() {
            match name {
                _ if name == carrier => fragment = Some(value),
                "type" | "estimated_tokens" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        let Some(value) = fragment.filter(|_| kind != BlockKind::Ignored) else { return };
        match read_text(value, sink) {
            Some(text) => self.blocks.piece(Piece { block: index, kind }, &text, sink),
            None if kind == BlockKind::Reasoning => unknown(PLACE, carrier, value, sink),
            None => unreadable(PLACE, carrier, value, sink),
        }
    }
}

/// Emits data for the next request: a signature, or the result of a compaction.
fn read_opaque(name: &str, delta: Value<'_>, sink: &mut Sink<'_>) {
    match name {
        "signature_delta" => opaque(OpaqueTarget::Reasoning, delta, "signature", sink),
        "compaction_delta" => {
            if let Some(content) = delta.get("content").filter(|content| !is_null_or_empty(*content)) {
                let data = format!(r#"{{"type":"compaction","content":{}}}"#, content.raw());
                sink(Delta::Opaque { choice: 0, target: OpaqueTarget::Reasoning, data: data.into() });
            }
        }
        _ => {}
    }
}

/// The kind of block that a delta of this type continues, and the member with its text.
fn kind_and_carrier(delta: &str) -> Option<(BlockKind, &'static str)> {
    Some(match delta {
        "text_delta" => (BlockKind::Text, "text"),
        "input_json_delta" => (BlockKind::Call, "partial_json"),
        "thinking_delta" => (BlockKind::Reasoning, "thinking"),
        // Signatures of thinking, and sources of text.
        "signature_delta" => (BlockKind::Ignored, "signature"),
        "citations_delta" => (BlockKind::Ignored, "citation"),
        "compaction_delta" => (BlockKind::Ignored, "content"),
        _ => return None,
    })
}

/// The start of a content block.
struct BlockStart<'a> {
    kind: BlockKind,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    input: Option<Value<'a>>,
    opaque: Option<String>,
}

impl<'a> BlockStart<'a> {
    fn read(block: Option<Value<'a>>, sink: &mut Sink<'_>) -> Self {
        const PLACE: &str = "content_block";
        let mut start =
            Self { kind: BlockKind::Ignored, id: None, name: None, text: None, input: None, opaque: None };
        let kind = block.and_then(|block| block.get("type")?.as_str());
        start.kind = match kind.as_deref().unwrap_or("no type") {
            "text" => BlockKind::Text,
            "thinking" => BlockKind::Reasoning,
            // Sent back unchanged.
            "redacted_thinking" => {
                start.opaque = block.map(|block| block.raw().to_owned());
                return start;
            }
            // In a complete response; in a stream its content follows.
            "compaction" => {
                let has_content =
                    |block: &Value<'_>| block.get("content").is_some_and(|content| !content.is_null());
                start.opaque = block.filter(has_content).map(|block| block.raw().to_owned());
                return start;
            }
            "tool_use" => BlockKind::Call,
            // Calls run by the server, their results, and changes of the message.
            "server_tool_use" | "mcp_tool_use" | "container_upload" | "fallback" => {
                return start;
            }
            kind if kind.ends_with("_tool_result") => return start,
            other => {
                sink(Delta::Unknown { parent: PLACE, name: other.into() });
                return start;
            }
        };
        for (name, value) in block.and_then(Value::as_object).into_iter().flatten() {
            match name {
                "id" => start.id = text_of(value),
                "name" => start.name = value.as_str(),
                "text" | "thinking" => match read_text(value, sink) {
                    Some(text) => start.text = Some(text),
                    None if name == "thinking" => unknown(PLACE, name, value, sink),
                    None => unreadable(PLACE, name, value, sink),
                },
                "input" => start.input = Some(value),
                "signature" if !is_null_or_empty(value) => {
                    start.opaque = Some(format!(r#"{{"signature":{}}}"#, value.raw()));
                }
                "type" | "citations" | "signature" => {}
                // Whether the model or one of its programs calls the tool, and the tool's set.
                "caller" | "toolset_name" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        start
    }
}
