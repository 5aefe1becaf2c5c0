//! The events of a response, as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_codec::observe::{Meter, ModelRequest, Start};
use tokenline_codec::{AsyncRepair, EventStream, Items, JsonlStreamParser, Next, Partials, Pump, Reporting};
use tokenline_core::adapter::{QuotaUnit, Rules};
use tokenline_core::json::Raw;
use tokenline_core::partial::Partial;
use tokenline_core::{Record, Rejected, Report, ToolCall};

use super::{ResponseError, TextPieces};
use crate::request::Message;
use crate::{ResponseEvent, ResponseOptions, ResponseParser, TextMode};

pin_project! {
    /// The events of a response, parsed from a stream of bytes.
    ///
    /// The stream is lazy: it polls its source only when no event is ready, so that a slow consumer slows the sender
    /// down. Nothing runs in the background; dropping the stream drops the source, which closes the connection. An
    /// `Err` is the source's error, or [too many rejects](ResponseOptions::error_budget); it comes once, after everything
    /// that was complete, and ends the stream. A failure reported by the provider is an event here, and an error of the
    /// adapters.
    ///
    /// After the provider's last event, errors of the source are ignored. After `[DONE]` and Ollama's `done: true` it
    /// reads what has already arrived and waits for no more; after the last event of Anthropic or the Responses it does
    /// wait, because a proxy may start the response over there.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{ResponseParser, ResponseStream, Provider};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let body = futures_util::stream::iter([
    /// #     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"search\",\"arguments\":\"{\\\"query\\\":\"}}]}}]}\n\n",
    /// #     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"\\\"fjord\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    /// # ].map(Ok::<_, std::io::Error>));
    /// // `body` is any stream of bytes, such as reqwest's `response.bytes_stream()`.
    /// let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let mut calls = ResponseStream::new(body, parser).tool_calls();
    /// while let Some(call) = calls.next().await {
    ///     let call = call?;
    ///     assert_eq!((call.name.as_str(), call.parameters.as_str()), ("search", r#"{"query":"fjord"}"#));
    /// }
    /// assert!(calls.report().is_complete());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct ResponseStream<S: TryStream, T = Raw> {
        #[pin]
        pump: Pump<S, ResponseParser<T>>,
    }
}

/// The records in a response's text, of all choices.
pub type ResponseRecords<S, T = Raw> = Items<ResponseStream<S, T>, Record<T>>;

/// The tool calls of a response, of all choices.
pub type ResponseToolCalls<S, T = Raw> = Items<ResponseStream<S, T>, ToolCall>;

impl<S: TryStream, T> ResponseStream<S, T> {
    /// Parses the bytes of `source` with `parser`.
    pub fn new(source: S, parser: ResponseParser<T>) -> Self {
        let request =
            ModelRequest { provider: parser.provider().info().gen_ai_name, ..ModelRequest::default() };
        Self::since(Start::now(), &request, source, parser)
    }

    /// Like [`new`](Self::new), for a request sent at `start`.
    pub(crate) fn since(start: Start, request: &ModelRequest, source: S, parser: ResponseParser<T>) -> Self {
        let meter = Meter::of_model(parser.provider().as_str(), start, request);
        Self { pump: Pump::new(source, parser, meter) }
    }

    /// Changes how the response is read. Call it before the first poll: what was read before is discarded. With a [maximum of records](ResponseOptions::max_records) or an
    /// [error budget](ResponseOptions::error_budget) the stream drops its source where it ends; [text](Self::text) is
    /// not counted.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseParser, ResponseStream};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let body = futures_util::stream::iter([
    /// #     "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":1}\\n{\\\"a\\\":2}\\n\"}}]}\n\n",
    /// # ].map(Ok::<_, std::io::Error>));
    /// let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let mut records = ResponseStream::new(body, parser).with_options(|options| options.max_records(1)).records();
    /// assert_eq!(records.next().await.unwrap()?.value, "{\"a\":1}");
    /// assert!(records.next().await.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_options(self, change: impl FnOnce(ResponseOptions) -> ResponseOptions) -> Self {
        let mut pump = self.pump.map(|parser| parser.with_options(change));
        if !pump.machine().has_repair_steps() {
            pump.set_repair(None);
        }
        Self { pump }
    }

    /// Like [`ResponseOptions::repair`], but the closure returns a future, for example to ask a model. The stream
    /// awaits it in its own task and reads nothing meanwhile; dropping the stream drops it.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseParser, ResponseStream};
    ///
    /// # async fn ask_a_model(broken: &str) -> Option<String> { Some(broken.replace("NaN", "null")) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let body = futures_util::stream::iter([
    /// #     "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":NaN}\\n\"},\"finish_reason\":\"stop\"}]}\n\n",
    /// # ].map(Ok::<_, std::io::Error>));
    /// let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let mut records = ResponseStream::new(body, parser)
    ///     .with_async_repair(|rejected| async move { ask_a_model(&rejected.text).await })
    ///     .records();
    /// assert_eq!(records.next().await.unwrap()?.value, "{\"a\":null}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_async_repair<F>(self, repair: impl FnMut(Rejected) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.with_repair_hook(Some(Box::new(AsyncRepair::new(repair))))
    }

    /// Applies an asynchronous hook, if there is one.
    pub(crate) fn with_repair_hook(self, repair: Option<Box<AsyncRepair>>) -> Self {
        if repair.is_none() {
            return self;
        }
        let mut pump = self.pump.map(ResponseParser::with_repair_steps);
        pump.set_repair(repair);
        Self { pump }
    }

    /// Counts of what was delivered and rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.pump.machine().report()
    }

    /// The first choice as an assistant message for the next request; see [`ResponseParser::message`]. `None` unless
    /// the parser [keeps](ResponseOptions::keep_message) messages.
    #[must_use]
    pub fn into_message(self) -> Option<Message> {
        self.parser().message(0)
    }

    /// The parser, for what it knows in addition to the events: finish reasons, usage.
    #[must_use]
    pub fn parser(&self) -> &ResponseParser<T> {
        self.pump.machine()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: DeserializeOwned> ResponseStream<S, T> {
    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self>
    where
        Self: Unpin,
    {
        Next::new(self)
    }

    /// The records in the text. Rejects only appear in the report.
    pub fn records(mut self) -> ResponseRecords<S, T> {
        let parser = self.pump.machine_mut();
        parser.set_text_as(TextMode::Records);
        parser.set_quota_unit(QuotaUnit::Records);
        Items::new(self, |event| match event {
            ResponseEvent::Record { record, .. } => Some(record),
            _ => None,
        })
    }

    /// The tool calls, native or written in the text (unless that is read as [`TextMode::Text`]). If the tools were sent
    /// with the request of a [client](crate::client), a call in the text is text, which nobody runs because a model
    /// quotes it: [`TextMode::ToolCalls`] reads it, for a server without a parser for its model. Rejects only appear in
    /// the report, without their calls: to reply to a [rejected call](ResponseEvent::RejectedCall), or to show a
    /// refusal, use the events.
    pub fn tool_calls(mut self) -> ResponseToolCalls<S, T> {
        let parser = self.pump.machine_mut();
        parser.read_calls();
        parser.set_quota_unit(QuotaUnit::ToolCalls);
        Items::new(self, |event| match event {
            ResponseEvent::ToolCall { call, .. } => Some(call),
            _ => None,
        })
    }

    /// The text of the first choice, unfiltered, in pieces as they arrive.
    pub fn text(mut self) -> TextPieces<S, T> {
        self.pump.machine_mut().set_text_only();
        TextPieces::new(self)
    }

    /// The records of the first choice's text in the type `U` while they grow, and when they are complete. The parser's
    /// options, quotas, validator and repair hook apply.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use tokenline_core::partial::PartialEvent;
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseParser, ResponseStream};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let body = futures_util::stream::iter([
    /// #     "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"river\\\":\\\"Rh\"}}]}\n\n",
    /// #     "data: {\"choices\":[{\"delta\":{\"content\":\"ine\\\"}\"},\"finish_reason\":\"stop\"}]}\n\n",
    /// # ].map(Ok::<_, std::io::Error>));
    /// let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let mut partials = ResponseStream::new(body, parser).partials::<BTreeMap<String, String>>();
    /// let mut seen = Vec::new();
    /// while let Some(event) = partials.next().await {
    ///     if let PartialEvent::Growing(partial) = event? {
    ///         seen.push(partial["river"].clone());
    ///     }
    /// }
    /// assert_eq!(seen, ["Rh", "Rhine"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn partials<U: Partial + DeserializeOwned>(mut self) -> Partials<TextPieces<S, T>, U> {
        let repair = self.pump.take_repair();
        let settings = self.pump.machine_mut().take_text_settings();
        let mut parser = JsonlStreamParser::<_, U>::new(self.text()).with_options(settings.options);
        if let Some(max_records) = settings.quota.max_records {
            parser = parser.with_max_records(max_records);
        }
        if let Some(rejects) = settings.quota.error_budget {
            parser = parser.with_error_budget(rejects);
        }
        parser.with_rules(Rules::clone(&settings.rules)).with_repair_hook(repair).partials()
    }

    /// Drops the source, which closes the connection. The stream still yields what was complete, then ends; the
    /// [report](Self::report) says that it was incomplete.
    pub fn close(self: Pin<&mut Self>) {
        self.project().pump.close(|parser, bytes: &[u8]| parser.push(bytes));
    }

    /// Drops the source; nothing more is read.
    pub(crate) fn drop_source(self: Pin<&mut Self>) {
        self.project().pump.drop_source();
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: DeserializeOwned> EventStream for ResponseStream<S, T> {
    type Event = ResponseEvent<T>;
    type Error = ResponseError<S::Error>;
    type Parser = ResponseParser<T>;

    /// Turns provider failures and incomplete responses into errors.
    fn poll_pick<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut pick: impl FnMut(ResponseEvent<T>) -> Option<R>,
    ) -> Poll<Option<Result<R, Self::Error>>> {
        let polled = self.project().pump.poll_pick(cx, |event| match ResponseError::of(event) {
            Ok(event) => pick(event).map(Ok),
            Err(error) => Some(Err(error)),
        });
        polled.map(|polled| Some(polled?.unwrap_or_else(|error| Err(error.into()))))
    }

    fn has_ended(&self) -> bool {
        self.pump.is_terminated()
    }

    fn parser(&self) -> &ResponseParser<T> {
        self.pump.machine()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: DeserializeOwned> Stream for ResponseStream<S, T> {
    type Item = Result<ResponseEvent<T>, ResponseError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.project().pump.poll_pick(cx, Some);
        polled.map(|polled| Some(polled?.map_err(ResponseError::from)))
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: DeserializeOwned> FusedStream for ResponseStream<S, T> {
    fn is_terminated(&self) -> bool {
        self.has_ended()
    }
}

impl<S: TryStream, T> Reporting for ResponseStream<S, T> {
    fn report(&self) -> &Report {
        self.pump.machine().report()
    }
}

impl<S: TryStream, T> fmt::Debug for ResponseStream<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseStream").field("parser", self.pump.machine()).finish_non_exhaustive()
    }
}
