//! The stream under all others.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_core::json::Raw;
use tokenline_core::{Diagnostic, Event, Options, RecordDecoder, Report, ToolCall, Validate, ValidateCall};

use super::budget::Budget;
use super::items::{Records, ToolCalls, Values};
use super::{Reporting, SourceError, Strict};
use crate::observe::{Meter, Start};
use crate::reader::{End, Reader};

pin_project! {
    /// Events out of any stream of byte chunks: records read into `T`, and what was rejected.
    ///
    /// The source is a `Stream<Item = Result<B, E>>` with `B: AsRef<[u8]>`, such as
    /// `reqwest::Response::bytes_stream()` or `tokio_util::io::ReaderStream`. `T` is anything that
    /// implements `DeserializeOwned`; [`Raw`], the default, keeps the text of each record as it
    /// was written.
    ///
    /// As a stream it yields each [`Event`]. Most callers want [`records`](Self::records),
    /// [`values`](Self::values) or [`tool_calls`](Self::tool_calls) instead, which skip the rejects
    /// and leave them in the [`report`](Self::report). The [crate's page](crate#the-contract) says
    /// when what is polled and delivered.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::{Event, json::Raw};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let body = futures_util::stream::iter(["{\"a\":0.90}\n{\"a\":", "}\n"].map(Ok::<_, std::io::Error>));
    /// let mut events = JsonlStreamParser::<_, Raw>::new(body);
    /// let mut seen = Vec::new();
    /// while let Some(event) = events.next().await {
    ///     seen.push(match event? {
    ///         Event::Record(record) => record.value.to_string(),
    ///         Event::Rejected(diagnostic) => diagnostic.to_string(),
    ///         _ => continue,
    ///     });
    /// }
    /// assert_eq!(seen, ["{\"a\":0.90}", "2:6: malformed_json: expected a value, found `}`"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "streams do nothing unless polled"]
    pub struct JsonlStreamParser<S: TryStream, T = Raw> {
        // Dropped as soon as nothing more will be read from it.
        #[pin]
        source: Option<S>,
        chunk: Option<S::Ok>,
        // How much of the chunk is done with.
        at: usize,
        decoder: RecordDecoder,
        state: State<S::Error>,
        reader: Reader<T>,
        report: Report,
        meter: Meter,
    }
}

#[derive(Debug)]
enum State<E> {
    /// Nothing is held but what is open.
    Reading,
    /// There may be events in what was read.
    Decoding,
    /// The source ended, or failed; there may be last events.
    Ending(Option<E>),
    Ended,
}

/// What a poll for an event comes to.
pub(super) type EventPoll<T, E> = Poll<Option<Result<Event<T>, SourceError<E>>>>;

impl<S: TryStream<Ok: AsRef<[u8]>>, T: DeserializeOwned> JsonlStreamParser<S, T> {
    /// Reads a source leniently, into `T`.
    pub fn new(source: S) -> Self {
        let options = Options::lenient();
        Self {
            source: Some(source),
            chunk: None,
            at: 0,
            state: State::Reading,
            reader: Reader::typed(),
            report: Report::new(&options.limits),
            decoder: RecordDecoder::new(options),
            meter: Meter::new("text", Start::now()),
        }
    }
}

impl<S: TryStream, T> JsonlStreamParser<S, T> {
    /// Sets how to read: mode, emission and limits. To be called before the first poll.
    pub fn with_options(self, options: Options) -> Self {
        Self { report: Report::new(&options.limits), decoder: RecordDecoder::new(options), ..self }
    }

    /// Holds each record against a validator before it is read into `T`. One that breaks a rule is
    /// rejected.
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.reader.set_validator(validator);
        self
    }

    /// Holds each tool call against the definitions of tools; see [`tool_calls`](Self::tool_calls).
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.reader.set_tools(tools);
        self
    }

    /// The records with their places; rejects go to the report.
    pub fn records(self) -> Records<S, T> {
        Records::new(self, |record| record)
    }

    /// The records' values alone; rejects go to the report.
    pub fn values(self) -> Values<S, T> {
        Values::new(self, |record| record.value)
    }

    /// The records, up to the first reject, which is an error. Short for `records().strict()`.
    ///
    /// This is about what happens on a reject; what is one, is set by
    /// [`with_options`](Self::with_options).
    pub fn strict(self) -> Strict<Records<S, T>> {
        self.records().strict()
    }

    /// What was delivered and rejected so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(super) fn note(self: Pin<&mut Self>, diagnostic: Diagnostic) {
        self.project().report.add(diagnostic);
    }

    /// Yields nothing more and lets go of the source.
    pub(super) fn stop(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.source.set(None);
        *this.chunk = None;
        *this.state = State::Ended;
        this.meter.enter().close();
    }
}

impl<S: TryStream> JsonlStreamParser<S, Raw> {
    /// Reads each record as a tool call, `{"name", "parameters"}`, and holds it against the
    /// [tools' definitions](Self::with_tools) if there are any.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_codec::JsonlStreamParser;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let body = futures_util::stream::iter(["{\"name\":\"weather\",\"parameters\":{\"city\":\"Paris\"}}\n"].map(Ok::<_, std::io::Error>));
    /// let mut calls = JsonlStreamParser::new(body).tool_calls().infallible();
    /// while let Some(call) = calls.next().await {
    ///     println!("{}({})", call.name, call.parameters);
    /// }
    /// assert!(calls.error().is_none() && calls.report().is_complete());
    /// assert_eq!((calls.report().tool_calls(), calls.report().rejected()), (1, 0));
    /// # }
    /// ```
    pub fn tool_calls(self) -> ToolCalls<S> {
        self.tool_call_events().values()
    }

    /// As [`tool_calls`](Self::tool_calls), with the rejects among them.
    pub fn tool_call_events(self) -> JsonlStreamParser<S, ToolCall> {
        let Self { source, chunk, at, decoder, state, reader, report, meter } = self;
        let reader = Reader::tool_calls(reader);
        JsonlStreamParser { source, chunk, at, decoder, state, reader, report, meter }
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> JsonlStreamParser<S, T> {
    /// The next event. Records are counted, diagnostics left to the caller.
    pub(super) fn poll_event(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        budget: &mut Budget,
    ) -> EventPoll<T, S::Error> {
        let mut this = self.project();
        let mut meter = this.meter.enter();
        let event = loop {
            if budget.is_spent() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            match this.state {
                State::Reading => {
                    let Some(source) = this.source.as_mut().as_pin_mut() else {
                        return Poll::Ready(None);
                    };
                    match ready!(source.try_poll_next(cx)) {
                        Some(Ok(chunk)) => {
                            budget.spend_step();
                            meter.chunk(&chunk);
                            *this.chunk = Some(chunk);
                            *this.at = 0;
                            *this.state = State::Decoding;
                        }
                        end => {
                            let error = end.and_then(Result::err);
                            if error.is_none() {
                                this.report.set_complete();
                            } else {
                                meter.source_failed();
                            }
                            this.source.set(None);
                            *this.state = State::Ending(error);
                        }
                    }
                }
                State::Decoding => {
                    let chunk = this.chunk.as_ref().map_or(&[][..], |chunk| chunk.as_ref());
                    let unread = chunk.get(*this.at..).unwrap_or_default();
                    let decoded = this.decoder.decode(&unread[..unread.len().min(Budget::BYTES)]);
                    let event = decoded.event.map(|event| this.reader.read(event, End::Clean));
                    *this.at += decoded.consumed;
                    budget.spend(decoded.consumed);
                    if decoded.consumed == unread.len() {
                        // Events may be left in what the decoder holds, but not in the chunk.
                        *this.chunk = None;
                    }
                    match event {
                        Some(event) => break event,
                        None if this.chunk.is_none() => *this.state = State::Reading,
                        None => {}
                    }
                }
                State::Ending(error) => {
                    let end = if error.is_none() { End::Clean } else { End::Failed };
                    if let Some(event) = this.decoder.finish() {
                        break this.reader.read(event, end);
                    }
                    let error = error.take();
                    *this.state = State::Ended;
                    meter.end(this.report);
                    let offset = this.decoder.position();
                    return Poll::Ready(error.map(|error| Err(SourceError::new(offset, error))));
                }
                State::Ended => return Poll::Ready(None),
            }
        };
        budget.spend_step();
        meter.event();
        match &event {
            Event::Record(_) => this.reader.count(this.report, &mut meter),
            Event::Rejected(diagnostic) => meter.finding(diagnostic),
            _ => {}
        }
        Poll::Ready(Some(Ok(event)))
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> Stream for JsonlStreamParser<S, T> {
    type Item = Result<Event<T>, SourceError<S::Error>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.as_mut().poll_event(cx, &mut Budget::new());
        if let Poll::Ready(Some(Ok(Event::Rejected(diagnostic) | Event::Note(diagnostic)))) = &polled {
            self.note(diagnostic.clone());
        }
        polled
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, matches!(self.state, State::Ended).then_some(0))
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> FusedStream for JsonlStreamParser<S, T> {
    fn is_terminated(&self) -> bool {
        matches!(self.state, State::Ended)
    }
}

impl<S: TryStream, T> Reporting for JsonlStreamParser<S, T> {
    fn report(&self) -> &Report {
        &self.report
    }
}

impl<S: TryStream, T> fmt::Debug for JsonlStreamParser<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonlStreamParser")
            .field("position", &self.decoder.position())
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
