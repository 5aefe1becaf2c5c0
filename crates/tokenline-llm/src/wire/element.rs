//! What a stream that is no event stream has for events.

use std::{fmt, mem};

use tokenline_core::{Code, Diagnostic, Origin, Span};

/// An event: an object of an array, or a line.
pub(crate) struct Element<'a> {
    /// Its bytes, or that they are too many.
    pub(crate) data: Result<&'a [u8], Diagnostic>,
    pub(crate) line: u64,
    pub(crate) span: Span,
}

/// The bytes of an open element that earlier pieces had.
pub(crate) struct Kept {
    limit: usize,
    bytes: Vec<u8>,
    /// They were lent by the last call.
    are_lent: bool,
    is_too_large: bool,
}

/// Bytes for which room is kept between elements.
const KEEP: usize = 64 * 1024;

/// Counts only: what is kept may be private.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl Kept {
    /// Of elements that may have so many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, bytes: Vec::new(), are_lent: false, is_too_large: false }
    }

    /// Lets go of what was lent.
    pub(crate) fn forget(&mut self) {
        if mem::take(&mut self.are_lent) {
            self.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEEP);
    }

    /// Takes in more of the open element. White space before it is not kept.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.bytes.is_empty() && !self.is_too_large && bytes.trim_ascii().is_empty() {
            return;
        }
        self.is_too_large |= self.bytes.len() + bytes.len() > self.limit;
        match self.is_too_large {
            true => self.bytes = Vec::new(),
            false => self.bytes.extend_from_slice(bytes),
        }
    }

    /// Whether there is nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        !self.is_too_large && self.bytes.trim_ascii().is_empty()
    }

    /// The element that ends with these bytes.
    pub(crate) fn element<'a>(&'a mut self, last: &'a [u8], line: u64, span: Span) -> Element<'a> {
        let is_too_large = mem::take(&mut self.is_too_large) || span.len() > self.limit as u64;
        self.are_lent = true;
        let data = if is_too_large {
            let (len, limit) = (span.len(), self.limit);
            let message =
                format!("an object of {len} bytes is larger than the limit of {limit} bytes; it was dropped");
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
