//! The columns of the output.

use arrow_array::StructArray;
use arrow_buffer::NullBufferBuilder;
use arrow_schema::Fields;

use super::{BatchColumns, CallColumns, Progress, RecordColumns, RejectColumns, Status, TextBuilder};
use crate::error::Full;
use crate::options::Rules;
use crate::typed::TypedColumn;

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
    pub(crate) fn new(rules: &Rules, record_type: Option<&TypedColumn>, rows: usize) -> Self {
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

    /// Makes room for the rows to come. Rejects and calls are few.
    pub(crate) fn reserve(&mut self, progress: Progress) {
        self.status.reserve(progress);
        self.records.reserve(progress);
        if let Some(batch) = &mut self.batch {
            batch.reserve(progress);
        }
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
