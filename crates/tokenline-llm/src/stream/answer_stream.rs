//! The events of an answer, as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_codec::observe::{Meter, Metered, Start};
use tokenline_core::json::Raw;
use tokenline_core::{Counted, Rejected, Report};

use super::items::{self, Items, Records, ToolCalls};
use super::{AnswerError, TextPieces};
use crate::{AnswerEvent, AnswerParser, TextAs};

pin_project! {
    /// The events of an answer, out of a stream of the wire's bytes.
    ///
    /// It is pulled: the source is polled only when no event is ready, so that a consumer that
    /// waits makes the sender wait. Nothing runs in the background; dropping the stream drops the
    /// source, and the connection closes. An `Err` is the source's own, or that
    /// [too much was rejected](Self::with_error_budget); it comes once, after everything that was complete, and then
    /// the stream has ended. What the provider says of itself is an event; it is an error of what the adaptors yield.
    ///
    /// Behind the event with which the provider ends the stream an error of the source is none. Behind
    /// `[DONE]` and Ollama's `done: true` it reads what is there already and waits for no more; behind
    /// Anthropic's and the Responses' last event it does wait, as a proxy may begin the answer anew there.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{AnswerParser, AnswerStream, Provider};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let body = futures_util::stream::iter([
    /// #     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"search\",\"arguments\":\"{\\\"query\\\":\"}}]}}]}\n\n",
    /// #     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"\\\"fjord\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    /// # ].map(Ok::<_, std::io::Error>));
    /// // `body` is any stream of bytes, such as reqwest's `response.bytes_stream()`.
    /// let parser = AnswerParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let mut calls = AnswerStream::new(body, parser).tool_calls();
    /// while let Some(call) = calls.next().await {
    ///     let call = call?;
    ///     assert_eq!((call.name.as_str(), call.parameters.as_str()), ("search", r#"{"query":"fjord"}"#));
    /// }
    /// assert!(calls.report().is_complete());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct AnswerStream<S: TryStream, T = Raw> {
        #[pin]
        source: Option<S>,
        parser: AnswerParser<T>,
        error: Option<AnswerError<S::Error>>,
        meter: Meter,
    }
}

/// Pieces of the source that one poll looks at in search of an event: comments and empty deltas
/// must not keep the other tasks of the thread waiting.
const QUIET_PIECES: usize = 32;

impl<S: TryStream, T> AnswerStream<S, T> {
    /// The events of the answer that `source` gives the bytes of, read by `parser`.
    pub fn new(source: S, parser: AnswerParser<T>) -> Self {
        Self::since(Start::now(), source, parser)
    }

    /// The same for a request that was sent before: that is when it started.
    pub(crate) fn since(start: Start, source: S, parser: AnswerParser<T>) -> Self {
        let meter = Meter::new(parser.provider().as_str(), start);
        Self { source: Some(source), parser, error: None, meter }
    }

    /// Ends the stream once it has yielded so many records or tool calls. With the last of them, not when
    /// the next is asked for, it lets go of the source: the connection closes, and no more tokens are
    /// paid for. That is no error; [`Report::ended_by`] tells of it. With 0 nothing is read at all.
    /// [Text](Self::text) is not counted.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_core::{EndedBy, Options, json::Raw};
    /// use tokenline_llm::{AnswerParser, AnswerStream, Provider};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let body = futures_util::stream::iter([
    /// #     "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":1}\\n{\\\"a\\\":2}\\n\"}}]}\n\n",
    /// # ].map(Ok::<_, std::io::Error>));
    /// let parser = AnswerParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let mut records =
    ///     AnswerStream::new(body, parser).with_max_records(1).with_error_budget(3).records();
    /// while let Some(record) = records.next().await {
    ///     assert_eq!(record?.value, r#"{"a":1}"#);
    /// }
    /// assert_eq!(records.report().ended_by(), Some(EndedBy::MaxRecords));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_max_records(self, max_records: u64) -> Self {
        Self { parser: self.parser.with_max_records(max_records), ..self }
    }

    /// Lives with so many rejects. At the next one the stream lets go of the source and ends with
    /// [`AnswerError::TooManyRejected`]; of events, that comes after the reject itself. The
    /// [parser](AnswerParser::with_error_budget) says what counts.
    pub fn with_error_budget(self, rejects: u64) -> Self {
        Self { parser: self.parser.with_error_budget(rejects), ..self }
    }

    /// Gives what is rejected a second chance; see [the parser](AnswerParser::with_repair).
    pub fn with_repair(self, repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { parser: self.parser.with_repair(repair), ..self }
    }

    /// The records of the text. Rejects are left in the report.
    pub fn records(mut self) -> Records<S, T> {
        self.parser.set_text_as(TextAs::Records);
        self.parser.set_counted(Counted::Records);
        Items::new(self, items::record)
    }

    /// The tool calls, native or written in the text (unless that is read as
    /// [`TextAs::Text`]). Rejects are left in the report, as findings alone: who has to answer a
    /// [rejected call](AnswerEvent::RejectedCall), or to show a refusal, takes the events.
    pub fn tool_calls(mut self) -> ToolCalls<S, T> {
        if self.parser.text_is_read() {
            self.parser.set_text_as(TextAs::ToolCalls);
        }
        self.parser.set_counted(Counted::ToolCalls);
        Items::new(self, items::tool_call)
    }

    /// Lets go of the source, and the connection closes. What was complete until then is still
    /// yielded, then the stream ends; the [report](Self::report) says that it was incomplete.
    pub fn close(self: Pin<&mut Self>)
    where
        T: DeserializeOwned,
    {
        let mut this = self.project();
        if this.source.is_some() {
            this.parser.interrupt();
            this.source.set(None);
            this.meter.enter().gave_up();
        }
    }

    /// The text of the first choice, in pieces as they arrive, nothing taken out of it.
    pub fn text(mut self) -> TextPieces<S, T> {
        self.parser.set_text_alone();
        TextPieces::new(self)
    }

    /// Lets go of the source: nothing more will be asked of it.
    pub(super) fn let_go(self: Pin<&mut Self>) {
        self.project().source.set(None);
    }

    /// What was delivered and rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.parser.report()
    }

    /// The parser, for what it knows beside the events: finish reasons, usage.
    #[must_use]
    pub fn parser(&self) -> &AnswerParser<T> {
        &self.parser
    }
}

impl<S, T> Stream for AnswerStream<S, T>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    type Item = Result<AnswerEvent<T>, AnswerError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let mut meter = this.meter.enter();
        for _ in 0..QUIET_PIECES {
            let event = this.parser.next_event();
            if let Some(event) = &event {
                count(&mut meter, event);
            }
            if this.source.is_some() && this.parser.report().ended_by().is_some() {
                // Now, not at the next poll, for which there may be no reason.
                this.source.set(None);
                meter.close();
            }
            if let Some(event) = event {
                if let Some(error) = this.parser.too_many_rejected() {
                    *this.error = Some(AnswerError::TooManyRejected(error.clone()));
                }
                return Poll::Ready(Some(Ok(event)));
            }
            let Some(source) = this.source.as_mut().as_pin_mut() else {
                meter.end(this.parser.report());
                return Poll::Ready(this.error.take().map(Err));
            };
            match source.try_poll_next(cx) {
                // Some servers and proxies keep the connection open behind the end.
                Poll::Pending if this.parser.is_over() => {
                    this.parser.finish();
                    this.source.set(None);
                }
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(piece))) => {
                    meter.chunk(&piece);
                    this.parser.push(piece.as_ref());
                }
                // Or break it, which takes nothing from an answer that is whole.
                Poll::Ready(Some(Err(_))) if this.parser.is_terminated() => {
                    this.parser.finish();
                    this.source.set(None);
                }
                Poll::Ready(Some(Err(error))) => {
                    meter.source_failed();
                    this.parser.interrupt();
                    *this.error = Some(AnswerError::Source(error));
                    this.source.set(None);
                }
                Poll::Ready(None) => {
                    this.parser.finish();
                    this.source.set(None);
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

fn count<T>(meter: &mut Metered<'_>, event: &AnswerEvent<T>) {
    meter.event();
    match event {
        AnswerEvent::Record { .. } => meter.record(),
        AnswerEvent::ToolCall { .. } => meter.tool_call(),
        event => {
            if let Some(diagnostic) = event.diagnostic() {
                meter.finding(diagnostic);
            }
        }
    }
}

impl<S, T> FusedStream for AnswerStream<S, T>
where
    S: TryStream<Ok: AsRef<[u8]>>,
    T: DeserializeOwned,
{
    fn is_terminated(&self) -> bool {
        self.source.is_none() && self.error.is_none() && !self.parser.has_events()
    }
}

impl<S: TryStream, T> fmt::Debug for AnswerStream<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerStream")
            .field("parser", &self.parser)
            .field("is_open", &self.source.is_some())
            .finish_non_exhaustive()
    }
}
