//! The column `records`.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::FieldRef;
use tokenline_core::json::Value;
use tokenline_core::{Record, Violation};

use super::lists::{entry_fields, list, places};
use super::{Offsets, Progress, TextBuilder};
use crate::error::Full;
use crate::typed::{Column, TypedColumn};

/// Why a record was not added.
#[derive(Debug)]
pub(crate) enum PushError {
    /// A column is full.
    Full(Full),
    /// A value does not fit its column.
    Misfit(Box<Violation>),
}

impl From<Full> for PushError {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

pub(crate) struct RecordColumns {
    rows: Offsets,
    line: Vec<i64>,
    start: Vec<i64>,
    end: Vec<i64>,
    completion: TextBuilder,
    values: Values,
}

enum Values {
    Json(TextBuilder),
    Typed(Box<Column>),
}

impl RecordColumns {
    pub(crate) fn new(record_type: Option<&TypedColumn>, limit: usize, rows: usize) -> Self {
        Self {
            rows: Offsets::with_capacity(rows),
            line: Vec::new(),
            start: Vec::new(),
            end: Vec::new(),
            completion: TextBuilder::new("records.completion", limit),
            values: match record_type {
                None => Values::Json(TextBuilder::new("records.json", limit)),
                Some(record_type) => {
                    Values::Typed(Box::new(Column::new(&record_type.column, "records.value", limit)))
                }
            },
        }
    }

    /// Adds a record, or nothing.
    pub(crate) fn push(&mut self, record: &Record<Value<'_>>) -> Result<(), PushError> {
        match &mut self.values {
            Values::Json(texts) => texts.push(&record.value.to_single_line())?,
            Values::Typed(column) => column.push_record(record.value)?,
        }
        Ok(self.push_place(record)?)
    }

    /// Whether values are needed, and not only their texts.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self.values, Values::Typed(_))
    }

    /// Adds the text of a record, unless the columns are [typed](Self::is_typed).
    pub(crate) fn push_text<T>(&mut self, record: &Record<T>, text: &str) -> Result<(), Full> {
        match &mut self.values {
            Values::Json(texts) => texts.push(text)?,
            Values::Typed(_) => unreachable!("a text for typed columns"),
        }
        self.push_place(record)
    }

    fn push_place<T>(&mut self, record: &Record<T>) -> Result<(), Full> {
        self.line.push(record.line as i64);
        self.start.push(record.span.start as i64);
        self.end.push(record.span.end as i64);
        self.completion.push(record.completion.as_str())
    }

    pub(super) fn reserve(&mut self, progress: Progress) {
        for places in [&mut self.line, &mut self.start, &mut self.end] {
            progress.reserve(places);
        }
        self.completion.reserve(progress);
        match &mut self.values {
            Values::Json(texts) => texts.reserve(progress),
            Values::Typed(column) => column.reserve(progress),
        }
    }

    pub(super) fn end_row(&mut self) -> Result<(), Full> {
        self.rows.end_row(self.line.len(), "records")
    }

    pub(super) fn finish(self, field: &FieldRef, nulls: Option<NullBuffer>) -> ArrayRef {
        let values = match self.values {
            Values::Json(texts) => texts.finish(),
            Values::Typed(column) => column.finish(entry_fields(field)[4].data_type()),
        };
        let (line, start, end) = (places(self.line), places(self.start), places(self.end));
        list(field, self.rows, vec![line, start, end, self.completion.finish(), values], nulls)
    }
}
