//! Errors of prompts and responses.

use std::error::Error;
use std::fmt;

use tokenline_core::Diagnostic;
use tokenline_core::json::DeserializeError;

use crate::ResponseType;
use crate::template::Fault;

/// The reason a prompt could not be rendered, or its response not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptError {
    /// There is no prompt with this id.
    UnknownPrompt(UnknownPrompt),
    /// A template could not be rendered: a term is undefined, or of the wrong type.
    Render(RenderError),
    /// The response to a `json` prompt contains no JSON, or violates the schema.
    Response(JsonResponseError),
    /// The response to this prompt is not a stream of objects.
    NotStreamed {
        /// The id of the prompt.
        id: String,
        /// The type of its response.
        response_type: ResponseType,
    },
}

impl fmt::Display for PromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPrompt(error) => error.fmt(f),
            Self::Render(error) => error.fmt(f),
            Self::Response(error) => error.fmt(f),
            Self::NotStreamed { id, response_type } => write!(
                f,
                "the response to the prompt {id:?} is {response_type}, not a stream of objects: \
                 use a jsonl prompt, or invoke it without a stream"
            ),
        }
    }
}

impl Error for PromptError {}

impl From<UnknownPrompt> for PromptError {
    fn from(error: UnknownPrompt) -> Self {
        Self::UnknownPrompt(error)
    }
}

impl From<RenderError> for PromptError {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

impl From<JsonResponseError> for PromptError {
    fn from(error: JsonResponseError) -> Self {
        Self::Response(error)
    }
}

/// The reason an invocation failed: the prompt, the model, or the response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvokeError<E> {
    /// The prompt could not be rendered, or its response not be read.
    Prompt(PromptError),
    /// The model's own error.
    Llm(E),
}

impl<E> fmt::Display for InvokeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt(error) => error.fmt(f),
            Self::Llm(_) => f.write_str("the model returned an error"),
        }
    }
}

impl<E: Error + 'static> Error for InvokeError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Prompt(error) => error.source(),
            Self::Llm(error) => Some(error),
        }
    }
}

impl<E> From<PromptError> for InvokeError<E> {
    fn from(error: PromptError) -> Self {
        Self::Prompt(error)
    }
}

/// The error for an unknown prompt id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPrompt {
    id: String,
    similar: Option<String>,
}

impl UnknownPrompt {
    pub(crate) fn new<'a>(id: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { id: id.to_owned(), similar: similar(id, known).map(str::to_owned) }
    }

    /// The unknown id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A similar id that exists.
    #[must_use]
    pub fn similar(&self) -> Option<&str> {
        self.similar.as_deref()
    }
}

impl fmt::Display for UnknownPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown prompt {:?}", self.id)?;
        match &self.similar {
            Some(similar) => write!(f, "; is it {similar:?}?"),
            None => Ok(()),
        }
    }
}

impl Error for UnknownPrompt {}

/// The known name most similar to a misspelled one.
pub(crate) fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|other| (strsim::jaro_winkler(name, other), other));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(score, _)| *score > 0.85).map(|(_, other)| other)
}

/// The error of a template that could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    key: String,
    fault: Box<Fault>,
}

impl RenderError {
    pub(crate) fn new(key: &str, fault: Fault) -> Self {
        Self { key: key.to_owned(), fault: Box::new(fault) }
    }

    /// The key of the template in the configuration, such as `template.extract-topics` or `system`; `input` if the
    /// input contains no terms.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The undefined term, if that is the error: `text`, `schema.name`.
    #[must_use]
    pub fn term(&self) -> Option<&str> {
        self.fault.term.as_deref()
    }

    /// The line and column (bytes) in the template, both counted from 1.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        self.fault.position
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.fault.reason)?;
        match self.fault.position {
            Some((line, column)) => write!(f, " at line {line}, column {column} of the template"),
            None => Ok(()),
        }
    }
}

impl Error for RenderError {}

/// The kind of a [`JsonResponseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonResponseErrorKind {
    /// The response contains no complete JSON value: `{"entity":"DN`.
    JsonParse,
    /// The value violates the schema: `{"entity":7}`.
    SchemaValidation,
}

/// The response to a `json` prompt contains no JSON, or violates the schema.
///
/// Private by design: the message names positions, types and rules, never the content of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonResponseError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: JsonResponseErrorKind,
    offset: usize,
    diagnostic: Diagnostic,
}

impl JsonResponseError {
    /// An error at the line and column of the diagnostic.
    pub(crate) fn new(response: &[u8], kind: JsonResponseErrorKind, diagnostic: Diagnostic) -> Self {
        let text = response.strip_prefix("\u{feff}".as_bytes()).unwrap_or(response);
        let lines = text.split_inclusive(|byte| *byte == b'\n').take(diagnostic.line as usize - 1);
        let offset = response.len() - text.len() + lines.map(<[u8]>::len).sum::<usize>();
        let offset = offset + diagnostic.column as usize - 1;
        Self(Box::new(Inner { kind, offset, diagnostic }))
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> JsonResponseErrorKind {
        self.0.kind
    }

    /// The offset of the error in the response, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The diagnostic: code, line and column of the error, span of the value, and for schema violations the paths into
    /// the value and the schema.
    #[must_use]
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.0.diagnostic
    }
}

impl fmt::Display for JsonResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { line, column, message, instance_path, .. } = &self.0.diagnostic;
        f.write_str(match self.0.kind {
            JsonResponseErrorKind::JsonParse => "JSON parse fail: ",
            JsonResponseErrorKind::SchemaValidation => "Schema validation fail: ",
        })?;
        f.write_str(message)?;
        if let Some(path) = instance_path.as_deref().filter(|path| !path.is_empty()) {
            write!(f, " (at {path})")?;
        }
        write!(f, " at line {line}, column {column}")
    }
}

impl Error for JsonResponseError {}

/// The reason a [`Response`](crate::Response) could not be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConvertError {
    /// The response has another type.
    Type {
        /// The requested type.
        expected: ResponseType,
        /// The actual type.
        found: ResponseType,
    },
    /// The value does not match the Rust type.
    Deserialize(DeserializeError),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, found } => {
                write!(f, "the response is {found}, as its prompt specifies, not {expected}")
            }
            Self::Deserialize(_) => f.write_str("the response does not match the type"),
        }
    }
}

impl Error for ConvertError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Type { .. } => None,
            Self::Deserialize(error) => Some(error),
        }
    }
}
