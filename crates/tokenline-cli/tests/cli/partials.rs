//! `--emit partials`: the lines that build a record.

use std::iter;

use serde_json::{Map, Value, json};

use crate::common::{Run, file, folder, tokenline};

#[test]
fn partials_precede_each_record_or_reject() {
    let text = "{\"a\": \"caf\\u00e9\", \"n\":0.90}\n{\"b\":[true,NaN]}\n";
    let run = tokenline(&["parse", "--emit", "partials", "--chunk-size", "4"], text);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.lines(),
        [
            r#"{"event":"open","start":0,"depth":0,"kind":"object"}"#,
            r#"{"event":"open","start":0,"depth":1,"key":"a","kind":"string"}"#,
            r#"{"event":"append","start":0,"depth":1,"text":"c"}"#,
            r#"{"event":"append","start":0,"depth":1,"text":"af"}"#,
            r#"{"event":"append","start":0,"depth":1,"text":"é"}"#,
            r#"{"event":"close","start":0,"depth":1}"#,
            r#"{"event":"set","start":0,"depth":1,"key":"n","value":0.90}"#,
            r#"{"event":"close","start":0,"depth":0}"#,
            r#"{"event":"record","line":1,"start":0,"end":28,"completion":"newline","value":{"a": "caf\u00e9", "n":0.90}}"#,
            r#"{"event":"open","start":29,"depth":0,"kind":"object"}"#,
            r#"{"event":"open","start":29,"depth":1,"key":"b","kind":"array"}"#,
            r#"{"event":"set","start":29,"depth":2,"key":0,"value":true}"#,
            r#"{"event":"rejected","code":"malformed_json","line":2,"start":29,"end":45,"column":12,"message":"expected a value, found a letter"}"#,
        ]
    );
    assert!(run.err.contains("1 record, 1 rejected"), "{}", run.err);
}

/// A provider's text in the same pieces gives the same lines, which also name the choice.
#[test]
fn partials_come_from_a_providers_stream_too() {
    let text = "Here:\n{\"a\": \"caf\\u00e9\", \"n\":0.90}\n{\"b\":[true,NaN]}\n";
    let pieces = text.as_bytes().chunks(4).map(|piece| str::from_utf8(piece).expect("ASCII"));
    let pieces: Vec<Value> = pieces.map(Value::from).collect();
    let chat = pieces.iter().map(|piece| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{piece}}},\"finish_reason\":null}}]}}\n\n")
    });
    let chat = chat.collect::<String>()
        + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let anthropic = pieces.iter().map(|piece| {
        format!(
            "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{piece}}}}}\n\n"
        )
    });
    let anthropic = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
        .to_owned()
        + &anthropic.collect::<String>()
        + "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let plain = tokenline(&["parse", "--emit", "partials", "--chunk-size", "4"], text);
    for (from, body) in [("openai-chat", chat), ("anthropic", anthropic)] {
        let run = tokenline(&["parse", "--emit", "partials", "--from", from], &body);
        assert_eq!(run.code, 0, "{}", run.err);
        let text: String = run
            .lines()
            .iter()
            .map(|line| serde_json::from_str::<Value>(line).expect("an event"))
            .filter(|event| event["event"] == "text")
            .map(|event| event["text"].as_str().expect("a text").to_owned())
            .collect();
        assert_eq!(text, "Here:\n{\"b\":[true,NaN]}\n");
        let is_own =
            |line: &&str| ["\"finish\"", "\"text\",\"choice\""].iter().any(|part| line.contains(part));
        let lines = run.lines().into_iter().filter(|line| !is_own(line));
        let lines: Vec<String> = lines.map(|line| line.replace("\"choice\":0,", "")).collect();
        assert_eq!(lines, plain.lines(), "{from}");
    }
}

#[test]
fn a_record_that_breaks_the_schema_is_known_while_it_arrives() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"properties":{"n":{"maximum":3}}}"#);
    let text = r#"{"n": 7, "note": 1}"#;
    let chat = json!({"choices": [{"delta": {"content": text[..12]}}]}).to_string();
    let rest = json!({"choices": [{"delta": {"content": text[12..]}}]}).to_string();
    let chat = format!("data: {chat}\n\ndata: {rest}\n\ndata: [DONE]\n\n");
    for (from, body) in [("text", text), ("openai-chat", &chat)] {
        let args = ["parse", "--emit", "partials", "--chunk-size", "12", "--schema", &schema, "--from", from];
        let run = tokenline(&args, body);
        let events: Vec<Value> = run.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
        assert_eq!(names[..5], ["open", "set", "invalid", "set", "close"], "{from}: {}", run.out);
        let (invalid, rejected) = (&events[2], &events[5]);
        assert_eq!((&invalid["start"], &invalid["end"]), (&json!(0), &json!(12)), "{from}");
        assert_eq!((&invalid["instance_path"], &invalid["column"]), (&json!("/n"), &json!(7)), "{from}");
        assert_eq!(rejected["message"], invalid["message"], "{from}");
    }
}

/// The example in the help is the program's output, and builds a record.
#[test]
fn the_help_describes_the_format() {
    let help = tokenline(&["parse", "--help"], "").out;
    let (_, format) = help.split_once("Format of --emit partials:").expect("the format");
    let example: Vec<_> = format
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with("{\""))
        .collect();
    let text = "{\"title\":\"Soup\",\"minutes\":[20]}\n";
    let run = tokenline(&["parse", "--emit", "partials", "--chunk-size", "12"], text);
    assert_eq!(run.lines()[..example.len()], example);
    assert!(run.lines()[example.len()].starts_with(r#"{"event":"record","#));
    assert_eq!(grow(&run.out).len(), 1);
}

/// Parses a text from a file: it may be longer than a pipe's buffer.
fn parse_file(text: &str, chunk_size: &str) -> Run {
    let folder = folder();
    let path = file(&folder, "records.jsonl", text);
    let run = tokenline(&["parse", &path, "--emit", "partials", "--chunk-size", chunk_size], "");
    assert_eq!(run.code, 0, "{}", run.err);
    run
}

/// Applies the lines as the help describes, and returns the records.
fn grow(lines: &str) -> Vec<Value> {
    let mut records = Vec::new();
    let mut root = Value::Null;
    // By depth, the keys of the open values.
    let mut keys: Vec<Value> = Vec::new();
    for line in lines.lines() {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let name = event["event"].as_str().expect("a name");
        if name == "record" {
            assert_eq!(root, event["value"]);
            records.push(std::mem::take(&mut root));
            continue;
        }
        let depth = event["depth"].as_u64().expect("a depth") as usize;
        let key = event.get("key").cloned().unwrap_or_default();
        match name {
            "open" | "set" => {
                let value = match event.get("kind").map(|kind| kind.as_str().expect("a kind")) {
                    Some("object") => Value::Object(Map::new()),
                    Some("array") => json!([]),
                    Some("string") => json!(""),
                    _ => event["value"].clone(),
                };
                keys.truncate(depth);
                match (at(&mut root, &keys), &key) {
                    (root, Value::Null) => *root = value,
                    (Value::Object(members), Value::String(name)) => {
                        members.insert(name.clone(), value);
                    }
                    (Value::Array(elements), Value::Number(index)) => {
                        assert_eq!(index.as_u64(), Some(elements.len() as u64));
                        elements.push(value);
                    }
                    (container, key) => panic!("{key} in {container}"),
                }
                if name == "open" {
                    keys.push(key);
                }
            }
            "append" => {
                assert_eq!(keys.len(), depth + 1, "the innermost open value");
                let Value::String(string) = at(&mut root, &keys) else { panic!("no string: {line}") };
                string.push_str(event["text"].as_str().expect("text"));
            }
            "close" => keys.truncate(depth),
            other => panic!("{other}"),
        }
    }
    records
}

fn at<'a>(root: &'a mut Value, keys: &[Value]) -> &'a mut Value {
    keys.iter().fold(root, |value, key| match key {
        Value::String(name) => &mut value[name],
        Value::Number(index) => &mut value[index.as_u64().expect("an index") as usize],
        _ => value,
    })
}

/// Pseudo-random numbers, the same in each run.
fn numbers(mut state: u32) -> impl Iterator<Item = usize> {
    iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    })
}

/// JSON strings, also used as names.
const STRINGS: [&str; 8] = [
    r#""""#,
    r#""a""#,
    r#""\u0061""#,
    r#""~/""#,
    r#""\u0001\\\"""#,
    r#""__proto__""#,
    r#""\ud83d\ude00é""#,
    r#""some words""#,
];

/// A JSON value of at most this depth.
fn value(numbers: &mut impl Iterator<Item = usize>, depth: usize) -> String {
    let mut pick = |most: usize| numbers.next().unwrap_or_default() % most;
    match pick(if depth == 0 { 3 } else { 6 }) {
        0 => ["0.90", "-1e3", "7", "true", "false", "null"][pick(6)].to_owned(),
        1 | 2 => STRINGS[pick(8)].to_owned(),
        3 => {
            let count = pick(4);
            let elements: Vec<_> = (0..count).map(|_| value(numbers, depth - 1)).collect();
            format!("[{}]", elements.join(", "))
        }
        _ => {
            let count = pick(4);
            object(numbers, depth, count)
        }
    }
}

/// An object whose names may repeat.
fn object(numbers: &mut impl Iterator<Item = usize>, depth: usize, count: usize) -> String {
    let mut member = || {
        let name = STRINGS[numbers.next().unwrap_or_default() % 8];
        format!("{name}: {}", value(numbers, depth - 1))
    };
    format!("{{{}}}", (0..count).map(|_| member()).collect::<Vec<_>>().join(","))
}

/// Asserts that names and text are written once: at most 8 bytes per input byte, and a constant per line.
fn assert_is_bounded(input: &str, out: &str) {
    let lines = out.lines().count();
    assert!(out.len() <= 8 * input.len() + 128 * lines, "{} of {}", out.len(), input.len());
    let deltas = out.lines().filter(|line| !line.starts_with(r#"{"event":"record""#));
    let written: usize = deltas.map(|line| line.len() + 1).sum();
    // The bound in the help.
    assert!(written <= input.len() + 100 * lines, "{written} of {}", input.len());
}

#[test]
fn the_lines_build_the_records() {
    let mut numbers = numbers(7);
    let records: Vec<_> = (0..500).map(|at| object(&mut numbers, 4, at % 5)).collect();
    let text = records.join("\n");
    let expected: Vec<Value> =
        records.iter().map(|record| serde_json::from_str(record).expect("JSON")).collect();
    for size in ["1", "3", "17", "65536"] {
        let run = parse_file(&text, size);
        assert!(grow(&run.out) == expected, "in chunks of {size}");
        assert_is_bounded(&text, &run.out);
    }
}

#[test]
fn a_long_name_is_written_once() {
    let name = "n".repeat(20_000);
    let members: Vec<_> = (0..20_000).map(|at| format!("\"{at}\":1")).collect();
    let around = format!("{{\"{name}\":{{{}}}}}\n", members.join(","));
    let elements = format!("{{\"{name}\":[{}1]}}\n", "\"\\u0001\",[],".repeat(20_000));
    let level = format!("{{\"a\":[1,\"text\"],\"{}\":", "~\\\"".repeat(1_000));
    let deep = format!("{}{{}}{}\n", level.repeat(125), "}".repeat(125));
    for (text, size) in [(&around, "65536"), (&elements, "65536"), (&deep, "65536"), (&deep, "5")] {
        let run = parse_file(text, size);
        assert!(run.out.contains(r#"{"event":"record""#), "{}", run.err);
        assert_eq!(grow(&run.out), [serde_json::from_str::<Value>(text).expect("JSON")]);
        assert_is_bounded(text, &run.out);
    }
}
