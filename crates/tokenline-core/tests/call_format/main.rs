//! Tool calls in text that are not JSON objects: each format, split at every position.

mod cases;
mod driver;
#[path = "../common/extent.rs"]
mod extent;
mod function_tag;
mod fuzzed;
mod growth;
mod hermes;
mod hostile;
mod mistral;
mod own;
mod pythonic;
mod random_calls;
mod round_trip;
mod together;
mod writers;
