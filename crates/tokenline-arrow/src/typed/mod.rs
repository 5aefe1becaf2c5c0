//! Typed columns, derived from a schema.

mod column;
mod column_type;
mod convert;

pub(crate) use column::Column;
pub(crate) use column_type::ColumnType;
