//! Decides whether text that is not JSON was intended as a record, or is prose: LaTeX, links, templates,
//! code.
//!
//! Prose with brackets is not rejected, and hides nothing after it: scanning continues from the byte at fault, or, if
//! that is on a later line, like after a rejected value.

use super::{Scanner, Step};
use crate::json::Kind;
use crate::json::error::{Expected, Fault};
use crate::records::cursor::Cursor;
use crate::records::line::{FenceKind, Line};
use crate::{Code, Diagnostic, Mode, Span};

/// The longest text to decide on, so that a long comment costs no more.
const MAX_LOOKAHEAD: usize = 1024;

/// Quotes around a name that show an intended record: also the wrong ones, and escaped ones.
const QUOTES: [&[u8]; 9] = [
    b"\"",
    b"'",
    b"\\\"",
    b"&quot;",
    "\u{201c}".as_bytes(),
    "\u{201d}".as_bytes(),
    "\u{201e}".as_bytes(),
    "\u{2018}".as_bytes(),
    "\u{2019}".as_bytes(),
];

/// Words that are values in some language, after a bare name.
const WORDS: [&[u8]; 9] =
    [b"true", b"false", b"null", b"None", b"True", b"False", b"NaN", b"undefined", b"Infinity"];

/// Whether `text`, which begins with `{`, was intended as a record. `None` if more text is needed.
///
/// At the start of a line a quoted name is enough, or a bare one with a colon and a value; white space,
/// comments and commas before it are skipped. Elsewhere a quoted name and a colon are needed; the quotes may
/// be escaped, as in JSON inside a string.
pub(super) fn is_record_intended(text: &[u8], is_line_start: bool, is_end: bool) -> Option<bool> {
    let undecided = if is_end || text.len() > MAX_LOOKAHEAD { Some(false) } else { None };
    let Some(at) = skip_to_name(text, is_line_start) else { return undecided };
    let rest = &text[at..];
    if is_line_start {
        if QUOTES.iter().any(|quote| rest.starts_with(quote)) {
            return Some(true);
        }
        if QUOTES.iter().any(|quote| quote.starts_with(rest)) {
            return undecided;
        }
        return bare_member(rest).map_or(undecided, Some);
    }
    quoted_member(rest).map_or(undecided, Some)
}

/// Whether a member with a quoted name begins here; the quotes may be escaped. `None` if more text is needed.
fn quoted_member(text: &[u8]) -> Option<bool> {
    let escape = usize::from(*text.first()? == b'\\');
    let quote = *text.get(escape)?;
    if !matches!(quote, b'"' | b'\'') {
        return Some(false);
    }
    let mut backslashes = 0;
    for (at, &byte) in text.iter().enumerate().skip(escape + 1) {
        match byte {
            b'\n' => return Some(false),
            b'\\' => backslashes += 1,
            _ if byte == quote && if escape == 0 { backslashes % 2 == 0 } else { backslashes == 1 } => {
                let after = text[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace())?;
                return Some(*after == b':');
            }
            _ => backslashes = 0,
        }
    }
    None
}

/// Where the first member's name may begin. `None` if the text ends before that.
fn skip_to_name(text: &[u8], is_line_start: bool) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            byte if byte.is_ascii_whitespace() => at += 1,
            b',' if is_line_start => at += 1,
            b'/' if is_line_start => {
                let end: &[u8] = match text.get(at + 1)? {
                    b'/' => b"\n",
                    b'*' => b"*/",
                    _ => return Some(at),
                };
                at += 2 + memchr::memmem::find(&text[at + 2..], end)? + end.len();
            }
            _ => return Some(at),
        }
    }
}

/// Whether a member with a bare name begins here. `None` if more text is needed.
fn bare_member(text: &[u8]) -> Option<bool> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'-' | 0x80..);
    let len = text.iter().position(|byte| !is_name(byte))?;
    if len == 0 {
        return Some(false);
    }
    let after = &text[len..];
    if after[0] == b'"' {
        // The quote before the name is missing.
        return Some(true);
    }
    let colon = after.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    if after[colon] != b':' {
        return Some(false);
    }
    let value = &after[colon + 1..];
    match value.first()? {
        // Not `{x:.2f}`, `{std::string}` or `{https://example.org}`.
        byte if byte.is_ascii_whitespace() => Some(true),
        b'"' | b'\'' | b'{' | b'[' | b'-' | b'0'..=b'9' => Some(true),
        _ if WORDS.iter().any(|word| value.starts_with(word)) => Some(true),
        _ if WORDS.iter().any(|word| word.starts_with(value)) => None,
        _ => Some(false),
    }
}

impl Scanner {
    /// Decides whether the value that begins at `start` was intended as a record, looking ahead if necessary:
    /// at a fault in it, or before an array in it is scanned.
    #[cold]
    pub(super) fn decide(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: u64,
        fault: Option<Fault>,
        is_end: bool,
    ) -> Step {
        let from = cursor.index(start);
        cursor.at = from + fault.map_or(0, |fault| fault.offset);
        if fault.is_some() {
            let line_from = cursor.index(start.max(self.line.start));
            if let Some(bad) = cursor.first_bad(line_from, cursor.at) {
                self.bad_utf8(cursor, bad);
                return None;
            }
        }
        if fault.is_some_and(|fault| self.is_not_a_value(cursor, start, fault)) {
            return None;
        }
        if fault.is_some()
            && !self.multiline.is_some()
            && let Some(line) = self.array.as_mut().and_then(|array| array.element_line.take())
        {
            // A line of text, or a call.
            return self.read_line_again(line, start, cursor);
        }
        let Some(is_intended) = self.is_intended(cursor, start, fault, is_end) else {
            cursor.at = cursor.end();
            self.state.enter_undecided(start, fault);
            return None;
        };
        match fault {
            Some(fault) if is_intended => return self.malformed(cursor, start, fault),
            Some(_) => self.pass_prose(cursor, start),
            None if is_intended => {
                self.begin_array(cursor);
                if let Some(array) = &mut self.array {
                    array.is_intended = true;
                }
            }
            None => {
                cursor.at += 1;
                self.read_as_text(cursor, 1);
            }
        }
        None
    }

    /// Whether the value at `start` was intended as a record. `None` if more text is needed.
    fn is_intended(
        &self,
        cursor: &Cursor<'_>,
        start: u64,
        fault: Option<Fault>,
        is_end: bool,
    ) -> Option<bool> {
        let is_limit = fault.is_some_and(|fault| fault.expected == Expected::LessDepth);
        if self.options.mode == Mode::Strict || is_limit {
            return Some(true);
        }
        match self.fence_kind() {
            // On the line of the fence, it may be an attribute.
            Some(FenceKind::Json) if !self.line.opens_fence() => return Some(true),
            Some(FenceKind::Other) if fault.is_some() => return Some(false),
            _ => {}
        }
        let object = match fault {
            None => 0,
            Some(_) if self.json.has_member() => return Some(true),
            Some(_) if self.array.as_ref().is_some_and(|array| array.is_established || array.is_intended) => {
                return Some(true);
            }
            // An array is judged by its first object.
            Some(_) => match self.json.open_containers().find(|open| open.kind == Kind::Object) {
                Some(object) => object.start,
                None => return Some(false),
            },
        };
        let line = self.multiline.get().map_or(&self.line, |value| &value.line);
        let is_line_start = (object == 0 || self.options.whole_values)
            && (line.first == Some(start)
                || line.lead.is_list_marker()
                || self.array.as_ref().is_some_and(|array| array.is_first && array.line == line.number));
        let (text, is_bad) = cursor.valid_from(cursor.index(start) + object, 2 * MAX_LOOKAHEAD);
        is_record_intended(text, is_line_start, is_end || cursor.is_limited() || is_bad)
    }

    /// Reads the value at `start` as prose. The cursor is on the byte at fault, where the text continues unless the value
    /// began on an earlier line.
    fn pass_prose(&mut self, cursor: &mut Cursor<'_>, start: u64) {
        self.has_content |= self.options.whole_values;
        if self.multiline.is_some() {
            return self.give_up(cursor, start, Code::Prose, cursor.offset(), String::new());
        }
        let depth = self.json.depth() + u32::from(self.array.is_some());
        self.array = None;
        self.read_as_text(cursor, depth);
    }

    /// The note on text up to `end`, with a value that begins at `start`, on this line: from the line's first byte, unless
    /// something before the value was delivered or reported.
    pub(super) fn note_on_text(&self, line: &Line, start: u64, end: u64) -> Diagnostic {
        let start = self.text_from(line, start);
        Diagnostic::prose(line.number, line.column(start), Span::new(start, end))
    }

    /// The start of that text.
    pub(super) fn text_from(&self, line: &Line, start: u64) -> u64 {
        let is_first = |first: &u64| !(line.has_record || line.is_markup_only) && self.reported_to <= *first;
        line.first.filter(is_first).map_or(start, |first| first.min(start))
    }

    /// Reads on as text, with `depth` open brackets.
    pub(super) fn read_as_text(&mut self, cursor: &mut Cursor<'_>, depth: u32) {
        self.counted_from = self.line.start;
        self.line.prose_depth += depth;
        if self.line.first.is_none_or(|first| first >= cursor.offset()) {
            // Only white space is before it: a line like any other.
            self.line.first = None;
            self.state.enter_line_start();
        } else {
            self.line.lead.add(b"{");
            self.state.enter_text();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intent() {
        for (text, at_line_start, elsewhere) in [
            ("{\"a\" 1}", true, false),
            ("{\"a\":NaN}", true, true),
            ("{ 'a': 1}", true, true),
            ("{a: 1}", true, false),
            ("{ // first\n a:1}", true, false),
            ("{/* first */ \"a\"}", true, false),
            ("{\\\"a\\\":1}", true, true),
            ("{\"a\\\"\\\\\" : 1}", true, true),
            ("{\"a\\\"\" : 1}", true, true),
            ("{\u{201c}a\u{201d}: 1}", true, false),
            ("{a\": 1}", true, false),
            ("{x}", false, false),
            ("{placeholder}", false, false),
            ("{x:.2f}", false, false),
            ("{x:nul}", false, false),
            ("{a:null}", true, false),
            ("{std::string}", false, false),
            ("{https://example.org}", false, false),
            ("{{name}}", false, false),
            ("{,\"a\":1}", true, false),
            ("{\"say\n\":1}", true, false),
            ("{", false, false),
        ] {
            assert_eq!(is_record_intended(text.as_bytes(), true, true), Some(at_line_start), "{text}");
            assert_eq!(is_record_intended(text.as_bytes(), false, true), Some(elsewhere), "{text}");
            // An early decision must be the final one.
            for len in 1..text.len() {
                for (is_line_start, expected) in [(true, at_line_start), (false, elsewhere)] {
                    let early = is_record_intended(&text.as_bytes()[..len], is_line_start, false);
                    assert!(early.is_none_or(|early| early == expected), "{text} up to {len}");
                }
            }
        }
    }

    #[test]
    fn the_lookahead_is_limited() {
        let text = format!("{{ /* {} ", "x".repeat(2 * MAX_LOOKAHEAD));
        assert_eq!(is_record_intended(text.as_bytes(), true, false), Some(false));
    }
}
