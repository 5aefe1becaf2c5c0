//! The state of the event whose lines are arriving: its position, its size, the limit it exceeded.

use crate::{Code, Diagnostic, Limits, Origin, Span};

#[derive(Clone, Copy, Default)]
pub(super) struct Block {
    /// Line and offset of its first field, if there was one.
    start: Option<(u64, u64)>,
    /// The end of the event: the first byte of its blank line.
    pub(super) end: u64,
    /// Its `data` fields, and the total length of their values once joined.
    pub(super) data_lines: u64,
    data_bytes: u64,
    pub(super) has_id: bool,
    fault: Option<Fault>,
}

/// The first limit that an event exceeded.
#[derive(Clone, Copy)]
enum Fault {
    Line { line: u64, span: Span },
    Event,
}

impl Block {
    /// Notes a field: the first one opens the event.
    #[inline]
    pub(super) fn open(&mut self, line: u64, start: u64) {
        self.start.get_or_insert((line, start));
    }

    pub(super) fn is_open(&self) -> bool {
        self.start.is_some()
    }

    pub(super) fn is_rejected(&self) -> bool {
        self.fault.is_some()
    }

    pub(super) fn place(&self) -> (u64, Span) {
        let (line, start) = self.start.unwrap_or_default();
        (line, Span::new(start, self.end))
    }

    /// Counts the value of a `data` field. Returns whether to keep it.
    #[inline]
    pub(super) fn admit(&mut self, len: usize, limit: usize) -> bool {
        if self.fault.is_some() {
            return false;
        }
        // All lines but the first add a newline.
        self.data_bytes += len as u64 + u64::from(self.data_lines > 0);
        self.data_lines += 1;
        if self.data_bytes > limit as u64 {
            self.fault = Some(Fault::Event);
        }
        self.fault.is_none()
    }

    pub(super) fn line_too_long(&mut self, line: u64, span: Span) {
        self.open(line, span.start);
        self.fault.get_or_insert(Fault::Line { line, span });
    }

    /// The diagnostic for the limit it exceeded, if it did.
    #[cold]
    pub(super) fn rejection(&self, limits: &Limits) -> Option<Diagnostic> {
        Some(match self.fault? {
            Fault::Line { line, span } => {
                let (len, limit) = (span.len(), limits.sse_line_bytes);
                let message = format!(
                    "a line of {len} bytes is longer than the limit of {limit} bytes; \
                     its server-sent event was dropped"
                );
                Diagnostic::new(Code::LineTooLong, line, span, limit as u64 + 1, message)
                    .with_origin(Origin::Wire)
            }
            Fault::Event => {
                let (line, span) = self.place();
                let (len, limit) = (span.len(), limits.sse_event_bytes);
                let message = format!(
                    "a server-sent event of {len} bytes has more data than the limit of {limit} \
                     bytes; it was dropped"
                );
                Diagnostic::new(Code::RecordTooLarge, line, span, 1, message).with_origin(Origin::Wire)
            }
        })
    }
}
