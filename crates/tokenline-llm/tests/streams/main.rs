//! Providers' streams and requests without a network, however the bytes are cut.

mod anthropic;
mod bedrock;
mod cohere;
#[path = "../common/mod.rs"]
mod common;
mod complete;
mod detection;
mod event_stream;
mod fixtures;
mod gemini;
mod gemini_interactions;
mod mangled;
mod messages;
mod ollama;
mod openai_chat;
mod openai_responses;
mod pushed_deltas;
mod quotas;
#[path = "../../../tokenline-core/tests/common/random.rs"]
mod random;
mod received;
mod recorded;
mod recorded_deltas;
mod repair;
mod requests;
mod second_turns;
mod shapes;
mod standalone;
mod stream;
mod strict;
mod surrogates;
mod text;
mod tool_choices;
mod undefined_calls;
#[path = "../../../tokenline-codec/tests/common/watched.rs"]
mod watched;
mod written;
