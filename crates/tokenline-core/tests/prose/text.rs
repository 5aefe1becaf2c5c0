//! Classifies a text's lines: inside a code fence or not, after an open bracket or not.

use tokenline_core::json::{Parser, Step};

/// A line of a text.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// Where it begins in the text.
    pub(crate) start: usize,
    /// Whether it is inside a code fence, or begins or ends one.
    pub(crate) in_fence: bool,
}

/// The lines, without their line endings.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut open: Option<&str> = None;
    let mut start = 0;
    let mut lines = Vec::new();
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        let marker = ["```", "~~~"].into_iter().find(|marker| line.trim_start().starts_with(marker));
        let in_fence = open.is_some() || marker.is_some();
        match (open, marker) {
            (None, Some(_)) => open = marker,
            (Some(opened), Some(marker)) if opened == marker => open = None,
            _ => {}
        }
        lines.push(Line { text: line, start, in_fence });
        start += whole.len();
    }
    assert!(open.is_none(), "a fence without an end: {text}");
    lines
}

/// The brackets at which a value may begin.
pub(crate) fn openers(text: &str) -> impl Iterator<Item = usize> {
    text.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'{' | b'[')).map(|(at, _)| at)
}

/// The end of the JSON value that begins here, if it is complete.
pub(crate) fn value_end(text: &str, at: usize) -> Option<usize> {
    match Parser::new().resume(&text[at..]) {
        Step::Complete { end } => Some(at + end),
        _ => None,
    }
}

/// Whether a bracket of the text is still open at its end, and the text after it fits the grammar, apart from
/// missing or repeated commas.
pub(crate) fn is_open_at_end(text: &str) -> bool {
    openers(text)
        .any(|at| matches!(Parser::new().resume(&text[at..]), Step::NeedMore) || ends_open(&text[at..]))
}

/// Whether this is a bracket followed only by scalars, commas and brackets.
fn ends_open(text: &str) -> bool {
    let inside = text[1..].trim();
    text.starts_with('[')
        && inside.split([',', ' ', '\n', '\r', '\t', '[']).all(|word| {
            word.is_empty() || matches!(word, "true" | "false" | "null") || word.parse::<f64>().is_ok()
        })
}

/// Whether the `{` at `at` begins an intended record: at the start of a line or after a list marker, a quoted
/// name, or a bare one and a colon; elsewhere a quoted name and a colon.
pub(crate) fn is_intended(text: &str, at: usize) -> bool {
    let before = text[..at].rsplit('\n').next().unwrap_or_default().trim();
    let is_mark = matches!(before, "" | "-" | "*" | "+" | "•")
        || before.strip_suffix(['.', ')']).is_some_and(|number| number.parse::<u32>().is_ok());
    let inside = text[at + 1..].trim_start();
    let quote = inside.chars().next().filter(|quote| matches!(quote, '"' | '\''));
    match quote {
        Some(quote) => {
            let has_colon =
                inside[1..].split_once(quote).is_some_and(|(_, after)| after.trim_start().starts_with(':'));
            is_mark || has_colon
        }
        None => {
            let name = inside.trim_start_matches(|char: char| char.is_alphanumeric() || "_-$".contains(char));
            is_mark && name.len() < inside.len() && name.trim_start().starts_with(':')
        }
    }
}
