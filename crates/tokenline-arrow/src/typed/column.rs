//! A typed column while it is built.

use std::sync::Arc;

use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
};
use arrow_array::{ArrayRef, BooleanArray, LargeListArray, ListArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, i256};
use arrow_schema::DataType;
use tokenline_core::json::{Number, Value};
use tokenline_core::{Code, Violation};

use super::arrays::{Primitive, fixed_array, text_array, widened};
use super::scalar::{DecimalType, Fixed};
use super::{ColumnType, Slot, convert};
use crate::error::Full;
use crate::output::{Offsets, Progress, PushError, TextBuilder};

/// A column. Every value may be null, if its place in a struct or a list may.
pub(crate) enum Column {
    Json(TextBuilder),
    Text(TextBuilder),
    Bool(BooleanBufferBuilder, NullBufferBuilder),
    Float(Primitive<f32>),
    Double(Primitive<f64>),
    Fixed(Fixed, Primitive<i64>),
    Decimal(DecimalType, Primitive<i128>),
    WideDecimal(DecimalType, Primitive<i256>),
    List(Box<List>),
    Struct(Struct),
}

/// Why a value was not added.
enum Stop {
    Full(Full),
    /// The offset of the value that does not fit, and what its column holds.
    Misfit(usize, String),
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
            ColumnType::Bool => Self::Bool(BooleanBufferBuilder::new(0), nulls()),
            ColumnType::Float => Self::Float(Primitive::new()),
            ColumnType::Double => Self::Double(Primitive::new()),
            ColumnType::Fixed(fixed) => Self::Fixed(*fixed, Primitive::new()),
            ColumnType::Decimal(decimal @ DecimalType { is_wide: true, .. }) => {
                Self::WideDecimal(*decimal, Primitive::new())
            }
            ColumnType::Decimal(decimal) => Self::Decimal(*decimal, Primitive::new()),
            ColumnType::List(items) => Self::List(Box::new(List {
                rows: Offsets::with_capacity(0),
                nulls: nulls(),
                items: Place::new(items, name, limit),
                name: name.into(),
            })),
            ColumnType::Struct(fields) => Self::Struct(Struct {
                fields: fields
                    .iter()
                    .map(|(field, slot)| {
                        (field.as_str().into(), Place::new(slot, &format!("{name}.{field}"), limit))
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
            Self::Bool(values, _) => values.len(),
            Self::Float(numbers) => numbers.values.len(),
            Self::Double(numbers) => numbers.values.len(),
            Self::Fixed(_, numbers) => numbers.values.len(),
            Self::Decimal(_, numbers) => numbers.values.len(),
            Self::WideDecimal(_, numbers) => numbers.values.len(),
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
            Self::Text(texts) => texts.push(&value.as_str().ok_or_else(|| misfit("a string".into()))?)?,
            Self::Bool(values, nulls) => {
                values.append(value.as_bool().ok_or_else(|| misfit("a boolean".into()))?);
                nulls.append_non_null();
            }
            Self::Float(numbers) => {
                let number = value.as_number().and_then(convert::float);
                numbers.push(number.ok_or_else(|| misfit("a number in the range of a float".into()))?);
            }
            Self::Double(numbers) => {
                let number = value.as_number().and_then(Number::as_f64);
                numbers.push(number.ok_or_else(|| misfit("a number in the range of a double".into()))?);
            }
            Self::Fixed(fixed, numbers) => {
                numbers.push(fixed.read(value).ok_or_else(|| misfit(fixed.expected()))?);
            }
            Self::Decimal(decimal, numbers) => {
                let number = decimal.read(value).and_then(i256::to_i128);
                numbers.push(number.ok_or_else(|| misfit(decimal.expected()))?);
            }
            Self::WideDecimal(decimal, numbers) => {
                numbers.push(decimal.read(value).ok_or_else(|| misfit(decimal.expected()))?);
            }
            Self::List(list) => {
                for item in value.as_array().ok_or_else(|| misfit("an array".into()))? {
                    list.items.push(item)?;
                }
                list.end_row(true)?;
            }
            Self::Struct(fields) => {
                let members = value.as_object().ok_or_else(|| misfit("an object".into()))?;
                fields.push(value.range().start, members.iter())?;
            }
        }
        Ok(())
    }

    fn push_null(&mut self) -> Result<(), Full> {
        match self {
            Self::Json(texts) | Self::Text(texts) => texts.push_null(),
            Self::Float(numbers) => numbers.push_null(),
            Self::Double(numbers) => numbers.push_null(),
            Self::Fixed(_, numbers) => numbers.push_null(),
            Self::Decimal(_, numbers) => numbers.push_null(),
            Self::WideDecimal(_, numbers) => numbers.push_null(),
            Self::Bool(values, nulls) => {
                values.append(false);
                nulls.append_null();
            }
            Self::List(list) => list.end_row(false)?,
            Self::Struct(fields) => {
                for (_, place) in &mut fields.fields {
                    place.column.push_null()?;
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
            Self::Float(numbers) => progress.reserve(&mut numbers.values),
            Self::Double(numbers) => progress.reserve(&mut numbers.values),
            Self::Fixed(_, numbers) => progress.reserve(&mut numbers.values),
            Self::Decimal(_, numbers) => progress.reserve(&mut numbers.values),
            Self::WideDecimal(_, numbers) => progress.reserve(&mut numbers.values),
            // Of a bit each.
            Self::Bool(..) => {}
            Self::List(list) => {
                list.rows.reserve(progress);
                list.items.column.reserve(progress);
            }
            Self::Struct(fields) => {
                fields.fields.iter_mut().for_each(|(_, place)| place.column.reserve(progress));
            }
        }
    }

    /// Drops the values after these rows.
    fn truncate(&mut self, rows: usize) {
        match self {
            Self::Json(texts) | Self::Text(texts) => texts.truncate(rows),
            Self::Float(numbers) => numbers.truncate(rows),
            Self::Double(numbers) => numbers.truncate(rows),
            Self::Fixed(_, numbers) => numbers.truncate(rows),
            Self::Decimal(_, numbers) => numbers.truncate(rows),
            Self::WideDecimal(_, numbers) => numbers.truncate(rows),
            Self::Bool(values, nulls) => {
                values.truncate(rows);
                nulls.truncate(rows);
            }
            Self::List(list) => {
                let items = list.rows.truncate(rows);
                list.items.column.truncate(items);
                list.nulls.truncate(rows);
            }
            Self::Struct(fields) => {
                fields.fields.iter_mut().for_each(|(_, place)| place.column.truncate(rows));
                fields.nulls.truncate(rows);
            }
        }
    }

    /// The array of this type.
    pub(crate) fn finish(self, data_type: &DataType) -> ArrayRef {
        match (self, data_type) {
            (Self::Json(texts) | Self::Text(texts), _) => text_array(texts, data_type),
            (Self::Bool(mut values, mut nulls), _) => {
                Arc::new(BooleanArray::new(values.finish(), nulls.finish()))
            }
            (Self::Float(numbers), _) => numbers.finish::<Float32Type>(data_type, |number| number),
            (Self::Double(numbers), _) => numbers.finish::<Float64Type>(data_type, |number| number),
            (Self::Fixed(_, numbers), _) => fixed_array(numbers, data_type),
            (Self::Decimal(_, numbers), DataType::Decimal32(..)) => {
                numbers.finish::<Decimal32Type>(data_type, |number| number as i32)
            }
            (Self::Decimal(_, numbers), DataType::Decimal64(..)) => {
                numbers.finish::<Decimal64Type>(data_type, |number| number as i64)
            }
            (Self::Decimal(_, numbers), _) => numbers.finish::<Decimal128Type>(data_type, |number| number),
            (Self::WideDecimal(_, numbers), _) => {
                numbers.finish::<Decimal256Type>(data_type, |number| number)
            }
            (Self::List(mut list), DataType::List(item)) => {
                let items = list.items.column.finish(item.data_type());
                Arc::new(ListArray::new(Arc::clone(item), list.rows.finish(), items, list.nulls.finish()))
            }
            (Self::List(mut list), DataType::LargeList(item)) => {
                let items = list.items.column.finish(item.data_type());
                let rows = widened(&list.rows.finish());
                Arc::new(LargeListArray::new(Arc::clone(item), rows, items, list.nulls.finish()))
            }
            (Self::Struct(mut columns), DataType::Struct(fields)) => {
                let columns_of = columns.fields.into_iter().zip(fields);
                let arrays =
                    columns_of.map(|((_, place), field)| place.column.finish(field.data_type())).collect();
                Arc::new(StructArray::new(fields.clone(), arrays, columns.nulls.finish()))
            }
            (_, other) => unreachable!("a column of {other}"),
        }
    }
}

/// A column in a list or a struct.
pub(crate) struct Place {
    column: Column,
    is_nullable: bool,
}

impl Place {
    fn new(slot: &Slot, name: &str, limit: usize) -> Self {
        Self { column: Column::new(&slot.column, name, limit), is_nullable: slot.is_nullable }
    }

    fn push(&mut self, value: Value<'_>) -> Result<(), Stop> {
        if !self.is_nullable && value.is_null() {
            return Err(Stop::Misfit(value.range().start, "a value other than null".into()));
        }
        self.column.push(value)
    }
}

pub(crate) struct List {
    rows: Offsets,
    nulls: NullBufferBuilder,
    items: Place,
    name: Box<str>,
}

impl List {
    fn end_row(&mut self, is_valid: bool) -> Result<(), Full> {
        self.nulls.append(is_valid);
        self.rows.end_row(self.items.column.len(), &self.name)
    }
}

pub(crate) struct Struct {
    fields: Vec<(Box<str>, Place)>,
    nulls: NullBufferBuilder,
}

impl Struct {
    /// Adds the members of the object at this offset.
    fn push<'v>(
        &mut self,
        start: usize,
        members: impl Iterator<Item = (&'v str, Value<'v>)>,
    ) -> Result<(), Stop> {
        let row = self.nulls.len();
        let mut next = 0;
        for (name, value) in members {
            // Models write members in the order of the schema.
            let is_next = self.fields.get(next).is_some_and(|(field, _)| **field == *name);
            let found =
                if is_next { Some(next) } else { self.fields.iter().position(|(field, _)| **field == *name) };
            let Some(at) = found else { continue };
            let place = &mut self.fields[at].1;
            if place.column.len() > row {
                // Of two members of the same name, the last one counts.
                place.column.truncate(row);
            }
            place.push(value)?;
            next = at + 1;
        }
        for (name, place) in &mut self.fields {
            if place.column.len() == row {
                if !place.is_nullable {
                    return Err(Stop::Misfit(start, format!("the member `{name}`")));
                }
                place.column.push_null()?;
            }
        }
        self.nulls.append_non_null();
        Ok(())
    }
}
