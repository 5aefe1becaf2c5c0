//! `ConversationChecker`: single lines of files of conversations, for engines that split a dataset over machines.

use std::fmt;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tokenline_conversations::{LineChecker, LineError, Profile};

/// Checks lines. `validate_conversations` counts them, and finds duplicate ids.
#[pyclass(module = "tokenline._tokenline")]
pub(crate) struct ConversationChecker(LineChecker);

/// Code, rule, message, instance path and column of an error.
type Error = (&'static str, String, String, String, u64);
/// Hash and column of the id, hash of the user's id, messages.
type Facts<'py> = (Bound<'py, PyBytes>, u64, Bound<'py, PyBytes>, u64);
/// The error, the error of the same line without a line feed, and the facts.
type Checked<'py> = (Option<Error>, Option<Error>, Option<Facts<'py>>);

#[pymethods]
impl ConversationChecker {
    #[new]
    fn new(profile: &str, key: [u8; 16]) -> PyResult<Self> {
        let profile = match profile {
            "open" => Profile::Open,
            "strict" => Profile::Strict,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "`profile` is \"open\" or \"strict\", not {profile:?}"
                )));
            }
        };
        Ok(Self(LineChecker::new(profile, u128::from_le_bytes(key))))
    }

    /// For each line, given without its line feed, two errors or facts; nothing if it is blank. The second error is that
    /// of the last line of a file without a line feed, which may have been cut off.
    fn check<'py>(&mut self, py: Python<'py>, lines: Vec<PyBackedBytes>) -> Vec<Checked<'py>> {
        let checker = &mut self.0;
        let mut ended = Vec::new();
        let checked: Vec<_> = py.detach(|| {
            let check = |line: &PyBackedBytes| {
                ended.clear();
                ended.extend_from_slice(line);
                ended.push(b'\n');
                let result = checker.check(&ended, false)?;
                Some(result.map_err(|error| (error, checker.check(line, false).and_then(Result::err))))
            };
            lines.iter().map(check).collect()
        });
        let results = checked.into_iter().map(|result| match result {
            None => (None, None, None),
            Some(Err((error, at_end))) => {
                (Some(error_parts(*error)), at_end.map(|error| error_parts(*error)), None)
            }
            Some(Ok(facts)) => {
                let hash = |hash: u128| PyBytes::new(py, &hash.to_le_bytes());
                let (id, user) = (hash(facts.conversation_id), hash(facts.user_id));
                (None, None, Some((id, facts.id_column, user, facts.message_count)))
            }
        });
        results.collect()
    }
}

fn error_parts(error: LineError) -> Error {
    (error.code.as_str(), error.rule, error.message, error.instance_path, error.column)
}

impl fmt::Debug for ConversationChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
