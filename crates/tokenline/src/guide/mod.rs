//! Guides: one page per task, with runnable examples.
//!
//! | page | what it covers |
//! |---|---|
//! | [`records`] | what counts as a record, what is recovered, what is rejected |
//! | [`streams`] | typed streams, schemas, limits, repair, reports, parsing without I/O |
//! | [`providers`] | requests, tool calls, text and reasoning from any provider, over any HTTP client |
//! | [`partials`] | showing a record while it grows |
//! | [`prompts`] | from prompt templates to validated objects |
//! | [`tools_in_text`] | tool calls from models without function calling |
//! | [`continuation`] | continuing responses and JSON documents that were cut off |
//! | [`chat_analysis`] | a chat response and its analysis as one JSON value |
//! | [`conversations`] | validating files of conversations, or of records with any schema |
//! | [`performance`] | what is fast, what is slow, and how to measure |
//! | [`at_scale`] | files of gigabytes, many streams, limits, metrics |

#[doc = include_str!("records.md")]
pub mod records {}

#[doc = include_str!("streams.md")]
pub mod streams {}

#[doc = include_str!("providers.md")]
pub mod providers {}

#[doc = include_str!("partials.md")]
pub mod partials {}

#[doc = include_str!("prompts.md")]
pub mod prompts {}

#[doc = include_str!("tools_in_text.md")]
pub mod tools_in_text {}

#[doc = include_str!("continuation.md")]
pub mod continuation {}

#[doc = include_str!("chat_analysis.md")]
pub mod chat_analysis {}

#[doc = include_str!("conversations.md")]
pub mod conversations {}

#[doc = include_str!("performance.md")]
pub mod performance {}

#[doc = include_str!("at_scale.md")]
pub mod at_scale {}
