//! Where calls begin in a text: their openers, and lines that begin with one.

use memchr::{memchr_iter, memrchr};

use super::Calls;
use crate::call_format::scan::char_start;
use crate::call_format::{CallDetector, OpenerMatch};

/// The widest indentation of an opener that begins a line inside another call.
const MAX_INDENT: usize = 256;

/// The longest opener.
pub(super) const MAX_OPENER: usize = 256;

/// Where the next call begins a line.
pub(super) enum NextCall {
    None,
    /// Perhaps here: more of the text is needed.
    May {
        at: usize,
    },
    At {
        at: usize,
    },
}

/// Finds a line that begins with an opener with this first word, in a text that begins at `start`.
pub(super) fn next_call(
    detector: &CallDetector,
    word: &str,
    text: &str,
    start: u64,
    from: &mut u64,
) -> NextCall {
    if word.is_empty() {
        return NextCall::None;
    }
    let seen = usize::try_from(from.saturating_sub(start)).unwrap_or(usize::MAX).min(text.len());
    for line_feed in memchr_iter(b'\n', &text.as_bytes()[seen..]) {
        let at = seen + line_feed + 1;
        let blanks =
            text.as_bytes()[at..].iter().take(MAX_INDENT).take_while(|byte| matches!(byte, b' ' | b'\t'));
        let line = &text[at + blanks.count()..];
        let begins = if line.is_empty() { None } else { detector.openers().begins_with(line, word) };
        match begins {
            Some(true) => return NextCall::At { at },
            Some(false) => {}
            None => {
                // From this line on, it is searched again.
                *from = start + at as u64 - 1;
                return NextCall::May { at };
            }
        }
    }
    // The next line begins after what is here.
    *from = start + text.len() as u64;
    NextCall::None
}

/// The start of the line with the byte at fault, if it is not the first and begins with an opener: it does
/// not belong to the rejected call.
pub(super) fn call_line(calls: &Calls, text: &str, fault: usize) -> Option<usize> {
    // Openers with words were looked for before.
    if !calls.word.is_empty() {
        return None;
    }
    let at = memrchr(b'\n', text.as_bytes().get(..fault)?)? + 1;
    let line = text[at..].trim_start_matches([' ', '\t']);
    (!calls.detector.openers().formats_at(line, true).is_empty()).then_some(at)
}

/// Whether an opener is at the start of the text.
pub(super) fn find_here(calls: &Calls, text: &str, is_line_start: bool, is_end: bool) -> OpenerMatch {
    let len = char_start(text, MAX_OPENER);
    let is_end = is_end || len < text.len();
    calls.detector.openers().begins(&text[..len], is_line_start, is_end)
}
