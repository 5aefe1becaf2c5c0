//! The places in the text of a reject that break a rule.

use std::ops::Range;

use serde::Serialize;
use tokenline::adapter::char_start;
use tokenline::json::{Parser, Value};
use tokenline::{Diagnostic, Origin};

/// A place in the text of a reject. The offsets are UTF-16 code units, as JavaScript counts them.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    start: usize,
    end: usize,
    message: String,
}

/// The places of a reject's violations in its text, of which only the first `shown` bytes are shown. `is_call` says that the
/// text is a tool call as received.
pub(super) fn marks(text: &str, shown: usize, diagnostic: &Diagnostic, is_call: bool) -> Vec<Mark> {
    let mut parser = Parser::new();
    let mut marks: Vec<(Range<usize>, &str)> = match parser.parse(text) {
        // A call may be written in another syntax.
        Err(_) if is_call && !text.trim_start().starts_with('{') => Vec::new(),
        Err(error) => {
            let start = char_start(text, error.offset);
            let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
            vec![(start..end, &diagnostic.message)]
        }
        Ok(root) => {
            let all = [diagnostic].into_iter().chain(diagnostic.further());
            all.filter_map(|violation| Some((place(root, violation)?, &*violation.message))).collect()
        }
    };
    marks.retain(|(range, _)| range.start < shown);
    marks.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut at, mut units) = (0, 0);
    let mut unit_of = |offset: usize| {
        // In order: each part of the text is counted once.
        if offset < at {
            (at, units) = (0, 0);
        }
        units += text[at..offset].encode_utf16().count();
        at = offset;
        units
    };
    marks
        .into_iter()
        .map(|(range, message)| Mark {
            start: unit_of(range.start),
            end: unit_of(range.end.min(shown)),
            message: message.to_owned(),
        })
        .collect()
}

/// The place of a violation. Of an object or an array, whose fault is not in one value, it is the bracket that opens it.
fn place(root: Value<'_>, violation: &Diagnostic) -> Option<Range<usize>> {
    let path = violation.instance_path.as_deref()?;
    // The text of a native call is its arguments.
    let path = match violation.origin {
        Origin::Arguments => path.strip_prefix("/parameters").unwrap_or(path),
        _ => path,
    };
    let value = root.pointer(path)?;
    let range = value.range();
    let is_container = value.as_object().is_some() || value.as_array().is_some();
    Some(if is_container { range.start..range.start + 1 } else { range })
}

#[cfg(test)]
mod tests {
    use tokenline::{Code, Span};

    use super::*;

    fn violation(path: &str, message: &str) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(Code::SchemaViolation, 1, Span::default(), 1, message);
        diagnostic.instance_path = Some(path.to_owned());
        diagnostic
    }

    #[test]
    fn each_violation_has_its_place() {
        let text = r#"{"é😀":"x","b":[1,2],"c":7}"#;
        let all = violation("/c", "c").with_further(vec![
            violation("/é😀", "e"),
            violation("/gone", "g"),
            violation("", "root"),
        ]);
        let mark = |start, end, message: &str| Mark { start, end, message: message.to_owned() };
        assert_eq!(
            marks(text, text.len(), &all, false),
            [mark(0, 1, "root"), mark(7, 10, "e"), mark(25, 26, "c")]
        );
        // Only what is shown.
        assert_eq!(marks(text, 12, &all, false), [mark(0, 1, "root"), mark(7, 9, "e")]);
    }

    #[test]
    fn a_malformed_text_has_one_place() {
        let diagnostic = Diagnostic::new(Code::MalformedJson, 1, Span::default(), 1, "expected a value");
        let at = |text: &str| {
            marks(text, text.len(), &diagnostic, false).first().map(|mark| (mark.start, mark.end))
        };
        assert_eq!(at(r#"{"a":é}"#), Some((5, 6)));
        // The end of a truncated text has none.
        assert_eq!(at(r#"{"a":1"#), None);
        assert_eq!(at(""), None);
    }

    #[test]
    fn the_places_of_a_native_call_are_in_its_arguments() {
        let native = violation("/parameters/path", "m").with_origin(Origin::Arguments);
        assert_eq!(marks(r#"{"path":7}"#, 10, &native, true)[0].start, 8);
        assert_eq!(marks("ls(path=7)", 10, &violation("/path", "m"), true), []);
    }
}
