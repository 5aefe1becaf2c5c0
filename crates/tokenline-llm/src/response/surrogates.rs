//! Joins characters that were cut in half.
//!
//! Servers that split text at UTF-16 units, as JavaScript programs do, send a character beyond the basic plane in two
//! events: `"\ud83d"` ends one text, and `"\ude00"` starts the next.

use tokenline_core::CallDelta;
use tokenline_core::adapter::PartialValue;
use tokenline_core::json::LoneSurrogates;

use crate::Delta;

/// Joins surrogate pairs that are split between two events.
#[derive(Debug, Default)]
pub(super) struct SurrogateJoiner {
    /// High surrogates that wait for their low surrogates.
    pending: Vec<(u16, Place)>,
}

/// A text that arrives in several deltas.
#[derive(Debug, PartialEq)]
struct Place {
    choice: u64,
    block: Option<u64>,
    /// The text to emit if the other half never arrives.
    bad: Delta<'static>,
}

/// Halves that wait at once. Limits a server that invents choices.
const MAX_PENDING: usize = 16;
const BAD: &str = "\u{fffd}";

impl SurrogateJoiner {
    /// Whether no half waits, so that deltas without halves need no joining.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Passes the delta on with its halves joined, and whether a U+FFFD in it may be a replacement. `lone` says whether
    /// its text begins or ends with a half.
    pub(super) fn join(
        &mut self,
        delta: Delta<'_>,
        lone: Option<LoneSurrogates>,
        lossy: bool,
        mut sink: impl FnMut(Delta<'_>, bool),
    ) {
        match delta {
            Delta::BlockStop { choice, block, .. } => {
                self.give_up(|place| place.choice == choice && place.block == Some(block), &mut sink);
            }
            Delta::Finish { choice, .. } => self.give_up(|place| place.choice == choice, &mut sink),
            // It has both halves.
            Delta::WholeText { choice, block, .. } => {
                self.pending.retain(|(_, place)| (place.choice, place.block) != (choice, Some(block)));
            }
            Delta::Restart | Delta::Terminator => self.give_up(|_| true, &mut sink),
            _ => {}
        }
        let mut lossy = lossy || lone.is_some();
        let mut joined = String::new();
        let mut delta = delta;
        if let Some((place, text)) = text_of(&mut delta).filter(|(_, text)| !text.is_empty()) {
            let LoneSurrogates { low, high } = lone.unwrap_or_default();
            let mut rest = *text;
            if let Some(at) = self.pending.iter().position(|(_, other)| *other == place) {
                let (first, _) = self.pending.swap_remove(at);
                let pair = low.and_then(|low| char::decode_utf16([first, low]).next()?.ok());
                match pair.zip(rest.strip_prefix(BAD)) {
                    Some((char, after)) => {
                        joined.push(char);
                        rest = after;
                    }
                    None => {
                        joined.push_str(BAD);
                        lossy = true;
                    }
                }
            }
            if let Some((high, before)) = high.zip(rest.strip_suffix(BAD))
                && self.pending.len() < MAX_PENDING
            {
                self.pending.push((high, place));
                rest = before;
            }
            joined.push_str(rest);
            *text = &joined;
        }
        sink(delta, lossy);
    }

    /// Emits the halves whose other halves can no longer arrive as U+FFFD.
    fn give_up(&mut self, has_ended: impl Fn(&Place) -> bool, sink: &mut impl FnMut(Delta<'_>, bool)) {
        self.pending
            .extract_if(.., |(_, place)| has_ended(place))
            .for_each(|(_, place)| sink(place.bad, true));
    }
}

/// The text of a delta that later deltas may continue, and its place.
fn text_of<'d, 'a>(delta: &'d mut Delta<'a>) -> Option<(Place, &'d mut &'a str)> {
    let call_of = |choice, index| {
        let call = CallDelta { index, arguments: BAD, ..CallDelta::default() };
        Place { choice, block: index, bad: Delta::ToolCall { choice, call } }
    };
    Some(match delta {
        &mut Delta::Text { choice, block, ref mut text } => {
            (Place { choice, block: Some(block), bad: Delta::Text { choice, block, text: BAD } }, text)
        }
        &mut Delta::Reasoning { choice, ref mut text } => {
            (Place { choice, block: None, bad: Delta::Reasoning { choice, text: BAD } }, text)
        }
        &mut Delta::Refusal { choice, ref mut text } => {
            (Place { choice, block: None, bad: Delta::Refusal { choice, text: BAD } }, text)
        }
        Delta::ToolCall { choice, call } => (call_of(*choice, call.index), &mut call.arguments),
        Delta::PartialArgument { choice, block, part } => match &mut part.value {
            PartialValue::Text(text) => (call_of(*choice, Some(*block)), text),
            PartialValue::Literal(_) => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: Option<LoneSurrogates> = Some(LoneSurrogates { low: None, high: Some(0xD83D) });
    const LOW: Option<LoneSurrogates> = Some(LoneSurrogates { low: Some(0xDE00), high: None });
    const BOTH: Option<LoneSurrogates> = Some(LoneSurrogates { low: Some(0xDE00), high: Some(0xD83D) });
    const INSIDE: Option<LoneSurrogates> = Some(LoneSurrogates { low: None, high: None });

    fn joined(texts: &[(&str, Option<LoneSurrogates>)]) -> Vec<(String, bool)> {
        let mut joiner = SurrogateJoiner::default();
        let mut out = Vec::new();
        let mut join = |delta: Delta<'_>, lone| {
            joiner.join(delta, lone, false, |delta, lossy| {
                if let Delta::Text { text, .. } = delta {
                    out.push((text.to_owned(), lossy && text.contains(BAD)));
                }
            });
        };
        for (text, lone) in texts {
            join(Delta::Text { choice: 0, block: 0, text }, *lone);
        }
        join(Delta::Terminator, None);
        out
    }

    #[test]
    fn split_surrogate_pairs_are_joined() {
        let good = |text: &str| (text.to_owned(), false);
        let bad = |text: &str| (text.to_owned(), true);
        let (first, second) = (("a\u{fffd}", HIGH), ("\u{fffd}b", LOW));
        assert_eq!(joined(&[first, ("", None), second]), [good("a"), good(""), good("😀b")]);
        let middle = ("\u{fffd}\u{fffd}", BOTH);
        assert_eq!(joined(&[first, middle, second]), [good("a"), good("😀"), good("😀b")]);
        assert_eq!(joined(&[first, ("b", None)]), [good("a"), bad("\u{fffd}b")]);
        assert_eq!(joined(&[first, first]), [good("a"), bad("\u{fffd}a"), bad("\u{fffd}")]);
        assert_eq!(joined(&[first]), [good("a"), bad("\u{fffd}")]);
        assert_eq!(joined(&[second]), [bad("\u{fffd}b")]);
        assert_eq!(joined(&[("a\u{fffd}b", INSIDE)]), [bad("a\u{fffd}b")]);
        assert_eq!(joined(&[("a\u{fffd}", None), second]), [good("a\u{fffd}"), bad("\u{fffd}b")]);
    }

    #[test]
    fn at_most_a_few_halves_wait() {
        let mut joiner = SurrogateJoiner::default();
        let mut passed_on = 0;
        for choice in 0..100 {
            let delta = Delta::Text { choice, block: 0, text: "a\u{fffd}" };
            joiner.join(delta, HIGH, false, |delta, lossy| {
                assert!(lossy);
                passed_on += usize::from(delta == Delta::Text { choice, block: 0, text: "a\u{fffd}" });
            });
        }
        assert_eq!((joiner.pending.len(), passed_on), (MAX_PENDING, 100 - MAX_PENDING));
    }
}
