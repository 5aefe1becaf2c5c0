//! The arrays of a column's values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, LargeStringArray, PrimitiveArray, StringViewArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit};

use crate::output::{TextBuilder, shrunk};

/// The array of texts of this type.
pub(super) fn text_array(texts: TextBuilder, data_type: &DataType) -> ArrayRef {
    let array = texts.finish();
    match data_type {
        DataType::LargeUtf8 => {
            let (offsets, bytes, nulls) = array.as_string::<i32>().clone().into_parts();
            Arc::new(LargeStringArray::new(widened(&offsets), bytes, nulls))
        }
        DataType::Utf8View => Arc::new(StringViewArray::from(array.as_string::<i32>())),
        _ => array,
    }
}

/// The same offsets for a large list or a large text.
pub(super) fn widened(offsets: &OffsetBuffer<i32>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|&offset| i64::from(offset)).collect())
}

/// Narrows what [`Fixed::read`](super::scalar::Fixed::read) gave, which fits.
pub(super) fn fixed_array(numbers: Primitive<i64>, data_type: &DataType) -> ArrayRef {
    match data_type {
        DataType::Int8 => numbers.finish::<Int8Type>(data_type, |number| number as i8),
        DataType::Int16 => numbers.finish::<Int16Type>(data_type, |number| number as i16),
        DataType::Int32 => numbers.finish::<Int32Type>(data_type, |number| number as i32),
        DataType::Int64 => numbers.finish::<Int64Type>(data_type, |number| number),
        DataType::UInt8 => numbers.finish::<UInt8Type>(data_type, |number| number as u8),
        DataType::UInt16 => numbers.finish::<UInt16Type>(data_type, |number| number as u16),
        DataType::UInt32 => numbers.finish::<UInt32Type>(data_type, |number| number as u32),
        DataType::UInt64 => numbers.finish::<UInt64Type>(data_type, |number| number as u64),
        DataType::Date32 => numbers.finish::<Date32Type>(data_type, |number| number as i32),
        DataType::Date64 => numbers.finish::<Date64Type>(data_type, |number| number),
        DataType::Time32(TimeUnit::Second) => {
            numbers.finish::<Time32SecondType>(data_type, |number| number as i32)
        }
        DataType::Time32(_) => numbers.finish::<Time32MillisecondType>(data_type, |number| number as i32),
        DataType::Time64(TimeUnit::Microsecond) => {
            numbers.finish::<Time64MicrosecondType>(data_type, |number| number)
        }
        DataType::Time64(_) => numbers.finish::<Time64NanosecondType>(data_type, |number| number),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => numbers.finish::<TimestampSecondType>(data_type, |number| number),
            TimeUnit::Millisecond => numbers.finish::<TimestampMillisecondType>(data_type, |number| number),
            TimeUnit::Microsecond => numbers.finish::<TimestampMicrosecondType>(data_type, |number| number),
            TimeUnit::Nanosecond => numbers.finish::<TimestampNanosecondType>(data_type, |number| number),
        },
        other => unreachable!("a column of {other}"),
    }
}

/// A column of values of one size.
pub(crate) struct Primitive<T> {
    pub(super) values: Vec<T>,
    nulls: NullBufferBuilder,
}

impl<T: Default + arrow_buffer::ArrowNativeType> Primitive<T> {
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    pub(super) fn push(&mut self, value: T) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    pub(super) fn push_null(&mut self) {
        self.values.push(T::default());
        self.nulls.append_null();
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    pub(super) fn finish<A: ArrowPrimitiveType>(
        mut self,
        data_type: &DataType,
        narrow: fn(T) -> A::Native,
    ) -> ArrayRef {
        // In place, if the size is the same.
        let values: Vec<A::Native> = shrunk(self.values).into_iter().map(narrow).collect();
        Arc::new(
            PrimitiveArray::<A>::new(values.into(), self.nulls.finish()).with_data_type(data_type.clone()),
        )
    }
}
