//! Why an import cannot go on.

use std::fmt;
use std::io;

/// Why an import cannot go on. Rows that cannot be imported are [rejected](crate::ImportReject) instead.
#[derive(Debug)]
pub struct ImportError {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The mapping is not valid, or does not fit the source.
    Mapping,
    /// The source cannot be read. What was read before stays imported.
    Source,
    /// The output, the rejects, the checkpoint or a temporary file cannot be written.
    Output,
    /// The import was stopped.
    Interrupted,
}

impl ImportError {
    /// The mapping is not valid, or does not fit the source.
    pub fn mapping(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Mapping, message: message.into(), source: None }
    }

    /// The source cannot be read.
    pub fn source(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Source, message: message.into(), source: None }
    }

    /// Something cannot be written.
    pub(crate) fn output(what: &str, error: io::Error) -> Self {
        let message = format!("cannot write {what}: {error}");
        Self { kind: ErrorKind::Output, message, source: Some(error.into()) }
    }

    pub(crate) fn unreadable(name: &str, error: io::Error) -> Self {
        let message = format!("cannot read {name}: {error}");
        Self { kind: ErrorKind::Source, message, source: Some(error.into()) }
    }

    pub(crate) fn interrupted() -> Self {
        Self { kind: ErrorKind::Interrupted, message: "interrupted".to_owned(), source: None }
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ImportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|error| error as _)
    }
}
