//! The push parsers: bytes in, events out.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::Reads;
use tokenline_core::adapter::SourceEnd;
use tokenline_llm::{Provider, TextMode};

use crate::bytes::bytes_of;
use crate::errors::unknown;
use crate::machine::{CallMachine, Emit, Machine, ResponseMachine, TextMachine};
use crate::report::Report;
use crate::settings::{self, Settings};
use crate::shared::Shared;

/// The provider of this name.
pub(crate) fn provider(name: &Bound<'_, PyAny>) -> PyResult<Provider> {
    let name = &*settings::text("provider", name)?;
    let allowed: Vec<&str> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
    Provider::from_name(name).ok_or_else(|| unknown("provider", name, &allowed))
}

/// Parses records from text that arrives in chunks.
#[pyclass(frozen, module = "tokenline", generic)]
pub(crate) struct JsonlParser(Shared<TextMachine>);

#[pymethods]
impl JsonlParser {
    #[new]
    #[pyo3(signature = (**settings))]
    #[pyo3(
        text_signature = "(*, mode='lenient', schema=None, model=None, items=None, release='confirmed', line_bytes=8388608, depth=127, pattern_steps=1000000, diagnostics=1000)"
    )]
    fn py_new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let settings = Settings::new("JsonlParser", settings, &[settings::PARSER, settings::RECORDS])?;
        Ok(Self(Shared::new(TextMachine::new(settings, Emit::Events))))
    }

    fn push(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut machine = self.0.lock(py)?;
        bytes_of("chunk", chunk, |bytes| machine.push(py, bytes))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.0.lock(py)?.finish(SourceEnd::Clean);
        Ok(())
    }

    /// Starts over with another text, with the same settings.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.0.lock(py)?.reset();
        Ok(())
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(Report(self.0.lock(py)?.tally(py).report().clone()))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.lock(py)?.next(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}

/// Makes a machine from the keyword arguments of a stream.
pub(crate) fn machine(
    kind: &str,
    provider_name: Option<&Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Box<dyn Machine>> {
    use settings::{CALLS, PARSER, RECORDS, RESPONSE, STREAM, STRICT};
    Ok(match (kind, provider_name) {
        ("records", provider_name) => {
            let settings = Settings::new("records", settings, &[PARSER, RECORDS, STRICT, STREAM])?;
            let emit = Emit::values(settings.strict);
            match provider_name {
                None if settings.needs_text_parser() => {
                    Box::new(ResponseMachine::of_text(settings, emit, Reads::Records))
                }
                None => Box::new(TextMachine::new(settings, emit)),
                Some(name) => {
                    let provider = provider(name)?;
                    Box::new(ResponseMachine::new(provider, settings, TextMode::Records, emit))
                }
            }
        }
        ("responses", Some(name)) => {
            let provider = provider(name)?;
            let settings = Settings::new("responses", settings, &[PARSER, RECORDS, CALLS, RESPONSE, STREAM])?;
            let text_as = settings.text_as_or_default();
            Box::new(ResponseMachine::new(provider, settings, text_as, Emit::Events))
        }
        ("responses", None) => return Err(PyTypeError::new_err("`provider` must be a str, not NoneType")),
        (_, provider_name) => {
            let mut settings = Settings::new("tool_calls", settings, &[PARSER, CALLS, STRICT, STREAM])?;
            settings.call_format.get_or_insert_default();
            let emit = Emit::values(settings.strict);
            match provider_name {
                None if settings.needs_text_parser() => {
                    Box::new(ResponseMachine::of_text(settings, emit, Reads::ToolCalls))
                }
                None => Box::new(CallMachine::new(settings, emit)),
                Some(name) => {
                    let provider = provider(name)?;
                    Box::new(ResponseMachine::new(provider, settings, TextMode::ToolCalls, emit))
                }
            }
        }
    })
}

/// Parses a provider's response: the bytes of an HTTP body in, events out.
#[pyclass(frozen, module = "tokenline", generic)]
pub(crate) struct ResponseParser(Shared<ResponseMachine>);

#[pymethods]
impl ResponseParser {
    #[new]
    #[pyo3(signature = (provider, **settings))]
    #[pyo3(
        text_signature = "(provider, *, mode='lenient', schema=None, model=None, items=None, release='confirmed', tools=None, call_format=None, text_as=None, line_bytes=8388608, depth=127, sse_line_bytes=16777216, sse_event_bytes=16777216, pattern_steps=1000000, diagnostics=1000)"
    )]
    fn py_new(provider: &Bound<'_, PyAny>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        use settings::{CALLS, PARSER, RECORDS, RESPONSE};
        let provider = self::provider(provider)?;
        let settings = Settings::new("responses", settings, &[PARSER, RECORDS, CALLS, RESPONSE])?;
        let text_as = settings.text_as_or_default();
        let machine = ResponseMachine::new(provider, settings, text_as, Emit::Events);
        Ok(Self(Shared::new(machine)))
    }

    fn push(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut machine = self.0.lock(py)?;
        bytes_of("chunk", chunk, |bytes| machine.push(py, bytes))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.0.lock(py)?.finish(SourceEnd::Clean);
        Ok(())
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(Report(self.0.lock(py)?.tally(py).report().clone()))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.lock(py)?.next(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}
