//! The tool calls of a response that are still being written.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::ResponseEvent;

use crate::events::repr;
use crate::growing::OpenValue;
use crate::partial::Plan;
use crate::shared::Traverse;
use crate::value::Builder;

/// The open calls, in the order in which they began.
pub(crate) struct OpenCalls {
    options: Options,
    /// How the arguments of a tool become partial instances, by its name.
    plans: HashMap<String, Py<Plan>>,
    builder: Builder,
    calls: Vec<Call>,
}

struct Call {
    choice: u64,
    number: u64,
    call_id: Option<String>,
    name: String,
    parameters: OpenValue,
}

impl OpenCalls {
    pub(crate) fn new(options: &Options, plans: HashMap<String, Py<Plan>>) -> Self {
        let options = Options::lenient().limits(options.limits).partials(true);
        Self { options, plans, builder: Builder::default(), calls: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Follows the events of the response.
    pub(crate) fn follow(&mut self, py: Python<'_>, event: &ResponseEvent<Raw>) -> PyResult<()> {
        let is = |choice: u64, number: u64| move |call: &Call| (call.choice, call.number) == (choice, number);
        match event {
            ResponseEvent::ToolCallBegan { choice, number, call_id, name } => self.calls.push(Call {
                choice: *choice,
                number: *number,
                call_id: call_id.clone(),
                name: name.clone(),
                parameters: OpenValue::new(self.options.clone()),
            }),
            ResponseEvent::ToolCallArguments { choice, number, text } => {
                let Self { plans, builder, calls, .. } = self;
                let Some(call) = calls.iter_mut().find(|call| is(*choice, *number)(call)) else {
                    return Ok(());
                };
                let plan = plans.get(&call.name).map(Py::get);
                call.parameters.push(py, text, builder, plan)?;
            }
            ResponseEvent::ToolCall { choice, number: Some(number), .. }
            | ResponseEvent::RejectedCall { choice, number: Some(number), .. }
            | ResponseEvent::ToolCallDiscarded { choice, number, .. } => {
                self.calls.retain(|call| !is(*choice, *number)(call));
            }
            _ => {}
        }
        Ok(())
    }

    /// The calls as they are now.
    pub(crate) fn now(&self, py: Python<'_>) -> Vec<OpenCall> {
        let of = |call: &Call| OpenCall {
            name: call.name.clone(),
            parameters: call.parameters.root(py),
            call_id: call.call_id.clone(),
            choice: call.choice,
            number: call.number,
        };
        self.calls.iter().map(of).collect()
    }
}

impl Traverse for OpenCalls {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.plans.values().try_for_each(|plan| visit.call(plan))?;
        self.calls.iter().try_for_each(|call| call.parameters.traverse(visit))
    }
}

/// Plans by the names of tools.
pub(crate) fn plans(tools: &Bound<'_, PyAny>) -> PyResult<HashMap<String, Py<Plan>>> {
    let plans = tools.py().import("tokenline._partial")?.call_method1("plans_of", (tools,))?;
    let plans = plans.cast_into::<PyDict>()?;
    plans.iter().map(|(name, plan)| Ok((name.extract()?, plan.cast_into::<Plan>()?.unbind()))).collect()
}

/// A tool call that is still being written.
#[pyclass(frozen, module = "tokenline")]
pub(crate) struct OpenCall {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    parameters: Option<Py<PyAny>>,
    #[pyo3(get)]
    call_id: Option<String>,
    #[pyo3(get)]
    choice: u64,
    #[pyo3(get)]
    number: u64,
}

#[pymethods]
impl OpenCall {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("name", "parameters", "call_id")
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.as_any())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.parameters)
    }
}
