//! The ways a command ends.

use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::interrupt;

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
    /// Ctrl-C or SIGTERM ended it.
    Interrupted(String),
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

    /// An input file could not be read, or only up to a signal.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        if interrupt::is_interrupted() {
            return Self::Interrupted(interrupt::INCOMPLETE.to_owned());
        }
        Self::io(format_args!("cannot read {}", path.display()), error)
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Usage(message) | Self::Source(message) | Self::Interrupted(message) => Some(message),
            Self::OutputClosed => None,
        }
    }

    /// The exit code. As with other filters, a closed output is not an error.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Source(_) => 3,
            Self::Interrupted(_) => interrupt::exit_code(),
            Self::OutputClosed => 0,
        }
    }
}
