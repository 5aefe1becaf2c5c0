//! A small HTTP server that replays recorded model streams.
//!
//! It answers a `POST` to a provider's path with the bytes of a [`Recording`], over real HTTP/1.1, cut and paced as
//! [`Pace`] says. It is for tests, demonstrations and reproducing what a model once sent. It is not a model, not a
//! proxy, and not hardened for the open net: it binds loopback addresses only, unless told otherwise.
//!
//! ```
//! use tokenline_llm::replay::{self, Pace, ReplayServer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "client")]
//! # tokenline_llm::client::install_crypto_provider();
//! let recordings = replay::builtin().into_iter().map(|recording| recording.pace(Pace::events()));
//! let server = ReplayServer::bind("127.0.0.1:0".parse()?, recordings).await?;
//!
//! let response = reqwest::Client::new()
//!     .post(format!("{}/v1/chat/completions", server.url()))
//!     .body(r#"{"model":"definitions","stream":true}"#)
//!     .send()
//!     .await?;
//! assert!(response.text().await?.ends_with("data: [DONE]\n\n"));
//! # Ok(())
//! # }
//! ```
//!
//! # Which recording is served
//!
//! If the server has one recording, every request gets it, whatever the request says. If it has several, the request
//! names one: its JSON body's `model` (for Gemini the model in the path) is the [name](Recording::new) of the recording.
//!
//! | method and path | content type |
//! |---|---|
//! | `POST /v1/chat/completions` | `text/event-stream` |
//! | `POST /v1/responses` | `text/event-stream` |
//! | `POST /v1/messages` | `text/event-stream` |
//! | `POST /v1beta/models/MODEL:streamGenerateContent` | `text/event-stream` |
//! | `POST /api/chat` | `application/x-ndjson` |
//!
//! Anything else is refused with OpenAI's error body, `{"error":{"message",...}}`: 404 for an unknown path or model, 405
//! for another method, 400 for a request that must name a model and does not, 413 for one above 16 MiB. The rest of the
//! request (`stream`, the messages, the key) is not looked at.
//!
//! # How a body is sent
//!
//! Piece by piece: the next piece is taken only when the one before has left for the socket, so at most one piece is
//! held for a connection, and a client that does not read stalls its recording. The response's head leaves before the first
//! piece. A client that goes away is noticed at once, also between two pieces. [`Traffic`] counts all of it.

mod body;
mod pace;
mod recording;
mod request;
mod server;
mod traffic;
mod wire;

pub use hyper::StatusCode;
pub use pace::{Chunking, Gate, Pace};
pub use recording::{ContentType, Fault, Recording, builtin};
pub use server::ReplayServer;
pub use traffic::Traffic;
