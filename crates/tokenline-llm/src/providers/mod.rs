//! The providers, one module each.
//!
//! [`EventDecoder`] decodes the events of a stream from any transport; [`ResponseParser`](crate::ResponseParser) uses
//! it.
//
// A module implements `ProviderApi` and `RequestApi` for `Api` (endpoint, end of a stream; request body) and `EventReader`
// for `Reader` (the events of a stream), and has a row in `provider.rs`.

mod anthropic;
mod api;
mod bedrock;
mod blocks;
mod call_blocks;
mod cohere;
mod decoder;
mod gemini;
mod gemini_interactions;
mod ollama;
mod openai_chat;
mod openai_responses;
mod provider;
mod shape_cache;
mod values;

#[cfg(feature = "client")]
pub(crate) use api::{Endpoint, KeyHeader};
pub(crate) use api::{RequestApi, Setting};
pub use decoder::EventDecoder;
pub use provider::Provider;
pub use shape_cache::EventShapes;
#[cfg(any(feature = "client", feature = "reqwest-eventsource"))]
pub(crate) use values::error_of_body;
pub(crate) use values::{error_message, error_of_object, text_of};

#[doc(hidden)]
pub use crate::wire::{EventStreamDecoder, EventStreamEvent, EventStreamMessage};
