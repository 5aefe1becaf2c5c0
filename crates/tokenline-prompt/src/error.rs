//! Why a prompt cannot be rendered, or a response not be used.

use std::error::Error;
use std::fmt;

use tokenline_core::Diagnostic;
use tokenline_core::json::DeserializeError;

use crate::ResponseType;
use crate::template::Fault;

/// Why a prompt could not be rendered, or its response not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptError {
    /// There is no prompt of this id.
    UnknownPrompt(UnknownPrompt),
    /// A template could not be rendered: a term is undefined, or not of the kind it should be.
    Render(RenderError),
    /// The response to a `json` prompt holds no JSON, or breaks the schema.
    Response(JsonResponseError),
    /// The response to this prompt is not a stream of objects.
    NotStreamed {
        /// The prompt.
        id: String,
        /// What its response is.
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
                "the response to the prompt {id:?} is {response_type}, and no stream of objects, \
                 which only that of a jsonl prompt is; invoke it without a stream"
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

/// Why an invocation came to nothing: the prompt, the model, or the response.
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
            Self::Llm(_) => f.write_str("the model gave no response"),
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

/// There is no prompt of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPrompt {
    id: String,
    similar: Option<String>,
}

impl UnknownPrompt {
    pub(crate) fn new<'a>(id: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { id: id.to_owned(), similar: similar(id, known).map(str::to_owned) }
    }

    /// The id that was asked for.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// An id that there is, and that is much like it.
    #[must_use]
    pub fn similar(&self) -> Option<&str> {
        self.similar.as_deref()
    }
}

impl fmt::Display for UnknownPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no prompt {:?}", self.id)?;
        match &self.similar {
            Some(similar) => write!(f, "; is it {similar:?}?"),
            None => Ok(()),
        }
    }
}

impl Error for UnknownPrompt {}

/// The one that a name was probably meant to be.
pub(crate) fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|other| (strsim::jaro_winkler(name, other), other));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(score, _)| *score > 0.85).map(|(_, other)| other)
}

/// A template could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    key: String,
    fault: Box<Fault>,
}

impl RenderError {
    pub(crate) fn new(key: &str, fault: Fault) -> Self {
        Self { key: key.to_owned(), fault: Box::new(fault) }
    }

    /// The key of the template in the configuration, such as `template.extract-topics` or `system`;
    /// `input` if there are no terms in it.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The term that is undefined, if that is what is wrong: `text`, `schema.name`.
    #[must_use]
    pub fn term(&self) -> Option<&str> {
        self.fault.term.as_deref()
    }

    /// The line of the template, and the byte in that line, both counted from 1.
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

/// What is wrong with the response to a `json` prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonResponseErrorKind {
    /// There is no whole JSON value in it: `{"entity":"DN`.
    JsonParse,
    /// The value breaks the schema: `{"entity":7}`.
    SchemaValidation,
}

/// The response to a `json` prompt holds no JSON, or breaks the schema.
///
/// Private by design: it names places, kinds and rules, never what the response says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonResponseError(Box<Finding>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    kind: JsonResponseErrorKind,
    offset: usize,
    diagnostic: Diagnostic,
}

impl JsonResponseError {
    /// What is wrong with the response, at the line and column of the diagnostic.
    pub(crate) fn new(response: &str, kind: JsonResponseErrorKind, diagnostic: Diagnostic) -> Self {
        let text = response.strip_prefix('\u{feff}').unwrap_or(response);
        let lines = text.split_inclusive('\n').take(diagnostic.line as usize - 1);
        let offset = response.len() - text.len() + lines.map(str::len).sum::<usize>();
        let offset = offset + diagnostic.column as usize - 1;
        Self(Box::new(Finding { kind, offset, diagnostic }))
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> JsonResponseErrorKind {
        self.0.kind
    }

    /// Bytes from the start of the response to the fault.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The finding: its code, the line and column of the fault, the span of the value, and where a schema is broken,
    /// the paths into the value and the schema.
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

/// Why a [`Response`](crate::Response) could not be taken as what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TakeError {
    /// It is of another type.
    Type {
        /// What was asked for.
        expected: ResponseType,
        /// What it is.
        found: ResponseType,
    },
    /// The value does not fit the type.
    Deserialize(DeserializeError),
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, found } => {
                write!(f, "the response is {found}, as its prompt says, and not {expected}")
            }
            Self::Deserialize(_) => f.write_str("the response does not fit the type"),
        }
    }
}

impl Error for TakeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Type { .. } => None,
            Self::Deserialize(error) => Some(error),
        }
    }
}
