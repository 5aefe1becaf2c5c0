//! A model's answer, from the wire's bytes to records and tool calls.

mod choice;
mod deferred;
mod event;
mod frames;
mod message;
mod outbox;
mod parser;
mod state;
mod surrogates;
mod text;

pub use event::{ResponseEvent, TextAs};
pub use parser::ResponseParser;
