//! Requests: what is sent to a model, in each provider's format.
//!
//! A [`ChatRequest`] is the same for every provider; [`to_body`](ChatRequest::to_body) writes it in the format of one.
//! No I/O happens here: send the body with any HTTP client.
#![cfg_attr(feature = "client", doc = "[`LlmClient`](crate::client::LlmClient) is the one included.")]
//!
//! ```
//! use tokenline_core::ToolDefinition;
//! use tokenline_llm::Provider;
//! use tokenline_llm::request::ChatRequest;
//!
//! let request = ChatRequest::new("llama3.2")
//!     .system("One JSON object a line, nothing else.")
//!     .user("Definitions from: DNA carries genes.")
//!     .tools([ToolDefinition::new("now").with_description("The time.")])
//!     .max_tokens(500);
//! let body: serde_json::Value = serde_json::from_str(&request.to_body(Provider::Ollama)?)?;
//! assert_eq!(body["messages"][1]["content"], "Definitions from: DNA carries genes.");
//! assert_eq!((&body["options"]["num_predict"], &body["stream"]), (&500.into(), &true.into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`ReceivedRequest`] is the opposite, for gateways: it reads the body that a client sent in the format of OpenAI chat
//! completions, OpenAI Responses or Anthropic messages.
//!
//! # What each provider receives
//!
//! | | OpenAI chat | OpenAI Responses | Anthropic | Gemini | Ollama |
//! |---|---|---|---|---|---|
//! | system | a message | `instructions` | `system` | `systemInstruction` | a message |
//! | tools | `tools` | `tools` | `tools` | `functionDeclarations` | `tools` |
//! | [`ToolChoice`] | `tool_choice` | `tool_choice` | `tool_choice` | `functionCallingConfig` | - |
//! | [`ResponseFormat::Json`] | `response_format` | `text.format` | - | `responseMimeType` | `format` |
//! | [`ResponseFormat::JsonSchema`] | `response_format` | `text.format` | `output_config.format` | `responseJsonSchema` | `format` |
//! | `max_tokens` | `max_tokens`, or `max_completion_tokens` at OpenAI | `max_output_tokens` | `max_tokens`, 8192 if not set | `maxOutputTokens` | `num_predict` |
//! | `temperature`, `top_p` | yes | yes | models up to Claude Opus 4.6 | yes | yes |
//! | `stop` | `stop` | - | `stop_sequences` | `stopSequences` | `stop` |
//! | `seed` | yes | - | - | yes | yes |
//!
//! A dash marks a setting that is an error for this provider; nothing is dropped silently. Everything else that a
//! server understands goes into [`extra`](ChatRequest::extra).
//!
//! A system message inside the conversation is a message for OpenAI, Anthropic, Cohere and Ollama, and an error for the
//! others.
//!
//! An assistant message keeps its parts in order, with the data that the provider [attached](Opaque): it goes back to
//! that provider and is omitted for any other; see [`omitted_opaque`](ChatRequest::omitted_opaque).
//!
//! A response may hold what the API refuses in the next request. Texts that are blank for the provider are omitted, and
//! so is an assistant message of which nothing is left. Names and ids of calls that it refuses are changed, for a call and
//! its result alike; the name of a tool of the request stays.

mod assistant;
mod call_validators;
mod called_tools;
mod chat_request;
mod error;
pub(crate) mod history;
pub(crate) mod json;
mod kept_message;
mod list;
mod message;
pub(crate) mod received;
mod response_format;
mod sent_ids;
pub(crate) mod strict;
pub(crate) mod turns;
mod user;

pub use assistant::{AssistantPart, Opaque};
pub(crate) use called_tools::CalledTools;
pub use chat_request::{ChatRequest, ToolChoice};
pub use error::RequestError;
pub(crate) use json::Object;
pub(crate) use kept_message::{KeptMessage, ReturnedMessage};
pub use message::{Message, ToolResult};
pub use received::{InvalidRequest, ReceivedRequest};
pub use response_format::{JsonFormat, ResponseFormat};
pub use user::{Source, UserPart};
