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
    /// The bytes of the longest text before this one.
    longest: u64,
    /// It is in [`next`](Self::next), or a panic has left that.
    is_reading: bool,
}

impl Reader {
    pub(crate) fn new(options: Options) -> Self {
        let decoder = RecordDecoder::new(options);
        Self {
            decoder,
            chunk: Vec::new(),
            at: 0,
            stride: 0,
            is_finished: false,
            longest: 0,
            is_reading: false,
        }
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
        self.longest = self.longest.max(self.decoder.position());
        self.decoder.reset();
        self.chunk.clear();
        (self.at, self.stride, self.is_finished) = (0, 0, false);
    }

    /// Passes the next event to a closure. `None` if all pushed text is read.
    #[inline]
    pub(crate) fn next<R>(&mut self, py: Python<'_>, read: impl FnOnce(LentEvent<'_>) -> R) -> Option<R> {
        let Self { decoder, chunk, at, stride, is_finished, is_reading, .. } = self;
        *is_reading = true;
        let input = &chunk[*at..];
        // Where events are far apart, most of the time goes by in the decoder: other threads may run.
        let decoded = if *stride >= DETACH_BYTES && input.len() >= DETACH_BYTES {
            py.detach(|| decoder.decode(input))
        } else {
            decoder.decode(input)
        };
        *at += decoded.consumed;
        *stride = decoded.consumed;
        let event = match decoded.event {
            None if *is_finished && *at == chunk.len() => decoder.finish(),
            event => event,
        };
        let event = event.map(read);
        *is_reading = false;
        event
    }

    pub(crate) fn decoder_mut(&mut self) -> &mut RecordDecoder {
        &mut self.decoder
    }

    /// Where the open value starts, if there is one.
    pub(crate) fn open_value(&self) -> Option<u64> {
        self.decoder.open_value()
    }
}

/// Readers that no text is using, with the names of members that were built: for a short text, to make them takes as long
/// as to read it.
pub(crate) mod idle {
    use std::sync::{Mutex, PoisonError};

    use tokenline_core::Options;

    use super::Reader;
    use crate::value::Builder;

    type Idle = (Box<Reader>, Builder);

    /// No Python code runs while it is locked.
    static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());
    /// Programs read few texts at the same time.
    const MAX_READERS: usize = 4;
    /// A reader of longer texts may hold more memory than is worth keeping.
    const MAX_TEXT: u64 = 64 * 1024;

    /// A reader with these options, at the start of a text.
    pub(crate) fn take(options: &Options) -> Option<Idle> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().position(|(reader, _)| reader.decoder.options() == options)?;
        Some(idle.swap_remove(at))
    }

    /// Keeps a reader for the next text.
    pub(crate) fn put(mut reader: Box<Reader>, builder: Builder) {
        if reader.is_reading {
            return;
        }
        reader.reset();
        if reader.longest > MAX_TEXT || reader.chunk.capacity() as u64 > MAX_TEXT {
            return;
        }
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = (idle.len() == MAX_READERS).then(|| idle.remove(0));
        idle.push((reader, builder));
        drop(idle);
        drop(oldest);
    }
}
