//! The driver under all streams of text: decodes, validates, repairs and counts records.

mod partials;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::adapter::{
    CountAs, Judge, Made, Passage, RepetitionGuard, Rules, SourceEnd, StopAfter, StreamMachine, StreamStep,
    Tally, Verdict,
};
use crate::json::{Raw, Value, ValueDelta};
use crate::{
    CompletedBy, Diagnostic, EarlyEnd, Event, OpenRecord, Options, Reads, Record, RecordDecoder, Rejected,
    Release, RepetitionLimits, Report, ToolCall, Validate, ValidateCall,
};
pub use partials::PartialDriver;

/// Typed records or tool calls from text: everything a stream does except I/O.
///
/// For adapters to other kinds of streams; `JsonlStreamParser` and `JsonlCodec` of `tokenline-codec` are
/// built on it. It decodes records, validates them against a schema or tools, deserializes them into `T`,
/// asks a repair hook about rejects, counts in a [`Report`], and ends early at a quota. To read a text that
/// is in memory, [`JsonlParser`](crate::JsonlParser) is simpler.
///
/// ```
/// use tokenline_core::json::Raw;
/// use tokenline_core::adapter::{Driver, SourceEnd, StreamMachine, StreamStep};
/// use tokenline_core::{Event, Options};
///
/// let mut driver = Driver::<Raw>::new(Options::lenient())
///     .with_repair(|rejected| Some(rejected.text.replace("NaN", "null")))
///     .with_quota(|quota| quota.max_records = Some(3));
/// let mut chunks = ["{\"a\":1}\n{\"a\":N", "aN}\n{\"a\":3}\n{\"a\":4}\n"].into_iter();
/// let (mut chunk, mut records) = ("", Vec::new());
/// loop {
///     let (consumed, step) = driver.step(chunk.as_bytes());
///     chunk = &chunk[consumed..];
///     match step {
///         StreamStep::Event(Event::Record(record)) => records.push(record.value.to_string()),
///         StreamStep::Event(_) => {}
///         StreamStep::NeedInput => match chunks.next() {
///             Some(next) => chunk = next,
///             None => driver.finish(SourceEnd::Clean),
///         },
///         StreamStep::Done => break,
///         StreamStep::Repair(_) => unreachable!("the hook replies at once"),
///     }
/// }
/// assert_eq!(records, ["{\"a\":1}", "{\"a\":null}", "{\"a\":3}"]);
/// assert_eq!(driver.report().repaired(), 1);
/// ```
pub struct Driver<T = Raw> {
    decoder: RecordDecoder,
    judge: Judge,
    target: Target<T>,
    /// Boxed: most drivers have none.
    aside: Option<Box<Aside<T>>>,
    tally: Tally,
    end: Option<SourceEnd>,
    is_done: bool,
}

/// The state that few drivers have.
struct Aside<T> {
    /// Events not yielded yet: a record may hold several calls.
    queue: VecDeque<Event<T>>,
    repetition: Option<RepetitionGuard>,
}

impl<T> Default for Aside<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), repetition: None }
    }
}

/// The type that records are read into. Function pointers, so that a driver of calls need not name the type of its
/// records.
enum Target<T> {
    Records(fn(&Record<Value<'_>>) -> Made<T>),
    ToolCalls(fn(ToolCall) -> T),
}

impl<T> Target<T> {
    #[inline]
    fn make(&self, record: &Record<Value<'_>>) -> Made<T> {
        match self {
            Self::Records(make) => make(record),
            Self::ToolCalls(_) => unreachable!("the rules read records as calls"),
        }
    }

    #[inline]
    fn found(&self, verdict: Verdict<T>) -> Found<T> {
        Found::Event(match verdict {
            Verdict::Record(record) => Event::Record(record),
            Verdict::Call(call, place) => match self {
                Self::ToolCalls(convert) => Event::Record(place.map(|()| convert(call))),
                Self::Records(_) => unreachable!("the rules read no calls"),
            },
            Verdict::Rejected(diagnostic) => Event::from_diagnostic(diagnostic),
            Verdict::RejectedCall(call) | Verdict::NotACall(call) => Event::from_diagnostic(call.diagnostic),
            Verdict::Ask(rejected) => return Found::Ask(rejected),
        })
    }
}

/// The outcome of a step of the decoder.
enum Found<T> {
    Event(Event<T>),
    /// A reject that a hook may replace.
    Ask(Box<Rejected>),
    /// A delta, or a list without calls.
    Nothing,
    /// All events of a block, and there is more input.
    Block,
}

impl<T: DeserializeOwned> Driver<T> {
    /// A driver at the start of a text that reads records into `T`. It yields neither partials nor text, because
    /// its events are owned and complete.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let options = options.partials(false).text(false);
        let tally = Tally::new(&options.limits);
        let judge = Judge::new(Arc::default(), &options.limits);
        let target = Target::Records(|record| record.deserialize());
        let decoder = RecordDecoder::new(options);
        let mut driver = Self { decoder, judge, target, aside: None, tally, end: None, is_done: false };
        if driver.decoder.options().repairs_syntax {
            driver.apply(|_| {});
        }
        driver
    }
}

impl<T> Driver<T> {
    /// Restarts with these options and the current rules.
    fn restarted(mut self, options: Options) -> Self {
        let start = self.decoder.start();
        self.decoder = RecordDecoder::new(options);
        let rules = self.judge.rules();
        if rules.reads_only_calls()
            && let Some(tools) = rules.tools()
        {
            self.decoder = self.decoder.with_tools(Arc::clone(tools));
        }
        self.apply(|_| {});
        self.reset();
        match start {
            Some((line, offset)) => self.starting_at(line, offset),
            None => self,
        }
    }

    /// Places the events in a longer text, of which this is the rest from the start of a line. Discards what was read
    /// before.
    #[must_use]
    pub fn starting_at(mut self, line: u64, offset: u64) -> Self {
        self.reset();
        self.decoder.reset_at(line, offset);
        self
    }

    /// Changes the rules. With partials or [`Release::OnBalance`], open records are validated at every chunk.
    fn apply(&mut self, change: impl FnOnce(&mut Rules)) {
        let mut rules = self.judge.rules().clone();
        change(&mut rules);
        let options = self.decoder.options();
        rules.set_syntax_repair(options.repairs_syntax);
        self.judge.set_rules(Arc::new(rules), &options.limits);
        self.judge.set_at_once(options.partials || options.release == Release::OnBalance);
    }

    /// Sets the options for reading. Discards what was read before.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        let options = options.partials(false).text(false);
        let reads_calls = self.judge.rules().reads_only_calls();
        self.restarted(if reads_calls { options.or_any_calls() } else { options })
    }

    /// Reads each record as tool calls, under the same rules. Also finds calls in tags and brackets: those of
    /// [`Options::calls`], by default all. Discards what was read before.
    #[must_use]
    pub fn tool_calls(self) -> Driver<ToolCall> {
        let Self { decoder, mut judge, tally, end, is_done, aside, .. } = self;
        let aside =
            aside.map(|aside| Box::new(Aside { queue: VecDeque::new(), repetition: aside.repetition }));
        let options = decoder.options().clone().or_any_calls();
        let mut rules = judge.rules().clone();
        rules.set_reads(Reads::ToolCalls);
        judge.set_rules(Arc::new(rules), &options.limits);
        let target = Target::ToolCalls(|call| call);
        Driver { decoder, judge, target, aside, tally, end, is_done }.restarted(options)
    }

    /// Applies these rules instead of those so far. Whether records are read as calls stays as it is. If they are, discards
    /// what was read before.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        let reads = self.judge.rules().reads();
        self.apply(|own| {
            *own = rules;
            own.set_reads(reads);
        });
        self.restarted_for_tools()
    }

    /// Tools help the decoder to tell calls from other text.
    fn restarted_for_tools(self) -> Self {
        let options = self.judge.rules().reads_only_calls().then(|| self.decoder.options().clone());
        if let Some(options) = options { self.restarted(options) } else { self }
    }

    /// Validates each record before it is deserialized into `T`, and while it arrives. With several validators, a record
    /// must pass all of them.
    #[must_use]
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.apply(|rules| rules.add_validator(Arc::new(validator)));
        self
    }

    /// Validates each [tool call](Self::tool_calls) against tool definitions.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.apply(|rules| rules.set_tools(Arc::new(tools)));
        self.restarted_for_tools()
    }

    /// Changes the quotas for deliveries and rejects.
    #[must_use]
    pub fn with_quota(mut self, set: impl FnOnce(&mut StopAfter)) -> Self {
        self.tally.set_quota(set);
        self.is_done |= self.tally.is_over();
        self
    }

    /// Asks a closure for replacements of rejects whose code [is repairable](crate::Code::is_repairable). A
    /// replacement must be one JSON object that passes the same rules; otherwise the reject stands. It takes
    /// the place of the reject, and is [marked](crate::Recovery::Repaired).
    #[must_use]
    pub fn with_repair(
        mut self,
        repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.apply(|rules| rules.set_repair(Box::new(repair)));
        self
    }

    /// Like [`with_repair`](Self::with_repair), but asks with [`StreamStep::Repair`] and waits for
    /// [`resume`](StreamMachine::resume).
    #[must_use]
    pub fn with_repair_steps(mut self) -> Self {
        self.apply(Rules::set_repair_steps);
        self
    }

    /// Ends a text that repeats itself, with the warning [`Code::Repetition`](crate::Code::Repetition).
    #[must_use]
    pub fn stop_on_repetition(mut self, limits: RepetitionLimits) -> Self {
        self.aside.get_or_insert_default().repetition = Some(RepetitionGuard::new(&limits));
        self
    }

    pub(crate) fn repetition(&self) -> Option<&RepetitionGuard> {
        self.aside.as_ref()?.repetition.as_ref()
    }

    /// Discards everything that was read and counted, including the end, and starts with the next text.
    pub fn reset(&mut self) {
        self.decoder.reset();
        self.judge.reset();
        if let Some(Aside { queue, repetition }) = self.aside.as_deref_mut() {
            queue.clear();
            if let Some(guard) = repetition {
                guard.reset();
            }
        }
        self.tally.reset(&self.decoder.options().limits);
        self.end = None;
        self.is_done = self.tally.is_over();
    }

    /// Ends here: reads and yields nothing more.
    pub fn stop(&mut self) {
        self.is_done = true;
    }

    /// Why the open record will be rejected, if what is complete of it breaks a rule of the
    /// [validator](Self::with_validator): known within 512 bytes, at once with [`Release::OnBalance`]. The record may still
    /// turn out to be prose or malformed. The span ends where the record did when this was found.
    #[must_use]
    pub fn open_violation(&self) -> Option<&Diagnostic> {
        self.judge.open_violation()
    }

    pub(crate) fn options(&self) -> &Options {
        self.decoder.options()
    }

    pub(crate) fn rules(&self) -> &Rules {
        self.judge.rules()
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.tally.report()
    }

    /// Decodes from `at` up to the next event, and judges it. After the end there is no input.
    #[inline]
    fn decode(
        &mut self,
        input: &[u8],
        at: &mut usize,
        on_delta: &mut impl FnMut(OpenRecord<ValueDelta<'_>>),
    ) -> Option<Found<T>> {
        let Self { decoder, judge, target, aside, .. } = self;
        let (from, start) = (*at, decoder.position());
        // Not all of the input is decoded.
        let mut is_block = false;
        let (event, passage) = match self.end {
            None => {
                let guard = aside.as_mut().and_then(|aside| aside.repetition.as_mut());
                let end = match &guard {
                    Some(guard) => input.len().min(from + guard.block()),
                    None => input.len(),
                };
                let decoded = decoder.decode(&input[from..end]);
                *at += decoded.consumed;
                if let Some(guard) = guard {
                    let position = start + decoded.consumed as u64;
                    guard.event(&input[from..*at], decoded.event.as_ref(), position);
                }
                is_block = end < input.len();
                (decoded.event, Passage::chunk(&input[from..], start))
            }
            Some(end) => (decoder.finish(), Passage::end(start, CompletedBy::EndOfInput, end)),
        };
        let event = match event {
            None if is_block => Some(Found::Block),
            None => None,
            Some(Event::Partial(delta)) => {
                on_delta(delta);
                Some(Found::Nothing)
            }
            Some(Event::Note(diagnostic)) => Some(Found::Event(Event::Note(diagnostic))),
            Some(Event::Rejected(diagnostic)) if !judge.rules().repairs() => {
                Some(Found::Event(Event::Rejected(diagnostic)))
            }
            Some(event) => {
                let make = |record: &Record<Value<'_>>| Ok::<_, Infallible>(target.make(record));
                let mut first = Found::Nothing;
                let sink = |verdict| {
                    if matches!(first, Found::Nothing) {
                        first = target.found(verdict);
                    } else if let Found::Event(event) = target.found(verdict) {
                        aside.get_or_insert_default().queue.push_back(event);
                    }
                    Ok(())
                };
                // `Judge::judge`, but a valid record is not moved through the sink: a twentieth of the work for it.
                match event {
                    Event::Record(record) if !judge.rules().reads_only_calls() => {
                        match judge.judge_alone(&record, make) {
                            Ok(Ok(record)) => first = Found::Event(Event::Record(record)),
                            Ok(Err(fault)) => {
                                let Ok(()) = judge.reject(&record, Verdict::Rejected(*fault), make, sink);
                            }
                        }
                    }
                    event => {
                        let Ok(_) = judge.event(event, passage, make, sink);
                    }
                }
                Some(first)
            }
        };
        judge.keep(decoder, &input[from..*at]);
        event
    }

    /// Ends a text that repeats itself: as one whose source has failed, and with the warning as its last event. Returns
    /// whether it does.
    #[inline]
    fn stops_for_repetition(&mut self) -> bool {
        let Self { decoder, aside, end, .. } = self;
        let guard = aside.as_mut().and_then(|aside| aside.repetition.as_mut()).filter(|_| end.is_none());
        let stops = guard.is_some_and(|guard| guard.stops(|| decoder.line()));
        if stops {
            *end = Some(SourceEnd::Failed);
        }
        stops
    }

    /// The warning of a text that was stopped, once.
    #[cold]
    fn repetition_warning(&mut self) -> Option<Event<T>> {
        let warning = self.repetition()?.warning().filter(|_| self.tally.report().ended_by().is_none())?;
        self.tally.report_mut().set_ended_by(EarlyEnd::Repetition);
        Some(Event::Note(warning))
    }

    /// [`step`](StreamMachine::step), with a look at the deltas of the open record on the way.
    #[inline]
    fn step_with(
        &mut self,
        input: &[u8],
        mut on_delta: impl FnMut(OpenRecord<ValueDelta<'_>>),
    ) -> (usize, StreamStep<Event<T>>) {
        if self.judge.is_asking() {
            self.resume(None);
        }
        let mut at = 0;
        while !self.is_done {
            if self.end.is_some() {
                at = input.len();
            }
            let event = match self.aside.as_mut().and_then(|aside| aside.queue.pop_front()) {
                Some(event) => event,
                None => match self.decode(input, &mut at, &mut on_delta) {
                    Some(Found::Event(event)) => event,
                    Some(Found::Ask(rejected)) => return (at, StreamStep::Repair(rejected)),
                    Some(Found::Nothing) => continue,
                    Some(Found::Block) => {
                        self.stops_for_repetition();
                        continue;
                    }
                    None if self.end.is_none() => {
                        if self.stops_for_repetition() {
                            continue;
                        }
                        self.judge.arriving(&mut self.decoder);
                        return (at, StreamStep::NeedInput);
                    }
                    None => match self.repetition_warning() {
                        Some(warning) => warning,
                        None => {
                            self.is_done = true;
                            continue;
                        }
                    },
                },
            };
            self.tally.count(self.count_as(&event));
            self.is_done |= self.tally.is_over();
            return (at, StreamStep::Event(event));
        }
        (input.len(), StreamStep::Done)
    }
}

impl<T> StreamMachine for Driver<T> {
    type Event = Event<T>;

    #[inline]
    fn step(&mut self, input: &[u8]) -> (usize, StreamStep<Event<T>>) {
        self.step_with(input, |_| {})
    }

    fn finish(&mut self, end: SourceEnd) {
        if !self.is_done && *self.end.get_or_insert(end) == SourceEnd::Clean {
            self.tally.report_mut().set_complete();
        }
    }

    fn resume(&mut self, replacement: Option<String>) {
        let make = |record: &Record<Value<'_>>| Ok::<_, Infallible>(self.target.make(record));
        let Ok(verdict) = self.judge.resume(replacement, make);
        if let Some(Found::Event(event)) = verdict.map(|verdict| self.target.found(verdict)) {
            self.aside.get_or_insert_default().queue.push_back(event);
        }
    }

    #[inline]
    fn count_as<'a>(&self, event: &'a Event<T>) -> CountAs<'a> {
        match event.count_as() {
            CountAs::Record(recovered) if self.judge.rules().reads_only_calls() => {
                CountAs::ToolCall(recovered)
            }
            count_as => count_as,
        }
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

/// Shows positions and counts only: what is buffered may be private.
impl<T> fmt::Debug for Driver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("position", &self.decoder.position())
            .field("report", self.report())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Step = StreamStep<Event<Raw>>;

    fn awaiting_repair(text: &str) -> (Driver<Raw>, usize) {
        let mut driver = Driver::new(Options::lenient()).with_repair_steps();
        let (consumed, step) = driver.step(text.as_bytes());
        let StreamStep::Repair(rejected) = step else { panic!("{step:?}") };
        assert_eq!(rejected.text, "{\"a\":x}");
        (driver, consumed)
    }

    #[test]
    fn without_a_valid_replacement_the_reject_stands() {
        let text = "{\"a\":x}\n{\"a\":2}\n";
        for replacement in [None, Some(None), Some(Some("[]".to_owned()))] {
            let (mut driver, at) = awaiting_repair(text);
            if let Some(replacement) = replacement {
                driver.resume(replacement);
            }
            let (consumed, step) = driver.step(&text.as_bytes()[at..]);
            assert!(matches!(step, Step::Event(Event::Rejected(_))), "{step:?}");
            let (_, step) = driver.step(&text.as_bytes()[at + consumed..]);
            assert!(matches!(step, Step::Event(Event::Record(_))), "{step:?}");
        }
    }

    #[test]
    fn a_value_without_the_items_is_not_asked_about_however_it_is_cut() {
        let text = b"{\n \"n\": 0\n}\n";
        for piece in [1, 7, text.len()] {
            let options = Options::lenient().items("/rows").expect("a pointer");
            let mut driver: Driver<Raw> = Driver::new(options).with_repair(|rejected| panic!("{rejected:?}"));
            let mut rejects = 0;
            for piece in text.chunks(piece) {
                let mut at = 0;
                while let (consumed, Step::Event(event)) = driver.step(&piece[at..]) {
                    at += consumed;
                    rejects += usize::from(matches!(event, Event::Rejected(_)));
                }
            }
            assert_eq!(rejects, 1, "{piece}");
        }
    }

    #[test]
    fn a_change_of_the_rules_keeps_an_open_record_and_a_question() {
        struct Any;
        impl Validate for Any {
            fn validate(&self, _: Value<'_>) -> Result<(), Box<crate::Violation>> {
                Ok(())
            }
        }
        let mut driver = Driver::<Raw>::new(Options::lenient()).with_repair_steps();
        assert_eq!(driver.step(b"{\"a\":"), (5, Step::NeedInput));
        let mut driver = driver.with_validator(Any);
        let (_, step) = driver.step(b"x}\n");
        assert!(matches!(&step, Step::Repair(rejected) if rejected.text == "{\"a\":x}"), "{step:?}");
        let mut driver = driver.with_validator(Any);
        driver.resume(Some("{\"a\":1}".to_owned()));
        assert!(matches!(driver.step(b""), (0, Step::Event(Event::Record(_)))));
    }

    #[test]
    fn a_hook_that_panics_loses_nothing() {
        use std::panic::{AssertUnwindSafe, catch_unwind};

        let texts = Arc::new(std::sync::Mutex::new(Vec::new()));
        let asked = Arc::clone(&texts);
        let mut driver = Driver::<Raw>::new(Options::lenient()).with_repair(move |rejected| {
            asked.lock().expect("not poisoned").push(rejected.text.clone());
            assert_ne!(rejected.text, "{\"a\":x}", "the panic that is tested");
            None
        });
        assert!(catch_unwind(AssertUnwindSafe(|| driver.step(b"{\"a\":x}\n"))).is_err());
        let (mut rejects, mut records) = (0, 0);
        for chunk in [&b"{\"b\":y"[..], b"y}\n{\"c\":1}\n"] {
            let mut rest = chunk;
            while let (consumed, Step::Event(event)) = driver.step(rest) {
                rest = &rest[consumed..];
                *(if matches!(event, Event::Rejected(_)) { &mut rejects } else { &mut records }) += 1;
            }
        }
        assert_eq!((rejects, records), (2, 1));
        assert_eq!(texts.lock().expect("free").last().map(String::as_str), Some("{\"b\":yy}"));
    }

    #[test]
    fn an_unsolicited_replacement_is_ignored() {
        let (mut driver, _) = awaiting_repair("{\"a\":x}\n");
        driver.reset();
        driver.resume(Some("{}".to_owned()));
        assert_eq!(driver.step(b""), (0, Step::NeedInput));
    }

    #[test]
    fn a_start_survives_other_settings_and_ends_with_the_text() {
        let driver = Driver::<Raw>::new(Options::lenient()).starting_at(7, 100);
        let driver = driver.with_options(Options::strict()).with_rules(Rules::default());
        let mut driver = driver.tool_calls().with_options(Options::lenient());
        let place = |driver: &mut Driver<ToolCall>| {
            let (_, step) = driver.step(b"[\n");
            assert!(matches!(step, StreamStep::NeedInput), "{step:?}");
            driver.finish(SourceEnd::Clean);
            match driver.step(b"") {
                (_, StreamStep::Event(Event::Rejected(diagnostic))) => {
                    (diagnostic.line, diagnostic.span.start)
                }
                (_, other) => panic!("{other:?}"),
            }
        };
        assert_eq!(place(&mut driver), (8, 100));
        driver.reset();
        assert_eq!(place(&mut driver), (2, 0));
    }

    /// With its buffers, a stream takes about 1 KB while it waits for the rest of a line.
    #[test]
    fn an_idle_driver_is_small() {
        assert!(size_of::<Driver<Raw>>() <= 768, "{}", size_of::<Driver<Raw>>());
    }

    #[test]
    fn nothing_is_read_after_the_end() {
        for end in [Driver::stop, |driver: &mut Driver<Raw>| driver.finish(SourceEnd::Clean)] {
            let mut driver = Driver::<Raw>::new(Options::lenient());
            assert_eq!(driver.step(b"{\"a\":1}"), (7, Step::NeedInput));
            end(&mut driver);
            while !driver.is_done() {
                assert_eq!(driver.step(b"{}\n").0, 3);
            }
            assert_eq!(driver.step(b"{}\n"), (3, Step::Done));
            assert!(driver.report().records() <= 1);
        }
    }
}
