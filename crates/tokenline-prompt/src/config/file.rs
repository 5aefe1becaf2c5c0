//! Configuration files: the natural form, in TOML or JSON, and the flat form.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use tokenline_core::json::{Parser, Value};

use super::error::{ConfigError, ConfigErrorKind, Place, Within};
use super::reader::Source;
use super::{Config, flat, toml};
use crate::prompt::Compiled;

/// The maximum size of a file.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON.
    Json,
    /// TOML.
    Toml,
}

impl Format {
    /// The format for a path's extension, if that is `json` or `toml`.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }

    /// Detects the format of a text: JSON if it begins with a brace, which TOML never does.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
            Self::Json
        } else {
            Self::Toml
        }
    }
}

/// Reads the configuration in a file.
pub(crate) fn load(path: &Path) -> Result<Config, ConfigError> {
    let text = read_text(path).map_err(|error| {
        let reason = format!("cannot read the file: {error}");
        ConfigError::new(ConfigErrorKind::File, "", reason).because(error).in_file(path)
    })?;
    let format = Format::from_path(path).unwrap_or_else(|| Format::from_text(&text));
    parse(&text, format).map_err(|error| error.in_file(path))
}

/// Reads a file, at most one byte beyond the limit.
fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES >> 20;
        let reason = format!("the configuration exceeds the limit of {limit} MiB; shorten or split it");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads the configuration in a text.
pub(crate) fn parse(text: &str, format: Format) -> Result<Config, ConfigError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut parser = Parser::new();
    match format {
        Format::Json => {
            let value = parser.parse(text).map_err(|error| {
                let place = Place { within: Within::File, line: error.line, column: error.column };
                let reason = format!("not JSON: {}", error.description());
                ConfigError::new(ConfigErrorKind::Syntax, "", reason).at(Some(place)).because(error)
            })?;
            read(Source { value, origin: Some(Place { within: Within::File, line: 1, column: 1 }) })
        }
        Format::Toml => {
            let json = toml::to_json(text)?;
            match parser.parse(&json) {
                Ok(value) => read(Source { value, origin: None }),
                // TOML may be nested deeper than the JSON parser allows.
                Err(error) => Err(ConfigError::new(ConfigErrorKind::Syntax, "", error.description())),
            }
        }
    }
}

fn read(source: Source<'_>) -> Result<Config, ConfigError> {
    let Some(object) = source.value.as_object() else { return Err(source.type_error("an object", "")) };
    if object.iter().any(|(key, _)| flat::is_flat(key)) {
        if let Some((key, value)) = object.iter().find(|(key, _)| ["prompts", "terms"].contains(key)) {
            let reason = format!("`{key}` cannot be combined with `template-index` and `template.<id>`");
            let error = ConfigError::new(ConfigErrorKind::UnknownKey, "", reason);
            return Err(error.at(source.with(value).place()));
        }
        let entries: Vec<_> = object.iter().map(|(key, value)| (key, source.with(value))).collect();
        return flat::read(&entries);
    }
    source.has_only(&["system", "terms", "prompts"], "")?;
    let mut config = Config::default();
    let member = |key| source.value.get(key).map(|value: Value<'_>| source.with(value));
    if let Some(system) = member("system") {
        config.system = Some(system.as_string("system")?);
    }
    if let Some(terms) = member("terms") {
        config.terms = terms.as_terms("terms")?;
    }
    if let Some(prompts) = member("prompts") {
        let object = prompts.value.as_object().ok_or_else(|| prompts.type_error("an object", "prompts"))?;
        let compile = |(id, value): (&str, Value<'_>)| {
            let compiled: Compiled = source.with(value).prompt(&format!("prompts.{id}"), true)?;
            Ok((id.to_owned(), compiled))
        };
        config.prompts = object.iter().map(compile).collect::<Result<_, ConfigError>>()?;
    }
    Ok(config)
}
