//! The output of a batch while it is built.

mod batch;
mod calls;
mod columns;
mod fields;
mod lists;
mod records;
mod rejects;
mod status;
mod text;

pub(crate) use batch::{BatchColumns, BatchRow};
pub(crate) use calls::CallColumns;
pub(crate) use columns::Output;
pub(crate) use fields::output_fields;
pub(crate) use records::{PushError, RecordColumns};
pub(crate) use rejects::RejectColumns;
pub(crate) use status::Status;
pub(crate) use text::{Offsets, Progress, TextBuilder, shrunk};
