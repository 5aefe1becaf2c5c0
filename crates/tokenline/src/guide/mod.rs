//! Guides: one page per task, with runnable examples.
//!
//! | page | what it covers |
//! |---|---|
//! | [`programs`] | fourteen complete programs, to copy |
//! | [`records`] | what counts as a record, what is recovered, what is rejected |
//! | [`promises`] | what always holds, the tests that hold it, and what it does not cover |
//! | [`streams`] | typed streams, schemas, limits, repair, reports, parsing without I/O |
//! | [`providers`] | requests, tool calls, text and reasoning from any provider, over any HTTP client |
//! | [`clients`] | tokenline after reqwest, async-openai, rig, genai or an event source |
//! | [`partials`] | showing a record while it grows |
//! | [`prompts`] | from prompt templates to validated objects |
//! | [`tools_in_text`] | tool calls from models without function calling |
//! | [`continuation`] | continuing responses and JSON documents that were cut off |
//! | [`reask`] | asking the model again for what it got wrong |
//! | [`chat_analysis`] | a chat response and its analysis as one JSON value |
//! | [`conversations`] | validating files of conversations, or of records with any schema |
//! | [`testing`] | recorded responses at any cut, faults, the replay server |
//! | [`embedding`] | transactions, MCP's `tools/call`, WebAssembly |
//! | [`performance`] | what is fast, what is slow, and how to measure |
//! | [`at_scale`] | files of gigabytes, many streams, limits, metrics |

#[doc = include_str!("records.md")]
pub mod records {}

#[doc = include_str!("promises.md")]
pub mod promises {}

#[doc = include_str!("streams.md")]
pub mod streams {}

#[doc = include_str!("providers.md")]
pub mod providers {}

#[doc = include_str!("clients.md")]
pub mod clients {}

#[doc = include_str!("partials.md")]
pub mod partials {}

#[doc = include_str!("prompts.md")]
pub mod prompts {}

#[doc = include_str!("tools_in_text.md")]
pub mod tools_in_text {}

#[doc = include_str!("continuation.md")]
pub mod continuation {}

#[doc = include_str!("reask.md")]
pub mod reask {}

#[doc = include_str!("chat_analysis.md")]
pub mod chat_analysis {}

#[doc = include_str!("conversations.md")]
pub mod conversations {}

#[doc = include_str!("testing.md")]
pub mod testing {}

#[doc = include_str!("embedding.md")]
pub mod embedding {}

#[doc = include_str!("performance.md")]
pub mod performance {}

#[doc = include_str!("at_scale.md")]
pub mod at_scale {}

/// Fourteen complete programs, each at most 70 lines of code. The tests of the repository run all of them.
///
/// # Typed records
///
/// From a model, checked against the schema of their type.
///
/// ```ignore
#[doc = include_str!("programs/typed_records.rs")]
/// ```
///
/// # A form that fills live
///
/// Typed partials from a provider.
///
/// ```ignore
#[doc = include_str!("programs/form.rs")]
/// ```
///
/// # An agent
///
/// Text as it arrives, tools run the moment each call is complete, several turns.
///
/// ```ignore
#[doc = include_str!("programs/agent.rs")]
/// ```
///
/// # Tools in parallel
///
/// At most four at once.
///
/// ```ignore
#[doc = include_str!("programs/parallel_tools.rs")]
/// ```
///
/// # An axum endpoint
///
/// Forwards records as NDJSON and server-sent events, and stops the model when the browser leaves.
///
/// ```ignore
#[doc = include_str!("programs/endpoint.rs")]
/// ```
///
/// # JSON Lines as a request
///
/// An axum endpoint that validates each line of a request's body as it arrives.
///
/// ```ignore
#[doc = include_str!("programs/ingest.rs")]
/// ```
///
/// # A chat page with the AI SDK
///
/// The server behind `useChat` and `useObject`: several steps with a tool in one message, and a list of validated records.
///
/// ```ignore
#[doc = include_str!("programs/chat.rs")]
/// ```
///
/// # A union of types
///
/// Records of several types in one response.
///
/// ```ignore
#[doc = include_str!("programs/union.rs")]
/// ```
///
/// # Asking again
///
/// For each record that breaks a rule, while the others are already used.
///
/// ```ignore
#[doc = include_str!("programs/reask.rs")]
/// ```
///
/// # Continuing after a cut
///
/// Records of a response that the token limit cut off.
///
/// ```ignore
#[doc = include_str!("programs/continued.rs")]
/// ```
///
/// # `FramedRead` with the codec
///
/// Over any `AsyncRead`, and back.
///
/// ```ignore
#[doc = include_str!("programs/framed.rs")]
/// ```
///
/// # Validating files
///
/// JSON Lines against a JSON Schema.
///
/// ```ignore
#[doc = include_str!("programs/validate_files.rs")]
/// ```
///
/// # SQLite, killed and restarted
///
/// Each record of a file once, and messages with the right line.
///
/// ```ignore
#[doc = include_str!("programs/restart.rs")]
/// ```
///
/// # A batch result file to rows
///
/// On all cores.
///
/// ```ignore
#[doc = include_str!("programs/batch_rows.rs")]
/// ```
pub mod programs {}
