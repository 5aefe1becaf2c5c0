//! The place of a fault in its text, underlined.

use console::{Style, Term, measure_text_width};

use crate::log::printable;

/// The line of a text that has a fault, and a caret below the fault. The lines are no wider than a terminal.
#[derive(Clone)]
pub(crate) struct Excerpt {
    before: String,
    after: String,
}

/// The most columns of an excerpt, on terminals that are wider.
const MAX_WIDTH: usize = 120;
const INDENT: &str = "    ";
/// In place of the text that is left out.
const ELLIPSIS: &str = "…";

impl Excerpt {
    /// An excerpt for this terminal. `at` is the offset of the fault in bytes.
    pub(crate) fn new(text: &[u8], at: usize, term: &Term) -> Self {
        Self::within(text, at, usize::from(term.size().1).min(MAX_WIDTH))
    }

    /// An excerpt with this number of columns.
    fn within(text: &[u8], at: usize, width: usize) -> Self {
        let (before, after) = text.split_at(at.min(text.len()));
        let before = String::from_utf8_lossy(before);
        let after = String::from_utf8_lossy(after);
        let before = before.rsplit('\n').next().unwrap_or_default();
        let after = after.split('\n').next().unwrap_or_default();
        // The last column stays free: some terminals wrap after it.
        let room = width.saturating_sub(INDENT.len() + 1);
        let before = last_columns(before, room / 2);
        let after = first_columns(after, room.saturating_sub(measure_text_width(&before)));
        Self { before, after }
    }

    /// Both lines, the caret in color.
    pub(crate) fn styled(&self, caret: &Style) -> String {
        let Self { before, after } = self;
        let space = " ".repeat(measure_text_width(before));
        format!("{INDENT}{before}{after}\n{INDENT}{space}{}", caret.apply_to("^"))
    }
}

/// The beginning of a text, of at most so many columns, with control characters escaped.
fn first_columns(text: &str, columns: usize) -> String {
    fitting(text.chars(), columns).concat()
}

/// The end of a text, likewise.
fn last_columns(text: &str, columns: usize) -> String {
    let mut pieces = fitting(text.chars().rev(), columns);
    pieces.reverse();
    pieces.concat()
}

/// The most characters shown for each column.
const MAX_PER_COLUMN: usize = 4;

/// The first characters, as shown, with an ellipsis after them if there are more.
fn fitting(characters: impl Iterator<Item = char>, columns: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut width = 0;
    // Some characters take no column.
    for character in characters.take(MAX_PER_COLUMN * (columns + 1)) {
        let piece = printable(character.encode_utf8(&mut [0; 4]), &[]);
        let columns_of_piece = measure_text_width(&piece);
        if width + columns_of_piece > columns {
            // Makes room for the ellipsis.
            while width + 1 > columns
                && let Some(last) = pieces.pop()
            {
                width -= measure_text_width(&last);
            }
            pieces.push(ELLIPSIS.to_owned());
            break;
        }
        width += columns_of_piece;
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: impl AsRef<[u8]>, at: usize, width: usize) -> [String; 2] {
        let styled = Excerpt::within(text.as_ref(), at, width).styled(&Style::new());
        let (line, caret) = styled.split_once('\n').expect("two lines");
        [line.to_owned(), caret.to_owned()]
    }

    #[test]
    fn the_fault_is_underlined() {
        assert_eq!(excerpt("{\"a\":NaN}", 5, 80), ["    {\"a\":NaN}", "         ^"]);
        // The line of the fault, and its end.
        assert_eq!(excerpt("{\n \"a\":\n}", 6, 80), ["     \"a\":", "        ^"]);
        assert_eq!(excerpt("{\"a", 3, 80), ["    {\"a", "       ^"]);
        assert_eq!(excerpt("", 9, 80), ["    ", "    ^"]);
    }

    #[test]
    fn control_characters_are_escaped_and_wide_ones_counted() {
        assert_eq!(excerpt("\u{1b}[2J\u{9b}\t\u{202e}x", 10, 80)[0], "    \\u001b[2J\\u009b\\t\\u202ex");
        assert_eq!(excerpt("日本x", 6, 80), ["    日本x", "        ^"]);
        assert_eq!(excerpt(b"\xffx", 1, 80), ["    \u{fffd}x", "     ^"]);
    }

    #[test]
    fn the_width_is_bounded() {
        let text = format!("{}X{}", "日\u{1b}a".repeat(500), "b\u{7}".repeat(500));
        let at = text.find('X').expect("there");
        for width in [0, 1, 7, 20, 40, 80, 120] {
            let [line, caret] = excerpt(&text, at, width);
            let most = width.max(INDENT.len() + 2);
            assert!(
                measure_text_width(&line) <= most && measure_text_width(&caret) <= most,
                "{width}: {line}"
            );
        }
        let [line, _] = excerpt("{\"a\":x".to_owned() + &"\u{301}".repeat(100_000), 5, 80);
        assert!(line.len() < 1000, "{}", line.len());
        let [line, caret] = excerpt("a".repeat(100) + "X" + &"b".repeat(100), 100, 25);
        assert_eq!([&*line, &*caret], ["    …aaaaaaaaaXbbbbbbbb…", "              ^"]);
    }
}
