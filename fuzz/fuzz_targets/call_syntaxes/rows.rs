//! Rows of the table: built-in ones, the same with other members, and random ones.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};
use tokenline_core::CallFormat;
use tokenline_core::call_format::CallSyntax;

use super::choices::Choices;

/// The built-in rows as JSON.
static BUILT_IN: LazyLock<Vec<Map<String, Value>>> =
    LazyLock::new(|| serde_json::from_str(CallSyntax::built_in_json()).expect("a table"));

/// Their markers.
static MARKERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let is_marker = |key: &str| !matches!(key, "name" | "models" | "reads" | "note" | "example" | "source");
    let members = BUILT_IN.iter().flatten().filter(|(key, _)| is_marker(key));
    let mut markers: Vec<String> = members.flat_map(|(_, value)| strings(value)).collect();
    markers.sort();
    markers.dedup();
    markers
});

/// The parts of markers.
const PARTS: &[&str] = &[
    "<",
    ">",
    "</",
    "|",
    "｜",
    "▁",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "=",
    ":",
    "\"",
    "'",
    "`",
    "\\",
    "/",
    "\n",
    " ",
    "a",
    "tool",
    "call",
    "f",
    "é",
    "😀",
    "\u{0}",
    "<think>",
    "functions.",
    "<|channel|>",
    "to=",
    "item",
    ",",
];

const READERS: [&str; 8] =
    ["objects", "named", "named_line", "tool_tag", "python", "python_line", "elements", "messages"];

/// A format, and the rows of which to write calls.
pub fn format(choices: &mut Choices<'_>) -> (CallFormat, Vec<Arc<CallSyntax>>) {
    match choices.below(8) {
        0 | 1 => (CallFormat::Auto, some_built_in(choices)),
        2 => {
            let format = choices.of(CallFormat::BUILT_IN).clone();
            let rows = CallSyntax::named(format.as_str()).cloned().collect();
            (format, rows)
        }
        3 | 4 => {
            let rows = some_built_in(choices);
            (CallFormat::Syntaxes { family: "own".into(), rows: rows.clone() }, rows)
        }
        _ => {
            let mut rows = Vec::new();
            for _ in 0..=choices.below(3) {
                // Most are accepted: few are read with their example, which other members may not fit.
                let mut json = row(choices);
                let example = json["example"].as_str().unwrap_or_default().to_owned();
                if !choices.one_in(8) {
                    json["example"] = "".into();
                }
                let Ok(mut row) = serde_json::from_str::<CallSyntax>(&json.to_string()) else { continue };
                row.example = example;
                if choices.one_in(16) {
                    without_check(&mut row, choices);
                }
                rows.push(Arc::new(row));
            }
            (CallFormat::Syntaxes { family: "own".into(), rows: rows.clone() }, rows)
        }
    }
}

fn some_built_in(choices: &mut Choices<'_>) -> Vec<Arc<CallSyntax>> {
    (0..=choices.below(3)).map(|_| Arc::clone(choices.of(CallSyntax::built_in()))).collect()
}

/// A row of the table with some other members, or a new one.
fn row(choices: &mut Choices<'_>) -> Value {
    let mut row = match choices.below(4) {
        0 => Map::from_iter([
            ("reads".to_owned(), json!([choices.of(&READERS)])),
            ("call".to_owned(), pairs(choices)),
            ("name_end".to_owned(), texts(choices)),
        ]),
        _ => choices.of(&BUILT_IN).clone(),
    };
    for _ in 0..choices.below(5) {
        let (key, value) = match choices.below(16) {
            0 => ("reads", json!([choices.of(&READERS), choices.of(&READERS)])),
            1 | 2 => ("block", pairs(choices)),
            3 | 4 => ("call", pairs(choices)),
            5 => ("between", texts(choices)),
            6 => ("name_end", texts(choices)),
            7 => ("before", texts(choices)),
            8 => ("after", texts(choices)),
            9 => ("markup", texts(choices)),
            10 => ("id", json!(marker(choices))),
            11 => ("quote", json!(marker(choices))),
            12 | 13 => ("parameter", parameter(choices)),
            14 => {
                let flags = ["needs_block", "header_is_id", "namespace", "key_is_name", "needs_known_tool"];
                (*choices.of(&flags), json!(choices.below(2) == 0))
            }
            // Of another kind.
            _ => {
                let keys = ["name", "reads", "block", "call", "id", "parameter", "namespace", "other"];
                (*choices.of(&keys), if choices.below(2) == 0 { parameter(choices) } else { texts(choices) })
            }
        };
        row.insert(key.to_owned(), value);
    }
    if choices.one_in(4) {
        let key = choices.of(&["block", "call", "name_end", "parameter", "quote", "before"]);
        row.remove(*key);
    }
    row.insert("name".to_owned(), json!(choices.of(&["own", "pythonic", "", "auto"])));
    Value::Object(row)
}

/// Makes a row that is not accepted as JSON.
fn without_check(row: &mut CallSyntax, choices: &mut Choices<'_>) {
    match choices.below(6) {
        0 => row.call.clear(),
        1 => row.reads.clear(),
        2 => {
            let lists = [&mut row.name_end, &mut row.before, &mut row.after, &mut row.between];
            lists.into_iter().for_each(|list| list.insert(0, String::new()));
        }
        3 => row.markup.extend(["\n".to_owned(), String::new()]),
        4 => row.parameter.iter_mut().for_each(|it| it.tags.push(Default::default())),
        _ => row.parameter.iter_mut().for_each(|it| it.tags.clear()),
    }
}

fn parameter(choices: &mut Choices<'_>) -> Value {
    let mut parameter = json!({"tags": pairs(choices), "key_end": texts(choices)});
    let bits = choices.byte();
    if bits & 1 != 0 {
        parameter["value"] = json!(marker(choices));
    }
    if bits & 2 != 0 {
        parameter["type_tags"] = json!([marker(choices), marker(choices)]);
    }
    if bits & 4 != 0 {
        parameter["type_attribute"] = json!(marker(choices));
    }
    parameter["trim"] = json!(choices.of(&["nothing", "newline", "everything"]));
    parameter["json"] = json!(bits & 8 != 0);
    parameter
}

fn pairs(choices: &mut Choices<'_>) -> Value {
    (0..=choices.below(3)).map(|_| json!([marker(choices), marker(choices)])).collect()
}

fn texts(choices: &mut Choices<'_>) -> Value {
    (0..=choices.below(2)).map(|_| json!(marker(choices))).collect()
}

/// A marker of the table, the beginning of one, one with more after it, or a random one.
fn marker(choices: &mut Choices<'_>) -> String {
    match choices.below(8) {
        0..3 => choices.of(&MARKERS).clone(),
        3 => {
            let marker = choices.of(&MARKERS);
            let count = choices.below(6);
            marker.chars().take(count).collect()
        }
        4 => choices.of(&MARKERS).clone() + choices.of(PARTS),
        _ => (0..=choices.below(3)).map(|_| *choices.of(PARTS)).collect(),
    }
}

/// The markers of these rows, and other text that may stand among them.
pub fn tokens(rows: &[Arc<CallSyntax>]) -> Vec<String> {
    let mut tokens: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            let pairs = row.block.iter().chain(&row.call);
            let parameter = row.parameter.iter();
            let pairs = pairs.chain(parameter.clone().flat_map(|it| it.tags.iter().chain(&it.type_tags)));
            let lists = [&row.between, &row.name_end, &row.before, &row.after, &row.markup];
            let texts = lists.into_iter().flatten().chain(parameter.clone().flat_map(|it| &it.key_end));
            let texts = texts.chain(&row.id).chain(&row.quote);
            let texts = texts.chain(parameter.flat_map(|it| it.value.iter().chain(&it.type_attribute)));
            pairs.flat_map(|(open, close)| [open, close]).chain(texts)
        })
        .filter(|token| !token.is_empty())
        .cloned()
        .collect();
    tokens.sort();
    tokens.dedup();
    tokens
}

/// All strings in a value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if !text.is_empty() => vec![text.clone()],
        Value::Array(elements) => elements.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
