//! Random calls, and the texts in which a model writes them.

use serde_json::{Map, Value, json};
use tokenline_core::call_format::CallSyntax;
use tokenline_core::json::Value as Read;
use tokenline_core::{Code, ValidateCall, Violation};

use crate::writers::{Call, Syntax, Values};

const NAMES: &[&str] = &["weather", "now", "get_weather", "search-web", "a2", "web.search"];

/// Tools with any parameters.
pub(crate) struct Tools;

impl ValidateCall for Tools {
    fn validate_call(&self, name: &str, parameters: Read<'_>) -> Result<(), Box<Violation>> {
        if NAMES.contains(&name) {
            Ok(())
        } else {
            Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, "no such tool")))
        }
    }

    fn is_text(&self, _: &str, _: &str) -> bool {
        true
    }
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn string(&mut self, syntax: &Syntax) -> String {
        const PIECES: &[&str] = &[
            "Paris",
            "北京",
            "Zürich",
            "🌤️",
            "\"",
            "'",
            "\\",
            "\\n",
            "\n",
            "\r\n",
            "\t",
            " ",
            "  ",
            "</div>",
            "<div class=\"x\">",
            "&amp;",
            "<b>",
            "<",
            ">",
            "{",
            "}",
            "[",
            "]",
            "(",
            ")",
            ",",
            ":",
            "=",
            ";",
            "#",
            "```",
            "true",
            "7",
            "null",
            "]]",
            "//",
            "a < b && c",
            "\\\"",
            "'''",
            "</",
            "<|",
            "｜",
            "=\"",
            "f(x=1)",
            "\u{1}",
            "- ",
        ];
        const MARKUP: &[&str] = &[
            "<tool_call>",
            "</tool_call>",
            "<tool_calls>",
            "</tool_calls>",
            "<function=now>",
            "</function>",
            "</parameter>",
            "<arg_key>",
            "</arg_value>",
            "</invoke>",
            "[TOOL_CALLS]",
            "[ARGS]{",
            "<|im_end|>",
            "<think>",
            "</think>",
            "<|call|>",
            "<|tool_call|>[",
            "\n```\n",
            "{\"name\": \"now\", \"arguments\": {}}",
            "\n<tool_call>\n",
            "<|python_tag|>",
            "[now()]",
            ">>>now\n{}",
            "functools[",
            "<tool_call|>",
            "</s>",
        ];
        let mut text: String = (0..self.below(5))
            .map(|_| if self.is_one_in(8) { self.of(MARKUP) } else { self.of(PIECES) })
            .collect();
        if syntax.never.iter().any(|never| text.contains(never))
            || syntax.has_tags && CallSyntax::named(syntax.format).any(|row| holds_marker(row, &text))
        {
            text.clear();
        }
        match syntax.values {
            // A carriage return before the newline of the syntax would belong to it.
            Values::Text if text.ends_with('\r') => text.clear(),
            Values::Inner => text = text.trim_matches(['\r', '\n']).to_owned(),
            _ => {}
        }
        text
    }

    fn key(&mut self, syntax: &Syntax) -> &'static str {
        match syntax.values {
            Values::Json => self.of(&["city", "days", "path_2", "a b", "ключ", "\"q\"", "<b>", "", "name"]),
            _ => self.of(&["city", "days", "path_2", "q", "note", "unit", "x1"]),
        }
    }

    fn value(&mut self, syntax: &Syntax, depth: usize) -> Value {
        let kinds = match syntax.values {
            Values::Json | Values::Typed if depth < 3 => 8,
            Values::Json | Values::Typed => 5,
            Values::Elements if depth < 3 => 8,
            _ => 1,
        };
        match self.below(kinds) {
            6 => {
                let least = usize::from(syntax.values == Values::Elements);
                (0..least + self.below(3)).map(|_| self.value(syntax, depth + 1)).collect()
            }
            7 => {
                let mut members = self.members(syntax, depth + 1);
                if members.is_empty() && syntax.values == Values::Elements {
                    members.insert("city".to_owned(), "Paris".into());
                }
                Value::Object(members)
            }
            _ if !matches!(syntax.values, Values::Json | Values::Typed) => self.string(syntax).into(),
            1 => (self.next() as i32 % 1000).into(),
            2 => json!(self.of(&[0.5, -1.25, 1e30, 3.0])),
            3 => self.is_one_in(2).into(),
            4 => Value::Null,
            _ => self.string(syntax).into(),
        }
    }

    fn members(&mut self, syntax: &Syntax, depth: usize) -> Map<String, Value> {
        (0..self.below(4)).map(|_| (self.key(syntax).to_owned(), self.value(syntax, depth))).collect()
    }

    pub(crate) fn calls(&mut self, syntax: &Syntax) -> Vec<Call> {
        let count = if self.is_one_in(2) { 1 } else { 1 + self.below(syntax.max_calls) };
        (0..count).map(|_| (self.of(NAMES).to_owned(), self.members(syntax, 0))).collect()
    }

    /// The calls as a model writes them, with text around them.
    pub(crate) fn text(&mut self, syntax: &Syntax, calls: &[Call]) -> String {
        const BEFORE: &[&str] =
            &["Let me check.\n\n", "Zürich — 北京 🌤️:\n", "If a < b && c > d, then (see [1]):\n"];
        const AFTER: &[&str] = &["\nDone.", "\n\nThat is it — 北京 🌤️.\n", "\n", "\nIt is `x < 1`.\n"];
        let mut text = String::new();
        if self.is_one_in(4) {
            let (open, close) = syntax.reasoning;
            // Among the markers of reasoning that are known as such, a call is not one.
            let draft =
                if open.starts_with("<think>") { (syntax.write)(&self.calls(syntax)) } else { String::new() };
            let draft = if draft.contains("think>") { String::new() } else { draft };
            text = format!("{open}The user asks — 北京.\nI could call it.\n{draft}{close}");
        }
        if syntax.has_text_before && self.is_one_in(3) {
            text += self.of(BEFORE);
        }
        text += &(syntax.write)(calls);
        if syntax.has_text_after && self.is_one_in(3) {
            text += self.of(AFTER);
        }
        text
    }
}

fn holds_marker(row: &CallSyntax, text: &str) -> bool {
    let tags = row.parameter.iter().flat_map(|parameter| &parameter.tags);
    let markers = row.block.iter().chain(&row.call).chain(tags).flat_map(|(open, close)| [open, close]);
    markers.filter(|marker| !marker.is_empty()).any(|marker| text.contains(marker.as_str()))
}
