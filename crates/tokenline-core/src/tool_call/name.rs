//! The names that tools may have.

/// The most characters of a tool's name in a text.
const MAX_NAME: usize = 128;

/// Whether a name in a text may be that of a tool, where none are defined: `[\p{L}_][\p{L}\p{M}\p{N}_.:/-]*`.
pub(super) fn is_tool_name(name: &str) -> bool {
    let is_letter = |char: char| char == '_' || Class::of(char) == Class::Letter;
    let is_part = |char: char| matches!(char, '_' | '.' | ':' | '/' | '-') || Class::of(char) != Class::Other;
    name.chars().next().is_some_and(is_letter)
        && name.chars().nth(MAX_NAME).is_none()
        && name.chars().all(is_part)
}

/// The Unicode general categories of a character, as far as names need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Other,
    /// L.
    Letter,
    /// M or N.
    MarkOrNumber,
}

/// The classes of all characters in runs. A run is a byte, its class in the highest two bits, its length in the others; if
/// that is [`LONG`], the rest of the length follows as a number of two bytes, the lower first. A test writes it.
static RUNS: &[u8] = include_bytes!("name.runs");

/// A length of which more follows.
const LONG: u8 = 0x3f;

/// For each so many characters of the first plane, the run that the first of them is in, or that begins there: where it
/// begins in [`RUNS`], and its first character.
static INDEX: [(u16, u16); 0x10000 / STRIDE] = {
    let mut index = [(0, 0); 0x10000 / STRIDE];
    let (mut at, mut start, mut next) = (0, 0, 0);
    while let Some((_, len, after)) = run(at) {
        while next < index.len() && next * STRIDE < start + len {
            index[next] = (at as u16, start as u16);
            next += 1;
        }
        (at, start) = (after, start + len);
    }
    index
};

/// How many characters share an entry of the index.
const STRIDE: usize = 1024;

/// The run at this place: its class, its length, and where the next one is.
const fn run(at: usize) -> Option<(Class, usize, usize)> {
    if at >= RUNS.len() {
        return None;
    }
    let class = match RUNS[at] >> 6 {
        0 => Class::Other,
        1 => Class::Letter,
        _ => Class::MarkOrNumber,
    };
    let len = RUNS[at] & LONG;
    if len < LONG {
        return Some((class, len as usize, at + 1));
    }
    let more = u16::from_le_bytes([RUNS[at + 1], RUNS[at + 2]]);
    Some((class, len as usize + more as usize, at + 3))
}

impl Class {
    fn of(char: char) -> Self {
        match char {
            'a'..='z' | 'A'..='Z' => return Self::Letter,
            '0'..='9' => return Self::MarkOrNumber,
            '\0'..='\x7f' => return Self::Other,
            _ => {}
        }
        let code = char as usize;
        let (at, start) = INDEX[(code / STRIDE).min(INDEX.len() - 1)];
        let (mut at, mut start) = (usize::from(at), usize::from(start));
        while let Some((class, len, after)) = run(at) {
            start += len;
            if code < start {
                return class;
            }
            at = after;
        }
        Self::Other
    }
}

#[cfg(test)]
mod tests {
    use unicode_general_category::{GeneralCategory, get_general_category};

    use super::*;

    fn class(char: char) -> Class {
        use GeneralCategory as Category;
        match get_general_category(char) {
            Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter => Class::Letter,
            Category::NonspacingMark
            | Category::SpacingMark
            | Category::EnclosingMark
            | Category::DecimalNumber
            | Category::LetterNumber
            | Category::OtherNumber => Class::MarkOrNumber,
            _ => Class::Other,
        }
    }

    /// With `UPDATE_FIXTURES=1`, it writes the table.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test may write a file")]
    fn classes_are_those_of_unicode() {
        let mut runs: Vec<(Class, u32)> = Vec::new();
        for code in 0..=u32::from(char::MAX) {
            let class = char::from_u32(code).map_or(Class::Other, class);
            match runs.last_mut() {
                Some((last, len)) if *last == class => *len += 1,
                _ => runs.push((class, 1)),
            }
        }
        assert_eq!(runs.pop().map(|(last, _)| last), Some(Class::Other));
        let (mut bytes, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
        for (class, len) in runs {
            end += len;
            ends.extend([end - 1, end]);
            let mut len = len;
            loop {
                let now = len.min(u32::from(LONG) + u32::from(u16::MAX));
                let head = (class as u8) << 6;
                match u16::try_from(now.saturating_sub(u32::from(LONG))) {
                    Ok(more) if now >= u32::from(LONG) => {
                        bytes.push(head | LONG);
                        bytes.extend(more.to_le_bytes());
                    }
                    _ => bytes.push(head | now as u8),
                }
                len -= now;
                if len == 0 {
                    break;
                }
            }
        }
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tool_call/name.runs"), &bytes).unwrap();
        }
        assert!(RUNS == bytes, "the table is that of another version of Unicode");
        let chars = ['\0', char::MAX].into_iter().chain(ends.into_iter().filter_map(char::from_u32));
        for char in chars {
            assert_eq!(Class::of(char), class(char), "{char:?}");
        }
    }
}
