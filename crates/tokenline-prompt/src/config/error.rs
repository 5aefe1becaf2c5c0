//! Errors of configurations.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// The kind of a [`ConfigError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// The file cannot be read, or exceeds 16 MiB.
    File,
    /// The file is not TOML or JSON, or the value of a key is not the required JSON: `{"prompt":`.
    Syntax,
    /// A value has the wrong type: `"prompt": 7`.
    Shape,
    /// An unknown key in a file: `respons-type = "json"`.
    UnknownKey,
    /// The index lists a missing prompt: `template-index` with `["a"]`, without `template.a`.
    MissingTemplate,
    /// A prompt without a template: `{"response-type": "json"}`.
    MissingPrompt,
    /// An unknown response type: `"response-type": "jsnl"`.
    UnknownResponseType,
    /// An invalid schema: `{"type": "strin"}`.
    Schema,
    /// A template with a syntax error: `{{ text`.
    Template,
    /// Terms that are not a map.
    Terms,
    /// An alias of two prompts, or equal to the id of another prompt.
    Alias,
}

/// The text that the position of a [`ConfigError`] refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Within {
    /// The text of the file.
    File,
    /// The value of the key.
    Value,
    /// The template.
    Template,
}

/// A position in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text that the position refers to.
    pub within: Within,
    /// The line, counted from 1.
    pub line: usize,
    /// The column: bytes, counted from 1.
    pub column: usize,
}

/// An error in a configuration: the key, the position, and the reason in one line.
#[derive(Debug)]
pub struct ConfigError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ConfigErrorKind,
    file: Option<PathBuf>,
    key: String,
    member: Option<&'static str>,
    place: Option<Place>,
    reason: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ConfigError {
    pub(crate) fn new(kind: ConfigErrorKind, key: impl Into<String>, reason: impl Into<String>) -> Self {
        let (key, reason) = (key.into(), reason.into());
        Self(Box::new(Inner { kind, file: None, key, member: None, place: None, reason, source: None }))
    }

    pub(crate) fn of_member(mut self, member: &'static str) -> Self {
        self.0.member = Some(member);
        self
    }

    pub(crate) fn at(mut self, place: Option<Place>) -> Self {
        self.0.place = place;
        self
    }

    pub(crate) fn in_file(mut self, file: &Path) -> Self {
        self.0.file = Some(file.to_owned());
        self
    }

    pub(crate) fn because(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ConfigErrorKind {
        self.0.kind
    }

    /// The file, if the configuration was loaded from one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The key with the invalid value, such as `template.extract-topics`, `prompts.extract-topics` or `system`; empty
    /// for the file as a whole.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The invalid member of a prompt: `prompt`, `response-type`, `schema`, `object-schema`, `terms` or `aliases`.
    #[must_use]
    pub fn member(&self) -> Option<&'static str> {
        self.0.member
    }

    /// The position of the error. In TOML, only syntax errors and templates have one.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        self.0.place
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { file, key, member, place, reason, .. } = &*self.0;
        if let Some(file) = file {
            write!(f, "{}: ", file.display())?;
        }
        if !key.is_empty() {
            write!(f, "{key}: ")?;
        }
        if let Some(member) = member {
            write!(f, "{member}: ")?;
        }
        f.write_str(reason)?;
        if let Some(Place { within, line, column }) = place {
            let within = match within {
                Within::File => "file",
                Within::Value => "value",
                Within::Template => "template",
            };
            write!(f, " at line {line}, column {column} of the {within}")?;
        }
        Ok(())
    }
}

impl Error for ConfigError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
