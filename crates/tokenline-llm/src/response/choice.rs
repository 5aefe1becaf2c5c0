//! One choice of a response: its texts and its native calls.

use serde::de::DeserializeOwned;
use tokenline_core::{
    CallDelta, Code, CompletedBy, Diagnostic, Options, PartialArgument, Span, ToolCallAssembler,
};

use super::ResponseEvent;
use super::event_queue::EventQueue;
use super::message::MessageParts;
use super::text::{Place, Text};
use crate::FinishReason;

pub(super) struct Choice {
    pub(super) index: u64,
    /// The first finish reason.
    pub(super) reason: Option<FinishReason>,
    options: Options,
    /// Ended texts are reused.
    texts: Vec<Text>,
    calls: ToolCallAssembler,
    /// The message so far, if it is kept.
    pub(super) message: Option<Box<MessageParts>>,
    /// It has ended, and nothing arrived since.
    is_ended: bool,
    /// A truncation was already reported.
    has_reported_truncation: bool,
    /// An event was unreadable; the start of a text may be missing.
    missed_event: bool,
    has_too_many: bool,
    /// The block of the latest text, and the position of its end.
    block: u64,
    place: Place,
}

/// Texts open at once. Limits a server that invents blocks.
const MAX_TEXTS: usize = 64;
const LIMIT: &str = "the response reached its token limit";

impl Choice {
    pub(super) fn new<T>(index: u64, options: Options, out: &EventQueue<T>) -> Self {
        let calls = ToolCallAssembler::new(options.clone());
        let has_updates = out.wants_call_updates || out.keeps_message;
        let calls = match &out.tools {
            Some(tools) => calls.with_tools(tools.clone()),
            None => calls,
        };
        Self {
            index,
            reason: None,
            options,
            texts: Vec::new(),
            calls: if has_updates { calls.with_updates() } else { calls },
            message: out.keeps_message.then(Box::default),
            is_ended: false,
            has_reported_truncation: false,
            missed_event: false,
            has_too_many: false,
            block: 0,
            place: Place::START,
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Starts over: rejected calls may arrive again.
    pub(super) fn restart(&mut self) {
        self.is_ended = false;
        for text in &mut self.texts {
            text.was_cut = false;
        }
        if let Some(parts) = &mut self.message {
            **parts = MessageParts::default();
        }
        self.calls.discard_rejected();
    }

    /// Records that an unreadable event may have belonged to this choice: open texts and calls are incomplete.
    pub(super) fn event_missed<T>(&mut self, out: &mut EventQueue<T>) {
        if !self.is_ended {
            self.missed_event = true;
            for text in &mut self.texts {
                text.has_gap = true;
            }
            self.calls.abort();
            self.take_calls(out);
        }
    }

    pub(super) fn push_call<T>(&mut self, delta: CallDelta<'_>, out: &mut EventQueue<T>) {
        // A delta without content does not reopen the choice.
        let has_content = |text: Option<&str>| text.is_some_and(|text| !text.trim_ascii().is_empty());
        if self.is_ended {
            self.is_ended = ![delta.id, delta.name, Some(delta.arguments)].into_iter().any(has_content);
        }
        self.calls.push(delta);
        self.take_calls(out);
    }

    pub(super) fn push_argument<T>(
        &mut self,
        block: u64,
        part: PartialArgument<'_>,
        lossy: bool,
        out: &mut EventQueue<T>,
    ) {
        self.is_ended = false;
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
            out.native_call(self.index, update);
        }
    }

    /// The index of the block's open text, reusing one that has ended; `None` if there are too many.
    fn text<T>(&mut self, block: u64, out: &EventQueue<T>) -> Option<usize> {
        let open = self.texts.iter().position(|text| text.block == block && !text.is_ended);
        let at = match open.or_else(|| self.texts.iter().position(|text| text.is_ended)) {
            Some(at) if open.is_none() => {
                self.texts[at].restart(block);
                at
            }
            Some(at) => at,
            None if self.texts.len() == MAX_TEXTS => return None,
            None => {
                self.texts.push(Text::new(self.index, block, self.options.clone(), out));
                self.options = std::mem::take(&mut self.options).in_reasoning(false);
                self.texts.len() - 1
            }
        };
        if open.is_none() && std::mem::take(&mut self.missed_event) {
            self.texts[at].has_gap = true;
        }
        Some(at)
    }
}

impl Choice {
    /// Reads more text of a block. With `lossy`, a U+FFFD in it may stand for invalid bytes.
    pub(super) fn push_text<T: DeserializeOwned>(
        &mut self,
        block: u64,
        piece: &str,
        lossy: bool,
        out: &mut EventQueue<T>,
    ) {
        if piece.is_empty() {
            return;
        }
        self.is_ended = false;
        match self.text(block, out) {
            Some(at) => {
                if out.joins_texts {
                    self.join(at, block, out);
                }
                let text = &mut self.texts[at];
                out.text_delta(self.index, block, text.place.offset, piece);
                text.push(piece, lossy, &mut self.calls, out);
                (self.block, self.place) = (block, text.place);
            }
            None if !std::mem::replace(&mut self.has_too_many, true) => {
                let Place { line, column, offset } = self.place;
                let message =
                    format!("more than {MAX_TEXTS} texts are open at once; further texts are skipped");
                let span = Span::new(offset, offset);
                let diagnostic = Diagnostic::new(Code::RecordTooLarge, line, span, column, message);
                out.push_diagnostic(Some(self.index), block, diagnostic);
            }
            None => {}
        }
    }

    /// Starts a new line between consecutive texts.
    #[cold]
    fn join<T>(&self, at: usize, block: u64, out: &mut EventQueue<T>) {
        let goes_on = self.texts[at].place.offset > 0 && self.block == block;
        if !goes_on && self.place.column > 1 {
            out.text(self.index, block, "\n");
        }
    }

    /// Ends a block: its text, or its call. `evidence` proves it complete.
    pub(super) fn end_block<T: DeserializeOwned>(
        &mut self,
        block: u64,
        evidence: Option<CompletedBy>,
        out: &mut EventQueue<T>,
    ) {
        let before = out.events.len();
        for text in self.texts.iter_mut().filter(|text| text.block == block) {
            text.end(evidence, &mut self.calls, out);
        }
        match evidence {
            Some(completion) => self.calls.finish_item(block, completion),
            None => self.calls.abort_item(block),
        }
        self.take_calls(out);
        self.has_reported_truncation |= out.events.range(before..).any(ResponseEvent::reports_truncation);
    }

    /// Ends the choice with the provider's reason.
    pub(super) fn finish<T: DeserializeOwned>(&mut self, reason: &FinishReason, out: &mut EventQueue<T>) {
        self.end(reason.is_clean().then_some(CompletedBy::FinishReason), out);
        if *reason == FinishReason::Length && !self.has_reported_truncation {
            let Place { line, column, offset } = self.place;
            let span = Span::new(offset, offset);
            let diagnostic = Diagnostic::new(Code::Truncated, line, span, column, LIMIT);
            out.push_diagnostic(Some(self.index), self.block, diagnostic);
        }
        self.has_reported_truncation = false;
    }

    /// Ends the choice, as complete if there is evidence. Does nothing if it has ended.
    pub(super) fn end<T: DeserializeOwned>(
        &mut self,
        evidence: Option<CompletedBy>,
        out: &mut EventQueue<T>,
    ) {
        if std::mem::replace(&mut self.is_ended, true) {
            return;
        }
        let before = out.events.len();
        for text in &mut self.texts {
            text.end(evidence, &mut self.calls, out);
        }
        self.missed_event = false;
        match evidence {
            Some(completion) => self.calls.finish(completion),
            None => self.calls.abort(),
        }
        self.take_calls(out);
        self.has_reported_truncation |= out.events.range(before..).any(ResponseEvent::reports_truncation);
    }
}
