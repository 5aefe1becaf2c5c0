//! Splits the text beside records into text for people and markup.

use std::collections::VecDeque;

use super::line::LineKind;
use crate::Span;

/// A part of the input that is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Prose.
    Text(Span),
    /// The model's thinking before it answers.
    Reasoning(Span),
    /// Code fences, list markers, brackets and commas around records, tags around calls.
    Markup(Span),
}

/// Decides for each byte of the text, once and in order, whether it is text, reasoning, markup, or a part of a record or
/// a reject. White space, list markers and code fences wait for what follows: before a record they are markup.
#[derive(Debug, Default)]
pub(super) struct Segments {
    queue: VecDeque<Queued>,
    /// Offset up to which everything is classified.
    sorted_to: u64,
    fence: Fence,
    /// The end of the pending fence's line.
    fence_to: u64,
    /// A list marker, or a fence before a record on its line.
    marker: Span,
    /// The part of the next event's span that no segment has.
    own: Span,
    /// Offset from which text is still held: what was discarded before is markup.
    pub(super) kept_from: u64,
    /// Whether there is text on the line.
    has_text: bool,
    /// Whether there is a record or a reject on the line.
    has_other: bool,
}

/// A segment, or an event of the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queued {
    Segment(Segment),
    /// Text between records: brackets, commas and white space are markup, everything else is text.
    Between(Span),
    /// An event, with its part of the input.
    Event(Span),
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// How the markers of the open code fence are classified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fence {
    #[default]
    None,
    /// Depends on the content of the fence.
    Pending,
    Text,
    Markup,
}

impl Segments {
    pub(super) fn starting_at(offset: u64) -> Self {
        Self { sorted_to: offset, kept_from: offset, ..Self::default() }
    }

    /// The next segment, if it comes before the event that waits. `text` returns the text of a span, if it is held.
    pub(super) fn pop<'a>(&mut self, text: impl Fn(Span) -> Option<&'a str>) -> Option<Segment> {
        let next = match *self.queue.front()? {
            Queued::Event(_) => return None,
            Queued::Segment(segment) => segment,
            Queued::Between(span) => {
                let between = text(span).unwrap_or_default();
                let is_markup =
                    |char: char| char.is_whitespace() || matches!(char, '[' | ']' | ',' | BYTE_ORDER_MARK);
                let is_run = between.starts_with(is_markup);
                if let Some(at) = between.find(|char| is_markup(char) != is_run) {
                    let end = span.start + at as u64;
                    self.queue[0] = Queued::Between(Span::new(end, span.end));
                    return Some(Self::between(is_run, Span::new(span.start, end)));
                }
                // What is not held is markup.
                Self::between(is_run || between.is_empty(), span)
            }
        };
        self.queue.pop_front();
        Some(next)
    }

    fn between(is_markup: bool, span: Span) -> Segment {
        if is_markup { Segment::Markup(span) } else { Segment::Text(span) }
    }

    /// Queues an event of the scanner, after the segments so far.
    pub(super) fn push_event(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.queue.push_back(Queued::Event(own));
    }

    /// Removes the event that waited, once it is emitted.
    pub(super) fn pass_event(&mut self) {
        self.queue.pop_front();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Offset of the first byte that is not classified, or whose segment or event waits.
    pub(super) fn held_from(&self) -> u64 {
        let waiting = self.queue.iter().map(|queued| match queued {
            Queued::Segment(Segment::Text(span) | Segment::Reasoning(span) | Segment::Markup(span))
            | Queued::Between(span)
            | Queued::Event(span) => *span,
        });
        waiting.filter(|span| !span.is_empty()).map(|span| span.start).next().unwrap_or(self.sorted_to)
    }

    /// Classifies the rest up to `end` as text.
    pub(super) fn text(&mut self, end: u64) {
        self.has_text = true;
        if self.fence == Fence::Pending {
            self.fence = Fence::Text;
        }
        self.push(end.min(self.kept_from), Segment::Markup);
        self.push(end, Segment::Text);
    }

    /// Classifies the rest up to `end` as markup around records.
    pub(super) fn markup(&mut self, end: u64) {
        self.has_other = true;
        if self.fence == Fence::Pending {
            self.fence = Fence::Markup;
        }
        self.push(end, Segment::Markup);
    }

    /// Classifies the rest up to `end`, which is between records.
    pub(super) fn between_records(&mut self, end: u64) {
        self.has_other = true;
        if self.fence == Fence::Pending {
            self.fence = Fence::Markup;
            self.push(end.min(self.fence_to), Segment::Markup);
        }
        self.push_between(end);
    }

    fn push_between(&mut self, end: u64) {
        self.push(end.min(self.kept_from), Segment::Markup);
        let marker = self.marker;
        if marker.start < end && self.sorted_to < marker.end {
            self.queue_between(marker.start);
            self.push(end.min(marker.end), Segment::Markup);
        }
        self.queue_between(end);
    }

    fn queue_between(&mut self, end: u64) {
        if end <= self.sorted_to {
            return;
        }
        match self.queue.back_mut() {
            Some(Queued::Between(last)) if last.end == self.sorted_to => last.end = end,
            _ => self.queue.push_back(Queued::Between(Span::new(self.sorted_to, end))),
        }
        self.sorted_to = end;
    }

    /// Notes what is on the line before a value: before a record it is markup.
    pub(super) fn note_marker(&mut self, line_first: u64, end: u64) {
        self.marker = Span::new(line_first.max(self.sorted_to).min(end), end);
    }

    /// Classifies the rest up to `end` as reasoning.
    pub(super) fn reasoning(&mut self, end: u64) {
        self.has_other = true;
        self.push(end.min(self.kept_from), Segment::Markup);
        self.push(end, Segment::Reasoning);
    }

    /// Classifies a tag around reasoning, from `start` to `end`.
    pub(super) fn tag(&mut self, start: u64, end: u64) {
        if self.fence == Fence::Pending {
            self.text(self.fence_to);
        }
        self.has_other = true;
        self.push_between(start);
        self.push(end, Segment::Markup);
    }

    /// Passes a record or a reject, of which the event has what is not classified yet.
    pub(super) fn pass(&mut self, span: Span) {
        self.between_records(span.start);
        let end = span.end.max(self.sorted_to);
        self.own = Span::new(span.start.max(self.sorted_to), end);
        self.sorted_to = end;
    }

    /// Ends the lines of a reject, if the line that starts here is not one of them.
    pub(super) fn end_reject(&mut self, line_start: u64) {
        if self.sorted_to <= line_start {
            self.push_between(line_start);
            self.begin_line();
        }
    }

    /// Rejects the line that ends, including its newline.
    pub(super) fn discard_line(&mut self) {
        (self.has_text, self.has_other) = (false, true);
    }

    /// Ends a line that can no longer be rejected.
    pub(super) fn end_line(&mut self, kind: LineKind, next: u64) {
        match kind {
            LineKind::OpensFence { .. } if self.has_other => {
                self.markup(next);
                self.fence = Fence::Markup;
            }
            LineKind::OpensFence { start } => {
                self.text(start);
                (self.fence, self.fence_to) = (Fence::Pending, next);
            }
            LineKind::ClosesFence if self.fence == Fence::Markup => self.markup(next),
            LineKind::Blank if self.fence == Fence::Pending => {}
            _ if self.has_other && !self.has_text => self.between_records(next),
            _ => self.text(next),
        }
        if kind == LineKind::ClosesFence {
            self.fence = Fence::None;
        }
        self.marker = Span::default();
        self.begin_line();
    }

    /// Ends a line inside an array, which may still be rejected or prove to be text.
    pub(super) fn end_line_of_array(&mut self, next: u64) {
        if self.has_other {
            self.push_between(next);
        }
        self.begin_line();
    }

    pub(super) fn begin_line(&mut self) {
        (self.has_text, self.has_other) = (false, false);
    }

    fn push(&mut self, end: u64, segment: fn(Span) -> Segment) {
        if end <= self.sorted_to {
            return;
        }
        let new = segment(Span::new(self.sorted_to, end));
        self.sorted_to = end;
        if let (Some(Queued::Segment(last)), new) = (self.queue.back_mut(), new) {
            match (last, new) {
                (Segment::Text(last), Segment::Text(span))
                | (Segment::Reasoning(last), Segment::Reasoning(span))
                | (Segment::Markup(last), Segment::Markup(span))
                    if last.end == span.start =>
                {
                    last.end = span.end;
                    return;
                }
                _ => {}
            }
        }
        self.queue.push_back(Queued::Segment(new));
    }
}
