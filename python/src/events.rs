//! The events of a text: records, rejects and notes.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::json::Value;
use tokenline_core::{Code, CompletedBy, Diagnostic, Origin, Recovered, Recovery, Span};

use crate::errors::unknown;

pub(crate) fn completion_of(name: &str) -> PyResult<CompletedBy> {
    let allowed: Vec<&str> = CompletedBy::ALL.iter().map(|completion| completion.as_str()).collect();
    CompletedBy::from_name(name).ok_or_else(|| unknown("completion", name, &allowed))
}

pub(crate) fn recovered_of(names: &[String]) -> PyResult<Recovered> {
    names.iter().try_fold(Recovered::NONE, |recovered, name| {
        let allowed: Vec<&str> = Recovery::ALL.iter().map(|recovery| recovery.as_str()).collect();
        let recovery = Recovery::from_name(name).ok_or_else(|| unknown("recovered", name, &allowed))?;
        Ok(recovered.with(recovery))
    })
}

pub(crate) fn names_of(recovered: Recovered) -> Vec<&'static str> {
    recovered.iter().map(Recovery::as_str).collect()
}

/// `Class(name=value, ...)` of the attributes in `__match_args__`.
pub(crate) fn repr(this: &Bound<'_, PyAny>) -> PyResult<String> {
    let class = this.get_type();
    let names = class.getattr("__match_args__")?.cast_into::<PyTuple>()?;
    let mut members = Vec::with_capacity(names.len());
    for name in names {
        let name = name.cast_into::<PyString>()?;
        members.push(format!("{name}={}", this.getattr(&name)?.repr()?));
    }
    Ok(format!("{}({})", class.name()?, members.join(", ")))
}

/// A record: a complete JSON object of the text.
#[pyclass(frozen, module = "tokenline", generic)]
pub(crate) struct Record {
    #[pyo3(get)]
    pub(crate) value: Py<PyAny>,
    #[pyo3(get)]
    pub(crate) line: u64,
    #[pyo3(get)]
    pub(crate) column: u64,
    pub(crate) span: Span,
    pub(crate) completion: CompletedBy,
    pub(crate) recovered: Recovered,
    pub(crate) raw: Box<str>,
    #[pyo3(get)]
    pub(crate) choice: u64,
    #[pyo3(get)]
    pub(crate) block: u64,
}

impl Record {
    /// The record with its Python value, in a text of its own.
    pub(crate) fn new(record: &tokenline_core::Record<Value<'_>>, value: Py<PyAny>) -> Self {
        Self::with_raw(&record.map(|_| ()), value, record.value.raw().into(), 0, 0)
    }

    pub(crate) fn with_raw(
        record: &tokenline_core::Record<()>,
        value: Py<PyAny>,
        raw: Box<str>,
        choice: u64,
        block: u64,
    ) -> Self {
        let tokenline_core::Record { line, column, span, completion, recovered, .. } = *record;
        Self { value, line, column, span, completion, recovered, raw, choice, block }
    }
}

#[pymethods]
impl Record {
    #[new]
    #[pyo3(signature = (value, line, start, end, completion, recovered=Vec::new(), raw=String::new(), *, column=1, choice=0, block=0, attempts=0))]
    #[expect(clippy::too_many_arguments, reason = "the attributes of the class")]
    fn py_new(
        value: Py<PyAny>,
        line: u64,
        start: u64,
        end: u64,
        completion: &str,
        recovered: Vec<String>,
        raw: String,
        column: u64,
        choice: u64,
        block: u64,
        attempts: u32,
    ) -> PyResult<Self> {
        let (completion, mut recovered) = (completion_of(completion)?, recovered_of(&recovered)?);
        if attempts > 0 {
            recovered = recovered.with_attempts(attempts);
        }
        let (span, raw) = (Span::new(start, end), raw.into());
        Ok(Self { value, line, column, span, completion, recovered, raw, choice, block })
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str, &'static str) {
        ("value", "line", "start", "end", "completion")
    }

    #[getter]
    fn start(&self) -> u64 {
        self.span.start
    }

    #[getter]
    fn end(&self) -> u64 {
        self.span.end
    }

    #[getter]
    fn raw(&self) -> &str {
        &self.raw
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

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.as_any())
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let members = |record: &Self| {
            (
                record.line,
                record.column,
                record.span,
                record.completion,
                record.recovered,
                record.choice,
                record.block,
            )
        };
        let is_equal = members(self) == members(other)
            && self.raw == other.raw
            && self.value.bind(py).eq(&other.value)?;
        Ok(is_equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.value)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let arguments = (
            &this.value,
            this.line,
            this.span.start,
            this.span.end,
            this.completion.as_str(),
            names_of(this.recovered),
            &*this.raw,
        );
        let attempts = u64::from(this.recovered.attempts());
        let named =
            [("column", this.column), ("choice", this.choice), ("block", this.block), ("attempts", attempts)];
        reduce(&slf.get_type(), arguments.into_pyobject(py)?, named.into_py_dict_of(py)?)
    }
}

/// Turns pairs into keyword arguments.
pub(crate) trait IntoNamed<'py> {
    fn into_py_dict_of(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>>;
}

impl<'py, V: IntoPyObject<'py>, const N: usize> IntoNamed<'py> for [(&str, V); N] {
    fn into_py_dict_of(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }
}

/// The result of `__reduce__` for a class that is called with positional and named arguments.
pub(crate) fn reduce<'py>(
    class: &Bound<'py, PyType>,
    arguments: Bound<'py, PyTuple>,
    named: Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let partial = py.import("functools")?.getattr("partial")?.call((class,), Some(&named))?;
    Ok((partial, arguments).into_pyobject(py)?.into_any())
}

/// The result of `__reduce__` for a class without a constructor: its `_restored` takes the members.
pub(crate) fn restored_from<'py, T>(
    this: &Bound<'py, T>,
    members: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = this.py();
    let restored = py.import("tokenline._html")?.getattr("restored")?;
    Ok((restored, (this.as_any().get_type(), members)).into_pyobject(py)?.into_any())
}

/// The common part of a reject and a note.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) diagnostic: Diagnostic,
    pub(crate) choice: Option<u64>,
    pub(crate) block: u64,
    /// The rejected text, if it was kept.
    pub(crate) text: Option<Arc<str>>,
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostic, choice: None, block: 0, text: None }
    }
}

fn code_of(name: &str) -> PyResult<Code> {
    let allowed: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    Code::from_name(name).ok_or_else(|| unknown("code", name, &allowed))
}

fn origin_of(name: &str) -> PyResult<Origin> {
    let all = [Origin::Text, Origin::Arguments, Origin::Wire];
    let found = all.into_iter().find(|origin| origin.as_str() == name);
    found.ok_or_else(|| unknown("origin", name, &all.map(Origin::as_str)))
}

/// A class of findings, with members that only this class has: each with its default, and what sets it.
macro_rules! finding {
    ($name:ident { $($own:ident: $type:ty = $default:expr => $set:expr,)* } $($methods:tt)*) => {
        #[pyclass(frozen, module = "tokenline")]
        pub(crate) struct $name(pub(crate) Finding);

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (code, line, column, start, end, message, *, instance_path=None, schema_path=None, origin="text", choice=None, block=0 $(, $own=$default)*))]
            #[expect(clippy::too_many_arguments, reason = "the attributes of the class")]
            fn py_new(
                code: &str,
                line: u64,
                column: u64,
                start: u64,
                end: u64,
                message: &str,
                instance_path: Option<String>,
                schema_path: Option<String>,
                origin: &str,
                choice: Option<u64>,
                block: u64,
                $($own: $type,)*
            ) -> PyResult<Self> {
                let (code, origin) = (code_of(code)?, origin_of(origin)?);
                let diagnostic = Diagnostic::new(code, line, Span::new(start, end), column, message);
                let mut diagnostic = diagnostic.with_origin(origin);
                (diagnostic.instance_path, diagnostic.schema_path) = (instance_path, schema_path);
                let finding = Finding { diagnostic, choice, block, text: None };
                $(let finding = ($set)(finding, $own);)*
                Ok(Self(finding))
            }

            $($methods)*

            #[classattr]
            fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str) {
                ("code", "line", "column", "start", "end", "message")
            }

            #[getter]
            fn code<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
                PyString::intern(py, self.0.diagnostic.code.as_str())
            }

            #[getter]
            fn severity(&self) -> &'static str {
                self.0.diagnostic.severity().as_str()
            }

            #[getter]
            fn line(&self) -> u64 {
                self.0.diagnostic.line
            }

            #[getter]
            fn column(&self) -> u64 {
                self.0.diagnostic.column
            }

            #[getter]
            fn start(&self) -> u64 {
                self.0.diagnostic.span.start
            }

            #[getter]
            fn end(&self) -> u64 {
                self.0.diagnostic.span.end
            }

            #[getter]
            fn message(&self) -> &str {
                &self.0.diagnostic.message
            }

            #[getter]
            fn instance_path(&self) -> Option<&str> {
                self.0.diagnostic.instance_path.as_deref()
            }

            #[getter]
            fn schema_path(&self) -> Option<&str> {
                self.0.diagnostic.schema_path.as_deref()
            }

            #[getter]
            fn origin(&self) -> &'static str {
                self.0.diagnostic.origin.as_str()
            }

            #[getter]
            fn choice(&self) -> Option<u64> {
                self.0.choice
            }

            #[getter]
            fn block(&self) -> u64 {
                self.0.block
            }

            fn __str__(&self) -> String {
                self.0.diagnostic.to_string()
            }

            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                repr(slf.as_any())
            }

            fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
                let is_equal = self.0 == other.get().0;
                Ok(is_equal.into_pyobject(py)?.to_owned().into_any().unbind())
            }

            fn __hash__(&self) -> u64 {
                let mut hasher = DefaultHasher::new();
                let Diagnostic { code, line, span, column, .. } = &self.0.diagnostic;
                (code, line, span, column, self.0.choice, self.0.block).hash(&mut hasher);
                hasher.finish()
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                let (py, Finding { diagnostic, choice, block, .. }) = (slf.py(), &slf.get().0);
                let Diagnostic { code, origin, line, span, column, message, .. } = diagnostic;
                let arguments = (code.as_str(), line, column, span.start, span.end, message).into_pyobject(py)?;
                let named = PyDict::new(py);
                named.set_item("instance_path", &diagnostic.instance_path)?;
                named.set_item("schema_path", &diagnostic.schema_path)?;
                named.set_item("origin", origin.as_str())?;
                named.set_item("choice", choice)?;
                named.set_item("block", block)?;
                $(named.set_item(stringify!($own), slf.getattr(stringify!($own))?)?;)*
                reduce(&slf.get_type(), arguments, named)
            }
        }
    };
}

finding!(Note {});

finding!(Reject {
    text: Option<String> = None => |finding: Finding, text: Option<String>| Finding { text: text.map(Into::into), ..finding },
    further: Vec<Py<Self>> = Vec::new() => |finding: Finding, further: Vec<Py<Self>>| {
        let further = further.iter().map(|further| further.get().0.diagnostic.clone()).collect();
        Finding { diagnostic: finding.diagnostic.with_further(further), ..finding }
    },
    attempts: Vec<String> = Vec::new() => |finding: Finding, attempts| {
        Finding { diagnostic: finding.diagnostic.with_attempts(attempts), ..finding }
    },
}
    #[getter]
    fn text(&self) -> Option<&str> {
        self.0.text.as_deref()
    }

    #[getter]
    fn for_model(&self) -> String {
        self.0.diagnostic.for_model().to_string()
    }

    #[getter]
    fn further<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Finding { diagnostic, choice, block, .. } = &self.0;
        let further = diagnostic.further().iter().map(|further| {
            Self(Finding { diagnostic: further.clone(), choice: *choice, block: *block, text: None })
        });
        PyTuple::new(py, further.collect::<Vec<_>>())
    }

    #[getter]
    fn attempts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.diagnostic.attempts())
    }
);

/// The reject or the note of a diagnostic.
pub(crate) fn finding(py: Python<'_>, finding: Finding) -> PyResult<Py<PyAny>> {
    Ok(if is_reject(&finding.diagnostic) {
        Reject(finding).into_pyobject(py)?.into_any().unbind()
    } else {
        Note(finding).into_pyobject(py)?.into_any().unbind()
    })
}

/// Whether a diagnostic is that of a reject; others are notes.
pub(crate) fn is_reject(diagnostic: &Diagnostic) -> bool {
    !matches!(diagnostic.severity(), tokenline_core::Severity::Info | tokenline_core::Severity::Warning)
}

/// The finding in an event, if it is a reject or a note.
pub(crate) fn finding_of<'a>(event: &'a Bound<'_, PyAny>) -> Option<&'a Finding> {
    let note = event.cast::<Note>().ok().map(|note| &note.get().0);
    note.or_else(|| event.cast::<Reject>().ok().map(|reject| &reject.get().0))
}
