//! The report of a stream.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::events::{Finding, IntoNamed as _, Note, Reject};

/// Counts of what was delivered and rejected, with the first rejects.
#[pyclass(frozen, module = "tokenline")]
pub(crate) struct Report(pub(crate) tokenline_core::Report);

#[pymethods]
impl Report {
    /// Whether the source was read to its own end.
    #[getter]
    fn complete(&self) -> bool {
        self.0.is_complete()
    }

    #[getter]
    fn records(&self) -> u64 {
        self.0.records()
    }

    #[getter]
    fn tool_calls(&self) -> u64 {
        self.0.tool_calls()
    }

    #[getter]
    fn rejected(&self) -> u64 {
        self.0.rejected()
    }

    #[getter]
    fn notes(&self) -> u64 {
        self.0.notes()
    }

    /// How many rejects and notes there were of each code.
    #[getter]
    fn by_code<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (code, count) in self.0.by_code() {
            dict.set_item(code.as_str(), count)?;
        }
        Ok(dict)
    }

    /// The rejects that were kept, in the order of the input.
    #[getter]
    fn rejects(&self) -> Vec<Reject> {
        self.0.rejects().map(|diagnostic| Reject(Finding::from(diagnostic.clone()))).collect()
    }

    /// The notes that were kept, in the order of the input.
    #[getter]
    fn kept_notes(&self) -> Vec<Note> {
        let is_note = |diagnostic: &&tokenline_core::Diagnostic| diagnostic.code.is_note();
        self.0
            .diagnostics()
            .iter()
            .filter(is_note)
            .map(|diagnostic| Note(Finding::from(diagnostic.clone())))
            .collect()
    }

    /// Counts of the rejects asked for again.
    #[getter]
    fn reasked<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reasks = self.0.reasks();
        [("asked", reasks.asked), ("requests", reasks.requests), ("delivered", reasks.delivered)]
            .into_py_dict_of(py)
    }

    /// How many rejects and notes were counted, but not kept.
    #[getter]
    fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// The report as the program writes it with `--report-json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("a report is JSON")
    }

    fn __repr__(&self) -> String {
        let report = &self.0;
        format!(
            "Report(records={}, tool_calls={}, rejected={}, notes={}, complete={})",
            report.records(),
            report.tool_calls(),
            report.rejected(),
            report.notes(),
            if report.is_complete() { "True" } else { "False" }
        )
    }
}
