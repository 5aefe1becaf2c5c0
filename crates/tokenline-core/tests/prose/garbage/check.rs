//! Conditions for records among garbage.

use std::ops::Range;

use tokenline_core::Span;

use super::cases::Case;
use super::kinds::Class;
use crate::common::Seen;
use crate::faults::{excerpt, rejects, shown};

/// The faults of a case: their kinds, each with a detail.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) faults: Vec<(&'static str, String)>,
}

impl Verdict {
    pub(super) fn add(&mut self, kind: &'static str, detail: String) {
        if self.faults.iter().all(|(known, _)| *known != kind) {
            self.faults.push((kind, detail));
        }
    }
}

/// Checks that each record is delivered once, in order, and nothing else except what `may_deliver` allows.
pub(super) fn records(case: &Case, seen: &[Seen], may_deliver: impl Fn(&str) -> bool, verdict: &mut Verdict) {
    let mut found = Vec::new();
    for raw in crate::faults::records(seen) {
        if raw.contains("\"id\":") {
            found.push(raw);
        } else if !may_deliver(raw) {
            verdict.add("invented", excerpt(raw.as_bytes(), 100));
        }
    }
    if found != case.expected {
        let wanted: Vec<&str> = case.expected.iter().map(String::as_str).collect();
        let lost: Vec<usize> = (0..wanted.len()).filter(|id| !found.contains(&wanted[*id])).collect();
        let other = found.iter().find(|record| !wanted.contains(record));
        if let Some(first) = lost.first() {
            let around = place_of(case, wanted[*first]);
            verdict.add("lost", format!("{} records, first no. {first}: {around}", lost.len()));
        }
        if let Some(other) = other {
            verdict.add("invented", excerpt(other.as_bytes(), 100));
        }
        if lost.is_empty() && other.is_none() {
            let at = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
            verdict.add("order or number", format!("{} of {}, first at {at:?}", found.len(), wanted.len()));
        }
    }
}

/// Checks that no garbage is ignored: each line of it, apart from brackets, is inside a reject, a record or a
/// note, or contains one. Also checks the rules of its class.
pub(super) fn garbage(case: &Case, class: Class, is_json_fence: bool, seen: &[Seen], verdict: &mut Verdict) {
    let spans: Vec<Range<usize>> = seen.iter().map(span).collect();
    let rejected: Vec<Range<usize>> =
        rejects(seen).map(|found| found.span.start as usize..found.span.end as usize).collect();
    let delivered: Vec<Range<usize>> =
        seen.iter().filter(|event| matches!(event, Seen::Record { .. })).map(span).collect();
    let touch = |span: &Range<usize>, range: &Range<usize>| span.start < range.end && range.start < span.end;
    let touches = |spans: &[Range<usize>], range: &Range<usize>| spans.iter().any(|span| touch(span, range));
    for garbage in &case.garbage {
        for (index, line) in case.lines(garbage).enumerate() {
            let text = &case.input[line.clone()];
            // Lines that belong to a value are rejected with it.
            let is_lost = |at: &usize| {
                is_markup(&text[at - line.start..=at - line.start])
                    || rejected.iter().chain(&delivered).any(|span| span.contains(at))
            };
            if class == Class::Meant && index > 0 && !is_markup(text) && !line.clone().all(|at| is_lost(&at))
            {
                verdict.add("not in the span", excerpt(text, 100));
            }
            // Text before a bracket that ends its line belongs to the array's first line.
            let ends_open = text.trim_ascii_end().ends_with(b"[");
            if !is_markup(text) && !ends_open && !touches(&spans, &line) {
                verdict.add("silent", excerpt(text, 100));
            }
        }
        let is_rejected = touches(&rejected, garbage);
        if class == Class::Meant && !is_rejected {
            verdict.add("not rejected", excerpt(&case.input[garbage.clone()], 100));
        }
        if class == Class::Prose && !is_json_fence && is_rejected {
            let is_here = |span: Span| touch(&(span.start as usize..span.end as usize), garbage);
            let first = rejects(seen).find(|found| is_here(found.span));
            verdict.add("rejected", shown(first.expect("one of them"), &case.input));
        }
    }
}

/// Whether the line has only brackets, commas and invisible characters.
fn is_markup(line: &[u8]) -> bool {
    line.strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(line)
        .iter()
        .all(|byte| byte.is_ascii_whitespace() || b"[]{},".contains(byte))
}

pub(super) fn span(event: &Seen) -> Range<usize> {
    let span = match event {
        Seen::Record { record, .. } => record.span,
        Seen::Rejected(found) | Seen::Note(found) => found.span,
    };
    span.start as usize..span.end as usize
}

/// The text before and at the position of this record.
fn place_of(case: &Case, record: &str) -> String {
    let id = record.split("\"id\":").nth(1).unwrap_or_default();
    let digits = id.len() - id.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let candidates = [format!("\"id\":{}", &id[..digits]), format!("id={}", &id[..digits])];
    let at = case.input.windows(4).enumerate().position(|(at, _)| {
        candidates.iter().any(|own| {
            case.input[at..].starts_with(own.as_bytes())
                && !case.input.get(at + own.len()).is_some_and(u8::is_ascii_digit)
        })
    });
    let at = at.unwrap_or(0);
    excerpt(&case.input[at.saturating_sub(60)..(at + 60).min(case.input.len())], 200)
}
