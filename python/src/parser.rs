//! The push parsers: bytes in, events out.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::Reads;
use tokenline_core::adapter::SourceEnd;
use tokenline_llm::{Provider, TextMode};

use crate::bytes::bytes_of;
use crate::errors::unknown;
use crate::machine::{CallMachine, Emit, Machine, ResponseMachine, TextMachine};
use crate::report::Report;
use crate::settings::{self, Settings};
use crate::shared::{Shared, Traverse};

/// The provider of this name.
pub(crate) fn provider(name: &Bound<'_, PyAny>) -> PyResult<Provider> {
    let name = &*settings::text("provider", name)?;
    let allowed: Vec<&str> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
    Provider::from_name(name).ok_or_else(|| unknown("provider", name, &allowed))
}

/// Parses records from text that arrives in chunks.
#[pyclass(frozen, module = "tokenline", generic)]
pub(crate) struct JsonlParser(Shared<Text>);

/// The machine under a parser of text.
#[expect(clippy::large_enum_variant, reason = "one for each parser")]
enum Text {
    Fast(TextMachine),
    /// With the texts of rejects.
    Full(ResponseMachine),
}

impl Text {
    fn machine(&mut self) -> &mut dyn Machine {
        match self {
            Self::Fast(machine) => machine,
            Self::Full(machine) => machine,
        }
    }
}

impl Traverse for Text {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::Fast(machine) => machine.traverse(visit),
            Self::Full(machine) => machine.traverse(visit),
        }
    }
}

#[pymethods]
impl JsonlParser {
    #[new]
    #[pyo3(signature = (**settings))]
    #[pyo3(
        text_signature = "(*, mode='lenient', schema=None, model=None, items=None, release='confirmed', in_reasoning=False, all_violations=False, show_names=False, show_values=False, line_bytes=8388608, depth=127, pattern_steps=1000000, diagnostics=1000)"
    )]
    fn py_new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let allowed = [settings::PARSER, settings::RECORDS, settings::SHOW];
        let settings = Settings::new("JsonlParser", settings, &allowed)?;
        Ok(Self(Shared::new(if settings.needs_text_parser() {
            Text::Full(ResponseMachine::of_text(settings, Emit::Events, Reads::Records))
        } else {
            Text::Fast(TextMachine::new(settings, Emit::Events))
        })))
    }

    fn push(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut machine = self.0.lock(py)?;
        bytes_of("chunk", chunk, |bytes| machine.machine().push(py, bytes))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.0.lock(py)?.machine().finish(SourceEnd::Clean);
        Ok(())
    }

    /// Starts over with another text, with the same settings.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        match &mut *self.0.lock(py)? {
            Text::Fast(machine) => machine.reset(),
            Text::Full(machine) => machine.reset(),
        }
        Ok(())
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(self.0.lock(py)?.machine().report(py))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.lock(py)?.machine().next(py)
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
    use settings::{CALLS, PARSER, RECORDS, RESPONSE, SHOW, STREAM, STRICT};
    Ok(match (kind, provider_name) {
        ("records", provider_name) => {
            let settings = Settings::new("records", settings, &[PARSER, RECORDS, STRICT, STREAM, SHOW])?;
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
            let settings =
                Settings::new("responses", settings, &[PARSER, RECORDS, CALLS, RESPONSE, STREAM, SHOW])?;
            let text_as = settings.text_as_or_default();
            Box::new(ResponseMachine::new(provider, settings, text_as, Emit::Events))
        }
        ("responses", None) => return Err(PyTypeError::new_err("`provider` must be a str, not NoneType")),
        (_, provider_name) => {
            let mut settings = Settings::new("tool_calls", settings, &[PARSER, CALLS, STRICT, STREAM, SHOW])?;
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
        text_signature = "(provider, *, mode='lenient', schema=None, model=None, items=None, release='confirmed', in_reasoning=False, all_violations=False, show_names=False, show_values=False, tools=None, call_format=None, text_as=None, call_updates=False, line_bytes=8388608, depth=127, sse_line_bytes=16777216, sse_event_bytes=16777216, pattern_steps=1000000, diagnostics=1000)"
    )]
    fn py_new(provider: &Bound<'_, PyAny>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        use settings::{CALLS, PARSER, RECORDS, RESPONSE, SHOW, UPDATES};
        let provider = self::provider(provider)?;
        let allowed = [PARSER, RECORDS, CALLS, RESPONSE, SHOW, UPDATES];
        let settings = Settings::new("ResponseParser", settings, &allowed)?;
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

    /// The calls that are still being written, in the order in which they began.
    #[getter]
    fn open_calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let calls = self.0.lock(py)?.open_calls(py);
        let calls = calls.ok_or_else(|| PyValueError::new_err("`open_calls` needs call_updates=True"))?;
        PyTuple::new(py, calls)
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(self.0.lock(py)?.report(py))
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
