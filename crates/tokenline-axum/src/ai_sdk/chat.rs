//! A message for `useChat`, written by a future that the client's reading drives.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use axum_core::BoxError;
use axum_core::response::{IntoResponse, Response};
use futures_core::Stream;
use futures_core::stream::TryStream;
use http::{HeaderName, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use tokenline::json::Raw;
use tokenline::llm::request::Message;
use tokenline::{ResponseStream, ToolCall};

use super::convert::content_of;
use super::writer::call_result;
use super::{ChatStep, ChunkWriter, UiChunk};
use crate::sse::{ServerSentEvent, SseResponse};

/// The response to `useChat`: the chunks of one message as a stream, and as server-sent events.
///
/// A future writes the message through a [`Chat`]. It is a part of the stream: it runs only while the client waits for
/// the next chunk, so a slow page slows the model down, and it is dropped when the client leaves. That drops the
/// response it reads, which closes the connection to the model. Nothing runs in the background unless the future spawns
/// it.
///
/// An agent that answers in as many steps as it needs:
///
/// ```
/// use tokenline::{ChatRequest, LlmClient, ToolCall, ToolSet};
/// use tokenline_axum::ai_sdk::{ChatStream, InvalidMessage, UseChatRequest, chat_options};
///
/// # #[derive(serde::Serialize)]
/// # struct Weather { degrees: i8 }
/// # async fn weather(call: &ToolCall) -> Result<Weather, std::io::Error> { Ok(Weather { degrees: 21 }) }
/// # struct App { client: LlmClient, tools: ToolSet }
/// async fn chat(app: App, posted: UseChatRequest) -> Result<ChatStream, InvalidMessage> {
///     let App { client, tools } = app;
///     let mut request = ChatRequest::new("m").tools(&tools).messages(posted.to_messages()?);
///     Ok(ChatStream::new(|chat| async move {
///         loop {
///             let response = client.stream(&request)?.with_options(chat_options);
///             let mut step = chat.step(response.send().await?);
///             // Text, reasoning and growing calls pass to the page. Rejected calls are shown as failed.
///             let mut results = Vec::new();
///             while let Some(call) = step.next_call().await? {
///                 results.push(match weather(&call).await {
///                     Ok(weather) => chat.tool_output(&call, &weather).await,
///                     Err(error) => chat.tool_error(&call, error.to_string()).await,
///                 });
///             }
///             // The model's message, the reasons of rejected calls, and the results.
///             let is_done = !step.has_calls();
///             request.messages.extend(step.into_messages(results));
///             if is_done {
///                 return Ok(());
///             }
///         }
///     }))
/// }
/// # let _ = chat;
/// ```
///
/// If the future fails, the open parts are closed and the page receives an `error`, by default without the reason.
/// [`on_error`](Self::on_error) receives the reason.
#[must_use = "it does nothing until it is read"]
pub struct ChatStream {
    shared: Arc<Shared>,
    run: Option<Run>,
}

type Run = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// The header that names the version of the protocol.
const VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-vercel-ai-ui-message-stream"), HeaderValue::from_static("v1"));

/// Writes a message for `useChat`, within the future of a [`ChatStream`].
///
/// Each `async` method writes and then waits until the client has taken what is written. A clone writes to the same
/// message; what it writes after the future has ended, or the client has left, is ignored.
#[derive(Clone)]
pub struct Chat {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    writer: ChunkWriter,
    /// The stream, if it waits for chunks.
    reader: Option<Waker>,
    /// The tasks that wait until the chunks are taken.
    writers: Vec<Waker>,
    /// The stream is polling its future, and looks for chunks afterwards.
    is_running: bool,
    /// Nobody reads any more.
    is_closed: bool,
}

impl ChatStream {
    /// The message that the future writes. Its error becomes an `error` on the page.
    pub fn new<F>(write: impl FnOnce(Chat) -> F) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self::with_writer(ChunkWriter::new(), write)
    }

    /// Like [`new`](Self::new), with the settings of a writer: the id of the message, its metadata, the texts of errors.
    pub fn with_writer<F>(writer: ChunkWriter, write: impl FnOnce(Chat) -> F) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let state = Mutex::new(State { writer, ..State::default() });
        let shared = Arc::new(Shared { state });
        let run = write(Chat { shared: shared.clone() });
        Self { shared, run: Some(Box::pin(run)) }
    }

    /// The message of one response.
    ///
    /// ```no_run
    /// # use tokenline::{ChatRequest, LlmClient};
    /// # use tokenline_axum::ai_sdk::{ChatStream, chat_options};
    /// # async fn message(client: LlmClient, request: ChatRequest) -> Result<ChatStream, Box<dyn std::error::Error>> {
    /// let response = client.stream(&request)?.with_options(chat_options).send().await?;
    /// Ok(ChatStream::of(response))
    /// # }
    /// ```
    pub fn of<S, T>(response: ResponseStream<S, T>) -> Self
    where
        S: TryStream<Ok: AsRef<[u8]> + Send, Error: Error + Send + Sync + 'static> + Send + 'static,
        T: DeserializeOwned + Serialize + Send + 'static,
    {
        Self::new(|chat| async move {
            let mut step = chat.step(response);
            while step.next_call().await?.is_some() {}
            Ok(())
        })
    }
}

impl ChatStream {
    /// Sets a closure that is called if the message fails: to log the error, and to choose the text for the page. It is
    /// [`ChunkWriter::with_error_text`].
    ///
    /// ```
    /// # use tokenline_axum::ai_sdk::ChatStream;
    /// let stream = ChatStream::new(|_chat| async { Err("no such model".into()) }).on_error(|error| {
    ///     eprintln!("{error}");
    ///     "the model is overloaded; try again in a minute".to_owned()
    /// });
    /// # let _ = stream;
    /// ```
    pub fn on_error(
        self,
        message: impl Fn(&(dyn Error + 'static)) -> String + Send + Sync + 'static,
    ) -> Self {
        let mut state = self.shared.lock();
        state.writer = std::mem::take(&mut state.writer).with_error_text(message);
        drop(state);
        self
    }
}

impl Stream for ChatStream {
    type Item = UiChunk;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<UiChunk>> {
        let Self { shared, run } = self.get_mut();
        loop {
            if let Some(chunk) = shared.take() {
                return Poll::Ready(Some(chunk));
            }
            let Some(future) = run else { return Poll::Ready(None) };
            shared.lock().is_running = true;
            let polled = future.as_mut().poll(cx);
            let waker = cx.waker().clone();
            let mut state = shared.lock();
            state.is_running = false;
            match polled {
                Poll::Ready(outcome) => {
                    drop(state);
                    if let Err(error) = outcome {
                        shared.fail(&*error);
                    }
                    let mut state = shared.lock();
                    state.writer.finish();
                    state.is_closed = true;
                    drop(state);
                    *run = None;
                }
                Poll::Pending if state.writer.has_chunks() => {}
                Poll::Pending => {
                    let earlier = state.reader.replace(waker);
                    drop(state);
                    drop(earlier);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl IntoResponse for ChatStream {
    fn into_response(self) -> Response {
        let mut response = SseResponse::new(Events { chunks: Some(self) }).into_response();
        let (name, value) = VERSION;
        response.headers_mut().insert(name, value);
        response
    }
}

impl Drop for ChatStream {
    fn drop(&mut self) {
        self.run = None;
        self.shared.close();
    }
}

impl Chat {
    /// Writes a response as the next step of the message. The step is a reader of the response: read it to its end.
    pub fn step<S: TryStream, T>(&self, response: ResponseStream<S, T>) -> ChatStep<S, T> {
        self.write(ChunkWriter::start_step);
        ChatStep::new(self.clone(), response)
    }

    /// Writes the output of a tool, and returns it as a message for the model: a string as it is, anything else as
    /// JSON. If the output cannot be serialized, that is the tool's error.
    ///
    /// Numbers are written as serde_json writes them, a [`RawValue`](serde_json::value::RawValue) as it is. For a
    /// [`Raw`], call [`tool_output_raw`](Self::tool_output_raw): serde would change its number literals.
    pub async fn tool_output(&self, call: &ToolCall, output: impl Serialize) -> Message {
        let output = to_raw_value(&output)
            .map_err(|error| error.to_string())
            .and_then(|json| Raw::new(json.get()).map_err(|error| error.to_string()));
        match output {
            Ok(output) => self.tool_output_raw(call, output).await,
            Err(error) => self.tool_error(call, format!("the output is not JSON: {error}")).await,
        }
    }

    /// Writes the output of a tool as it is, to the page and to the model, with all digits of its numbers.
    ///
    /// ```
    /// # use tokenline::{ToolCall, json::Raw, llm::request::Message};
    /// # use tokenline_axum::ai_sdk::Chat;
    /// # async fn price(chat: &Chat, call: &ToolCall) -> Result<Message, Box<dyn std::error::Error>> {
    /// let price = Raw::new(r#"{"price": 0.90}"#)?;
    /// Ok(chat.tool_output_raw(call, price).await)
    /// # }
    /// ```
    pub async fn tool_output_raw(&self, call: &ToolCall, output: Raw) -> Message {
        let content = content_of(&output);
        let is_in_text = self.write(|writer| writer.write_output(call, output));
        self.taken().await;
        call_result(call, Ok(content), is_in_text)
    }

    /// Writes the error of a tool, and returns it as a message for the model. The page shows the same text.
    pub async fn tool_error(&self, call: &ToolCall, error: impl Into<String>) -> Message {
        let error = error.into();
        let is_in_text = self.write(|writer| writer.write_error(call, error.clone()));
        self.taken().await;
        call_result(call, Err(error), is_in_text)
    }

    /// Writes any other chunk, such as a [`DataPart`](super::DataPart).
    ///
    /// ```
    /// # use tokenline::json::Raw;
    /// # use tokenline_axum::ai_sdk::{Chat, DataPart};
    /// # async fn report(chat: &Chat) {
    /// let progress = Raw::from(serde_json::json!({"files": 3}));
    /// chat.send(DataPart::new("progress", progress).transient()).await;
    /// # }
    /// ```
    pub async fn send(&self, chunk: impl Into<UiChunk>) {
        let chunk = chunk.into();
        self.write(|writer| writer.send(chunk));
        self.taken().await;
    }

    /// Writes chunks without waiting. Nothing that the application passed may run in the closure.
    pub(super) fn write<R>(&self, write: impl FnOnce(&mut ChunkWriter) -> R) -> R {
        let mut state = self.shared.lock();
        let written = write(&mut state.writer);
        let must_wake = !state.is_running && state.writer.has_chunks();
        let reader = state.reader.take_if(|_| must_wake);
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        written
    }

    /// Notes that the message ends with an error.
    pub(super) fn fail(&self, error: &(dyn Error + 'static)) {
        self.shared.fail(error);
    }

    /// Waits until the client has taken all chunks.
    pub(super) async fn taken(&self) {
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut state = self.shared.lock();
            if state.is_closed || !state.writer.has_chunks() {
                return Poll::Ready(());
            }
            if !state.writers.iter().any(|writer| writer.will_wake(&waker)) {
                state.writers.push(waker);
            }
            Poll::Pending
        })
        .await;
    }
}

/// Wakers are woken, and closures of the application called, while the state is not locked: they may use the [`Chat`].
impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves a state that can still be read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<UiChunk> {
        let mut state = self.lock();
        let chunk = state.writer.next_chunk();
        let has_chunks = state.writer.has_chunks();
        let writers = if has_chunks { Vec::new() } else { std::mem::take(&mut state.writers) };
        drop(state);
        writers.into_iter().for_each(Waker::wake);
        chunk
    }

    fn fail(&self, error: &(dyn Error + 'static)) {
        let texts = self.lock().writer.error_texts();
        if let Some(texts) = texts {
            let text = texts.text(error);
            self.lock().writer.fail_with(text);
        }
    }

    /// The reader has left. A clone of the [`Chat`] may go on writing.
    fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.writer.discard();
        let wakers = (std::mem::take(&mut state.writers), state.reader.take());
        drop(state);
        wakers.0.into_iter().for_each(Waker::wake);
    }
}

/// The chunks as events, and the event that ends them.
struct Events {
    chunks: Option<ChatStream>,
}

impl Stream for Events {
    type Item = Result<ServerSentEvent, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(chunks) = &mut self.chunks else { return Poll::Ready(None) };
        Pin::new(chunks).poll_next(cx).map(|chunk| {
            let data = match chunk {
                Some(chunk) => chunk.to_json(),
                None => {
                    self.chunks = None;
                    "[DONE]".to_owned()
                }
            };
            Some(Ok(ServerSentEvent::new(data)))
        })
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream").field("is_ended", &self.run.is_none()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::DataPart;
    use super::*;

    /// A task of the handler may outlive the reader. What it writes must not pile up.
    #[test]
    fn what_is_written_after_the_reader_has_left_is_dropped() {
        let mut kept = None;
        let stream = ChatStream::new(|chat| {
            kept = Some(chat);
            std::future::pending()
        });
        let chat = kept.expect("it is set at once");
        let cx = &mut Context::from_waker(Waker::noop());
        let mut send = |n: u64| {
            let sent = Box::pin(chat.send(DataPart::new("n", Raw::from(json!(n))))).as_mut().poll(cx);
            (sent.is_ready(), chat.shared.lock().writer.has_chunks())
        };
        assert_eq!(send(1), (false, true));
        drop(stream);
        assert_eq!(send(2), (true, false));
    }
}
