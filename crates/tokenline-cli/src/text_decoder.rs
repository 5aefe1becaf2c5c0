//! Decodes texts, judges their records, and writes the outcome.

use std::cell::RefCell;
use std::sync::Arc;

use tokenline::adapter::{self, Judge, Passage, RepetitionGuard, SourceEnd, Verdict};
use tokenline::json::Value;
use tokenline::{CheckedChunk, CompletedBy, Event, LentEvent, Limits, Options, Record, RecordDecoder};

use crate::emit::{Emitter, EventOrigin};
use crate::failure::Failure;
use crate::parse::Rules;

/// Decodes and judges texts.
pub(crate) struct TextDecoder {
    records: RecordDecoder,
    judge: Judge,
    guard: Option<RepetitionGuard>,
    is_stopped: bool,
}

impl TextDecoder {
    pub(crate) fn new(rules: &Rules) -> Self {
        let mut judged = adapter::Rules::default();
        judged.set_reads(rules.reads());
        if let Some(schema) = &rules.schema {
            judged.add_validator(Arc::new(schema.clone()));
        }
        let mut records = RecordDecoder::new(rules.options.clone());
        if let Some(tools) = &rules.tools {
            judged.set_tools(Arc::clone(tools) as _);
            records = records.with_tools(Arc::clone(tools));
        }
        let guard = rules.repetition.as_ref().map(RepetitionGuard::new);
        Self { guard, ..Self::judged(records, judged, &rules.options.limits, rules) }
    }

    /// A decoder for texts around those that the rules are about.
    pub(crate) fn around(options: Options, rules: &Rules) -> Self {
        let limits = options.limits;
        Self::judged(RecordDecoder::new(options), adapter::Rules::default(), &limits, rules)
    }

    fn judged(records: RecordDecoder, mut judged: adapter::Rules, limits: &Limits, rules: &Rules) -> Self {
        judged.set_syntax_repair(rules.options.repairs_syntax());
        if let Some(texts) = &rules.rejected_texts {
            judged.set_repair(Box::new(texts.hook()));
        }
        let mut judge = Judge::new(Arc::new(judged), limits);
        judge.set_at_once(rules.options.partials);
        Self { records, judge, guard: None, is_stopped: false }
    }

    /// Offset of the next byte to be decoded.
    pub(crate) fn position(&self) -> u64 {
        self.records.position()
    }

    /// Writes that the open record will be rejected, once that is known.
    pub(crate) fn judge_open_record(&mut self, emitter: &mut Emitter) -> Result<(), Failure> {
        let diagnostic = self.judge.arriving(&mut self.records);
        diagnostic.map_or(Ok(()), |diagnostic| emitter.invalid(EventOrigin::Input, diagnostic))
    }

    /// Starts the next text.
    pub(crate) fn reset(&mut self) {
        self.records.reset();
        self.judge.reset();
        if let Some(guard) = &mut self.guard {
            guard.reset();
        }
        self.is_stopped = false;
    }

    /// Writes what more input holds, up to the quota. `chunk` is `input`, none of it read; `write` takes valid records. Reads
    /// nothing once the text [was stopped](Self::is_stopped).
    pub(crate) fn decode(
        &mut self,
        input: &[u8],
        chunk: CheckedChunk<'_>,
        emitter: &mut Emitter,
        mut write: impl FnMut(&Record<Value<'_>>, &mut Emitter) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut rest = input;
        while !rest.is_empty() && !self.is_stopped && !emitter.is_done() {
            let Some(guard) = &self.guard else {
                return self.decode_part(input, chunk, emitter, &mut write);
            };
            let len = rest.len().min(guard.block());
            let (block, more) = rest.split_at(len);
            self.decode_part(block, CheckedChunk::new(block), emitter, &mut write)?;
            rest = more;
            self.stop_if_it_repeats(emitter, &mut write)?;
        }
        Ok(())
    }

    fn decode_part(
        &mut self,
        input: &[u8],
        mut chunk: CheckedChunk<'_>,
        emitter: &mut Emitter,
        write: &mut impl FnMut(&Record<Value<'_>>, &mut Emitter) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { records, judge, guard, .. } = self;
        let passage = Passage::chunk(input, records.position());
        let (start, mut watched) = (records.position(), 0);
        while !emitter.is_done() {
            let event = records.next_event(&mut chunk);
            if let Some(guard) = guard {
                let read = input.len() - chunk.len();
                guard.event(&input[watched..read], event.as_ref(), start + read as u64);
                watched = read;
            }
            let Some(event) = event else { break };
            judge_event(judge, event, passage, emitter, &mut *write)?;
        }
        if chunk.is_empty() {
            judge.keep(records, input);
        }
        Ok(())
    }

    /// Ends a text that repeats itself, as one that was cut off: the warning is its last event.
    fn stop_if_it_repeats(
        &mut self,
        emitter: &mut Emitter,
        write: &mut impl FnMut(&Record<Value<'_>>, &mut Emitter) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { records, guard, .. } = self;
        let Some(guard) = guard else { return Ok(()) };
        if !guard.stops(|| records.line()) {
            return Ok(());
        }
        let warning = guard.warning();
        self.is_stopped = true;
        self.end(SourceEnd::Failed, emitter, write)?;
        warning.map_or(Ok(()), |warning| emitter.diagnostic(EventOrigin::Input, &warning))
    }

    /// Whether the text was stopped because it repeats itself.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Writes what the end of the input holds, up to the quota.
    pub(crate) fn finish(
        &mut self,
        emitter: &mut Emitter,
        mut write: impl FnMut(&Record<Value<'_>>, &mut Emitter) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.is_stopped { Ok(()) } else { self.end(SourceEnd::Clean, emitter, &mut write) }
    }

    fn end(
        &mut self,
        end: SourceEnd,
        emitter: &mut Emitter,
        write: &mut impl FnMut(&Record<Value<'_>>, &mut Emitter) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { records, judge, .. } = self;
        let passage = Passage::end(records.position(), CompletedBy::EndOfInput, end);
        while !emitter.is_done()
            && let Some(event) = records.finish()
        {
            judge_event(judge, event, passage, emitter, &mut *write)?;
        }
        Ok(())
    }
}

/// Writes the outcome of an event.
fn judge_event(
    judge: &mut Judge,
    event: LentEvent<'_>,
    passage: Passage<'_>,
    emitter: &mut Emitter,
    mut write: impl FnMut(&Record<Value<'_>>, &mut Emitter) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let shared = RefCell::new(&mut *emitter);
    let make = |record: &Record<Value<'_>>| {
        write(record, &mut shared.borrow_mut())?;
        Ok(Ok(record.map(|_| ())))
    };
    let other = judge.event(event, passage, make, |verdict| {
        let emitter = &mut **shared.borrow_mut();
        match verdict {
            // It is written.
            Verdict::Record(_) => Ok(()),
            // A quota is reached: drops the other calls of the list.
            _ if emitter.is_done() => Ok(()),
            Verdict::Call(call, place) => emitter.tool_call(EventOrigin::Input, &call, Some(&place)),
            Verdict::RejectedCall(call) | Verdict::NotACall(call) => {
                emitter.rejected_call(EventOrigin::Input, &call)
            }
            Verdict::Rejected(diagnostic) => emitter.diagnostic(EventOrigin::Input, &diagnostic),
            Verdict::Ask(_) => unreachable!("the hook replies at once"),
        }
    })?;
    match other {
        None => Ok(()),
        Some(Event::Note(diagnostic)) => emitter.diagnostic(EventOrigin::Input, &diagnostic),
        Some(Event::Partial(partial)) => {
            emitter.partial(EventOrigin::Input, &partial.map(|delta| delta.to_owned()))
        }
        Some(other) => unreachable!("unexpected event: {other:?}"),
    }
}
