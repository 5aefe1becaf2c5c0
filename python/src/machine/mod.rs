//! The machines under parsers and streams: bytes in, Python objects out.

mod asking;
mod calls;
mod response;
mod source;
mod text;

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{SourceEnd, Tally};

pub(crate) use asking::{Question, answer_of};
pub(crate) use calls::CallMachine;
pub(crate) use response::ResponseMachine;
pub(crate) use text::{Rules, TextMachine, with_value};

use crate::report::Report;
use crate::shared::Traverse;

/// The items that a machine yields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emit {
    /// Every event.
    Events,
    /// The values of records, or the tool calls. Rejects are counted.
    Values,
    /// The values, and an exception in place of the first reject.
    Strict,
}

impl Emit {
    pub(crate) fn values(strict: bool) -> Self {
        if strict { Self::Strict } else { Self::Values }
    }
}

/// What a machine has made of its input so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Something was a part of a response: a piece of text or of a call, the usage, or a finish reason.
    pub(crate) is_understood: bool,
    /// Something was not known.
    pub(crate) has_unknown: bool,
}

/// A machine: bytes in, Python objects out.
pub(crate) trait Machine: Send + Traverse {
    /// Adds bytes.
    fn push(&mut self, py: Python<'_>, chunk: &[u8]);

    /// Ends the input.
    fn finish(&mut self, end: SourceEnd);

    /// The next object. `None` if more bytes are needed, or after the end.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>>;

    /// Takes the answer to a question that it yielded. Returns the object in place of the reject, if there is one, or
    /// another question.
    fn answer(&mut self, _: Python<'_>, _: &Question, _: Option<String>) -> PyResult<Option<Py<PyAny>>> {
        Ok(None)
    }

    fn tally(&mut self, py: Python<'_>) -> &Tally;

    /// The counts and the first rejects so far.
    fn report(&mut self, py: Python<'_>) -> Report {
        Report::from(self.tally(py).report().clone())
    }

    /// What the response is so far. A text has no such thing.
    fn progress(&self) -> Progress {
        Progress::default()
    }

    /// Whether the input contained its own end, so that a source that fails after it loses no data.
    fn is_terminated(&self) -> bool {
        false
    }

    /// Whether nothing can follow, so that the source need not be read on.
    fn expects_nothing(&self) -> bool {
        false
    }
}

/// Handles a reject or a note by what is asked for: an object to yield, an exception, or nothing.
fn diagnostic(py: Python<'_>, emit: Emit, finding: crate::events::Finding) -> PyResult<Option<Py<PyAny>>> {
    let is_reject = crate::events::is_reject(&finding.diagnostic);
    match emit {
        Emit::Events => crate::events::finding(py, finding).map(Some),
        Emit::Strict if is_reject => {
            let reject = crate::events::finding(py, finding)?;
            Err(crate::errors::rejected(py, reject.into_bound(py)))
        }
        Emit::Values | Emit::Strict => Ok(None),
    }
}

impl Traverse for Box<dyn Machine> {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.as_ref().traverse(visit)
    }
}
