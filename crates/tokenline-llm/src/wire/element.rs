//! Elements of streams that are not SSE: JSON lines, array elements.

use std::{fmt, mem};

use tokenline_core::{Code, Diagnostic, Origin, Span};

/// An event: an object of an array, or a line.
pub(crate) struct Element<'a> {
    /// The bytes, or the diagnostic if they exceed the limit.
    pub(crate) data: Result<&'a [u8], Diagnostic>,
    pub(crate) line: u64,
    pub(crate) span: Span,
}

/// The bytes of an open element from earlier chunks.
pub(crate) struct ElementBuffer {
    limit: usize,
    bytes: Vec<u8>,
    /// The last call returned them.
    is_returned: bool,
    is_too_large: bool,
}

/// Capacity kept between elements.
const KEEP: usize = 64 * 1024;

/// Shows counts only: buffered bytes may be private.
impl fmt::Debug for ElementBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElementBuffer").field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl ElementBuffer {
    /// A buffer for elements of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, bytes: Vec::new(), is_returned: false, is_too_large: false }
    }

    /// Clears what the last call returned.
    pub(crate) fn release(&mut self) {
        if mem::take(&mut self.is_returned) {
            self.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEEP);
    }

    /// Adds bytes of the open element. Leading white space is skipped.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.bytes.is_empty() && !self.is_too_large && bytes.trim_ascii().is_empty() {
            return;
        }
        self.is_too_large |= self.bytes.len() + bytes.len() > self.limit;
        if self.is_too_large { self.bytes = Vec::new() } else { self.bytes.extend_from_slice(bytes) }
    }

    /// Whether there is only white space.
    pub(crate) fn is_blank(&self) -> bool {
        !self.is_too_large && self.bytes.trim_ascii().is_empty()
    }

    /// The element that ends with `last`.
    pub(crate) fn element<'a>(&'a mut self, last: &'a [u8], line: u64, span: Span) -> Element<'a> {
        let is_too_large = mem::take(&mut self.is_too_large) || span.len() > self.limit as u64;
        self.is_returned = true;
        let data = if is_too_large {
            let (len, limit) = (span.len(), self.limit);
            let message =
                format!("an object of {len} bytes exceeds the limit of {limit} bytes and was dropped");
            Err(Diagnostic::new(Code::RecordTooLarge, line, span, 1, message).with_origin(Origin::Wire))
        } else if self.bytes.is_empty() {
            Ok(last)
        } else {
            self.bytes.extend_from_slice(last);
            Ok(&self.bytes[..])
        };
        Element { data, line, span }
    }
}
