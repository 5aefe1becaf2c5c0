//! Shared by both forms of configuration: values with positions, and the prompts in them.

use tokenline_core::json::{Value, View};
use tokenline_schema::SchemaError;

use super::error::{ConfigError, ConfigErrorKind, Place, Within};
use crate::ResponseType;
use crate::error::similar;
use crate::prompt::{Compiled, Prompt, PromptFault};
use crate::template::end_of;
use crate::terms::Terms;

/// A value with the position of its document.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) value: Value<'a>,
    /// The kind and start of the value's document; `None` if the user never saw it.
    pub(super) origin: Option<Place>,
}

/// The members of a prompt.
const MEMBERS: [&str; 6] = ["prompt", "response-type", "schema", "object-schema", "terms", "aliases"];

impl<'a> Source<'a> {
    pub(super) fn with(self, value: Value<'a>) -> Self {
        Self { value, ..self }
    }

    /// The position of the value.
    pub(super) fn place(self) -> Option<Place> {
        self.place_of(self.value.range().start)
    }

    /// The position of a byte in the value's document.
    fn place_of(self, offset: usize) -> Option<Place> {
        let Place { within, line, column } = self.origin?;
        Some(match end_of(&self.value.document()[..offset]) {
            (1, at) => Place { within, line, column: column + at - 1 },
            (lines, at) => Place { within, line: line + lines - 1, column: at },
        })
    }

    /// The error for a value of the wrong type.
    pub(super) fn type_error(self, what: &str, key: &str) -> ConfigError {
        let reason = format!("expected {what}, found {}", self.value.kind().with_article());
        ConfigError::new(ConfigErrorKind::Shape, key, reason).at(self.place())
    }

    pub(super) fn as_string(self, key: &str) -> Result<String, ConfigError> {
        let string = self.value.as_str();
        string.map(Into::into).ok_or_else(|| self.type_error("a string", key))
    }

    pub(super) fn as_strings(self, key: &str) -> Result<Vec<(String, Self)>, ConfigError> {
        let array = self.value.as_array().ok_or_else(|| self.type_error("an array of strings", key))?;
        let element = |value| self.with(value).as_string(key).map(|string| (string, self.with(value)));
        array.iter().map(element).collect()
    }

    pub(super) fn as_terms(self, key: &str) -> Result<Terms, ConfigError> {
        match self.value.view() {
            View::Object(_) => {}
            _ => return Err(self.type_error("an object of terms", key)),
        }
        Terms::new(self.value)
            .map_err(|reason| ConfigError::new(ConfigErrorKind::Terms, key, reason).at(self.place()))
    }

    /// Checks that there are only known members.
    pub(super) fn has_only(self, known: &[&str], key: &str) -> Result<(), ConfigError> {
        let members = self.value.as_object().into_iter().flatten();
        for (name, value) in members {
            if !known.contains(&name) {
                let mut reason = format!("unknown key {name:?}");
                match similar(name, known.iter().copied()) {
                    Some(similar) => reason += &format!("; is it {similar:?}?"),
                    None => reason += &format!("; use one of {}", known.join(", ")),
                }
                let error = ConfigError::new(ConfigErrorKind::UnknownKey, key, reason);
                return Err(error.at(self.with(value).place()));
            }
        }
        Ok(())
    }

    /// The prompt described by an object. Unknown members are errors only if `is_strict`.
    pub(super) fn prompt(self, key: &str, is_strict: bool) -> Result<Compiled, ConfigError> {
        if self.value.as_object().is_none() {
            return Err(self.type_error("an object", key));
        }
        if is_strict {
            self.has_only(&MEMBERS, key)?;
        }
        let member = |name| self.value.get(name).filter(|value| !value.is_null());
        let within = |name| move |error: ConfigError| error.of_member(name);

        let Some(template) = member("prompt") else {
            let reason = "`prompt`, the template, is missing";
            return Err(ConfigError::new(ConfigErrorKind::MissingPrompt, key, reason).at(self.place()));
        };
        let template = self.with(template).as_string(key).map_err(within("prompt"))?;
        let response_type = match member("response-type") {
            Some(value) => self.with(value).response_type(key).map_err(within("response-type"))?,
            None => ResponseType::default(),
        };
        let mut prompt = Prompt::new(template, response_type);
        if let Some(schema) = member("schema") {
            prompt = prompt.with_schema(self.with(schema).schema(key).map_err(within("schema"))?);
        }
        if let Some(schema) = member("object-schema") {
            let schema = self.with(schema).schema(key).map_err(within("object-schema"))?;
            prompt = prompt.with_object_schema(schema);
        }
        if let Some(terms) = member("terms") {
            // Checked here to report the position.
            self.with(terms).as_terms(key).map_err(within("terms"))?;
            prompt = prompt.with_terms(terms);
        }
        if let Some(aliases) = member("aliases") {
            let aliases = self.with(aliases).as_strings(key).map_err(within("aliases"))?;
            prompt = aliases.into_iter().fold(prompt, |prompt, (alias, _)| prompt.with_alias(alias));
        }
        Compiled::new(key.to_owned(), prompt).map_err(|error| {
            let place = match &error {
                PromptFault::Schema(name, error) => member(name).and_then(|schema| self.rule(schema, error)),
                PromptFault::Template(_) | PromptFault::Terms(_) => None,
            };
            fault(key, error, place)
        })
    }

    fn response_type(self, key: &str) -> Result<ResponseType, ConfigError> {
        let name = self.as_string(key)?;
        name.parse().map_err(|error: crate::UnknownResponseType| {
            let kind = ConfigErrorKind::UnknownResponseType;
            ConfigError::new(kind, key, error.to_string()).at(self.place())
        })
    }

    fn schema(self, key: &str) -> Result<serde_json::Value, ConfigError> {
        self.value.to_value().map_err(|error| {
            ConfigError::new(ConfigErrorKind::Schema, key, error.to_string()).at(self.place())
        })
    }

    /// The position of the invalid part of a schema.
    fn rule(self, schema: Value<'a>, error: &SchemaError) -> Option<Place> {
        self.with(schema.pointer(error.path()).unwrap_or(schema)).place()
    }
}

/// The error for an invalid prompt; `place` is the position in a schema.
pub(crate) fn fault(key: &str, fault: PromptFault, place: Option<Place>) -> ConfigError {
    match fault {
        PromptFault::Template(fault) => {
            let place = fault.position.map(|(line, column)| Place { within: Within::Template, line, column });
            ConfigError::new(ConfigErrorKind::Template, key, fault.reason).of_member("prompt").at(place)
        }
        PromptFault::Schema(member, error) => {
            let reason = error.to_string();
            let own = ConfigError::new(ConfigErrorKind::Schema, key, reason).of_member(member);
            own.at(place).because(error)
        }
        PromptFault::Terms(reason) => {
            ConfigError::new(ConfigErrorKind::Terms, key, reason).of_member("terms")
        }
    }
}
