//! A typed column while it is built.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_schema::DataType;
use tokenline_core::json::{Number, Value};
use tokenline_core::{Code, Violation};

use super::ColumnType;
use super::convert;
use crate::error::Full;
use crate::output::{Offsets, Progress, PushError, TextBuilder, shrunk};

/// A column. Every value may be null.
pub(crate) enum Column {
    Json(TextBuilder),
    Text(TextBuilder),
    Int64(Primitive<i64>),
    Double(Primitive<f64>),
    Bool(BooleanBufferBuilder, NullBufferBuilder),
    Timestamp(Primitive<i64>),
    List(Box<List>),
    Struct(Struct),
}

/// Why a value was not added.
enum Stop {
    Full(Full),
    /// The offset of the value that does not fit, and what its column holds.
    Misfit(usize, &'static str),
}

impl From<Full> for Stop {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

impl Column {
    pub(crate) fn new(column_type: &ColumnType, name: &str, limit: usize) -> Self {
        let nulls = || NullBufferBuilder::new(0);
        match column_type {
            ColumnType::Json => Self::Json(TextBuilder::new(name, limit)),
            ColumnType::Text => Self::Text(TextBuilder::new(name, limit)),
            ColumnType::Int64 => Self::Int64(Primitive::new()),
            ColumnType::Double => Self::Double(Primitive::new()),
            ColumnType::Bool => Self::Bool(BooleanBufferBuilder::new(0), nulls()),
            ColumnType::Timestamp => Self::Timestamp(Primitive::new()),
            ColumnType::List(items) => Self::List(Box::new(List {
                rows: Offsets::with_capacity(0),
                nulls: nulls(),
                items: Self::new(items, name, limit),
                name: name.into(),
            })),
            ColumnType::Struct(fields) => Self::Struct(Struct {
                fields: fields
                    .iter()
                    .map(|(field, column)| {
                        (field.as_str().into(), Self::new(column, &format!("{name}.{field}"), limit))
                    })
                    .collect(),
                nulls: nulls(),
            }),
        }
    }

    /// Adds a record, or nothing.
    pub(crate) fn push_record(&mut self, record: Value<'_>) -> Result<(), PushError> {
        let rows = self.len();
        self.push(record).map_err(|stop| match stop {
            Stop::Full(full) => PushError::Full(full),
            Stop::Misfit(offset, expected) => {
                self.truncate(rows);
                let path = record.pointer_at(offset);
                let violation = Violation::new(
                    Code::SchemaViolation,
                    offset,
                    format!("does not fit its column: expected {expected}"),
                );
                PushError::Misfit(Box::new(violation.with_instance_path(path)))
            }
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Json(texts) | Self::Text(texts) => texts.len(),
            Self::Int64(numbers) | Self::Timestamp(numbers) => numbers.values.len(),
            Self::Double(numbers) => numbers.values.len(),
            Self::Bool(values, _) => values.len(),
            Self::List(list) => list.rows.rows(),
            Self::Struct(fields) => fields.nulls.len(),
        }
    }

    /// Adds a value. If it does not fit, a part of it may be left; [truncate](Self::truncate) drops that.
    fn push(&mut self, value: Value<'_>) -> Result<(), Stop> {
        if value.is_null() {
            self.push_null()?;
            return Ok(());
        }
        let misfit = |expected| Stop::Misfit(value.range().start, expected);
        match self {
            Self::Json(texts) => texts.push(&value.to_single_line())?,
            Self::Text(texts) => texts.push(&value.as_str().ok_or_else(|| misfit("a string"))?)?,
            Self::Int64(numbers) => {
                let number = value.as_number().and_then(convert::integer);
                numbers.push(number.ok_or_else(|| misfit("an integer of 64 bits"))?);
            }
            Self::Double(numbers) => {
                let number = value.as_number().and_then(Number::as_f64);
                numbers.push(number.ok_or_else(|| misfit("a number in the range of a double"))?);
            }
            Self::Bool(values, nulls) => {
                values.append(value.as_bool().ok_or_else(|| misfit("a boolean"))?);
                nulls.append_non_null();
            }
            Self::Timestamp(numbers) => {
                let time = value.as_str().and_then(|text| convert::timestamp(&text));
                numbers.push(time.ok_or_else(|| misfit("a date and time with an offset, as in RFC 3339"))?);
            }
            Self::List(list) => {
                for item in value.as_array().ok_or_else(|| misfit("an array"))? {
                    list.items.push(item)?;
                }
                list.end_row(true)?;
            }
            Self::Struct(fields) => {
                let members = value.as_object().ok_or_else(|| misfit("an object"))?;
                fields.push(members.iter())?;
            }
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<(), Full> {
        match self {
            Self::Json(texts) | Self::Text(texts) => texts.push_null(),
            Self::Int64(numbers) | Self::Timestamp(numbers) => numbers.push_null(),
            Self::Double(numbers) => numbers.push_null(),
            Self::Bool(values, nulls) => {
                values.append(false);
                nulls.append_null();
            }
            Self::List(list) => list.end_row(false)?,
            Self::Struct(fields) => {
                for (_, column) in &mut fields.fields {
                    column.push_null()?;
                }
                fields.nulls.append_null();
            }
        }
        Ok(())
    }

    /// Makes room for the rows to come.
    pub(crate) fn reserve(&mut self, progress: Progress) {
        match self {
            Self::Json(texts) | Self::Text(texts) => texts.reserve(progress),
            Self::Int64(numbers) | Self::Timestamp(numbers) => progress.reserve(&mut numbers.values),
            Self::Double(numbers) => progress.reserve(&mut numbers.values),
            // Of a bit each.
            Self::Bool(..) => {}
            Self::List(list) => {
                list.rows.reserve(progress);
                list.items.reserve(progress);
            }
            Self::Struct(fields) => fields.fields.iter_mut().for_each(|(_, column)| column.reserve(progress)),
        }
    }

    /// Drops the values after these rows.
    fn truncate(&mut self, rows: usize) {
        match self {
            Self::Json(texts) | Self::Text(texts) => texts.truncate(rows),
            Self::Int64(numbers) | Self::Timestamp(numbers) => numbers.truncate(rows),
            Self::Double(numbers) => numbers.truncate(rows),
            Self::Bool(values, nulls) => {
                values.truncate(rows);
                nulls.truncate(rows);
            }
            Self::List(list) => {
                let items = list.rows.truncate(rows);
                list.items.truncate(items);
                list.nulls.truncate(rows);
            }
            Self::Struct(fields) => {
                fields.fields.iter_mut().for_each(|(_, column)| column.truncate(rows));
                fields.nulls.truncate(rows);
            }
        }
    }

    /// The array of this type.
    pub(crate) fn finish(self, data_type: &DataType) -> ArrayRef {
        match (self, data_type) {
            (Self::Json(texts) | Self::Text(texts), _) => texts.finish(),
            (Self::Int64(numbers), _) => Arc::new(numbers.finish::<Int64Type>()),
            (Self::Double(numbers), _) => Arc::new(numbers.finish::<Float64Type>()),
            (Self::Timestamp(numbers), _) => {
                Arc::new(numbers.finish::<TimestampMicrosecondType>().with_data_type(data_type.clone()))
            }
            (Self::Bool(mut values, mut nulls), _) => {
                Arc::new(BooleanArray::new(values.finish(), nulls.finish()))
            }
            (Self::List(mut list), DataType::List(item)) => {
                let items = list.items.finish(item.data_type());
                Arc::new(ListArray::new(Arc::clone(item), list.rows.finish(), items, list.nulls.finish()))
            }
            (Self::Struct(mut columns), DataType::Struct(fields)) => {
                let columns_of = columns.fields.into_iter().zip(fields);
                let arrays =
                    columns_of.map(|((_, column), field)| column.finish(field.data_type())).collect();
                Arc::new(StructArray::new(fields.clone(), arrays, columns.nulls.finish()))
            }
            (_, other) => unreachable!("a column of {other}"),
        }
    }
}

pub(crate) struct Primitive<T> {
    values: Vec<T>,
    nulls: NullBufferBuilder,
}

impl<T: Default + arrow_buffer::ArrowNativeType> Primitive<T> {
    fn new() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    fn push(&mut self, value: T) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    fn push_null(&mut self) {
        self.values.push(T::default());
        self.nulls.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish<A: ArrowPrimitiveType<Native = T>>(mut self) -> PrimitiveArray<A> {
        PrimitiveArray::new(shrunk(self.values).into(), self.nulls.finish())
    }
}

pub(crate) struct List {
    rows: Offsets,
    nulls: NullBufferBuilder,
    items: Column,
    name: Box<str>,
}

impl List {
    fn end_row(&mut self, is_valid: bool) -> Result<(), Full> {
        self.nulls.append(is_valid);
        self.rows.end_row(self.items.len(), &self.name)
    }
}

pub(crate) struct Struct {
    fields: Vec<(Box<str>, Column)>,
    nulls: NullBufferBuilder,
}

impl Struct {
    fn push<'v>(&mut self, members: impl Iterator<Item = (&'v str, Value<'v>)>) -> Result<(), Stop> {
        let row = self.nulls.len();
        let mut next = 0;
        for (name, value) in members {
            // Models write members in the order of the schema.
            let is_next = self.fields.get(next).is_some_and(|(field, _)| **field == *name);
            let found =
                if is_next { Some(next) } else { self.fields.iter().position(|(field, _)| **field == *name) };
            let Some(at) = found else { continue };
            let column = &mut self.fields[at].1;
            if column.len() > row {
                // Of two members of the same name, the last one counts.
                column.truncate(row);
            }
            column.push(value)?;
            next = at + 1;
        }
        for (_, column) in &mut self.fields {
            if column.len() == row {
                column.push_null()?;
            }
        }
        self.nulls.append_non_null();
        Ok(())
    }
}
