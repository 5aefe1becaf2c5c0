//! One text of an answer: what it is read as, and where it is at.

use std::mem;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::{
    CallFormat, Code, Completion, Event, LentEvent, Options, Record, RecordDecoder, RejectBuffer, Rejected,
    Span,
};

use super::TextAs;
use super::beside::Beside;
use super::outbox::Outbox;

/// The text of a choice, or of one of its blocks.
pub(super) struct Text {
    choice: u64,
    pub(super) block: u64,
    decoder: RecordDecoder,
    /// What is no record, where someone wants it.
    beside: Option<Box<Beside>>,
    /// Text of which that is not known yet, and where it begins.
    unsorted: Unsorted,
    /// Text that may still be rejected, if there is a repair hook.
    rejects: Option<Box<RejectBuffer>>,
    pub(super) is_ended: bool,
    /// The text so far is empty or ends with a line feed.
    is_at_line_start: bool,
    /// Where the text so far ends.
    pub(super) place: Place,
    pub(super) loss: Loss,
    /// It ended inside a record.
    pub(super) was_cut: bool,
}

/// A place in a text.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) offset: u64,
}

/// Whether a part of the text may be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    None,
    /// After what was read.
    Here,
    /// On the line being read.
    OnLine,
}

/// Stands in the text where a part of it may be missing. It is not UTF-8, so its line is rejected.
const GAP: &[u8] = b"\xFF";
const MISSING: &str =
    "a part of the line may be missing: what came before it was cut off or could not be read";

impl Place {
    pub(super) const START: Self = Self { line: 1, column: 1, offset: 0 };

    /// Goes past the text.
    fn pass(&mut self, text: &str) {
        let bytes = text.as_bytes();
        match memchr::memrchr(b'\n', bytes) {
            None => self.column += text.len() as u64,
            Some(last) => {
                self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
                self.column = (text.len() - last) as u64;
            }
        }
        self.offset += text.len() as u64;
    }
}

impl Text {
    pub(super) fn new<T>(choice: u64, block: u64, options: Options, out: &Outbox<T>) -> Self {
        let hides_calls = out.text_as == TextAs::ToolCalls;
        // Answers are told in what is whole.
        let options = options.partials(false);
        let decoder = RecordDecoder::new(match hides_calls && !options.looks_for_calls() {
            true => options.calls(CallFormat::Auto),
            false => options,
        });
        let wants = hides_calls || (out.text_as == TextAs::Records && out.wants_fragments);
        let decoder = if wants { decoder.with_markup() } else { decoder };
        let decoder = match &out.tools {
            Some(tools) => decoder.with_tools(Arc::clone(tools)),
            None => decoder,
        };
        Self {
            choice,
            block,
            decoder,
            beside: wants.then(|| Box::new(Beside::new(hides_calls))),
            unsorted: Unsorted::default(),
            rejects: out.repair.as_ref().map(|_| Box::new(RejectBuffer::new(&out.limits))),
            is_ended: false,
            is_at_line_start: true,
            place: Place::START,
            loss: Loss::None,
            was_cut: false,
        }
    }

    /// Makes it the text of another block, or of the same one again.
    pub(super) fn restart(&mut self, block: u64) {
        // What follows a cut in the same text may belong to what was cut.
        let is_inside = self.was_cut && self.block == block;
        self.block = block;
        self.decoder.reset();
        if let Some(beside) = &mut self.beside {
            beside.reset();
        }
        self.unsorted.reset();
        if let Some(rejects) = &mut self.rejects {
            rejects.reset();
        }
        (self.is_ended, self.is_at_line_start) = (false, true);
        (self.place, self.was_cut) = (Place::START, false);
        self.loss = if is_inside { Loss::Here } else { Loss::None };
    }

    /// Reads on. `lossy` tells that a U+FFFD in the text may have been bad bytes.
    pub(super) fn push<T: DeserializeOwned>(&mut self, text: &str, lossy: bool, out: &mut Outbox<T>) {
        self.place.pass(text);
        if out.text_as == TextAs::Text {
            return out.text(self.choice, self.block, text);
        }
        self.fill_gap(out);
        if lossy && text.contains(char::REPLACEMENT_CHARACTER) {
            // As bad bytes of the same length, so that the lines they are on are rejected.
            let mut good_from = 0;
            for (at, bad) in text.match_indices(char::REPLACEMENT_CHARACTER) {
                self.read(&text[good_from..at], &text.as_bytes()[good_from..at], out);
                self.read(bad, b"\xFF\xFF\xFF", out);
                good_from = at + bad.len();
            }
            self.read(&text[good_from..], &text.as_bytes()[good_from..], out);
        } else {
            self.read(text, text.as_bytes(), out);
        }
        self.is_at_line_start = text.ends_with('\n');
    }

    /// Ends the text. `evidence` tells that it is whole.
    pub(super) fn end<T: DeserializeOwned>(&mut self, evidence: Option<Completion>, out: &mut Outbox<T>) {
        if mem::replace(&mut self.is_ended, true) || out.text_as == TextAs::Text {
            return;
        }
        if !self.is_at_line_start {
            self.fill_gap(out);
        }
        let end = self.decoder.position();
        let completion = evidence.unwrap_or(Completion::EndOfInput);
        let Self { decoder, unsorted, .. } = self;
        while let Some(event) = decoder.finish_and(completion, |span| unsorted.markup.push(span)) {
            let event = mend(event, &mut self.loss);
            self.was_cut |= matches!(&event, Event::Rejected(its) if its.code == Code::Truncated);
            let lost = lost(&mut self.rejects, &event, completion, &[], end);
            if let Some(beside) = &mut self.beside {
                unsorted.sort(&event, end, beside);
            }
            out.text_event(self.choice, self.block, self.beside.as_deref_mut(), event, lost);
        }
        if let Some(beside) = &mut self.beside {
            self.unsorted.skip_markup(beside);
            self.unsorted.push_to(u64::MAX, beside);
            beside.end();
            out.beside(self.choice, self.block, beside);
        }
    }

    fn fill_gap<T: DeserializeOwned>(&mut self, out: &mut Outbox<T>) {
        if self.loss == Loss::Here {
            self.loss = Loss::OnLine;
            self.place.offset += GAP.len() as u64;
            if let Some(beside) = &mut self.beside {
                self.unsorted.push_to(u64::MAX, beside);
                self.unsorted.at += GAP.len() as u64;
                beside.gap(GAP.len() as u64);
            }
            self.read("", GAP, out);
        }
    }

    /// Reads the bytes, which are those of the text or stand for it.
    fn read<T: DeserializeOwned>(&mut self, text: &str, bytes: &[u8], out: &mut Outbox<T>) {
        let base = self.decoder.position();
        if self.beside.is_some() {
            self.unsorted.add(text);
        }
        let mut at = 0;
        loop {
            let Self { decoder, unsorted, .. } = self;
            let decoded = decoder.decode_with(&bytes[at..], |span| unsorted.markup.push(span));
            at += decoded.consumed;
            let Some(event) = decoded.event else { break };
            let event = mend(event, &mut self.loss);
            if let Some(beside) = &mut self.beside {
                // Up to the end of its line, unless that is known better.
                unsorted.sort(&event, base + at as u64, beside);
            }
            let lost = lost(&mut self.rejects, &event, Completion::Newline, bytes, base);
            out.text_event(self.choice, self.block, self.beside.as_deref_mut(), event, lost);
        }
        if let Some(rejects) = &mut self.rejects {
            rejects.keep(&self.decoder, bytes);
        }
        if let Some(beside) = &mut self.beside {
            self.unsorted.skip_markup(beside);
            self.unsorted.push_to(self.decoder.unsorted_from(), beside);
            out.beside(self.choice, self.block, beside);
        }
    }
}

/// Text of which it is not known yet whether it is part of a record.
#[derive(Default)]
struct Unsorted {
    text: String,
    /// How much of it is done with, and where the rest begins in the stream.
    from: usize,
    at: u64,
    /// What of it is neither a record nor for people.
    markup: Vec<Span>,
}

impl Unsorted {
    fn reset(&mut self) {
        self.text.clear();
        self.markup.clear();
        (self.from, self.at) = (0, 0);
    }

    fn add(&mut self, text: &str) {
        // Moved seldom enough that the work stays linear.
        if self.from > self.text.len() / 2 {
            self.text.drain(..self.from);
            self.from = 0;
        }
        self.text.push_str(text);
    }

    /// Passes on what stands before an event, and what that is about, as a whole; a finding is about
    /// nothing from the offset `end` on.
    fn sort(&mut self, event: &LentEvent<'_>, end: u64, beside: &mut Beside) {
        self.skip_markup(beside);
        match event {
            Event::Record(record) => {
                self.push_to(record.span.start, beside);
                beside.push_whole(self.take_to(record.span.end));
            }
            Event::Rejected(diagnostic) if diagnostic.span.start >= self.at => {
                self.push_to(diagnostic.span.start, beside);
                beside.push_whole(self.take_to(diagnostic.span.end.min(end)));
            }
            _ => {}
        }
    }

    /// Goes past what is neither a record nor for people.
    fn skip_markup(&mut self, beside: &mut Beside) {
        for at in 0..self.markup.len() {
            let span = self.markup[at];
            self.push_to(span.start, beside);
            beside.skip(self.take_to(span.end));
        }
        self.markup.clear();
    }

    /// Passes on the text up to this offset.
    fn push_to(&mut self, offset: u64, beside: &mut Beside) {
        beside.push(self.take_to(offset));
    }

    fn take_to(&mut self, offset: u64) -> &str {
        let rest = &self.text[self.from..];
        let len = usize::try_from(offset.saturating_sub(self.at)).unwrap_or(usize::MAX).min(rest.len());
        // What a limit cuts may end within a character.
        let len = (0..=len).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
        self.from += len;
        self.at += len as u64;
        &self.text[self.from - len..self.from]
    }
}

/// What a repair hook is given about an event, if it is a reject. `input` is what is being read, `start`
/// the offset of its first byte.
#[inline]
fn lost(
    rejects: &mut Option<Box<RejectBuffer>>,
    event: &LentEvent<'_>,
    completion: Completion,
    input: &[u8],
    start: u64,
) -> Option<(Rejected, Record<()>)> {
    let rejects = rejects.as_mut()?;
    match event {
        Event::Record(record) => {
            rejects.release(record.span);
            None
        }
        Event::Rejected(diagnostic) => rejects.rejected(diagnostic, completion, input, start),
        _ => None,
    }
}

/// Says of a line with a gap what is really wrong with it.
fn mend<V, D>(event: Event<V, D>, loss: &mut Loss) -> Event<V, D> {
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
