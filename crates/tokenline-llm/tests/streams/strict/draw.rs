//! Random schemas, and values for them.

use serde_json::{Map, Value, json};

pub(super) type Random<'r> = &'r mut dyn FnMut(usize) -> usize;

pub(super) fn pick<T: Clone>(random: Random<'_>, all: &[T]) -> T {
    all[random(all.len())].clone()
}

/// Any keyword, with a value that often fits.
pub(super) fn keyword(random: Random<'_>, depth: usize) -> (&'static str, Value) {
    let size = json!(random(3));
    match random(30) {
        0 => ("minLength", size),
        1 => ("maxLength", size),
        2 => ("uniqueItems", json!(random(2) == 0)),
        3 => ("minProperties", size),
        4 => ("maxProperties", size),
        5 => ("format", json!(pick(random, &["uri", "date", "uint8", "email", "regex"]))),
        6 => ("pattern", json!(pick(random, &["^a", "^(?:a|b)", r"\bb", "a{1,2}"]))),
        7 => ("multipleOf", json!(2)),
        8 => ("minimum", size),
        9 => ("exclusiveMaximum", size),
        10 => ("minItems", size),
        11 => ("maxItems", size),
        12 => ("title", json!("t")),
        13 => ("description", json!("d")),
        14 => ("default", json!(null)),
        15 => ("enum", json!([null, "a", 1, 2.5])),
        16 => ("enum", json!([1.0, "b", {"a": 1}])),
        17 => ("const", pick(random, &[json!("a"), json!(1), json!(null), json!([])])),
        18 => ("anyOf", json!([schema(random, depth), schema(random, depth)])),
        19 => ("oneOf", json!([schema(random, depth), schema(random, depth)])),
        20 => ("allOf", json!([schema(random, depth)])),
        21 => ("not", schema(random, depth)),
        22 => ("if", schema(random, depth)),
        23 => ("additionalProperties", pick(random, &[json!(false), json!(true), json!({"type": "string"})])),
        24 => ("required", pick(random, &[json!(["a"]), json!([]), json!(["missing"])])),
        25 => ("items", schema(random, depth)),
        26 => ("prefixItems", json!([schema(random, depth)])),
        27 => ("patternProperties", json!({"^a": schema(random, depth)})),
        28 => ("properties", json!({"a": schema(random, depth)})),
        _ => ("x-note", json!(1)),
    }
}

pub(super) fn object(random: Random<'_>, depth: usize) -> Value {
    let names = &["a", "b", "kind"][..random(4)];
    let mut properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), schema(random, depth))).collect();
    if properties.contains_key("kind") && random(2) == 0 {
        properties.insert("kind".to_owned(), json!({"const": pick(random, &["x", "y"])}));
    }
    let required: Vec<_> = names.iter().filter(|_| random(4) > 0).collect();
    let mut object = json!({"type": "object", "properties": properties, "required": required});
    if random(4) > 0 {
        object["additionalProperties"] = json!(false);
    }
    object
}

pub(super) fn schema(random: Random<'_>, depth: usize) -> Value {
    let deeper = depth.saturating_sub(1);
    let mut schema = match if depth == 0 { random(6) } else { random(16) } {
        0 | 1 => json!({"type": "string"}),
        2 => json!({"type": "integer"}),
        3 => {
            json!({"type": pick(random, &[json!("number"), json!("boolean"), json!("null"), json!(["integer", "string"])])})
        }
        4 => json!({"type": "string", "enum": ["a", "b"]}),
        5 => json!({"type": "integer", "const": random(2)}),
        6 | 7 => json!({"type": "array", "items": schema(random, deeper)}),
        8..=10 => object(random, deeper),
        11 => json!({"anyOf": [schema(random, deeper), {"type": "null"}]}),
        12 => json!({"oneOf": [schema(random, deeper), schema(random, deeper)]}),
        13 => {
            json!({"$ref": pick(random, &["#/$defs/A", "#/$defs/B", "#", "#/$defs/A", "other.json", "#/$defs/C"])})
        }
        14 => json!({"allOf": [schema(random, deeper)], "description": "d"}),
        _ => pick(random, &[json!({}), json!(true), json!({"type": "array"}), json!({"type": "object"})]),
    };
    if let Value::Object(members) = &mut schema {
        if random(5) == 0 {
            let (name, value) = keyword(random, deeper);
            members.insert(name.to_owned(), value);
        }
        if random(5) == 0
            && let Some(Value::String(kind)) = members.get("type")
            && (kind != "null" || random(20) == 0)
        {
            members.insert("type".to_owned(), json!([kind, "null"]));
        }
    }
    schema
}

pub(super) fn root(random: Random<'_>) -> Value {
    let mut root = if random(8) == 0 { schema(random, 2) } else { object(random, 2) };
    if let Value::Object(members) = &mut root
        && random(2) == 0
    {
        members.insert("$defs".to_owned(), json!({"A": schema(random, 2), "B": schema(random, 1)}));
    }
    root
}

/// A value for a schema, which often matches it.
pub(super) fn instance(random: Random<'_>, root: &Value, schema: &Value, depth: usize) -> Value {
    let any = [
        json!(null),
        json!("a"),
        json!("b"),
        json!(""),
        json!(0),
        json!(1),
        json!(2.5),
        json!([]),
        json!({}),
    ];
    if depth == 0 || random(12) == 0 {
        return pick(random, &any);
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
        return instance(random, root, target, depth - 1);
    }
    for keyword in ["anyOf", "oneOf", "allOf", "enum"] {
        if let Some(all) = schema[keyword].as_array().filter(|all| !all.is_empty()) {
            let one = pick(random, all);
            return if keyword == "enum" { one } else { instance(random, root, &one, depth - 1) };
        }
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(all) => pick(random, all),
        kind => kind.clone(),
    };
    match kind.as_str().unwrap_or_default() {
        "object" => {
            let mut object = Map::new();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if random(8) > 0 {
                    object.insert(name.clone(), instance(random, root, property, depth - 1));
                }
            }
            if random(8) == 0 {
                object.insert("other".to_owned(), json!(1));
            }
            object.into()
        }
        "array" => (0..random(3)).map(|_| instance(random, root, &schema["items"], depth - 1)).collect(),
        "string" => json!(pick(random, &["a", "b", "", "x", "2020-02-02", "abc"])),
        "integer" => json!(random(4)),
        "number" => pick(random, &[json!(0.5), json!(1), json!(2.0)]),
        "boolean" => json!(true),
        "null" => json!(null),
        _ => pick(random, &any),
    }
}
