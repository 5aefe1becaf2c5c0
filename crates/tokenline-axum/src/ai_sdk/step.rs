//! A step of a message: one response of the model.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;

use futures_core::Stream;
use futures_core::stream::TryStream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokenline::json::Raw;
use tokenline::llm::ResponseError;
use tokenline::llm::request::Message;
use tokenline::llm::writer::to_raw;
use tokenline::{Code, ResponseEvent, ResponseParser, ResponseStream, ToolCall};

use super::{Chat, writer};

/// A response that is written as a step of a message while it is read. [`Chat::step`] makes it.
pub struct ChatStep<S: TryStream, T = Raw> {
    chat: Chat,
    response: Pin<Box<ResponseStream<S, T>>>,
    /// The messages that report rejected calls to the model.
    rejected: Vec<Message>,
    failure: Option<ResponseError<S::Error>>,
    has_calls: bool,
    is_ended: bool,
}

impl<S: TryStream, T> ChatStep<S, T> {
    pub(super) fn new(chat: Chat, response: ResponseStream<S, T>) -> Self {
        let response = Box::pin(response);
        Self { chat, response, rejected: Vec::new(), failure: None, has_calls: false, is_ended: false }
    }

    /// The parser of the response, for its finish reason and its usage.
    #[must_use]
    pub fn parser(&self) -> &ResponseParser<T> {
        self.response.parser()
    }

    /// Whether the model has called tools, so that another step must follow. Rejected calls count: the model
    /// receives the reason, and may try again.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// The messages that go into the next request: the model's message, then the reasons of rejected calls, then these
    /// results. Empty if the model wrote nothing.
    ///
    /// The model's message needs [`keep_message`](tokenline::ResponseOptions::keep_message), which
    /// [`chat_options`](super::chat_options) sets.
    #[must_use]
    pub fn into_messages(self, results: impl IntoIterator<Item = Message>) -> Vec<Message> {
        let message = self.response.parser().message(0);
        let is_empty = |message: &Message| matches!(message, Message::Assistant(parts) if parts.is_empty());
        let message = message.filter(|message| !is_empty(message));
        message.into_iter().chain(self.rejected).chain(results).collect()
    }
}

impl<S, T> ChatStep<S, T>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned + Serialize + 'static,
{
    /// The next tool call, the moment it is complete; `None` at the end of the response. Everything before it is
    /// written to the page.
    ///
    /// A call without an id, written in a text, gets the id by which the page knows it. Cancel safe: no event is lost
    /// if the future is dropped.
    ///
    /// # Errors
    ///
    /// If the source or the provider failed, or the response is incomplete; once, after everything that was complete.
    pub async fn next_call(&mut self) -> Result<Option<ToolCall>, ResponseError<S::Error>> {
        while !self.is_ended {
            self.chat.taken().await;
            match poll_fn(|cx| self.response.as_mut().poll_next(cx)).await {
                Some(Ok(event)) => {
                    if let Some(call) = self.write(event) {
                        return Ok(Some(call));
                    }
                }
                Some(Err(error)) => {
                    self.failure.get_or_insert(error);
                }
                None => self.end(),
            }
        }
        self.failure.take().map_or(Ok(None), Err)
    }

    fn write(&mut self, event: ResponseEvent<T>) -> Option<ToolCall> {
        if let ResponseEvent::Record { choice: 0, block, record } = event {
            // Serialized here: the application's code must not run while the chat is locked.
            match to_raw(&record.value) {
                Ok(data) => {
                    let event = ResponseEvent::Record { choice: 0, block, record: record.map(|_| data) };
                    self.chat.write(|writer| writer.push(&event));
                }
                Err(error) => self.chat.fail(&error),
            }
            return None;
        }
        match &event {
            ResponseEvent::ToolCall { choice: 0, .. } => {
                let id = self.chat.write(|writer| {
                    writer.push(&event);
                    writer.latest_call_id()
                });
                self.has_calls = true;
                let ResponseEvent::ToolCall { mut call, .. } = event else { return None };
                call.call_id.get_or_insert(id);
                return Some(call);
            }
            ResponseEvent::RejectedCall { choice: 0, call, .. } => {
                self.rejected.extend(writer::rejected_message(call));
                self.has_calls |= !self.rejected.is_empty();
                self.chat.write(|writer| writer.push(&event));
            }
            event => match writer::failure(event).cloned().map(Box::new) {
                // The caller decides whether the message fails.
                Some(diagnostic) if diagnostic.code == Code::ProviderError => {
                    self.failure.get_or_insert(ResponseError::Provider(diagnostic));
                }
                Some(diagnostic) => {
                    self.failure.get_or_insert(ResponseError::Incomplete(diagnostic));
                }
                None => self.chat.write(|writer| writer.push(event)),
            },
        }
        None
    }

    fn end(&mut self) {
        self.is_ended = true;
        let message = self.response.parser().message(0);
        self.chat.write(|writer| {
            writer.end_response();
            if let Some(message) = &message {
                writer.keep_message(message);
            }
        });
    }
}

impl<S: TryStream, T> fmt::Debug for ChatStep<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStep").field("response", &self.response).finish_non_exhaustive()
    }
}
