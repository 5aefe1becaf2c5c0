//! The output of a batch while it is built.

mod batch;
mod calls;
mod fields;
mod records;
mod rejects;
mod text;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, StructArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use arrow_schema::{DataType, FieldRef, Fields};

pub(crate) use batch::{BatchColumns, BatchRow};
pub(crate) use calls::CallColumns;
pub(crate) use fields::output_fields;
pub(crate) use records::{PushError, RecordColumns};
pub(crate) use rejects::RejectColumns;
pub(crate) use text::{Offsets, TextBuilder};

use crate::error::Full;
use crate::options::Rules;
use crate::typed::ColumnType;

/// How the source of a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Complete,
    Incomplete,
    Failed,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
        }
    }
}

/// The columns of the output.
pub(crate) struct Output {
    status: TextBuilder,
    pub(crate) records: RecordColumns,
    pub(crate) calls: Option<CallColumns>,
    pub(crate) rejects: RejectColumns,
    pub(crate) batch: Option<BatchColumns>,
    rows: NullBufferBuilder,
}

impl Output {
    pub(crate) fn new(rules: &Rules, record_type: Option<&ColumnType>, rows: usize) -> Self {
        let limit = rules.column_bytes;
        Self {
            status: TextBuilder::new("status", limit),
            records: RecordColumns::new(record_type, limit, rows),
            calls: rules.has_calls().then(|| CallColumns::new(limit, rows)),
            rejects: RejectColumns::new(limit, rows),
            batch: rules.is_batch().then(|| BatchColumns::new(limit)),
            rows: NullBufferBuilder::new(rows),
        }
    }

    /// Ends a row. Of a row without a status, which is null, nothing else was pushed.
    pub(crate) fn end_row(&mut self, status: Option<Status>) -> Result<(), Full> {
        self.status.push_option(status.map(Status::as_str))?;
        self.records.end_row()?;
        if let Some(calls) = &mut self.calls {
            calls.end_row()?;
        }
        self.rejects.end_row()?;
        if let Some(batch) = &mut self.batch {
            batch.end_row()?;
        }
        self.rows.append(status.is_some());
        Ok(())
    }

    /// The array of these fields.
    pub(crate) fn finish(mut self, fields: &Fields) -> StructArray {
        let nulls = self.rows.finish();
        let mut rest = fields.iter().skip(1);
        let mut next = || rest.next().expect("a field for each column");
        let mut columns = vec![self.status.finish()];
        columns.push(self.records.finish(next(), nulls.clone()));
        if let Some(calls) = self.calls {
            columns.push(calls.finish(next(), nulls.clone()));
        }
        columns.push(self.rejects.finish(next(), nulls.clone()));
        if let Some(batch) = self.batch {
            columns.extend(batch.finish());
        }
        StructArray::new(fields.clone(), columns, nulls)
    }
}

/// The fields of the structs in a list.
fn entry_fields(list: &FieldRef) -> &Fields {
    match list.data_type() {
        DataType::List(item) => match item.data_type() {
            DataType::Struct(fields) => fields,
            other => unreachable!("a list of {other}"),
        },
        other => unreachable!("a column of {other}"),
    }
}

/// A column of lists of structs.
fn list(field: &FieldRef, offsets: Offsets, entries: Vec<ArrayRef>, nulls: Option<NullBuffer>) -> ArrayRef {
    let DataType::List(item) = field.data_type() else { unreachable!("a column of {}", field.data_type()) };
    let entries = StructArray::new(entry_fields(field).clone(), entries, None);
    Arc::new(ListArray::new(Arc::clone(item), offsets.finish(), Arc::new(entries), nulls))
}

/// A column of places. Offsets, lines and columns of a text in memory fit `i64`.
fn places(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}
