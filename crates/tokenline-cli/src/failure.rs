//! How a command can end.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// A command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// It judges, and something was rejected.
    Rejected,
}

/// A command that could not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Usage, configuration or a schema is at fault.
    Usage(String),
    /// Input or output, a provider, or an incomplete source is at fault.
    Source(String),
    /// Nobody reads the output any more.
    OutputClosed,
}

impl Failure {
    /// Input or output failed while doing this.
    pub(crate) fn io(doing: impl Display, error: &io::Error) -> Self {
        Self::Source(format!("{doing}: {error}"))
    }

    /// Standard output failed.
    #[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
    pub(crate) fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::io("cannot write to standard output", &error),
        }
    }

    /// A file that was named on the command line could not be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::io(format_args!("cannot read {}", path.display()), error)
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Usage(message) | Self::Source(message) => Some(message),
            Self::OutputClosed => None,
        }
    }

    /// The exit code. Like other filters, end well when the reader has seen enough.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Source(_) => 3,
            Self::OutputClosed => 0,
        }
    }
}
