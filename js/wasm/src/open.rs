//! The open record, as it grows.

use tokenline_core::json::{Value, ValueDelta};
use tokenline_core::{Diagnostic, OpenRecord, Record, Span};

use crate::machine::{Part, finding, place, record};
use crate::output::{Output, Target};

/// The record that grows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Open {
    /// Where it starts.
    pub(crate) start: Option<u64>,
}

impl Open {
    pub(crate) fn grow(&mut self, delta: &OpenRecord<ValueDelta<'_>>, out: &mut Output) {
        if self.start != Some(delta.start) {
            self.start = Some(delta.start);
            out.begin_steps(Target::OpenRecord);
        }
        out.delta(&delta.value);
    }

    pub(crate) fn record(&mut self, found: &Record<Value<'_>>, out: &mut Output) {
        if self.start != Some(found.span.start) {
            return record(found, Part::default(), out);
        }
        self.start = None;
        // Its value is the one that has grown.
        out.event("record", |json| place(found, json));
    }

    pub(crate) fn found(&mut self, found: &Diagnostic, out: &mut Output) {
        self.ended_in(found.span, out);
        finding(found, Part::default(), out);
    }

    /// Gives it up if a call or a reject covers its start.
    pub(crate) fn ended_in(&mut self, span: Span, out: &mut Output) {
        if self.start.is_some_and(|start| span.start <= start && start < span.end) {
            self.start = None;
            out.gone();
        }
    }

    /// Gives it up unless it is still open: it was prose.
    pub(crate) fn settle(&mut self, still_open: Option<u64>, out: &mut Output) {
        if self.start.is_some() && self.start != still_open {
            self.start = None;
            out.gone();
        }
    }
}
