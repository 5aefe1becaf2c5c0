//! A model's response: the wire's bytes in, records and tool calls out.

mod arrived;
mod choice;
mod data_loss;
mod deferred;
mod event;
mod event_queue;
mod frames;
#[cfg(all(feature = "client", not(target_family = "wasm")))]
mod item_options;
mod loop_guard;
mod message;
mod open_calls;
mod options;
mod parser;
mod state;
mod surrogates;
mod text;

pub use data_loss::DataLoss;
pub use event::{LentResponseEvent, ResponseEvent, TextMode};
pub(crate) use message::joined;
pub use options::ResponseOptions;
pub use parser::ResponseParser;
