//! Documents to cut, and what it means that one is a part of another.
#![allow(dead_code, reason = "each test uses what it needs")]

use serde_json::Value;

/// Documents of all shapes: unicode, escapes, surrogates, deep, repeated rows, pretty and compact,
/// scalars at the root.
pub(crate) fn documents() -> Vec<String> {
    let rows =
        r#"{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":"Grace"},{"id":3,"name":"Edsger"}],"count":3}"#;
    let same = r#"[{"a":1},{"a":1},{"a":1},{"a":1}]"#;
    let mixed = "{\"title\":\"Größe 🎉 ﷽\",\"esc\":\"a\\\"b\\\\c\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00z\",\"\\u006b\":[true,false,null,-0.5e+10,[],{},\"\"],\"n\":{\"m\":{\"o\":[[[1,2],[3]],12.50]}}}";
    let deep = format!("{}{{\"x\":\"y\"}}{}", "[".repeat(40), "]".repeat(40));
    let code = r#"{"lang":"md","code":"```json\n{\"a\": 1}\n```\n\nHere: [1, 2]","next":"```"}"#;
    [
        rows.to_owned(),
        same.to_owned(),
        mixed.to_owned(),
        pretty(rows),
        pretty(same),
        pretty(mixed),
        deep,
        code.to_owned(),
        "[1,1,1,1,1,1]".to_owned(),
        "[ 12 , 3.5 , -7e-3 , 120 , 12 ]".to_owned(),
        r#"["aaaaaaaaaaaa","aaaa","",""," "," "]"#.to_owned(),
        r#"{"a":{"a":{"a":[{"a":1},{"a":1}]}},"b":"b"}"#.to_owned(),
        "\"one string, \\u00e4 and 🎉\"".to_owned(),
        "-123.5e+7".to_owned(),
        "true".to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
        "[[],[[]],{}]".to_owned(),
    ]
    .into()
}

/// The next place at which a text may be cut.
pub(crate) fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Where a text may be cut.
pub(crate) fn cuts(text: &str) -> impl Iterator<Item = usize> + '_ {
    (0..text.len()).filter(|&at| text.is_char_boundary(at))
}

/// Whether `part` is a beginning of `whole`: a last value may be incomplete, but not a number.
pub(crate) fn is_prefix(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            let last = part.len().saturating_sub(1);
            part.len() <= whole.len()
                && part.iter().zip(whole).enumerate().all(|(at, (part, whole))| {
                    if at == last { is_prefix(part, whole) } else { part == whole }
                })
        }
        // Sorted by serde_json: each member must be there, and only one, the last, may be less.
        (Value::Object(part), Value::Object(whole)) => {
            let less = part.iter().filter(|(name, part)| whole.get(*name) != Some(part)).collect::<Vec<_>>();
            less.len() <= 1
                && less
                    .iter()
                    .all(|(name, part)| whole.get(*name).is_some_and(|whole| is_prefix(part, whole)))
        }
        _ => part == whole,
    }
}

/// The text with indentation, numbers and escapes as they are.
pub(crate) fn pretty(text: &str) -> String {
    let (mut out, mut depth) = (String::new(), 0);
    let (mut in_string, mut escaped) = (false, false);
    let mut before = ' ';
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    for character in compact(text).chars() {
        if !in_string && matches!(before, '{' | '[') && !matches!(character, '}' | ']') {
            line(&mut out, depth);
        }
        match character {
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => {
                depth -= 1;
                if !matches!(before, '{' | '[') {
                    line(&mut out, depth);
                }
            }
            _ => {}
        }
        out.push(character);
        match character {
            ':' if !in_string => out.push(' '),
            ',' if !in_string => line(&mut out, depth),
            _ => {}
        }
        before = if in_string { ' ' } else { character };
        in_string ^= character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
    }
    out
}

/// The text without white space between tokens.
pub(crate) fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |&character: &char| {
        let keep = in_string || !character.is_ascii_whitespace();
        in_string ^= character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        keep
    };
    text.chars().filter(keep).collect()
}
