//! Tools for models that call them by themselves, and for models that cannot.
//!
//! A provider with function calling takes tools in the request, and puts calls into the response. Any other
//! model can be asked to write its calls as JSON Lines. Here is both: what the model is told, and the reader of
//! what it answers.
//!
//! | to | there is |
//! |---|---|
//! | find out which way it is | [`tool_calling_support`], a [`ToolCalling`] |
//! | tell the model of the tools | [`ToolPrompter::prompt`]: a text, in a [`Language`], or the JSON for the request |
//! | read a line, a response, a stream | [`ToolCallParser::parse_line`], [`parse`](ToolCallParser::parse), [`parse_stream`](ToolCallParser::parse_stream) |
//! | check that a text is JSON Lines of calls | [`ToolCallParser::validate_jsonl`] |
//! | fit a schema for a provider's strict mode | [`strict_findings`] |
//!
//! ```
//! use tokenline_core::{ToolDefinition, json::Raw};
//! use tokenline_prompt::tools::{FunctionCallingSupport, ToolPrompter};
//!
//! struct Client;
//!
//! impl Client {
//!     fn ask(&self, prompt: &str) -> String {
//!         assert!(prompt.contains("- weather: The weather of a city."));
//!         // As a model might write it.
//!         "Sure:\n```jsonl\n{\"name\": \"weather\", \"parameters\": {\"city\": \"Paris\"}}\n\
//!          {\"name\": \"weather\", \"parameters\": {\"town\": \"Rome\"}}\n```"
//!             .to_owned()
//!     }
//! }
//!
//! impl FunctionCallingSupport for Client {
//!     fn supports_function_calling(&self) -> bool {
//!         false
//!     }
//! }
//!
//! let weather = ToolDefinition::new("weather")
//!     .with_description("The weather of a city.")
//!     .with_parameters(Raw::new(
//!         r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#,
//!     )?);
//! let tools = [weather];
//! let client = Client;
//!
//! let prompter = ToolPrompter::new();
//! let calling = prompter.tool_calling_support("http://127.0.0.1:11434 gemma3", &client);
//! assert_eq!(calling.as_str(), "jsonl");
//!
//! let prompt = prompter.prompt(&calling, &tools)?;
//! let answer = client.ask(prompt.text().expect("JSON Lines are asked for in text"));
//!
//! let parsed = prompter.parser(&calling, &tools)?.parse(&answer);
//! assert_eq!(parsed.calls[0].parameters, r#"{"city": "Paris"}"#);
//! assert_eq!(
//!     parsed.rejected[0].to_string(),
//!     "4:35: invalid_parameters: missing required member `city` (at /parameters)"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The formats
//!
//! A call is `{"name", "parameters"}`, with a `call_id` if the model gives one, and an `error` if it says that
//! something is wrong with it; such a call is delivered with the error. Whatever else models call these members
//! is in [`ToolCall`](tokenline_core::ToolCall). Formats of one's own are a
//! [`ToolCallFormat`](tokenline_core::call_format::ToolCallFormat) in
//! [`CallFormat::custom`](tokenline_core::CallFormat::custom).
//!
//! # What this is not
//!
//! It does no I/O and runs no tool. The streamed responses of providers are decoded in `tokenline-llm`.

mod cache;
mod calling;
mod describe;
mod error;
mod language;
mod native;
mod parsed;
mod parser;
mod prompter;
mod strict;
mod text;

pub use cache::{CacheCount, CacheCounts, CacheSizes};
pub use calling::{FunctionCallingSupport, ToolCalling, tool_calling_support};
pub use describe::tool_descriptions;
pub use error::ToolPromptError;
pub use language::Language;

pub use parsed::ParsedCalls;
pub use parser::ToolCallParser;
pub use prompter::{ToolPrompt, ToolPrompter};
pub use strict::{StrictFinding, StrictRule, strict_findings};
