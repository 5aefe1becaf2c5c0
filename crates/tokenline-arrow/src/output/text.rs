//! Columns of texts and of lists while they are built.

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer};
use std::sync::Arc;

use crate::error::Full;

/// The most room for what is to come, in bytes of a column: rows may be unlike those before.
const MAX_ROOM: u128 = 64 << 20;

/// The rows that are read, and all rows of the input: how much longer columns will become.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) done: usize,
    pub(crate) total: usize,
}

impl Progress {
    /// Makes room for what the rows to come will add, if they are like those before. To double the room again and again
    /// would touch twice the memory.
    pub(crate) fn reserve<T>(self, column: &mut Vec<T>) {
        let Self { done, total } = self;
        let more = column.len() as u128 * (total - done) as u128 / done.max(1) as u128;
        let more = (more + more / 16).min(MAX_ROOM / size_of::<T>().max(1) as u128);
        // A failure to allocate is not an error: the column grows as it is filled.
        let _ = column.try_reserve(more as usize);
    }
}

/// Gives back the room of a complete column, if most of it was not needed.
pub(crate) fn shrunk<T>(mut column: Vec<T>) -> Vec<T> {
    if column.capacity() > 2 * column.len() {
        column.shrink_to_fit();
    }
    column
}

/// Where the entries of a list column end.
pub(crate) struct Offsets(Vec<i32>);

impl Offsets {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self(offsets)
    }

    pub(crate) fn rows(&self) -> usize {
        self.0.len() - 1
    }

    /// Makes room for the rows to come.
    pub(crate) fn reserve(&mut self, progress: Progress) {
        progress.reserve(&mut self.0);
    }

    /// Ends a row; the entries of all rows are `len`.
    pub(crate) fn end_row(&mut self, len: usize, column: &str) -> Result<(), Full> {
        let full = |_| Full { column: column.to_owned(), limit: i32::MAX as usize };
        self.0.push(i32::try_from(len).map_err(full)?);
        Ok(())
    }

    /// Drops the rows after these, and returns the number of entries that are left.
    pub(crate) fn truncate(&mut self, rows: usize) -> usize {
        self.0.truncate(rows + 1);
        self.0[rows] as usize
    }

    pub(crate) fn finish(self) -> OffsetBuffer<i32> {
        OffsetBuffer::new(shrunk(self.0).into())
    }
}

/// A column of texts.
pub(crate) struct TextBuilder {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    limit: usize,
    name: Box<str>,
}

impl TextBuilder {
    pub(crate) fn new(name: impl Into<Box<str>>, limit: usize) -> Self {
        let nulls = NullBufferBuilder::new(0);
        Self { bytes: Vec::new(), offsets: vec![0], nulls, limit, name: name.into() }
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline]
    pub(crate) fn push(&mut self, text: &str) -> Result<(), Full> {
        let end = self.bytes.len() + text.len();
        if end > self.limit {
            return Err(Full { column: self.name.to_string(), limit: self.limit });
        }
        self.bytes.extend_from_slice(text.as_bytes());
        // The limit is at most `i32::MAX`.
        self.offsets.push(end as i32);
        self.nulls.append_non_null();
        Ok(())
    }

    /// Makes room for the rows to come.
    pub(crate) fn reserve(&mut self, progress: Progress) {
        progress.reserve(&mut self.bytes);
        progress.reserve(&mut self.offsets);
    }

    pub(crate) fn push_null(&mut self) {
        self.offsets.push(self.bytes.len() as i32);
        self.nulls.append_null();
    }

    pub(crate) fn push_option(&mut self, text: Option<&str>) -> Result<(), Full> {
        match text {
            Some(text) => self.push(text),
            None => {
                self.push_null();
                Ok(())
            }
        }
    }

    /// Drops the rows after these.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        self.bytes.truncate(self.offsets[rows] as usize);
        self.nulls.truncate(rows);
    }

    pub(crate) fn finish(mut self) -> ArrayRef {
        let offsets = OffsetBuffer::new(shrunk(self.offsets).into());
        let bytes = Buffer::from_vec(shrunk(self.bytes));
        Arc::new(StringArray::new(offsets, bytes, self.nulls.finish()))
    }
}
