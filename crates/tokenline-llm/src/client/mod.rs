//! An HTTP client: from a request to a stream of records or tool calls with one call.
//!
//! ```
//! use futures_util::StreamExt;
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
//! // The key is that of the environment: OPENAI_API_KEY.
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
//! Dropping the stream closes the connection, and whoever does not read makes the provider wait.
//!
//! # When a request is sent again
//!
//! Only before the first byte of an answer, and only if it produced nothing: no connection came
//! about, or the provider refused with 429 or a 5xx. `Retry-After` is honoured up to a minute; if it
//! is longer, the error says so. `504` and `524` are not repeated: they tell of a request that was
//! taken and took too long, and so does a connection that breaks before the answer. Once an answer has
//! begun nothing is ever sent again. [`retries`](LlmClientBuilder::retries) says how often; 0 never.
//!
//! # Secrets
//!
//! Keys, the headers of [`header`](LlmClientBuilder::header), and what is secret in the base URL (user and password, and
//! keys in its query) are in no error, log or debug output; where a provider repeats one in an error it is masked.
//! Errors name the host and the path of a request, and nothing else of its URL: a token in the path would be shown.
//! Redirects are followed to the same scheme, host and port only, and only those that keep the request as it is (307
//! and 308).
//!
//! # TLS
//!
//! TLS is rustls, with the certificates that the system trusts. Its cryptography is ring; with the feature `aws-lc` it is
//! aws-lc-rs, which has post-quantum key exchange and takes a C compiler and a minute to build. A program that installs a
//! provider of its own (`rustls::crypto::CryptoProvider::install_default`) before it builds a client keeps that one. See
//! [`install_crypto_provider`] if it also builds clients with reqwest itself.
//!
//! # What this is not
//!
//! [`continued`](LlmClient::continued) asks on when an answer was cut off; [`stream`](LlmClient::stream) does not. It
//! does not run tools, or upload files. [`http`](LlmClientBuilder::http) sets what else reqwest can do.

mod api_key;
mod builder;
mod endpoint;
mod error;
mod llm_client;
mod refusal;
mod response_body;
mod retry;
mod stream_request;
mod tls;

pub use api_key::ApiKey;
pub use builder::LlmClientBuilder;
pub use error::{ClientError, ClientErrorKind};
pub use llm_client::LlmClient;
pub use response_body::ResponseBody;
pub use stream_request::StreamRequest;
pub use tls::install_crypto_provider;

pub use crate::continued::{
    ContinuationReport, ContinuedError, ContinuedEvents, ContinuedRecords, ContinuedRequest,
};

/// The HTTP client beneath, for [`LlmClientBuilder::http`].
#[doc(no_inline)]
pub use reqwest;
