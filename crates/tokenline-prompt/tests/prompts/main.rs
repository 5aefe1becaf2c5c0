//! Prompts: their configuration, how they are rendered, and how responses are read.

mod built_in;
#[path = "../common/mod.rs"]
mod common;
mod config;
mod invoke;
mod json;
mod jsonl;
mod render;
