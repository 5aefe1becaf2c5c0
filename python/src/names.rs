//! The names of codes and modes, which the types of the package list.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tokenline_core::syntax_repair::EditKind;
use tokenline_core::{CallFormat, Code, CompletedBy, EarlyEnd, Origin, Recovery, Severity};
use tokenline_llm::Provider;

use crate::settings::{MODES, RELEASES, TEXT_MODES};

/// For each type in `tokenline._types` that lists names, the names that there are.
pub(crate) fn dict(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    fn of<T>(choices: &'static [(&'static str, T)]) -> Vec<&'static str> {
        choices.iter().map(|(name, _)| *name).collect()
    }
    let dict = PyDict::new(py);
    let severities = [Severity::Info, Severity::Warning, Severity::Error];
    let origins = [Origin::Text, Origin::Arguments, Origin::Wire];
    let lists: [(&str, Vec<&str>); 12] = [
        ("CallFormat", CallFormat::BUILT_IN.iter().map(CallFormat::as_str).collect()),
        ("Code", Code::ALL.iter().map(|code| code.as_str()).collect()),
        ("Completion", CompletedBy::ALL.iter().map(|completion| completion.as_str()).collect()),
        ("EditKind", EditKind::ALL.iter().map(|kind| kind.as_str()).collect()),
        ("EndedBy", EarlyEnd::ALL.iter().map(|end| end.as_str()).collect()),
        ("Mode", of(MODES)),
        ("Origin", origins.into_iter().map(Origin::as_str).collect()),
        ("Provider", Provider::ALL.iter().map(|provider| provider.as_str()).collect()),
        ("Recovery", Recovery::ALL.iter().map(|recovery| recovery.as_str()).collect()),
        ("Release", of(RELEASES)),
        ("Severity", severities.into_iter().map(Severity::as_str).collect()),
        ("TextAs", of(TEXT_MODES)),
    ];
    for (kind, names) in lists {
        dict.set_item(kind, PyTuple::new(py, names)?)?;
    }
    Ok(dict)
}
