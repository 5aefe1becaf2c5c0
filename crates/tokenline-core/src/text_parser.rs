//! Records, tool calls and the text beside them from pushed pieces of text, without I/O.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::adapter::{
    CountAs, Driver, Made, Rules, SourceEnd, StopAfter, StreamMachine, StreamStep, Tally, TextPart,
    TextReader, Verdict,
};
use crate::json::{Raw, Value};
use crate::{
    CheckedChunk, CompletedBy, Diagnostic, Event, Options, Reads, Record, Rejected, RejectedCall, Report,
    ToolCall,
};

/// Parses all that is in a text, without I/O: records, tool calls, and the text beside them, in order.
///
/// [Push](Self::push) pieces of the text, take the events, and [finish](Self::finish). The events do not depend on how the
/// text is cut, except that text and reasoning come in pieces. What objects are read as, and what they have to pass, is
/// in the [rules](Rules).
///
/// ```
/// use std::sync::Arc;
/// use tokenline_core::adapter::Rules;
/// use tokenline_core::{Options, Reads, TextEvent, TextParser, json::Raw};
/// # struct Tools;
/// # impl tokenline_core::ValidateCall for Tools {
/// #     fn has_tool(&self, name: &str) -> bool { name == "weather" }
/// #     fn validate_call(&self, _: &str, _: tokenline_core::json::Value<'_>) -> Result<(), Box<tokenline_core::Violation>> { Ok(()) }
/// # }
///
/// let mut rules = Rules::default();
/// rules.set_reads(Reads::RecordsAndToolCalls);
/// rules.set_tools(Arc::new(Tools));
/// let mut parser = TextParser::<Raw>::new(Options::lenient(), rules);
/// let mut seen = Vec::new();
/// for piece in ["Two things:\n{\"n\":1}\n<tool_call>{\"name\":\"wea", "ther\",\"arguments\":{}}</tool_call>\nDone."] {
///     parser.push(piece);
///     while let Some(event) = parser.next_event() {
///         seen.push(match event {
///             TextEvent::Record(record) => record.value.to_string(),
///             TextEvent::ToolCall { call, .. } => format!("{}({})", call.name, call.parameters),
///             TextEvent::Text(text) => text,
///             other => format!("{other:?}"),
///         });
///     }
/// }
/// assert_eq!(seen, ["Two things:\n", "{\"n\":1}", "weather({})", "Done."]);
/// ```
pub struct TextParser<T = Raw> {
    reader: TextReader,
    make: fn(&Record<Value<'_>>) -> Made<T>,
    events: VecDeque<TextEvent<T>>,
    /// The reject that a replacement is needed for, until it is asked for.
    question: Option<Box<Rejected>>,
    /// Pushed bytes that wait for the answer to a question.
    unread: Vec<u8>,
    tally: Tally,
    end: Option<SourceEnd>,
    has_ended: bool,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextEvent<T> {
    /// A complete record.
    Record(Record<T>),
    /// A complete tool call.
    ToolCall {
        /// The call.
        call: ToolCall,
        /// The place of the object that it was read from.
        record: Record<()>,
    },
    /// A rejected tool call: the reason, and what an agent needs to report it to the model.
    RejectedCall(Box<RejectedCall>),
    /// A rejected record.
    Rejected(Diagnostic),
    /// Information that is not a reject.
    Note(Diagnostic),
    /// Text for people, as it arrives: without records, calls and the markup around them. It has the rejects that are not
    /// calls.
    Text(String),
    /// The model's reasoning, as it arrives.
    Reasoning(String),
}

impl<T> TextEvent<T> {
    fn from_diagnostic(diagnostic: Diagnostic) -> Self {
        match Event::<T>::from_diagnostic(diagnostic) {
            Event::Note(diagnostic) => Self::Note(diagnostic),
            Event::Rejected(diagnostic) => Self::Rejected(diagnostic),
            _ => unreachable!("it is a diagnostic"),
        }
    }

    /// The count that the event belongs to.
    #[must_use]
    pub fn count_as(&self) -> CountAs<'_> {
        match self {
            Self::Record(record) => CountAs::Record(record.recovered),
            Self::ToolCall { call, .. } => CountAs::ToolCall(call.recovered),
            Self::RejectedCall(call) => CountAs::Diagnostic(&call.diagnostic),
            Self::Rejected(diagnostic) | Self::Note(diagnostic) => CountAs::Diagnostic(diagnostic),
            Self::Text(_) | Self::Reasoning(_) => CountAs::Other,
        }
    }
}

impl<T: DeserializeOwned> TextParser<T> {
    /// A parser at the start of a text, which deserializes records into `T`.
    #[must_use]
    pub fn new(options: Options, rules: Rules) -> Self {
        let tally = Tally::new(&options.limits);
        let reader = TextReader::new(options.partials(false).text(true), Arc::new(rules));
        Self {
            reader,
            make: |record| record.deserialize(),
            events: VecDeque::new(),
            question: None,
            unread: Vec::new(),
            tally,
            end: None,
            has_ended: false,
        }
    }

    /// A parser with the options, rules and quotas of a driver that has not read anything.
    #[must_use]
    pub fn from_driver<U>(driver: &Driver<U>, reads: Reads) -> Self {
        let mut rules = driver.rules().clone();
        rules.set_reads(reads);
        let quota = driver.tally().quota();
        Self::new(driver.options().clone(), rules).with_quota(|own| *own = quota)
    }
}

impl<T> TextParser<T> {
    /// Changes the quotas for deliveries and rejects: no event follows the one that reaches a quota.
    #[must_use]
    pub fn with_quota(mut self, set: impl FnOnce(&mut StopAfter)) -> Self {
        self.tally.set_quota(set);
        self.stop_if_over();
        self
    }

    /// Reads the next piece of the text. Take the events after each piece. A piece after the [end](Self::finish) is
    /// ignored.
    pub fn push(&mut self, piece: impl AsRef<[u8]>) {
        if self.end.is_some() {
            return;
        }
        let piece = piece.as_ref();
        if self.reader.is_asking() {
            self.unread.extend_from_slice(piece);
        } else {
            let read = self.read(piece);
            self.unread.extend_from_slice(&piece[read..]);
        }
    }

    /// Reads up to a question; returns how many of the bytes were read.
    fn read(&mut self, bytes: &[u8]) -> usize {
        let Self { reader, make, events, question, .. } = self;
        let read = reader.read(bytes, CheckedChunk::new(bytes), *make, |_, part| add(part, events, question));
        reader.arriving();
        read
    }

    /// The next event of the text that was pushed; `None` if more text is needed.
    pub fn next_event(&mut self) -> Option<TextEvent<T>> {
        while self.events.is_empty() && !self.reader.is_asking() {
            if !self.unread.is_empty() {
                let unread = mem::take(&mut self.unread);
                let read = self.read(&unread);
                self.unread.extend_from_slice(&unread[read..]);
            } else if let Some(end) = self.end.filter(|_| !self.has_ended) {
                let Self { reader, make, events, question, .. } = self;
                let sink = |_, part: TextPart<'_, T>| add(part, events, question);
                reader.finish(CompletedBy::EndOfInput, end, *make, sink);
                self.has_ended = !self.reader.is_asking();
            } else {
                break;
            }
        }
        let event = self.events.pop_front()?;
        self.tally.count(event.count_as());
        self.stop_if_over();
        Some(event)
    }

    /// Ends the text. [`next_event`](Self::next_event) then returns the last events.
    pub fn finish(&mut self) {
        StreamMachine::finish(self, SourceEnd::Clean);
    }

    /// The counts and diagnostics of the events so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.tally.report()
    }

    /// Ends here: reads and yields nothing more.
    pub fn stop(&mut self) {
        (self.events, self.unread, self.question) = (VecDeque::new(), Vec::new(), None);
        self.end.get_or_insert(SourceEnd::Failed);
        self.has_ended = true;
        self.reader.reset();
    }

    fn stop_if_over(&mut self) {
        if self.tally.is_over() {
            self.stop();
        }
    }
}

/// Adds a part to the events; consecutive pieces of text are joined.
fn add<T>(part: TextPart<'_, T>, events: &mut VecDeque<TextEvent<T>>, question: &mut Option<Box<Rejected>>) {
    let event = match part {
        TextPart::Text("") | TextPart::Reasoning("") | TextPart::Partial(_) => return,
        TextPart::Text(text) => match events.back_mut() {
            Some(TextEvent::Text(before)) => return before.push_str(text),
            _ => TextEvent::Text(text.to_owned()),
        },
        TextPart::Reasoning(text) => match events.back_mut() {
            Some(TextEvent::Reasoning(before)) => return before.push_str(text),
            _ => TextEvent::Reasoning(text.to_owned()),
        },
        TextPart::Note(diagnostic) => TextEvent::from_diagnostic(diagnostic),
        TextPart::Verdict(verdict) => match verdict {
            Verdict::Record(record) => TextEvent::Record(record),
            Verdict::Call(call, record) => TextEvent::ToolCall { call, record },
            Verdict::RejectedCall(call) => TextEvent::RejectedCall(call),
            Verdict::Rejected(diagnostic) => TextEvent::from_diagnostic(diagnostic),
            Verdict::NotACall(call) => TextEvent::from_diagnostic(call.diagnostic),
            Verdict::Ask(rejected) => {
                *question = Some(rejected);
                return;
            }
        },
    };
    events.push_back(event);
}

/// The bytes that are read at a time: bounds the queue.
const SLICE: usize = 8 * 1024;

impl<T> StreamMachine for TextParser<T> {
    type Event = TextEvent<T>;

    fn step(&mut self, input: &[u8]) -> (usize, StreamStep<TextEvent<T>>) {
        if self.question.is_none() && self.reader.is_asking() {
            self.resume(None);
        }
        let mut at = 0;
        loop {
            if let Some(event) = self.next_event() {
                return (at, StreamStep::Event(event));
            }
            if let Some(rejected) = self.question.take() {
                return (at, StreamStep::Repair(rejected));
            }
            if self.end.is_some() {
                return (input.len(), StreamStep::Done);
            }
            if at == input.len() {
                return (at, StreamStep::NeedInput);
            }
            let end = (at + SLICE).min(input.len());
            self.push(&input[at..end]);
            at = end;
        }
    }

    fn finish(&mut self, end: SourceEnd) {
        if self.end.is_none() {
            self.end = Some(end);
            if end == SourceEnd::Clean {
                self.tally.report_mut().set_complete();
            }
        }
    }

    fn resume(&mut self, replacement: Option<String>) {
        let Self { reader, make, events, question, .. } = self;
        *question = None;
        // It may ask again.
        reader.answer(replacement, *make, |_, part| add(part, events, question));
    }

    fn count_as<'a>(&self, event: &'a TextEvent<T>) -> CountAs<'a> {
        event.count_as()
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn is_done(&self) -> bool {
        self.has_ended && self.events.is_empty()
    }
}

/// Shows counts only: what is buffered may be private.
impl<T> fmt::Debug for TextParser<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextParser").field("report", self.report()).finish_non_exhaustive()
    }
}
