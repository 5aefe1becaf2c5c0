//! The texts of rows in, their records, tool calls and rejects out.

mod batch;
mod response;
mod row;
mod text;

pub(crate) use row::RowReader;
