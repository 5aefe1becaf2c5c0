//! A model's answer, from the wire's bytes to records and tool calls.

mod choice;
mod event;
mod outbox;
mod parser;
mod state;

pub use event::{AnswerEvent, TextAs};
pub use parser::{AnswerParser, Provider};
