//! Where the JSON of a response may begin: after a thought, prose, the line of an opening fence, a list marker. The core's
//! scanner reads all of these, as it does where a document begins.

use tokenline_core::adapter::THINK_TAGS;
use tokenline_core::json::Parser;
use tokenline_core::{Event, Options, RecordDecoder, Recovered, Recovery};

use crate::text::{head, trim_start};

/// How much prose may stand before the JSON.
const MAX_PROSE_BYTES: usize = 4096;
const MAX_PROSE_LINES: usize = 12;
/// The longest list marker with the space after it, in bytes.
const MAX_MARKER: usize = 8;
/// How much of a text is given to the scanner at a time.
const PIECE_BYTES: usize = 4096;

/// Reads the thoughts that a response begins with.
#[derive(Debug)]
pub(crate) struct Thoughts {
    decoder: RecordDecoder,
    /// The text so far.
    text: String,
    /// Where each thought ended.
    ends: Vec<usize>,
    /// The end of the white space after the last one.
    after_space: usize,
}

impl Thoughts {
    /// `is_open`: the prompt has opened one.
    pub(crate) fn new(is_open: bool) -> Self {
        let options = Options::lenient().text(true).in_reasoning(is_open);
        Self { decoder: RecordDecoder::new(options), text: String::new(), ends: Vec::new(), after_space: 0 }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text += text;
    }

    /// The position after the thoughts; `None` if more text is needed.
    pub(crate) fn end(&mut self) -> Option<usize> {
        loop {
            let read = self.decoder.position() as usize;
            let piece = head(&self.text[read..], PIECE_BYTES);
            let to = read + piece.len();
            let mut at = 0;
            loop {
                let decoded = self.decoder.decode_str(&piece[at..]);
                at += decoded.consumed;
                match decoded.event {
                    Some(Event::Reasoning(_)) => {}
                    // A blank line before a thought.
                    Some(Event::Text(span))
                        if trim_start(&self.text[span.start as usize..span.end as usize]).is_empty() => {}
                    Some(Event::Markup(span)) => {
                        let read = &self.text[..span.end as usize];
                        if THINK_TAGS.iter().any(|(_, closer)| read.ends_with(closer)) {
                            self.ends.push(read.len());
                            self.after_space = read.len();
                        }
                    }
                    Some(_) => return Some(self.last_end()),
                    None => break,
                }
            }
            let rest = trim_start(&self.text[self.after_space..to]);
            self.after_space = to - rest.len();
            let may_open = THINK_TAGS.iter().any(|(opener, _)| opener.starts_with(rest));
            if !may_open && !self.decoder.is_in_reasoning() {
                return Some(self.last_end());
            }
            if to == self.text.len() {
                return None;
            }
        }
    }

    fn last_end(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// All text that was pushed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The thoughts that a complete text may begin with; `None` if it cannot.
fn read_thoughts(text: &str) -> Option<Thoughts> {
    let start = trim_start(text.strip_prefix('\u{feff}').unwrap_or(text));
    let may_open = |opener: &str| start.starts_with(opener) || opener.starts_with(start);
    let is_one = !start.is_empty() && THINK_TAGS.iter().any(|(opener, _)| may_open(opener));
    is_one.then(|| {
        let mut thoughts = Thoughts::new(false);
        thoughts.push(text);
        thoughts.end();
        thoughts
    })
}

/// The position after each of the thoughts that a complete text begins with, the last one at its end if that, or its tag, is
/// still open.
pub(crate) fn thoughts(text: &str) -> Vec<usize> {
    let Some(mut thoughts) = read_thoughts(text) else { return Vec::new() };
    let is_tag_open = || {
        let rest = &text[thoughts.after_space..];
        // One byte may be a bracket.
        rest.len() > 1 && THINK_TAGS.iter().any(|(opener, _)| opener.starts_with(rest))
    };
    if thoughts.decoder.is_in_reasoning() || is_tag_open() {
        thoughts.ends.push(text.len());
    }
    thoughts.ends
}

/// The position after the last of them: 0 without one.
pub(crate) fn after_thoughts(text: &str) -> usize {
    thoughts(text).pop().unwrap_or_default()
}

/// Whether a tag that closes a thought is in this text.
pub(crate) fn has_closing_tag(text: &str) -> bool {
    THINK_TAGS.iter().any(|(_, closer)| text.contains(closer))
}

/// Where JSON may begin at the beginning of a text: there, after a byte order mark, and after an opening fence.
pub(crate) fn at_start(text: &str) -> Vec<usize> {
    let mut all = vec![0];
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    if rest.len() < text.len() {
        all.push(text.len() - rest.len());
    }
    let start = text.len() - trim_start(rest).len();
    all.extend(after_fence(&text[start..]).map(|len| start + len));
    all
}

/// The position after a list marker before an object or array.
pub(crate) fn after_list_marker(text: &str) -> Option<usize> {
    let len = head(text, MAX_MARKER).find(['{', '[']).filter(|len| *len > 0)?;
    recovered_after(&text[..len])?.contains(Recovery::ListMarker).then_some(len)
}

/// The positions after each leading line of prose, and after the thoughts and the fence that may follow it.
pub(crate) fn after_prose(text: &str) -> Vec<usize> {
    let (mut all, mut at, mut bytes) = (Vec::new(), 0, 0);
    for _ in 0..MAX_PROSE_LINES {
        let line =
            head(&text[at..], MAX_PROSE_BYTES - bytes).split_inclusive('\n').next().unwrap_or_default();
        if !is_prose(line) {
            break;
        }
        bytes += line.len();
        at += line.len();
        at += after_thoughts(&text[at..]);
        all.extend(after_fence(&text[at..]).map(|len| at + len));
        all.push(at);
    }
    all
}

/// Whether a whole line is no part of JSON or of a thought.
fn is_prose(line: &str) -> bool {
    let token = line.trim_matches(|char: char| char.is_whitespace() || matches!(char, ',' | ':'));
    let is_separator = token.is_empty() && line.contains(':');
    let is_data = is_separator
        || line.contains(['{', '}', '[', ']', '"'])
        || line.trim_end().ends_with(',')
        || Parser::new().parse(token).is_ok();
    let has_tag = || THINK_TAGS.iter().any(|tags| line.contains(tags.0) || line.contains(tags.1));
    line.ends_with('\n') && !is_data && !has_tag()
}

/// The text before a record, without the closed thoughts that it begins with, lines of prose, and the lines of fences.
pub(crate) fn without_prose(text: &str) -> String {
    let start = read_thoughts(text).map_or(0, |thoughts| thoughts.last_end());
    let is_fence = |line: &str| {
        let line = line.trim();
        ["```", "~~~"].iter().any(|fence| line.starts_with(fence) || line.ends_with(fence))
    };
    let is_left_out = |line: &str| line.ends_with('\n') && (is_fence(line) || is_prose(line));
    text[start..].split_inclusive('\n').filter(|line| !is_left_out(line)).collect()
}

/// The position after the line of an opening fence, and the thoughts after it.
fn after_fence(text: &str) -> Option<usize> {
    let line = head(text, MAX_PROSE_BYTES).split_inclusive('\n').next()?;
    let is_fence = line.ends_with('\n')
        && is_balanced(line)
        && recovered_after(line).is_some_and(|recovered| recovered.contains(Recovery::Fence));
    is_fence.then(|| line.len() + after_thoughts(&text[line.len()..]))
}

/// Whether brackets and quotes close again. In a line that begins as a fence, others show data of a string.
fn is_balanced(line: &str) -> bool {
    let count = |char| line.matches(char).count();
    count('{') == count('}') && count('[') == count(']') && count('"').is_multiple_of(2)
}

/// How the scanner recovers a record that follows this text; `None` if it does not find one there.
fn recovered_after(text: &str) -> Option<Recovered> {
    let mut decoder = RecordDecoder::new(Options::lenient());
    let probe = [text, "{}\n"].concat();
    let mut at = 0;
    loop {
        let decoded = decoder.decode_str(&probe[at..]);
        at += decoded.consumed;
        match decoded.event? {
            Event::Record(record) if record.span.start as usize == text.len() => {
                return Some(record.recovered);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_thoughts() {
        for thought in
            ["<think>x</think>\n", "<think>x</think>", "[THINK]xy[/THINK]\r\n\r\n", "\n◁think▷◁/think▷ "]
        {
            for count in [1, 255, 1000] {
                let text = thought.repeat(count) + "b\"}";
                let end = thought.trim_end().len() + (count - 1) * thought.len();
                assert_eq!(after_thoughts(&text), end, "{thought:?} {count}");
            }
        }
    }
}
