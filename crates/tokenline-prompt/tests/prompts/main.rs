//! Prompts: configuration, rendering, and reading of responses.

mod built_in;
#[path = "../common/mod.rs"]
mod common;
mod config;
mod invoke;
mod json;
mod jsonl;
mod limits;
mod render;
