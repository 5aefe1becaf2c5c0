//! Thinking aloud, which is no part of the answer.

use memchr::memchr2;

use super::{Found, Machine, Phase};
use crate::json::error;
use crate::records::line::{FenceKind, Line};
use crate::records::phase::lost::Skip;
use crate::records::window::Window;
use crate::{Code, Diagnostic, Span};

/// What stands around it. An opener counts at the start of a line, a closer anywhere after it.
const TAGS: [(&[u8], &[u8]); 5] = [
    (b"<think>", b"</think>"),
    (b"<thinking>", b"</thinking>"),
    (b"<thought>", b"</thought>"),
    (b"<reasoning>", b"</reasoning>"),
    (b"[THINK]", b"[/THINK]"),
];

/// The tag that is being read, or that was last.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    read: [u8; 12],
    len: usize,
    /// Where it begins.
    start: u64,
    line: u64,
    column: u64,
    closer: &'static [u8],
    /// Text or records stand before it: if nothing closes it, it is text as well.
    is_behind: bool,
    /// That is so: what follows is read again, and no tag is one.
    pub(super) is_text: bool,
}

impl Thinking {
    fn read(&self) -> &[u8] {
        &self.read[..self.len]
    }
}

impl Machine {
    /// At `start` a tag may begin, of which `read` was read.
    pub(super) fn begin_tag(&mut self, start: u64, read: &[u8]) {
        if self.thinking.is_text {
            self.phase = Phase::Text;
            return;
        }
        let thinking = &mut self.thinking;
        thinking.read[..read.len()].copy_from_slice(read);
        thinking.len = read.len();
        (thinking.start, thinking.line) = (start, self.line.number);
        thinking.column = self.line.column(start);
        thinking.is_behind = self.has_content;
        self.phase = Phase::Tag;
    }

    #[inline(never)]
    pub(super) fn tag<'w>(&mut self, bytes: &[u8], window: &Window<'_>, at: &mut usize) -> Option<Found<'w>> {
        while let Some(&byte) = bytes.get(*at) {
            let thinking = &mut self.thinking;
            let len = thinking.len;
            let fits = |opener: &[u8]| opener.get(len) == Some(&byte) && opener.starts_with(thinking.read());
            let Some((opener, closer)) = TAGS.iter().find(|(opener, _)| fits(opener)) else {
                self.no_tag(window, at, window.offset(*at));
                return None;
            };
            thinking.read[len] = byte;
            thinking.len += 1;
            *at += 1;
            if thinking.len == opener.len() {
                thinking.closer = closer;
                // What stood before it was white space.
                self.line.first = None;
                self.phase = Phase::Think { matched: 0 };
                return None;
            }
        }
        None
    }

    /// What was read is no tag; `offset` is of the first byte that does not fit.
    pub(super) fn no_tag(&mut self, window: &Window<'_>, at: &mut usize, offset: u64) {
        let read = self.thinking.read();
        if read.first() != Some(&b'[') {
            self.line.add_text(b"<");
            self.phase = Phase::Text;
            return;
        }
        if self.fence_kind() != Some(FenceKind::Json) {
            return self.read_as_text(window, at, 1);
        }
        let start = self.thinking.start;
        let found = read.get(1).map_or(error::Found::EndOfInput, |&byte| error::Found::classify(byte));
        let message = error::describe(error::Expected::ValueOrBracket, found);
        self.fault(Code::MalformedJson, start, (start + 1).min(offset), message);
        self.phase = Phase::Skip(Skip { start, depth: 1, ..Skip::default() });
    }

    #[inline(never)]
    pub(super) fn think<'w>(
        &mut self,
        bytes: &[u8],
        window: &Window<'w>,
        at: &mut usize,
        mut matched: u8,
    ) -> Option<Found<'w>> {
        let closer = self.thinking.closer;
        while let Some(&byte) = bytes.get(*at) {
            let is_next = closer.get(usize::from(matched)) == Some(&byte);
            match byte {
                _ if is_next => {
                    matched += 1;
                    *at += 1;
                    if usize::from(matched) == closer.len() {
                        let end = window.offset(*at);
                        self.line.text_start = end;
                        self.counted_from = end;
                        self.phase = Phase::LineStart;
                        return None;
                    }
                }
                // The first byte of a closer comes but once in it.
                _ if matched > 0 => matched = 0,
                b'\n' => {
                    *at += 1;
                    self.line = Line::new(self.line.number + 1, window.offset(*at));
                }
                _ => {
                    let next = memchr2(closer[0], b'\n', &bytes[*at..]);
                    *at = next.map_or(bytes.len(), |next| *at + next);
                }
            }
        }
        self.phase = Phase::Think { matched };
        self.thinking.is_behind &= window.offset(*at) - self.thinking.start <= self.limit;
        None
    }

    /// Where the text begins that is read again if nothing closes the tag.
    pub(super) fn unclosed_from(&self) -> Option<u64> {
        let is_held = matches!(self.phase, Phase::Tag | Phase::Think { .. }) && self.thinking.is_behind;
        is_held.then_some(self.thinking.start)
    }

    /// What is not UTF-8 cannot be read again.
    pub(super) fn drop_unclosed(&mut self) {
        self.thinking.is_behind = false;
    }

    /// Nothing closed the tag: it is text, and so is what follows.
    pub(super) fn read_unclosed(&mut self, window: &Window<'_>, at: &mut usize) {
        let Thinking { start, line, column, ref read, len, .. } = self.thinking;
        self.line = Line::new(line, start + 1 - column);
        self.line.first = Some(start);
        self.line.lead.add(&read[..len]);
        self.counted_from = self.line.start;
        *at = window.index(start) + len;
        self.thinking.is_text = true;
        self.phase = Phase::Text;
    }

    /// A cut character follows, which is not kept. No tag has one.
    pub(in crate::records) fn pass_cut(&mut self) {
        if let Phase::Think { matched } = &mut self.phase {
            *matched = 0;
        }
    }

    /// The input has ended inside the tags.
    pub(super) fn unclosed_thinking<'w>(&mut self, end: u64) -> Found<'w> {
        let Thinking { start, line, column, .. } = self.thinking;
        let message = "the input ends while the model is still thinking";
        self.line.first = None;
        Found::Diagnostic(Box::new(Diagnostic::new(
            Code::Truncated,
            line,
            Span::new(start, end),
            column,
            message,
        )))
    }
}
