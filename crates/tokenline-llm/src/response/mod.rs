//! A model's answer, from the wire's bytes to records and tool calls.

mod array;
mod choice;
mod deferred;
mod element;
mod event;
mod lines;
mod outbox;
mod parser;
mod provider;
mod state;
mod surrogates;
mod text;
mod wire;

pub use event::{ResponseEvent, TextAs};
pub use parser::ResponseParser;
pub use provider::Provider;
