//! Where a fragment continues a document.

use std::ops::Range;

use memchr::{memmem, memrchr_iter};
use tokenline_core::json::{Cut, OpenContainer, OpenToken};

use super::result::{Confidence, Join, MergeFailure};
use super::stand_in::StandIn;
use crate::document::Document;
use crate::text::{behind_fence, head, is_space, solid, tail, trim_start};
use crate::tokens::first_name;

/// Overlaps that were not requested are looked for up to so many bytes.
const LONGEST: usize = 1024;
/// If there are more of them, the text is periodic.
const MOST: usize = 16;
/// From so many bytes on, white space apart, what is repeated proves something.
const SURE: usize = 16;
/// From so many on, with a value among them, a fragment that begins as the document does is the document once more.
const AGREED: usize = 8;
/// Fewer bytes of a string may be repeated by chance.
const CHANCE: usize = 4;
/// So much prose is skipped, in bytes and in lines.
const PROSE: usize = 4096;
const LINES: usize = 12;

/// The seam that was found.
pub(super) struct Found {
    /// The part of the fragment that is new.
    pub(super) range: Range<usize>,
    pub(super) overlap: usize,
    pub(super) join: Join,
    pub(super) confidence: Confidence,
}

/// A place at which the fragment may continue the document.
struct Seam {
    /// The first byte of the fragment that is new.
    start: usize,
    /// So many bytes of the document are repeated before it.
    overlap: usize,
    join: Join,
}

/// Where a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Tokens,
    String,
    /// Behind the backslash of an escape.
    Escape,
}

impl Within {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Tokens, b'"') | (Self::Escape, _) => Self::String,
            (Self::String, b'"') => Self::Tokens,
            (Self::String, b'\\') => Self::Escape,
            (within, _) => within,
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

/// The seam that the fragment proves, or the only one at which both are JSON.
pub(super) fn find(
    document: &Document,
    cut: Cut,
    fragment: &str,
    requested: usize,
) -> Result<Found, MergeFailure> {
    let stand_in = StandIn::new(document, cut);
    let text = document.text();
    let open = document.open_containers();
    let search = Search { document, text, open, cut, fragment, requested, stand_in };
    for starts in [beginnings(fragment), behind_prose(fragment)] {
        if let Some(found) = starts.iter().find_map(|&from| search.proven(from)) {
            return Ok(found);
        }
        if let Some(found) = search.only(&starts)? {
            return Ok(found);
        }
    }
    let starts_over = beginnings(fragment).into_iter().any(|from| search.starts_over(from));
    Err(if starts_over { MergeFailure::StartedOver } else { MergeFailure::NoSeam })
}

impl Search<'_> {
    /// The requested overlap, or all of the document, repeated.
    fn proven(&self, from: usize) -> Option<Found> {
        let overlap = tail(self.text, self.requested);
        let at = self.text.len() - overlap.len();
        let within = self.within(at);
        let behind_space = self.fragment.len() - trim_start(&self.fragment[from..]).len();
        let requested = [from, behind_space].into_iter().find_map(|from| self.seam(at, within, from).ok());
        // With other white space, a few bytes may be anything.
        let is_enough = |seam: &Seam| seam.join == Join::Exact || solid(overlap) >= SURE;
        let requested = requested.filter(|seam| seam.overlap > 0 && is_enough(seam));
        let all = self.seam(0, Within::Tokens, from).ok().filter(|_| solid(self.text) >= SURE);
        let all = all.map(|seam| Seam { join: Join::Restarted, ..seam });
        [requested, all].into_iter().flatten().find_map(|seam| {
            let range = self.fit(&seam)?;
            Some(Found { range, overlap: seam.overlap, join: seam.join, confidence: Confidence::Certain })
        })
    }

    /// Whether the fragment begins as the document does, and differs then, or with the name of a container that is open.
    fn starts_over(&self, from: usize) -> bool {
        let from = self.fragment.len() - trim_start(&self.fragment[from..]).len();
        let agreed = self.seam(0, Within::Tokens, from).err().unwrap_or_default();
        let name = first_name(&self.fragment[from..]);
        let mut open = self.open.iter().filter_map(|open| open.name.clone());
        agreed.len() >= AGREED && agreed.contains([',', '}', ']'])
            || open.any(|open| name == Some(&self.text[open]))
    }

    /// The only seam at which both are JSON, if there is one.
    fn only(&self, starts: &[usize]) -> Result<Option<Found>, MergeFailure> {
        if starts.iter().any(|&from| self.starts_over(from)) {
            return Ok(None);
        }
        let nothing = |&from: &usize| Seam { start: from, overlap: 0, join: Join::NoOverlap };
        let mut seams: Vec<Seam> = starts.iter().flat_map(|&from| self.overlaps(from)).collect();
        if seams.len() > MOST {
            return Err(MergeFailure::Ambiguous);
        }
        seams.extend(starts.iter().map(nothing));
        // White space between tokens makes no seam another one; of two the one that repeats more stays.
        let place = |seam: &Seam| self.fragment.len() - self.behind_space(seam.start).len();
        seams.sort_by_key(|seam| (place(seam), std::cmp::Reverse(seam.overlap)));
        seams.dedup_by_key(|seam| place(seam));
        let mut fits: Vec<_> = seams.iter().filter_map(|seam| Some((seam, self.fit(seam)?))).collect();
        prefer(&mut fits, |(seam, _)| !self.is_chance(seam));
        prefer(&mut fits, |(seam, _)| self.is_likely(seam));
        let (seam, range) = match fits.len() {
            0 => return Ok(None),
            1 => fits.remove(0),
            _ => return Err(MergeFailure::Ambiguous),
        };
        // A few bytes of what was to be repeated may be there by chance.
        let was_requested = self.requested.min(self.text.len());
        if (1..AGREED.min(was_requested)).contains(&seam.overlap) {
            return Err(MergeFailure::Unproven);
        }
        let is_partial = seam.overlap > 0 && self.requested > 0 && seam.join == Join::Exact;
        let join = if is_partial { Join::Partial } else { seam.join };
        Ok(Some(Found { range, overlap: seam.overlap, join, confidence: Confidence::Likely }))
    }

    /// Whether it repeats a few bytes of a string.
    fn is_chance(&self, seam: &Seam) -> bool {
        let start = self.cut.token.map_or(0, OpenToken::start) + 1;
        self.is_in_string() && (1..CHANCE).contains(&seam.overlap) && self.text.len() - seam.overlap >= start
    }

    /// Whether it repeats much, and what is nowhere else near it.
    fn is_likely(&self, seam: &Seam) -> bool {
        let overlap = tail(self.text, seam.overlap);
        let next = head(&self.fragment[seam.start..], LONGEST);
        let both = [tail(self.text, seam.overlap + LONGEST), next].concat();
        let (both, bytes) = (both.as_bytes(), overlap.as_bytes());
        let is_once = |at: usize| memmem::find(&both[at + 1..], bytes).is_none();
        solid(overlap) >= SURE && memmem::find(both, bytes).is_some_and(is_once)
    }

    /// The ends of the document that the fragment begins with.
    fn overlaps(&self, from: usize) -> Vec<Seam> {
        let mut seams = Vec::new();
        let first = self.text.len() - tail(self.text, LONGEST).len();
        let mut within = self.within(first);
        for (at, &byte) in self.text.as_bytes().iter().enumerate().skip(first) {
            let is_token = within != Within::Tokens || !is_space(byte);
            if is_token
                && self.text.is_char_boundary(at)
                && let Ok(seam) = self.seam(at, within, from)
            {
                seams.push(seam);
            }
            within = within.after(byte);
        }
        seams
    }

    /// The seam if the fragment begins, at `from`, with what the document has from `at` on, white space between tokens
    /// apart. Otherwise how much of the fragment agrees.
    fn seam(&self, at: usize, mut within: Within, from: usize) -> Result<Seam, &str> {
        let (text, fragment) = (&self.text[at..], &self.fragment[from..]);
        let overlap = text.len();
        if fragment.starts_with(text) {
            return Ok(Seam { start: from + overlap, overlap, join: Join::Exact });
        }
        let (mut rest, mut new) = (text.as_bytes(), fragment.as_bytes());
        loop {
            if within == Within::Tokens {
                rest = rest.trim_ascii_start();
                let Some(_) = rest.first() else { break };
                new = new.trim_ascii_start();
            }
            let Some((byte, left)) = rest.split_first() else { break };
            if new.first() != Some(byte) {
                return Err(head(fragment, fragment.len() - new.len()));
            }
            within = within.after(*byte);
            (rest, new) = (left, &new[1..]);
        }
        let start = self.fragment.len() - new.len();
        Ok(Seam { start, overlap, join: Join::WhitespaceDiffers })
    }

    /// The part of the fragment behind a seam that is JSON; `None` if it is not JSON there.
    fn fit(&self, seam: &Seam) -> Option<Range<usize>> {
        let new = &self.fragment[seam.start..];
        let len = self.stand_in.read(new)?;
        Some(seam.start..seam.start + len)
    }

    fn is_in_string(&self) -> bool {
        matches!(self.cut.token, Some(OpenToken::String { .. } | OpenToken::Name { .. }))
    }

    fn behind_space(&self, at: usize) -> &str {
        let rest = &self.fragment[at..];
        if self.cut.token.is_none() { trim_start(rest) } else { rest }
    }

    /// Where a byte of the document stands.
    fn within(&self, at: usize) -> Within {
        let bytes = self.text.as_bytes();
        let start = match self.cut.token {
            Some(token) if token.start() < at => token.start(),
            _ => self.document.parser.token_before(at),
        };
        let is_escaped = |at: usize| {
            let before = bytes[start..at].iter().rev();
            before.take_while(|&&byte| byte == b'\\').count() % 2 == 1
        };
        // In the string that the last token before it is, if no quote has closed that. Read backwards: it may be long.
        let quote = memrchr_iter(b'"', &bytes[start..at]).map(|quote| start + quote);
        match quote.into_iter().find(|&quote| quote == start || !is_escaped(quote)) {
            Some(quote) if quote == start && is_escaped(at) => Within::Escape,
            Some(quote) if quote == start => Within::String,
            _ => Within::Tokens,
        }
    }
}

/// Keeps those that are so, if any are.
fn prefer<T>(all: &mut Vec<T>, is_so: impl Fn(&T) -> bool) {
    if all.iter().any(&is_so) {
        all.retain(is_so);
    }
}

/// Where JSON may begin in a fragment: at its beginning, behind a byte order mark, and behind the fence that it opens.
fn beginnings(fragment: &str) -> Vec<usize> {
    let mut all = vec![0];
    let text = fragment.strip_prefix('\u{feff}').unwrap_or(fragment);
    if text.len() < fragment.len() {
        all.push(fragment.len() - text.len());
    }
    let start = fragment.len() - trim_start(text).len();
    all.extend(behind_fence(&fragment[start..]).map(|len| start + len));
    all
}

/// Behind lines of prose, in which nothing is like JSON, and the fence that may follow them.
fn behind_prose(fragment: &str) -> Vec<usize> {
    let (mut all, mut at) = (Vec::new(), 0);
    for line in head(fragment, PROSE).split_inclusive('\n').take(LINES) {
        at += line.len();
        if !line.ends_with('\n') || line.contains(['{', '}', '[', ']', '"']) {
            break;
        }
        all.extend(behind_fence(&fragment[at..]).map(|len| at + len));
        all.push(at);
    }
    all
}
