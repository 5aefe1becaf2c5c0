//! Converts TOML to JSON, to have one reader for both.

use toml::Value;

use super::error::{ConfigError, ConfigErrorKind, Place, Within};
use crate::template::end_of;

/// The document as JSON, members in order. Values without a JSON form, dates and infinities, become strings.
pub(super) fn to_json(text: &str) -> Result<String, ConfigError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let place = error.span().and_then(|span| text.get(..span.start)).map(end_of);
        let place = place.map(|(line, column)| Place { within: Within::File, line, column });
        // On one line, even if the parser's message has several.
        let reason = format!("not TOML: {}", error.message().replace('\n', ", "));
        ConfigError::new(ConfigErrorKind::Syntax, "", reason).at(place).because(error)
    })?;
    let mut json = String::with_capacity(text.len());
    write(&Value::Table(table), &mut json);
    Ok(json)
}

fn write(value: &Value, json: &mut String) {
    match value {
        Value::String(string) => write_string(string, json),
        Value::Integer(integer) => *json += &integer.to_string(),
        Value::Float(float) if float.is_finite() => *json += &serde_json::Value::from(*float).to_string(),
        Value::Float(float) => write_string(&float.to_string(), json),
        Value::Boolean(boolean) => *json += if *boolean { "true" } else { "false" },
        Value::Datetime(datetime) => write_string(&datetime.to_string(), json),
        Value::Array(array) => {
            json.push('[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write(element, json);
            }
            json.push(']');
        }
        Value::Table(table) => {
            json.push('{');
            for (index, (key, member)) in table.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write_string(key, json);
                json.push(':');
                write(member, json);
            }
            json.push('}');
        }
    }
}

fn write_string(string: &str, json: &mut String) {
    *json += &serde_json::Value::from(string).to_string();
}
