//! A model's answer, from the wire's bytes to records and tool calls.

mod choice;
mod deferred;
mod event;
mod event_queue;
mod frames;
mod message;
mod parser;
mod state;
mod surrogates;
mod text;

pub use event::{ResponseEvent, TextMode};
pub use parser::ResponseParser;
