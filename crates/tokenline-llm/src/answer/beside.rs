//! What of a text is part of no record, and of no call.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

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
    /// The number of the open line, counted from 0, and where it begins.
    number: u64,
    line_start: u64,
    /// Where the line begins in which the waiting part does, if that is an earlier one.
    first_line_start: u64,
    /// What looked like a call and is none, with its place; no finding is about it yet.
    hidden: VecDeque<Hidden>,
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

/// What looks like a call, and could not be read.
#[derive(Debug)]
pub(super) struct Hidden {
    /// The line, counted from 1.
    pub(super) line: u64,
    /// The place on it, counted from 1.
    pub(super) column: u64,
    pub(super) span: Span,
    pub(super) text: String,
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

    /// Takes in something that may be taken out as a whole, on however many lines it stands.
    pub(super) fn push_whole(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.line.contains('\n') {
            self.first_line_start = self.line_start;
        }
        self.line.push_str(text);
        self.stage = Stage::Waiting;
        self.pass_lines(text, self.start + self.line.len() as u64);
    }

    /// Goes past what is no text.
    pub(super) fn skip(&mut self, text: &str) {
        self.settle(self.line.len(), true);
        self.start += text.len() as u64;
        self.pass_lines(text, self.start);
        self.take_out();
    }

    /// Goes on to the line in which the text ends, at the offset `end`.
    fn pass_lines(&mut self, text: &str, end: u64) {
        if let Some(last) = text.rfind('\n') {
            self.number += text.matches('\n').count() as u64;
            self.line_start = end - (text.len() - last - 1) as u64;
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
        self.drop_front(end - start);
        self.take_out();
    }

    /// Takes out what was rejected of the open line, all of which was pushed, if it looks like a call.
    pub(super) fn rejected(&mut self) -> Option<String> {
        if self.hidden.is_empty() && self.hides_calls {
            let call = find_call(&self.line)?;
            self.settle(call.end, false);
        }
        self.hidden.pop_front().map(|hidden| hidden.text)
    }

    /// Takes out what was rejected of the open line at this place, because it was repaired.
    pub(super) fn repaired(&mut self, span: Span) {
        let is_it = |hidden: &Hidden| hidden.span.start < span.end && span.start < hidden.span.end;
        match self.hidden.iter().position(is_it) {
            // There was a record after it, so it is out of the line already.
            Some(at) => {
                self.hidden.remove(at);
            }
            None => self.record(span),
        }
    }

    /// What of the lines that have ended looked like a call, could not be read, and is in no finding.
    pub(super) fn take_hidden(&mut self) -> Option<Hidden> {
        self.hidden.front().filter(|hidden| hidden.line <= self.number)?;
        self.hidden.pop_front()
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

    /// Shows nothing of it.
    pub(super) fn discard(&mut self) {
        self.out.clear();
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
        let hides = self.hides_calls && find_call(&self.line).is_some_and(|call| call.end == self.line.len());
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
        let line = mem::take(&mut self.line);
        self.show(&line[..len]);
        self.line = line;
        self.drop_front(len);
    }

    fn show(&mut self, text: &str) {
        let is_blank = text.trim().is_empty();
        if let Fence::Opened(lines) = &self.fence
            && !is_blank
        {
            self.out.push_str(lines);
            self.fence = Fence::Kept;
        }
        self.has_text |= !is_blank;
        self.out.push_str(text);
    }

    fn drop_front(&mut self, len: usize) {
        if let Some(line_feed) = self.line[..len].rfind('\n') {
            self.first_line_start = self.start + line_feed as u64 + 1;
        }
        self.line.drain(..len);
        self.start += len as u64;
    }

    /// Decides on the open line's first bytes, in which no record stands; one may follow them.
    fn settle(&mut self, len: usize, is_before_record: bool) {
        let line = mem::take(&mut self.line);
        let part = &line[..len];
        let mut from = 0;
        // Lines before the open one: the waiting part begins on the first of them.
        let before = usize::try_from(self.line_start.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let before = &line.as_bytes()[..before.min(line.len())];
        let mut line_feeds = memchr::memchr_iter(b'\n', before).peekable();
        let mut number = self.number.saturating_sub(memchr::memchr_iter(b'\n', before).count() as u64);
        let mut line_start =
            if line_feeds.peek().is_some() { self.first_line_start } else { self.line_start };
        loop {
            let call = find_call(&part[from..]).filter(|_| self.hides_calls);
            let call = call.map(|call| from + call.start..from + call.end);
            let shown = &part[from..call.as_ref().map_or(len, |call| call.start)];
            if !shown.chars().all(|char| self.is_separator(char)) || self.has_text {
                // White space before a record goes with it.
                let is_before = is_before_record || call.is_some();
                self.show(if is_before { shown.trim_end() } else { shown });
            }
            let Some(call) = call else { break };
            let span = Span::new(self.start + call.start as u64, self.start + call.end as u64);
            while let Some(line_feed) = line_feeds.next_if(|line_feed| *line_feed < call.start) {
                (number, line_start) = (number + 1, self.start + line_feed as u64 + 1);
            }
            let (line, column) = (number + 1, span.start.saturating_sub(line_start) + 1);
            self.hidden.push_back(Hidden { line, column, span, text: part[call.clone()].to_owned() });
            self.take_out();
            from = call.end;
        }
        self.line = line;
        self.drop_front(len);
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
        let is_alone = !self.has_record && !self.has_text;
        let is_blank = line.is_empty() && is_alone;
        let opens = is_alone && (line.starts_with("```") || line.starts_with("~~~"));
        // A fence is closed by its marks alone.
        let closes = opens && line.chars().all(|char| matches!(char, '`' | '~'));
        match &mut self.fence {
            Fence::Opened(lines) if is_blank => {
                lines.push_str(&self.line);
                self.drop_front(self.line.len());
            }
            Fence::Dropped if closes => {
                self.fence = Fence::None;
                self.drop_front(self.line.len());
            }
            Fence::Opened(_) | Fence::Kept if closes => {
                self.pass(self.line.len());
                self.fence = Fence::None;
            }
            Fence::None if opens => {
                self.start += self.line.len() as u64;
                self.fence = Fence::Opened(mem::take(&mut self.line));
            }
            _ => {
                let is_hiding = self.hides_calls && find_call(&self.line).is_some();
                match is_hiding || (self.has_record && !self.has_text) {
                    true => self.settle(self.line.len(), false),
                    false => self.pass(self.line.len()),
                }
            }
        }
        self.start += mem::take(&mut self.missing);
        (self.number, self.line_start) = (self.number + 1, self.start);
        (self.stage, self.has_record, self.has_text) = (Stage::Blank, false, false);
    }
}

/// The name of what looks like a call.
pub(super) fn name_in(call: &str) -> Option<String> {
    let value = root_member(call, &["name"]).found?;
    let text = &call[value..];
    let end = string_end(text)?;
    Some(Parser::new().parse(&text[..end]).ok()?.as_str()?.into_owned())
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Where in a text something is that looks like a call: an object with a member of its own that has one
/// of the names that a call's have, or that is cut off before that can be told. It ends where its
/// brackets balance, or with the text.
fn find_call(text: &str) -> Option<Range<usize>> {
    // Stops a text of nothing but openers.
    let mut budget = 4 * text.len() + 1024;
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let object = root_member(&text[at..], &["name", "parameters"]);
        if object.found.is_some() || object.is_cut_in_name {
            return Some(at..at + object.end);
        }
        budget = budget.checked_sub(object.end)?;
        // What is inside an object that is none may be one.
        from = if object.is_balanced { at + object.end } else { at + 1 };
    }
    None
}

/// What is known of an object that need not be JSON.
struct Object {
    /// Where the value is of the member that was asked for.
    found: Option<usize>,
    end: usize,
    is_balanced: bool,
    /// The text ends in the first name, which may become one of those that were asked for.
    is_cut_in_name: bool,
}

/// Looks for a member of the object that a text begins with, of one of these names.
fn root_member(text: &str, names: &[&str]) -> Object {
    let bytes = text.as_bytes();
    let mut object = Object { found: None, end: text.len(), is_balanced: false, is_cut_in_name: false };
    let (mut depth, mut at, mut is_name_next) = (0_u32, 0, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let Some(len) = string_end(&text[at..]) else {
                    let open = &text[at + 1..];
                    object.is_cut_in_name =
                        is_name_next && !open.is_empty() && names.iter().any(|name| name.starts_with(open));
                    return object;
                };
                let name = &text[at + 1..at + len - 1];
                at += len;
                let after = at + (text.len() - at - text[at..].trim_start().len());
                if depth == 1 && is_name_next && object.found.is_none() && names.contains(&name) {
                    match bytes.get(after) {
                        Some(b':') => {
                            let value = &text[after + 1..];
                            object.found = Some(after + 1 + (value.len() - value.trim_start().len()));
                        }
                        None => object.is_cut_in_name = true,
                        Some(_) => {}
                    }
                }
                is_name_next = false;
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                is_name_next = depth == 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    object.end = at + 1;
                    object.is_balanced = true;
                    return object;
                }
            }
            b',' => is_name_next = depth == 1,
            _ if byte.is_ascii_whitespace() => {}
            _ => is_name_next = false,
        }
        at += 1;
    }
    object
}

/// Where the string ends that a text begins with, its quote included.
fn string_end(text: &str) -> Option<usize> {
    let mut is_escaped = true;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'"' => return Some(at + 1),
            b'\\' => is_escaped = true,
            _ => {}
        }
    }
    None
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
                    false => drop(beside.rejected()),
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
            ("{\"name\":\"f\",x} and {\"name\":\"g\",y} then\n", " and then\n"),
            ("{\"id\":1,\"name\":\"f\",\"parameters\":{\"a\":NaN}} so\n", " so\n"),
            ("{ {\"name\":\"f\",x}\n", "{\n"),
            ("{\"a\":{\"name\":x}}\n", "{\"a\":{\"name\":x}}\n"),
            ("```json\n«{}»\n```Now the rest.\n", "```Now the rest.\n"),
            ("‹{\"names\":1,}›\n", "{\"names\":1,}\n"),
        ] {
            assert_eq!(shown(marked), expected, "{marked}");
        }
    }

    #[test]
    fn a_line_of_many_calls_takes_linear_time() {
        let mut beside = Beside::new(true);
        beside.push(&"{\"name\":x}".repeat(200_000));
        beside.push("\n");
        assert_eq!(std::iter::from_fn(|| beside.take_hidden()).count(), 200_000);
        assert_eq!(beside.take(), None);
        // Nor does one of nothing but openers.
        beside.push(&"{".repeat(2_000_000));
        beside.end();
        assert_eq!(beside.take().map(|text| text.len()), Some(2_000_000));
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
