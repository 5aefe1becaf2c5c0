//! Chat responses with their analysis.

mod check;
mod common;
mod reader;
mod store;
mod xml;
