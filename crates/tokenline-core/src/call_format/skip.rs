//! Where a call ends that cannot be read, so that it harms only itself.

use super::scan::{Literal, is_space, literal};

/// Goes past a broken call that a tag closes.
///
/// It ends after that tag, before the next opener, or before a line that does not look like its
/// continuation.
#[derive(Debug)]
pub(super) struct TagSkip {
    at: usize,
    /// Nothing but a tag ends what may be the lines of a string.
    is_in_string: bool,
}

impl TagSkip {
    /// From the fault on.
    pub(super) fn new(text: &str, fault: usize, is_in_string: bool) -> Self {
        // A line that is faulty from its first byte does not belong to the call.
        let is_line_start = fault > 0 && text.as_bytes()[fault - 1] == b'\n';
        Self { at: if is_line_start { fault - 1 } else { fault }, is_in_string }
    }

    /// The first of `tags` closes it, the others are openers.
    pub(super) fn end(&mut self, text: &str, is_end: bool, tags: &[&str]) -> Option<usize> {
        let bytes = text.as_bytes();
        while let Some(found) = memchr::memchr2(b'<', b'\n', &bytes[self.at..]) {
            self.at += found;
            if bytes[self.at] == b'\n' {
                match bytes.get(self.at + 1) {
                    None if is_end => break,
                    None => return None,
                    Some(&next) if self.is_in_string || next == b'<' || goes_on(next) => self.at += 1,
                    Some(_) => return Some(self.at + 1),
                }
                continue;
            }
            match literal(text, self.at, tags) {
                Literal::Found(0) => return Some(self.at + tags[0].len()),
                Literal::Found(_) => return Some(self.at),
                Literal::NeedMore if is_end => break,
                Literal::NeedMore => return None,
                Literal::None if !self.is_in_string && bytes[self.at - 1] == b'\n' => return Some(self.at),
                Literal::None => self.at += 1,
            }
        }
        self.at = text.len();
        is_end.then_some(self.at)
    }
}

/// Goes past a broken call up to where its brackets balance, or before a line that does not look like
/// its continuation.
#[derive(Debug)]
pub(super) struct BalanceSkip {
    at: usize,
    depth: u32,
    quote: Option<u8>,
    is_escaped: bool,
    quotes: &'static [u8],
}

/// Where a [`BalanceSkip`] ended.
pub(super) struct Skipped {
    pub(super) end: usize,
    pub(super) is_balanced: bool,
}

impl BalanceSkip {
    /// From the fault on, inside of so many brackets. Inside of none, a comma or a closing bracket ends
    /// it.
    pub(super) fn new(at: usize, depth: u32, quote: Option<u8>, quotes: &'static [u8]) -> Self {
        Self { at, depth, quote, is_escaped: false, quotes }
    }

    pub(super) fn end(&mut self, text: &str, is_end: bool) -> Option<Skipped> {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\n' => {
                    // No string of one line goes on here.
                    (self.quote, self.is_escaped) = (None, false);
                    match bytes.get(self.at + 1) {
                        None if is_end => break,
                        None => return None,
                        Some(&next) if goes_on(next) => {}
                        Some(_) => return Some(Skipped { end: self.at + 1, is_balanced: false }),
                    }
                }
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.quote.is_some(),
                _ if self.quote == Some(byte) => self.quote = None,
                _ if self.quote.is_some() => {}
                _ if self.quotes.contains(&byte) => self.quote = Some(byte),
                b'(' | b'[' | b'{' => self.depth += 1,
                b',' | b')' | b']' | b'}' if self.depth == 0 => {
                    return Some(Skipped { end: self.at, is_balanced: true });
                }
                b')' | b']' | b'}' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(Skipped { end: self.at + 1, is_balanced: true });
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        is_end.then_some(Skipped { end: text.len(), is_balanced: false })
    }
}

/// Whether a line that begins with this byte goes on with what is open: it is indented, or it closes
/// or names something.
fn goes_on(first: u8) -> bool {
    is_space(first) || matches!(first, b'}' | b']' | b')' | b'"' | b'\'' | b',')
}
