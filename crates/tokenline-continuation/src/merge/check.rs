//! Whether a fragment continues the base, as the grammar has it.

use memchr::memmem;
use tokenline_core::json::{Expected, Kind, OpenToken, Parser, Step};

use super::base::Base;
use super::result::TrailingContent;
use super::seam::Seam;
use crate::text::{closing_fence, head, is_followed, is_in_string, is_space, trim_end, trim_start};

/// A stand-in for the base: a short text after which the parser is in the state in which it is after
/// the base. So a seam is tried at the cost of the fragment, by the parser itself.
pub(super) struct Check {
    text: String,
    base: usize,
    parser: Parser,
    behind: TrailingContent,
}

/// What the grammar says to a seam.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// Where in the fragment the JSON ends.
    pub(super) end: usize,
    pub(super) is_complete: bool,
    /// A member is named as one before it.
    pub(super) repeats_name: bool,
}

/// So many names of each open object are known to the stand-in, the last ones.
const NAMES: usize = 32;
/// Longer names, in bytes, are not known to it: they would be read again for each seam.
const LONG_NAME: usize = 1024;

impl Check {
    pub(super) fn new(base: &Base<'_>, behind: TrailingContent) -> Self {
        let text = stand_in(base);
        let mut parser = Parser::new();
        debug_assert_eq!(parser.resume(&text), Step::NeedMore, "the stand-in is open, as the base is");
        parser.reset();
        Self { base: text.len(), text, parser, behind }
    }

    /// Looks at no more than `limit` bytes behind the seam.
    pub(super) fn seam(&mut self, fragment: &str, seam: &Seam, limit: usize) -> Option<Verdict> {
        let new = head(&fragment[seam.start..], limit);
        self.text.truncate(self.base);
        if seam.comma {
            self.text.push(',');
        }
        let at = self.text.len();
        self.text.push_str(new);
        self.parser.reset();
        match self.parser.resume(&self.text) {
            Step::NeedMore => {
                let snapshot = self.parser.snapshot(&self.text);
                let repeats_name = snapshot.is_some_and(|value| value.repeated_name().is_some());
                let end = if new.len() == limit { seam.start + limit } else { fragment.len() };
                Some(Verdict { end, is_complete: false, repeats_name })
            }
            Step::Complete { end } => {
                let repeats_name = self.parser.value(&self.text).repeated_name().is_some();
                let end = seam.start + end.checked_sub(at)?;
                let is_scalar = !self.text.starts_with(['{', '[']);
                let end = match self.behind {
                    TrailingContent::Remarks => after_root(fragment, end, is_scalar)?,
                    behind => before_another(fragment, end, behind).then_some(end)?,
                };
                Some(Verdict { end, is_complete: true, repeats_name })
            }
            Step::Malformed(fault) => {
                let at = seam.start + fault.offset.checked_sub(at)?;
                let end = noise(fragment, at, is_in_string(fault.expected))?;
                // The fence that the fragment begins with is not that which ends it.
                let is_some = end > seam.start || seam.overlap > 0;
                let end = end.max(seam.start);
                is_some.then_some(Verdict { end, is_complete: false, repeats_name: false })
            }
        }
    }
}

/// Where the whole document ends: white space stays, prose and a fence do not; `None` if the value is
/// followed by what shows that it is not the whole. A scalar may itself be prose.
fn after_root(fragment: &str, end: usize, is_scalar: bool) -> Option<usize> {
    match fragment.as_bytes()[end..].iter().find(|&&byte| !is_space(byte)) {
        None => Some(fragment.len()),
        Some(_) if is_scalar => trim_start(&fragment[end..]).starts_with("```").then_some(end),
        Some(&byte) => (!is_followed(byte)).then_some(end),
    }
}

/// Whether what follows the document may be another one.
fn before_another(fragment: &str, end: usize, behind: TrailingContent) -> bool {
    match fragment[end..].trim_start_matches([' ', '\t', '\r']).bytes().next() {
        None | Some(b'\n') => true,
        Some(b',' | b']') => behind == TrailingContent::Elements,
        Some(_) => false,
    }
}

/// Where the JSON ends if what makes it malformed is no part of it: the end of a fence; or a remark on a
/// line of its own in which nothing is like JSON.
fn noise(fragment: &str, fault: usize, in_string: bool) -> Option<usize> {
    if let Some(end) = closing_fence(fragment, fault, in_string) {
        // Two of them are around something.
        return (memmem::find_iter(&fragment.as_bytes()[end..], "```").take(2).count() < 2).then_some(end);
    }
    let before = trim_end(&fragment[..fault]).len();
    let is_line = fragment[before..fault].contains('\n') || trim_start(&fragment[..fault]).is_empty();
    let is_remark = !fragment[fault..].contains(['{', '}', '[', ']', '"', ':']);
    (!in_string && is_line && is_remark && before > 0).then_some(before)
}

/// The open containers with the names of their open members and some before these, and the open token.
fn stand_in(base: &Base<'_>) -> String {
    let mut text = String::new();
    for (level, open) in base.open.iter().enumerate() {
        let next = base.open.get(level + 1);
        if open.kind == Kind::Array {
            text.push('[');
            if next.is_none() && base.cut.token.is_none() {
                text.push_str(match base.cut.expected {
                    Expected::ValueOrBracket => "",
                    Expected::CommaOrBracket => "\"\"",
                    _ => "\"\",",
                });
            }
            continue;
        }
        text.push('{');
        let names = base.names(level);
        let open_name = match next {
            Some(next) => base.name(next),
            None => base.member_name(),
        };
        let is_known = |name: &&&str| name.len() <= LONG_NAME && Some(**name) != open_name;
        for name in names.iter().rev().filter(is_known).take(NAMES) {
            text.push_str(name);
            text.push_str(":\"\",");
        }
        let has_members = !matches!(base.cut.expected, Expected::NameOrBrace);
        if let Some(name) = open_name {
            text.push_str(if name.len() > LONG_NAME { "\"\"" } else { name });
            if next.is_some() || base.cut.expected != Expected::Colon {
                text.push(':');
            }
        } else if base.cut.token.is_none() && has_members {
            if text.ends_with('{') {
                text.push_str("\"\":\"\",");
            }
            if base.cut.expected == Expected::CommaOrBrace {
                text.pop();
            }
        }
    }
    if let Some(token) = base.cut.token {
        push_open_token(&mut text, base.text, token);
    }
    text
}

/// Adds the open token, or a shorter one that goes on in the same ways: one that grows from fragment to fragment,
/// such as a long text, must not be read again with each.
fn push_open_token(out: &mut String, text: &str, token: OpenToken) {
    match token {
        OpenToken::String { whole, .. } => {
            out.push('"');
            out.push_str(&text[whole..]);
        }
        OpenToken::Name { start, whole } if whole - start > LONG_NAME => {
            out.push('"');
            out.push_str(&text[whole..]);
        }
        // One digit is as good as many, at whatever place of a number they stand.
        OpenToken::Number { start, .. } => {
            let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
            out.push_str(&text[start..text.len() - digits.saturating_sub(1)]);
        }
        OpenToken::Name { start, .. } | OpenToken::Literal { start } => out.push_str(&text[start..]),
    }
}
