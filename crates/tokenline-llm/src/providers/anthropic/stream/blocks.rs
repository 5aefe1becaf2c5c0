//! The content blocks of a message.

use std::borrow::Cow;

use tokenline_core::json::{Object, Value};
use tokenline_core::{CallDelta, Completion};

use crate::providers::values::{as_u64, is_nothing, read_text, text_of, unknown};
use super::{Block, Kind, MAX_BLOCKS, Message, Piece};
use crate::delta::{Delta, OpaqueOf};

// Content blocks.
impl Message {
    /// `is_whole` tells that no deltas of it are to follow.
    pub(super) fn start_block(
        &mut self,
        index: u64,
        block: Option<Value<'_>>,
        is_whole: bool,
        sink: &mut impl FnMut(Delta<'_>),
    ) {
        self.has_begun = true;
        self.settle(Some(Completion::ItemStop), sink);
        let start = BlockStart::read(block, sink);
        self.blocks.retain(|block| block.index != index);
        if self.blocks.len() == MAX_BLOCKS {
            self.blocks.remove(0);
        }
        let opaque = start.opaque.unwrap_or_default();
        self.blocks.push(Block { index, kind: start.kind, opaque, is_stopped: false });
        match (start.kind, start.text.as_deref().unwrap_or_default()) {
            (Kind::Text, text) if !text.is_empty() => sink(Delta::Text { choice: 0, block: index, text }),
            (Kind::Thinking, text) if !text.is_empty() => sink(Delta::Reasoning { choice: 0, text }),
            (Kind::Call, _) => {
                let (id, name) = (start.id.as_deref(), start.name.as_deref());
                let call = CallDelta { index: Some(index), id, name, ..CallDelta::default() };
                sink(Delta::ToolCall { choice: 0, call });
                // `{}` stands for arguments that are to follow, as they do from Anthropic itself.
                let is_blank =
                    |input: Value<'_>| !is_whole && input.as_object().is_some_and(Object::is_empty);
                let input = start.input.filter(|input| !is_blank(*input)).and_then(text_of);
                self.input = input.map(|input| (index, input.into_owned()));
            }
            (Kind::Text | Kind::Thinking | Kind::Aside, _) => {}
        }
    }

    pub(super) fn read_delta(
        &mut self,
        index: u64,
        delta: Option<Value<'_>>,
        sink: &mut impl FnMut(Delta<'_>),
    ) {
        const PLACE: &str = "content_block_delta.delta";
        self.read_opaque(index, delta);
        if !self.listens_to(index) {
            return;
        }
        let name = delta.and_then(|delta| delta.get("type")?.as_str());
        let name = name.as_deref().unwrap_or("no type");
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
        let Some(value) = fragment.filter(|_| kind != Kind::Aside) else { return };
        match read_text(value, sink) {
            Some(text) => self.piece(Piece { index, kind }, &text, sink),
            None => unknown(PLACE, carrier, value, sink),
        }
    }

    /// Keeps what has to go back: a signature, or what a compaction came to.
    fn read_opaque(&mut self, index: u64, delta: Option<Value<'_>>) {
        let Some(delta) = delta else { return };
        let kind = delta.get("type").and_then(Value::as_str);
        let (member, data) = match kind.as_deref() {
            Some("signature_delta") => (delta.get("signature"), r#"{"signature":"#),
            Some("compaction_delta") => (delta.get("content"), r#"{"type":"compaction","content":"#),
            _ => return,
        };
        let block = self.blocks.iter_mut().find(|block| block.index == index);
        if let Some((block, value)) = block.zip(member.filter(|value| !is_nothing(*value))) {
            block.opaque = format!("{data}{}}}", value.raw());
        }
    }

    /// Whether what a block goes on with is the caller's business.
    pub(super) fn listens_to(&mut self, index: u64) -> bool {
        self.has_begun = true;
        !self.blocks.iter().any(|block| block.index == index && block.kind == Kind::Aside)
    }

    /// Takes in more of a block that is.
    pub(super) fn piece(&mut self, piece: Piece, text: &str, sink: &mut impl FnMut(Delta<'_>)) {
        let Piece { index, kind } = piece;
        match kind {
            _ if text.is_empty() => {}
            Kind::Text => sink(Delta::Text { choice: 0, block: index, text }),
            Kind::Thinking => sink(Delta::Reasoning { choice: 0, text }),
            Kind::Call => {
                self.input.take_if(|(of, _)| *of == index);
                let call = CallDelta { index: Some(index), arguments: text, ..CallDelta::default() };
                sink(Delta::ToolCall { choice: 0, call });
            }
            Kind::Aside => {}
        }
    }

    pub(super) fn stop_block(&mut self, index: u64, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        self.give_input(sink);
        let at = self.blocks.iter().position(|block| block.index == index);
        match at.map(|at| (at, self.blocks[at].kind)) {
            Some((at, Kind::Text)) => self.blocks[at].is_stopped = true,
            Some((at, Kind::Call)) => {
                self.blocks.remove(at);
                sink(Delta::BlockStop { choice: 0, block: index, completion: Some(Completion::ItemStop) });
            }
            Some((at, Kind::Thinking | Kind::Aside)) => {
                let data = self.blocks.remove(at).opaque;
                if !data.is_empty() {
                    sink(Delta::Opaque { choice: 0, of: OpaqueOf::Reasoning, data: data.into() });
                }
            }
            // Its start is missing: it may have been a text's.
            None if self.blocks.len() == MAX_BLOCKS => {}
            None => self.blocks.push(Block { index, kind: Kind::Text, opaque: String::new(), is_stopped: true }),
        }
    }

    /// Hands over the arguments that stood at a call's start, now that no fragments have come.
    pub(super) fn give_input(&mut self, sink: &mut impl FnMut(Delta<'_>)) {
        if let Some((index, arguments)) = self.input.take() {
            // Whether they came with bad bytes is not known any more.
            let lossy = arguments.contains(char::REPLACEMENT_CHARACTER);
            let header = CallDelta { index: Some(index), ..CallDelta::default() };
            let call = CallDelta { arguments: &arguments, is_whole: true, lossy, ..header };
            sink(Delta::ToolCall { choice: 0, call });
        }
    }
}

/// What a delta of this type is of, and which of its members has it.
fn kind_and_carrier(delta: &str) -> Option<(Kind, &'static str)> {
    Some(match delta {
        "text_delta" => (Kind::Text, "text"),
        "input_json_delta" => (Kind::Call, "partial_json"),
        "thinking_delta" => (Kind::Thinking, "thinking"),
        // What vouches for the thinking, and where the text is from.
        "signature_delta" => (Kind::Aside, "signature"),
        "citations_delta" => (Kind::Aside, "citation"),
        "compaction_delta" => (Kind::Aside, "content"),
        _ => return None,
    })
}

impl Piece {
    /// The piece that an event is, its text, and what is ignored beside it.
    pub(super) fn find(event: Value<'_>) -> Option<(Self, Value<'_>, [Option<Value<'_>>; 1])> {
        let is_type = |value: Value<'_>| value.as_str().is_some_and(|name| name == "content_block_delta");
        let delta = event.get("type").filter(|name| is_type(*name)).and(event.get("delta"))?;
        let index = event.get("index").and_then(as_u64).unwrap_or_default();
        let (kind, carrier) = kind_and_carrier(&delta.get("type")?.as_str()?)?;
        Some((Self { index, kind }, delta.get(carrier)?, [delta.get("estimated_tokens")]))
    }
}

/// A content block as it stands at its start.
struct BlockStart<'a> {
    kind: Kind,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    input: Option<Value<'a>>,
    opaque: Option<String>,
}

impl<'a> BlockStart<'a> {
    fn read(block: Option<Value<'a>>, sink: &mut impl FnMut(Delta<'_>)) -> Self {
        const PLACE: &str = "content_block";
        let mut start =
            Self { kind: Kind::Aside, id: None, name: None, text: None, input: None, opaque: None };
        let kind = block.and_then(|block| block.get("type")?.as_str());
        start.kind = match kind.as_deref().unwrap_or("no type") {
            "text" => Kind::Text,
            "thinking" => Kind::Thinking,
            // It goes back as it is.
            "redacted_thinking" => {
                start.opaque = block.map(|block| block.raw().to_owned());
                return start;
            }
            // Of a whole response; in a stream its content follows.
            "compaction" => {
                let has_content = |block: &Value<'_>| block.get("content").is_some_and(|content| !content.is_null());
                start.opaque = block.filter(has_content).map(|block| block.raw().to_owned());
                return start;
            }
            "tool_use" => Kind::Call,
            // The servers' own calls, what they came to, and news about the message.
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
                    None => unknown(PLACE, name, value, sink),
                },
                "input" => start.input = Some(value),
                "signature" if !is_nothing(value) => {
                    start.opaque = Some(format!(r#"{{"signature":{}}}"#, value.raw()));
                }
                "type" | "citations" | "signature" => {}
                // Who calls the tool, the model or a program of its, and the set that the tool is of.
                "caller" | "toolset_name" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        start
    }
}
