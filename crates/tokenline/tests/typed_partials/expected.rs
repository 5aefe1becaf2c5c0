//! The expected partial: a second, simple implementation of the documented rules, which reads a snapshot of the same
//! text. Absent members are left out.

use serde_json::{Map, Value, json};
use tokenline::json::Value as Tape;

type Fields<'a> = &'a [(&'a str, fn(Tape<'_>) -> Option<Value>)];

pub(crate) fn text(value: Tape<'_>) -> Option<Value> {
    value.as_str().map(|text| json!(text))
}

/// The value of a field that appears only when it is complete.
fn whole(value: Tape<'_>) -> Option<Value> {
    (!is_open(value)).then(|| serde_json::from_str(&value.to_json()).unwrap())
}

fn number(value: Tape<'_>) -> Option<Value> {
    value.as_number().map(|_| json!(value.to_json().parse::<f64>().unwrap()))
}

fn is_open(value: Tape<'_>) -> bool {
    value.is_open()
}

fn list(value: Tape<'_>, item: fn(Tape<'_>) -> Option<Value>) -> Option<Value> {
    Some(value.as_array()?.iter().filter_map(item).collect())
}

fn object(value: Tape<'_>, required: &[&str], fields: Fields<'_>) -> Option<Value> {
    let mut members = Map::new();
    for (name, member) in value.as_object()?.iter() {
        if let Some((_, read)) = fields.iter().find(|(field, _)| *field == name)
            && let Some(value) = read(member)
        {
            members.insert((*name).to_owned(), value);
        }
    }
    required.iter().all(|name| members.contains_key(*name)).then_some(Value::Object(members))
}

fn step(value: Tape<'_>) -> Option<Value> {
    object(value, &[], &[("text", text), ("minutes", number), ("substeps", |value| list(value, step))])
}

fn author(value: Tape<'_>) -> Option<Value> {
    object(value, &["name", "id"], &[("name", text), ("id", whole), ("about", text)])
}

fn media(value: Tape<'_>) -> Option<Value> {
    let tag = value.get("type").filter(|tag| !tag.is_open())?.as_str()?.into_owned();
    let fields: Fields<'_> = match &*tag {
        "photo" => &[("url", text), ("alt", text)],
        "video" => &[("seconds", number), ("title", text)],
        _ => &[],
    };
    let mut members = json!({ "type": tag });
    members.as_object_mut()?.append(object(value, &[], fields)?.as_object_mut()?);
    Some(members)
}

fn shape(value: Tape<'_>) -> Option<Value> {
    let Some(members) = value.as_object() else {
        return text(value).filter(|_| !value.is_open());
    };
    let (name, data) = members.iter().next()?;
    let data = match name {
        "Round" => object(data, &[], &[("radius", number)]),
        "Square" => author(data),
        _ => text(data),
    };
    Some(json!({ name: data? }))
}

fn notes(value: Tape<'_>) -> Option<Value> {
    let members =
        value.as_object()?.iter().filter_map(|(name, value)| Some(((*name).to_owned(), text(value)?)));
    Some(Value::Object(members.collect()))
}

pub(crate) fn recipe(value: Tape<'_>) -> Option<Value> {
    object(
        value,
        &[],
        &[
            ("title", text),
            ("servings", whole),
            ("isVegan", whole),
            ("level", whole),
            ("steps", |value| list(value, step)),
            ("tags", |value| list(value, text)),
            ("ratings", |value| list(value, number)),
            ("levels", |value| list(value, whole)),
            ("author", author),
            ("notes", notes),
            ("src", whole),
            ("range", whole),
            ("media", |value| list(value, media)),
            ("shape", shape),
        ],
    )
}
