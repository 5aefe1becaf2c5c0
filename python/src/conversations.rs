//! `ConversationChecker`: single lines of files of conversations, for engines that split a dataset over machines.

use std::fmt;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tokenline_conversations::{LineChecker, Profile};

/// Checks lines. `validate_conversations` counts them, and finds duplicate ids.
#[pyclass(module = "tokenline._tokenline")]
pub(crate) struct ConversationChecker(LineChecker);

/// Code, rule, message, instance path and column of an error.
type Error = (&'static str, String, String, String, u64);
/// Hash and column of the id, hash of the user's id, messages.
type Facts<'py> = (Bound<'py, PyBytes>, u64, Bound<'py, PyBytes>, u64);

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

    /// For each line an error and `None`, or `None` and the facts; two times `None` if it is blank.
    fn check<'py>(
        &mut self,
        py: Python<'py>,
        lines: Vec<PyBackedBytes>,
    ) -> Vec<(Option<Error>, Option<Facts<'py>>)> {
        let checker = &mut self.0;
        let checked: Vec<_> = py.detach(|| lines.iter().map(|line| checker.check(line)).collect());
        let results = checked.into_iter().map(|result| match result {
            None => (None, None),
            Some(Err(error)) => (
                Some((error.code.as_str(), error.rule, error.message, error.instance_path, error.column)),
                None,
            ),
            Some(Ok(facts)) => {
                let hash = |hash: u128| PyBytes::new(py, &hash.to_le_bytes());
                let (id, user) = (hash(facts.conversation_id), hash(facts.user_id));
                (None, Some((id, facts.conversation_id_column, user, facts.message_count)))
            }
        });
        results.collect()
    }
}

impl fmt::Debug for ConversationChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
