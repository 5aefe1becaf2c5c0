//! Whole flows, each a page that compiles and runs: against a server on this machine that replays streams
//! recorded from a real model, as `tokenline replay` does.
//!
//! | page | from | to |
//! |---|---|---|
//! | [`prompts`] | a template and its terms | validated objects while the model is still writing |
//! | [`chat_analysis`] | a question | an answer shown while it grows, and its analysis, checked and stored as XML |
//! | [`tools_in_text`] | a model that cannot call functions | tool calls all the same |

#[doc = include_str!("prompts.md")]
pub mod prompts {}

#[doc = include_str!("chat_analysis.md")]
pub mod chat_analysis {}

#[doc = include_str!("tools_in_text.md")]
pub mod tools_in_text {}
