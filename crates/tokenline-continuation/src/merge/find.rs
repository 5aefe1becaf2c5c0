//! The places where a fragment may continue the base.

use tokenline_core::json::{Expected, Kind, OpenContainer};

use super::base::Base;
use super::compact::{Agreement, Compact, Within, agreement, common_prefix};
use super::seam::{Chance, How, Seam, borders, chance};
use crate::text::{SPACE, closing_fence, is_space, tail, trim_start};
use crate::tokens::{Tokens, string_end};

/// The longest overlap that is looked for, in bytes, apart from that of a restart.
const LONGEST: usize = 64 * 1024;
/// The longest with other white space, in bytes of the fragment.
const LONGEST_SPACED: usize = 16 * 1024;
/// The base may be indented and the fragment not: so many times as long as in the fragment may be in the base
/// what is repeated.
const SPACED: usize = 3;
/// Of many overlaps the longest and the shortest are tried, so many of each. More are only where the text
/// is periodic, and a fragment that is made so must not cost more than others.
const KEPT: usize = 24;
/// A fragment starts over that agrees with the beginning of the document for so many bytes.
pub(super) const STARTS_OVER: usize = 8;
/// Containers that a fragment may open again.
const REOPENED: usize = 16;
/// Ways in which these may be those that are open: in `[[[[` there are many.
const WAYS: usize = 32;

pub(super) struct Seams {
    pub(super) found: Vec<Seam>,
    /// Whether there were more.
    pub(super) is_partial: bool,
    /// The fragment begins as the base does, for so many bytes, and is different then.
    pub(super) agreed: usize,
    /// A value is the same until then.
    pub(super) agrees_in_value: bool,
}

/// Where the fragment goes on if it begins with the requested overlap at `from`.
pub(super) fn requested(base: &Base<'_>, fragment: &str, from: usize, bytes: usize) -> Option<Seam> {
    let overlap = tail(base.text, bytes).len();
    let is_there = overlap > 0 && fragment[from..].starts_with(tail(base.text, overlap));
    let start = from + overlap;
    let how = How::Plain;
    is_there.then_some(Seam {
        start,
        overlap,
        how,
        comma: false,
        evidence: overlap,
        chance: Chance::None,
        starts_over: false,
    })
}

impl Seams {
    pub(super) fn new() -> Self {
        Self { found: Vec::new(), is_partial: false, agreed: 0, agrees_in_value: false }
    }

    /// Adds those of a fragment that begins at `from`.
    pub(super) fn find(&mut self, base: &Base<'_>, fragment: &str, from: usize) {
        self.plain(base, fragment, from);
        self.respaced(base, fragment, from);
        let from = fragment.len() - trim_start(&fragment[from..]).len();
        self.restarted(base, fragment, from);
        self.reopened(base, fragment, from);
    }

    fn keep<T>(&mut self, mut seams: Vec<T>) -> Vec<T> {
        if seams.len() > 2 * KEPT {
            self.is_partial = true;
            seams.drain(KEPT..seams.len() - KEPT);
        }
        seams
    }

    /// Byte for byte, and with nothing repeated.
    fn plain(&mut self, base: &Base<'_>, fragment: &str, from: usize) {
        let bytes = base.text.as_bytes();
        let rest = &fragment.as_bytes()[from..];
        let rest = &rest[..rest.len().min(LONGEST)];
        let all = self.keep(borders(rest, bytes));
        self.found.extend(all.into_iter().chain([(0, 0)]).map(|(overlap, period)| Seam {
            start: from + overlap,
            overlap,
            how: How::Plain,
            comma: false,
            evidence: solid(&rest[..overlap]),
            chance: if overlap > 0 { chance(rest, bytes, overlap, period) } else { Chance::None },
            starts_over: false,
        }));
    }

    /// From the beginning of the document.
    fn restarted(&mut self, base: &Base<'_>, fragment: &str, from: usize) {
        let rest = &fragment[from..];
        let common = common_prefix(base.text.as_bytes(), rest.as_bytes());
        let mut agreed = if common == base.text.len() {
            Agreement { base: common, fragment: common, len: common, in_string: false }
        } else {
            // Up to a token they are the same: both can be read on from there.
            let same = base.parser.token_before(common);
            let more = agreement(&base.text.as_bytes()[same..], &rest.as_bytes()[same..]);
            let Agreement { base, fragment, len, in_string } = more;
            Agreement { base: same + base, fragment: same + fragment, len: same + len, in_string }
        };
        // Different characters may begin alike.
        while !rest.is_char_boundary(agreed.fragment) {
            agreed = Agreement {
                base: agreed.base - 1,
                fragment: agreed.fragment - 1,
                len: agreed.len - 1,
                ..agreed
            };
        }
        let seam = |start: usize, overlap| Seam {
            start,
            overlap,
            how: How::Restarted,
            comma: false,
            evidence: agreed.len,
            chance: Chance::None,
            starts_over: true,
        };
        let at = from + agreed.fragment;
        if agreed.base == base.text.len() {
            self.found.push(seam(at, agreed.base));
            return;
        }
        // It ends before it comes to what is new, perhaps with what is open closed.
        let rest = fragment[at..].trim_end_matches(SPACE);
        let is_closed = !agreed.in_string
            && rest
                .trim_start_matches(SPACE)
                .trim_start_matches(['}', ']', ' ', '\t', '\r', '\n'])
                .is_empty();
        let is_over = rest.is_empty() || is_closed || closing_fence(fragment, at, agreed.in_string).is_some();
        if is_over && agreed.len >= STARTS_OVER {
            self.found.push(seam(fragment.len(), agreed.base));
        } else {
            self.agreed = self.agreed.max(agreed.len);
            let mut same = Tokens::new(&fragment[..at], from);
            self.agrees_in_value |= same.any(|token| matches!(token.first, b',' | b'}' | b']'));
        }
    }

    /// With other white space between the tokens.
    fn respaced(&mut self, base: &Base<'_>, fragment: &str, from: usize) {
        let rest = &fragment.as_bytes()[from..];
        let rest = &rest[..rest.len().min(LONGEST_SPACED)];
        let window = base.text.len().saturating_sub(SPACED * rest.len());
        // Within an open token there is nothing to be spaced otherwise.
        if base.cut.token.is_some_and(|token| token.start() < window) {
            return;
        }
        let window = base.parser.token_before(window);
        let ending = Compact::new(&base.text.as_bytes()[window..], Within::Tokens);
        for within in [Within::Tokens, Within::String] {
            let beginning = Compact::new(rest, within);
            let all = self.keep(ending.overlaps(&beginning).collect());
            self.found.extend(all.into_iter().map(|overlap| Seam {
                start: behind_space(base, fragment, from + overlap.fragment),
                overlap: base.text.len() - window - overlap.base,
                how: How::WhitespaceDiffers,
                comma: false,
                evidence: overlap.len,
                chance: overlap.chance,
                starts_over: false,
            }));
        }
    }

    /// With containers that are open in the base opened once more, and what is in them repeated from a
    /// member on, or not at all.
    fn reopened(&mut self, base: &Base<'_>, fragment: &str, from: usize) {
        let chain = opened(fragment, from);
        let is_way = |&(depth, level): &(usize, usize)| {
            let pairs = chain[..=depth].iter().zip(&base.open[level - depth..=level]);
            let is_same = |(at, (opened, open)): (usize, (&Opened<'_>, &OpenContainer))| {
                opened.kind == open.kind && (at == 0 || opened.name == base.name(open))
            };
            pairs.enumerate().all(is_same)
        };
        // The innermost first.
        let all = (0..base.open.len()).rev().flat_map(|level| (0..=level).map(move |depth| (depth, level)));
        for (depth, level) in all.filter(|(depth, _)| *depth < chain.len()).filter(is_way).take(WAYS) {
            self.inside(base, fragment, &chain[depth], level, from);
        }
    }

    /// In a container that was opened again.
    fn inside(&mut self, base: &Base<'_>, fragment: &str, opened: &Opened<'_>, level: usize, from: usize) {
        let rest = &fragment.as_bytes()[opened.inner..];
        let rest = &rest[..rest.len().min(LONGEST_SPACED)];
        let path = solid(&fragment.as_bytes()[from..opened.inner]);
        let mut members = base.members(level);
        members.push(base.open_member(level));
        // An open member may be as long as the document.
        members.retain(|&at| base.text.len() - at <= SPACED * rest.len());
        if let Some(&window) = members.first() {
            let rest = &rest[..rest.len().min(SPACED * (base.text.len() - window))];
            let ending = Compact::new(&base.text.as_bytes()[window..], Within::Tokens);
            let beginning = Compact::new(rest, Within::Tokens);
            let all =
                ending.overlaps(&beginning).filter(|overlap| members.contains(&(window + overlap.base)));
            let all = self.keep(all.collect());
            self.found.extend(all.into_iter().map(|overlap| Seam {
                start: behind_space(base, fragment, opened.inner + overlap.fragment),
                overlap: base.text.len() - window - overlap.base,
                how: How::Reopened,
                comma: false,
                evidence: path + overlap.len,
                chance: overlap.chance,
                starts_over: true,
            }));
        }
        let is_behind_member = matches!(base.cut.expected, Expected::CommaOrBrace | Expected::CommaOrBracket);
        if level + 1 == base.open.len() && base.is_between_members() {
            self.found.push(Seam {
                start: opened.inner,
                overlap: 0,
                how: How::Reopened,
                comma: is_behind_member && !matches!(rest.first(), Some(b'}' | b']')),
                evidence: path,
                chance: Chance::None,
                // One bracket may as well be that of the next element.
                starts_over: opened.depth > 0 || !fits_siblings(base, fragment, opened),
            });
        }
    }
}

/// Whether what the fragment begins with is like what stands in the innermost container.
fn fits_siblings(base: &Base<'_>, fragment: &str, opened: &Opened<'_>) -> bool {
    let Some(level) = base.open.len().checked_sub(1) else { return true };
    let before = base.members(level).last().and_then(|&at| base.text.as_bytes().get(at));
    before == fragment.as_bytes().get(opened.start)
}

/// How many bytes are no white space.
fn solid(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| !is_space(byte)).count()
}

/// White space behind the seam goes if there is some before it.
fn behind_space(base: &Base<'_>, fragment: &str, start: usize) -> usize {
    if base.is_between_tokens() && base.text.ends_with(SPACE) {
        fragment.len() - trim_start(&fragment[start..]).len()
    } else {
        start
    }
}

/// A container that the fragment begins with, within those before it.
struct Opened<'a> {
    kind: Kind,
    /// Its name in the one before it, with the quotes.
    name: Option<&'a str>,
    /// Its bracket.
    start: usize,
    /// Its first member, or its end.
    inner: usize,
    depth: usize,
}

/// The containers that the fragment opens before anything else.
fn opened(fragment: &str, from: usize) -> Vec<Opened<'_>> {
    let mut chain: Vec<Opened<'_>> = Vec::new();
    let mut name = None;
    let mut tokens = Tokens::new(fragment, from);
    while let Some(token) = tokens.next() {
        match token.first {
            b'{' | b'[' if chain.len() < REOPENED => {
                let inner = fragment.len() - trim_start(&fragment[token.end..]).len();
                let kind = if token.first == b'{' { Kind::Object } else { Kind::Array };
                chain.push(Opened { kind, name: name.take(), start: token.start, inner, depth: chain.len() });
            }
            b'"' if chain.last().is_some_and(|opened| opened.kind == Kind::Object) => {
                let end = string_end(fragment.as_bytes(), token.start + 1);
                name = Some(&fragment[token.start..end]);
                if tokens.next().is_none_or(|token| token.first != b':') {
                    break;
                }
            }
            _ => break,
        }
    }
    chain
}
