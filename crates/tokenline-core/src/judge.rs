//! The outcome of each record: accepted, read as calls, repaired or rejected.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::sync::Arc;

use crate::adapter::{Made, RejectBuffer, Rules, SourceEnd};
use crate::feature::{Boxed, RepairFeature};
use crate::json::{Parser, Value};
use crate::open_validation::OpenValidation;
use crate::syntax_repair::{RepairOptions, RepairedSyntax, Unrepaired, repair_syntax};
use crate::{
    Code, CompletedBy, Diagnostic, Event, LentEvent, Limits, Reads, Record, RecordDecoder, Recovered,
    Recovery, Rejected, RejectedCall, Span, ToolCall,
};

/// Whether the open object is a call so far, or may become one.
fn may_be_call(decoder: &mut RecordDecoder) -> bool {
    decoder.open_call().is_some()
        || decoder.snapshot().is_some_and(|open| ToolCall::may_be_unnamed(open.value))
}

/// Whether a record is in the place of a reject.
fn is_repaired(recovered: Recovered) -> bool {
    recovered.contains(Recovery::Repaired) || recovered.contains(Recovery::SyntaxRepaired)
}

/// Reads records into their type.
type Make<'m, T, E> = dyn FnMut(&Record<Value<'_>>) -> Result<Made<T>, E> + 'm;

fn judge_call<T>(
    record: &Record<Value<'_>>,
    call: Result<ToolCall, Box<RejectedCall>>,
    end: SourceEnd,
) -> Verdict<T> {
    let is_at_end = end == SourceEnd::Failed && record.completion == CompletedBy::EndOfInput;
    match call {
        // A replacement is complete by itself.
        Ok(call) if is_at_end && !record.recovered.contains(Recovery::Repaired) => {
            let message = "the tool call is balanced, but the text ended without proof that it is complete";
            let diagnostic =
                Diagnostic::new(Code::Unsealed, record.line, record.span, record.column, message);
            let mut rejected = RejectedCall::new(diagnostic, record.value.raw());
            (rejected.name, rejected.call_id) = (Some(call.name), call.call_id);
            Verdict::RejectedCall(Box::new(rejected))
        }
        Ok(call) => Verdict::Call(call, record.map(|_| ())),
        Err(call) if call.diagnostic.code == Code::MissingField => Verdict::NotACall(call),
        Err(call) => Verdict::RejectedCall(call),
    }
}

/// The decision about a record, or about a call in it.
#[derive(Debug)]
pub enum Verdict<T> {
    /// An accepted record.
    Record(Record<T>),
    /// An accepted call, and the place of its record.
    Call(ToolCall, Record<()>),
    /// A rejected record.
    Rejected(Diagnostic),
    /// A rejected call.
    RejectedCall(Box<RejectedCall>),
    /// An object that is rejected because it lacks what makes it a call.
    NotACall(Box<RejectedCall>),
    /// Find a replacement, then [resume](Judge::resume). Only with [`Rules::set_repair_steps`].
    Ask(Box<Rejected>),
}

impl<T> Verdict<T> {
    /// Why it is rejected, if it is.
    #[must_use]
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::Rejected(diagnostic) => Some(diagnostic),
            Self::RejectedCall(call) | Self::NotACall(call) => Some(&call.diagnostic),
            Self::Record(_) | Self::Call(..) | Self::Ask(_) => None,
        }
    }

    /// The same, if it is a reject.
    fn reject<U>(self) -> Option<Verdict<U>> {
        match self {
            Self::Rejected(diagnostic) => Some(Verdict::Rejected(diagnostic)),
            Self::RejectedCall(call) => Some(Verdict::RejectedCall(call)),
            Self::NotACall(call) => Some(Verdict::NotACall(call)),
            Self::Record(_) | Self::Call(..) | Self::Ask(_) => None,
        }
    }
}

/// The part of a text that a decoder is reading, for the text of rejects.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'t> {
    bytes: &'t [u8],
    /// The offset of its first byte in the text.
    start: u64,
    /// The evidence for a record that ends here.
    completion: CompletedBy,
    end: SourceEnd,
}

impl<'t> Passage<'t> {
    /// A chunk whose first byte is at this offset of the text.
    #[must_use]
    pub fn chunk(bytes: &'t [u8], start: u64) -> Self {
        Self { bytes, start, completion: CompletedBy::Newline, end: SourceEnd::Clean }
    }

    /// The end of the text, at this offset.
    #[must_use]
    pub fn end(start: u64, completion: CompletedBy, end: SourceEnd) -> Self {
        Self { bytes: &[], start, completion, end }
    }
}

/// Decides about the records of one text: validates them, also while they arrive, reads calls, and asks for repairs.
///
/// For authors of stream adapters: whatever reads records asks this, so that all of them give the same verdicts.
///
/// ```
/// use std::convert::Infallible;
/// use std::sync::Arc;
///
/// use tokenline_core::adapter::{Judge, Passage, Rules, Verdict};
/// use tokenline_core::json::Raw;
/// use tokenline_core::{CheckedChunk, Options, RecordDecoder};
///
/// let options = Options::lenient();
/// let mut rules = Rules::default();
/// rules.set_repair(Box::new(|rejected| Some(rejected.text.replace("NaN", "null"))));
/// let mut judge = Judge::new(Arc::new(rules), &options.limits);
/// let mut decoder = RecordDecoder::new(options);
///
/// let mut records = Vec::new();
/// let text = "{\"a\":1}\n{\"a\":NaN}\n";
/// let passage = Passage::chunk(text.as_bytes(), 0);
/// let mut chunk = CheckedChunk::from(text);
/// while let Some(event) = decoder.next_event(&mut chunk) {
///     judge.event(event, passage, |record| Ok(record.deserialize::<Raw>()), |verdict| {
///         if let Verdict::Record(record) = verdict {
///             records.push(record.value.to_string());
///         }
///         Ok::<_, Infallible>(())
///     })?;
/// }
/// judge.keep(&decoder, text.as_bytes());
/// assert_eq!(records, ["{\"a\":1}", "{\"a\":null}"]);
/// # Ok::<(), Infallible>(())
/// ```
pub struct Judge {
    rules: Arc<Rules>,
    /// Boxed: most texts have none.
    validation: Option<Box<OpenValidation>>,
    rejects: Option<Boxed<RepairFeature, Rejects>>,
}

/// The outcome of a repair of a malformed record's syntax.
enum Repaired<T> {
    Verdict(Verdict<T>),
    /// The edits that are not made, and the reason.
    Refused(Unrepaired),
    No,
}

/// Present only if rejects may be repaired, so that others pay one branch.
struct Rejects {
    buffer: RejectBuffer,
    limits: Limits,
    asked: Option<(Verdict<Infallible>, Record<()>)>,
}

impl Judge {
    /// A judge at the start of a text.
    #[must_use]
    pub fn new(rules: Arc<Rules>, limits: &Limits) -> Self {
        let mut judge = Self { rules: Arc::default(), validation: None, rejects: None };
        judge.set_rules(rules, limits);
        judge
    }

    /// Changes the rules, for the next record and the rest of an open one.
    pub fn set_rules(&mut self, rules: Arc<Rules>, limits: &Limits) {
        self.validation =
            rules.validator().cloned().map(|validator| Box::new(OpenValidation::new(validator)));
        // What is kept of an open record, and a question, outlive a change of the rules.
        self.rejects = match self.rejects.take() {
            _ if !rules.repairs() => None,
            Some(rejects) if rejects.limits == *limits => Some(rejects),
            _ => RepairFeature::boxed(|| Rejects {
                buffer: RejectBuffer::new(limits),
                limits: *limits,
                asked: None,
            }),
        };
        self.rules = rules;
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Sets whether open records are validated at every chunk, not about every 512 bytes.
    pub fn set_at_once(&mut self, yes: bool) {
        if let Some(validation) = &mut self.validation {
            validation.set_at_once(yes);
        }
    }

    /// Starts over with the next text.
    pub fn reset(&mut self) {
        if let Some(validation) = &mut self.validation {
            validation.reset();
        }
        if let Some(rejects) = &mut self.rejects {
            rejects.buffer.reset();
            rejects.asked = None;
        }
    }

    /// Validates what is new in the open record. Call it once the decoder has no more events. Returns why the record will
    /// be rejected, once for each record; see [`OpenValidation::read_on`].
    #[inline]
    pub fn arriving(&mut self, decoder: &mut RecordDecoder) -> Option<&Diagnostic> {
        let validation = self.validation.as_mut()?;
        if self.rules.reads() == Reads::RecordsAndToolCalls && may_be_call(decoder) {
            return None;
        }
        validation.read_on(decoder)
    }

    /// Why the open record will be rejected; see [`OpenValidation::violation`].
    #[must_use]
    pub fn open_violation(&self) -> Option<&Diagnostic> {
        self.validation.as_ref()?.violation()
    }

    /// Keeps what may still be rejected of the bytes that the decoder has just read.
    #[inline]
    pub fn keep(&mut self, decoder: &RecordDecoder, read: &[u8]) {
        if let Some(rejects) = &mut self.rejects {
            rejects.buffer.keep(decoder, read);
        }
    }

    /// Notes that text is missing or was replaced at this offset: what is on the line cannot be repaired by its syntax.
    pub(crate) fn gap(&mut self, offset: u64) {
        if let Some(rejects) = &mut self.rejects {
            rejects.buffer.gap(offset);
        }
    }

    /// Whether it keeps what may still be rejected.
    #[inline]
    pub(crate) fn keeps(&self) -> bool {
        self.rejects.is_some()
    }

    /// Judges an event of the decoder; returns one that is neither a record nor a reject.
    ///
    /// `make` reads a record into its type, or says why it does not fit. `sink` takes the verdicts: one, several for a
    /// list of calls, none for an empty list.
    ///
    /// # Errors
    ///
    /// Those of `make` and `sink`.
    #[inline]
    pub fn event<'e, T, E>(
        &mut self,
        event: LentEvent<'e>,
        passage: Passage<'_>,
        make: impl FnMut(&Record<Value<'_>>) -> Result<Made<T>, E>,
        sink: impl FnMut(Verdict<T>) -> Result<(), E>,
    ) -> Result<Option<LentEvent<'e>>, E> {
        match event {
            Event::Record(record) => self.judge(&record, passage.end, make, sink)?,
            Event::Rejected(diagnostic) => self.rejected(diagnostic, passage, make, sink)?,
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    /// Judges a complete record; see [`event`](Self::event).
    ///
    /// # Errors
    ///
    /// Those of `make` and `sink`.
    #[inline]
    pub fn judge<T, E>(
        &mut self,
        record: &Record<Value<'_>>,
        end: SourceEnd,
        mut make: impl FnMut(&Record<Value<'_>>) -> Result<Made<T>, E>,
        mut sink: impl FnMut(Verdict<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.rules.reads_as_calls(record) {
            return self.judge_calls(record, end, make, sink);
        }
        match self.judge_alone(record, &mut make)? {
            Ok(record) => sink(Verdict::Record(record)),
            Err(fault) => self.reject(record, Verdict::Rejected(*fault), make, sink),
        }
    }

    /// Judges a record that is not read as calls. One that is rejected [may be repaired](Self::reject).
    #[inline]
    pub(crate) fn judge_alone<T, E>(
        &mut self,
        record: &Record<Value<'_>>,
        make: impl FnOnce(&Record<Value<'_>>) -> Result<Made<T>, E>,
    ) -> Result<Made<T>, E> {
        self.release(record);
        match self.validate(record) {
            Ok(()) => make(record),
            Err(fault) => Ok(Err(fault)),
        }
    }

    /// Notes that the decoder has released a record: a reject that overlaps it cannot be repaired.
    #[inline]
    fn release(&mut self, record: &Record<Value<'_>>) {
        if let Some(rejects) = &mut self.rejects
            && !is_repaired(record.recovered)
        {
            rejects.buffer.release(record.span);
        }
    }

    #[inline]
    fn validate(&mut self, record: &Record<Value<'_>>) -> Result<(), Box<Diagnostic>> {
        self.validation.as_mut().map_or(Ok(()), |validation| validation.finish(record))
    }

    /// Notes text that was passed on: a reject that overlaps it is not repairable.
    pub(crate) fn pass_text(&mut self, span: Span) {
        if let Some(rejects) = &mut self.rejects {
            rejects.buffer.release(span);
        }
    }

    /// Leaves out a complete record.
    pub(crate) fn skip(&mut self) {
        if let Some(validation) = &mut self.validation {
            validation.skip();
        }
    }

    fn judge_calls<T, E>(
        &mut self,
        record: &Record<Value<'_>>,
        end: SourceEnd,
        make: impl FnMut(&Record<Value<'_>>) -> Result<Made<T>, E>,
        mut sink: impl FnMut(Verdict<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.release(record);
        if self.rules.reads() == Reads::RecordsAndToolCalls {
            self.skip();
        } else if let Err(fault) = self.validate(record) {
            return self.reject(record, Verdict::Rejected(*fault), make, sink);
        }
        let mut calls = ToolCall::all_from_record(record, self.rules.call_rules())
            .map(|call| judge_call(record, call, end));
        let Some(first) = calls.next() else { return Ok(()) };
        // A replacement takes the place of the whole record, so only a single call can be repaired.
        let Some(second) = calls.next() else {
            drop(calls);
            return match first.diagnostic() {
                Some(_) => self.reject(record, first, make, sink),
                None => sink(first),
            };
        };
        [first, second].into_iter().chain(calls).try_for_each(sink)
    }

    /// Rejects a record, unless it is repaired. What was repaired once is not asked about again.
    #[cold]
    pub(crate) fn reject<T, E>(
        &mut self,
        record: &Record<Value<'_>>,
        reject: Verdict<T>,
        mut make: impl FnMut(&Record<Value<'_>>) -> Result<Made<T>, E>,
        mut sink: impl FnMut(Verdict<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_asked = self.rules.has_hook() && !is_repaired(record.recovered);
        match reject.diagnostic().filter(|diagnostic| is_asked && diagnostic.code.is_repairable()) {
            Some(diagnostic) => {
                let rejected = Rejected::new(record.value.raw(), diagnostic.clone());
                self.ask(rejected, record.map(|_| ()), reject, &mut make, sink)
            }
            None => sink(reject),
        }
    }

    /// Judges a reject of the decoder: it may be repaired.
    #[inline]
    fn rejected<T, E>(
        &mut self,
        diagnostic: Diagnostic,
        passage: Passage<'_>,
        mut make: impl FnMut(&Record<Value<'_>>) -> Result<Made<T>, E>,
        mut sink: impl FnMut(Verdict<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Passage { bytes, start, completion, end } = passage;
        let rejects = self.rejects.as_mut();
        match rejects.and_then(|rejects| rejects.buffer.rejected(&diagnostic, completion, bytes, start)) {
            Some((mut rejected, place)) => {
                if self.rules.repairs_syntax() {
                    match self.repair_syntax(&rejected, place, end, &mut make)? {
                        Repaired::Verdict(verdict) => return sink(verdict),
                        Repaired::Refused(why) => {
                            rejected.diagnostic.message = format!("{}; {why}", rejected.diagnostic.message);
                        }
                        Repaired::No => {}
                    }
                }
                let reject = Verdict::Rejected(rejected.diagnostic.clone());
                if self.rules.has_hook() {
                    self.ask(rejected, place, reject, &mut make, sink)
                } else {
                    sink(reject)
                }
            }
            None => sink(Verdict::Rejected(diagnostic)),
        }
    }

    /// Repairs the syntax of a malformed record at this place, if the text proves how.
    #[cold]
    fn repair_syntax<T, E>(
        &mut self,
        rejected: &Rejected,
        place: Record<()>,
        end: SourceEnd,
        make: &mut Make<'_, T, E>,
    ) -> Result<Repaired<T>, E> {
        let Some(rejects) = self.rejects.as_ref().filter(|its| its.buffer.is_whole(rejected, &place)) else {
            return Ok(Repaired::No);
        };
        let (rules, limits) = (Arc::clone(&self.rules), rejects.limits);
        let reads_records = rules.reads() == Reads::Records;
        // A truncated list looks like a complete one, and a call is run.
        let is_end_confirmed =
            reads_records && matches!(place.completion, CompletedBy::FinishReason | CompletedBy::ItemStop);
        let mut is_valid = |value: Value<'_>| {
            let record = place.map(|()| value);
            let is_call = rules.reads_as_calls(&record);
            let mut calls = ToolCall::all_from_record(&record, rules.call_rules());
            let validator = rules.validator().filter(|_| !is_call);
            (!is_call || calls.all(|call| call.is_ok()))
                && validator.is_none_or(|rule| rule.validate(value).is_ok())
        };
        // Of records beside calls, either rule may be the one that applies.
        let has_rules = match rules.reads() {
            Reads::Records => rules.validator().is_some(),
            Reads::ToolCalls => rules.tools().is_some(),
            Reads::RecordsAndToolCalls => rules.validator().is_some() && rules.tools().is_some(),
        };
        let options = RepairOptions { limits, is_end_confirmed };
        let repair = match repair_syntax(&rejected.text, &options, has_rules.then_some(&mut is_valid)) {
            Ok(repair) => repair,
            Err(why) if why.has_edits() => return Ok(Repaired::Refused(why)),
            Err(_) => return Ok(Repaired::No),
        };
        let recovered = place.recovered.with_syntax(RepairedSyntax::new(&repair.edits));
        let mut parser = Parser::new().with_limits(&limits);
        let Ok(value) = parser.parse(&repair.text) else { return Ok(Repaired::No) };
        if value.as_object().is_none() {
            return Ok(Repaired::No);
        }
        let record = Record { recovered, ..place }.map(|()| value);
        let verdict = self.judged_once(&record, end, make)?;
        Ok(verdict.map_or(Repaired::No, Repaired::Verdict))
    }

    /// The verdict on a record, unless it breaks a rule, or is not one record or call.
    fn judged_once<T, E>(
        &mut self,
        record: &Record<Value<'_>>,
        end: SourceEnd,
        make: &mut Make<'_, T, E>,
    ) -> Result<Option<Verdict<T>>, E> {
        let (mut one, mut count) = (None, 0);
        self.judge(record, end, &mut *make, |verdict| {
            one = Some(verdict);
            count += 1;
            Ok(())
        })?;
        Ok(one.filter(|verdict| count == 1 && verdict.diagnostic().is_none()))
    }

    /// Asks for a replacement. Without one, the reject stands.
    #[cold]
    fn ask<T, E>(
        &mut self,
        rejected: Rejected,
        place: Record<()>,
        reject: Verdict<T>,
        make: &mut Make<'_, T, E>,
        mut sink: impl FnMut(Verdict<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(rejects) = &mut self.rejects {
            // Before the hook is called: if it panics, the reject stands.
            rejects.asked = reject.reject().map(|reject| (reject, place));
        }
        if self.rules.has_repair_steps() {
            return sink(Verdict::Ask(Box::new(rejected)));
        }
        let replacement = self.rules.replacement(rejected);
        self.resume(replacement, |record| make(record))?.map_or(Ok(()), sink)
    }

    /// Whether a replacement is [awaited](Verdict::Ask).
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.rejects.as_ref().is_some_and(|rejects| rejects.asked.is_some())
    }

    /// Takes the replacement that [`Verdict::Ask`] asked for. Returns what becomes of the reject: with `None`, or if the
    /// replacement breaks a rule, it stands.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn resume<T, E>(
        &mut self,
        replacement: Option<String>,
        mut make: impl FnMut(&Record<Value<'_>>) -> Result<Made<T>, E>,
    ) -> Result<Option<Verdict<T>>, E> {
        let Some((reject, place)) = self.rejects.as_mut().and_then(|rejects| mem::take(&mut rejects.asked))
        else {
            return Ok(None);
        };
        Ok(self.replaced(replacement, place, &mut make)?.or_else(|| reject.reject()))
    }

    /// The verdict on a replacement, unless it breaks a rule or is not one record.
    fn replaced<T, E>(
        &mut self,
        replacement: Option<String>,
        place: Record<()>,
        make: &mut Make<'_, T, E>,
    ) -> Result<Option<Verdict<T>>, E> {
        let (Some(replacement), Some(rejects)) = (replacement, &self.rejects) else { return Ok(None) };
        let limits = rejects.limits;
        let judged =
            place.repaired(&replacement, &limits, |record| self.judged_once(record, SourceEnd::Clean, make));
        judged.unwrap_or(Ok(None))
    }
}

/// Without the rules: what is open may be private.
impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("open_violation", &self.open_violation()).finish_non_exhaustive()
    }
}
