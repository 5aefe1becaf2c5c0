//! wip
mod compare;
mod error;
mod explain;
mod number;
mod place;
mod pointer;
mod refusal;
mod tape;
mod text;
mod tools;
mod validator;

pub use error::{SchemaError, SchemaErrorKind};
pub use tools::ToolSet;
pub use validator::{SchemaOptions, SchemaValidator};
