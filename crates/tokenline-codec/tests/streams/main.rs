//! Streams and codecs over sources of every kind.

mod codec;
mod codec_hooks;
#[path = "../common/mod.rs"]
mod common;
mod hooks;
mod network;
mod polling;
mod repair;
mod stream;
#[path = "../common/watched.rs"]
mod watched;
