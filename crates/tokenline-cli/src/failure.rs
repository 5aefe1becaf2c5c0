//! The ways a command ends.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// The result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Success,
    /// The input is invalid.
    Rejected,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad usage, configuration or schema.
    Usage(String),
    /// An I/O or provider error, or an incomplete source.
    Source(String),
    /// The reader closed standard output.
    OutputClosed,
}

impl Failure {
    /// An I/O error during `action`.
    pub(crate) fn io(action: impl Display, error: &io::Error) -> Self {
        Self::Source(format!("{action}: {error}"))
    }

    /// Writing to standard output failed.
    #[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
    pub(crate) fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::io("cannot write to standard output", &error),
        }
    }

    /// An input file could not be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::io(format_args!("cannot read {}", path.display()), error)
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Usage(message) | Self::Source(message) => Some(message),
            Self::OutputClosed => None,
        }
    }

    /// The exit code. As with other filters, a closed output is not an error.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Source(_) => 3,
            Self::OutputClosed => 0,
        }
    }
}
