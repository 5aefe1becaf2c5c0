//! The built-in prompts of model families: templates with the tools and the results of their chat templates.

use std::io;

use minijinja::value::{Kwargs, Serde};
use minijinja::{Error, Value};
use serde_json::ser::Formatter;
use tokenline_core::json::Raw;
use tokenline_core::{CallFormat, ToolCall, ToolDefinition};
use tokenline_llm::request::{Message, ToolResult};

use crate::template;

macro_rules! templates {
    ($($file:literal),* $(,)?) => {
        &[$(include_str!(concat!("templates/", $file, ".txt"))),*]
    };
}

/// The first line of each lists the call formats and model families that it is for.
const TEMPLATES: &[&str] = templates![
    "cohere",
    "deepseek-v3",
    "deepseek-v3.1",
    "deepseek-v3.2",
    "deepseek-v4",
    "gemma4",
    "glm",
    "granite",
    "harmony",
    "hermes",
    "kimi-k2",
    "kimi-k3",
    "lfm2",
    "llama-3.1",
    "llama-4",
    "llama3",
    "minimax-m2",
    "mistral",
    "nemotron-nano-2",
    "pythonic",
    "qwen3",
    "qwen3-coder",
    "qwen3.5",
];

/// The template for calls of this format.
pub(super) fn find(format: &CallFormat) -> Option<&'static str> {
    let is_built_in = !matches!(format, CallFormat::Custom(_));
    TEMPLATES.iter().copied().find(|it| is_built_in && names(it).any(|name| name == format.family()))
}

/// The names that have a template.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().flat_map(|template| names(template))
}

fn names(template: &str) -> impl Iterator<Item = &str> {
    let line = template.lines().next().and_then(|line| line.strip_prefix("{#-")?.strip_suffix("-#}"));
    line.expect("a comment with the names").split_whitespace()
}

/// A tool for a template.
pub(super) fn tool(tool: &ToolDefinition) -> Value {
    let schema = Value::from(Serde(&tool.parameters));
    let description = tool.description.as_deref().map(|text| ("description", Value::from(text)));
    let function =
        [Some(("name", Value::from(&*tool.name))), description, Some(("parameters", schema.clone()))];
    Value::from_pairs([
        ("name", Value::from(&*tool.name)),
        ("description", Value::from(tool.description.clone().unwrap_or_default())),
        ("parameters", Value::from(tool.parameters.to_compact())),
        ("schema", schema),
        ("function", Value::from_pairs(function.into_iter().flatten())),
    ])
}

/// A call for a template; an id that is unknown or synthetic is undefined.
pub(super) fn call(call: &ToolCall) -> Value {
    let id = call.call_id.as_deref().filter(|_| !call.is_synthetic_id);
    let members = [
        Some(("name", Value::from(&*call.name))),
        Some(("arguments", Value::from(Serde(&call.parameters)))),
        id.map(|id| ("id", Value::from(id))),
    ];
    Value::from_pairs(members.into_iter().flatten())
}

/// The results at the end of a conversation for a template; an unknown name or id is undefined.
pub(super) fn results(messages: &[Message]) -> Vec<Value> {
    let end =
        messages.iter().rposition(|message| !matches!(message, Message::Tool(_))).map_or(0, |at| at + 1);
    let (before, results) = messages.split_at(end);
    let results = results.iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    results.map(|call_result| result(call_result, before)).collect()
}

fn result(result: &ToolResult, before: &[Message]) -> Value {
    let called = || {
        let id = result.call_id.as_ref()?;
        let mut calls = before.iter().rev().flat_map(Message::tool_calls);
        calls.find(|call| call.call_id.as_ref() == Some(id)).map(|call| call.name.as_str())
    };
    let name = result.name.as_deref().or_else(called);
    let value = Raw::new(&result.content).map(|json| Value::from(Serde(&json)));
    let members = [
        name.map(|name| ("name", Value::from(name))),
        result.call_id.as_deref().map(|id| ("call_id", Value::from(id))),
        Some(("content", Value::from(&*result.content))),
        Some(("value", value.unwrap_or_else(|_| Value::from(&*result.content)))),
        Some(("is_error", Value::from(result.is_error))),
    ];
    Value::from_pairs(members.into_iter().flatten())
}

/// The filter `tojson` of chat templates, which is Python's `json.dumps`: spaces after colons and commas, or an
/// indentation; no characters are escaped that JSON allows.
#[expect(clippy::needless_pass_by_value, reason = "minijinja calls it")]
pub(super) fn tojson(value: Value, options: Kwargs) -> Result<String, Error> {
    let indent = options.get::<Option<usize>>("indent")?;
    options.assert_all_used()?;
    template::json(&value, indent, Spaced)
}

/// JSON on one line, with spaces.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: io::Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        if is_first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.begin_array_value(out, is_first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tokenline_core::call_format::CallSyntax;

    use super::*;

    #[test]
    fn every_file_is_listed_and_every_name_is_known_and_has_one_template() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tools/templates");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|path| !path.to_str().unwrap().ends_with(".en.txt"));
        let files = files.filter(|path| !path.to_str().unwrap().ends_with(".zh.txt"));
        let files: BTreeSet<_> = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        assert_eq!(files, TEMPLATES.iter().map(ToString::to_string).collect());
        let mut seen = BTreeSet::new();
        for name in all_names() {
            assert!(CallSyntax::named(name).next().is_some(), "{name}");
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn json_is_spaced_as_in_python() {
        let text = r#"{"b":[1,-2.5,"é<\"\n"],"a":{},"c":{"d":null,"e":[]}}"#;
        let json = |options: &[(&str, Value)]| {
            let options = options.iter().map(|(name, value)| (*name, value.clone()));
            tojson(Value::from(Serde(Raw::new(text).unwrap())), Kwargs::from_iter(options)).unwrap()
        };
        assert_eq!(json(&[]), r#"{"b": [1, -2.5, "é<\"\n"], "a": {}, "c": {"d": null, "e": []}}"#);
        assert!(json(&[("indent", Value::from(2))]).starts_with("{\n  \"b\": [\n    1,\n"));
    }
}
