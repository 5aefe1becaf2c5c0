//! A response that goes on inside the record that was cut off.

use tokenline_continuation::{Confidence, Join, MergeFailure, MergeOptions, TrailingContent};
use tokenline_core::{Options, Span};

use super::fingerprint::ends_in_string;
use super::open::OpenRecord;
use super::progress::{Form, Progress, TailRecord};

/// The record that was cut off, and the response that may be more of it.
#[derive(Debug)]
pub(super) struct Pending {
    /// The response, as far as it came and may matter.
    pub(super) text: String,
    /// Bytes of it that were before that.
    base: u64,
    /// After what it repeats of the records before, if it does.
    gone: Option<usize>,
    /// Where that began, if something stood before it that may be more of the cut record.
    odd: Option<usize>,
    /// The length at which it is looked at next.
    pub(super) next_look: usize,
    pub(super) form: Form,
    /// Whether no record was delivered, so that the form is not known for sure.
    is_early: bool,
    pub(super) options: Options,
    /// What it was asked to begin with, inside the record.
    pub(super) asked: Option<String>,
    /// How much of the record there was before.
    pub(super) from: usize,
    /// Whether something before the first record was rejected.
    pub(super) is_garbled: bool,
}

/// What a fragment made of the record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seam {
    /// It does not go on with it.
    None,
    /// The record is whole, up to this place in the fragment.
    Whole { end: usize, is_again: bool },
    /// It goes on with it, and the record is still open.
    Open { is_again: bool },
    /// It was repeated, and nothing is new.
    Same,
    /// It goes on with it, and nobody can tell where.
    Ambiguous,
}

/// How a response begins that was asked to go on inside the record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// More of it is needed.
    Wait,
    /// As it was asked to: with the overlap, which begins there.
    Asked(usize),
    Otherwise,
}

/// A part of a record that is shorter, in bytes, could be in any other.
const NO_ACCIDENT: usize = 32;
/// From so many bytes on a repeat is no accident.
pub(super) const LIKELY: usize = 16;
/// So much of the end of a record is looked at for what a response repeats of it, in bytes.
const REPEATED: usize = 4096;
/// So much of a response is held, in bytes, before it is decided whether it goes on inside the cut record.
pub(super) const WINDOW: usize = 64 * 1024;

impl Pending {
    /// `None` if no record is open.
    pub(super) fn new(progress: &Progress, options: &Options, quote_bytes: usize) -> Option<Self> {
        (!progress.open.is_empty()).then(|| Self {
            text: String::new(),
            base: 0,
            gone: None,
            odd: None,
            next_look: WINDOW,
            form: progress.form,
            is_early: progress.records == 0,
            options: options.clone(),
            asked: progress.inside(quote_bytes).map(str::to_owned),
            from: progress.open.len(),
            is_garbled: false,
        })
    }

    /// What may be more of the record.
    pub(super) fn fragment(&self) -> &str {
        &self.text[self.start()..]
    }

    /// Where that begins in the response.
    pub(super) fn start(&self) -> usize {
        self.gone.map_or(0, |gone| gone + separator(&self.text[gone..], self.form))
    }

    pub(super) fn head(&self, overlap: &str) -> Head {
        let mut is_short = false;
        for start in [0, lead(&self.text)] {
            let rest = &self.text[start..];
            if rest.starts_with(overlap) {
                return Head::Asked(start);
            }
            is_short |= overlap.starts_with(rest);
        }
        // The line that opens a fence is not at its end.
        let opener = self.text.trim_start_matches(['\r', '\n']);
        is_short |= "```".starts_with(opener) || (opener.starts_with("```") && !opener.contains('\n'));
        if is_short { Head::Wait } else { Head::Otherwise }
    }

    /// Whether what it repeats stands behind something that may be more of the cut record.
    pub(super) fn is_odd(&self) -> bool {
        self.odd.is_some()
    }

    /// A record there in the text was delivered before.
    ///
    /// `is_sure`: so many were that this is no chance.
    pub(super) fn repeated(&mut self, span: Span, is_sure: bool) {
        let (start, mut gone) = (self.at(span.start), self.at(span.end));
        if self.gone.is_none() && !self.text[lead(&self.text)..start].trim_ascii().is_empty() {
            self.odd = Some(start);
        }
        if is_sure || self.text.len() > WINDOW {
            self.text.drain(..gone);
            self.base += gone as u64;
            self.odd = None;
            gone = 0;
        }
        self.gone = Some(gone);
    }

    /// Whether what may be more of the record is anything but the beginning of one.
    pub(super) fn begins_a_record(&self) -> bool {
        let fragment = self.fragment();
        let rest = fragment[lead(fragment)..].trim_ascii_start();
        let rest = match self.form {
            Form::Lines if !self.is_early => rest,
            _ if self.gone.is_some() => rest.trim_start_matches([' ', '\t', '\r', '\n', ',']),
            _ => rest.trim_start_matches([' ', '\t', '\r', '\n', ',', '[']),
        };
        rest.starts_with('{')
    }

    /// Whether the record that ends there stands where one does, and is followed by what may follow one. `None` if that
    /// is not known yet.
    pub(super) fn stands_alone(&self, end: u64) -> Option<bool> {
        if !self.begins_a_record() {
            return Some(false);
        }
        let rest = self.text[self.at(end)..].trim_start_matches([' ', '\t', '\r']);
        match rest.strip_prefix(',').map(str::trim_ascii_start) {
            Some(_) if self.form == Form::Lines && !self.is_early => Some(false),
            Some("") => None,
            Some(next) => Some(!next.starts_with(['"', '}'])),
            None if rest.is_empty() => None,
            // After what closes the array is nothing more of it.
            None if rest.starts_with(']') => match goes_on_closed(rest) {
                // Or it is what is around the records.
                true if self.options.looks_for_items() => None,
                is_more => Some(!is_more),
            },
            None => Some(!rest.starts_with('}')),
        }
    }

    /// Whether a bracket closes what is around the record that ends there, and something goes on behind that.
    pub(super) fn is_closed_amid(&self, end: u64) -> bool {
        let rest = self.text[self.at(end)..].trim_ascii_start();
        rest.starts_with(']') && goes_on_closed(rest)
    }

    /// Whether nothing but prose stands before the record that begins there.
    pub(super) fn is_prose_before(&self, start: u64) -> bool {
        let before = &self.text[self.start().min(self.at(start))..self.at(start)];
        !before.contains(['{', '}', '[', ']', '"'])
    }

    /// What may be more of the record, up to the end of the record that ends there, and with the byte behind that which
    /// is no white space. `None` if that has not come.
    pub(super) fn up_to(&self, end: u64) -> Option<&str> {
        let (start, end) = (self.start(), self.at(end));
        let next = self.text[end..].find(|char: char| !char.is_ascii_whitespace())? + end;
        let next = next + self.text[next..].chars().next().map_or(0, char::len_utf8);
        self.text[..next].get(start + lead(&self.text[start..])..)
    }

    fn at(&self, offset: u64) -> usize {
        (offset.saturating_sub(self.base) as usize).min(self.text.len())
    }

    /// Whether the fragment is, or may be, from within a record that was delivered.
    pub(super) fn is_part_of_another<'a>(&self, mut tail: impl Iterator<Item = &'a TailRecord>) -> bool {
        let bare = |text: &str| text.split_ascii_whitespace().collect::<String>();
        let part = bare(self.fragment());
        tail.any(|record| {
            record.text.as_ref().map_or(part.len() < NO_ACCIDENT, |text| bare(text).contains(&part))
        })
    }

    /// Whether the fragment may begin within the records that were delivered, go on to their end, and write what is
    /// open again, as far as it comes.
    pub(super) fn is_from_before(&self, last: Option<&TailRecord>, open: &str) -> bool {
        let bare = |text: &str| text.split_ascii_whitespace().collect::<String>();
        let Some(last) = last.map(|last| last.text.as_deref().map(bare)) else { return false };
        let (fragment, open) = (bare(self.behind_fence()), bare(open));
        fragment.match_indices('{').any(|(at, _)| {
            let before = fragment[..at].trim_end_matches(',');
            let again = &fragment[at..];
            let is_end = |last: &String| last.ends_with(before) || before.ends_with(&**last);
            before.ends_with('}')
                && (again.starts_with(&open) || open.starts_with(again))
                && last.as_ref().is_none_or(is_end)
        })
    }

    /// Whether the fragment up to there is, or may be, the end of a record that was delivered.
    pub(super) fn is_end_of_another<'a>(
        &self,
        mut tail: impl Iterator<Item = &'a TailRecord>,
        end: usize,
    ) -> bool {
        // It may begin inside a string: what is white space between tokens is not known.
        let bare = |text: &str| text.split_ascii_whitespace().collect::<String>();
        let end = bare(&self.fragment()[..end]);
        tail.any(|record| record.text.as_ref().is_none_or(|text| bare(text).ends_with(&end)))
    }

    fn merge_options(&self) -> MergeOptions {
        MergeOptions {
            requested_overlap: self.asked.as_ref().map(String::len),
            min_confidence: Confidence::Likely,
            behind: match self.form {
                Form::Lines => TrailingContent::Lines,
                Form::Elements => TrailingContent::Elements,
            },
        }
    }

    /// Whether the fragment has nothing in it but what stands before a record.
    pub(super) fn is_blank(&self) -> bool {
        let rest = &self.fragment()[lead(self.fragment())..];
        rest.trim_matches([' ', '\t', '\r', '\n', ',', '[']).is_empty()
    }

    /// The fragment without the line that opens a fence.
    pub(super) fn behind_fence(&self) -> &str {
        &self.fragment()[lead(self.fragment())..]
    }

    /// Whether the fragment is nothing but what stands near the end of the record: a repeat that broke off.
    pub(super) fn is_within(&self, open: &str) -> bool {
        let mut from = open.len().saturating_sub(REPEATED + self.fragment().len());
        while !open.is_char_boundary(from) {
            from += 1;
        }
        open[from..].contains(self.fragment())
    }

    /// Joins what may be more of the record to it. It is as it was where that cannot be done.
    pub(super) fn join(&self, open: &mut OpenRecord) -> Seam {
        let (from, fragment) = (open.len(), self.fragment());
        let report = open.merge(fragment, &self.merge_options());
        if let Join::Failed(failure) = report.join {
            return if failure == MergeFailure::Unsure { Seam::Ambiguous } else { Seam::None };
        }
        // Within the record, what opens a part of it again could be another part that is like it.
        let is_again = report.join == Join::Restarted && report.overlap == from;
        let is_part = report.join == Join::Restarted && !is_again;
        let repeated = open.text().as_bytes()[from - report.overlap.min(from)..from].iter();
        let repeated = repeated.filter(|byte| !byte.is_ascii_whitespace()).count();
        // With little repeated it has to be the only way, and nothing may be put between.
        let is_sure = repeated >= LIKELY || is_again || report.confidence == Confidence::Certain;
        // It may be a remark.
        let is_plain = report.overlap == 0 && report.has_progress && !open.text()[from..].contains('"');
        let is_remark = is_plain && ends_in_string(&open.text()[..from]);
        let is_as_said = fragment[..report.end].ends_with(&open.text()[from..]);
        // Prose before it is left out only where the record begins again, or as it was asked to.
        let start = report.end - (open.len() - from).min(report.end);
        // The overlap is counted in the record, where white space may be another: it may begin inside a character.
        let first = lead(fragment).min(start);
        let before = &fragment.as_bytes()[first..start.saturating_sub(report.overlap).max(first)];
        let is_asked = report.join == Join::Exact && self.asked.is_some();
        let is_amid = match is_again || is_asked {
            true => {
                let opening = before.trim_ascii_end();
                let brackets = opening.iter().rev().take_while(|byte| **byte == b'[').count();
                opening[..opening.len() - brackets].iter().any(|byte| b"{}[]\"".contains(byte))
            }
            false => !before.trim_ascii().is_empty(),
        };
        // After what closes the array is nothing more of it.
        let rest = fragment[report.end..].trim_ascii_start();
        let is_closed_amid = open.is_whole() && rest.starts_with(']') && goes_on_closed(rest);
        match () {
            () if is_closed_amid
                || is_amid
                || !is_as_said
                || is_part
                || is_remark
                || (!is_sure && report.has_progress) =>
            {
                open.truncate(from);
                Seam::Ambiguous
            }
            () if open.is_whole() => Seam::Whole { end: report.end, is_again },
            () if report.has_progress => Seam::Open { is_again },
            () if report.overlap > 0 => Seam::Same,
            () => Seam::None,
        }
    }

    /// Whether all of the response, with what in it is like records that were delivered, may be more of the record.
    pub(super) fn may_be_all(&self, open: &mut OpenRecord) -> bool {
        if self.base > 0 {
            return false;
        }
        let before = self.odd.map(|odd| &self.text[..odd]);
        if let Some(before) = before.map(|before| before[lead(before)..].trim_ascii_start())
            && !before.starts_with(['{', '['])
            && before.contains(['{', '}', '[', ']', '"'])
        {
            return true;
        }
        let options = MergeOptions { min_confidence: Confidence::Ambiguous, ..self.merge_options() };
        let from = open.len();
        // Prose is no part of a record, whatever it stands before.
        let mut merge = |text| {
            let report = open.merge(text, &options);
            if !matches!(report.join, Join::Failed(_)) {
                open.truncate(from);
            }
            report
        };
        let report = merge(&self.text);
        let is_one = report.overlap >= LIKELY || report.confidence == Confidence::Certain;
        report.join != Join::Restarted
            && report.has_progress
            && is_one
            && before.is_none_or(|before| merge(before).has_progress)
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.text.len() + self.asked.as_ref().map_or(0, String::len)
    }
}

/// The first name in what an object begins with, as far as it is there.
fn first_name(object: &str) -> &str {
    let object = object.trim_start_matches(['{', ' ', '\t', '\r', '\n']);
    let Some(name) = object.strip_prefix('"') else { return "" };
    name.split('"').next().unwrap_or_default()
}

/// Whether two records begin with the same name, as far as it is there.
pub(super) fn is_like(record: &str, open: &str) -> bool {
    let (record, open) = (first_name(record), first_name(open));
    record.starts_with(open) || open.starts_with(record)
}

/// Whether something follows the closing brackets that a text begins with.
fn goes_on_closed(rest: &str) -> bool {
    rest.trim_start_matches([']', '}', ' ', '\t', '\r', '\n']).starts_with([',', '"'])
}

/// Bytes before what may be a part of the record: line feeds, the first line of a fence.
fn lead(fragment: &str) -> usize {
    let mut rest = fragment.trim_start_matches(['\r', '\n']);
    if rest.starts_with("```") {
        rest = rest.find('\n').map_or("", |end| &rest[end + 1..]);
    }
    fragment.len() - rest.len()
}

/// Bytes between a record and what follows it: up to the next line; between elements a comma and one space, too. More
/// may be a part of what follows.
fn separator(rest: &str, form: Form) -> usize {
    let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', ',']).len();
    if rest[blank..].starts_with('\n') {
        return blank + 1;
    }
    let comma = rest.trim_start_matches([' ', '\t']).strip_prefix(',').filter(|_| form == Form::Elements);
    comma.map_or(0, |next| rest.len() - next.strip_prefix(' ').unwrap_or(next).len())
}
