//! The end of a line, and what is reported with it.

use super::{Outcome, Scanner, Step};
use crate::records::cursor::Cursor;
use crate::records::line::{FenceKind, LineKind};
use crate::{Diagnostic, Span};

impl Scanner {
    /// The content of the code fence around the text.
    pub(super) fn fence_kind(&self) -> Option<FenceKind> {
        if self.line.opens_fence() {
            return Some(self.line.lead.fence_kind());
        }
        self.fence
    }

    /// Moves to the next line. The next byte is a newline.
    pub(super) fn line_end(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let content_end = self.check_length(cursor);
        cursor.at += 1;
        if self.state.is_discard() {
            self.array_may_have_ended();
            if let Some(calls) = &mut self.calls {
                calls.discard_line();
            }
            if let Some(segments) = &mut self.segments {
                segments.discard_line();
            }
        }
        self.state.enter_line_start();
        self.end_line_at(content_end, cursor.offset())
    }

    /// Moves to the line that starts at `next`.
    pub(super) fn end_line_at(&mut self, content_end: u64, next: u64) -> Step {
        self.counted_from = next;
        let line = self.line.go_on(next);
        self.has_content |= line.first.is_some();
        if line.has_fence {
            if line.closes_fence() {
                self.fence = None;
            } else if !line.may_close_fence
                && let Some(fence) = &mut self.fence
            {
                *fence = line.lead.fence_kind();
                if let Some(calls) = &mut self.calls {
                    calls.fence = line.lead;
                }
            } else if let Some(calls) = self.calls.as_mut().filter(|calls| calls.fence.is_empty()) {
                // A block in a block without a language.
                calls.fence = line.lead;
            }
        } else if self.calls.is_some() {
            self.end_line_of_code(line.start, next, line.first.is_none());
        }
        let in_region = line.in_rejected_region;
        let kind = self.segments.as_ref().map(|_| line.kind());
        let diagnostic = line.diagnostic(content_end);
        let diagnostic = self.end_line_of_region(in_region, content_end, diagnostic);
        let Some(kind) = kind else { return diagnostic.map(|diagnostic| self.report(diagnostic)) };
        // A note covers the whole line including its newline; a reject is before that.
        let is_reject = diagnostic.as_ref().is_some_and(|diagnostic| !diagnostic.code.is_note());
        if !is_reject {
            self.end_segments(kind, next);
        }
        let outcome = diagnostic.map(|diagnostic| self.report(diagnostic));
        if is_reject {
            self.end_segments(kind, next);
        }
        outcome
    }

    /// Ends a line, and classifies the rest of it, unless it may still be rejected.
    pub(super) fn end_segments(&mut self, kind: LineKind, next: u64) {
        if let Some(segments) = &mut self.segments {
            // What is held may be read again.
            let is_held = self.array.as_ref().is_some_and(|array| array.held_from().is_some());
            if is_held || self.region.as_ref().is_some_and(|region| !region.is_text()) {
                segments.begin_line();
            } else if self.region.is_some() && kind != LineKind::Dropped {
                segments.text(next);
                segments.begin_line();
            } else if self.array.is_some() {
                segments.end_line_of_array(next);
            } else {
                segments.end_line(kind, next);
            }
        }
    }

    /// Turns a diagnostic into an outcome, and queues it among the segments.
    pub(super) fn report(&mut self, mut diagnostic: Diagnostic) -> Outcome {
        if !diagnostic.code.is_note() {
            // What was delivered or rejected before is not rejected again, such as elements of an array left open.
            let Span { start, end } = diagnostic.span;
            diagnostic.span.start = start.max(self.reported_to.min(end));
            self.reported_to = self.reported_to.max(end);
            if let Some(array) = &mut self.array {
                array.pass_reject();
            }
            self.push_event(diagnostic.span);
        } else if let Some(segments) = &mut self.segments {
            segments.push_event();
        }
        Outcome::Diagnostic(Box::new(diagnostic))
    }

    /// Queues a record or a reject among the segments, and classifies what is before it.
    pub(super) fn push_event(&mut self, span: Span) {
        let is_in_root = self.array.is_some() && self.options.looks_for_items();
        let Some(segments) = &mut self.segments else { return };
        if let Some(start) = self.state.call_start() {
            segments.between_records(start);
            segments.markup(span.start);
        } else if is_in_root {
            // The members around the array of items.
            segments.markup(span.start);
        }
        segments.pass(span);
        segments.push_event();
    }
}
