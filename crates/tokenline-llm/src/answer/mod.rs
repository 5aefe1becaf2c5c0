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

pub use event::{AnswerEvent, TextAs};
pub use parser::AnswerParser;
pub use provider::Provider;
