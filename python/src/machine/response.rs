//! The events of a provider's response, or of a text whose rejects are asked for again.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{CountAs, QuotaUnit, RejectedTexts, SourceEnd, StopAfter, Tally};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Diagnostic, EarlyEnd, Limits, Reads, Record};
use tokenline_llm::{Provider, ResponseEvent, TextMode};

use super::asking::{Answered, Asking, Item, Question};
use super::source::Source;
use super::{Emit, Machine, Progress, Rules, diagnostic, with_value};
use crate::calls::{RejectedCall, ToolCall};
use crate::events::{self, Finding};
use crate::open_calls::{OpenCall, OpenCalls};
use crate::parts::{Finish, Reasoning, Refusal, Text, Usage};
use crate::report::{Report, Texts};
use crate::schema::detached;
use crate::settings::Settings;
use crate::shared::Traverse;

/// A parser, its rules and its counts.
pub(crate) struct ResponseMachine {
    source: Source,
    /// Without a schema: the parser validates.
    rules: Rules,
    emit: Emit,
    /// How the text is read, and which of that is emitted as values.
    reads: Reads,
    tally: Tally,
    /// The record that was being built when the user interrupted it.
    interrupted: Option<ResponseEvent<Raw>>,
    asking: Option<Asking>,
    texts: RejectedTexts,
    /// Rejects have their texts.
    keeps_texts: bool,
    /// The texts of the rejects in the report, if they are asked for.
    kept: Option<Texts>,
    open_calls: Option<OpenCalls>,
    /// That too much was rejected was raised.
    has_raised: bool,
    limits: Limits,
}

/// Why a record is rejected, with its text if that is asked for.
type WithText = (Box<Diagnostic>, Option<Arc<str>>);

impl ResponseMachine {
    /// Yields all events with [`Emit::Events`], otherwise the items that the text is read as.
    pub(crate) fn new(provider: Provider, settings: Settings, text_as: TextMode, emit: Emit) -> Self {
        let reads = match text_as {
            TextMode::Records => Reads::Records,
            TextMode::RecordsAndToolCalls => Reads::RecordsAndToolCalls,
            _ => Reads::ToolCalls,
        };
        let make = |settings, rejects: Option<&RejectedTexts>| {
            Source::response(provider, settings, text_as, emit == Emit::Events, rejects)
        };
        Self::with_source(settings, emit, reads, make)
    }

    /// Yields the records or the tool calls of a text.
    pub(crate) fn of_text(settings: Settings, emit: Emit, reads: Reads) -> Self {
        let make = |settings, rejects: Option<&RejectedTexts>| Source::text(settings, reads, rejects);
        Self::with_source(settings, emit, reads, make)
    }

    fn with_source(
        mut settings: Settings,
        emit: Emit,
        reads: Reads,
        make: impl FnOnce(Settings, Option<&RejectedTexts>) -> Source,
    ) -> Self {
        let limits = settings.options.limits;
        let rules = Rules::new(None, settings.model.take(), &limits);
        let (asking, texts) = (Asking::new(&settings), RejectedTexts::default());
        let (keeps_texts, kept) = (settings.keeps_texts(), settings.shows_values.then(Texts::default));
        let quota = StopAfter {
            max_records: settings.max_records,
            counted: match (emit, reads) {
                (Emit::Events, _) => QuotaUnit::All,
                (_, Reads::Records) => QuotaUnit::Records,
                _ => QuotaUnit::ToolCalls,
            },
            error_budget: settings.error_budget,
        };
        let open_calls = settings.open_calls.as_mut().map(std::mem::take);
        let open_calls = open_calls.map(|plans| OpenCalls::new(&settings.options, plans));
        let source = make(settings, keeps_texts.then_some(&texts));
        let (mut tally, interrupted) = (Tally::new(&limits), None);
        tally.set_quota(|own| *own = quota);
        Self {
            source,
            rules,
            emit,
            reads,
            tally,
            interrupted,
            asking,
            texts,
            keeps_texts,
            kept,
            open_calls,
            has_raised: false,
            limits,
        }
    }

    /// Starts over with another text.
    pub(crate) fn reset(&mut self) {
        self.source.reset();
        self.rules.reset();
        self.tally.reset(&self.limits);
        self.texts.clear();
        (self.interrupted, self.has_raised) = (None, false);
        self.kept = self.kept.take().map(|_| Texts::default());
        self.open_calls.iter_mut().for_each(OpenCalls::clear);
    }

    /// The object of a record, or the reason why it is rejected.
    fn record(
        &mut self,
        py: Python<'_>,
        place: (u64, u64),
        record: Record<Raw>,
    ) -> PyResult<Result<Py<PyAny>, WithText>> {
        let Self { rules, emit, keeps_texts, .. } = self;
        let mut kept = None;
        let built = with_value(record, |record| match rules.read_or_keep(py, record, &mut kept)? {
            Ok(value) => built(py, *emit, place, record, value.unbind()).map(Ok),
            Err(rejected) => {
                let text = keeps_texts.then(|| record.value.raw().into());
                Ok(Err((rejected, text)))
            }
        });
        let (choice, block) = place;
        self.interrupted = kept.map(|record| ResponseEvent::Record { choice, block, record });
        built
    }

    /// The calls that are still being written, if they are asked for.
    pub(crate) fn open_calls(&self, py: Python<'_>) -> Option<Vec<OpenCall>> {
        self.open_calls.as_ref().map(|calls| calls.now(py))
    }

    /// Whether a quota has been reached: nothing follows.
    fn is_over(&self) -> bool {
        matches!(self.tally.report().ended_by(), Some(EarlyEnd::MaxRecords | EarlyEnd::ErrorBudget))
    }

    /// The end by a quota: an exception if it is the one for rejects.
    fn ended(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.tally.too_many_rejected() {
            Some(error) if !std::mem::replace(&mut self.has_raised, true) => {
                let last = events::finding(py, error.last().clone().into())?;
                Err(crate::errors::too_many_rejected(py, error.allowed(), last.into_bound(py)))
            }
            _ => Ok(None),
        }
    }

    /// The object for an event, if there is one.
    fn read(&mut self, py: Python<'_>, event: ResponseEvent<Raw>) -> PyResult<Option<Py<PyAny>>> {
        if let Some(calls) = &mut self.open_calls {
            calls.follow(py, &event)?;
        }
        match event {
            ResponseEvent::Record { choice, block, record } => {
                let recovered = record.recovered;
                match self.record(py, (choice, block), record)? {
                    Ok(object) => {
                        self.tally.count(CountAs::Record(recovered));
                        Ok(Some(object).filter(|_| self.yields(Reads::Records)))
                    }
                    Err((diagnostic, text)) => {
                        let choice = self.source.choice(choice);
                        let finding = Finding { diagnostic: *diagnostic, choice, block, text };
                        self.rejected(py, Item::Record(finding), Reads::Records)
                    }
                }
            }
            ResponseEvent::ToolCall { choice, number, block, call, record } => {
                self.tally.count(CountAs::ToolCall(call.recovered));
                self.call(py, call, record, (choice, block), number)
            }
            ResponseEvent::RejectedCall { choice, number, block, call } => {
                self.texts.take(&call.diagnostic);
                let call = RejectedCall { call: *call, choice, number, block };
                self.rejected(py, Item::Call(call), Reads::ToolCalls)
            }
            ResponseEvent::Rejected { choice, block, diagnostic } => {
                let text = self.texts.take(&diagnostic).map(Into::into);
                let finding = Finding { diagnostic, choice, block, text };
                self.rejected(py, Item::Record(finding), Reads::Records)
            }
            event => {
                self.tally.count(self.source.count_as(&event));
                self.part(py, event)
            }
        }
    }

    /// The object for a part of a response that is neither a record nor a call.
    fn part(&self, py: Python<'_>, event: ResponseEvent<Raw>) -> PyResult<Option<Py<PyAny>>> {
        match event {
            ResponseEvent::Note { choice, block, diagnostic } => {
                self.found(py, Finding { diagnostic, choice, block, text: None })
            }
            _ if self.emit != Emit::Events => Ok(None),
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

    /// Whether these are yielded.
    fn yields(&self, of: Reads) -> bool {
        self.emit == Emit::Events || self.reads == of
    }

    fn call(
        &mut self,
        py: Python<'_>,
        call: tokenline_core::ToolCall,
        record: Option<Record<()>>,
        place: (u64, u64),
        number: Option<u64>,
    ) -> PyResult<Option<Py<PyAny>>> {
        if !self.yields(Reads::ToolCalls) {
            return Ok(None);
        }
        object(py, ToolCall::new(py, &mut self.rules.builder, call, record, place, number)?)
    }

    fn found(&self, py: Python<'_>, finding: Finding) -> PyResult<Option<Py<PyAny>>> {
        diagnostic(py, self.emit, finding)
    }

    /// Asks for a reject, or yields it.
    fn rejected(&mut self, py: Python<'_>, item: Item, kind: Reads) -> PyResult<Option<Py<PyAny>>> {
        // A reject in a text that has calls only is no record.
        let is_wanted = self.yields(kind) && (kind == Reads::ToolCalls || self.reads != Reads::ToolCalls);
        match self.asking.as_mut().filter(|_| is_wanted) {
            Some(asking) => match asking.question(item, self.tally.report_mut()) {
                Ok(question) => Ok(Some(Py::new(py, question)?.into_any())),
                Err(item) => self.reject(py, *item),
            },
            None => self.reject(py, item),
        }
    }

    /// A reject that is final.
    fn reject(&mut self, py: Python<'_>, item: Item) -> PyResult<Option<Py<PyAny>>> {
        self.tally.count(CountAs::Diagnostic(item.diagnostic()));
        if let Some(kept) = &mut self.kept
            && let Some(text) = item.shared_text()
        {
            kept.add(item.diagnostic(), &text, self.limits.diagnostics);
        }
        match (item, self.emit) {
            (Item::Call(call), Emit::Events) => object(py, call),
            (Item::Call(RejectedCall { call, choice, block, .. }), _) => {
                let text = self.keeps_texts.then(|| call.received.into());
                let choice = self.source.choice(choice);
                self.found(py, Finding { diagnostic: call.diagnostic, choice, block, text })
            }
            (Item::Record(finding), _) => self.found(py, finding),
        }
    }

    /// Takes an answer. Returns the object to yield, or the next question.
    fn answered(
        &mut self,
        py: Python<'_>,
        question: &Question,
        answer: Option<String>,
    ) -> PyResult<Result<Option<Py<PyAny>>, Question>> {
        let Self { asking, rules, tally, .. } = self;
        let asking = asking.as_ref().expect("there are questions only of a machine that asks");
        let build = |record: &Record<Raw>| {
            let read = with_value(record.clone(), |record| rules.read_or_keep(py, record, &mut None))?;
            Ok(read.map(Bound::unbind))
        };
        Ok(Ok(match asking.answer(question, answer, tally.report_mut(), build)? {
            Answered::Again(question) => return Ok(Err(question)),
            Answered::Rejected(item) => self.reject(py, item)?,
            Answered::Record { choice, block, record, value } => {
                self.tally.count(CountAs::Record(record.recovered));
                let emit = self.emit;
                Some(with_value(record, |record| built(py, emit, (choice, block), record, value))?)
            }
            Answered::Call { call, record, place: RejectedCall { choice, number, block, .. } } => {
                self.read(py, ResponseEvent::ToolCall { choice, number, block, call, record })?
            }
        }))
    }
}

/// The object that is yielded for a record with this value.
fn built(
    py: Python<'_>,
    emit: Emit,
    (choice, block): (u64, u64),
    record: &Record<Value<'_>>,
    value: Py<PyAny>,
) -> PyResult<Py<PyAny>> {
    if emit != Emit::Events {
        return Ok(value);
    }
    let (place, raw) = (record.map(|_| ()), record.value.raw().into());
    let record = events::Record::with_raw(&place, value, raw, choice, block);
    Ok(record.into_pyobject(py)?.into_any().unbind())
}

fn object<'py, T>(py: Python<'py>, event: T) -> PyResult<Option<Py<PyAny>>>
where
    T: IntoPyObject<'py, Output = Bound<'py, T>, Error = PyErr, Target = T>,
{
    Ok(Some(event.into_pyobject(py)?.into_any().unbind()))
}

impl Traverse for ResponseMachine {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.open_calls.iter().try_for_each(|calls| calls.traverse(visit))?;
        self.rules.traverse(visit)
    }
}

impl Machine for ResponseMachine {
    fn push(&mut self, py: Python<'_>, chunk: &[u8]) {
        detached(py, chunk.len(), || self.source.push(chunk));
    }

    fn finish(&mut self, end: SourceEnd) {
        self.source.finish(end);
        if self.source.report().is_complete() {
            self.tally.report_mut().set_complete();
        }
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        while !self.is_over()
            && let Some(event) = self.interrupted.take().or_else(|| self.source.next_event())
        {
            if let Some(object) = self.read(py, event)? {
                return Ok(Some(object));
            }
        }
        if self.is_over() {
            return self.ended(py);
        }
        if self.source.report().is_complete() {
            self.tally.report_mut().set_complete();
        }
        if self.source.report().ended_by() == Some(EarlyEnd::Repetition) {
            self.tally.report_mut().set_ended_by(EarlyEnd::Repetition);
        }
        Ok(None)
    }

    fn answer(
        &mut self,
        py: Python<'_>,
        question: &Question,
        answer: Option<String>,
    ) -> PyResult<Option<Py<PyAny>>> {
        // What comes after the end is not delivered.
        let answer = answer.filter(|_| !self.is_over());
        match self.answered(py, question, answer)? {
            Ok(object) => Ok(object),
            Err(again) => Ok(Some(Py::new(py, again)?.into_any())),
        }
    }

    fn tally(&mut self, _: Python<'_>) -> &Tally {
        &self.tally
    }

    fn report(&mut self, _: Python<'_>) -> Report {
        let report = Report::from(self.tally.report().clone());
        report.with_texts(self.kept.clone().unwrap_or_default())
    }

    fn progress(&self) -> Progress {
        self.source.progress()
    }

    fn is_terminated(&self) -> bool {
        self.source.is_terminated() || self.is_over()
    }

    fn expects_nothing(&self) -> bool {
        self.source.expects_nothing() || self.is_over()
    }
}
