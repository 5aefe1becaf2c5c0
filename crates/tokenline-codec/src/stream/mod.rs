//! Records from a stream of byte chunks.

mod async_repair;
mod error;
mod events;
mod items;
mod next;
mod parser;
mod partials;
mod pump;
mod stop_on_error;
mod stop_on_reject;
mod text_events;

pub use async_repair::AsyncRepair;
pub use error::{SourceError, StopOnRejectError, StreamError};
pub use events::{EventStream, Reporting};
pub use items::{Items, Records, ToolCalls, Values};
pub use next::Next;
pub use parser::JsonlStreamParser;
pub use partials::{ClonedPartials, Partials};
pub use pump::Pump;
pub use stop_on_error::StopOnError;
pub use stop_on_reject::StopOnReject;
pub use text_events::TextEvents;
