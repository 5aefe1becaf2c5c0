//! Finds the end of a malformed call, so that it harms only itself.

use std::sync::Arc;

use super::scan::{Firsts, Literal, is_space, kind, literal, one_of};
use super::syntax::CallSyntax;

/// The end of a malformed call.
pub(super) struct Skipped {
    pub(super) end: usize,
    /// Whether its closing tag is there, or its brackets balance.
    pub(super) is_closed: bool,
}

/// Skips a malformed call that is closed by a tag.
///
/// The call ends before that tag. If the next opener comes first, a line that does not look like a
/// continuation, or the end of the text, the call ends there, or before its first line that begins like a
/// call without tags: with a closing tag, that line would be part of the malformed call.
#[derive(Debug)]
pub(super) struct TagSkip {
    syntax: Arc<CallSyntax>,
    firsts: Box<Firsts>,
    at: usize,
    /// Only a tag ends what may be the lines of a string.
    is_in_string: bool,
    /// The first line that begins with a bracket.
    bracket_line: Option<usize>,
}

impl TagSkip {
    /// A skip from the fault on.
    pub(super) fn new(syntax: &Arc<CallSyntax>, text: &str, fault: usize, is_in_string: bool) -> Self {
        let firsts = Firsts::of_literals(syntax.closers().chain(syntax.openers()).chain(["\n"]));
        Self {
            syntax: Arc::clone(syntax),
            firsts: Box::new(firsts),
            at: before_line_feed(text, fault),
            is_in_string,
            bracket_line: None,
        }
    }

    /// The end before a closer, or where another call begins.
    pub(super) fn end(&mut self, text: &str, is_end: bool) -> Option<Skipped> {
        let bytes = text.as_bytes();
        while let Some(found) = self.firsts.find(&bytes[self.at..]) {
            self.at += found;
            if bytes[self.at] == b'\n' {
                match bytes.get(self.at + 1) {
                    None if is_end => break,
                    None => return None,
                    Some(b'{' | b'[') => {
                        self.at += 1;
                        self.bracket_line.get_or_insert(self.at);
                    }
                    Some(&next) if self.is_in_string || next == b'<' || goes_on(next) => self.at += 1,
                    Some(_) => return Some(self.left_open(self.at + 1)),
                }
                continue;
            }
            let tags = kind(true, self.syntax.closers()).chain(kind(false, self.syntax.openers()));
            match literal(text, self.at, is_end, tags) {
                Literal::Found(true, _) => return Some(Skipped { end: self.at, is_closed: true }),
                Literal::Found(false, _) => return Some(self.left_open(self.at)),
                Literal::NeedMore if is_end => break,
                Literal::NeedMore => return None,
                Literal::None if !self.is_in_string && self.at > 0 && bytes[self.at - 1] == b'\n' => {
                    return Some(self.left_open(self.at));
                }
                Literal::None => self.at += 1,
            }
        }
        self.at = text.len();
        is_end.then(|| self.left_open(self.at))
    }

    fn left_open(&self, end: usize) -> Skipped {
        Skipped { end: self.bracket_line.unwrap_or(end), is_closed: false }
    }
}

/// Where to continue after a fault: a line whose first byte is the fault does not belong to the call.
fn before_line_feed(text: &str, fault: usize) -> usize {
    if fault > 0 && text.as_bytes()[fault - 1] == b'\n' { fault - 1 } else { fault }
}

/// Skips a malformed call up to where its brackets balance, or before a line that does not look like a
/// continuation.
#[derive(Debug)]
pub(super) struct BalanceSkip {
    at: usize,
    depth: u32,
    quote: Option<u8>,
    is_escaped: bool,
    quotes: &'static [u8],
    /// The opener of the next call.
    opener: Option<String>,
    /// The fault may be the first byte of another list.
    may_be_list: bool,
}

impl BalanceSkip {
    /// A skip from the fault on, inside `depth` brackets. With a depth of 0, a comma or a closing bracket
    /// ends it.
    pub(super) fn new(at: usize, depth: u32, quote: Option<u8>, quotes: &'static [u8]) -> Self {
        Self { at, depth, quote, is_escaped: false, quotes, opener: None, may_be_list: false }
    }

    /// The same for lists of calls: if a line's opening bracket is the fault, the line is the next list.
    pub(super) fn of_list(self) -> Self {
        Self { may_be_list: true, ..self }
    }

    /// The same, but the next call's opener also ends it, which may begin with a bracket that was read as
    /// JSON.
    pub(super) fn before(mut self, opener: &str, text: &str) -> Self {
        if self.quote.is_none()
            && self.depth > 0
            && opener.chars().next().is_some_and(|first| text[..self.at].ends_with(first))
        {
            (self.at, self.depth) = (self.at - 1, self.depth - 1);
        }
        Self { opener: Some(opener.to_owned()).filter(|opener| !opener.is_empty()), ..self }
    }

    pub(super) fn end(&mut self, text: &str, is_end: bool) -> Option<Skipped> {
        let bytes = text.as_bytes();
        if std::mem::take(&mut self.may_be_list) && bytes.get(self.at) == Some(&b'[') {
            self.at = before_line_feed(text, self.at);
        }
        while let Some(&byte) = bytes.get(self.at) {
            if self.quote.is_none()
                && let Some(opener) = self.opener.as_ref().filter(|opener| opener.as_bytes()[0] == byte)
            {
                match one_of(text, self.at, is_end, [opener.as_str()]) {
                    Literal::Found(..) => return Some(Skipped { end: self.at, is_closed: false }),
                    Literal::NeedMore if !is_end => return None,
                    Literal::NeedMore | Literal::None => {}
                }
            }
            match byte {
                b'\n' => {
                    // A string cannot continue on another line.
                    (self.quote, self.is_escaped) = (None, false);
                    match bytes.get(self.at + 1) {
                        None if is_end => break,
                        None => return None,
                        Some(&next) if goes_on(next) => {}
                        Some(_) => return Some(Skipped { end: self.at + 1, is_closed: false }),
                    }
                }
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.quote.is_some(),
                _ if self.quote == Some(byte) => self.quote = None,
                _ if self.quote.is_some() => {}
                _ if self.quotes.contains(&byte) => self.quote = Some(byte),
                b'(' | b'[' | b'{' => self.depth += 1,
                b',' | b')' | b']' | b'}' if self.depth == 0 => {
                    return Some(Skipped { end: self.at, is_closed: true });
                }
                b')' | b']' | b'}' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(Skipped { end: self.at + 1, is_closed: true });
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        is_end.then_some(Skipped { end: text.len(), is_closed: false })
    }
}

/// Whether a line with this first byte continues the open call: it is indented, or it closes or names
/// something.
fn goes_on(first: u8) -> bool {
    is_space(first) || matches!(first, b'}' | b']' | b')' | b'"' | b'\'' | b',')
}
