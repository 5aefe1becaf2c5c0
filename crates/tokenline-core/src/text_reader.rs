//! Reads everything in a text: records, tool calls, and the text beside them.

mod judged;
mod passing;

use std::convert::Infallible;
use std::hint;
use std::mem;
use std::sync::Arc;

use crate::adapter::{Gap, Judge, Made, Passage, RepetitionGuard, Rules, SourceEnd, Verdict};
use crate::feature::{Boxed, RepairFeature, RepetitionFeature};
use crate::json::{Value, ValueDelta};
use crate::{
    CheckedChunk, Code, CompletedBy, Diagnostic, Event, OpenRecord, Options, Reads, Record, RecordDecoder,
    Recovery, RepetitionLimits, ToolCall,
};
use judged::{Judged, judge_event};
use passing::Preceding;

/// Reads everything in a text: records, tool calls, and the text beside them.
///
/// For authors of parsers that add something to it; [`TextParser`](crate::TextParser) is the parser of plain text. The
/// [rules](Rules::set_reads) say how objects are read. The sink gets each part with the end offset of its event; 0 if the
/// part cannot end an open call.
pub struct TextReader {
    decoder: RecordDecoder,
    judge: Judge,
    left: LeftCalls,
    /// The markup before the next event: it is text if the event is.
    markup: String,
    before: Preceding,
    /// The offset up to which events have covered the text.
    covered_to: u64,
    /// The end of the last event that is not markup.
    passed_to: u64,
    /// The record or reject of the question that the text waits for.
    asked: Option<Boxed<RepairFeature, Judged>>,
    /// The bytes read with it, of which more may be rejected.
    unkept: Vec<u8>,
    /// The most events of the decoder that are read at a time.
    max_events: usize,
    is_paused: bool,
    is_ending: bool,
    was_cut: bool,
    /// Boxed: most texts have none.
    guard: Option<Boxed<RepetitionFeature, RepetitionGuard>>,
}

/// A part of a text.
#[derive(Debug)]
pub enum TextPart<'t, T> {
    /// The decision about a record, a call or a reject, or a [question](Verdict::Ask) about one.
    Verdict(Verdict<T>),
    /// Information that is not a reject.
    Note(Diagnostic),
    /// Text for people, which may be empty.
    Text(&'t str),
    /// The model's reasoning, which may be empty.
    Reasoning(&'t str),
    /// The open record has grown.
    Partial(OpenRecord<ValueDelta<'t>>),
}

/// The objects that stay text, with a [note](Code::CallInText) that says why if one is a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeftCalls {
    /// None.
    #[default]
    None,
    /// Calls without markers; with [`Reads::ToolCalls`], every object without markers.
    Unmarked(&'static str),
    /// Objects that call no defined tool, with or without markers.
    Undefined,
    /// Every object. Nothing is rejected, and there are no other notes.
    All(&'static str),
}

impl LeftCalls {
    /// Why an object stays text.
    fn why(self, record: &Record<Value<'_>>, rules: &Rules) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::All(why) => Some(why),
            Self::Undefined => {
                let is_call = ToolCall::is_of_defined(record.value, rules.call_rules());
                (!is_call).then_some("no tool of this name is defined")
            }
            Self::Unmarked(why) => {
                let is_left = match rules.reads() {
                    Reads::Records => false,
                    Reads::ToolCalls => true,
                    Reads::RecordsAndToolCalls => {
                        ToolCall::is_among_records(record.value, rules.call_rules())
                    }
                };
                (is_left && !record.recovered.contains(Recovery::CallFormat)).then_some(why)
            }
        }
    }
}

impl TextReader {
    /// A reader at the start of a text.
    #[must_use]
    pub fn new(options: Options, rules: Arc<Rules>) -> Self {
        let options = options.records_beside_calls(rules.reads() == Reads::RecordsAndToolCalls);
        let options = match rules.reads() {
            Reads::Records => options,
            Reads::ToolCalls | Reads::RecordsAndToolCalls => options.or_any_calls(),
        };
        let tools = rules.tools().cloned();
        let mut rules = rules;
        if options.repairs_syntax {
            Arc::make_mut(&mut rules).set_syntax_repair(true);
        }
        let mut judge = Judge::new(rules, &options.limits);
        judge.set_at_once(options.partials);
        let mut decoder = RecordDecoder::new(options);
        if let Some(tools) = tools {
            decoder = decoder.with_tools(tools);
        }
        Self {
            decoder,
            judge,
            left: LeftCalls::None,
            markup: String::new(),
            before: Preceding::Text,
            covered_to: 0,
            passed_to: 0,
            asked: None,
            unkept: Vec::new(),
            max_events: usize::MAX,
            is_paused: false,
            is_ending: false,
            was_cut: false,
            guard: None,
        }
    }

    /// Text is missing or was replaced here; see [`RecordDecoder::gap`].
    #[cold]
    pub fn gap(&mut self, gap: Gap) {
        self.decoder.gap(gap);
        self.judge.gap(self.decoder.position());
    }

    /// Looks for repetition in the text, and in its records and calls.
    pub fn guard(&mut self, limits: &RepetitionLimits) {
        self.guard = RepetitionFeature::boxed(|| RepetitionGuard::new(limits));
    }

    /// The guard, if it [looks for](Self::guard) repetition.
    #[must_use]
    pub fn repetition(&mut self) -> Option<&mut RepetitionGuard> {
        self.guard.as_deref_mut()
    }

    /// Separates the text before from what follows: no repetition has both.
    pub fn separate(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.separate();
        }
    }

    /// Whether the text is to end here; see [`RepetitionGuard::stops`].
    pub fn stops_for_repetition(&mut self) -> bool {
        let Self { decoder, guard, .. } = self;
        guard.as_mut().is_some_and(|guard| guard.stops(|| decoder.line()))
    }

    /// Looks for repetition in text that is not read.
    #[inline]
    pub fn watch(&mut self, text: &str) {
        if let Some(guard) = &mut self.guard {
            guard.text(text);
        }
    }

    /// Starts over with the next text.
    pub fn reset(&mut self) {
        self.decoder.reset();
        self.judge.reset();
        (self.covered_to, self.passed_to, self.asked) = (0, 0, None);
        (self.is_paused, self.is_ending, self.was_cut) = (false, false, false);
        self.unkept.clear();
        if let Some(guard) = &mut self.guard {
            guard.reset();
        }
        self.follow(Preceding::Text);
    }

    /// Sets which calls stay text, from the next event on.
    pub fn leave(&mut self, left: LeftCalls) {
        self.left = left;
    }

    /// The decoder, to look at what is open.
    pub fn decoder(&mut self) -> &mut RecordDecoder {
        &mut self.decoder
    }

    /// Pauses after so many events of the decoder.
    pub fn set_max_events(&mut self, max_events: usize) {
        self.max_events = max_events.max(1);
    }

    /// Reads a word of each cache line that a token in a string needs, before anything depends on one.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.decoder.prefetch();
        hint::black_box(self.is_paused ^ self.asked.is_some());
    }

    /// The bytes kept for the open record.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.decoder.held_bytes()
    }

    /// Whether it has [paused](Self::set_max_events): [read on](Self::read_on), or [finish](Self::finish) again.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether the text waits for an [answer](Self::answer).
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// The end of the last event that is not markup: an open call that begins before it is over.
    #[must_use]
    pub fn passed_to(&self) -> u64 {
        self.passed_to
    }

    /// Whether the text ended inside a record.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Forgets that the text ended inside a record.
    pub fn forget_cut(&mut self) {
        self.was_cut = false;
    }

    /// Validates what is new in the open record; see [`Judge::arriving`].
    #[inline]
    pub fn arriving(&mut self) -> Option<&Diagnostic> {
        self.judge.arriving(&mut self.decoder)
    }

    /// Reads a few bytes of text if they only continue an open string, and nothing else is to be done. Returns whether it
    /// did: if not, [`read`](Self::read) them. There is nothing new to [validate](Self::arriving) then.
    #[inline]
    pub fn append(&mut self, text: &str) -> bool {
        self.asked.is_none()
            && !self.is_paused
            && !self.judge.keeps()
            && self.guard.is_none()
            && self.decoder.append(text)
    }

    /// Reads a chunk, up to a question or a pause; returns how many of its bytes were read. `chunk` is all of `bytes`,
    /// `make` reads a record into its type. Reads nothing before the answer to a question, and during a pause.
    pub fn read<T>(
        &mut self,
        bytes: &[u8],
        chunk: CheckedChunk<'_>,
        make: impl Fn(&Record<Value<'_>>) -> Made<T>,
        sink: impl FnMut(u64, TextPart<'_, T>),
    ) -> usize {
        self.read_lending(bytes, chunk, |record| Some(make(record)), sink)
    }

    /// Like [`read`](Self::read), but `make` may take a record, and return nothing: it is accepted, and the sink does not
    /// get it. Not for rules with [repairs](Rules::repairs), or for texts with calls.
    pub fn read_lending<T>(
        &mut self,
        bytes: &[u8],
        mut chunk: CheckedChunk<'_>,
        make: impl Fn(&Record<Value<'_>>) -> Option<Made<T>>,
        mut sink: impl FnMut(u64, TextPart<'_, T>),
    ) -> usize {
        if self.asked.is_some() || self.is_paused {
            return 0;
        }
        let passage = Passage::chunk(bytes, self.decoder.position());
        let is_read = self.take_events(passage, (bytes, &mut chunk), &make, &mut sink);
        let read = bytes.len() - chunk.len();
        if is_read {
            self.judge.keep(&self.decoder, &bytes[..read]);
        } else {
            self.unkept = bytes[..read].to_vec();
        }
        read
    }

    /// Reads on after a pause in what was read.
    pub fn read_on<T>(
        &mut self,
        make: impl Fn(&Record<Value<'_>>) -> Made<T>,
        mut sink: impl FnMut(u64, TextPart<'_, T>),
    ) {
        if self.asked.is_some() || self.is_ending {
            return;
        }
        let unkept = mem::take(&mut self.unkept);
        let passage = Passage::chunk(&unkept, self.decoder.position() - unkept.len() as u64);
        let make = |record: &Record<Value<'_>>| Some(make(record));
        if self.take_events(passage, (b"", &mut CheckedChunk::from("")), &make, &mut sink) {
            self.judge.keep(&self.decoder, &unkept);
        } else {
            self.unkept = unkept;
        }
    }

    /// Takes events of the decoder, up to a question or a pause. Returns whether there are no more. The chunk is the rest of
    /// the bytes.
    fn take_events<T>(
        &mut self,
        passage: Passage<'_>,
        (bytes, chunk): (&[u8], &mut CheckedChunk<'_>),
        make: &impl Fn(&Record<Value<'_>>) -> Option<Made<T>>,
        sink: &mut impl FnMut(u64, TextPart<'_, T>),
    ) -> bool {
        self.is_paused = false;
        let (start, mut watched) = (self.decoder.position(), 0);
        for _ in 0..self.max_events {
            let event = self.decoder.next_event(chunk);
            if let Some(guard) = &mut self.guard {
                let read = bytes.len() - chunk.len();
                guard.event(&bytes[watched..read], event.as_ref(), start + read as u64);
                watched = read;
            }
            let Some(event) = event else { return true };
            let role = judge_event(&mut self.judge, self.left, event, passage, make, sink);
            self.pass(role, sink);
            if self.asked.is_some() {
                return false;
            }
        }
        self.is_paused = true;
        false
    }

    /// Ends the text, up to a question or a pause, after which it is to be ended again. `completion` is the evidence for a
    /// record that ends here; `end` says whether the source of the text has failed, which a tool call without other
    /// evidence does not survive.
    pub fn finish<T>(
        &mut self,
        completion: CompletedBy,
        end: SourceEnd,
        make: impl Fn(&Record<Value<'_>>) -> Made<T>,
        mut sink: impl FnMut(u64, TextPart<'_, T>),
    ) {
        if self.asked.is_some() {
            return;
        }
        (self.is_ending, self.is_paused) = (true, false);
        let passage = Passage::end(self.decoder.position(), completion, end);
        let make = |record: &Record<Value<'_>>| Some(make(record));
        for _ in 0..self.max_events {
            let Some(event) = self.decoder.finish_with(completion) else { return };
            self.was_cut |=
                matches!(&event, Event::Rejected(diagnostic) if diagnostic.code == Code::Truncated);
            let role = judge_event(&mut self.judge, self.left, event, passage, &make, &mut sink);
            self.pass(role, &mut sink);
            if self.asked.is_some() {
                return;
            }
        }
        self.is_paused = true;
    }

    /// Takes the answer to the question, [`Verdict::Ask`], that the text waits for, and passes on what was read with it.
    pub fn answer<T>(
        &mut self,
        replacement: Option<String>,
        make: impl Fn(&Record<Value<'_>>) -> Made<T>,
        mut sink: impl FnMut(u64, TextPart<'_, T>),
    ) {
        let Some(mut judged) = self.asked.take().map(RepairFeature::unboxed) else { return };
        let Ok(verdict) = self.judge.resume(replacement, |record| Ok::<_, Infallible>(make(record)));
        if let Some(verdict) = verdict {
            judged.take(verdict, &mut sink);
        }
        self.pass(judged.role(), &mut sink);
        self.read_on(make, sink);
    }
}
