//! What of a text is part of no record, and of no call.

use std::mem;

use tokenline_core::Span;
use tokenline_core::json::Parser;

/// Sorts the records out of a text as it arrives, so that the rest of it can be shown.
///
/// Text is passed on as it comes, up to the first opener of a line; what follows on that line waits
/// for a record, or for the line's end. A line of nothing but records leaves nothing behind, nor does
/// a code fence around them. What was decided depends on whole lines alone, not on how they arrived.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Whether what looks like a call is kept back even if none could be read.
    hides_calls: bool,
    /// The part of the open line that waits.
    line: String,
    /// Where in the text that part begins.
    start: u64,
    /// Bytes of the open line that are missing.
    missing: u64,
    stage: Stage,
    /// A record was taken out of the open line.
    has_record: bool,
    /// A part of the open line was passed on.
    has_text: bool,
    fence: Fence,
    out: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing but white space, and commas after a record.
    #[default]
    Blank,
    /// Text, which is passed on.
    Passing,
    /// What comes waits: it may be a record, or a fence.
    Waiting,
    /// The line was too long to wait for its end; the rest is dropped.
    Dropping,
}

#[derive(Debug, Default)]
enum Fence {
    #[default]
    None,
    /// Opened by these lines; what follows decides what becomes of them.
    Opened(String),
    /// Around text.
    Kept,
    /// Around records.
    Dropped,
}

/// A line that waits for its end is cut short here. The decoder's limit rejects it too.
const MAX_WAIT: usize = 8 << 20;

impl Beside {
    pub(super) fn new(hides_calls: bool) -> Self {
        Self { hides_calls, ..Self::default() }
    }

    /// Starts with the next text.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.hides_calls);
    }

    /// Takes in more of the text.
    pub(super) fn push(&mut self, text: &str) {
        for part in text.split_inclusive('\n') {
            let mut rest = part;
            while !rest.is_empty() {
                let room = MAX_WAIT.saturating_sub(self.line.len());
                let (now, later) = rest.split_at(floor_char_boundary(rest, room));
                match self.stage {
                    _ if now.is_empty() => self.stop_waiting(),
                    Stage::Dropping => self.start += now.len() as u64,
                    _ => self.push_part(now),
                }
                rest = later;
            }
            if part.ends_with('\n') {
                self.end_line();
            }
        }
    }

    /// Goes past so many bytes that stand for a part of the text that was lost.
    pub(super) fn gap(&mut self, len: u64) {
        self.missing += len;
    }

    /// Takes out the record of the open line at this place, all of which was pushed.
    pub(super) fn record(&mut self, span: Span) {
        let (Some(start), Some(end)) = (self.index(span.start), self.index(span.end)) else { return };
        self.settle(start, true);
        self.line.drain(..end - start);
        self.start = span.end;
        self.take_out();
    }

    /// Takes out what was rejected from this place on, if it looks like a call.
    pub(super) fn rejected(&mut self, start: u64) -> Option<String> {
        let from = self.index(start)?;
        let at = from + find_call(&self.line[from..]).filter(|_| self.hides_calls)?;
        self.settle(at, true);
        self.start += self.line.len() as u64;
        self.take_out();
        Some(mem::take(&mut self.line))
    }

    /// Ends the text.
    pub(super) fn end(&mut self) {
        self.end_line();
        if let Fence::Opened(lines) = mem::take(&mut self.fence) {
            self.out.push_str(&lines);
        }
    }

    /// What is to be shown of what was pushed.
    pub(super) fn take(&mut self) -> Option<String> {
        (!self.out.is_empty()).then(|| mem::take(&mut self.out))
    }
}

impl Beside {
    fn push_part(&mut self, part: &str) {
        // Unless the line waits, this is white space.
        let before = self.line.len();
        self.line.push_str(part);
        if self.stage == Stage::Blank {
            match part.trim_start_matches(|char| self.is_separator(char)).chars().next() {
                None => return,
                Some('{' | '[') => self.stage = Stage::Waiting,
                Some('`' | '~') if !self.has_record => self.stage = Stage::Waiting,
                Some(_) => self.stage = Stage::Passing,
            }
        }
        if self.stage == Stage::Passing {
            let opener = part.find(['{', '[']);
            if opener.is_some() {
                self.stage = Stage::Waiting;
            }
            // White space before a record goes with it.
            match part[..opener.unwrap_or(part.len())].trim_end().len() {
                0 => {}
                len => self.pass(before + len),
            }
        }
    }

    /// Decides on a line of which too much waits.
    fn stop_waiting(&mut self) {
        let hides = self.hides_calls && find_call(&self.line).is_some();
        self.settle(self.line.len(), false);
        self.stage = if hides { Stage::Dropping } else { Stage::Passing };
    }

    /// White space; beside a record also the comma after it.
    fn is_separator(&self, char: char) -> bool {
        char.is_whitespace() || (char == ',' && self.has_record)
    }

    fn index(&self, offset: u64) -> Option<usize> {
        let index = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.line.is_char_boundary(index).then_some(index)
    }

    /// Passes on the open line's first bytes.
    fn pass(&mut self, len: usize) {
        if len == 0 {
            return;
        }
        if let Fence::Opened(lines) = &self.fence
            && !self.line[..len].trim().is_empty()
        {
            self.out.push_str(lines);
            self.fence = Fence::Kept;
        }
        self.has_text |= !self.line[..len].trim().is_empty();
        self.out.push_str(&self.line[..len]);
        self.drop_front(len);
    }

    fn drop_front(&mut self, len: usize) {
        self.line.drain(..len);
        self.start += len as u64;
    }

    /// Decides on the open line's first bytes, in which no record stands; one may follow them.
    fn settle(&mut self, len: usize, is_before_record: bool) {
        let part = &self.line[..len];
        let hidden = find_call(part).filter(|_| self.hides_calls);
        let mut shown = &part[..hidden.unwrap_or(len)];
        if shown.chars().all(|char| self.is_separator(char)) && !self.has_text {
            shown = "";
        } else if is_before_record || hidden.is_some() {
            shown = shown.trim_end();
        }
        let shown = shown.len();
        self.pass(shown);
        let rest = &self.line[..len - shown];
        let ends = hidden.is_some() && self.has_text && rest.ends_with('\n');
        self.drop_front(rest.len() - usize::from(ends));
        if hidden.is_some() {
            self.take_out();
        }
        if ends {
            self.pass(1);
        }
    }

    fn take_out(&mut self) {
        self.has_record = true;
        self.stage = Stage::Blank;
        if matches!(self.fence, Fence::Opened(_)) {
            self.fence = Fence::Dropped;
        }
    }

    fn end_line(&mut self) {
        let line = self.line.trim();
        let is_fence =
            !self.has_record && !self.has_text && (line.starts_with("```") || line.starts_with("~~~"));
        let is_blank = line.is_empty() && !self.has_record && !self.has_text;
        match &mut self.fence {
            Fence::Opened(lines) if is_blank => {
                lines.push_str(&self.line);
                self.drop_front(self.line.len());
            }
            Fence::Dropped if is_fence => {
                self.fence = Fence::None;
                self.drop_front(self.line.len());
            }
            Fence::Opened(_) | Fence::Kept if is_fence => {
                self.pass(self.line.len());
                self.fence = Fence::None;
            }
            Fence::None if is_fence => {
                self.start += self.line.len() as u64;
                self.fence = Fence::Opened(mem::take(&mut self.line));
            }
            _ if self.has_record && !self.has_text => self.settle(self.line.len(), false),
            _ => {
                let hidden = self.hides_calls && find_call(&self.line).is_some();
                match hidden {
                    true => self.settle(self.line.len(), false),
                    false => self.pass(self.line.len()),
                }
            }
        }
        self.start += mem::take(&mut self.missing);
        (self.stage, self.has_record, self.has_text) = (Stage::Blank, false, false);
    }
}

/// The name of what looks like a call, if that is its first member.
pub(super) fn name_in(call: &str) -> Option<String> {
    let rest = call.strip_prefix('{')?.trim_start().strip_prefix("\"name\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut is_escaped = false;
    let end = rest.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    let name = format!("\"{}\"", &rest[..end]);
    Some(Parser::new().parse(&name).ok()?.as_str()?.into_owned())
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Where in a text something begins that looks like a call: an object whose first member has one of
/// the names that a call's have, or that is cut off before that can be told.
fn find_call(text: &str) -> Option<usize> {
    const NAMES: [&str; 4] = ["\"name\"", "\"parameters\"", "\"call_id\"", "\"error\""];
    let is_call = |at: usize| {
        let first = text[at + 1..].trim_start();
        NAMES.iter().any(|name| match first.strip_prefix(name) {
            Some(rest) => rest.trim_start().starts_with(':') || rest.trim_start().is_empty(),
            None => first.len() > 1 && name.starts_with(first),
        })
    };
    text.match_indices('{').map(|(at, _)| at).find(|at| is_call(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `«` and `»` stand around records, `‹` and `›` around what the decoder rejects.
    fn shown(marked: &str) -> String {
        let text: String = marked.chars().filter(|char| !"«»‹›".contains(*char)).collect();
        let mut spans = Vec::new();
        let (mut at, mut start) = (0, 0);
        for char in marked.chars() {
            match char {
                '«' | '‹' => start = at,
                '»' | '›' => spans.push((Span::new(start, at), char == '»')),
                _ => at += char.len_utf8() as u64,
            }
        }
        let run = |cut: usize| {
            let mut beside = Beside::new(true);
            let mut out = String::new();
            let mut pushed = 0;
            let mut push_to = |beside: &mut Beside, end: usize| {
                while pushed < end {
                    let next = if pushed < cut { end.min(cut) } else { end };
                    beside.push(&text[pushed..next]);
                    pushed = next;
                }
                out.extend(beside.take());
            };
            for (span, is_record) in &spans {
                push_to(&mut beside, span.end as usize);
                match is_record {
                    true => beside.record(*span),
                    false => drop(beside.rejected(span.start)),
                }
            }
            push_to(&mut beside, text.len());
            beside.end();
            push_to(&mut beside, text.len());
            out
        };
        let whole = run(0);
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            assert_eq!(run(cut), whole, "cut at {cut}: {text}");
        }
        whole
    }

    #[test]
    fn text_beside_records() {
        for (marked, expected) in [
            ("", ""),
            ("Hello,\n  world \n\n!", "Hello,\n  world \n\n!"),
            ("«{}»", ""),
            ("Here:\n«{\"name\":\"f\"}»\n  «{}», \nDone {x}.\n", "Here:\nDone {x}.\n"),
            ("I call «{}» now.\n", "I call now.\n"),
            ("I call «{}»\n", "I call\n"),
            ("«{}» «{}»,«{}» and [1]\n", " and [1]\n"),
            ("Sure:\n```json\n\n«{}»\n«{}»\n```\nDone", "Sure:\nDone"),
            ("```rust\nfn main() {}\n```\n«{}»\n", "```rust\nfn main() {}\n```\n"),
            ("```\n```\n«{}»", "```\n```\n"),
            ("~~~\n", "~~~\n"),
            ("`a` is {\n", "`a` is {\n"),
        ] {
            assert_eq!(shown(marked), expected, "{marked}");
        }
    }

    #[test]
    fn what_looks_like_a_call_is_not_shown() {
        for (marked, expected) in [
            ("So ‹{\"name\":\"f\",\"parameters\":{\"a\":NaN}}›\nand\n", "So\nand\n"),
            ("‹{ \"name\": \"f\", \"para›", ""),
            ("‹{ \"na›", ""),
            ("```json\n‹{\"parameters\":{›", ""),
            ("‹{\"city\":›\n", "{\"city\":\n"),
            ("{\"name\":x} «{\"name\":\"f\"}»\n", ""),
            ("‹{\"names\":1,}›\n", "{\"names\":1,}\n"),
        ] {
            assert_eq!(shown(marked), expected, "{marked}");
        }
    }

    #[test]
    fn text_is_shown_as_it_comes() {
        let mut beside = Beside::new(true);
        for (text, expected) in [
            ("Hel", Some("Hel")),
            ("lo ", Some("lo")),
            ("you {", Some(" you")),
            ("x", None),
            ("}.", None),
            ("\n", Some(" {x}.\n")),
        ] {
            beside.push(text);
            assert_eq!(beside.take().as_deref(), expected);
        }
        beside.push("`code` is");
        assert_eq!(beside.take(), None);
    }
}
