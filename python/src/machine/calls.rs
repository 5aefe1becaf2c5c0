//! Tool calls from text.

use pyo3::prelude::*;
use tokenline_core::adapter::{Driver, SourceEnd, StreamMachine as _, StreamStep, Tally};
use tokenline_core::json::Raw;
use tokenline_core::{Event, Record, ToolCall};

use super::{Emit, Machine, diagnostic};
use crate::calls;
use crate::settings::Settings;
use crate::shared::Traverse;
use crate::value::Builder;

/// Tool calls from text: the driver under the Rust streams.
pub(crate) struct CallMachine {
    driver: Driver<ToolCall>,
    chunk: Vec<u8>,
    /// Index of the next byte of the chunk.
    at: usize,
    emit: Emit,
    builder: Builder,
}

impl CallMachine {
    pub(crate) fn new(settings: Settings, emit: Emit) -> Self {
        let mut driver = Driver::<Raw>::new(settings.text_options()).tool_calls();
        if let Some(tools) = settings.tools {
            driver = driver.with_tools(tools);
        }
        Self { driver, chunk: Vec::new(), at: 0, emit, builder: Builder::default() }
    }
}

impl Traverse for CallMachine {}

impl Machine for CallMachine {
    fn push(&mut self, _: Python<'_>, chunk: &[u8]) {
        if self.at == self.chunk.len() {
            self.chunk.clear();
            self.at = 0;
        }
        self.chunk.extend_from_slice(chunk);
    }

    fn finish(&mut self, end: SourceEnd) {
        self.driver.finish(end);
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            let (consumed, step) = self.driver.step(&self.chunk[self.at..]);
            self.at += consumed;
            let event = match step {
                StreamStep::Event(event) => event,
                StreamStep::Repair(_) => continue,
                StreamStep::NeedInput | StreamStep::Done => return Ok(None),
            };
            let rejected = match event {
                Event::Record(record) => {
                    let Record { value: call, line, column, span, completion, recovered } = record;
                    let place = Record { value: (), line, column, span, completion, recovered };
                    let call = calls::ToolCall::new(py, &mut self.builder, call, Some(place), (0, 0), None)?;
                    return Ok(Some(call.into_pyobject(py)?.into_any().unbind()));
                }
                Event::Rejected(rejected) | Event::Note(rejected) => rejected,
                _ => continue,
            };
            if let Some(event) = diagnostic(py, self.emit, rejected.into())? {
                return Ok(Some(event));
            }
        }
    }

    fn tally(&mut self, _: Python<'_>) -> &Tally {
        self.driver.tally()
    }
}
