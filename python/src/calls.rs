//! The events of tool calls.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, Record, Recovered, Span};

use crate::events::{Finding, Reject, completion_of, names_of, recovered_of, repr, restored_from};
use crate::value::Builder;

/// A tool call, always complete.
#[pyclass(frozen, module = "tokenline")]
pub(crate) struct ToolCall {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    parameters: Py<PyAny>,
    #[pyo3(get)]
    raw_parameters: String,
    #[pyo3(get)]
    call_id: Option<String>,
    #[pyo3(get)]
    is_synthetic_id: bool,
    #[pyo3(get)]
    error: Option<Py<PyAny>>,
    completion: CompletedBy,
    recovered: Recovered,
    /// The record that it was, if it was written in a text.
    record: Option<Record<()>>,
    #[pyo3(get)]
    choice: u64,
    #[pyo3(get)]
    block: u64,
    #[pyo3(get)]
    number: Option<u64>,
}

impl ToolCall {
    pub(crate) fn new(
        py: Python<'_>,
        builder: &mut Builder,
        call: tokenline_core::ToolCall,
        record: Option<Record<()>>,
        (choice, block): (u64, u64),
        number: Option<u64>,
    ) -> PyResult<Self> {
        let tokenline_core::ToolCall {
            name,
            parameters,
            call_id,
            is_synthetic_id,
            error,
            completion,
            recovered,
            ..
        } = call;
        let mut build = |raw: &Raw| -> PyResult<Py<PyAny>> {
            Ok(raw.with_value(|value| builder.build(py, value))?.unbind())
        };
        Ok(Self {
            name,
            parameters: build(&parameters)?,
            raw_parameters: parameters.as_str().to_owned(),
            call_id,
            is_synthetic_id,
            error: error.as_ref().map(build).transpose()?,
            completion,
            recovered,
            record,
            choice,
            block,
            number,
        })
    }
}

/// Why something counts as complete, and what was recovered: the names, and the attempts.
type Evidence = (String, Vec<String>, u32);

fn names_of_evidence(completion: CompletedBy, recovered: Recovered) -> Evidence {
    let names = names_of(recovered).into_iter().map(str::to_owned).collect();
    (completion.as_str().to_owned(), names, recovered.attempts())
}

fn evidence_of((completion, recovered, attempts): &Evidence) -> PyResult<(CompletedBy, Recovered)> {
    let (completion, recovered) = (completion_of(completion)?, recovered_of(recovered)?);
    Ok((completion, if *attempts > 0 { recovered.with_attempts(*attempts) } else { recovered }))
}

#[pymethods]
impl ToolCall {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("name", "parameters", "call_id")
    }

    #[getter]
    fn completion<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, self.completion.as_str())
    }

    #[getter]
    fn recovered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, names_of(self.recovered))
    }

    #[getter]
    fn attempts(&self) -> u32 {
        self.recovered.attempts()
    }

    #[getter]
    fn line(&self) -> Option<u64> {
        Some(self.record?.line)
    }

    #[getter]
    fn column(&self) -> Option<u64> {
        Some(self.record?.column)
    }

    #[getter]
    fn start(&self) -> Option<u64> {
        Some(self.record?.span.start)
    }

    #[getter]
    fn end(&self) -> Option<u64> {
        Some(self.record?.span.end)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.as_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        let record = this.record.map(|record| {
            let evidence = names_of_evidence(record.completion, record.recovered);
            (record.line, record.column, record.span.start, record.span.end, evidence)
        });
        let call = (&this.name, &this.raw_parameters, &this.call_id, this.is_synthetic_id);
        let evidence = names_of_evidence(this.completion, this.recovered);
        let place = (this.choice, this.block, this.number);
        restored_from(slf, (call, &this.parameters, &this.error, evidence, record, place))
    }

    /// The call with these members.
    #[staticmethod]
    fn _restored(
        call: (String, String, Option<String>, bool),
        parameters: Py<PyAny>,
        error: Option<Py<PyAny>>,
        evidence: Evidence,
        record: Option<(u64, u64, u64, u64, Evidence)>,
        place: (u64, u64, Option<u64>),
    ) -> PyResult<Self> {
        let (name, raw_parameters, call_id, is_synthetic_id) = call;
        let (completion, recovered) = evidence_of(&evidence)?;
        let record = record.map(|(line, column, start, end, evidence)| -> PyResult<Record<()>> {
            let (completion, recovered) = evidence_of(&evidence)?;
            Ok(Record { value: (), line, column, span: Span::new(start, end), completion, recovered })
        });
        let (record, (choice, block, number)) = (record.transpose()?, place);
        Ok(Self {
            name,
            parameters,
            raw_parameters,
            call_id,
            is_synthetic_id,
            error,
            completion,
            recovered,
            record,
            choice,
            block,
            number,
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.parameters)?;
        visit.call(&self.error)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let members = |call: &Self| {
            (call.completion, call.recovered, call.record, call.choice, call.block, call.number)
        };
        let is_equal = self.name == other.name
            && self.call_id == other.call_id
            && members(self) == members(other)
            && self.raw_parameters == other.raw_parameters
            && self.error.is_some() == other.error.is_some()
            && self.parameters.bind(py).eq(&other.parameters)?;
        Ok(is_equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }
}

/// A tool call that began and was not delivered.
#[pyclass(frozen, module = "tokenline", eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct RejectedCall {
    pub(crate) call: tokenline_core::RejectedCall,
    #[pyo3(get)]
    pub(crate) choice: u64,
    #[pyo3(get)]
    pub(crate) number: Option<u64>,
    #[pyo3(get)]
    pub(crate) block: u64,
}

impl RejectedCall {
    /// The same with the id and the place of another call.
    pub(crate) fn in_place_of(mut self, other: &Self) -> Self {
        self.call.call_id.clone_from(&other.call.call_id);
        self.call.is_synthetic_id = other.call.is_synthetic_id;
        Self { choice: other.choice, number: other.number, block: other.block, ..self }
    }
}

#[pymethods]
impl RejectedCall {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("name", "reject", "call_id")
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.call.name.as_deref()
    }

    #[getter]
    fn call_id(&self) -> Option<&str> {
        self.call.call_id.as_deref()
    }

    #[getter]
    fn is_synthetic_id(&self) -> bool {
        self.call.is_synthetic_id
    }

    #[getter]
    fn received(&self) -> &str {
        &self.call.received
    }

    #[getter]
    fn for_model(&self) -> String {
        self.call.diagnostic.for_model().to_string()
    }

    #[getter]
    fn reject(&self) -> Reject {
        let diagnostic = self.call.diagnostic.clone();
        Reject(Finding { diagnostic, choice: Some(self.choice), block: self.block, text: None })
    }

    fn __str__(&self) -> String {
        self.call.to_string()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.as_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        let call = (&this.call.name, &this.call.call_id, this.call.is_synthetic_id, &this.call.received);
        restored_from(slf, (call, this.reject(), (this.choice, this.block, this.number)))
    }

    /// The rejected call with these members.
    #[staticmethod]
    fn _restored(
        call: (Option<String>, Option<String>, bool, String),
        reject: &Bound<'_, Reject>,
        place: (u64, u64, Option<u64>),
    ) -> Self {
        let (name, call_id, is_synthetic_id, received) = call;
        let mut call = tokenline_core::RejectedCall::new(reject.get().0.diagnostic.clone(), received);
        (call.name, call.call_id, call.is_synthetic_id) = (name, call_id, is_synthetic_id);
        let (choice, block, number) = place;
        Self { call, choice, number, block }
    }
}
