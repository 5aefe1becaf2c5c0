//! The providers' framings: how a stream is split into events.

mod array;
mod body;
mod crc32;
mod element;
mod event_stream;
mod frames;
mod framing;
mod lines;

pub use event_stream::{EventStreamDecoder, EventStreamEvent, EventStreamMessage};
pub(crate) use frames::{Frame, FrameDecoder, WireEvent};
pub(crate) use framing::Framing;
