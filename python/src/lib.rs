//! The extension module of the Python package `tokenline`.
//!
//! `parser.rs`, `stream.rs` and `live.rs` have the classes that read; the machines under them are in `machine/`, and
//! what they yield in `events.rs`, `calls.rs` and `parts.rs`. What has no speed to lose is written in Python.
#![deny(unsafe_code)]

mod arrow;
mod bytes;
mod cache;
mod calls;
mod capsule;
mod conversations;
mod errors;
mod events;
mod growing;
mod hint;
mod layout;
mod live;
mod machine;
mod model;
mod names;
mod open_calls;
mod parser;
mod partial;
mod parts;
mod raw;
mod reader;
mod report;
mod schema;
mod settings;
mod shared;
mod stream;
mod tools;
mod value;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The extension module of `tokenline`.
#[pymodule(gil_used = false)]
fn _tokenline(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<events::Record>()?;
    module.add_class::<events::Reject>()?;
    module.add_class::<events::Note>()?;
    module.add_class::<calls::ToolCall>()?;
    module.add_class::<calls::RejectedCall>()?;
    module.add_class::<conversations::ConversationChecker>()?;
    module.add_class::<parts::Text>()?;
    module.add_class::<parts::Reasoning>()?;
    module.add_class::<parts::Refusal>()?;
    module.add_class::<parts::Finish>()?;
    module.add_class::<parts::Usage>()?;
    module.add_class::<parser::JsonlParser>()?;
    module.add_class::<live::Live>()?;
    module.add_class::<open_calls::OpenCall>()?;
    module.add_class::<parser::ResponseParser>()?;
    module.add_class::<partial::Plan>()?;
    module.add_class::<report::Report>()?;
    module.add_class::<schema::SchemaValidator>()?;
    module.add_class::<tools::ToolSet>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<stream::Machinery>()?;
    module.add_class::<machine::Question>()?;
    arrow::add_to(module)?;
    let providers = tokenline_llm::Provider::ALL.iter().map(|provider| provider.as_str());
    module.add("NAMES", names::dict(module.py())?)?;
    module.add("PROVIDERS", PyTuple::new(module.py(), providers)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
