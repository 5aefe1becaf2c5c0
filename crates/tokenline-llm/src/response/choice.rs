//! One choice of a response: its texts and its native calls.

use std::hint;
use std::mem;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{Boxed, Gap, PartialArgument};
use tokenline_core::{
    CallDelta, CallUpdate, Code, CompletedBy, Diagnostic, Repetition, Span, ToolCallAssembler,
};

use super::ResponseEvent;
use super::arrived::{ArrivedTexts, WholeText};
use super::event_queue::EventQueue;
use super::message::{MessageFeature, MessageParts};
use super::text::{Borrower, Place, Text};
use crate::FinishReason;

pub(super) struct Choice {
    pub(super) index: u64,
    /// The first finish reason.
    pub(super) reason: Option<FinishReason>,
    /// Ended texts are reused.
    texts: Vec<Text>,
    calls: ToolCallAssembler,
    /// The parts of repeated texts that have arrived.
    pub(super) arrived: ArrivedTexts,
    /// The blocks whose text ended in a record without a line feed.
    released: Vec<u64>,
    /// The message so far, if it is kept.
    pub(super) message: Option<Boxed<MessageFeature, MessageParts>>,
    /// It has ended, and nothing arrived since.
    is_ended: bool,
    /// Calls went on after the end of the response.
    has_late_calls: bool,
    pub(super) has_refusal: bool,
    /// A truncation was already reported.
    has_reported_truncation: bool,
    /// An event was unreadable; the start of a text may be missing.
    missed_event: bool,
    has_too_many: bool,
    /// The index of the latest text, unless it was restarted since.
    latest: Option<u8>,
    /// The block of the latest text, and the position of its end if it was restarted since.
    block: u64,
    place: Place,
}

/// Texts open at once. Limits a server that invents blocks.
const MAX_TEXTS: usize = 64;
/// The end in its text of the last record or call that the events from `before` on deliver.
fn delivered_end<T>(out: &EventQueue<T>, before: usize) -> Option<u64> {
    out.events.range(before..).rev().find_map(|event| match event {
        ResponseEvent::Record { record, .. } => Some(record.span.end),
        ResponseEvent::ToolCall { record: Some(record), .. } => Some(record.span.end),
        _ => None,
    })
}

const LIMIT: &str = "the response reached its token limit";

impl Choice {
    pub(super) fn new<T>(index: u64, out: &EventQueue<T>) -> Self {
        let calls = ToolCallAssembler::new(&out.settings.options);
        let calls = if out.settings.ends_items { calls.with_item_ends() } else { calls };
        let has_updates = out.settings.wants_call_updates || out.settings.keeps_message;
        let calls = match out.settings.rules.tools() {
            Some(tools) => calls.with_tools(tools.clone()),
            None => calls,
        };
        Self {
            index,
            reason: None,
            texts: Vec::new(),
            calls: if has_updates { calls.with_updates() } else { calls },
            arrived: ArrivedTexts::default(),
            released: Vec::new(),
            message: if out.settings.keeps_message {
                MessageFeature::boxed(MessageParts::default)
            } else {
                None
            },
            is_ended: false,
            has_late_calls: false,
            has_refusal: false,
            has_reported_truncation: false,
            missed_event: false,
            has_too_many: false,
            latest: None,
            block: 0,
            place: Place::START,
        }
    }

    /// Reads a word of each cache line that a piece of text needs.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        if let Some(text) = self.texts.first() {
            text.prefetch();
        }
        hint::black_box(self.released.len() ^ usize::from(self.is_ended));
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Starts over: rejected calls may arrive again.
    pub(super) fn restart(&mut self) {
        self.is_ended = false;
        for text in &mut self.texts {
            text.forget_cut();
        }
        if let Some(parts) = &mut self.message {
            **parts = MessageParts::default();
        }
        self.arrived.clear();
        self.released.clear();
        self.calls.discard_rejected();
    }

    /// A block begins with the number of an earlier one.
    pub(super) fn begin_block(&mut self, block: u64) {
        self.arrived.restart(block);
        self.released.retain(|released| *released != block);
    }

    /// Records that an unreadable event may have belonged to this choice: open texts and calls are incomplete.
    pub(super) fn event_missed<T>(&mut self, out: &mut EventQueue<T>) {
        if !self.is_ended {
            self.missed_event = true;
            for text in &mut self.texts {
                text.gap = Some(Gap::Missing);
            }
            self.calls.abort();
            self.take_calls(out);
        }
    }

    pub(super) fn push_call<T>(&mut self, delta: CallDelta<'_>, out: &mut EventQueue<T>) {
        if self.is_ended || !out.has_native_call {
            self.begin_calls(&delta, out);
        }
        self.calls.push(delta);
        self.take_calls(out);
    }

    /// Takes note of the first delta of a call, and of one after the end. A delta without content begins nothing, and
    /// does not reopen the choice.
    #[cold]
    fn begin_calls<T>(&mut self, delta: &CallDelta<'_>, out: &mut EventQueue<T>) {
        let has_content = |text: Option<&str>| text.is_some_and(|text| !text.trim_ascii().is_empty());
        let is_blank = ![delta.id, delta.name, Some(delta.arguments)].into_iter().any(has_content);
        self.is_ended &= is_blank;
        out.has_native_call |= !is_blank;
    }

    pub(super) fn push_argument<T>(
        &mut self,
        block: u64,
        part: PartialArgument<'_>,
        lossy: bool,
        out: &mut EventQueue<T>,
    ) {
        self.is_ended = false;
        out.has_native_call = true;
        self.calls.push_partial(Some(block), part, lossy);
        self.take_calls(out);
    }

    /// The bytes kept for open records and calls.
    pub(super) fn held_bytes(&self) -> u64 {
        self.texts.iter().map(Text::held_bytes).sum::<u64>() + self.calls.held_bytes()
    }

    fn take_calls<T>(&mut self, out: &mut EventQueue<T>) {
        while let Some(update) = self.calls.next_update() {
            if let Some(parts) = &mut self.message {
                parts.push_call(&update);
            }
            let is_ended = matches!(&update, CallUpdate::Ended { .. });
            out.native_call(self.index, update);
            if is_ended && let Some(guard) = &mut out.guard {
                // The same words before each of many calls are no loop.
                guard.separate(self.index);
                self.texts.iter_mut().for_each(Text::separate);
            }
        }
    }

    /// The position of the end of the latest text. Not copied at each piece: that would wait for the text's to be stored.
    fn place(&self) -> Place {
        self.latest.map_or(self.place, |at| self.texts[usize::from(at)].place)
    }

    /// The index of the block's open text, reusing one that has ended; `None` if there are too many.
    fn text<T>(&mut self, block: u64, out: &EventQueue<T>) -> Option<usize> {
        let open = self.texts.iter().position(|text| text.block == block && !text.is_ended);
        let is_own = |text: &Text| text.is_ended && text.block == block;
        let ended = || {
            let own = self.texts.iter().position(is_own);
            own.or_else(|| self.texts.iter().position(|text| text.is_ended))
        };
        let at = match open.or_else(ended) {
            Some(at) if open.is_none() => {
                if self.latest == Some(at as u8) {
                    (self.latest, self.place) = (None, self.texts[at].place);
                }
                self.texts[at].restart(block);
                at
            }
            Some(at) => at,
            None if self.texts.len() == MAX_TEXTS => return None,
            None => {
                let options = out.settings.options.clone();
                // The prompt opens only the first text.
                let options = if self.texts.is_empty() { options } else { options.in_reasoning(false) };
                self.texts.reserve_exact(usize::from(self.texts.is_empty()));
                self.texts.push(Text::new(self.index, block, options, out));
                self.texts.len() - 1
            }
        };
        if open.is_none() && mem::take(&mut self.missed_event) {
            self.texts[at].gap = Some(Gap::Missing);
        }
        Some(at)
    }
}

impl Choice {
    /// Emits text of a block before it is read.
    pub(super) fn announce_text<T>(&mut self, block: u64, piece: &str, out: &mut EventQueue<T>) {
        if out.settings.wants_deltas
            && !piece.is_empty()
            && let Some(at) = self.text(block, out)
        {
            out.text_delta(self.index, block, self.texts[at].place.offset, piece);
        }
    }

    /// Reads more text of a block, up to a question about a reject; returns how much of it was read. With `lossy`, a U+FFFD
    /// in it may stand for invalid bytes. A borrower gets the records that can be lent.
    pub(super) fn push_text<T: DeserializeOwned>(
        &mut self,
        block: u64,
        piece: &str,
        lossy: bool,
        borrower: Option<&mut Borrower<'_>>,
        out: &mut EventQueue<T>,
    ) -> usize {
        if piece.is_empty() {
            return 0;
        }
        self.is_ended = false;
        match self.text(block, out) {
            Some(at) => {
                if out.settings.joins_texts {
                    self.join(at, block, out);
                }
                if !self.released.is_empty() && self.continues_record(block, piece) {
                    self.texts[at].gap = Some(Gap::Delivered);
                    out.has_late_fragment = true;
                }
                let text = &mut self.texts[at];
                let start = text.place.offset;
                let before = out.events.len();
                let read = text.push(piece, lossy, borrower, &mut self.calls, out);
                (self.block, self.latest) = (block, Some(at as u8));
                if out.settings.repeats_texts {
                    let delivered = if out.settings.passes_text() {
                        Some(read)
                    } else {
                        delivered_end(out, before).map(|end| end.saturating_sub(start) as usize)
                    };
                    self.arrived.add(block, &piece[..read], delivered);
                }
                return read;
            }
            None if !mem::replace(&mut self.has_too_many, true) => {
                let Place { line, column, offset } = self.place();
                let message =
                    format!("more than {MAX_TEXTS} texts are open at once; further texts are skipped");
                let span = Span::new(offset, offset);
                let diagnostic = Diagnostic::new(Code::RecordTooLarge, line, span, column, message);
                out.push_diagnostic(Some(self.index), block, diagnostic);
            }
            None => {}
        }
        piece.len()
    }

    /// Takes the answer to the question that a text waits for.
    pub(super) fn answer<T: DeserializeOwned>(
        &mut self,
        replacement: Option<String>,
        out: &mut EventQueue<T>,
    ) {
        let Some(text) = self.texts.iter_mut().find(|text| text.is_asking()) else { return };
        let before = out.events.len();
        text.answer(replacement, &mut self.calls, out);
        let (block, is_ending, ends_line) = (text.block, text.is_ending, text.is_at_line_start);
        if is_ending {
            self.note_released(block, ends_line, before, out);
            self.note_truncation(before, out);
        } else if out.settings.repeats_texts && delivered_end(out, before).is_some() {
            self.arrived.deliver(block);
        }
    }

    /// Whether a block whose last line was a record that was released goes on with that line.
    #[cold]
    fn continues_record(&mut self, block: u64, piece: &str) -> bool {
        let Some(released) = self.released.iter().position(|released| *released == block) else {
            return false;
        };
        let is_space = |char| matches!(char, ' ' | '\t' | ',');
        // A new line, another value, or markup that ends the record's.
        let is_apart = |first: char| matches!(first, '\n' | '\r' | '{' | '[' | '<' | '`');
        let Some(first) = piece.trim_start_matches(is_space).chars().next() else { return false };
        self.released.swap_remove(released);
        !is_apart(first)
    }

    /// Reports text after the end of the response that goes on with a record that was released.
    pub(super) fn text_after_end<T>(&mut self, block: u64, piece: &str, out: &mut EventQueue<T>) {
        if self.continues_record(block, piece) {
            out.has_late_fragment = true;
            self.block = block;
            self.warn(Code::LateFragment, "the record was released, but its line goes on", out);
        }
    }

    /// Reports arguments after the end of the response that contradict a call.
    pub(super) fn call_after_end<T>(&mut self, delta: CallDelta<'_>, out: &mut EventQueue<T>) {
        self.has_late_calls = true;
        self.calls.push_after_end(delta);
        self.take_calls(out);
    }

    /// Reports calls that have come again in part after the end of the response.
    pub(super) fn end_late_calls<T>(&mut self, out: &mut EventQueue<T>) {
        if mem::take(&mut self.has_late_calls) {
            self.calls.finish(CompletedBy::Terminator);
            self.take_calls(out);
        }
    }

    /// The rest of a whole text, if what has arrived of it is its beginning.
    pub(super) fn rest_of_text<'a, T: DeserializeOwned>(
        &mut self,
        (block, part): (u64, u64),
        whole: &'a str,
        out: &mut EventQueue<T>,
    ) -> &'a str {
        let (code, gap) = match self.arrived.compare(block, part, whole) {
            WholeText::Rest(rest) => return rest,
            WholeText::Late => (Code::LateFragment, Gap::Delivered),
            WholeText::Contradicts => (Code::TrailingData, Gap::Contradicted),
        };
        out.has_late_fragment |= code == Code::LateFragment;
        let before = out.events.len();
        for text in self.texts.iter_mut().filter(|text| text.block == block && !text.is_ended) {
            text.gap.get_or_insert(gap);
            text.end(None, &mut self.calls, out);
            // What contradicts the text is not repaired.
            while text.is_asking() {
                out.question = None;
                text.answer(None, &mut self.calls, out);
                text.end(None, &mut self.calls, out);
            }
        }
        let is_reported =
            |event: &ResponseEvent<T>| event.diagnostic().is_some_and(|diagnostic| diagnostic.code == code);
        if !out.events.range(before..).any(is_reported) {
            let message = match code {
                Code::LateFragment => "the text was read, but came again with other text",
                _ => "the text came again with another line",
            };
            let Place { line, column, offset } = self.place();
            let span = Span::new(offset, offset);
            let diagnostic = Diagnostic::new(code, line, span, column, message);
            out.push_diagnostic(Some(self.index), block, diagnostic);
        }
        ""
    }

    /// Takes note of the texts that have just ended in a record, whose events begin at `before`.
    fn note_released<T>(&mut self, block: u64, ends_line: bool, before: usize, out: &EventQueue<T>) {
        if delivered_end(out, before).is_none() {
            return;
        }
        if out.settings.repeats_texts {
            self.arrived.deliver(block);
        }
        if !ends_line && self.released.len() < MAX_TEXTS && !self.released.contains(&block) {
            self.released.push(block);
        }
    }

    /// Starts a new line between consecutive texts.
    #[cold]
    fn join<T>(&self, at: usize, block: u64, out: &mut EventQueue<T>) {
        let goes_on = self.texts[at].place.offset > 0 && self.block == block;
        if !goes_on && self.place().column > 1 {
            out.text(self.index, block, "\n");
        }
    }

    /// Ends a block: its text, or its call. `evidence` proves it complete. Returns whether it has ended; if a text asks a
    /// question, it is to be ended again after the answer.
    pub(super) fn end_block<T: DeserializeOwned>(
        &mut self,
        block: u64,
        evidence: Option<CompletedBy>,
        out: &mut EventQueue<T>,
    ) -> bool {
        let before = out.events.len();
        if !self.end_texts(Some(block), evidence, out) {
            return false;
        }
        match evidence {
            Some(completion) => self.calls.finish_item(block, completion),
            None => self.calls.abort_item(block),
        }
        self.take_calls(out);
        self.note_truncation(before, out);
        true
    }

    /// Takes note of a truncation that the events from `before` on report.
    fn note_truncation<T>(&mut self, before: usize, out: &EventQueue<T>) {
        self.has_reported_truncation |= out.events.range(before..).any(ResponseEvent::reports_truncation);
    }

    /// Ends the texts of a block, or all. Returns whether they have ended.
    fn end_texts<T: DeserializeOwned>(
        &mut self,
        block: Option<u64>,
        evidence: Option<CompletedBy>,
        out: &mut EventQueue<T>,
    ) -> bool {
        let first = out.events.len();
        for at in 0..self.texts.len() {
            let text = &mut self.texts[at];
            if !text.is_ended && block.is_none_or(|block| text.block == block) {
                let (before, block) = (out.events.len(), text.block);
                text.end(evidence, &mut self.calls, out);
                let (ends_line, is_ended) = (text.is_at_line_start, text.is_ended);
                self.note_released(block, ends_line, before, out);
                if !is_ended {
                    self.note_truncation(first, out);
                    return false;
                }
            }
        }
        true
    }

    /// Ends the choice with the provider's reason. Returns whether it has ended.
    pub(super) fn finish<T: DeserializeOwned>(
        &mut self,
        reason: &FinishReason,
        out: &mut EventQueue<T>,
    ) -> bool {
        if !self.end(reason.is_clean().then_some(CompletedBy::FinishReason), out) {
            return false;
        }
        match reason {
            FinishReason::Length if !self.has_reported_truncation => self.warn(Code::TokenLimit, LIMIT, out),
            FinishReason::Repetition => {
                let message = match self.repetition(out) {
                    Some(repetition) => format!("{repetition}; the response was stopped"),
                    None => "the model repeats itself; the server ended the response".to_owned(),
                };
                self.warn(Code::Repetition, &message, out);
            }
            _ if self.has_refusal => self.warn(Code::Refused, "the model refused to answer", out),
            FinishReason::ContentFilter => {
                self.warn(Code::ContentFilter, "a content filter of the provider ended the response", out);
            }
            _ => {}
        }
        self.has_reported_truncation = false;
        true
    }

    /// The repetition that reached its limit, if it is of this choice.
    pub(super) fn repetition<T>(&mut self, out: &EventQueue<T>) -> Option<Repetition> {
        let beside_text = out.guard.as_ref().and_then(|guard| guard.found(self.index)).copied();
        self.texts.iter_mut().find_map(|text| text.repetition().copied()).or(beside_text)
    }

    /// Warns at the end of the text.
    pub(super) fn warn<T>(&self, code: Code, message: &str, out: &mut EventQueue<T>) {
        let Place { line, column, offset } = self.place();
        let span = Span::new(offset, offset);
        let diagnostic = Diagnostic::new(code, line, span, column, message);
        out.push_diagnostic(Some(self.index), self.block, diagnostic);
    }

    /// Ends the choice, as complete if there is evidence. Does nothing if it has ended. Returns whether it has; if a text
    /// asks a question, it is to be ended again after the answer.
    pub(super) fn end<T: DeserializeOwned>(
        &mut self,
        evidence: Option<CompletedBy>,
        out: &mut EventQueue<T>,
    ) -> bool {
        if self.is_ended {
            return true;
        }
        let before = out.events.len();
        if !self.end_texts(None, evidence, out) {
            return false;
        }
        self.is_ended = true;
        self.missed_event = false;
        match evidence {
            Some(completion) => self.calls.finish(completion),
            None => self.calls.abort(),
        }
        self.take_calls(out);
        self.note_truncation(before, out);
        true
    }
}
