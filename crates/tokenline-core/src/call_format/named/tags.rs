//! Parameters with tags of their own: `<parameter=city>Paris</parameter>`.

use crate::call_format::scan::{Literal, first_literal};
use crate::call_format::syntax::ParameterTags;
use crate::json::write;
use crate::json::{Parser, Value};

/// The longest key of a parameter, with its attributes.
const MAX_KEY: usize = 512;

pub(super) enum Key<'t> {
    NeedMore,
    /// There is no key here.
    None,
    Found {
        name: &'t str,
        /// Whether its type is given, and is JSON.
        is_json: Option<bool>,
        end: usize,
    },
}

/// Reads the key that begins at `from`.
pub(super) fn key<'t>(text: &'t str, from: usize, parameter: &ParameterTags) -> Key<'t> {
    let ends = parameter.key_end.iter().map(String::as_str);
    let end = match first_literal(text, from..from + MAX_KEY, false, &ends) {
        Literal::Found(at, len) => at..at + len,
        Literal::NeedMore => return Key::NeedMore,
        Literal::None => return Key::None,
    };
    let written = text[from..end.start].trim();
    let (name, attributes) = match written.bytes().next() {
        Some(quote @ (b'"' | b'\'')) => match written[1..].split_once(char::from(quote)) {
            Some((name, attributes)) => (name, attributes),
            None => return Key::None,
        },
        _ => match &parameter.type_attribute {
            Some(_) => written.split_once(' ').unwrap_or((written, "")),
            None => (written, ""),
        },
    };
    if name.is_empty() || name.contains(['<', '\n']) {
        return Key::None;
    }
    let is_json = parameter.type_attribute.as_ref().and_then(|attribute| {
        let (_, value) = attributes.split_once(attribute.as_str())?;
        let value = value.trim_start_matches(['=', ' ']).trim_matches(['"', '\'']);
        Some(!is_string_type(value))
    });
    Key::Found { name, is_json, end: end.end }
}

/// Whether an attribute or a tag with the type of a parameter says that it is a string.
pub(super) fn is_string_type(value: &str) -> bool {
    matches!(value, "true" | "string" | "str")
}

/// Writes a parameter's text as JSON.
pub(super) fn value(out: &mut String, parameter: &ParameterTags, text: &str, is_json: Option<bool>) {
    let value = parameter.trim.of(text);
    let value = match value.trim().strip_prefix("<![CDATA[").and_then(|value| value.strip_suffix("]]>")) {
        Some(inner) => inner,
        None => value,
    };
    if is_json.unwrap_or(parameter.json) {
        let mut parser = Parser::new();
        // White space around it belongs to a string, not to a number.
        let is_exact =
            |held: &Value<'_>| held.raw().len() == value.len() || held.raw().starts_with(['{', '[']);
        if let Some(value) = parser.parse(value.trim()).ok().filter(is_exact) {
            out.push_str(&value.to_single_line());
            return;
        }
    }
    write::string(out, value);
}
