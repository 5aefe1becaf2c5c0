//! The column `rejects`.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::FieldRef;
use tokenline_core::Diagnostic;

use super::lists::{list, places};
use super::{Offsets, TextBuilder};
use crate::error::Full;

pub(crate) struct RejectColumns {
    rows: Offsets,
    line: Vec<i64>,
    column: Vec<i64>,
    start: Vec<i64>,
    end: Vec<i64>,
    code: TextBuilder,
    message: TextBuilder,
    instance_path: TextBuilder,
    schema_path: TextBuilder,
}

impl RejectColumns {
    pub(crate) fn new(limit: usize, rows: usize) -> Self {
        Self {
            rows: Offsets::with_capacity(rows),
            line: Vec::new(),
            column: Vec::new(),
            start: Vec::new(),
            end: Vec::new(),
            code: TextBuilder::new("rejects.code", limit),
            message: TextBuilder::new("rejects.message", limit),
            instance_path: TextBuilder::new("rejects.instance_path", limit),
            schema_path: TextBuilder::new("rejects.schema_path", limit),
        }
    }

    pub(crate) fn push(&mut self, diagnostic: &Diagnostic) -> Result<(), Full> {
        self.line.push(diagnostic.line as i64);
        self.column.push(diagnostic.column as i64);
        self.start.push(diagnostic.span.start as i64);
        self.end.push(diagnostic.span.end as i64);
        self.code.push(diagnostic.code.as_str())?;
        self.message.push(&diagnostic.message)?;
        self.instance_path.push_option(diagnostic.instance_path.as_deref())?;
        self.schema_path.push_option(diagnostic.schema_path.as_deref())
    }

    pub(super) fn end_row(&mut self) -> Result<(), Full> {
        self.rows.end_row(self.line.len(), "rejects")
    }

    pub(super) fn finish(self, field: &FieldRef, nulls: Option<NullBuffer>) -> ArrayRef {
        let columns = vec![
            places(self.line),
            places(self.column),
            places(self.start),
            places(self.end),
            self.code.finish(),
            self.message.finish(),
            self.instance_path.finish(),
            self.schema_path.finish(),
        ];
        list(field, self.rows, columns, nulls)
    }
}
