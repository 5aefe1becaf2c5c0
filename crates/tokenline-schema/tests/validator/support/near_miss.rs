//! Random instances that are made from a schema, so that they nearly fit.

use serde_json::{Map, Value};

use super::guided::{NAMES, STRINGS};
use super::random::{NUMBERS, Random};

/// The text of any small value.
pub(super) fn any(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => random.pick(&["null", "true", "false"]).to_owned(),
        1 | 2 => random.pick(&NUMBERS).to_owned(),
        3 | 4 => {
            let string = if random.one_in(2) { random.pick(&STRINGS) } else { random.pick(&NAMES) };
            spell(random, string)
        }
        5 => {
            let length = if random.one_in(8) { 14 + random.below(8) } else { random.below(4) };
            format!("[{}]", (0..length).map(|_| any(random, depth - 1)).collect::<Vec<_>>().join(" , "))
        }
        _ => {
            let count = random.below(4);
            let names: Vec<_> = (0..count).map(|_| random.pick(&NAMES)).collect();
            let mut seen = Vec::new();
            let mut members = Vec::new();
            for name in names {
                if !seen.contains(&name) {
                    seen.push(name);
                    members.push(format!("{}:{}", spell(random, name), any(random, depth - 1)));
                }
            }
            format!("{{{}}}", members.join(","))
        }
    }
}

/// A string in quotes, sometimes with all characters escaped.
fn spell(random: &mut Random, string: &str) -> String {
    if !random.one_in(5) {
        return serde_json::to_string(string).unwrap();
    }
    let units: String = string.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{units}\"")
}

/// The text of a value that fits `schema` in most places, with names repeated if `repeats` is set.
pub(crate) fn near_miss(
    random: &mut Random,
    root: &Value,
    schema: &Value,
    depth: usize,
    repeats: bool,
) -> String {
    let Some(members) = schema.as_object() else { return any(random, depth.min(2)) };
    if depth == 0 || random.one_in(16) {
        return any(random, depth.min(2));
    }
    let go = |random: &mut Random, schema: &Value| near_miss(random, root, schema, depth - 1, repeats);
    if let Some(target) = members.get("$ref").and_then(Value::as_str).and_then(|to| root.pointer(&to[1..]))
        && !random.one_in(4)
    {
        return go(random, target);
    }
    let spelled = |random: &mut Random, value: &Value| match value {
        Value::String(string) => spell(random, string),
        other => other.to_string(),
    };
    if let Some(constant) = members.get("const")
        && !random.one_in(5)
    {
        return spelled(random, constant);
    }
    if let Some(values) = members.get("enum").and_then(Value::as_array)
        && !random.one_in(5)
    {
        let at = random.below(values.len());
        return spelled(random, &values[at]);
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        if let Some(branches) = members.get(keyword).and_then(Value::as_array)
            && !random.one_in(4)
        {
            let at = random.below(branches.len());
            return go(random, &branches[at]);
        }
    }
    let kind = match members.get("type") {
        Some(Value::Array(kinds)) => kinds[random.below(kinds.len())].as_str(),
        Some(kind) => kind.as_str(),
        None => None,
    };
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| members.contains_key(*keyword));
    match kind {
        Some("array") => array(random, members, go),
        Some("object") => object(random, members, repeats, go),
        Some("string") => {
            let string = random.pick(&STRINGS);
            spell(random, string)
        }
        Some("integer" | "number") => random.pick(&NUMBERS).to_owned(),
        Some(_) => any(random, 0),
        None if has(&[
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "dependencies",
        ]) =>
        {
            object(random, members, repeats, go)
        }
        None if has(&["items", "prefixItems", "contains", "uniqueItems", "minItems"]) => {
            array(random, members, go)
        }
        None => any(random, 2),
    }
}

fn array(
    random: &mut Random,
    members: &Map<String, Value>,
    go: impl Fn(&mut Random, &Value) -> String,
) -> String {
    let first = ["prefixItems", "items"].into_iter().find_map(|keyword| members.get(keyword)?.as_array());
    let rest =
        ["items", "additionalItems", "contains"].into_iter().filter_map(|keyword| members.get(keyword));
    let rest: Vec<_> = rest.filter(|schema| !schema.is_array()).collect();
    let most = if random.one_in(10) { 20 } else { 4 };
    let length = random.below(most);
    let elements = (0..length).map(|at| match first.and_then(|first| first.get(at)) {
        Some(schema) => go(random, schema),
        None if rest.is_empty() => any(random, 1),
        None => {
            let at = random.below(rest.len());
            go(random, rest[at])
        }
    });
    format!("[{}]", elements.collect::<Vec<_>>().join(","))
}

fn object(
    random: &mut Random,
    members: &Map<String, Value>,
    repeats: bool,
    go: impl Fn(&mut Random, &Value) -> String,
) -> String {
    let properties = members.get("properties").and_then(Value::as_object);
    let required = members.get("required").and_then(Value::as_array);
    let mut names: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    names.retain(|_| !random.one_in(16));
    for (name, _) in properties.into_iter().flatten() {
        if !names.contains(&name.as_str()) && !random.one_in(3) {
            names.push(name);
        }
    }
    for _ in 0..random.below(3) {
        let name = random.pick(&NAMES);
        if !names.contains(&name) && random.one_in(2) {
            names.push(name);
        }
    }
    if repeats && !names.is_empty() && random.one_in(2) {
        names.push(names[random.below(names.len())]);
    }
    for at in (1..names.len()).rev() {
        if random.one_in(3) {
            names.swap(at, random.below(at + 1));
        }
    }
    let additional = members.get("additionalProperties");
    let written = names.into_iter().map(|name| {
        let schema = properties.and_then(|properties| properties.get(name)).or(additional);
        let value = match schema {
            Some(schema) => go(random, schema),
            None => any(random, 1),
        };
        format!("{}:{value}", spell(random, name))
    });
    format!("{{{}}}", written.collect::<Vec<_>>().join(","))
}
