//! A record decoder with the chunk that it reads.

use pyo3::prelude::*;
use tokenline_core::{LentEvent, Options, RecordDecoder};

use crate::schema::DETACH_BYTES;

/// A larger buffer is given back once it is read.
const KEPT_BYTES: usize = 1 << 20;
/// Of a chunk as long as this, the decoder may read far before it finds an event.
const LONG_BYTES: usize = 256 * 1024;

/// A `RecordDecoder` and what is pushed and not yet read, in a buffer that is used again: for short chunks, a
/// `JsonlParser` would spend as long on allocating them as on reading.
pub(crate) struct Reader {
    decoder: RecordDecoder,
    chunk: Vec<u8>,
    /// Index of the next byte of the chunk.
    at: usize,
    /// How far the decoder came when it was last asked.
    stride: usize,
    is_finished: bool,
}

impl Reader {
    pub(crate) fn new(options: Options) -> Self {
        let decoder = RecordDecoder::new(options);
        Self { decoder, chunk: Vec::new(), at: 0, stride: 0, is_finished: false }
    }

    #[inline]
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        if self.is_finished {
            return;
        }
        if self.at == self.chunk.len() && self.chunk.capacity() > KEPT_BYTES {
            self.chunk = Vec::new();
            self.at = 0;
        } else if self.at > self.chunk.len() / 2 || self.at == self.chunk.len() {
            // Only then, because what is unread is moved.
            self.chunk.drain(..self.at);
            self.at = 0;
        }
        if chunk.len() >= LONG_BYTES {
            self.stride = chunk.len();
        }
        self.chunk.extend_from_slice(chunk);
    }

    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }

    pub(crate) fn reset(&mut self) {
        self.decoder.reset();
        self.chunk.clear();
        (self.at, self.stride, self.is_finished) = (0, 0, false);
    }

    /// Passes the next event to a closure. `None` if all pushed text is read.
    #[inline]
    pub(crate) fn next<R>(&mut self, py: Python<'_>, read: impl FnOnce(LentEvent<'_>) -> R) -> Option<R> {
        let Self { decoder, chunk, at, stride, is_finished } = self;
        let input = &chunk[*at..];
        // Where events are far apart, most of the time goes by in the decoder: other threads may run.
        let decoded = if *stride >= DETACH_BYTES && input.len() >= DETACH_BYTES {
            py.detach(|| decoder.decode(input))
        } else {
            decoder.decode(input)
        };
        *at += decoded.consumed;
        *stride = decoded.consumed;
        if let Some(event) = decoded.event {
            return Some(read(event));
        }
        if !*is_finished || *at < chunk.len() {
            return None;
        }
        decoder.finish().map(read)
    }

    pub(crate) fn decoder_mut(&mut self) -> &mut RecordDecoder {
        &mut self.decoder
    }

    /// Where the open value starts, if there is one.
    pub(crate) fn open_value(&self) -> Option<u64> {
        self.decoder.open_value()
    }
}
