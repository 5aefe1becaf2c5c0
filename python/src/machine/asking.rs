//! Asking for rejected records and calls again.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use tokenline_core::adapter::{Digest, RejectedTexts, SourceEnd};
use tokenline_core::json::Raw;
use tokenline_core::{
    CallDelta, CallFormat, Code, CompletedBy, Diagnostic, Mode, Options, Origin, Reads, Reasks, Record,
    Report, ToolCall, ToolCallAssembler,
};
use tokenline_llm::ResponseEvent;
use tokenline_schema::{SchemaValidator, ToolSet};

use super::source::Source;
use crate::calls::RejectedCall;
use crate::errors::wrong_type;
use crate::events::{Finding, Reject};
use crate::settings::Settings;

/// The longest text that is asked for again, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// The rejects asked for so far, and the reader of the answers.
pub(crate) struct Asking {
    max_attempts: u32,
    answers: Answers,
    /// The items that were asked for, by their hashes: a model in a loop writes the same again.
    asked: HashSet<u64>,
}

/// How answers are read.
#[derive(Clone)]
struct Answers {
    options: Options,
    schema: Option<SchemaValidator>,
    tools: Option<Arc<ToolSet>>,
}

/// A rejected record or call.
#[derive(Clone)]
pub(crate) enum Item {
    Record(Finding),
    Call(RejectedCall),
}

impl Item {
    pub(super) fn diagnostic(&self) -> &Diagnostic {
        match self {
            Self::Record(finding) => &finding.diagnostic,
            Self::Call(call) => &call.call.diagnostic,
        }
    }

    pub(super) fn diagnostic_mut(&mut self) -> &mut Diagnostic {
        match self {
            Self::Record(finding) => &mut finding.diagnostic,
            Self::Call(call) => &mut call.call.diagnostic,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Record(finding) => finding.text.as_deref().unwrap_or_default(),
            Self::Call(call) => &call.call.received,
        }
    }

    /// The rejected text, if it was kept.
    pub(super) fn shared_text(&self) -> Option<Arc<str>> {
        match self {
            Self::Record(finding) => finding.text.clone(),
            Self::Call(call) => Some(call.call.received.as_str().into()),
        }
    }

    fn hash(&self) -> u64 {
        let mut digest = Digest::default();
        if let Self::Call(call) = self {
            digest.add(call.call.name.as_deref().unwrap_or_default());
            digest.add("\n");
        }
        digest.add(self.text());
        digest.hash()
    }

    /// Whether another answer may be of use; of a call that was delivered, only the rest is rejected.
    fn can_be_asked(&self) -> bool {
        let (code, text) = (self.diagnostic().code, self.text());
        let is_call = matches!(self, Self::Call(_));
        let is_item = is_call || text.contains(['{', '[']);
        let may_pass = code.is_repairable() || (is_call && code == Code::Unsealed);
        is_item && may_pass && code != Code::LateFragment && text.len() <= MAX_TEXT
    }

    /// Whether it is more than a part of what was asked for.
    fn is_whole(&self) -> bool {
        let is_call = matches!(self, Self::Call(_));
        self.diagnostic().code != Code::Truncated
            && (is_call || self.text().trim_start().starts_with(['{', '[']))
    }

    /// The object that the user's function gets, and that is yielded once the reject is final.
    pub(super) fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Record(finding) => Reject(finding).into_pyobject(py)?.into_any().unbind(),
            Self::Call(call) => call.into_pyobject(py)?.into_any().unbind(),
        })
    }
}

/// A rejected record or call that the user is asked for.
#[pyclass(frozen, module = "tokenline._tokenline")]
#[derive(Clone)]
pub(crate) struct Question {
    /// The reject, which is final if no answer passes.
    original: Item,
    /// The reject to ask about: the original, or the last answer.
    item: Item,
    /// The answers so far, and the last of them.
    attempts: u32,
    last: Option<String>,
    reasons: Vec<String>,
}

#[pymethods]
impl Question {
    /// The reject to ask about.
    #[getter]
    fn reject(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.item.clone().into_object(py)
    }
}

impl Question {
    /// Asks a function of the user's. The answer is a str or None.
    pub(crate) fn ask(&self, py: Python<'_>, function: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let answer = function.call1((self.reject(py)?,)).map_err(|error| {
            if !error.is_instance_of::<PyStopIteration>(py) {
                return error;
            }
            // It would end the stream.
            let raised = PyRuntimeError::new_err("`reask` raised StopIteration");
            raised.set_cause(py, Some(error));
            raised
        })?;
        answer_of(&answer)?;
        Ok(answer.unbind())
    }
}

/// The outcome of an answer.
pub(crate) enum Answered {
    Record {
        choice: u64,
        block: u64,
        record: Record<Raw>,
        value: Py<PyAny>,
    },
    Call {
        call: ToolCall,
        record: Option<Record<()>>,
        place: RejectedCall,
    },
    /// The reject is final.
    Rejected(Item),
    Again(Question),
}

/// The failure of an answer.
struct Failed {
    reason: String,
    /// The reject that came in place of the item.
    instead: Option<Box<Item>>,
}

enum Found {
    Record(Record<Raw>),
    Call(ToolCall),
}

impl Asking {
    /// With these settings, if they have a function to ask.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        settings.reask.as_ref()?;
        let mut options = settings.options.clone();
        // An answer may stand in a fence or a sentence.
        options.mode = Mode::Lenient;
        let answers = Answers { options, schema: settings.schema.clone(), tools: settings.tools.clone() };
        Some(Self { max_attempts: settings.reask_attempts, answers, asked: HashSet::new() })
    }

    /// The question about a reject, or the reject, if it is not asked for.
    pub(super) fn question(&mut self, mut item: Item, report: &mut Report) -> Result<Question, Box<Item>> {
        if !item.can_be_asked() {
            return Err(Box::new(item));
        }
        if !self.asked.insert(item.hash()) {
            let why = vec!["not asked again, because the same was asked for before".to_owned()];
            let diagnostic = item.diagnostic_mut();
            *diagnostic = diagnostic.clone().with_attempts(why);
            return Err(Box::new(item));
        }
        report.count_reasks(reasks(1, 0));
        Ok(Question { original: item.clone(), item, attempts: 0, last: None, reasons: Vec::new() })
    }

    /// Reads the answer to a question. `build` builds the value of the record in it.
    pub(super) fn answer(
        &self,
        question: &Question,
        text: Option<String>,
        report: &mut Report,
        build: impl FnOnce(&Record<Raw>) -> PyResult<Result<Py<PyAny>, Box<Diagnostic>>>,
    ) -> PyResult<Answered> {
        let Question { original, item, attempts, last, reasons } = question;
        let (original, mut reasons) = (original.clone(), reasons.clone());
        let Some(text) = text else { return Ok(Answered::Rejected(with_attempts(original, reasons))) };
        let attempts = attempts + 1;
        // If the user interrupts what is built, nothing is counted: the answer comes again.
        let read = match self.answers.read(item, &text) {
            Ok(Found::Call(call)) => Ok(delivered_call(original.clone(), call, attempts)),
            Ok(Found::Record(record)) => match build(&record)? {
                Ok(value) => Ok(delivered(original.clone(), record, value, attempts)),
                Err(diagnostic) => {
                    let reason = diagnostic.for_model().to_string();
                    let text = Some(record.value.as_str().into());
                    let finding = Finding { text, ..Finding::from(*diagnostic) };
                    Err(Failed { reason, instead: Some(Box::new(Item::Record(finding))) })
                }
            },
            Err(failed) => Err(failed),
        };
        report.count_reasks(reasks(0, 1));
        let Failed { reason, instead } = match read {
            Ok(answered) => return Ok(answered),
            Err(failed) => failed,
        };
        reasons.push(reason);
        let is_same = last.as_ref() == Some(&text)
            || instead.as_ref().is_some_and(|instead| instead.hash() == item.hash());
        if attempts >= self.max_attempts || is_same {
            if is_same && attempts < self.max_attempts {
                reasons.push("no more, because the same came again".to_owned());
            }
            return Ok(Answered::Rejected(with_attempts(original, reasons)));
        }
        let item = match (instead.map(|instead| *instead), &original) {
            (Some(Item::Call(call)), Item::Call(original)) => Item::Call(call.in_place_of(original)),
            (Some(item), _) => item,
            (None, _) => item.clone(),
        };
        Ok(Answered::Again(Question { original, item, attempts, last: Some(text), reasons }))
    }
}

impl Answers {
    /// The record or call in an answer.
    fn read(&self, item: &Item, text: &str) -> Result<Found, Failed> {
        let Item::Call(RejectedCall { call, .. }) = item else {
            let alone =
                || Self { options: self.options.clone().items("").expect("a pointer"), ..self.clone() };
            return match self.read_as(Reads::Records, text) {
                // The item without what it is an item of.
                Err(Failed { instead: None, .. }) if self.options.looks_for_items() => {
                    alone().read_as(Reads::Records, text)
                }
                read => read,
            };
        };
        self.read_call(call, text)
    }

    /// The call of the same tool in an answer, or the call with the arguments that stand alone in it.
    fn read_call(&self, call: &tokenline_core::RejectedCall, text: &str) -> Result<Found, Failed> {
        let is_asked = |found: &ToolCall| {
            call.name.as_ref().is_none_or(|name| *name == found.name)
                || call.diagnostic.code == Code::UnknownTool
        };
        let failed = match self.read_as(Reads::ToolCalls, text) {
            Ok(Found::Call(found)) if !is_asked(&found) => {
                Failed { reason: "the answer calls another tool".to_owned(), instead: None }
            }
            Ok(found) => return Ok(found),
            Err(failed) => failed,
        };
        // What reads as a call, of whatever tool, is no list of arguments.
        let any_tool = Self { tools: None, ..self.clone() };
        if any_tool.read_as(Reads::ToolCalls, text).is_ok() {
            return Err(failed);
        }
        match call.name.as_deref().and_then(|name| self.call_of(name, text)) {
            Some(Ok(call)) => Ok(Found::Call(call)),
            Some(Err(rejected)) => {
                let reason = rejected.diagnostic.for_model().to_string();
                let (choice, number, block) = (0, None, 0);
                let item = Item::Call(RejectedCall { call: *rejected, choice, number, block });
                Err(Failed { reason, instead: Some(Box::new(item)) })
            }
            None => Err(failed),
        }
    }

    /// The call with the arguments that stand alone in an answer, judged as those of a native call.
    fn call_of(&self, name: &str, text: &str) -> Option<Result<ToolCall, Box<tokenline_core::RejectedCall>>> {
        let Ok(Found::Record(arguments)) =
            Self { schema: None, ..self.clone() }.read_as(Reads::Records, text)
        else {
            return None;
        };
        let mut calls = ToolCallAssembler::new(&self.options);
        if let Some(tools) = &self.tools {
            calls = calls.with_tools(Arc::clone(tools));
        }
        let arguments = arguments.value.as_str();
        calls.push(CallDelta { name: Some(name), arguments, ..CallDelta::default() });
        calls.finish(CompletedBy::EndOfInput);
        calls.next_event()
    }

    /// The only record, or the only call, in a text.
    fn read_as(&self, reads: Reads, text: &str) -> Result<Found, Failed> {
        let rejects = RejectedTexts::default();
        let mut settings = Settings { options: self.options.clone(), ..Settings::default() };
        let what = match reads {
            Reads::ToolCalls => {
                settings.tools.clone_from(&self.tools);
                settings.call_format = Some(CallFormat::default());
                "tool call"
            }
            _ => {
                settings.schema.clone_from(&self.schema);
                "record"
            }
        };
        let mut source = Source::text(settings, reads, Some(&rejects));
        source.push(text.as_bytes());
        source.finish(SourceEnd::Clean);
        let (mut found, mut failed, mut count) = (None, None, 0);
        while count < 2
            && failed.is_none()
            && let Some(event) = source.next_event()
        {
            match event {
                ResponseEvent::Record { record, .. } => {
                    (found, count) = (Some(Found::Record(record)), count + 1);
                }
                ResponseEvent::ToolCall { call, .. } => {
                    (found, count) = (Some(Found::Call(call)), count + 1);
                }
                ResponseEvent::Rejected { diagnostic, .. } => {
                    let reason = diagnostic.for_model().to_string();
                    let text = rejects.take(&diagnostic).map(Into::into);
                    let item = Item::Record(Finding { text, ..Finding::from(diagnostic) });
                    failed = Some(Failed {
                        reason,
                        instead: Some(Box::new(item)).filter(|_| reads == Reads::Records),
                    });
                }
                ResponseEvent::RejectedCall { choice, number, block, call } => {
                    let reason = call.diagnostic.for_model().to_string();
                    let item = Item::Call(RejectedCall { call: *call, choice, number, block });
                    failed = Some(Failed { reason, instead: Some(Box::new(item)) });
                }
                _ => {}
            }
        }
        let same = |reason: String| Failed { reason, instead: None };
        match (found, failed) {
            (Some(found), None) if count == 1 => Ok(found),
            (Some(_), None) => Err(same(format!("the answer had more than one {what}"))),
            (Some(_), Some(Failed { reason, .. })) => {
                Err(same(format!("the answer had a {what} beside a reject: {reason}")))
            }
            (None, Some(failed)) => {
                Err(Failed { instead: failed.instead.filter(|item| item.is_whole()), ..failed })
            }
            (None, None) => Err(same(format!("the answer had no {what}"))),
        }
    }
}

fn reasks(asked: u64, requests: u64) -> Reasks {
    let mut reasks = Reasks::default();
    (reasks.asked, reasks.requests) = (asked, requests);
    reasks
}

/// The record in place of a reject, at its place.
fn delivered(original: Item, record: Record<Raw>, value: Py<PyAny>, attempts: u32) -> Answered {
    let Item::Record(finding) = original else { unreachable!("records are found for records") };
    let Diagnostic { line, column, span, .. } = finding.diagnostic;
    let recovered = record.recovered.with_attempts(attempts);
    let record = Record { line, column, span, recovered, ..record };
    Answered::Record { choice: finding.choice.unwrap_or_default(), block: finding.block, record, value }
}

/// The call in place of a reject, at its place, with its id.
fn delivered_call(original: Item, mut call: ToolCall, attempts: u32) -> Answered {
    let Item::Call(place) = original else { unreachable!("calls are found for calls") };
    let Diagnostic { line, column, span, origin, .. } = place.call.diagnostic;
    call.recovered = call.recovered.with_attempts(attempts);
    let (completion, recovered) = (call.completion, call.recovered);
    let record = Record { value: (), line, column, span, completion, recovered };
    call.call_id.clone_from(&place.call.call_id);
    call.is_synthetic_id = place.call.is_synthetic_id;
    Answered::Call { call, record: Some(record).filter(|_| origin == Origin::Text), place }
}

/// The final reject, with the outcome of each answer.
fn with_attempts(mut item: Item, attempts: Vec<String>) -> Item {
    let diagnostic = item.diagnostic_mut();
    *diagnostic = diagnostic.clone().with_attempts(attempts);
    item
}

/// Reads the return value of the user's function: a str or None.
pub(crate) fn answer_of(answer: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if answer.is_none() {
        return Ok(None);
    }
    match answer.cast::<PyString>() {
        Ok(text) => Ok(Some(text.to_str()?.to_owned())),
        Err(_) if answer.hasattr("__await__")? => {
            answer.call_method0("close").ok();
            let message = "`reask` returned an awaitable: asynchronous functions are for `arecords`, `aresponses` and \
                           `atool_calls`";
            Err(PyTypeError::new_err(message))
        }
        Err(_) => Err(wrong_type("reask", "a function that returns a str or None", answer)),
    }
}
