//! Tool calling for models with and without native function calling.
//!
//! With function calling, the request contains tools and the response contains calls. Any other model can be asked to
//! write its calls as JSON Lines. This module has the prompts and the parsers for both.
//!
//! | task | use |
//! |---|---|
//! | choose the way to call tools | [`tool_calling_support`], a [`ToolCalling`] |
//! | describe the tools to the model | [`ToolPrompter::prompt`]: a text, in a [`Language`], or the JSON for the request |
//! | parse a line, a response, a stream | [`ToolCallParser::parse_line`], [`parse`](ToolCallParser::parse), [`parse_stream`](ToolCallParser::parse_stream) |
//! | validate a text as JSON Lines of calls | [`ToolCallParser::validate_jsonl`] |
//! | adapt a schema to a provider's strict mode | [`strict_violations`] |
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
//! A call is `{"name", "parameters"}`, with a `call_id` if the model writes one, and an `error` if the model reports a
//! problem with it; such a call is delivered with the error. [`ToolCall`](tokenline_core::ToolCall) lists the other
//! member names that models use. Your own formats implement
//! [`ToolCallFormat`](tokenline_core::call_format::ToolCallFormat), for
//! [`CallFormat::custom`](tokenline_core::CallFormat::custom).
//!
//! # Not included
//!
//! This module does no I/O and runs no tools. `tokenline-llm` decodes the streamed responses of providers.

mod cache;
mod calling;
mod describe;
mod error;
mod families;
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
pub use strict::{StrictRule, StrictViolation, strict_violations};
