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
    CheckedChunk, Code, CompletedBy, Diagnostic, EarlyEnd, Event, Options, Reads, Record, Rejected,
    RejectedCall, Report, ToolCall,
};

/// Parses everything in a text, without I/O: records, tool calls, and the text beside them, in order.
///
/// [Push](Self::push) pieces of the text, take the events, and [finish](Self::finish). The events do not depend on how the
/// text is cut, except that text and reasoning come in pieces. The [rules](Rules) say how objects are read, and what they
/// have to pass.
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
///         match event {
///             TextEvent::Record(record) => seen.push(record.value.to_string()),
///             TextEvent::ToolCall { call, .. } => seen.push(format!("{}({})", call.name, call.parameters)),
///             TextEvent::Text(text) => seen.push(text),
///             TextEvent::RejectedCall(call) => eprintln!("{call}"),
///             _ => {}
///         }
///     }
/// }
/// parser.finish();
/// seen.extend(std::iter::from_fn(|| parser.next_event()).filter_map(|event| match event {
///     TextEvent::Text(text) => Some(text),
///     _ => None,
/// }));
/// assert_eq!(seen, ["Two things:\n", "{\"n\":1}", "weather({})", "Done."]);
/// ```
pub struct TextParser<T = Raw> {
    reader: TextReader,
    make: fn(&Record<Value<'_>>) -> Made<T>,
    events: VecDeque<TextEvent<T>>,
    /// The reject that a replacement is needed for, until it is asked for.
    question: Option<Box<Rejected>>,
    /// Pushed bytes that wait until the events before them are taken, or for the answer to a question.
    unread: Vec<u8>,
    /// The length of `unread` already read.
    read_to: usize,
    tally: Tally,
    end: Option<SourceEnd>,
    /// All that was pushed is read.
    is_ending: bool,
    has_ended: bool,
    /// It repeats itself.
    is_stopped: bool,
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
    /// Text for people, as it arrives: without records, calls and the markup around them. A reject that is not a call is in
    /// the text as well.
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

    fn count_as(&self) -> CountAs<'_> {
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
        let mut reader = TextReader::new(options.partials(false).text(true), Arc::new(rules));
        reader.set_max_events(MAX_EVENTS);
        Self {
            reader,
            make: |record| record.deserialize(),
            events: VecDeque::new(),
            question: None,
            unread: Vec::new(),
            read_to: 0,
            tally,
            end: None,
            is_ending: false,
            has_ended: false,
            is_stopped: false,
        }
    }

    /// A parser with the options, rules and quotas of a driver that has not read anything.
    #[must_use]
    pub fn from_driver<U>(driver: &Driver<U>, reads: Reads) -> Self {
        let mut rules = driver.rules().clone();
        rules.set_reads(reads);
        let quota = driver.tally().quota();
        let mut parser = Self::new(driver.options().clone(), rules).with_quota(|own| *own = quota);
        if let Some(guard) = driver.repetition() {
            parser.reader.guard(guard.limits());
        }
        parser
    }
}

impl<T> TextParser<T> {
    /// Changes the quotas for deliveries and rejects: no event follows the one that reaches a quota.
    #[must_use]
    pub fn with_quota(mut self, set: impl FnOnce(&mut StopAfter)) -> Self {
        self.tally.set_quota(set);
        let StopAfter { max_records, error_budget, .. } = self.tally.quota();
        if max_records.is_some() || error_budget.is_some() {
            // What follows the last event is not read.
            self.reader.set_max_events(1);
        }
        self.stop_if_over();
        self
    }

    /// Discards everything that was read and counted, including the end, and starts with the next text.
    pub fn reset(&mut self) {
        self.discard();
        let limits = self.reader.decoder().options().limits;
        self.tally.reset(&limits);
        (self.end, self.is_ending, self.has_ended, self.is_stopped) = (None, false, false, false);
        self.stop_if_over();
    }

    fn discard(&mut self) {
        (self.events, self.unread, self.read_to, self.question) = (VecDeque::new(), Vec::new(), 0, None);
        self.reader.reset();
    }

    /// Reads the next piece of the text. Take the events after each piece: once many are queued, the rest of it stays
    /// unread. A piece after the [end](Self::finish) is ignored.
    pub fn push(&mut self, piece: impl AsRef<[u8]>) {
        if self.end.is_some() {
            return;
        }
        let piece = piece.as_ref();
        let read = if self.unread.is_empty() { self.read(piece) } else { 0 };
        if self.is_stopped {
            return;
        }
        self.unread.extend_from_slice(&piece[read..]);
    }

    /// Reads a part of the bytes, up to a question or a pause; returns how many of them were read.
    fn read(&mut self, bytes: &[u8]) -> usize {
        let Self { reader, make, events, question, .. } = self;
        let most = match reader.repetition() {
            Some(guard) => guard.block(),
            None => SLICE,
        };
        let bytes = &bytes[..bytes.len().min(most)];
        let read = reader.read(bytes, CheckedChunk::new(bytes), *make, |_, part| add(part, events, question));
        self.validate();
        self.stop_if_it_repeats();
        read
    }

    /// Ends a text that repeats itself, as one whose source has failed.
    fn stop_if_it_repeats(&mut self) {
        let reader = &mut self.reader;
        if self.end.is_some() || reader.is_asking() || reader.is_paused() {
            return;
        }
        if reader.stops_for_repetition() {
            (self.unread, self.read_to) = (Vec::new(), 0);
            (self.end, self.is_stopped) = (Some(SourceEnd::Failed), true);
        }
    }

    /// The warning of a text that was stopped: its last event.
    #[cold]
    fn warn_of_repetition(&mut self) {
        let warning = self.reader.repetition().and_then(|guard| guard.warning());
        self.events.extend(warning.map(TextEvent::Note));
    }

    /// Validates the open record, once the reader has no more events.
    fn validate(&mut self) {
        if !self.reader.is_asking() && !self.reader.is_paused() {
            self.reader.arriving();
        }
    }

    /// Reads on in what was pushed, or at its end. Returns whether there may be more to read.
    fn read_on(&mut self) -> bool {
        let Self { reader, make, events, question, .. } = self;
        let sink = |_, part: TextPart<'_, T>| add(part, events, question);
        if reader.is_paused() && !self.is_ending {
            reader.read_on(*make, sink);
            self.validate();
            self.stop_if_it_repeats();
        } else if !self.unread.is_empty() {
            let unread = mem::take(&mut self.unread);
            let read = self.read(&unread[self.read_to..]);
            if self.is_stopped {
                return true;
            }
            self.read_to += read;
            if self.read_to < unread.len() {
                self.unread = unread;
            } else {
                self.read_to = 0;
            }
        } else if let Some(end) = self.end.filter(|_| !self.has_ended) {
            self.is_ending = true;
            reader.finish(CompletedBy::EndOfInput, end, *make, sink);
            self.has_ended = !reader.is_asking() && !reader.is_paused();
            if self.has_ended && self.is_stopped {
                self.warn_of_repetition();
            }
        } else {
            return false;
        }
        true
    }

    /// The next event of the text that was pushed; `None` if more text is needed or an answer, and at the end.
    pub fn next_event(&mut self) -> Option<TextEvent<T>> {
        while self.events.is_empty() && !self.reader.is_asking() && self.read_on() {}
        let event = self.events.pop_front()?;
        if self.events.is_empty() {
            // One dense piece must not pin memory.
            self.events.shrink_to(MAX_EVENTS);
        }
        self.tally.count(event.count_as());
        if matches!(&event, TextEvent::Note(note) if note.code == Code::Repetition) {
            self.tally.report_mut().set_ended_by(EarlyEnd::Repetition);
        }
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

    /// Reads and yields nothing more if a quota ends the text here.
    fn stop_if_over(&mut self) {
        if self.tally.is_over() {
            self.discard();
            self.end.get_or_insert(SourceEnd::Failed);
            self.has_ended = true;
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

/// The most bytes that are read at a time.
const SLICE: usize = 8 * 1024;

/// The most events of the decoder that are queued.
const MAX_EVENTS: usize = 64;

impl<T> StreamMachine for TextParser<T> {
    type Event = TextEvent<T>;

    fn step(&mut self, input: &[u8]) -> (usize, StreamStep<TextEvent<T>>) {
        if self.question.is_none() && self.reader.is_asking() {
            self.resume(None);
        }
        let mut at = if self.end.is_some() { input.len() } else { 0 };
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
        self.stop_if_it_repeats();
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn parser(rules: Rules) -> TextParser<Raw> {
        TextParser::new(Options::lenient(), rules)
    }

    fn steps(parser: &mut TextParser<Raw>, mut rest: &[u8]) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let (consumed, step) = parser.step(rest);
            rest = &rest[consumed..];
            seen.push(match step {
                StreamStep::Event(TextEvent::Record(record)) => record.value.to_string(),
                StreamStep::Event(TextEvent::Text(text)) => format!("text {text}"),
                StreamStep::Event(TextEvent::Rejected(diagnostic)) => diagnostic.code.to_string(),
                StreamStep::Event(_) => continue,
                StreamStep::Repair(rejected) => {
                    seen.push(format!("asked about {}", rejected.text));
                    return seen;
                }
                StreamStep::NeedInput | StreamStep::Done => return seen,
            });
        }
    }

    #[test]
    fn nothing_is_read_beyond_a_quota() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let mut rules = Rules::default();
        rules.set_repair(Box::new(move |rejected| {
            log.lock().expect("not poisoned").push(rejected.text);
            None
        }));
        let mut parser = parser(rules).with_quota(|quota| quota.max_records = Some(1));
        assert_eq!(steps(&mut parser, b"{\"a\":1}\n{\"a\":x}\n{\"a\":2}\n"), ["{\"a\":1}"]);
        assert!(parser.is_done() && asked.lock().expect("not poisoned").is_empty());
        assert_eq!((parser.report().records(), parser.report().is_complete()), (1, false));

        parser.reset();
        assert_eq!(steps(&mut parser, b"{\"b\":1}\n"), ["{\"b\":1}"]);

        let mut parser = self::parser(Rules::default()).with_quota(|quota| quota.error_budget = Some(1));
        let seen = steps(&mut parser, b"{\"a\":x}\n{\"a\":y}\n{\"a\":3}\n");
        assert_eq!(seen.iter().filter(|line| !line.starts_with("text")).count(), 2, "{seen:?}");
        assert!(parser.is_done() && parser.tally().too_many_rejected().is_some());
    }

    #[test]
    fn nothing_is_read_after_the_end() {
        let mut parser = parser(Rules::default());
        assert_eq!(parser.step(b"{\"a\":1}"), (7, StreamStep::NeedInput));
        StreamMachine::finish(&mut parser, SourceEnd::Clean);
        while !parser.is_done() {
            assert_eq!(parser.step(b"{}\n").0, 3);
        }
        assert_eq!(parser.step(b"{}\n"), (3, StreamStep::Done));
        assert!(parser.report().is_complete() && parser.report().records() == 1);
    }

    #[test]
    fn an_answer_after_the_end_of_the_source_counts() {
        let mut rules = Rules::default();
        rules.set_repair_steps();
        let mut parser = parser(rules);
        assert_eq!(steps(&mut parser, b"{\"a\":x} {\"b\":1}\n{\"c\":y"), ["asked about {\"a\":x}"]);
        StreamMachine::finish(&mut parser, SourceEnd::Clean);
        parser.resume(Some("{\"a\":0}".to_owned()));
        assert_eq!(steps(&mut parser, b""), ["{\"a\":0}", "{\"b\":1}", "asked about {\"c\":y"]);
        // It is not answered.
        assert_eq!(steps(&mut parser, b""), ["malformed_json", "text {\"c\":y"]);
        assert!(parser.is_done());
    }

    /// Text hidden by reasoning that is not closed is read again at the end.
    #[test]
    fn the_queue_is_bounded() {
        let hidden = "x\n<think>\n".to_owned() + &"{\"a\":1}\n".repeat(10_000);
        for text in ["{\"a\":1}\n".repeat(10_000), hidden] {
            let mut parser = parser(Rules::default());
            parser.push(&text);
            parser.finish();
            let mut count = 0;
            while parser.next_event().is_some() {
                count += 1;
                assert!(parser.events.len() <= 2 * MAX_EVENTS, "{}", parser.events.len());
            }
            assert!(count >= 1 && parser.is_done());
        }
    }
}
