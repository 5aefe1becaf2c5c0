//! One choice of an answer: its text and its native calls.

use std::mem;

use serde::de::DeserializeOwned;
use tokenline_core::{
    CallDelta, Code, Completion, Diagnostic, Event, Options, RecordDecoder, Span, ToolCallAssembler,
};

use super::outbox::Outbox;
use super::{AnswerEvent, TextAs};
use crate::FinishReason;

pub(super) struct Choice {
    pub(super) index: u64,
    /// Why it ended, when it first did.
    pub(super) reason: Option<FinishReason>,
    text: RecordDecoder,
    calls: ToolCallAssembler,
    /// It has come to an end, and nothing came after that.
    is_ended: bool,
    is_text_ended: bool,
    /// The text so far is empty or ends with a line feed.
    is_at_line_start: bool,
    /// Where the text so far ends.
    place: Place,
    loss: Loss,
}

/// A place in a choice's text.
struct Place {
    line: u64,
    column: u64,
    offset: u64,
}

/// Whether a part of the text may be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    None,
    /// After what was read.
    Here,
    /// On the line being read.
    OnLine,
}

/// Stands in the text where a part of it may be missing. It is not UTF-8, so its line is rejected.
const GAP: &[u8] = b"\xFF";
const MISSING: &str = "a part of the line may be missing: an event of the stream could not be read";
const LIMIT: &str = "the answer was cut by its token limit";

impl Place {
    const START: Self = Self { line: 1, column: 1, offset: 0 };

    /// Goes past the text.
    fn pass(&mut self, text: &str) {
        self.line += text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        self.column = match text.rfind('\n') {
            Some(at) => (text.len() - at) as u64,
            None => self.column + text.len() as u64,
        };
        self.offset += text.len() as u64;
    }
}

impl Choice {
    pub(super) fn new<T>(index: u64, options: Options, out: &Outbox<T>) -> Self {
        let calls = ToolCallAssembler::new(options);
        Self {
            index,
            reason: None,
            text: RecordDecoder::new(options),
            calls: match &out.tools {
                Some(tools) => calls.with_tools(tools.clone()),
                None => calls,
            },
            is_ended: false,
            is_text_ended: false,
            is_at_line_start: true,
            place: Place::START,
            loss: Loss::None,
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Says that an event was lost, which may have been about this choice: what is open is not
    /// whole any more.
    pub(super) fn lose<T>(&mut self, out: &mut Outbox<T>) {
        if !self.is_ended {
            self.loss = Loss::Here;
            self.calls.cut();
            self.take_calls(out);
        }
    }

    pub(super) fn push_call<T>(&mut self, delta: CallDelta<'_>, out: &mut Outbox<T>) {
        // What says nothing does not begin anything anew.
        let says_something = |text: Option<&str>| text.is_some_and(|text| !text.trim_ascii().is_empty());
        self.is_ended &= ![delta.id, delta.name, Some(delta.arguments)].into_iter().any(says_something);
        self.calls.push(delta);
        self.take_calls(out);
    }

    fn take_calls<T>(&mut self, out: &mut Outbox<T>) {
        while let Some(outcome) = self.calls.next_event() {
            out.native_call(self.index, outcome);
        }
    }
}

impl Choice {
    /// Reads on in the text. `lossy` tells that a U+FFFD in it may have been bad bytes.
    pub(super) fn push_text<T: DeserializeOwned>(&mut self, text: &str, lossy: bool, out: &mut Outbox<T>) {
        if text.is_empty() {
            return;
        }
        self.is_ended = false;
        if mem::take(&mut self.is_text_ended) {
            // A server that goes on after it has finished: the text begins anew.
            self.text.reset();
            self.place = Place::START;
        }
        self.place.pass(text);
        if out.text_as == TextAs::Text {
            return;
        }
        self.fill_gap(out);
        if lossy && text.contains(char::REPLACEMENT_CHARACTER) {
            // As bad bytes of the same length, so that the lines they are on are rejected.
            for (place, good) in text.split(char::REPLACEMENT_CHARACTER).enumerate() {
                let bad: &[u8] = if place > 0 { b"\xFF\xFF\xFF" } else { b"" };
                self.read(bad, out);
                self.read(good.as_bytes(), out);
            }
        } else {
            self.read(text.as_bytes(), out);
        }
        self.is_at_line_start = text.ends_with('\n');
    }

    /// Ends the choice for a reason that the provider gives.
    pub(super) fn finish<T: DeserializeOwned>(&mut self, reason: &FinishReason, out: &mut Outbox<T>) {
        let before = out.events.len();
        self.end(reason.is_clean().then_some(Completion::FinishReason), out);
        let mut ends = out.events.range(before..);
        if *reason == FinishReason::Length && !ends.any(AnswerEvent::tells_of_a_cut) {
            let Place { line, column, offset } = self.place;
            let span = Span::new(offset, offset);
            out.finding(Some(self.index), Diagnostic::new(Code::Truncated, line, span, column, LIMIT));
        }
    }

    /// Ends the choice, cleanly if there is evidence for that. Nothing to do if it has ended.
    pub(super) fn end<T: DeserializeOwned>(&mut self, evidence: Option<Completion>, out: &mut Outbox<T>) {
        if mem::replace(&mut self.is_ended, true) {
            return;
        }
        let was_ended = mem::replace(&mut self.is_text_ended, true);
        if out.text_as != TextAs::Text && !was_ended {
            if !self.is_at_line_start {
                self.fill_gap(out);
            }
            while let Some(event) = self.text.finish_with(evidence.unwrap_or(Completion::EndOfInput)) {
                out.text_event(self.index, mend(event, &mut self.loss));
            }
            self.is_at_line_start = true;
            self.loss = Loss::None;
        }
        match evidence {
            Some(completion) => self.calls.seal(completion),
            None => self.calls.cut(),
        }
        self.take_calls(out);
    }

    fn fill_gap<T: DeserializeOwned>(&mut self, out: &mut Outbox<T>) {
        if self.loss == Loss::Here {
            self.loss = Loss::OnLine;
            self.place.offset += GAP.len() as u64;
            self.read(GAP, out);
        }
    }

    fn read<T: DeserializeOwned>(&mut self, mut text: &[u8], out: &mut Outbox<T>) {
        loop {
            let decoded = self.text.decode(text);
            text = &text[decoded.consumed..];
            let Some(event) = decoded.event else { return };
            out.text_event(self.index, mend(event, &mut self.loss));
        }
    }
}

/// Says of a line with a gap what is really wrong with it.
fn mend<V>(event: Event<V>, loss: &mut Loss) -> Event<V> {
    match event {
        Event::Rejected(mut diagnostic) if *loss == Loss::OnLine && diagnostic.code == Code::InvalidUtf8 => {
            *loss = Loss::None;
            diagnostic.code = Code::MalformedJson;
            MISSING.clone_into(&mut diagnostic.message);
            Event::Rejected(diagnostic)
        }
        other => other,
    }
}
