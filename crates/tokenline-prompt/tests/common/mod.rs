//! Typical model responses, and the helper that splits them.
#![allow(dead_code, unreachable_pub, reason = "a module shared by several test programs")]

use serde_json::{Value, json};
use tokenline_core::json::Raw;
use tokenline_prompt::{Objects, Prompt, PromptManager};

/// Responses in JSON Lines, by their peculiarity, with the entities of the valid objects in them.
pub const RESPONSES: &[(&str, &str, &[&str])] = &[
    ("nothing", "", &[]),
    ("blank", "\n \r\n\n", &[]),
    ("valid", "{\"entity\":\"a\"}\n{\"entity\":\"b\"}\n{\"entity\":\"c\"}\n", &["a", "b", "c"]),
    ("no newline at the end", "{\"entity\":\"a\"}\n{\"entity\":\"b\"}", &["a", "b"]),
    ("empty lines", "\n{\"entity\":\"a\"}\n\n  \n\t{\"entity\":\"b\"}\r\n\r\n", &["a", "b"]),
    ("a fence", "```json\n{\"entity\":\"a\"}\n{\"entity\":\"b\"}\n```\n", &["a", "b"]),
    ("an open fence", "```\n{\"entity\":\"a\"}\n{\"entity\":\"b\"}", &["a", "b"]),
    ("prose", "Sure, here you are:\n{\"entity\":\"a\"}\nand\n{\"entity\":\"b\"}\nDone.", &["a", "b"]),
    ("a truncated string", "{\"entity\":\"a\"}\n{\"entity\":\"b\"}\n{\"entity\":\"phot", &["a", "b"]),
    ("a truncated name", "{\"entity\":\"a\"}\n{\"ent", &["a"]),
    (
        "bad lines",
        "{\"entity\":\"a\"}\n{\"entity\":NaN}\n{entity}\n{\"entity\":\"b\"}\n}\n{\"entity\":\"c\"}",
        &["a", "b", "c"],
    ),
    ("scalar lines", "1\n{\"entity\":\"a\"}\nnull\n\"x\"\n[1,2]\n{\"entity\":\"b\"}\ntrue", &["a", "b"]),
    (
        "against the schema",
        "{\"entity\":\"a\"}\n{\"entity\":7}\n{}\n{\"entity\":\"b\",\"x\":0.90}\n",
        &["a", "b"],
    ),
    (
        "a name twice",
        "{\"entity\":\"a\"}\n{\"entity\":\"x\",\"entity\":\"y\"}\n{\"entity\":\"b\"}\n",
        &["a", "b"],
    ),
    ("several on a line", "{\"entity\":\"a\"} {\"entity\":\"b\"}, {\"entity\":\"c\"}\n", &["a", "b", "c"]),
    ("over several lines", "{\n  \"entity\": \"a\"\n}\n{\n  \"entity\": \"b\"\n}", &["a", "b"]),
    ("an array", "[{\"entity\":\"a\"},\n {\"entity\":\"b\"}]", &["a", "b"]),
    (
        "everything",
        "So:\n```jsonl\n{\"entity\":\"\u{e9}\"}\n{\"entity\":}\n7\n\n{\"entity\":false}\n{\"entity\":\"\u{1f980}\"}\n{\"ent",
        &["\u{e9}", "\u{1f980}"],
    ),
    ("prose alone", "I cannot help with that.", &[]),
    ("nothing valid", "{\"entity\":7}\n{\"ent", &[]),
];

/// The schema of these objects.
pub fn schema() -> Value {
    json!({"type": "object", "properties": {"entity": {"type": "string"}}, "required": ["entity"]})
}

/// One jsonl prompt, `extract`, with [`schema`].
pub fn manager() -> PromptManager {
    let prompt = Prompt::jsonl("Extract: {{ text }}").with_schema(schema());
    PromptManager::new().with_prompt("extract", prompt).unwrap()
}

/// Reads a response with the manager's jsonl prompt.
pub fn objects(manager: &PromptManager, id: &str, response: &str) -> Objects {
    manager.apply(id, response).unwrap().into_objects().unwrap()
}

/// The entities of objects.
pub fn entities(objects: &Objects) -> Vec<String> {
    let entity = |object: &Raw| object.to_value().unwrap()["entity"].as_str().unwrap().to_owned();
    objects.iter().map(entity).collect()
}

/// The warnings, one per line.
pub fn warnings<T>(objects: &Objects<T>) -> Vec<String> {
    objects.warnings().map(|warning| warning.to_string()).collect()
}

/// A text at once, byte by byte, in chunks of several sizes, with empty chunks, and in two at every cut.
pub fn chunkings(text: &str) -> Vec<Vec<Vec<u8>>> {
    let bytes = text.as_bytes();
    let mut all = vec![vec![bytes.to_vec()]];
    all.extend([1, 2, 3, 7, 16].map(|size| bytes.chunks(size).map(<[u8]>::to_vec).collect()));
    all.push(bytes.iter().flat_map(|byte| [vec![], vec![*byte], vec![]]).collect());
    all.extend((0..=bytes.len()).map(|at| vec![bytes[..at].to_vec(), bytes[at..].to_vec()]));
    all
}

/// The longest part of a text up to a byte that is valid UTF-8.
pub fn cut(text: &str, mut at: usize) -> &str {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}
