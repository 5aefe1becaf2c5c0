//! Where a fragment continues a document.

use std::ops::Range;

use memchr::{memmem, memrchr_iter};
use tokenline_core::json::{Cut, OpenContainer, OpenToken};

use super::result::{Confidence, Join};
use super::stand_in::StandIn;
use crate::beginning;
use crate::document::Document;
use crate::error::ContinuationFailure;
use crate::text::{count_non_space, head, is_space, tail, trim_end, trim_start};
use crate::tokens::first_name;

/// The longest overlap that is tried without a request, in bytes.
const MAX_OVERLAP: usize = 1024;
/// With more join points, the text is periodic.
const MAX_JOIN_POINTS: usize = 16;
/// An overlap of this many bytes besides white space is evidence.
const MIN_PROOF: usize = 16;
/// A fragment that repeats this many leading bytes of the document, among them a value, starts over.
const MIN_RESTART: usize = 8;
/// Fewer bytes of a string may be repeated by chance.
const MIN_STRING_OVERLAP: usize = 4;

/// The selected join point, and the part of the fragment that is appended.
pub(super) struct MergePlan {
    /// The part of the fragment that is new.
    pub(super) range: Range<usize>,
    pub(super) overlap: usize,
    pub(super) join: Join,
    pub(super) confidence: Confidence,
}

/// A position at which the fragment may continue the document.
struct JoinPoint {
    /// The first byte of the fragment that is new.
    start: usize,
    /// How many bytes of the document are repeated before it.
    overlap: usize,
    join: Join,
}

/// The lexical state before a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LexicalState {
    Tokens,
    String,
    /// After the backslash of an escape.
    Escape,
}

impl LexicalState {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Tokens, b'"') | (Self::Escape, _) => Self::String,
            (Self::String, b'"') => Self::Tokens,
            (Self::String, b'\\') => Self::Escape,
            (state, _) => state,
        }
    }
}

struct Search<'a> {
    document: &'a Document,
    text: &'a str,
    open: Vec<OpenContainer>,
    cut: Cut,
    fragment: &'a str,
    requested: usize,
    stand_in: StandIn,
}

/// The join point that the fragment proves, or the only one that gives valid JSON.
pub(super) fn find(
    document: &Document,
    cut: Cut,
    fragment: &str,
    requested: usize,
) -> Result<MergePlan, ContinuationFailure> {
    let stand_in = StandIn::new(document, cut);
    let text = document.text();
    let open = document.open_containers();
    let search = Search { document, text, open, cut, fragment, requested, stand_in };
    let ends = beginning::thoughts(fragment);
    let thoughts = ends.last().copied().unwrap_or_default();
    let rest = &fragment[thoughts..];
    let moved = |starts: Vec<usize>| starts.into_iter().map(|start| thoughts + start).collect::<Vec<_>>();
    let at_start = moved(beginning::at_start(rest));
    let after_marker = beginning::after_list_marker(rest).map(|len| thoughts + len);
    let after_prose = moved(beginning::after_prose(rest));
    // What looks like a thought may be a part of the document that was asked for. Not all of a thousand thoughts are tried.
    let whole = [0].into_iter().chain(ends.into_iter().take(MAX_JOIN_POINTS));
    let others = at_start.iter().copied().chain(after_marker).chain(after_prose.iter().copied());
    if let Some(found) = whole.chain(others).find_map(|from| search.proven(from)) {
        return search.only(found);
    }
    for starts in [&at_start, &after_prose] {
        if let Some(found) = search.only_fit(starts)? {
            return search.only(found);
        }
    }
    let starts_over = at_start.iter().any(|&from| search.starts_over(from));
    Err(if starts_over { ContinuationFailure::StartedOver } else { ContinuationFailure::Diverged })
}

impl Search<'_> {
    /// The join point after the requested overlap, or after the whole document.
    fn proven(&self, from: usize) -> Option<MergePlan> {
        let overlap = tail(self.text, self.requested);
        let at = self.text.len() - overlap.len();
        let state = self.state_at(at);
        let join_point = |from| self.join_point(at, state, from).ok();
        let after_space = self.fragment.len() - trim_start(&self.fragment[from..]).len();
        // If white space differs, a short overlap proves nothing.
        let is_enough =
            |point: &JoinPoint| point.join == Join::Exact || count_non_space(overlap) >= MIN_PROOF;
        let requested = [from, after_space].into_iter().find_map(join_point);
        let requested = requested.filter(|point| point.overlap > 0 && is_enough(point)).map(|point| {
            if point.join == Join::Exact {
                return point;
            }
            // It may be exact after blank lines, with the white space that it begins with.
            let own_space = overlap.len() - trim_start(overlap).len();
            let exact = join_point(after_space.saturating_sub(own_space).max(from));
            exact.filter(|exact| exact.join == Join::Exact).unwrap_or(point)
        });
        let all = self
            .join_point(0, LexicalState::Tokens, from)
            .ok()
            .filter(|_| count_non_space(self.text) >= MIN_PROOF);
        let all = all.map(|point| JoinPoint { join: Join::Restarted, ..point });
        [requested, all].into_iter().flatten().find_map(|point| {
            let range = self.fit(&point)?;
            Some(MergePlan {
                range,
                overlap: point.overlap,
                join: point.join,
                confidence: Confidence::Certain,
            })
        })
    }

    /// The join point, unless what it reads proves to be a thought or a draft: a closing tag, or the overlap again, follows.
    fn only(&self, found: MergePlan) -> Result<MergePlan, ContinuationFailure> {
        let after = &self.fragment[found.range.end..];
        let overlap = tail(self.text, self.requested);
        let is_repeated = count_non_space(overlap) >= MIN_PROOF && after.contains(overlap);
        let is_draft = is_repeated || beginning::has_closing_tag(after);
        if is_draft { Err(ContinuationFailure::Ambiguous) } else { Ok(found) }
    }

    /// Whether the fragment begins as the document does and then differs or ends, or begins with the name of an open
    /// container.
    fn starts_over(&self, from: usize) -> bool {
        let from = self.fragment.len() - trim_start(&self.fragment[from..]).len();
        let Err(matched) = self.join_point(0, LexicalState::Tokens, from) else { return false };
        let rest = &self.fragment[from..];
        let name = first_name(rest);
        let mut open = self.open.iter().filter_map(|open| open.name.clone());
        matched.len() >= MIN_RESTART && matched.contains([',', '}', ']'])
            || !matched.is_empty() && matched.len() == trim_end(rest).len()
            || open.any(|open| name == Some(&self.text[open]))
    }

    /// The only join point that gives valid JSON, if there is exactly one.
    fn only_fit(&self, starts: &[usize]) -> Result<Option<MergePlan>, ContinuationFailure> {
        if starts.iter().any(|&from| self.starts_over(from)) {
            return Ok(None);
        }
        let without_overlap = |&from: &usize| JoinPoint { start: from, overlap: 0, join: Join::NoOverlap };
        let mut points: Vec<JoinPoint> = starts.iter().flat_map(|&from| self.overlaps(from)).collect();
        if points.len() > MAX_JOIN_POINTS {
            return Err(ContinuationFailure::Ambiguous);
        }
        points.extend(starts.iter().map(without_overlap));
        // Join points that differ only in white space between tokens are the same; the longest overlap stays.
        let place = |point: &JoinPoint| self.fragment.len() - self.after_space(point.start).len();
        points.sort_by_key(|point| (place(point), std::cmp::Reverse(point.overlap)));
        points.dedup_by_key(|point| place(point));
        let mut fits: Vec<_> = points.iter().filter_map(|point| Some((point, self.fit(point)?))).collect();
        prefer(&mut fits, |(point, _)| !self.is_chance(point));
        prefer(&mut fits, |(point, _)| self.is_likely(point));
        let (point, range) = match fits.len() {
            0 => return Ok(None),
            1 => fits.remove(0),
            _ => return Err(ContinuationFailure::Ambiguous),
        };
        // A short part of the requested overlap may be repeated by chance.
        let was_requested = self.requested.min(self.text.len());
        if (1..MIN_RESTART.min(was_requested)).contains(&point.overlap) {
            return Err(ContinuationFailure::Unproven);
        }
        let join = match point.join {
            _ if point.overlap == self.text.len() => Join::Restarted,
            Join::Exact if self.requested > 0 => Join::Partial,
            join => join,
        };
        Ok(Some(MergePlan { range, overlap: point.overlap, join, confidence: Confidence::Likely }))
    }

    /// Whether the overlap is only a few bytes of a string.
    fn is_chance(&self, point: &JoinPoint) -> bool {
        let start = self.cut.token.map_or(0, OpenToken::start) + 1;
        self.is_in_string()
            && (1..MIN_STRING_OVERLAP).contains(&point.overlap)
            && self.text.len() - point.overlap >= start
    }

    /// Whether the overlap is long, and does not occur again nearby.
    fn is_likely(&self, point: &JoinPoint) -> bool {
        let overlap = tail(self.text, point.overlap);
        let next = head(&self.fragment[point.start..], MAX_OVERLAP);
        let both = [tail(self.text, point.overlap + MAX_OVERLAP), next].concat();
        let (both, bytes) = (both.as_bytes(), overlap.as_bytes());
        let is_once = |at: usize| memmem::find(&both[at + 1..], bytes).is_none();
        count_non_space(overlap) >= MIN_PROOF && memmem::find(both, bytes).is_some_and(is_once)
    }

    /// The join points after each end of the document that the fragment begins with.
    fn overlaps(&self, from: usize) -> Vec<JoinPoint> {
        let mut points = Vec::new();
        let first = self.text.len() - tail(self.text, MAX_OVERLAP).len();
        let mut state = self.state_at(first);
        for (at, &byte) in self.text.as_bytes().iter().enumerate().skip(first) {
            let is_token = state != LexicalState::Tokens || !is_space(byte);
            if is_token
                && self.text.is_char_boundary(at)
                && let Ok(point) = self.join_point(at, state, from)
            {
                points.push(point);
            }
            state = state.after(byte);
        }
        points
    }

    /// The join point, if the fragment from `from` on begins with the document from `at` on, ignoring white space between
    /// tokens. Otherwise the part of the fragment that matches.
    fn join_point(&self, at: usize, mut state: LexicalState, from: usize) -> Result<JoinPoint, &str> {
        let (text, fragment) = (&self.text[at..], &self.fragment[from..]);
        let overlap = text.len();
        if fragment.starts_with(text) {
            return Ok(JoinPoint { start: from + overlap, overlap, join: Join::Exact });
        }
        let (mut rest, mut new) = (text.as_bytes(), fragment.as_bytes());
        loop {
            if state == LexicalState::Tokens {
                rest = rest.trim_ascii_start();
                let Some(_) = rest.first() else { break };
                new = new.trim_ascii_start();
            }
            let Some((byte, left)) = rest.split_first() else { break };
            if new.first() != Some(byte) {
                return Err(head(fragment, fragment.len() - new.len()));
            }
            state = state.after(*byte);
            (rest, new) = (left, &new[1..]);
        }
        let start = self.fragment.len() - new.len();
        Ok(JoinPoint { start, overlap, join: Join::WhitespaceDiffers })
    }

    /// The part of the fragment after a join point that continues the JSON; `None` if it does not.
    fn fit(&self, point: &JoinPoint) -> Option<Range<usize>> {
        let new = &self.fragment[point.start..];
        let len = self.stand_in.read(new)?;
        Some(point.start..point.start + len)
    }

    fn is_in_string(&self) -> bool {
        matches!(self.cut.token, Some(OpenToken::String { .. } | OpenToken::Name { .. }))
    }

    fn after_space(&self, at: usize) -> &str {
        let rest = &self.fragment[at..];
        if self.cut.token.is_none() { trim_start(rest) } else { rest }
    }

    /// The lexical state before a byte of the document.
    fn state_at(&self, at: usize) -> LexicalState {
        let bytes = self.text.as_bytes();
        let is_escaped = |start: usize, at: usize| {
            let before = bytes[start..at].iter().rev();
            before.take_while(|&&byte| byte == b'\\').count() % 2 == 1
        };
        let in_string =
            |start| if is_escaped(start, at) { LexicalState::Escape } else { LexicalState::String };
        // The open token may be long: no quote closes it.
        match self.cut.token {
            Some(token) if token.start() < at && self.is_in_string() => return in_string(token.start()),
            Some(token) if token.start() < at => return LexicalState::Tokens,
            _ => {}
        }
        // Inside the last token before it, if that is a string and no quote has closed it. Read backwards: it may be long.
        let start = self.document.parser.token_before(at);
        let quote = memrchr_iter(b'"', &bytes[start..at]).map(|quote| start + quote);
        match quote.into_iter().find(|&quote| quote == start || !is_escaped(start, quote)) {
            Some(quote) if quote == start => in_string(start),
            _ => LexicalState::Tokens,
        }
    }
}

/// Keeps the elements that match, unless none does.
fn prefer<T>(all: &mut Vec<T>, matches: impl Fn(&T) -> bool) {
    if all.iter().any(&matches) {
        all.retain(matches);
    }
}
