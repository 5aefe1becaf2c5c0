//! The events of a provider's response.

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{CountAs, SourceEnd, StreamMachine as _, Tally};
use tokenline_core::json::Raw;
use tokenline_core::{Diagnostic, Record};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

use super::{Emit, Machine, Rules, diagnostic, with_value};
use crate::calls::{RejectedCall, ToolCall};
use crate::events::{self, Finding};
use crate::parts::{Finish, Reasoning, Refusal, Text, Usage};
use crate::schema::detached;
use crate::settings::Settings;
use crate::shared::Traverse;

/// A `ResponseParser`, its rules and its counts.
pub(crate) struct ResponseMachine {
    parser: ResponseParser<Raw>,
    /// Without a schema: the parser validates.
    rules: Rules,
    emit: Emit,
    tally: Tally,
    /// The record that was being built when the user interrupted it.
    interrupted: Option<ResponseEvent<Raw>>,
}

impl ResponseMachine {
    /// Yields all events with [`Emit::Events`], otherwise the tool calls.
    pub(crate) fn new(provider: Provider, settings: Settings, emit: Emit) -> Self {
        let Settings { mut options, schema, model, tools, call_format, text_as, .. } = settings;
        let reads_calls = emit != Emit::Events || tools.is_some() || call_format.is_some();
        let by_default = if reads_calls { TextMode::ToolCalls } else { TextMode::Records };
        let text_as = text_as.unwrap_or(by_default);
        if let Some(format) = call_format {
            options = options.calls(format);
        }
        let limits = options.limits;
        let tally = Tally::new(&limits);
        let mut options = ResponseOptions::from(options).text_as(text_as);
        if emit == Emit::Events {
            options = options.text_and_reasoning();
        }
        if let Some(schema) = schema {
            options = options.validator(schema);
        }
        if let Some(tools) = tools {
            options = options.tools(tools);
        }
        let parser = ResponseParser::new(provider, options);
        let rules = Rules::new(None, model, &limits);
        Self { parser, rules, emit, tally, interrupted: None }
    }

    /// The record, or the reason why it is rejected.
    fn record(
        &mut self,
        py: Python<'_>,
        choice: u64,
        block: u64,
        record: Record<Raw>,
    ) -> PyResult<Result<Py<PyAny>, Box<Diagnostic>>> {
        let mut kept = None;
        let built = with_value(record, |record| match self.rules.read_or_keep(py, record, &mut kept)? {
            Ok(value) => {
                let (place, raw) = (record.map(|_| ()), record.value.raw().into());
                let record = events::Record::with_raw(&place, value.unbind(), raw, choice, block);
                Ok(Ok(record.into_pyobject(py)?.into_any().unbind()))
            }
            Err(rejected) => Ok(Err(rejected)),
        });
        self.interrupted = kept.map(|record| ResponseEvent::Record { choice, block, record });
        built
    }

    /// The object for an event, if there is one.
    fn read(&mut self, py: Python<'_>, event: ResponseEvent<Raw>) -> PyResult<Option<Py<PyAny>>> {
        let is_calls_only = self.emit != Emit::Events;
        let count = match &event {
            // Counted below, once the model has built it.
            ResponseEvent::Record { .. } => CountAs::Other,
            event => self.parser.count_as(event),
        };
        self.tally.count(count);
        match event {
            ResponseEvent::Record { choice, block, record } => {
                let recovered = record.recovered;
                match self.record(py, choice, block, record)? {
                    Ok(object) => {
                        self.tally.count(CountAs::Record(recovered));
                        Ok(Some(object).filter(|_| !is_calls_only))
                    }
                    Err(diagnostic) => {
                        self.tally.count(CountAs::Diagnostic(&diagnostic));
                        self.reject(py, Finding { diagnostic: *diagnostic, choice: Some(choice), block })
                    }
                }
            }
            ResponseEvent::ToolCall { choice, number, block, call, record } => {
                let call = ToolCall::new(py, &mut self.rules.builder, call, record, (choice, block), number)?;
                object(py, call)
            }
            ResponseEvent::RejectedCall { choice, number, block, call } => match self.emit {
                Emit::Events => object(py, RejectedCall { call: *call, choice, number, block }),
                _ => self.reject(py, Finding { diagnostic: call.diagnostic, choice: Some(choice), block }),
            },
            ResponseEvent::Rejected { choice, block, diagnostic }
            | ResponseEvent::Note { choice, block, diagnostic } => {
                self.reject(py, Finding { diagnostic, choice, block })
            }
            _ if is_calls_only => Ok(None),
            ResponseEvent::Text { choice, block, text } => object(py, Text { text, choice, block }),
            ResponseEvent::Reasoning { choice, text, opaque } => {
                let opaque = opaque.map(|opaque| opaque.as_str().to_owned());
                object(py, Reasoning { text, choice, opaque })
            }
            ResponseEvent::Refusal { choice, text } => object(py, Refusal { text, choice }),
            ResponseEvent::Finish { choice, reason } => {
                object(py, Finish { reason: reason.as_str().to_owned(), choice })
            }
            ResponseEvent::Usage(usage) => object(py, Usage(usage)),
            // Only on request.
            _ => Ok(None),
        }
    }

    fn reject(&self, py: Python<'_>, finding: Finding) -> PyResult<Option<Py<PyAny>>> {
        diagnostic(py, self.emit, finding)
    }
}

fn object<'py, T>(py: Python<'py>, event: T) -> PyResult<Option<Py<PyAny>>>
where
    T: IntoPyObject<'py, Output = Bound<'py, T>, Error = PyErr, Target = T>,
{
    Ok(Some(event.into_pyobject(py)?.into_any().unbind()))
}

impl Traverse for ResponseMachine {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.rules.traverse(visit)
    }
}

impl Machine for ResponseMachine {
    fn push(&mut self, py: Python<'_>, chunk: &[u8]) {
        detached(py, chunk.len(), || self.parser.push(chunk));
    }

    fn finish(&mut self, end: SourceEnd) {
        match end {
            SourceEnd::Clean => self.parser.finish(),
            SourceEnd::Failed => self.parser.source_failed(),
        }
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        while let Some(event) = self.interrupted.take().or_else(|| self.parser.next_event()) {
            if let Some(object) = self.read(py, event)? {
                return Ok(Some(object));
            }
        }
        if self.parser.report().is_complete() {
            self.tally.report_mut().set_complete();
        }
        Ok(None)
    }

    fn tally(&mut self, _: Python<'_>) -> &Tally {
        &self.tally
    }

    fn is_terminated(&self) -> bool {
        self.parser.is_terminated()
    }

    fn expects_nothing(&self) -> bool {
        self.parser.expects_nothing()
    }
}
