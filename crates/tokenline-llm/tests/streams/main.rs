//! Providers' streams and requests without a network: what bytes come to, however they are cut.

mod alike;
mod anthropic;
#[path = "../common/mod.rs"]
mod common;
mod fixtures;
mod gemini;
mod hooks;
mod mangled;
mod ollama;
mod openai_chat;
mod openai_responses;
mod recorded;
mod requests;
mod stream;
mod surrogates;
mod text;
#[path = "../../../tokenline-codec/tests/common/watched.rs"]
mod watched;
