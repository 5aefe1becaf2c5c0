//! Characters that were cut in half.
//!
//! Whoever cuts a text by UTF-16 units, as programs in JavaScript do, sends a character beyond the
//! basic plane in two events: `"\ud83d"` ends one text, and `"\ude00"` begins the next. Neither is a
//! character, so neither is JSON that a text can be read from. Such an event is mended first: each half
//! becomes a character of its own, which is put together with its other half when that comes.

use tokenline_core::{CallDelta, PartialArgument, PartialValue};

use crate::Delta;

/// Stands for the half `\uD800`, and those after it for the others. Of a private use area.
const FIRST: u32 = 0x10_F000;
/// The halves that come first, and those that come second.
const HIGH: std::ops::Range<u32> = 0xD800..0xDC00;
const LOW: std::ops::Range<u32> = 0xDC00..0xE000;

/// Gives the JSON with a character for each half that stands alone; `None` if there is no such half,
/// or if what would stand for it is there already.
#[cold]
pub(super) fn mend(json: &str) -> Option<String> {
    if json.chars().any(|char| half_of(char).is_some()) {
        return None;
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    let mut has_mended = false;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let unit = unit(rest);
        let next = unit.filter(|unit| HIGH.contains(unit)).and_then(|_| self::unit(rest.get(6..)?));
        let len = match unit {
            // Written as two escapes, and so of its own.
            Some(unit) if HIGH.contains(&unit) && next.is_some_and(|next| LOW.contains(&next)) => {
                let code = 0x1_0000 + ((unit - HIGH.start) << 10) + (next? - LOW.start);
                if char::from_u32(code).is_some_and(|char| half_of(char).is_some()) {
                    return None;
                }
                12
            }
            Some(unit) if HIGH.contains(&unit) || LOW.contains(&unit) => {
                out.push(char::from_u32(FIRST + unit - HIGH.start)?);
                has_mended = true;
                rest = &rest[6..];
                continue;
            }
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    out.push_str(rest);
    has_mended.then_some(out)
}

/// The UTF-16 unit of the escape that a text begins with.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

/// The half that a character stands for.
fn half_of(char: char) -> Option<u32> {
    let half = u32::from(char).checked_sub(FIRST)? + HIGH.start;
    (half < LOW.end).then_some(half)
}

/// What a half is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Text(u64, u64),
    Reasoning(u64),
    Refusal(u64),
    Call(u64, Option<u64>),
    Argument(u64, u64),
}

impl Place {
    /// Whether it is in the choice, and there in the block, if one is asked for.
    fn is_in(self, choice: u64, block: Option<u64>) -> bool {
        let (its, its_block) = match self {
            Self::Text(choice, block) | Self::Argument(choice, block) => (choice, Some(block)),
            Self::Call(choice, index) => (choice, index),
            Self::Reasoning(choice) | Self::Refusal(choice) => (choice, None),
        };
        its == choice && (block.is_none() || its_block == block)
    }
}

/// Halves that wait for the other one.
#[derive(Debug, Default)]
pub(super) struct Halves {
    waiting: Vec<(Place, u32)>,
}

/// Halves that wait at once; more are a server's that makes up choices.
const MAX_WAITING: usize = 16;

impl Halves {
    /// Whether deltas may pass as they are.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Hands the delta on with its halves joined, and whether it may not be what was sent. A half that
    /// waits in vain comes as a bad character. `is_mended` tells that the delta may have halves.
    pub(super) fn join(
        &mut self,
        delta: Delta<'_>,
        is_mended: bool,
        lossy: bool,
        mut sink: impl FnMut(Delta<'_>, bool),
    ) {
        match delta {
            Delta::BlockStop { choice, block, .. } => {
                self.give_up(|place| place.is_in(choice, Some(block)), &mut sink);
            }
            Delta::Finish { choice, .. } => self.give_up(|place| place.is_in(choice, None), &mut sink),
            Delta::Restart | Delta::Terminator => self.give_up(|_| true, &mut sink),
            // Only a text goes on; a name, a path or a message with half a character is a bad one.
            Delta::ToolCall { choice, call } if is_mended && (has_half(call.id) || has_half(call.name)) => {
                let (id, name) = (call.id.map(without_halves), call.name.map(without_halves));
                let call = CallDelta { id: id.as_deref(), name: name.as_deref(), ..call };
                return self.join_text(Delta::ToolCall { choice, call }, is_mended, true, sink);
            }
            Delta::PartialArgument { choice, block, part } if is_mended && has_half(Some(part.path)) => {
                let path = without_halves(part.path);
                let part = PartialArgument { path: &path, ..part };
                return self.join_text(Delta::PartialArgument { choice, block, part }, is_mended, true, sink);
            }
            Delta::Error { message } if is_mended => {
                return sink(Delta::Error { message: without_halves(&message).into() }, lossy);
            }
            _ => {}
        }
        self.join_text(delta, is_mended, lossy, sink);
    }

    fn join_text(
        &mut self,
        delta: Delta<'_>,
        is_mended: bool,
        lossy: bool,
        mut sink: impl FnMut(Delta<'_>, bool),
    ) {
        let Some((place, text)) = text_of(&delta) else { return sink(delta, lossy) };
        let first = self.waiting.iter().position(|(other, _)| *other == place);
        if !is_mended && (first.is_none() || text.is_empty()) {
            return sink(delta, lossy);
        }
        let mut waiting = first.map(|at| self.waiting.swap_remove(at).1);
        let mut is_bad = false;
        let mut joined = String::with_capacity(text.len() + 4);
        let mut add_bad = |joined: &mut String| {
            joined.push(char::REPLACEMENT_CHARACTER);
            is_bad = true;
        };
        for char in text.chars() {
            let half = half_of(char).filter(|_| is_mended);
            let before = waiting.take();
            match (before, half) {
                (Some(high), Some(low)) if LOW.contains(&low) => {
                    let code = 0x1_0000 + ((high - HIGH.start) << 10) + (low - LOW.start);
                    joined.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (before, half) => {
                    if before.is_some() {
                        add_bad(&mut joined);
                    }
                    match half {
                        None => joined.push(char),
                        Some(high) if HIGH.contains(&high) => waiting = Some(high),
                        Some(_) => add_bad(&mut joined),
                    }
                }
            }
        }
        if let Some(high) = waiting {
            if self.waiting.len() == MAX_WAITING {
                add_bad(&mut joined);
            } else {
                self.waiting.push((place, high));
            }
        }
        sink(with_text(delta, &joined), lossy || is_bad);
    }

    /// What still waits there will not be whole.
    fn give_up(&mut self, is_there: impl Fn(Place) -> bool, sink: &mut impl FnMut(Delta<'_>, bool)) {
        const BAD: &str = "\u{fffd}";
        for (place, _) in self.waiting.extract_if(.., |(place, _)| is_there(*place)) {
            let delta = match place {
                Place::Text(choice, block) => Delta::Text { choice, block, text: BAD },
                Place::Reasoning(choice) => Delta::Reasoning { choice, text: BAD },
                Place::Refusal(choice) => Delta::Refusal { choice, text: BAD },
                Place::Call(choice, index) => Delta::ToolCall {
                    choice,
                    call: CallDelta { index, arguments: BAD, ..CallDelta::default() },
                },
                Place::Argument(choice, block) => {
                    let call = CallDelta { index: Some(block), arguments: BAD, ..CallDelta::default() };
                    Delta::ToolCall { choice, call }
                }
            };
            sink(delta, true);
        }
    }
}

fn has_half(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.chars().any(|char| half_of(char).is_some()))
}

fn without_halves(text: &str) -> String {
    let whole = |char| if half_of(char).is_some() { char::REPLACEMENT_CHARACTER } else { char };
    text.chars().map(whole).collect()
}

/// The text of a delta that goes on with another, and what it is a part of.
fn text_of<'a>(delta: &Delta<'a>) -> Option<(Place, &'a str)> {
    Some(match *delta {
        Delta::Text { choice, block, text } => (Place::Text(choice, block), text),
        Delta::Reasoning { choice, text } => (Place::Reasoning(choice), text),
        Delta::Refusal { choice, text } => (Place::Refusal(choice), text),
        Delta::ToolCall { choice, call } => (Place::Call(choice, call.index), call.arguments),
        Delta::PartialArgument { choice, block, part } => match part.value {
            PartialValue::Text(text) => (Place::Argument(choice, block), text),
            PartialValue::Literal(_) => return None,
        },
        _ => return None,
    })
}

/// The delta with another text.
fn with_text<'a>(delta: Delta<'a>, text: &'a str) -> Delta<'a> {
    match delta {
        Delta::Text { choice, block, .. } => Delta::Text { choice, block, text },
        Delta::Reasoning { choice, .. } => Delta::Reasoning { choice, text },
        Delta::Refusal { choice, .. } => Delta::Refusal { choice, text },
        Delta::ToolCall { choice, call } => {
            Delta::ToolCall { choice, call: CallDelta { arguments: text, ..call } }
        }
        Delta::PartialArgument { choice, block, part } => {
            let part = PartialArgument { value: PartialValue::Text(text), ..part };
            Delta::PartialArgument { choice, block, part }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_are_mended() {
        for json in
            [r#""a""#, r#""\ud83d\ude00 \\ud83d \u0041 é""#, "\"\\", "\"\\u12", "\"\u{10f000}\\ud83d\""]
        {
            assert_eq!(mend(json), None, "{json}");
        }
        let high = char::from_u32(FIRST + 0x3D).unwrap();
        let low = char::from_u32(FIRST + 0x600).unwrap();
        assert_eq!(mend(r#""x\ud83d""#).unwrap(), format!("\"x{high}\""));
        assert_eq!(mend(r#""\uDE00\ud83d\ude00\n""#).unwrap(), format!(r#""{low}\ud83d\ude00\n""#));
        assert_eq!(mend(r#""\ud83d\ud83d\u0041""#).unwrap(), format!(r#""{high}{high}\u0041""#));
    }

    fn joined(texts: &[(&str, bool)]) -> Vec<(String, bool)> {
        let mut halves = Halves::default();
        let mut out = Vec::new();
        let mut join = |delta: Delta<'_>, is_mended| {
            halves.join(delta, is_mended, false, |delta, lossy| {
                if let Delta::Text { text, .. } = delta {
                    out.push((text.to_owned(), lossy));
                }
            });
        };
        for (text, is_mended) in texts {
            join(Delta::Text { choice: 0, block: 0, text }, *is_mended);
        }
        join(Delta::Terminator, false);
        out
    }

    #[test]
    fn halves_find_each_other() {
        let (high, low) = ("\u{10f03d}", "\u{10f600}");
        let first = format!("a{high}");
        let second = format!("{low}b");
        let good = |text: &str| (text.to_owned(), false);
        let bad = |text: &str| (text.to_owned(), true);
        assert_eq!(
            joined(&[(&first, true), ("", false), (&second, true)]),
            [good("a"), good(""), good("😀b")]
        );
        assert_eq!(joined(&[(&first, true), ("b", false)]), [good("a"), bad("\u{fffd}b")]);
        assert_eq!(joined(&[(&first, true)]), [good("a"), bad("\u{fffd}")]);
        assert_eq!(joined(&[(&second, true)]), [bad("\u{fffd}b")]);
        assert_eq!(joined(&[(&first, false)]), [good(&first)]);
    }
}
