//! Where the JSON may begin in a fragment that comes in a fence or after prose.

use memchr::memmem;

use crate::text::{head, trim_start};

/// Prose is looked at so far, in bytes.
const PROSE: usize = 4096;
/// So many lines of prose.
const LINES: usize = 12;
/// A requested overlap is looked for in prose if it has at least so many bytes.
const ANCHOR: usize = 4;

/// The beginning itself, behind a byte order mark, and behind the fence that it opens.
pub(super) fn beginnings(fragment: &str) -> Vec<usize> {
    let mut all = vec![0];
    let text = fragment.strip_prefix('\u{feff}').unwrap_or(fragment);
    if text.len() < fragment.len() {
        all.push(fragment.len() - text.len());
    }
    all.extend(behind_fence(fragment, fragment.len() - trim_start(text).len()));
    all
}

/// Behind prose: where the requested overlap stands, at the beginnings of lines, behind fences, and at
/// the first bracket.
pub(super) fn behind_prose(fragment: &str, overlap: &str) -> Vec<usize> {
    let prose = head(fragment, PROSE);
    let mut all = Vec::new();
    if overlap.len() >= ANCHOR {
        all.extend(memmem::find(head(fragment, PROSE + overlap.len()).as_bytes(), overlap.as_bytes()));
    }
    for (at, _) in prose.match_indices('\n').take(LINES) {
        let rest = &fragment[at + 1..];
        let text = at + 1 + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        all.extend(behind_fence(fragment, text));
        all.push(at + 1);
    }
    all.extend(prose.find(['{', '[']));
    all
}

/// Behind the fence that opens at `at`: on the next line, or on the same line behind its word.
fn behind_fence(fragment: &str, at: usize) -> Option<usize> {
    let info = fragment[at..].strip_prefix("```")?;
    let rest =
        info.trim_start_matches(|character: char| character == '`' || character.is_ascii_alphanumeric());
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest
        .strip_prefix("\r\n")
        .or(rest.strip_prefix('\n'))
        .or(Some(rest).filter(|rest| rest.starts_with(['{', '['])))?;
    Some(fragment.len() - rest.len())
}
