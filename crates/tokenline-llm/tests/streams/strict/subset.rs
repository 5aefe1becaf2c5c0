//! The subsets of JSON Schema that the providers' strict modes document.

use serde_json::{Value, json};

use super::BOUNDS;

/// The keywords of an OpenAI schema, or of an Anthropic one.
pub(super) fn check(
    schema: &Value,
    root: &Value,
    is_openai: bool,
    open: &mut Vec<String>,
) -> Result<(), String> {
    let members = schema.as_object().ok_or("no object")?;
    if let Some(reference) = members.get("$ref") {
        let reference = reference.as_str().ok_or("no reference")?;
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        let target = target.ok_or_else(|| format!("{reference} leads nowhere"))?;
        let is_deep = reference.matches('/').count() > 2;
        if members.len() > 1 || is_deep {
            return Err(format!("{schema}"));
        }
        if open.iter().any(|entered| entered == reference) {
            return if is_openai { Ok(()) } else { Err("recursive".to_owned()) };
        }
        open.push(reference.to_owned());
        check(target, root, is_openai, open)?;
        open.pop();
        return Ok(());
    }
    let is_root = std::ptr::eq(schema, root);
    let types: Vec<&str> = match &members.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(kind) => vec![kind.as_str().ok_or("no type")?],
        None if members.contains_key("anyOf") && !is_root => Vec::new(),
        None => return Err(format!("no type: {schema}")),
    };
    if is_root && types != ["object"] {
        return Err("no object at the root".to_owned());
    }
    for (name, value) in members {
        let is_fine = match name.as_str() {
            "type" | "description" | "properties" | "required" | "items" => true,
            "additionalProperties" => value == false,
            "enum" => value.as_array().is_some_and(|all| {
                !all.is_empty() && all.iter().all(|value| !value.is_array() && !value.is_object())
            }),
            "anyOf" => !types.contains(&"object") && types.is_empty(),
            "$defs" => is_root,
            "format" => value != "uint8" && value != "regex" && (value != "uri" || !is_openai),
            "minItems" if !is_openai => value == 0 || value == 1,
            "pattern" => is_openai && value != r"\bb",
            _ => is_openai && BOUNDS.contains(&name.as_str()) && value.is_number(),
        };
        if !is_fine {
            return Err(format!("{name}: {value}"));
        }
        let inner: Vec<&Value> = match name.as_str() {
            "properties" | "$defs" => value.as_object().ok_or("no members")?.values().collect(),
            "anyOf" => value.as_array().ok_or("no alternatives")?.iter().collect(),
            "items" => vec![value],
            _ => Vec::new(),
        };
        inner.into_iter().try_for_each(|schema| check(schema, root, is_openai, open))?;
    }
    if types.contains(&"array") && !members.contains_key("items") {
        return Err(format!("no items: {schema}"));
    }
    if types.contains(&"object") {
        let properties = members.get("properties").and_then(Value::as_object).ok_or("no properties")?;
        let required = members.get("required").and_then(Value::as_array).ok_or("none required")?;
        let has = |name: &Value| name.as_str().is_some_and(|name| properties.contains_key(name));
        if members.get("additionalProperties") != Some(&json!(false)) || !required.iter().all(has) {
            return Err(format!("open: {schema}"));
        }
        if is_openai && required.len() != properties.len() {
            return Err(format!("optional: {schema}"));
        }
    }
    Ok(())
}
