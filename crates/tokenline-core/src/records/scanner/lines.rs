//! The end of a line, and what is reported with it.

use super::{Outcome, Scanner, State, Step};
use crate::records::cursor::Cursor;
use crate::records::line::{FenceKind, LineKind};
use crate::{Code, Diagnostic};

impl Scanner {
    /// The content of the code fence around the text.
    pub(super) fn fence_kind(&self) -> Option<FenceKind> {
        if self.line.has_fence && !self.line.may_close_fence {
            return Some(self.line.lead.fence_kind());
        }
        self.fence
    }

    /// Moves to the next line. The next byte is a newline.
    pub(super) fn line_end(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let content_end = self.check_length(cursor);
        cursor.at += 1;
        if let Some(segments) = self.segments.as_mut().filter(|_| matches!(self.state, State::Discard)) {
            segments.discard_line();
        }
        self.state = State::LineStart;
        self.drops_line = false;
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
            }
        }
        let in_region = line.in_rejected_region;
        let kind = self.segments.as_ref().map(|_| line.kind());
        let diagnostic = line.diagnostic(content_end);
        let diagnostic = self.end_line_of_region(in_region, content_end, diagnostic);
        let Some(kind) = kind else { return diagnostic.map(|diagnostic| self.report(diagnostic)) };
        // A note covers the whole line including its newline; a reject is before that.
        let is_reject = diagnostic.as_ref().is_some_and(|diagnostic| diagnostic.code != Code::Prose);
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
            if self.region.is_some() || is_held {
                segments.begin_line();
            } else if self.array.is_some() {
                segments.end_line_of_array(next);
            } else {
                segments.end_line(kind, next);
            }
        }
    }

    /// Turns a diagnostic into an outcome, and queues it among the segments.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Outcome {
        if let Some(segments) = &mut self.segments {
            if diagnostic.code != Code::Prose {
                segments.pass(diagnostic.span);
            }
            segments.push_event();
        }
        Outcome::Diagnostic(Box::new(diagnostic))
    }
}
