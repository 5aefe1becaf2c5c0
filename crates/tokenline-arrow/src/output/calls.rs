//! The column `tool_calls`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::FieldRef;
use tokenline_core::{Record, ToolCall};

use super::lists::list;
use super::{Offsets, TextBuilder};
use crate::error::Full;

pub(crate) struct CallColumns {
    rows: Offsets,
    line: Vec<Option<i64>>,
    start: Vec<Option<i64>>,
    end: Vec<Option<i64>>,
    completion: TextBuilder,
    call_id: TextBuilder,
    name: TextBuilder,
    parameters: TextBuilder,
}

impl CallColumns {
    pub(crate) fn new(limit: usize, rows: usize) -> Self {
        Self {
            rows: Offsets::with_capacity(rows),
            line: Vec::new(),
            start: Vec::new(),
            end: Vec::new(),
            completion: TextBuilder::new("tool_calls.completion", limit),
            call_id: TextBuilder::new("tool_calls.call_id", limit),
            name: TextBuilder::new("tool_calls.name", limit),
            parameters: TextBuilder::new("tool_calls.parameters", limit),
        }
    }

    /// Adds a call, and the record that holds it, if it was not a native one.
    pub(crate) fn push<T>(&mut self, call: &ToolCall, record: Option<&Record<T>>) -> Result<(), Full> {
        self.line.push(record.map(|record| record.line as i64));
        self.start.push(record.map(|record| record.span.start as i64));
        self.end.push(record.map(|record| record.span.end as i64));
        self.completion.push(call.completion.as_str())?;
        let call_id = call.call_id.as_deref().filter(|_| !call.is_synthetic_id);
        self.call_id.push_option(call_id)?;
        self.name.push(&call.name)?;
        self.parameters.push(&call.parameters.to_single_line())
    }

    pub(super) fn end_row(&mut self) -> Result<(), Full> {
        self.rows.end_row(self.line.len(), "tool_calls")
    }

    pub(super) fn finish(self, field: &FieldRef, nulls: Option<NullBuffer>) -> ArrayRef {
        let places = |places: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(places)) };
        let columns = vec![
            places(self.line),
            places(self.start),
            places(self.end),
            self.completion.finish(),
            self.call_id.finish(),
            self.name.finish(),
            self.parameters.finish(),
        ];
        list(field, self.rows, columns, nulls)
    }
}
