//! The keyword arguments that all parsers share.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};
use tokenline_core::{CallFormat, Limits, Mode, Options, Release};
use tokenline_llm::TextMode;
use tokenline_schema::{SchemaValidator, ToolSet};

use crate::errors::{unknown, wrong_type};
use crate::model::Model;
use crate::partial::Plan;
use crate::{open_calls, schema, tools};

/// The settings of a parser, from its keyword arguments.
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) schema: Option<SchemaValidator>,
    pub(crate) model: Option<Model>,
    pub(crate) tools: Option<Arc<ToolSet>>,
    pub(crate) call_format: Option<CallFormat>,
    pub(crate) text_as: Option<TextMode>,
    pub(crate) strict: bool,
    pub(crate) pattern_steps: Option<usize>,
    pub(crate) stops_on_repetition: bool,
    /// Most records and calls to deliver.
    pub(crate) max_records: Option<u64>,
    /// Most rejects to tolerate.
    pub(crate) error_budget: Option<u64>,
    /// The function that is asked for what was rejected.
    pub(crate) reask: Option<Py<PyAny>>,
    pub(crate) reask_attempts: u32,
    /// Rejects have the text that was rejected, and messages may quote values.
    pub(crate) shows_values: bool,
    pub(crate) shows_names: bool,
    pub(crate) all_violations: bool,
    /// How the arguments of open calls become partial instances, if they are asked for.
    pub(crate) open_calls: Option<HashMap<String, Py<Plan>>>,
}

/// The arguments of all parsers.
pub(crate) const PARSER: &[&str] = &[
    "mode",
    "release",
    "in_reasoning",
    "all_violations",
    "show_names",
    "line_bytes",
    "depth",
    "pattern_steps",
    "diagnostics",
];
/// The arguments of all parsers whose rejects have a text.
pub(crate) const SHOW: &[&str] = &["show_values"];
/// The arguments of parsers of records.
pub(crate) const RECORDS: &[&str] = &["schema", "model", "items"];
/// The arguments of parsers that show open calls.
pub(crate) const UPDATES: &[&str] = &["call_updates"];
/// The arguments of streams that raise at the first reject if asked to.
pub(crate) const STRICT: &[&str] = &["strict"];
/// The arguments of parsers of tool calls.
pub(crate) const CALLS: &[&str] = &["tools", "call_format"];
/// The arguments of streams.
pub(crate) const STREAM: &[&str] =
    &["reask", "reask_attempts", "repair_syntax", "stop_on_repetition", "max_records", "error_budget"];
/// Most violations that a question about a reject has.
const MAX_FAULTS: usize = 20;
/// Most violations that a reject has, if all are asked for.
pub(crate) const MAX_VIOLATIONS: usize = 100;
/// The arguments of parsers of responses.
pub(crate) const RESPONSE: &[&str] = &["text_as", "sse_line_bytes", "sse_event_bytes"];

pub(crate) const MODES: &[(&str, Mode)] = &[("lenient", Mode::Lenient), ("strict", Mode::Strict)];
pub(crate) const RELEASES: &[(&str, Release)] = &[
    ("confirmed", Release::Confirmed),
    ("on_balance", Release::OnBalance),
    ("at_finish", Release::AtFinish),
];
pub(crate) const TEXT_MODES: &[(&str, TextMode)] = &[
    ("records", TextMode::Records),
    ("tool_calls", TextMode::ToolCalls),
    ("records_and_tool_calls", TextMode::RecordsAndToolCalls),
    ("native_calls", TextMode::NativeCalls),
    ("text", TextMode::Text),
];

impl Settings {
    /// Reads keyword arguments. Those that are not in one of the lists are an error.
    pub(crate) fn new(
        function: &str,
        given: Option<&Bound<'_, PyDict>>,
        allowed: &[&[&str]],
    ) -> PyResult<Self> {
        let mut settings = Self::default();
        let Some(given) = given else { return Ok(settings) };
        // These are compiled, within a limit that may come after them.
        let (mut schema, mut model, mut tools) = (None, None, None);
        for (name, value) in given {
            let name = name.cast_into::<PyString>()?;
            let name = name.to_str()?;
            if !allowed.iter().any(|names| names.contains(&name)) {
                let message = format!("{function}() got an unexpected keyword argument '{name}'");
                return Err(PyTypeError::new_err(message));
            }
            match name {
                "schema" => schema = Some(value).filter(|schema| !schema.is_none()),
                "model" => model = Some(value).filter(|model| !model.is_none()),
                "tools" => tools = Some(value).filter(|tools| !tools.is_none()),
                name => settings.set(name, &value)?,
            }
        }
        if settings.open_calls.is_some()
            && let Some(tools) = &tools
        {
            settings.open_calls = Some(open_calls::plans(tools)?);
        }
        let steps = settings.pattern_steps;
        settings.schema = schema.map(|value| schema::from_python("schema", &value, steps)).transpose()?;
        settings.tools = tools.map(|value| tools::from_python("tools", &value, steps)).transpose()?;
        let has_schema = settings.schema.is_some();
        let model = model.map(|model| Model::new("model", &model, has_schema, steps)).transpose()?;
        let (model, schema) = model.unzip();
        settings.model = model.map(|model| model.show(settings.shows_values, settings.shows_names));
        settings.check()?;
        // The user's own schema comes before the model's.
        settings.schema = settings.schema.or(schema.flatten());
        settings.set_words();
        Ok(settings)
    }

    /// Sets how much the validators say.
    fn set_words(&mut self) {
        let at_most =
            if self.all_violations { Some(MAX_VIOLATIONS) } else { self.reask.as_ref().map(|_| MAX_FAULTS) };
        if let Some(at_most) = at_most {
            let all = |tools: Arc<ToolSet>| Arc::new(ToolSet::clone(&tools).all_violations(at_most));
            self.tools = self.tools.take().map(all);
            self.schema = self.schema.take().map(|schema| schema.all_violations(at_most));
        }
        if self.shows_names {
            let show = |tools: Arc<ToolSet>| Arc::new(ToolSet::clone(&tools).show_names(true));
            self.tools = self.tools.take().map(show);
            self.schema = self.schema.take().map(|schema| schema.show_names(true));
        }
    }

    /// Whether records need more than a decoder and validators.
    pub(crate) fn needs_text_parser(&self) -> bool {
        let has_quota = self.max_records.is_some() || self.error_budget.is_some();
        let needs_texts = self.reask.is_some() || self.shows_values;
        needs_texts || has_quota || self.stops_on_repetition || self.options.repairs_syntax()
    }

    /// Whether rejects have their text.
    pub(crate) fn keeps_texts(&self) -> bool {
        self.reask.is_some() || self.shows_values
    }

    /// How the text of a response is read: with tools or a format of calls, as calls.
    pub(crate) fn text_as_or_default(&self) -> TextMode {
        let by_default = if self.reads_calls() { TextMode::ToolCalls } else { TextMode::Records };
        self.text_as.unwrap_or(by_default)
    }

    /// How a text is parsed.
    pub(crate) fn text_options(&self) -> Options {
        let options = self.options.clone();
        match &self.call_format {
            Some(format) => options.calls(format.clone()),
            None => options,
        }
    }

    fn reads_calls(&self) -> bool {
        self.tools.is_some() || self.call_format.is_some()
    }

    /// Checks that no argument takes away another's effect.
    fn check(&self) -> PyResult<()> {
        let Self { options, schema, model, call_format, text_as, .. } = self;
        let refuse = |message: String| Err(PyValueError::new_err(message));
        if options.mode == Mode::Strict {
            let needs_lenient = match () {
                () if options.looks_for_items() => Some("items"),
                () if !call_format.as_ref().is_none_or(CallFormat::reads_plain_json) => Some("call_format"),
                () => None,
            };
            if let Some(name) = needs_lenient {
                return refuse(format!(
                    "`{name}` needs mode='lenient': in strict mode each line is one object"
                ));
            }
        }
        let reads_records = match text_as {
            Some(mode) => matches!(mode, TextMode::Records | TextMode::RecordsAndToolCalls),
            None => !self.reads_calls(),
        };
        if model.is_some() && !reads_records {
            return refuse(
                "`model` needs text_as='records' or 'records_and_tool_calls': calls are not built as a type"
                    .to_owned(),
            );
        }
        let no_records = match text_as {
            Some(TextMode::Text) => Some("text"),
            Some(TextMode::NativeCalls) => Some("native_calls"),
            Some(TextMode::Records | TextMode::ToolCalls | TextMode::RecordsAndToolCalls) | None => None,
        };
        if let Some(mode) = no_records.filter(|_| schema.is_some() || options.looks_for_items()) {
            let name = if schema.is_some() { "schema" } else { "items" };
            return refuse(format!("`{name}` has no effect with text_as='{mode}': no records are read"));
        }
        let reads_calls = |mode| matches!(mode, TextMode::ToolCalls | TextMode::RecordsAndToolCalls);
        if call_format.is_some() && !text_as.is_none_or(reads_calls) {
            return refuse(
                "`call_format` needs text_as='tool_calls', which is its default, or 'records_and_tool_calls'"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let limits = &mut self.options.limits;
        match name {
            "mode" => {
                self.options.mode = choice(name, value, MODES)?;
            }
            "release" => self.options.release = choice(name, value, RELEASES)?,
            "line_bytes" => limits.line_bytes = limit(name, value)?,
            "depth" => {
                limits.depth = limit(name, value)?;
                if limits.depth > Limits::MAX_DEPTH {
                    let message = format!("`depth` must be at most {}", Limits::MAX_DEPTH);
                    return Err(PyValueError::new_err(message));
                }
            }
            "pattern_steps" => self.pattern_steps = Some(limit(name, value)?),
            "diagnostics" => limits.diagnostics = limit(name, value)?,
            "sse_line_bytes" => limits.sse_line_bytes = limit(name, value)?,
            "sse_event_bytes" => limits.sse_event_bytes = limit(name, value)?,
            "strict" => self.strict = flag(name, value)?,
            "repair_syntax" => {
                let options = std::mem::take(&mut self.options);
                self.options = options.repair_syntax(flag(name, value)?);
            }
            "in_reasoning" => {
                let options = std::mem::take(&mut self.options);
                self.options = options.in_reasoning(flag(name, value)?);
            }
            "show_values" => self.shows_values = flag(name, value)?,
            "show_names" => self.shows_names = flag(name, value)?,
            "all_violations" => self.all_violations = flag(name, value)?,
            "call_updates" => self.open_calls = flag(name, value)?.then(HashMap::new),
            "stop_on_repetition" => self.stops_on_repetition = flag(name, value)?,
            "reask_attempts" => {
                self.reask_attempts = u32::try_from(limit(name, value)?).unwrap_or(u32::MAX);
                if self.reask_attempts == 0 {
                    return Err(PyValueError::new_err("`reask_attempts` must be at least 1"));
                }
            }
            _ if value.is_none() => {}
            "max_records" => self.max_records = Some(limit(name, value)? as u64),
            "error_budget" => self.error_budget = Some(limit(name, value)? as u64),
            "reask" if value.is_callable() => self.reask = Some(value.clone().unbind()),
            "reask" => return Err(wrong_type(name, "a function", value)),
            "items" => {
                let options = std::mem::take(&mut self.options);
                let options = options.items(&text(name, value)?);
                self.options = options.map_err(|error| PyValueError::new_err(format!("`items`: {error}")))?;
            }
            "call_format" => {
                let format = text(name, value)?;
                let allowed: Vec<&str> = CallFormat::BUILT_IN.iter().map(CallFormat::as_str).collect();
                let found = CallFormat::from_name(&format);
                self.call_format = Some(found.ok_or_else(|| unknown(name, &format, &allowed))?);
            }
            _ => {
                self.text_as = Some(choice(name, value, TEXT_MODES)?);
            }
        }
        Ok(())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            options: Options::default(),
            schema: None,
            model: None,
            tools: None,
            call_format: None,
            text_as: None,
            strict: false,
            pattern_steps: None,
            stops_on_repetition: false,
            max_records: None,
            error_budget: None,
            reask: None,
            reask_attempts: 1,
            shows_values: false,
            shows_names: false,
            all_violations: false,
            open_calls: None,
        }
    }
}

fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.cast::<PyBool>().map_err(|_| wrong_type(name, "a bool", value))?.is_true())
}

pub(crate) fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value.cast::<PyString>().map_err(|_| wrong_type(name, "a str", value))?.to_str()?.to_owned())
}

fn choice<T: Copy>(name: &str, value: &Bound<'_, PyAny>, choices: &[(&str, T)]) -> PyResult<T> {
    let given = text(name, value)?;
    let allowed: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let found = choices.iter().find(|(name, _)| *name == given);
    found.map(|(_, choice)| *choice).ok_or_else(|| unknown(name, &given, &allowed))
}

pub(crate) fn limit(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(wrong_type(name, "an int", value));
    }
    value
        .extract()
        .map_err(|_| PyValueError::new_err(format!("`{name}` must not be negative, nor beyond 64 bits")))
}
