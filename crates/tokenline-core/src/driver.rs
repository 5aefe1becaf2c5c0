//! The driver under all streams of text: decodes, validates, repairs and counts records.

mod partials;
mod rules;

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::adapter::{
    CountAs, RejectBuffer, RepairHook, SourceEnd, StopAfter, StreamMachine, StreamStep, Tally,
};
use crate::json::{Raw, ValueDelta};
use crate::{
    CompletedBy, Diagnostic, Event, LentEvent, OpenRecord, OpenValidation, Options, Record, RecordDecoder,
    Rejected, Release, Report, ToolCall, Validate, ValidateCall,
};
pub use partials::PartialDriver;
use rules::{HookOutcome, Rules};

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
    rules: Rules<T>,
    tally: Tally,
    /// Boxed, and present only with a hook, so that other drivers pay one branch.
    repair: Option<Box<Repair>>,
    end: Option<SourceEnd>,
    is_done: bool,
}

struct Repair {
    /// `None` asks the caller, with [`StreamStep::Repair`].
    hook: Option<RepairHook>,
    buffer: RejectBuffer,
    asked: Option<(Diagnostic, Record<()>)>,
}

impl<T: DeserializeOwned> Driver<T> {
    /// A driver at the start of a text that reads records into `T`. It yields neither partials nor text, because
    /// its events are owned and complete.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let options = options.partials(false).text(false);
        let tally = Tally::new(&options.limits);
        let decoder = RecordDecoder::new(options);
        Self { decoder, rules: Rules::records(), tally, repair: None, end: None, is_done: false }
    }
}

impl<T> Driver<T> {
    /// Restarts with these options and the current rules.
    fn restarted(mut self, options: Options) -> Self {
        self.decoder = RecordDecoder::new(options);
        if self.rules.yields_calls()
            && let Some(tools) = &self.rules.tools
        {
            self.decoder = self.decoder.with_tools(Arc::clone(tools));
        }
        if let Some(repair) = &mut self.repair {
            repair.buffer = RejectBuffer::new(&self.decoder.options().limits);
        }
        self.set_pace_of_validation();
        self.reset();
        self
    }

    /// Those who want to know at once what there is also want to know at once that it is invalid.
    fn set_pace_of_validation(&mut self) {
        let options = self.decoder.options();
        let is_at_once = options.partials || options.release == Release::OnBalance;
        if let Some(validation) = &mut self.rules.validation {
            validation.set_at_once(is_at_once);
        }
    }

    /// Sets the options for reading. Discards what was read before.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        let options = options.partials(false).text(false);
        let yields_calls = self.rules.yields_calls();
        self.restarted(if yields_calls { options.or_any_calls() } else { options })
    }

    /// Reads each record as tool calls, under the same rules. Also finds calls in tags and brackets: those of
    /// [`Options::calls`], by default all. Discards what was read before.
    #[must_use]
    pub fn tool_calls(self) -> Driver<ToolCall> {
        let Self { decoder, rules, tally, repair, end, is_done } = self;
        let (options, rules) = (decoder.options().clone().or_any_calls(), rules.tool_calls());
        Driver { decoder, rules, tally, repair, end, is_done }.restarted(options)
    }

    /// Validates each record before it is deserialized into `T`, and while it arrives.
    #[must_use]
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.rules.validation = Some(Box::new(OpenValidation::new(Arc::new(validator))));
        self.set_pace_of_validation();
        self
    }

    /// Validates each [tool call](Self::tool_calls) against tool definitions.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.rules.tools = Some(Arc::new(tools));
        let options = self.rules.yields_calls().then(|| self.decoder.options().clone());
        if let Some(options) = options { self.restarted(options) } else { self }
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
    pub fn with_repair(self, repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static) -> Self {
        self.with_hook(Some(Box::new(repair)))
    }

    /// Like [`with_repair`](Self::with_repair), but asks with [`StreamStep::Repair`] and waits for
    /// [`resume`](StreamMachine::resume).
    #[must_use]
    pub fn with_repair_steps(self) -> Self {
        self.with_hook(None)
    }

    fn with_hook(mut self, hook: Option<RepairHook>) -> Self {
        let buffer = RejectBuffer::new(&self.decoder.options().limits);
        self.repair = Some(Box::new(Repair { hook, buffer, asked: None }));
        self
    }

    /// Discards everything that was read and counted, including the end, and starts with the next text.
    pub fn reset(&mut self) {
        self.decoder.reset();
        self.rules.reset();
        self.tally.reset(&self.decoder.options().limits);
        if let Some(repair) = &mut self.repair {
            repair.buffer.reset();
            repair.asked = None;
        }
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
        self.rules.validation.as_ref()?.violation()
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.tally.report()
    }

    /// Decodes from `at` up to the next event, and applies the rules to it. After the end there is no input.
    #[inline]
    fn decode(
        &mut self,
        input: &[u8],
        at: &mut usize,
        on_delta: &mut impl FnMut(OpenRecord<ValueDelta<'_>>),
    ) -> Option<HookOutcome<T>> {
        let from = *at;
        let (event, end) = match self.end {
            None => {
                let decoded = self.decoder.decode(&input[from..]);
                *at += decoded.consumed;
                (decoded.event, SourceEnd::Clean)
            }
            Some(end) => (self.decoder.finish(), end),
        };
        let rules = &mut self.rules;
        let mut read = |event: LentEvent<'_>, buffer: Option<&mut RejectBuffer>| match event {
            Event::Partial(partial) => {
                on_delta(partial);
                HookOutcome::Nothing
            }
            event => rules.read(event, end, buffer),
        };
        let Some(repair) = &mut self.repair else {
            return event.map(|event| read(event, None));
        };
        let mut outcome = event.map(|event| read(event, Some(&mut repair.buffer)));
        if let Some(HookOutcome::Rejected(diagnostic)) = &outcome {
            let start = self.decoder.position() - (*at - from) as u64;
            let completion = self.end.map_or(CompletedBy::Newline, |_| CompletedBy::EndOfInput);
            if let Some(rejected) = repair.buffer.rejected(diagnostic, completion, &input[from..], start) {
                outcome = Some(HookOutcome::Ask(Box::new(rejected)));
            }
        }
        repair.buffer.keep(&self.decoder, &input[from..*at]);
        outcome
    }

    /// Asks the hook. Without one, returns what to ask the caller.
    #[cold]
    fn ask(&mut self, rejected: Rejected, place: Record<()>) -> Option<Rejected> {
        let repair = self.repair.as_mut()?;
        repair.asked = Some((rejected.diagnostic.clone(), place));
        let Some(hook) = &mut repair.hook else { return Some(rejected) };
        let replacement = hook(rejected);
        self.resume(replacement);
        None
    }

    /// [`step`](StreamMachine::step), with a look at the deltas of the open record on the way.
    #[inline]
    fn step_with(
        &mut self,
        input: &[u8],
        mut on_delta: impl FnMut(OpenRecord<ValueDelta<'_>>),
    ) -> (usize, StreamStep<Event<T>>) {
        if self.repair.as_ref().is_some_and(|repair| repair.asked.is_some()) {
            self.resume(None);
        }
        let mut at = 0;
        while !self.is_done {
            if self.end.is_some() {
                at = input.len();
            }
            let event = match self.rules.pop_queued() {
                Some(event) => event,
                None => match self.decode(input, &mut at, &mut on_delta) {
                    Some(HookOutcome::Event(event)) => event,
                    Some(HookOutcome::Rejected(diagnostic)) => Event::Rejected(diagnostic),
                    Some(HookOutcome::Ask(rejected)) => {
                        let (rejected, place) = *rejected;
                        match self.ask(rejected, place) {
                            Some(rejected) => return (at, StreamStep::Repair(Box::new(rejected))),
                            None => continue,
                        }
                    }
                    Some(HookOutcome::Nothing) => continue,
                    None if self.end.is_none() => {
                        self.rules.read_on(&mut self.decoder);
                        return (at, StreamStep::NeedInput);
                    }
                    None => {
                        self.is_done = true;
                        continue;
                    }
                },
            };
            self.count(&event);
            return (at, StreamStep::Event(event));
        }
        (input.len(), StreamStep::Done)
    }

    #[inline]
    fn count(&mut self, event: &Event<T>) {
        self.tally.count(self.rules.count_as(event));
        self.is_done |= self.tally.is_over();
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
        let Some((diagnostic, place)) = self.repair.as_mut().and_then(|repair| repair.asked.take()) else {
            return;
        };
        let record = replacement.and_then(|replacement| {
            place.repaired(&replacement, &self.decoder.options().limits, |record| {
                self.rules.read_one(record)
            })?
        });
        let event = record.map_or_else(|| Event::from_diagnostic(diagnostic), Event::Record);
        self.rules.push_queued(event);
    }

    fn count_as<'a>(&self, event: &'a Event<T>) -> CountAs<'a> {
        self.rules.count_as(event)
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
    fn an_unsolicited_replacement_is_ignored() {
        let (mut driver, _) = awaiting_repair("{\"a\":x}\n");
        driver.reset();
        driver.resume(Some("{}".to_owned()));
        assert_eq!(driver.step(b""), (0, Step::NeedInput));
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
