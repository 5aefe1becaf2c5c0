//! AG-UI, a protocol between agents and their front ends.
//!
//! [`EventWriter`] writes the events of a run from the events of a model's responses, without I/O. Each
//! [`AgUiEvent`] is the `data` of one server-sent event.
//!
//! ```
//! use tokenline::json::Raw;
//! use tokenline::{Options, Provider, ResponseParser};
//! use tokenline_axum::ag_ui::EventWriter;
//! use tokenline_axum::ai_sdk::chat_options;
//!
//! let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, chat_options(Options::lenient().into()));
//! let mut writer = EventWriter::new("thread-7", "run-1");
//! parser.push("data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n");
//! parser.finish();
//! while let Some(event) = parser.next_event() {
//!     writer.push(&event);
//! }
//! writer.finish();
//! let events: Vec<_> = std::iter::from_fn(|| writer.next_event()).map(|event| event.to_json()).collect();
//! assert_eq!(events, [
//!     r#"{"type":"RUN_STARTED","threadId":"thread-7","runId":"run-1"}"#,
//!     r#"{"type":"STEP_STARTED","stepName":"step-1"}"#,
//!     r#"{"type":"TEXT_MESSAGE_START","messageId":"run-1-1","role":"assistant"}"#,
//!     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"run-1-1","delta":"Hi"}"#,
//!     r#"{"type":"TEXT_MESSAGE_END","messageId":"run-1-1"}"#,
//!     r#"{"type":"STEP_FINISHED","stepName":"step-1"}"#,
//!     r#"{"type":"RUN_FINISHED","threadId":"thread-7","runId":"run-1","outcome":{"type":"success"}}"#,
//! ]);
//! ```
//!
//! The protocol is that of the npm packages `@ag-ui/core` and `@ag-ui/client` 1.0.0.

mod event;
mod events;
mod writer;

pub use event::{AgUiEvent, AgUiRole, RunOutcome, TokenUsage};
pub use writer::EventWriter;
