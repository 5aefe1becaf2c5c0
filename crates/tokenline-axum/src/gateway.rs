//! A gateway: clients of OpenAI's and Anthropic's APIs in front, one server of any provider behind, and between them every
//! response as native, validated tool calls.
//!
//! | path | client |
//! |---|---|
//! | `POST /v1/chat/completions` | OpenAI chat completions |
//! | `POST /v1/responses` | OpenAI Responses |
//! | `POST /v1/messages`, `POST /v1/messages/count_tokens` | Anthropic |
//! | `GET /v1/models`, `GET /v1/models/{id}` | Anthropic if the request has the header `anthropic-version`, else OpenAI |
//! | `GET /metrics` | Prometheus |
//!
//! A request in the API of the upstream is forwarded as it is, byte for byte, and so is its response, unless an option changes
//! responses. Without a [call format](Gateway::call_format), it is forwarded all the same if it uses what only that API has: the
//! provider's own tools, citations, log probabilities. Any other is translated: the request, the response, and errors.
//!
//! ```
//! use tokenline::{CallFormat, LlmClient};
//! use tokenline::llm::Provider;
//! use tokenline_axum::gateway::Gateway;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A local server whose model writes its calls as text.
//! let upstream = LlmClient::builder(Provider::OpenAiChat).base_url("http://127.0.0.1:8080").retries(0).build()?;
//! let gateway = Gateway::new(upstream).call_format(CallFormat::Auto).on_request(|request| eprintln!("{request}"));
//! // Alone, or beside the paths of another server: clients then have `/model/v1` in their base URL.
//! let router = axum::Router::new().nest("/model", gateway.into_router());
//! # let _: axum::Router = router;
//! # Ok(())
//! # }
//! ```
//!
//! # Tool calls
//!
//! The arguments of each call in a translated response are validated against the schemas of the request's tools, and converted to the types that
//! they declare if no information is lost. A call goes out when it is proved complete, whole;
//! [`growing_arguments`](Gateway::growing_arguments) sends its arguments as they arrive. A rejected call is left out if the
//! response has others; a response that ends to call tools and has none left is an error.
//!
//! Calls in the text are read only with a [call format](Gateway::call_format): what a model quotes must not run. A model
//! without function calling gets the tools [in its prompt](Gateway::tools_in_prompt).
//!
//! # JSON
//!
//! If the request has a JSON Schema for the text, the text is validated as it arrives: each item of a list, if the schema is a
//! list or an object that has only a list; else the object as a whole. [`RequestSummary`] counts records and rejects, and the
//! text goes on as the model writes it. With [`reask`](Gateway::reask), [`repair_syntax`](Gateway::repair_syntax) or
//! [`max_continuations`](Gateway::max_continuations), it is written anew from what the schema accepts: each item as soon as it
//! is complete, an object at its end. Rejected items are then left out; if nothing else is left, the response is an error.
//!
//! # Errors
//!
//! Each error has the form of the client's API, in a stream as well. A request is sent to the upstream once: once the
//! model may have run, the response has the header `x-should-retry: false`, which the libraries of OpenAI and Anthropic
//! obey. The AI SDK and LangChain do not look at it: set their retries to 0.
//!
//! # Security
//!
//! Whoever reaches the gateway can use the upstream. It refuses requests that name another [host](Gateway::host_names),
//! against DNS rebinding, and requests of web pages, by their `Origin`, unless the page is
//! [listed](Gateway::origins). [`token`](Gateway::token) demands a token of each request. The client's key is passed on,
//! unless the upstream's client has one. Keys are in no summary and no metric; contents are in the messages of errors only.
//!
//! It does not choose between models, and has no users, budgets or caches.

mod account;
mod body;
mod fault;
mod forward;
mod guard;
mod incoming;
mod metrics;
mod models;
mod response_events;
mod router;
mod schema;
mod settings;
mod summary;
mod tools;
mod translate;

pub use settings::Gateway;
pub use summary::RequestSummary;
