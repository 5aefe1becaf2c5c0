//! An HTTP client: from a request to a stream of records or tool calls with one call.
//!
//! ```
//! use tokenline_llm::client::LlmClient;
//! use tokenline_llm::Provider;
//! use tokenline_llm::request::ChatRequest;
//!
//! #[derive(serde::Deserialize)]
//! struct Definition {
//!     entity: String,
//!     definition: String,
//! }
//!
//! # #[cfg(not(feature = "replay"))]
//! # fn main() {}
//! # #[cfg(feature = "replay")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use tokenline_llm::replay::{self, ReplayServer};
//! # let server = ReplayServer::bind("127.0.0.1:0".parse()?, replay::builtin()).await?;
//! # let base_url = &server.url();
//! // The key is read from the environment: OPENAI_API_KEY.
//! let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
//! let request = ChatRequest::new("definitions")
//!     .system("Write JSON Lines: {\"entity\", \"definition\"}.")
//!     .user("What is in a cell?");
//! let mut records = client.stream(&request)?.typed::<Definition>().send().await?.records();
//! while let Some(record) = records.next().await {
//!     let definition = record?.value;
//!     println!("{}: {}", definition.entity, definition.definition);
//! }
//! assert!(records.report().records() > 0 && records.report().is_complete());
//! # Ok(())
//! # }
//! ```
//!
//! Dropping the stream closes the connection; not reading from it slows the provider down.
//!
//! # When a request is sent again
//!
//! Only before the first byte of a response, and only if it produced nothing: the connection failed, or the provider
//! responded with 429 or a 5xx. `Retry-After` is honoured up to a minute; a longer wait becomes an error that names it.
//! `504` and `524` are not repeated: the model may have started, as it may if the connection breaks before the
//! response. Once a response has begun, the request is never sent again. [`retries`](LlmClientBuilder::retries) sets
//! the number of repetitions; 0 disables them.
//!
//! # Secrets
//!
//! Keys, headers set with [`header`](LlmClientBuilder::header), and the secrets in the base URL (user and password,
//! keys in the query) never appear in errors, logs or debug output; if a provider repeats one in an error it is masked.
//! Errors show the host and the path of a request, but no other part of its URL: a token in the path is visible.
//! Redirects are followed only to the same scheme, host and port, and only if they keep the request unchanged (307 and
//! 308).
//!
//! # TLS
//!
//! TLS is rustls, with the system's trusted certificates. Its cryptography is ring; with the feature `aws-lc` it is
//! aws-lc-rs, which adds post-quantum key exchange, but needs a C compiler and a minute to build. If the program
//! installs a provider of its own (`rustls::crypto::CryptoProvider::install_default`) before building a client, the
//! client uses it. [`tls`](LlmClientBuilder::tls) sets another configuration.
//!
//! The client installs no provider for the process, and does not change the HTTP clients of other crates. It uses
//! reqwest 0.12 with ring compiled in. A program that also uses reqwest gets what it asks for:
//!
//! | reqwest in the program | its own clients |
//! |---|---|
//! | 0.13, with any features or none | as without this crate, because nothing here depends on 0.13 |
//! | 0.12 with a TLS feature | with that TLS; features for rustls use an installed provider, or ring |
//! | 0.12 without a TLS feature | can be built; an `https` URL fails at the certificate, because none is trusted |
//!
//! # Not included
//!
//! The client does not run tools or upload files. [`stream`](LlmClient::stream) does not continue a response that was
//! cut off; [`continued`](LlmClient::continued) does. [`http`](LlmClientBuilder::http) sets everything else that
//! reqwest can do.

mod api_key;
mod builder;
mod endpoint;
mod error;
mod error_response;
mod forward;
mod llm_client;
mod models;
mod preview;
mod response_body;
mod retry;
mod stream_request;
mod tls;

pub use api_key::ApiKey;
pub use builder::LlmClientBuilder;
pub use error::{ClientError, ClientErrorKind};
pub use forward::{ForwardedRequest, ForwardedResponse, Resource};
pub use llm_client::LlmClient;
pub use preview::RequestPreview;
pub use response_body::ResponseBody;
pub use stream_request::StreamRequest;

pub use crate::reask::{
    Extracted, Extraction, ExtractionEvents, ExtractionRecords, ExtractionToolCalls, ReaskOptions, extract,
};

pub use crate::continued::{
    ContinuationReport, ContinuedDocument, ContinuedError, ContinuedEvents, ContinuedRecords,
    ContinuedRequest,
};

/// The underlying HTTP client, for [`LlmClientBuilder::http`].
#[doc(no_inline)]
pub use reqwest;
/// The TLS implementation, for [`LlmClientBuilder::tls`].
#[doc(no_inline)]
pub use rustls;
