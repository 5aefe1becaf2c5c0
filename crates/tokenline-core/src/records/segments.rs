//! Splits the text beside records into text for people and markup.

use std::collections::VecDeque;

use super::line::LineKind;
use crate::Span;

/// A part of the input that is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Prose.
    Text(Span),
    /// What the model thinks before it answers.
    Reasoning(Span),
    /// Code fences, list markers, brackets and commas around records, tags around calls.
    Markup(Span),
}

/// Classifies the text beside records, in order. White space, list markers and code fences wait for what
/// follows: before a record they are markup.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// `None` stands for an event of the scanner.
    queue: VecDeque<Option<Segment>>,
    /// Offset up to which everything is classified.
    sorted_to: u64,
    fence: Fence,
    /// Offset from which text is still held: what was discarded before is markup.
    pub(super) kept_from: u64,
    /// Whether there is text on the line.
    has_text: bool,
    /// Whether there is a record or a reject on the line.
    has_other: bool,
}

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

    /// The next segment, if it comes before the event that waits.
    pub(super) fn pop(&mut self) -> Option<Segment> {
        self.queue.front()?.as_ref()?;
        self.queue.pop_front().flatten()
    }

    /// Queues an event of the scanner, after the segments so far.
    pub(super) fn push_event(&mut self) {
        self.queue.push_back(None);
    }

    /// Removes the event that waited, once it is emitted.
    pub(super) fn pass_event(&mut self) {
        self.queue.pop_front();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Offset of the first byte that is not classified, or whose segment waits.
    pub(super) fn held_from(&self) -> u64 {
        match self.queue.iter().flatten().next() {
            Some(Segment::Text(span) | Segment::Reasoning(span) | Segment::Markup(span)) => span.start,
            None => self.sorted_to,
        }
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

    /// Classifies the rest up to `end` as reasoning.
    pub(super) fn reasoning(&mut self, end: u64) {
        self.has_other = true;
        self.push(end.min(self.kept_from), Segment::Markup);
        self.push(end, Segment::Reasoning);
    }

    /// Classifies a tag around reasoning, which ends here.
    pub(super) fn tag(&mut self, end: u64) {
        self.has_other = true;
        self.push(end, Segment::Markup);
    }

    /// Passes a record or a reject: the unclassified text before it is markup.
    pub(super) fn pass(&mut self, span: Span) {
        self.markup(span.start);
        self.sorted_to = self.sorted_to.max(span.end);
    }

    /// Ends a rejected region, and its lines, before the line that starts here.
    pub(super) fn end_region(&mut self, line_start: u64) {
        self.push(line_start, Segment::Markup);
    }

    /// Rejects the line that ends, including its newline.
    pub(super) fn discard_line(&mut self) {
        (self.has_text, self.has_other) = (false, true);
    }

    /// Ends a line that can no longer be rejected.
    pub(super) fn end_line(&mut self, kind: LineKind, next: u64) {
        match kind {
            LineKind::OpensFence if self.has_other => {
                self.markup(next);
                self.fence = Fence::Markup;
            }
            LineKind::OpensFence => self.fence = Fence::Pending,
            LineKind::ClosesFence if self.fence == Fence::Markup => self.markup(next),
            LineKind::Blank if self.fence == Fence::Pending => {}
            _ if self.has_other && !self.has_text => self.markup(next),
            _ => self.text(next),
        }
        if kind == LineKind::ClosesFence {
            self.fence = Fence::None;
        }
        self.begin_line();
    }

    /// Ends a line inside an array, which may still be rejected or prove to be text.
    pub(super) fn end_line_of_array(&mut self, next: u64) {
        if self.has_other {
            self.push(next, Segment::Markup);
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
        match (self.queue.back_mut(), new) {
            (Some(Some(Segment::Text(last))), Segment::Text(span))
            | (Some(Some(Segment::Reasoning(last))), Segment::Reasoning(span))
            | (Some(Some(Segment::Markup(last))), Segment::Markup(span))
                if last.end == span.start =>
            {
                last.end = span.end;
            }
            _ => self.queue.push_back(Some(new)),
        }
    }
}
