//! Typed columns, derived from a schema or declared.

mod arrays;
mod column;
mod column_type;
mod convert;
mod scalar;

pub(crate) use column::Column;
pub(crate) use column_type::TypedColumn;
use column_type::{ColumnType, Slot};
