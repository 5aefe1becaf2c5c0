//! The flat form: `system`, `template-index` and `template.<id>`, each value JSON in a string.

use std::borrow::Cow;

use tokenline_core::json::{Parser, Value};

use super::Config;
use super::error::{ConfigError, ConfigErrorKind, Place, Within};
use super::reader::Source;

/// The start of a value's text, if it is parsed on its own.
const VALUE: Place = Place { within: Within::Value, line: 1, column: 1 };

const PREFIX: &str = "template.";

/// Whether a key belongs to the flat form only.
pub(super) fn is_flat(key: &str) -> bool {
    key == "template-index" || key.starts_with(PREFIX)
}

/// Reads a configuration from keys and values. Unknown keys are ignored: they may belong to others.
pub(crate) fn flat(entries: &[(String, serde_json::Value)]) -> Result<Config, ConfigError> {
    let texts: Vec<_> = entries.iter().map(|(_, value)| value.to_string()).collect();
    let mut parsers: Vec<_> = texts.iter().map(|_| Parser::new()).collect();
    let mut values = Vec::with_capacity(entries.len());
    for (((key, _), text), parser) in entries.iter().zip(&texts).zip(&mut parsers) {
        let value = parser.parse(text).map_err(|error| syntax(key, &error))?;
        values.push((key.as_str(), Source { value, origin: Some(VALUE) }));
    }
    read(&values)
}

/// Like [`flat`], for values with positions.
pub(super) fn read(entries: &[(&str, Source<'_>)]) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    let find = |key: &str| entries.iter().rev().find(|(own, _)| *own == key).map(|(_, source)| *source);
    if let Some(system) = find("system") {
        config.system = Some(read_system(system)?);
    }
    let ids = match find("template-index") {
        Some(index) => {
            let read = |source: Source<'_>| {
                let ids = source.as_strings("template-index")?;
                let place = |(id, source): (String, Source<'_>)| (id, source.place());
                Ok(ids.into_iter().map(place).collect::<Vec<_>>())
            };
            decoded("template-index", index, read)?
        }
        None => {
            let ids = entries.iter().filter_map(|(key, _)| key.strip_prefix(PREFIX));
            ids.map(|id| (id.to_owned(), None)).collect()
        }
    };
    for (id, place) in ids {
        let key = format!("{PREFIX}{id}");
        let Some(source) = find(&key) else {
            let reason = format!("`{key}` is missing, but the index lists it");
            let error = ConfigError::new(ConfigErrorKind::MissingTemplate, "template-index", reason);
            return Err(error.at(place));
        };
        let compiled = decoded(&key, source, |source| source.prompt(&key, false))?;
        config.prompts.push((id, compiled));
    }
    Ok(config)
}

/// A JSON string; other text is used as it is.
fn read_system(source: Source<'_>) -> Result<String, ConfigError> {
    let text = source.as_string("system")?;
    let mut parser = Parser::new();
    let string = parser.parse(&text).ok().and_then(Value::as_str).map(Cow::into_owned);
    Ok(string.unwrap_or(text))
}

/// Passes the JSON inside a string to `read`; a value that is not a string is passed itself.
fn decoded<T>(
    key: &str,
    source: Source<'_>,
    read: impl FnOnce(Source<'_>) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let Some(text) = source.value.as_str() else { return read(source) };
    let mut parser = Parser::new();
    let value = parser.parse(&text).map_err(|error| syntax(key, &error))?;
    read(Source { value, origin: Some(VALUE) })
}

fn syntax(key: &str, error: &tokenline_core::json::SyntaxError) -> ConfigError {
    let place = Place { line: error.line, column: error.column, ..VALUE };
    let own = ConfigError::new(ConfigErrorKind::Syntax, key, format!("not JSON: {}", error.description()));
    own.at(Some(place)).because(*error)
}
