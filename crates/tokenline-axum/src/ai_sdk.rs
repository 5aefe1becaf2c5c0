//! The protocols of the AI SDK's front ends: `useChat`, `useCompletion` and `useObject` of `@ai-sdk/react`, and their
//! counterparts for Vue, Svelte and Angular.
//!
//! | front end | server |
//! |---|---|
//! | `useChat` | [`UseChatRequest`] in, [`ChatStream`] out: text, reasoning, tool calls with outputs, data, errors |
//! | `useObject` with the schema of an array | [`JsonArray`]: validated records only |
//! | `useObject` with another schema | [`TextResponse`] with the text of the response |
//! | `useCompletion` | [`ChatStream`], or with `streamProtocol: 'text'` [`TextResponse`] |
//! | `useChat` with `TextStreamChatTransport` | [`UseChatRequest`] in, [`TextResponse`] out |
//!
//! ```
//! use tokenline::{ChatRequest, LlmClient};
//! use tokenline_axum::ai_sdk::{ChatStream, UseChatRequest, chat_options};
//!
//! // `Router::new().route("/api/chat", post(...))`
//! async fn chat(client: LlmClient, posted: UseChatRequest) -> Result<ChatStream, Box<dyn std::error::Error>> {
//!     let request = ChatRequest::new("m").messages(posted.to_messages()?);
//!     Ok(ChatStream::of(client.stream(&request)?.with_options(chat_options).send().await?))
//! }
//! # let _ = chat;
//! ```
//!
//! [`ChatStream`] shows the loop of an agent: several responses and the outputs of their tools in one message.
//! [`ChunkWriter`] is its protocol without I/O.
//!
//! # The protocols
//!
//! The AI SDK describes them on the page [Stream
//! Protocols](https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol). What counts here are the sources of the npm packages
//! `ai` 7.0.173 and `@ai-sdk/react` 4.0.177, with which `browser/ai-sdk` tests this module in Chromium.
//!
//! The UI message stream is server-sent events with the header `x-vercel-ai-ui-message-stream: v1`. Each event is the
//! JSON of a [`UiChunk`]; the last is `[DONE]`. Text streams have no frame: a failure is a body that breaks off.
//!
//! Rejected requests are answered in plain text ([`UseChatRejection`], [`InvalidMessage`]), unlike those of the rest of
//! this crate, because `useChat` shows the body of such a response as its error.

mod chat;
mod chunk;
mod convert;
mod message;
mod step;
mod text;
mod writer;

pub use chat::{Chat, ChatStream};
pub use chunk::{DataPart, UiChunk, UiFinishReason};
pub use convert::{InvalidMessage, InvalidMessageKind};
pub use message::{
    ToolPart, ToolState, Trigger, UiMessage, UiPart, UiRole, UseChatRejection, UseChatRequest,
};
pub use step::ChatStep;
pub use text::{JsonArray, JsonArrayError, TextResponse};
pub use writer::ChunkWriter;
pub(crate) use writer::error_text;

use tokenline::ResponseOptions;
use tokenline::llm::TextMode;

/// Options for a chat: emits text, reasoning and growing calls, and keeps the message for the next request.
///
/// The text is read as [`TextMode::Text`]. For a model that writes its calls in the text, set [`TextMode::ToolCalls`]
/// afterwards; for records as parts `data-record`, [`TextMode::Records`].
///
/// ```
/// # use tokenline::llm::client::StreamRequest;
/// # use tokenline::llm::TextMode;
/// # use tokenline_axum::ai_sdk::chat_options;
/// # fn set_up(request: StreamRequest) -> StreamRequest {
/// request.with_options(|options| chat_options(options).text_as(TextMode::ToolCalls))
/// # }
/// ```
#[must_use]
pub fn chat_options(options: ResponseOptions) -> ResponseOptions {
    options.text_as(TextMode::Text).text_and_reasoning().call_updates().keep_message()
}
