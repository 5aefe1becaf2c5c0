//! The report of a stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tokenline_core::adapter::ReportParts;
use tokenline_core::syntax_repair::EditKind;
use tokenline_core::{Code, Diagnostic, EarlyEnd, Origin, Reasks, Span};

use crate::errors::unknown;
use crate::events::{self, Finding, IntoNamed as _, Note, Reject};

/// Counts of what was delivered and rejected, with the first rejects.
#[pyclass(frozen, module = "tokenline", eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct Report {
    counts: tokenline_core::Report,
    texts: Texts,
}

/// The texts of kept rejects, by the places of these, in their order.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Texts(Arc<Vec<(Place, Arc<str>)>>);

type Place = (Code, Origin, u64, Span);

fn place(diagnostic: &Diagnostic) -> Place {
    (diagnostic.code, diagnostic.origin, diagnostic.line, diagnostic.span)
}

impl Texts {
    /// Keeps the text of a reject, up to a number of them.
    pub(crate) fn add(&mut self, diagnostic: &Diagnostic, text: &Arc<str>, at_most: usize) {
        if self.0.len() < at_most {
            Arc::make_mut(&mut self.0).push((place(diagnostic), Arc::clone(text)));
        }
    }
}

impl From<tokenline_core::Report> for Report {
    fn from(counts: tokenline_core::Report) -> Self {
        Self { counts, texts: Texts::default() }
    }
}

impl Report {
    pub(crate) fn with_texts(self, texts: Texts) -> Self {
        Self { texts, ..self }
    }

    /// The findings of the kept diagnostics that fit, with the texts of rejects.
    fn findings(&self, fits: impl Fn(&Diagnostic) -> bool) -> impl Iterator<Item = Finding> {
        let mut texts = self.texts.0.iter();
        self.counts.diagnostics().iter().filter(move |diagnostic| fits(diagnostic)).map(move |diagnostic| {
            let mut rest = texts.clone();
            let found = rest.find(|(of, _)| *of == place(diagnostic));
            if found.is_some() {
                texts = rest;
            }
            let text = found.map(|(_, text)| Arc::clone(text));
            Finding { text, ..Finding::from(diagnostic.clone()) }
        })
    }
}

/// An object as HTML, by the function of this name in `tokenline._html`.
pub(crate) fn html(object: &Bound<'_, PyAny>, function: &str) -> PyResult<String> {
    object.py().import("tokenline._html")?.call_method1(function, (object,))?.extract()
}

fn counts<K: Ord + Copy>(
    argument: &str,
    counts: BTreeMap<String, u64>,
    all: &[K],
    name: impl Fn(K) -> &'static str,
) -> PyResult<BTreeMap<K, u64>> {
    let known = |given: &str| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        let found = all.iter().copied().find(|one| name(*one) == given);
        found.ok_or_else(|| unknown(argument, given, &names))
    };
    counts.into_iter().map(|(given, count)| Ok((known(&given)?, count))).collect()
}

/// Counts by their names, in the order of the codes.
fn names<'py, K: Copy>(
    py: Python<'py>,
    counts: &BTreeMap<K, u64>,
    name: impl Fn(K) -> &'static str,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (one, count) in counts {
        dict.set_item(name(*one), count)?;
    }
    Ok(dict)
}

#[pymethods]
impl Report {
    /// Whether the source was read to its own end.
    #[getter]
    fn complete(&self) -> bool {
        self.counts.is_complete()
    }

    /// Why the stream ended before its source.
    #[getter]
    fn ended_by(&self) -> Option<&'static str> {
        self.counts.ended_by().map(EarlyEnd::as_str)
    }

    #[getter]
    fn records(&self) -> u64 {
        self.counts.records()
    }

    #[getter]
    fn tool_calls(&self) -> u64 {
        self.counts.tool_calls()
    }

    #[getter]
    fn rejected(&self) -> u64 {
        self.counts.rejected()
    }

    /// Notes that something may be missing.
    #[getter]
    fn warnings(&self) -> u64 {
        self.counts.warnings()
    }

    #[getter]
    fn notes(&self) -> u64 {
        self.counts.notes()
    }

    /// How many records and calls were delivered after a repair of their syntax.
    #[getter]
    fn repaired(&self) -> u64 {
        self.counts.repaired()
    }

    #[getter]
    fn repaired_by_edit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        names(py, self.counts.by_edit(), EditKind::as_str)
    }

    /// How many rejects and notes there were of each code.
    #[getter]
    fn by_code<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        names(py, self.counts.by_code(), Code::as_str)
    }

    /// The rejects that were kept, in the order of the input.
    #[getter]
    fn rejects(&self) -> Vec<Reject> {
        self.findings(events::is_reject).map(Reject).collect()
    }

    /// The notes that were kept, in the order of the input.
    #[getter]
    fn kept_notes(&self) -> Vec<Note> {
        self.findings(|diagnostic| !events::is_reject(diagnostic)).map(Note).collect()
    }

    /// Counts of the rejects asked for again.
    #[getter]
    fn reasked<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reasks = self.counts.reasks();
        [("asked", reasks.asked), ("requests", reasks.requests), ("delivered", reasks.delivered)]
            .into_py_dict_of(py)
    }

    /// How many rejects and notes were counted, but not kept.
    #[getter]
    fn dropped(&self) -> u64 {
        self.counts.dropped()
    }

    /// The report as the program writes it with `--report-json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    fn to_json(&self) -> String {
        serde_json::to_string(&self.counts).expect("a report is JSON")
    }

    fn __repr__(&self) -> String {
        let report = &self.counts;
        format!(
            "Report(records={}, tool_calls={}, rejected={}, notes={}, complete={})",
            report.records(),
            report.tool_calls(),
            report.rejected(),
            report.notes(),
            if report.is_complete() { "True" } else { "False" }
        )
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        html(slf.as_any(), "report")
    }

    /// All that a report has, for `pickle` and `copy`.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let parts = ReportParts::from(this.counts.clone());
        let state = PyDict::new(py);
        state.set_item("records", parts.records)?;
        state.set_item("tool_calls", parts.tool_calls)?;
        state.set_item("repaired", parts.repaired)?;
        let Reasks { asked, delivered, requests, input_tokens, output_tokens, .. } = parts.reasks;
        state.set_item("reasks", (asked, delivered, requests, input_tokens, output_tokens))?;
        state.set_item("by_edit", names(py, &parts.by_edit, EditKind::as_str)?)?;
        state.set_item("by_code", names(py, &parts.by_code, Code::as_str)?)?;
        state.set_item("wire_by_code", names(py, &parts.wire_by_code, Code::as_str)?)?;
        state.set_item("dropped", parts.dropped)?;
        state.set_item("capacity", parts.capacity)?;
        state.set_item("complete", parts.complete)?;
        state.set_item("ended_by", parts.ended_by.map(EarlyEnd::as_str))?;
        let kept = this.findings(|_| true).map(|finding| events::finding(py, finding));
        state.set_item("diagnostics", PyList::new(py, kept.collect::<PyResult<Vec<_>>>()?)?)?;
        let restore = py.import("tokenline._html")?.getattr("restored_report")?;
        Ok((restore, (state,)).into_pyobject(py)?.into_any())
    }

    /// The report with this state.
    #[staticmethod]
    fn _restored(state: &Bound<'_, PyDict>) -> PyResult<Self> {
        let member = |name: &str| {
            let missing = || PyTypeError::new_err(format!("a report has no `{name}`"));
            state.get_item(name)?.ok_or_else(missing)
        };
        let (asked, delivered, requests, input_tokens, output_tokens) = member("reasks")?.extract()?;
        let mut reasks = Reasks::default();
        (reasks.asked, reasks.delivered, reasks.requests) = (asked, delivered, requests);
        (reasks.input_tokens, reasks.output_tokens) = (input_tokens, output_tokens);
        let ended_by = member("ended_by")?.extract::<Option<String>>()?;
        let ended_by = ended_by.map(|name| -> PyResult<EarlyEnd> {
            let all: Vec<&str> = EarlyEnd::ALL.iter().map(|end| end.as_str()).collect();
            let found = EarlyEnd::ALL.iter().copied().find(|end| end.as_str() == name);
            found.ok_or_else(|| unknown("ended_by", &name, &all))
        });
        let (mut diagnostics, mut texts) = (Vec::new(), Texts::default());
        for event in member("diagnostics")?.try_iter()? {
            let event = event?;
            let wrong = || PyTypeError::new_err("`diagnostics` are rejects and notes");
            let finding = events::finding_of(&event).ok_or_else(wrong)?;
            if let Some(text) = &finding.text {
                texts.add(&finding.diagnostic, text, usize::MAX);
            }
            diagnostics.push(finding.diagnostic.clone());
        }
        let codes = |name: &str| counts(name, member(name)?.extract()?, Code::ALL, Code::as_str);
        let parts = ReportParts {
            records: member("records")?.extract()?,
            tool_calls: member("tool_calls")?.extract()?,
            repaired: member("repaired")?.extract()?,
            reasks,
            by_edit: counts("by_edit", member("by_edit")?.extract()?, EditKind::ALL, EditKind::as_str)?,
            by_code: codes("by_code")?,
            wire_by_code: codes("wire_by_code")?,
            diagnostics,
            dropped: member("dropped")?.extract()?,
            capacity: member("capacity")?.extract()?,
            complete: member("complete")?.extract()?,
            ended_by: ended_by.transpose()?,
        };
        Ok(Self::from(tokenline_core::Report::from(parts)).with_texts(texts))
    }
}
