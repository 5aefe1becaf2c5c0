//! Columns of lists.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, FieldRef, Fields};

use super::Offsets;

/// The fields of the structs in a list.
pub(super) fn entry_fields(list: &FieldRef) -> &Fields {
    match list.data_type() {
        DataType::List(item) => match item.data_type() {
            DataType::Struct(fields) => fields,
            other => unreachable!("a list of {other}"),
        },
        other => unreachable!("a column of {other}"),
    }
}

/// A column of lists of structs.
pub(super) fn list(
    field: &FieldRef,
    offsets: Offsets,
    entries: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let DataType::List(item) = field.data_type() else { unreachable!("a column of {}", field.data_type()) };
    let entries = StructArray::new(entry_fields(field).clone(), entries, None);
    Arc::new(ListArray::new(Arc::clone(item), offsets.finish(), Arc::new(entries), nulls))
}

/// A column of places. Offsets, lines and columns of a text in memory fit `i64`.
pub(super) fn places(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}
