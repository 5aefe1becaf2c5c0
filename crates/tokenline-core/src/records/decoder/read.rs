//! How the decoder reads on: in the input itself, and in the carry.

use super::RecordDecoder;
use crate::records::cursor::Cursor;
use crate::records::input::{Input, TOKEN_BYTES};
use crate::records::parts::UnlentEvent;
use crate::records::scanner::Outcome;
use crate::{CompletedBy, Span};

/// The outcome for a token that was consumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::records) enum Token {
    /// It continues the open string.
    InString,
    /// It continues the open value.
    InValue,
    /// It is in the carry, and not read yet.
    Unread,
}

impl RecordDecoder {
    /// Appends a token to the open string, which is most of what a model writes, and does nothing else: what it means is
    /// [read later](Self::read_appended), with all that follow in the string.
    #[inline(always)]
    pub(super) fn append_token<'i>(&mut self, token: impl Input<'i>) -> bool {
        let len = token.bytes().len();
        if len > TOKEN_BYTES || len as u64 >= self.string_room {
            return false;
        }
        if len > 0 {
            if !token.is_plain_token() {
                return false;
            }
            token.push_token(&mut self.carry.text);
            self.position += len as u64;
            self.string_room -= len as u64;
        }
        true
    }

    /// The bytes of the appended tokens.
    #[inline(always)]
    pub(super) fn appended(&self) -> usize {
        if self.string_room > 0 { self.carry.text.len() - self.carry.at } else { 0 }
    }

    /// Reads the appended tokens: the string continues.
    #[inline(always)]
    pub(super) fn read_appended(&mut self) {
        if self.string_room > 0 {
            let len = self.appended();
            self.scanner.continue_string(len);
            self.carry.at += len;
            self.scanned += len as u64;
            self.string_room = 0;
        }
    }

    /// Consumes a token inside a value, as most chunks of a streamed response are.
    #[inline(always)]
    pub(in crate::records) fn take_token<'i>(&mut self, input: impl Input<'i>) -> Option<Token> {
        self.read_appended();
        let len = input.bytes().len();
        if !self.takes_token(len) {
            return None;
        }
        let is_plain = input.is_plain_token();
        if !is_plain && !input.is_token_of_line() {
            return None;
        }
        let is_in_value = self.scanner.is_in_value(self.position + len as u64);
        let is_in_string = is_in_value && is_plain && self.scanner.continue_string(len);
        self.push_token(input);
        if !is_in_string && !self.scanner.continue_value(&self.carry.text, self.carry.base) {
            return Some(Token::Unread);
        }
        self.carry.at = self.carry.text.len();
        // With parts, each token is a delta.
        if self.parts.is_none()
            && let Some(room) = self.scanner.room_in_string(self.position)
        {
            self.string_room = room + 1;
        }
        Some(if is_in_string { Token::InString } else { Token::InValue })
    }

    #[inline(always)]
    fn push_token<'i>(&mut self, token: impl Input<'i>) {
        token.push_token(&mut self.carry.text);
        let len = token.bytes().len() as u64;
        self.scanned += len;
        self.position += len;
    }

    #[inline(always)]
    fn takes_token(&self, len: usize) -> bool {
        (1..=TOKEN_BYTES).contains(&len) && self.carry.is_all_read() && self.gap.is_none()
    }

    /// Reads a line that is a record and nothing else, and returns the record's text.
    #[inline(always)]
    pub(super) fn plain_line<'i>(&mut self, input: impl Input<'i>) -> Option<&'i str> {
        if self.carry.is_active() || self.gap.is_some() {
            return None;
        }
        let complete = input.slice(0..input.bytes().len() - input.incomplete_len());
        let text = self.scanner.plain_line(complete)?;
        self.position += text.len() as u64 + 1;
        Some(text)
    }

    // `inline(always)`: it has several callers, and is not inlined otherwise.
    #[inline(always)]
    pub(in crate::records) fn read<'i>(&mut self, input: impl Input<'i>) -> (usize, Option<UnlentEvent<'i>>) {
        let bytes = input.bytes();
        if let Some(token) = self.take_token(input) {
            let event = if token == Token::Unread { self.read_carry() } else { None };
            return (bytes.len(), event);
        }
        if self.gap.is_some()
            && let Some(event) = self.read_gap()
        {
            return (0, Some(event));
        }
        if !bytes.is_empty() {
            self.carry.shrink();
        }
        let mut consumed = 0;
        loop {
            if !self.carry.is_active() {
                let (used, plain) = self.read_input(input.from(consumed));
                consumed += used;
                if plain.is_some() || consumed == bytes.len() {
                    return (consumed, plain);
                }
                // A possible call is read in the carry.
                continue;
            }
            if let Some(plain) = self.read_carry() {
                return (consumed, Some(plain));
            }
            if self.carry.is_active() {
                if consumed == bytes.len() || self.scanner.has_segments() {
                    return (consumed, None);
                }
                let taken = self.carry.extend(input.from(consumed));
                self.scanned += taken as u64;
                self.position += taken as u64;
                consumed += taken;
            }
        }
    }

    /// The events at the end of the input.
    pub(super) fn read_end(&mut self, completion: CompletedBy) -> Option<UnlentEvent<'static>> {
        self.read_appended();
        if self.gap.is_some()
            && let Some(event) = self.read_gap()
        {
            return Some(event);
        }
        if self.carry.is_active()
            && let Some(event) = self.read_carry()
        {
            return Some(event);
        }
        loop {
            let text = std::mem::take(&mut self.carry.text);
            let base = if self.carry.is_active() { self.carry.base } else { self.position };
            self.scanner.keep_from(base);
            let mut cursor = Cursor::carried(&text, base, text.len(), false);
            let incomplete = self.carry.incomplete_len();
            let outcome = self.scanner.finish(&mut cursor, completion, incomplete);
            let (at, outcome) = (cursor.at, outcome.map(|outcome| outcome.map(carried)));
            // If the input ends inside a value on several lines, its lines are scanned again.
            (self.carry.text, self.carry.at) = (text, at);
            match outcome {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {
                    self.carry.shrink();
                    return None;
                }
                Err(_) => {
                    if let Some(event) = self.read_carry() {
                        return Some(event);
                    }
                }
            }
        }
    }

    /// Reads on in the input itself; nothing is carried.
    // `inline(always)`: returning the event by value costs a copy that shows with short chunks.
    #[inline(always)]
    fn read_input<'i>(&mut self, input: impl Input<'i>) -> (usize, Option<UnlentEvent<'i>>) {
        let len = input.bytes().len();
        let complete = input.slice(0..len - input.incomplete_len());
        let complete_len = complete.bytes().len();
        let mut cursor = complete.cursor(self.position);
        let outcome = self.scanner.advance(&mut cursor);
        let mut at = cursor.at;
        match outcome {
            Some(Outcome::Record) => {
                let Span { start, end } = self.scanner.found().span;
                let text = cursor.value((start - self.position) as usize, (end - self.position) as usize);
                self.position += at as u64;
                (at, Some(UnlentEvent::InInput(text)))
            }
            Some(Outcome::Diagnostic(diagnostic)) => {
                // Scan the open value again, from its first byte.
                if let Some(start) = self.scanner.open_start() {
                    at = at.min((start - self.position) as usize);
                } else if let Some(start) = self.scanner.held_from() {
                    let held = complete.text((start - self.position) as usize..at).expect("it was read");
                    self.carry.start(held, start, &[]);
                }
                self.position += at as u64;
                (at, Some(UnlentEvent::Diagnostic(diagnostic)))
            }
            Some(Outcome::Call) => unreachable!("calls are found in the carry"),
            None if self.scanner.wants_carry() => {
                self.position += at as u64;
                self.carry.start("", self.position, &[]);
                (at, None)
            }
            None => {
                let incomplete = &input.bytes()[complete_len..];
                if !incomplete.is_empty() {
                    self.scanner.pass_incomplete_character();
                }
                let open = self.scanner.held_from().map(|start| (start - self.position) as usize);
                let open = open.unwrap_or(complete_len);
                if open < complete_len || !(incomplete.is_empty() || self.scanner.is_discarding()) {
                    let text = complete.text(open..complete_len).expect("the scanner checked it");
                    self.carry.start(text, self.position + open as u64, incomplete);
                }
                self.position += len as u64;
                (len, None)
            }
        }
    }

    /// Reads on in the carry; leaves it once nothing in it is open.
    pub(in crate::records) fn read_carry(&mut self) -> Option<UnlentEvent<'static>> {
        if self.carry.is_all_read() && self.held_from().is_some() {
            return None;
        }
        let text = std::mem::take(&mut self.carry.text);
        self.scanner.keep_from(self.carry.base);
        let mut cursor = Cursor::carried(&text, self.carry.base, self.carry.at, self.carry.ends_bad);
        let event = self.scanner.advance(&mut cursor).map(carried);
        let at = cursor.at;
        (self.carry.text, self.carry.at) = (text, at);
        if event.is_none() {
            match self.held_from() {
                Some(start) => self.carry.drop_before(start),
                None if self.carry.incomplete_len() > 0 && !self.scanner.is_discarding() => {
                    self.carry.drop_before(self.carry.end());
                }
                None => self.carry.clear(),
            }
        }
        event
    }

    /// Reads the gap like a byte that is not UTF-8.
    #[cold]
    fn read_gap(&mut self) -> Option<UnlentEvent<'static>> {
        loop {
            self.scanner.set_gap(self.gap);
            let event = if self.carry.is_active() {
                self.carry.ends_bad = true;
                self.read_carry()
            } else {
                self.scanner.advance(&mut Cursor::carried("", self.position, 0, true)).map(carried)
            };
            self.scanner.set_gap(None);
            if event.is_some() || self.scanner.has_segments() {
                return event;
            }
            if self.scanner.has_passed_gap() {
                self.carry.end_gap();
            }
            if !self.carry.ends_bad {
                self.gap = None;
                return None;
            }
        }
    }

    /// Offset of the first byte in the carry that is still needed.
    pub(super) fn held_from(&self) -> Option<u64> {
        let held = self.scanner.held_from();
        if self.parts.is_none() || (held.is_some() && !self.scanner.emits_text()) {
            return held;
        }
        let (base, end) = (self.carry.base, self.carry.end());
        let text = self.scanner.text_held_from(end).map(|start| start.clamp(base, end));
        // The next bytes must be read here as well.
        let next = self.scanner.wants_carry().then_some(end);
        [held, text, next].into_iter().flatten().min()
    }
}

fn carried(outcome: Outcome) -> UnlentEvent<'static> {
    match outcome {
        Outcome::Record => UnlentEvent::InCarry,
        Outcome::Call => UnlentEvent::Call,
        Outcome::Diagnostic(diagnostic) => UnlentEvent::Diagnostic(diagnostic),
    }
}
