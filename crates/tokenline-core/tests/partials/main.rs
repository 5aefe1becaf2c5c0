//! What is told of a document, or of a record, before it is whole.

mod apply;
mod documents;
mod properties;
mod records;
mod work;
