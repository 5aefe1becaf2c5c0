//! A response, read as its prompt specifies.

mod by_type;
mod json;
mod objects;

pub use by_type::Response;
pub use objects::{Objects, ObjectsWarning};
