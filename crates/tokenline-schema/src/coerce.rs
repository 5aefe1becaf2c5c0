//! Converts values that hold what the schema asks for, but as another kind.

use serde_json::Value as Schema;
use tokenline_core::Coercion;
use tokenline_core::call_format::python_literal;
use tokenline_core::json::{Kind, Parser, Raw, Value};

use crate::pointer;
use crate::text::json_string;

/// How values were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// As JSON: a string is meant as one if the schema allows it.
    AsJson,
    /// As text, without types: a value is whatever the schema allows.
    AsText,
}

/// The value with what it holds converted to the kind that the schema asks for, and the changes; `None` if
/// there are none.
///
/// Looks at `type`, `nullable`, and the types of `enum` and `const`, below `properties`, `items` and
/// `additionalProperties`. Of alternatives, one has to fit; references inside the schema are followed.
pub(crate) fn coerce(schema: &Schema, value: Value<'_>, written: Written) -> Option<(Raw, Vec<Coercion>)> {
    let mut coerced = Coerced { root: schema, written, changes: Vec::new(), path: String::new() };
    coerced.walk(&[schema], value);
    if coerced.changes.is_empty() {
        return None;
    }
    let text_before = value.raw();
    let base = value.range().start;
    let mut text = String::with_capacity(text_before.len());
    let mut from = 0;
    let mut coercions = Vec::with_capacity(coerced.changes.len());
    for (place, replacement, coercion) in coerced.changes {
        text.push_str(&text_before[from..place.start - base]);
        text.push_str(&replacement);
        from = place.end - base;
        coercions.push(coercion);
    }
    text.push_str(&text_before[from..]);
    Some((Raw::new(&text).ok()?, coercions))
}

/// Whether a member that is written as text stays a string, whatever its text is.
pub(crate) fn stays_text(schema: &Schema, name: &str) -> bool {
    let coerced =
        Coerced { root: schema, written: Written::AsText, changes: Vec::new(), path: String::new() };
    let (mut objects, mut members) = (Vec::new(), Vec::new());
    coerced.alternatives(schema, &mut objects);
    for member in objects.iter().filter_map(|object| member_schema(object, name)) {
        coerced.alternatives(member, &mut members);
    }
    let wanted = Wanted::of(&members);
    wanted == Wanted { string: wanted.string, ..Wanted::default() }
}

struct Coerced<'s> {
    root: &'s Schema,
    written: Written,
    /// In text order: the range, its replacement, and the change to record.
    changes: Vec<(std::ops::Range<usize>, String, Coercion)>,
    path: String,
}

/// The most alternatives that are looked at for a value.
const MAX_ALTERNATIVES: usize = 64;

impl<'s> Coerced<'s> {
    /// Recurses at most as deep as the value, which was parsed within a depth limit.
    fn walk(&mut self, schemas: &[&'s Schema], value: Value<'_>) {
        let mut alternatives = Vec::new();
        for schema in schemas {
            self.alternatives(schema, &mut alternatives);
        }
        let wanted = Wanted::of(&alternatives);
        if let Some((replacement, to)) = wanted.convert(value, self.written) {
            let coercion = Coercion::new(self.path.clone(), value.kind(), to);
            self.changes.push((value.range(), replacement, coercion));
        } else if let Some(object) = value.as_object() {
            for (name, member) in object {
                let schemas: Vec<_> =
                    alternatives.iter().filter_map(|alternative| member_schema(alternative, name)).collect();
                if !schemas.is_empty() {
                    self.walk_to(&name.replace('~', "~0").replace('/', "~1"), &schemas, member);
                }
            }
        } else if let Some(array) = value.as_array() {
            let schemas: Vec<_> =
                alternatives.iter().filter_map(|alternative| alternative.get("items")).collect();
            if !schemas.is_empty() {
                for (index, element) in array.iter().enumerate() {
                    self.walk_to(&index.to_string(), &schemas, element);
                }
            }
        }
    }

    fn walk_to(&mut self, token: &str, schemas: &[&'s Schema], value: Value<'_>) {
        let len = self.path.len();
        self.path.push('/');
        self.path.push_str(token);
        self.walk(schemas, value);
        self.path.truncate(len);
    }

    /// Lists the schemas that describe a value: this one, where it refers to, and its alternatives.
    fn alternatives(&self, schema: &'s Schema, found: &mut Vec<&'s Schema>) {
        if found.len() >= MAX_ALTERNATIVES || found.iter().any(|other| std::ptr::eq(*other, schema)) {
            return;
        }
        found.push(schema);
        let target = schema.get("$ref").and_then(Schema::as_str);
        if let Some(target) = target.and_then(|target| pointer::find(self.root, target.strip_prefix('#')?)) {
            self.alternatives(target, found);
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for schema in schema.get(keyword).and_then(Schema::as_array).into_iter().flatten() {
                self.alternatives(schema, found);
            }
        }
    }
}

fn member_schema<'s>(schema: &'s Schema, name: &str) -> Option<&'s Schema> {
    let member = schema.get("properties").and_then(|properties| properties.get(name));
    member.or_else(|| schema.get("additionalProperties").filter(|schema| schema.is_object()))
}

/// The kinds that schemas ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    string: bool,
    number: bool,
    integer: bool,
    boolean: bool,
    null: bool,
    array: bool,
    object: bool,
}

impl Wanted {
    fn of(schemas: &[&Schema]) -> Self {
        let mut wanted = Self::default();
        for schema in schemas {
            match schema.get("type") {
                Some(Schema::String(name)) => wanted.add(name),
                Some(Schema::Array(names)) => {
                    names.iter().filter_map(Schema::as_str).for_each(|it| wanted.add(it));
                }
                _ => {
                    let values = schema.get("enum").and_then(Schema::as_array);
                    values
                        .into_iter()
                        .flatten()
                        .chain(schema.get("const"))
                        .for_each(|it| wanted.add_kind(it));
                }
            }
            wanted.null |= schema.get("nullable") == Some(&Schema::Bool(true));
        }
        wanted
    }

    fn add(&mut self, name: &str) {
        match name {
            "string" => self.string = true,
            "number" => self.number = true,
            "integer" => self.integer = true,
            "boolean" => self.boolean = true,
            "null" => self.null = true,
            "array" => self.array = true,
            "object" => self.object = true,
            _ => {}
        }
    }

    fn add_kind(&mut self, value: &Schema) {
        self.add(match value {
            Schema::String(_) => "string",
            Schema::Number(_) => "number",
            Schema::Bool(_) => "boolean",
            Schema::Null => "null",
            Schema::Array(_) => "array",
            Schema::Object(_) => "object",
        });
    }

    fn is_string_only(self) -> bool {
        self.string && !(self.number || self.integer || self.boolean || self.array || self.object)
    }

    /// Whether a value of this kind is wanted.
    fn wants(self, value: Value<'_>) -> bool {
        match value.kind() {
            Kind::String => self.string,
            Kind::Number => {
                let is_integer =
                    value.as_number().is_some_and(tokenline_core::json::Number::is_written_as_integer);
                self.number || (self.integer && is_integer)
            }
            Kind::Bool => self.boolean,
            Kind::Null => self.null,
            Kind::Array => self.array,
            Kind::Object => self.object,
        }
    }

    /// The text of the converted value, and its kind.
    fn convert(self, value: Value<'_>, written: Written) -> Option<(String, Kind)> {
        let is_text = written == Written::AsText;
        match value.kind() {
            Kind::String if is_text || !self.string => {
                let text = value.as_str()?;
                // White space around it belongs to a string, not to a number.
                let text = if is_text && !self.string { text.trim() } else { &*text };
                let text = match text {
                    "True" | "TRUE" if is_text && self.boolean => "true",
                    "False" | "FALSE" if is_text && self.boolean => "false",
                    _ => text,
                };
                let python =
                    Some(text).filter(|text| is_text && text.starts_with(['[', '{']) && text.contains('\''));
                let python =
                    python.filter(|text| Parser::new().parse(text).is_err()).and_then(python_literal);
                let text = python.as_deref().unwrap_or(text);
                let mut parser = Parser::new();
                let held = parser.parse(text).ok()?;
                let is_exact = held.raw().len() == text.len();
                let fits = held.kind() != Kind::String && self.wants(held) && is_exact;
                // Where both are allowed, digits stay the text that they are.
                let is_number = self.string && held.kind() == Kind::Number;
                (fits && !is_number).then(|| (held.to_single_line().into_owned(), held.kind()))
            }
            Kind::Number if self.is_string_only() => Some((format!("\"{}\"", value.raw()), Kind::String)),
            Kind::Bool | Kind::Array | Kind::Object if is_text && self.is_string_only() => {
                Some((json_string(value.raw()), Kind::String))
            }
            _ => None,
        }
    }
}
