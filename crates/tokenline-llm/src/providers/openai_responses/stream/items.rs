//! The items of a response, and their parts.

use std::fmt::{self, Write as _};

use tokenline_core::json::Value;
use tokenline_core::{CallDelta, CompletedBy};

use super::members::Item;
use super::{MAX_PARTS, Part, PartKind, Reader};
use crate::delta::{Delta, OpaqueTarget};
use crate::providers::api::Sink;
use crate::providers::values::{read_text, unknown, unreadable};

// Items.
impl Reader {
    pub(super) fn item(&mut self, index: u64, item: Value<'_>, is_done: bool, sink: &mut Sink<'_>) {
        let of_type = item.get("type").and_then(Value::as_str).unwrap_or_default();
        match &*of_type {
            "function_call" => {
                self.has_calls = true;
                let item = Item::read(item, sink);
                let arguments = item.arguments.as_deref().unwrap_or_default();
                call(CallDelta { arguments, is_whole: is_done, ..item.header(index) }, sink);
                if is_done {
                    stop(index, &item, sink);
                }
            }
            "custom_tool_call" => {
                self.has_calls = true;
                let item = Item::read(item, sink);
                self.custom_call(index, &item, is_done, sink);
                if is_done && item.status.is_some() {
                    stop(index, &item, sink);
                }
            }
            "message" | "reasoning" => {
                let raw = item.raw();
                let item = Item::read(item, sink);
                if is_done {
                    let kind = if of_type == "reasoning" { PartKind::Reasoning } else { PartKind::Text };
                    self.parts(index, PartKind::ReasoningSummary, item.summary, sink);
                    self.parts(index, kind, item.content, sink);
                }
                if is_done && of_type == "message" {
                    stop(index, &item, sink);
                }
                if is_done && of_type == "reasoning" {
                    let (target, data) = (OpaqueTarget::Reasoning, raw.into());
                    sink(Delta::Opaque { choice: 0, target, data });
                }
            }
            // This call is run by the client.
            "tool_search_call"
                if item.get("execution").and_then(Value::as_str).as_deref() == Some("client") =>
            {
                sink(Delta::Unknown { parent: "item", name: of_type });
            }
            // Tools run by the server, and their results.
            "web_search_call" | "file_search_call" | "image_generation_call" | "code_interpreter_call" => {}
            "mcp_call" | "mcp_list_tools" | "tool_search_call" | "tool_search_output" => {}
            "program" | "compaction" => {}
            // Includes client-side calls other than functions: computer, shell.
            other => sink(Delta::Unknown { parent: "item", name: other.into() }),
        }
    }

    /// A call with text input. The arguments have it as one string, escaped character by character, so that it can be
    /// emitted in pieces. Its completeness is not visible in the text: without a status, the end of the response proves
    /// it.
    fn custom_call(&mut self, index: u64, item: &Item<'_>, is_done: bool, sink: &mut Sink<'_>) {
        let part = Part { item: index, number: 0, kind: PartKind::Input };
        let is_begun = self.begun.contains(&part);
        let input = item.input.as_deref();
        if !is_done || !item.is_completed() {
            call(item.header(index), sink);
            return self.text(part, input.unwrap_or_default(), is_done, sink);
        }
        self.begun.retain(|begun| *begun != part);
        match input.filter(|input| !(input.is_empty() && is_begun)) {
            Some(input) => {
                let arguments = format!("{INPUT_OPENER}{}{INPUT_CLOSER}", Escaped(input));
                call(CallDelta { arguments: &arguments, is_whole: true, ..item.header(index) }, sink);
            }
            None => {
                let arguments = if is_begun { INPUT_CLOSER } else { "" };
                call(CallDelta { arguments, ..item.header(index) }, sink);
            }
        }
    }

    /// Ends inputs whose items did not end: the complete response proves them complete.
    pub(super) fn close_inputs(&mut self, sink: &mut Sink<'_>) {
        for part in self.begun.iter().filter(|part| part.kind == PartKind::Input) {
            let header = CallDelta { index: Some(part.item), ..CallDelta::default() };
            call(CallDelta { arguments: INPUT_CLOSER, ..header }, sink);
        }
        self.begun.retain(|part| part.kind != PartKind::Input);
    }
}

pub(super) fn call(call: CallDelta<'_>, sink: &mut Sink<'_>) {
    sink(Delta::ToolCall { choice: 0, call });
}

/// Ends an item that is done, if it has a status.
fn stop(index: u64, item: &Item<'_>, sink: &mut Sink<'_>) {
    if let Some(is_whole) = item.is_whole() {
        let completion = is_whole.then_some(CompletedBy::ItemStop);
        sink(Delta::BlockStop { choice: 0, block: index, completion });
    }
}

// Parts.
impl Reader {
    /// The complete parts of an item of this kind, or its only text.
    fn parts(&mut self, item: u64, kind: PartKind, parts: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let Some(value) = parts else { return };
        match (value.as_array(), read_text(value, sink)) {
            (Some(parts), _) => {
                for (number, part) in (0..).zip(parts) {
                    self.part(Part { item, number, kind }, part, sink);
                }
            }
            (None, Some(text)) => self.text(Part { item, number: 0, kind }, &text, true, sink),
            (None, None) if kind == PartKind::Text => unreadable("item", "content", value, sink),
            (None, None) => unknown("item", "content", value, sink),
        }
    }

    /// A complete part of an item of this kind.
    pub(super) fn part(&mut self, of: Part, part: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "part";
        let Some(members) = part.as_object() else { return unknown("", PLACE, part, sink) };
        let (mut of_type, mut text) = (None, None);
        for (name, value) in members {
            match name {
                "type" => of_type = value.as_str(),
                "text" | "refusal" => text = Some((value, read_text(value, sink))),
                "annotations" | "logprobs" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        let kind = match of_type.as_deref().unwrap_or_default() {
            // LiteLLM sends reasoning in such parts, too.
            "output_text" | "text" => of.kind,
            "refusal" => PartKind::Refusal,
            "reasoning_text" => PartKind::Reasoning,
            "summary_text" => PartKind::ReasoningSummary,
            other => return sink(Delta::Unknown { parent: PLACE, name: other.into() }),
        };
        match text {
            Some((_, Some(text))) => self.text(Part { kind, ..of }, &text, true, sink),
            Some((value, None)) if kind == PartKind::Text => unreadable(PLACE, "text", value, sink),
            Some(_) | None => {}
        }
    }

    /// Reads more of a part's text, or all of it. All of a refusal or of reasoning is ignored if some of it had arrived.
    pub(super) fn text(&mut self, part: Part, text: &str, is_whole: bool, sink: &mut Sink<'_>) {
        if text.is_empty() {
            return;
        }
        let (choice, block) = (0, part.item);
        if part.kind == PartKind::Text && self.switch(part) {
            sink(Delta::TextPart { choice, block, part: part.number });
        }
        let is_first = self.begin(part);
        match part.kind {
            PartKind::Text if is_whole && !is_first => {
                sink(Delta::WholeText { choice, block, part: part.number, text });
            }
            PartKind::Refusal | PartKind::Reasoning | PartKind::ReasoningSummary if is_whole && !is_first => {
            }
            PartKind::Text => sink(Delta::Text { choice, block, text }),
            PartKind::Refusal => sink(Delta::Refusal { choice, text }),
            PartKind::Reasoning | PartKind::ReasoningSummary => sink(Delta::Reasoning { choice, text }),
            PartKind::Input => {
                self.has_calls = true;
                let opener = if is_first || is_whole { INPUT_OPENER } else { "" };
                let arguments = format!("{opener}{}", Escaped(text));
                // The assembler compares the complete text with the pieces.
                let header = CallDelta { index: Some(block), is_whole, ..CallDelta::default() };
                call(CallDelta { arguments: &arguments, ..header }, sink);
            }
        }
    }

    /// Whether a text belongs to another part than the item's text before it.
    fn switch(&mut self, part: Part) -> bool {
        let is_text = |begun: &Part| begun.kind == PartKind::Text && begun.item == part.item;
        let latest = self.begun.iter().rposition(is_text);
        let is_other = latest.map_or(0, |at| self.begun[at].number) != part.number;
        if is_other {
            self.has_switched = true;
            // The latest is the last.
            if let Some(at) = self.begun.iter().position(|begun| *begun == part) {
                self.begun.remove(at);
                self.begun.push_back(part);
            }
        }
        is_other
    }

    /// Records that a part has begun. Returns whether this is its first piece.
    fn begin(&mut self, part: Part) -> bool {
        if self.begun.iter().rev().any(|begun| *begun == part) {
            return false;
        }
        if self.begun.len() == MAX_PARTS {
            self.begun.pop_front();
        }
        self.begun.push_back(part);
        true
    }
}

/// The JSON around the text in the arguments of a custom tool.
const INPUT_OPENER: &str = r#"{"input":""#;
const INPUT_CLOSER: &str = r#""}"#;

/// A text, or a piece of it, escaped for the inside of a JSON string.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '"' | '\\' => write!(f, "\\{char}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\0'..' ' => write!(f, "\\u{:04x}", u32::from(char))?,
                _ => f.write_char(char)?,
            }
        }
        Ok(())
    }
}
