//! Which seam is taken, and how sure that is.

use std::cmp::Reverse;

use memchr::memmem;

use super::base::Base;
use super::check::{Check, Verdict};
use super::find::{STARTS_OVER, Seams};
use super::result::Confidence;
use super::seam::{Chance, How, Seam};
use crate::text::{is_space, trim_start};

/// What is repeated speaks for a seam from so many bytes on; fewer may agree by chance.
const STRONG: usize = 8;
/// The same if overlap was asked for.
const STRONG_IF_REQUESTED: usize = 4;
/// So much makes a seam likely, if it is in the text only once.
const LIKELY: usize = 16;
/// Another seam that repeats so many times less takes nothing from it: rows that are alike end alike.
const CLEARLY: usize = 4;
/// Seams are looked at so far, in bytes, before one is followed to the end of the fragment.
const WINDOW: usize = 4096;
/// So many are followed to the end of the fragment in any case.
const FOLLOWED: usize = 4;
/// Where an overlap must not stand a second time to be likely: so many bytes before it.
const UNIQUE_WITHIN: usize = 64 * 1024;

pub(super) struct Chosen {
    pub(super) seam: Seam,
    pub(super) verdict: Verdict,
    pub(super) confidence: Confidence,
}

/// How much speaks for a seam; less is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// It repeats much, and not by chance.
    Strong,
    /// It starts over, with the document or with the containers that lead to the cut.
    Again,
    /// It makes the document whole, and not all do.
    Whole,
    /// It repeats nothing, and begins where a token does, or goes on in a string, name or literal.
    Next,
    /// It repeats little, or what may be repeated by chance.
    Weak,
    /// It goes on with a number, of which nothing says that it was cut.
    InNumber,
}

struct Candidate {
    seam: Seam,
    verdict: Verdict,
    class: Class,
}

impl Candidate {
    /// Looks at all of the fragment behind the seam; whether it is JSON.
    fn follow(&mut self, check: &mut Check, fragment: &str) -> bool {
        match check.seam(fragment, &self.seam, usize::MAX) {
            Some(verdict) => {
                self.verdict = verdict;
                true
            }
            None => false,
        }
    }
}

/// The best of the seams that the grammar allows.
pub(super) fn choose(
    base: &Base<'_>,
    check: &mut Check,
    fragment: &str,
    seams: &Seams,
    is_requested: bool,
) -> Option<Chosen> {
    let mut all: Vec<Candidate> = Vec::new();
    for seam in distinct(base, fragment, &seams.found) {
        if let Some(verdict) = check.seam(fragment, &seam, WINDOW) {
            all.push(Candidate { seam, verdict, class: Class::Next });
        }
    }
    // Nearly always there are few.
    let is_followed = fragment.len() <= WINDOW || all.len() <= FOLLOWED;
    if is_followed && fragment.len() > WINDOW {
        all.retain_mut(|candidate| candidate.follow(check, fragment));
    }
    let mut is_certain = is_followed && !seams.is_partial;
    // A name that is repeated is a sign of a wrong seam, if there are others.
    let before = all.len();
    let is_only = all.iter().all(|candidate| candidate.verdict.repeats_name);
    all.retain(|Candidate { seam, verdict, .. }| {
        !verdict.repeats_name || (is_only && seam.how != How::Reopened)
    });
    is_certain &= before == all.len() && !is_only;
    classify(base, fragment, &mut all, is_requested);
    all.sort_by_key(|candidate| {
        let Candidate { seam, class, .. } = candidate;
        // Of what may be repeated by chance the least is: no row is lost.
        let is_chance = seam.chance == Chance::All;
        let evidence = if is_chance { seam.evidence } else { usize::MAX - seam.evidence };
        // Nothing is left out of a string that may be part of it.
        let start = if base.is_in_string() { seam.start } else { usize::MAX - seam.start };
        (*class, is_chance, evidence, start)
    });
    // What was not followed to the end may prove to be no JSON there.
    let index = all.iter_mut().position(|candidate| is_followed || candidate.follow(check, fragment))?;
    let others = all.len() - 1 - index;
    let best = all.swap_remove(index);
    // Overlap was asked for, and this may be a remark as well as text.
    let is_text = is_requested
        && best.seam.overlap == 0
        && base.is_in_string()
        && !fragment[best.seam.start..best.verdict.end].contains('"');
    // It may be the document once more, with another value in it.
    let is_other = seams.agrees_in_value && seams.agreed >= STARTS_OVER && best.seam.overlap == 0;
    let is_guess = best.seam.comma || best.class == Class::InNumber;
    let confidence = match () {
        () if is_text || is_other => Confidence::Ambiguous,
        () if others == 0 && is_certain && !is_guess => Confidence::Certain,
        () if others == 0 => Confidence::Likely,
        () if best.class == Class::Strong
            && best.seam.evidence >= LIKELY
            && best.seam.chance == Chance::None
            && !all.iter().any(|other| {
                other.class == Class::Strong && other.seam.evidence > best.seam.evidence / CLEARLY
            })
            && is_unique(base, &best.seam) =>
        {
            Confidence::Likely
        }
        () => Confidence::Ambiguous,
    };
    Some(Chosen { seam: best.seam, verdict: best.verdict, confidence })
}

/// One seam for each place: where white space means nothing, those that differ in it are one.
fn distinct(base: &Base<'_>, fragment: &str, seams: &[Seam]) -> Vec<Seam> {
    let place = |seam: &Seam| {
        let is_free = base.is_between_tokens();
        let space = fragment[seam.start..].len() - trim_start(&fragment[seam.start..]).len();
        (seam.start + if is_free { space } else { 0 }, seam.comma)
    };
    let rank = |seam: &Seam| match seam.how {
        // A restart says more than that the text is repeated.
        How::Restarted => 0,
        How::Plain if seam.overlap > 0 => 1,
        How::WhitespaceDiffers => 2,
        How::Reopened => 3,
        How::Plain => 4,
    };
    let mut placed: Vec<_> = seams.iter().map(|seam| (place(seam), *seam)).collect();
    placed.sort_by_key(|(place, seam)| (*place, rank(seam), Reverse(seam.overlap)));
    placed.dedup_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, seam)| seam).collect()
}

fn classify(base: &Base<'_>, fragment: &str, all: &mut [Candidate], is_requested: bool) {
    let strong = if is_requested { STRONG_IF_REQUESTED } else { STRONG };
    // What is repeated in the text itself says more than a bracket that might be meant so.
    let repeated = all.iter().filter(|Candidate { seam, .. }| seam.overlap > 0 && seam.chance != Chance::All);
    let repeated = repeated.map(|candidate| candidate.seam.evidence).max().unwrap_or(0);
    let whole = all.iter().filter(|candidate| candidate.verdict.is_complete).count();
    let tells = whole > 0 && whole < all.len();
    for Candidate { seam, verdict, class } in all {
        let next = fragment.as_bytes().get(seam.start);
        let in_number = base.is_in_number()
            && next.is_some_and(|byte| {
                byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')
            });
        // Repeated white space says nothing, except in a string.
        let is_blank = base.is_between_tokens() && ends_blank(base, seam.overlap);
        let repeated_here = if seam.starts_over { seam.overlap } else { seam.evidence };
        *class = if repeated_here >= strong && seam.chance != Chance::All && !is_blank {
            Class::Strong
        } else if seam.starts_over && (seam.overlap > 0 || seam.evidence > repeated) {
            Class::Again
        } else if tells && verdict.is_complete {
            Class::Whole
        } else if seam.how == How::Plain && (seam.overlap == 0 || is_blank) {
            if in_number { Class::InNumber } else { Class::Next }
        } else {
            Class::Weak
        };
    }
}

fn ends_blank(base: &Base<'_>, bytes: usize) -> bool {
    bytes > 0 && base.text.as_bytes()[base.text.len() - bytes..].iter().all(|&byte| is_space(byte))
}

/// Whether what is repeated stands in the base only once, as far as is looked.
fn is_unique(base: &Base<'_>, seam: &Seam) -> bool {
    let bytes = base.text.as_bytes();
    let overlap = &bytes[bytes.len() - seam.overlap..];
    let from = bytes.len().saturating_sub(UNIQUE_WITHIN + seam.overlap);
    seam.overlap > 0 && memmem::find(&bytes[from..bytes.len() - 1], overlap).is_none()
}
