//! Tool calling for models with and without native function calling.
//!
//! With function calling, the request contains tools and the response contains calls. Any other model can be asked to
//! write its calls as JSON Lines. This module has the prompts and the parsers for both, and for servers that leave the
//! chat template to you, the parts of the template about tools.
//!
//! | task | use |
//! |---|---|
//! | choose the way to call tools | [`tool_calling_support`], a [`ToolCalling`] |
//! | describe the tools to the model | [`ToolPrompter::prompt`]: a text, in a [`Language`] or for a model family, or the JSON for the request |
//! | give the results of calls to a model family | [`ToolPrompter::results`] |
//! | send a request with tools to a model that has only text | [`ToolPrompter::tools_in_prompt`], [`ToolPrompter::calls`] |
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
//! let response = client.ask(prompt.text().expect("JSON Lines are asked for in text"));
//!
//! let parsed = prompter.parser(&calling, &tools)?.parse(&response);
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
//! # Model families
//!
//! For a format in [`CallSyntax`](tokenline_core::call_format::CallSyntax)'s table, or a model family that writes it, the
//! prompt is what the family's chat template has in its place: its markers, its form of schemas and results, and
//! an example call in the syntax that the parser reads. The sentences between them are not those of the template. There
//! is none for families whose template was not found or is disputed; [`ToolPromptError::NoTemplate`] lists the others.
//!
//! | name | tools | results |
//! |---|---|---|
//! | `hermes`, `hermes-2`, `hermes-3` | in the system message | a `tool` turn |
//! | `qwen2.5`, `qwen3`, `qwq`, `qwen3.5`, `qwen3-coder` or `function_tag` | at the end of the system message | a `user` turn |
//! | `llama3`, `llama-3.3`; `pythonic`, `llama-3.2` | in the first user message or the system message | an `ipython` turn each |
//! | `llama-3.1` (`<function=...>`), `llama-4` | in the system message | an `ipython` turn each |
//! | `mistral`, `ministral`, `devstral`, ... | before the last `[INST]`; with version 13 of the tokenizer, the first | `[TOOL_RESULTS]` each: with the call's id as in versions 7 and 11, without one as in 13 |
//! | `deepseek-v3`, `deepseek-r1`, `deepseek-v3.1` | at the end of the system message | after the end of the call's turn |
//! | `deepseek-v3.2` | at the end of the system message | `<function_results>`, with the blank line before it |
//! | `deepseek-v4` | at the end of the system message | a user turn |
//! | `kimi-k2`, `kimi-k3` | a turn of its own, the first | a turn each |
//! | `glm`, `glm-4.5`, `glm-4.6`, `glm-4.7` | a system turn of its own, the first | an observation turn |
//! | `harmony`, `gpt-oss` | at the end of the developer message | a message of the tool each |
//! | `minimax-m2` | at the end of the system message | a `tool` turn |
//! | `granite`, `granite-3` (3.3) | a turn after the system message | a `tool` turn each |
//! | `toolcall`, `nemotron-nano-2` | at the end of the system message | in a user turn |
//! | `cohere`, `command-r7b` | in the system preamble | a system turn |
//! | `lfm2` | at the end of the system message | a `tool` turn each |
//! | `gemma4`; `functiongemma` | at the end of the system turn, of the developer turn | in the model's own turn, which goes on |
//!
//! A prompt is only the part about tools: no BOS token, no turn around it except where the table says so, no blank line
//! that separates it from the text around. Results are whole turns with their role markers, up to and including the
//! marker that ends the turn; not the end of the model's turn before them, such as `<|im_end|>`, and not the beginning of
//! its next one. What a family's template says elsewhere is not included: Harmony's system message names the channel
//! for calls, Llama's has the line `Environment: ipython`, FunctionGemma's developer turn begins with a fixed sentence.
//!
//! Schemas are written as the family's template writes them. Those of Harmony, Qwen3-Coder, Gemma and FunctionGemma are
//! in a form of their own, which has no place for everything that JSON Schema can say, such as `$ref`. Markers in
//! descriptions and results are written as they are: a server that reads special tokens anywhere reads them there.
//!
//! # Not included
//!
//! This module does no I/O and runs no tools. `tokenline-llm` decodes the streamed responses of providers.

mod cache;
mod calling;
mod describe;
mod error;
mod families;
mod in_prompt;
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
