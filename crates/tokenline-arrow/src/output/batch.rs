//! The columns that only batch formats have.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::{Progress, TextBuilder};
use crate::error::Full;

/// `custom_id`, `http_status`, `error` and `text`.
pub(crate) struct BatchColumns {
    custom_id: TextBuilder,
    http_status: Vec<Option<i64>>,
    error: TextBuilder,
    text: TextBuilder,
    row: BatchRow,
}

/// The fields of the current row.
#[derive(Default)]
pub(crate) struct BatchRow {
    pub(crate) custom_id: Option<String>,
    pub(crate) http_status: Option<u16>,
    pub(crate) error: Option<String>,
    pub(crate) text: Option<String>,
}

impl BatchColumns {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            custom_id: TextBuilder::new("custom_id", limit),
            http_status: Vec::new(),
            error: TextBuilder::new("error", limit),
            text: TextBuilder::new("text", limit),
            row: BatchRow::default(),
        }
    }

    /// The current row.
    pub(crate) fn row(&mut self) -> &mut BatchRow {
        &mut self.row
    }

    pub(super) fn reserve(&mut self, progress: Progress) {
        self.custom_id.reserve(progress);
        progress.reserve(&mut self.http_status);
        self.error.reserve(progress);
        self.text.reserve(progress);
    }

    pub(super) fn end_row(&mut self) -> Result<(), Full> {
        let row = std::mem::take(&mut self.row);
        self.custom_id.push_option(row.custom_id.as_deref())?;
        self.http_status.push(row.http_status.map(i64::from));
        self.error.push_option(row.error.as_deref())?;
        self.text.push_option(row.text.as_deref())
    }

    pub(super) fn finish(self) -> [ArrayRef; 4] {
        let http_status = Arc::new(Int64Array::from(self.http_status));
        [self.custom_id.finish(), http_status, self.error.finish(), self.text.finish()]
    }
}
