//! A small HTTP server that replays recorded model streams.
//!
//! It responds to a `POST` to a provider's path with the bytes of a [`Recording`], over real HTTP/1.1, chunked and
//! paced by [`Pace`]. It is for tests, demonstrations and reproducing a model's response. It is not a model, not a
//! proxy, and not hardened for public networks: by default it only binds loopback addresses.
//!
//! ```
//! use tokenline_llm::replay::{self, Pace, ReplayServer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
//! # Selecting a recording
//!
//! If the server has one recording, every request gets it. If it has several, the request selects one: its JSON body's
//! `model` (for Gemini and Bedrock the model in the path) is the [name](Recording::new) of the recording.
//!
//! | method and path | content type |
//! |---|---|
//! | `POST /v1/chat/completions` | `text/event-stream` |
//! | `POST /v1/responses` | `text/event-stream` |
//! | `POST /v1/messages` | `text/event-stream` |
//! | `POST /v1beta/models/MODEL:streamGenerateContent` | `text/event-stream` |
//! | `POST /v1beta/interactions` | `text/event-stream` |
//! | `POST /v2/chat` | `text/event-stream` |
//! | `POST /model/MODEL/converse-stream` | `application/vnd.amazon.eventstream` |
//! | `POST /api/chat` | `application/x-ndjson` |
//! | `GET /v1/models` | `application/json`: the names of the recordings |
//!
//! A request without `"stream": true` (for Ollama, with `"stream": false`) gets the whole body that the recorded stream
//! would have been, as `application/json`; for Gemini and Bedrock, a request at `:generateContent` and `/converse`. The
//! recording is sent as it is if it is not a complete stream, or has what a whole body cannot have.
//!
//! Any other request gets an error body of the API to which the path belongs, or else of OpenAI's: 404 for an unknown path
//! or model, 405 for another method, 400 if a required model is missing or the recording is a stream of another provider,
//! 403 if the header `Host` names another server, 413 above 16 MiB. The rest of the request (the messages, the key) is
//! ignored.
//!
//! # Sending a body
//!
//! Piece by piece: the next piece is taken only when the one before has been flushed to the socket, so each connection
//! holds at most one piece, and a client that does not read stalls its recording. The response's head is sent before
//! the first piece. A disconnected client is noticed at once, even between two pieces. [`Traffic`] has counters for all
//! of this.

mod body;
mod host;
mod pace;
mod recording;
mod request;
mod server;
mod traffic;
mod whole;
mod wire;

pub use host::is_own_host;
pub use hyper::StatusCode;
pub use pace::{Chunking, Gate, Pace};
pub use recording::{ContentType, Fault, Recording, builtin};
pub use server::ReplayServer;
pub use traffic::Traffic;
