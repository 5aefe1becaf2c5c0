//! Thinking, which is not part of the response.

use memchr::memchr2;

use super::state::Skip;
use super::{Outcome, Scanner, Step};
use crate::json::error;
use crate::records::cursor::Cursor;
use crate::records::line::{FenceKind, Line};
use crate::{Code, Diagnostic, Span};

/// The message of a text that ends inside the tags.
pub(crate) const STILL_THINKING: &str = "the input ends while the model is still thinking";

/// The tags around thinking: what opens it, at the start of a line, and what closes it, anywhere after that.
pub const THINK_TAGS: [(&str, &str); 14] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|content_thinking|>", "<|end_message|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ("◁think▷", "◁/think▷"),
];

/// The tag that is being read, or was read last.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    /// The start of the tag.
    pub(super) start: u64,
    line: u64,
    column: u64,
    /// An opener that begins with what is read of the tag, and how much that is.
    opener: u8,
    len: u8,
    /// The tags whose closer is awaited.
    tags: u8,
    /// Whether text or records are before it: if it is never closed, it is text as well.
    follows_content: bool,
    /// Whether that is the case: what follows is scanned again, and no tag counts.
    pub(super) is_text: bool,
    /// Whether the prompt has opened it: text without an opener is thinking as well.
    is_prompted: bool,
    /// Whether nothing of it is shown or scanned again, so that it need not be UTF-8.
    pub(super) is_raw: bool,
}

impl Thinking {
    /// The part of the tag that is read.
    fn read(&self) -> &'static [u8] {
        &THINK_TAGS[usize::from(self.opener)].0.as_bytes()[..usize::from(self.len)]
    }

    fn closer(&self) -> &'static [u8] {
        THINK_TAGS[usize::from(self.tags)].1.as_bytes()
    }

    /// The first tags whose opener begins with this.
    fn tags_with(read: &[u8]) -> Option<u8> {
        (0..)
            .zip(THINK_TAGS)
            .find(|(_, (opener, _))| opener.as_bytes().starts_with(read))
            .map(|(tags, _)| tags)
    }
}

impl Scanner {
    /// Begins the text: with a possible tag, if the prompt has opened the thinking.
    pub(super) fn begin_thinking(&mut self) {
        if self.options.begins_in_reasoning() {
            self.begin_tag(self.line.start, b"");
            (self.thinking.is_prompted, self.thinking.tags) = (true, 0);
        }
    }

    /// The next text does not begin inside the thinking.
    pub(in crate::records) fn end_reasoning(&mut self) {
        self.options.in_reasoning = false;
    }

    /// Begins a possible tag at `start`, whose first bytes are `read`.
    pub(super) fn begin_tag(&mut self, start: u64, read: &[u8]) {
        if self.thinking.is_text {
            self.state.enter_text();
            return;
        }
        let thinking = &mut self.thinking;
        thinking.opener = Thinking::tags_with(read).expect("a tag begins with it");
        thinking.len = read.len() as u8;
        (thinking.start, thinking.line) = (start, self.line.number);
        thinking.column = self.line.column(start);
        thinking.follows_content = self.has_content;
        thinking.is_raw = !self.has_content && self.segments.is_none();
        self.state.enter_tag();
    }

    #[inline(never)]
    pub(super) fn tag(&mut self, cursor: &mut Cursor<'_>) -> Step {
        while let Some(byte) = cursor.peek() {
            let thinking = &mut self.thinking;
            let (len, read) = (usize::from(thinking.len), thinking.read());
            let fits = |opener: &[u8]| opener.get(len) == Some(&byte) && opener.starts_with(read);
            let Some((tags, (opener, closer))) =
                (0..).zip(THINK_TAGS).find(|(_, (opener, _))| fits(opener.as_bytes()))
            else {
                self.not_a_tag(cursor);
                return None;
            };
            (thinking.opener, thinking.len) = (tags, thinking.len + 1);
            cursor.at += 1;
            if len + 1 == opener.len() {
                thinking.tags = tags;
                // The bytes of a split character are needed.
                thinking.is_raw &= closer.is_ascii();
                // Only white space was before it.
                self.line.first = None;
                self.state.enter_think(0);
                if !self.thinking.follows_content {
                    self.show_tag(cursor.offset());
                }
                return None;
            }
        }
        None
    }

    /// Reads on after a text that is not a tag: the next byte does not fit.
    pub(super) fn not_a_tag(&mut self, cursor: &mut Cursor<'_>) {
        if std::mem::take(&mut self.thinking.is_prompted) {
            let matched =
                if self.thinking.closer().starts_with(self.thinking.read()) { self.thinking.len } else { 0 };
            self.thinking.len = 0;
            self.state.enter_think(matched);
            return;
        }
        let read = self.thinking.read();
        if read.first() != Some(&b'[') {
            self.line.add_text(read);
            self.state.enter_text();
            return;
        }
        if self.fence_kind() != Some(FenceKind::Json) {
            return self.read_as_text(cursor, 1);
        }
        let start = self.thinking.start;
        let found = read
            .get(1)
            .map_or(error::UnexpectedToken::EndOfInput, |&byte| error::UnexpectedToken::classify(byte));
        let message = error::describe(error::Expected::ValueOrBracket, found);
        self.fault(Code::MalformedJson, start, (start + 1).min(cursor.offset()), message);
        self.state.enter_skip(Skip { start, depth: 1, ..Skip::default() });
    }

    #[inline(never)]
    pub(super) fn think(&mut self, cursor: &mut Cursor<'_>, mut matched: u8) -> Step {
        let closer = self.thinking.closer();
        let bytes = if self.thinking.is_raw { cursor.rest() } else { cursor.line() };
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if closer.get(usize::from(matched)) == Some(&byte) {
                (matched, at) = (matched + 1, at + 1);
                if usize::from(matched) == closer.len() {
                    let end = cursor.offset() + at as u64;
                    self.show_tag(self.thinking.start + u64::from(self.thinking.len));
                    self.show_thinking(end - closer.len() as u64);
                    self.show_tag(end);
                    cursor.at += at;
                    self.line.text_start = cursor.offset();
                    self.counted_from = cursor.offset();
                    self.state.enter_line_start();
                    if let Some(calls) = &mut self.calls {
                        calls.restart_text();
                    }
                    return None;
                }
            } else if matched > 0 {
                // The first byte of a closer occurs only once in it, or once more, where its last character begins.
                matched = u8::from(matched > 1 && closer[usize::from(matched) - 1] == closer[0]);
            } else if byte == b'\n' {
                at += 1;
                self.line = Line::new(self.line.number + 1, cursor.offset() + at as u64);
            } else {
                at = memchr2(closer[0], b'\n', &bytes[at..]).map_or(bytes.len(), |next| at + next);
            }
        }
        cursor.at += at;
        self.state.enter_think(matched);
        if cursor.offset() - self.thinking.start > self.max_bytes() {
            self.show_tag(self.thinking.start + u64::from(self.thinking.len));
            self.thinking.follows_content = false;
            self.thinking.is_raw |= self.segments.is_none();
        }
        if at > 0 && !self.thinking.follows_content && !self.thinking.is_raw {
            // The closing tag may have begun.
            self.show_thinking(cursor.offset() - u64::from(matched));
        }
        None
    }

    /// Yields thinking up to `end`, if text is asked for.
    fn show_thinking(&mut self, end: u64) {
        match &mut self.segments {
            Some(segments) if self.thinking.is_raw => segments.markup(end),
            Some(segments) => segments.reasoning(end),
            None => {}
        }
    }

    fn show_tag(&mut self, end: u64) {
        if let Some(segments) = &mut self.segments {
            segments.tag(self.thinking.start, end);
        }
    }

    /// The start of the text to scan again if the tag is never closed.
    pub(super) fn unclosed_from(&self) -> Option<u64> {
        let is_held = self.state.is_in_tag() && self.thinking.follows_content;
        is_held.then_some(self.thinking.start)
    }

    /// Text that is not UTF-8 cannot be scanned again.
    pub(super) fn drop_unclosed(&mut self) {
        self.thinking.follows_content = false;
        self.thinking.is_raw = true;
        self.pass_incomplete_character();
    }

    /// Scans again, as text, what follows a tag that was never closed.
    pub(super) fn read_unclosed(&mut self, cursor: &mut Cursor<'_>) {
        let Thinking { start, line, column, .. } = self.thinking;
        let read = self.thinking.read();
        self.line = Line::new(line, start + 1 - column);
        self.line.first = Some(start);
        self.line.lead.add(read);
        self.counted_from = self.line.start;
        cursor.seek(start + read.len() as u64);
        self.thinking.is_text = true;
        self.state.enter_text();
    }

    /// Skips a split character, which is not kept. No tag in ASCII contains one.
    pub(in crate::records) fn pass_incomplete_character(&mut self) {
        if self.state.think().is_some() && self.thinking.closer().is_ascii() {
            self.state.enter_think(0);
        }
    }

    /// Ends the input inside the tags.
    pub(super) fn unclosed_thinking(&mut self, end: u64) -> Outcome {
        let Thinking { start, line, column, .. } = self.thinking;
        self.line.first = None;
        self.report(Diagnostic::new(Code::Truncated, line, Span::new(start, end), column, STILL_THINKING))
    }
}
