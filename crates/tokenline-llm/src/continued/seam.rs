//! A response that goes on inside the record that was cut off.

use tokenline_core::json::{Parser, Step};

use super::fingerprint::squeeze;
use super::progress::Form;

/// Longest repeat inside a record that is looked for, in bytes.
const LONGEST_REPEAT: usize = 4096;
/// From so many bytes on a repeat is no accident.
const NO_ACCIDENT: usize = 16;

/// What a fragment makes of the record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seam {
    /// It does not go on with it.
    None,
    /// More of it is needed.
    Wait,
    /// The record is whole, up to this place in the fragment.
    Joined { record: String, end: usize },
    /// It goes on with it, and the record is still open.
    Open(String),
    /// It goes on with it, in more than one way.
    Ambiguous,
}

/// Joins the fragment to the beginning of a record.
///
/// `is_over`: the fragment is all there is.
pub(super) fn join(open: &str, fragment: &str, form: Form, is_over: bool) -> Seam {
    let skipped = lead(fragment);
    let mut starts: Vec<(usize, usize)> = vec![(0, 0)];
    if skipped > 0 {
        starts.push((skipped, 0));
    }
    for start in starts.clone() {
        let fragment = &fragment[start.0..];
        let longest = open.len().min(fragment.len()).min(LONGEST_REPEAT);
        let repeats = (1..=longest).filter(|&repeat| {
            fragment.is_char_boundary(repeat) && open.as_bytes().ends_with(&fragment.as_bytes()[..repeat])
        });
        starts.extend(repeats.map(|repeat| (start.0 + repeat, repeat)));
    }
    let mut wholes: Vec<(usize, String, usize)> = Vec::new();
    let mut opens: Vec<String> = Vec::new();
    let mut parser = Parser::new();
    for (start, repeat) in starts {
        let joined = [open, &fragment[start..]].concat();
        parser.reset();
        match parser.resume(&joined) {
            // The beginning of a record is open: else it is none.
            Step::Complete { end } if end <= open.len() => {}
            Step::Complete { end } => match goes_on_well(&joined[end..], form, is_over) {
                Some(true) => wholes.push((repeat, joined[..end].to_owned(), start + end - open.len())),
                Some(false) => {}
                None => opens.push(joined),
            },
            Step::NeedMore => opens.push(joined),
            Step::Malformed(_) => {}
        }
    }
    if !is_over && !opens.is_empty() && fragment.len() < wait_bytes(open) {
        return Seam::Wait;
    }
    // White space that is there twice makes no other record.
    let texts: Vec<String> = wholes.iter().map(|(_, record, _)| squeeze(record)).collect();
    if texts.windows(2).all(|two| two[0] == two[1]) {
        return match wholes.pop() {
            Some((_, record, end)) => Seam::Joined { record, end },
            None if !is_over && !opens.is_empty() => Seam::Wait,
            None if opens.len() > 1 => Seam::Ambiguous,
            None => opens.pop().map_or(Seam::None, Seam::Open),
        };
    }
    // A long repeat besides none at all is one. Of several repeats nobody can tell.
    let mut long: Vec<_> = wholes.into_iter().filter(|(repeat, ..)| *repeat > 0).collect();
    match (long.pop(), long.is_empty()) {
        (Some((repeat, record, end)), true) if repeat >= NO_ACCIDENT => Seam::Joined { record, end },
        _ => Seam::Ambiguous,
    }
}

/// How much of a fragment is waited for, while some reading of it is whole and another is not.
fn wait_bytes(open: &str) -> usize {
    (4 * open.len()).max(64 * 1024)
}

/// Bytes before what may be a part of the record: line feeds, the first line of a fence.
fn lead(fragment: &str) -> usize {
    let mut rest = fragment.trim_start_matches(['\r', '\n']);
    if rest.starts_with("```") {
        rest = rest.find('\n').map_or("", |end| &rest[end + 1..]);
    }
    fragment.len() - rest.len()
}

/// Whether what follows a record is what may follow one. `None` if that is not known yet.
fn goes_on_well(rest: &str, form: Form, is_over: bool) -> Option<bool> {
    match rest.trim_start_matches([' ', '\t', '\r']).bytes().next() {
        None => is_over.then_some(true),
        Some(b'\n') => Some(true),
        Some(b',' | b']') => Some(form == Form::Elements),
        Some(_) => Some(false),
    }
}

/// Whether a response begins as a record does, or what is around records.
pub(super) fn begins_a_record(fragment: &str) -> bool {
    fragment[lead(fragment)..].trim_start_matches([' ', '\t', '\r', '\n', ',', '[']).starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_reading_is_taken() {
        let joined = |record: &str, end| Seam::Joined { record: record.to_owned(), end };
        let join = |open, fragment| join(open, fragment, Form::Lines, true);
        assert_eq!(join("{\"s\":\"ab", "cd\"}\n{"), joined("{\"s\":\"abcd\"}", 4));
        assert_eq!(join("{\"s\":[1,", ",2]}\n"), joined("{\"s\":[1,2]}", 4));
        assert_eq!(join("{\"n\":1", "1}\n"), Seam::Ambiguous);
        assert_eq!(join("{\"s\":1,", "{\"s\":1,\"t\":2}\n"), joined("{\"s\":1,\"t\":2}", 13));
        assert_eq!(join("{\"s\":1,", "{\"t\":2}\n"), Seam::None);
        assert_eq!(join("{\"s\":\"ab", "Here it is:\n{}"), Seam::None);
        assert_eq!(join("{\"s\":\"ab", "cd"), Seam::Open("{\"s\":\"abcd".to_owned()));
    }
}
