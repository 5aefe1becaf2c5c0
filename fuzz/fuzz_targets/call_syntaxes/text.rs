//! Text with calls in the syntaxes of some rows, whole and in part.

use std::sync::Arc;

use tokenline_core::call_format::{CallSyntax, Reads};

use super::choices::Choices;
use super::rows;

/// The longest text.
const MAX_TEXT: usize = 6000;

const NAMES: &[&str] = &["weather", "now", "a.b", "weather.weather", "", "functions.now:0", "é", "f\"", "."];

const KEYS: &[&str] = &["city", "days", "is_raw", "tags", "", "at", "é", "item", "$text", "arguments", "a b"];

/// As they may stand in the arguments of any syntax.
const VALUES: &[&str] = &[
    "\"Paris\"",
    "3",
    "true",
    "null",
    "\"\"",
    "[1,\"b\"]",
    "{\"k\":{\"l\":[]}}",
    "Paris",
    "\"\\u00e9\\n\"",
    "-1.5e3",
    "'P\\'s'",
    "\"a\nb\"",
    "None",
    "\"\"\"x\"\"\"",
    "<![CDATA[</x>]]>",
    "{}",
    "[",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
];

/// Other text among calls.
const OTHERS: &[&str] = &[
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "```json\n",
    "```",
    "\n",
    "\r\n",
    " ",
    "\\",
    "\"",
    "'",
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
    "\"\"\"",
    "<![CDATA[",
    "]]>",
    " to=functions.weather",
    "analysis",
    "final",
    "functions.",
    ":0",
    "- ",
    "1. ",
    "é",
    "｜",
    "😀",
    "\u{feff}",
    "\u{0}",
    "weather",
    "city",
    "{\"a\":1}\n",
    "{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}",
    "[{\"name\":\"now\",\"arguments\":{}}]",
    "now()",
    "weather(city=\"Paris\")",
    "weather\n{\"city\":\"Paris\"}",
    "string",
    "true",
    "//",
    "#",
    "\t",
];

/// A text that the bytes describe: most stand for themselves, some for tokens, calls or parts of these.
pub fn text(choices: &mut Choices<'_>, of: &[Arc<CallSyntax>]) -> Vec<u8> {
    let tokens = rows::tokens(of);
    let mut text = Vec::new();
    while !choices.is_empty() && text.len() < MAX_TEXT {
        match choices.byte() {
            1..=3 if !of.is_empty() => {
                let row = choices.of(of);
                text.extend_from_slice(call(row, choices).as_bytes());
            }
            4 | 5 if !of.is_empty() => {
                let example = choices.of(of).example.as_bytes();
                let from = choices.below(example.len() + 1) * choices.below(2);
                let to = example.len() - choices.below(example.len() - from + 1) * choices.below(2);
                text.extend_from_slice(&example[from..to]);
            }
            6 => text.push(choices.byte()),
            0x80..=0xBF if !tokens.is_empty() => text.extend_from_slice(choices.of(&tokens).as_bytes()),
            byte @ 0xC0.. => {
                text.extend_from_slice(OTHERS[usize::from(byte - 0xC0) % OTHERS.len()].as_bytes())
            }
            byte => text.push(byte),
        }
    }
    text
}

/// A call as a row describes it. A part may be missing, twice, or followed by something else.
fn call(row: &CallSyntax, choices: &mut Choices<'_>) -> String {
    let mut call = Writer { choices, text: String::new() };
    let none = (String::new(), String::new());
    let block = call.pair(&row.block, &none);
    let reads = row.reads.get(call.choices.below(row.reads.len().max(1))).copied();
    call.part(&block.0);
    for _ in 0..=call.choices.below(3) / 2 {
        let markers = call.pair(&row.call, &none);
        match reads {
            Some(Reads::Python | Reads::PythonLine) => call.python(&markers),
            Some(Reads::Elements) => call.elements(row, &markers),
            Some(Reads::Messages) => call.message(row, &markers),
            Some(Reads::Named | Reads::NamedLine) => call.named(row, &markers),
            _ => call.object(row, &markers),
        }
    }
    call.part(&block.1);
    call.text
}

struct Writer<'c, 'a> {
    choices: &'c mut Choices<'a>,
    text: String,
}

impl Writer<'_, '_> {
    fn pair<'r>(&mut self, all: &'r [(String, String)], none: &'r (String, String)) -> &'r (String, String) {
        // Most often the first.
        all.get(self.choices.below(4) / 2).or(all.first()).unwrap_or(none)
    }

    fn part(&mut self, text: &str) {
        match self.choices.byte() {
            248 => {}
            249 => self.text += &text.repeat(2),
            250 => self.text.extend(text.chars().take(text.chars().count() / 2)),
            251 => {
                self.text += text;
                self.text.push('\n');
            }
            252 => {
                self.text += text;
                self.text += self.choices.of(OTHERS);
            }
            253 => {
                self.text.push(' ');
                self.text += text;
            }
            _ => self.text += text,
        }
    }

    fn any(&mut self, all: &[String]) {
        if !all.is_empty() {
            let text = self.choices.of(all);
            self.part(text);
        }
    }

    fn name(&mut self) -> &'static str {
        // Most often one of the defined tools.
        NAMES[(self.choices.below(32) / 3) % NAMES.len()]
    }

    fn json(&mut self) -> String {
        let members = (0..self.choices.below(3)).map(|_| {
            let (key, value) = (self.choices.of(KEYS), self.choices.of(VALUES));
            format!("\"{key}\":{value}")
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    fn object(&mut self, row: &CallSyntax, markers: &(String, String)) {
        let (name, arguments) = (self.name(), self.json());
        self.part(&markers.0);
        self.any(&row.before);
        let is_list = self.choices.below(2) == 0;
        self.part(if is_list { "[" } else { "" });
        let object = if row.key_is_name {
            format!("{{\"{name}\":{arguments}}}")
        } else {
            format!("{{\"name\":\"{name}\",\"arguments\":{arguments}}}")
        };
        self.part(&object);
        self.part(if is_list { "]" } else { "" });
        self.any(&row.after);
        self.part(&markers.1);
    }

    fn named(&mut self, row: &CallSyntax, markers: &(String, String)) {
        let name = self.name();
        self.part(&markers.0);
        self.part(name);
        if row.header_is_id {
            self.part(":0");
        }
        self.any(&row.name_end);
        self.any(&row.before);
        match (&row.parameter, &row.quote) {
            (Some(parameter), _) if !parameter.tags.is_empty() && self.choices.below(4) > 0 => {
                for _ in 0..self.choices.below(3) {
                    let (key, value) = (self.choices.of(KEYS), self.choices.of(VALUES));
                    let (open, close) = self.choices.of(&parameter.tags);
                    self.part(open);
                    self.part(key);
                    self.any(&parameter.key_end);
                    if let Some((open, close)) = &parameter.type_tags {
                        self.part(open);
                        self.part("string");
                        self.part(close);
                    }
                    self.part(parameter.value.as_deref().unwrap_or_default());
                    self.part(value.trim_matches('"'));
                    self.part(close);
                }
            }
            (_, Some(quote)) => {
                self.part("{");
                for index in 0..self.choices.below(3) {
                    let (key, value) = (self.choices.of(KEYS), self.choices.of(VALUES));
                    let value = if self.choices.below(2) == 0 {
                        value.replace('"', quote)
                    } else {
                        value.to_string()
                    };
                    self.part(if index > 0 { "," } else { "" });
                    self.part(&format!("{key}:{value}"));
                }
                self.part("}");
            }
            _ => {
                let arguments = self.json();
                self.part(&arguments);
            }
        }
        self.any(&row.after);
        self.part(&markers.1);
    }

    fn python(&mut self, markers: &(String, String)) {
        let name = self.name();
        self.part(&markers.0);
        self.part(name);
        self.part("(");
        for index in 0..self.choices.below(3) {
            let (key, value) = (self.choices.of(KEYS), self.choices.of(VALUES));
            self.part(if index > 0 { ", " } else { "" });
            self.part(&format!("{key}={value}"));
        }
        self.part(")");
        self.part(&markers.1);
    }

    fn elements(&mut self, row: &CallSyntax, markers: &(String, String)) {
        let (name, marker) = (self.name(), row.before.first().map_or("", String::as_str));
        self.part(&markers.0);
        self.part(&format!("\"{name}\">"));
        for _ in 0..self.choices.below(4) {
            let (key, value) = (self.choices.of(KEYS), self.choices.of(VALUES));
            self.part(&format!("{marker}<{key}>"));
            self.part(value);
            self.part(&format!("{marker}</{key}>"));
        }
        self.part(&markers.1);
    }

    fn message(&mut self, row: &CallSyntax, markers: &(String, String)) {
        let header = ["commentary to=functions.", " to=", "analysis", "final", ""][self.choices.below(5)];
        let (name, arguments) = (self.name(), self.json());
        self.part(&markers.0);
        self.part(header);
        if header.ends_with(['.', '=']) {
            self.part(name);
        }
        self.any(&row.name_end);
        self.part(&arguments);
        self.part(&markers.1);
    }
}
