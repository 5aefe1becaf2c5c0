//! Other layouts of the same values, for a consumer that requests one.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, LargeListArray, LargeStringArray, ListArray, StringViewArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

/// The values of `array` as an array of another type: large text or text views for text, large lists for lists, in structs
/// and lists as well. `None` if the type is for other values; that does not depend on the rows.
pub(crate) fn convert(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    Some(match (array.data_type(), to) {
        (from, to) if from == to => Arc::clone(array),
        (DataType::Utf8, DataType::LargeUtf8) => {
            let (offsets, values, nulls) = array.as_string::<i32>().clone().into_parts();
            Arc::new(LargeStringArray::new(widen(&offsets), values, nulls))
        }
        (DataType::Utf8, DataType::Utf8View) => Arc::new(StringViewArray::from(array.as_string::<i32>())),
        (DataType::List(from), DataType::List(to)) if holds(to, from) => {
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::new(Arc::clone(to), offsets, convert(&values, to.data_type())?, nulls))
        }
        (DataType::List(from), DataType::LargeList(to)) if holds(to, from) => {
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            let values = convert(&values, to.data_type())?;
            Arc::new(LargeListArray::new(Arc::clone(to), widen(&offsets), values, nulls))
        }
        (DataType::Struct(from), DataType::Struct(to)) if from.len() == to.len() => {
            let is_same =
                |(from, to): (&Arc<Field>, &Arc<Field>)| from.name() == to.name() && holds(to, from);
            if !from.iter().zip(to).all(is_same) {
                return None;
            }
            let (_, columns, nulls) = array.as_struct().clone().into_parts();
            let columns = columns.iter().zip(to).map(|(column, to)| convert(column, to.data_type()));
            Arc::new(StructArray::new(to.clone(), columns.collect::<Option<_>>()?, nulls))
        }
        _ => return None,
    })
}

/// Whether `to` may have every null of `from`.
fn holds(to: &Field, from: &Field) -> bool {
    to.is_nullable() || !from.is_nullable()
}

fn widen(offsets: &OffsetBuffer<i32>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|&offset| i64::from(offset)).collect())
}
