//! Records and rejects from any byte stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream, TryStream};
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline_core::adapter::{Driver, OwnRule, PartialDriver, Rules};
use tokenline_core::json::Raw;
use tokenline_core::partial::Partial;
use tokenline_core::{
    Diagnostic, Event, Options, Reads, Rejected, RepetitionLimits, Report, TextParser, ToolCall, Validate,
    ValidateCall,
};

use super::items::{self, Items, Records, ToolCalls, Values};
use super::{
    AsyncRepair, EventStream, Next, Partials, Pump, Reporting, StopOnReject, StreamError, TextEvents,
};
use crate::observe::{Meter, Start};

pin_project! {
    /// Events from any stream of byte chunks: records read into `T`, and rejects.
    ///
    /// The source is a `Stream<Item = Result<B, E>>` with `B: AsRef<[u8]>`, such as
    /// `reqwest::Response::bytes_stream()` or `tokio_util::io::ReaderStream`. `T` is any `DeserializeOwned`;
    /// the default, [`Raw`], keeps the text of each record as written.
    ///
    /// As a stream it yields each [`Event`]. Most callers want [`records`](Self::records),
    /// [`values`](Self::values) or [`tool_calls`](Self::tool_calls) instead, which skip the rejects and leave
    /// them in the [`report`](Self::report). The [crate's page](crate#the-contract) describes polling and
    /// delivery.
    ///
    /// ```
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
        #[pin]
        pump: Pump<S, Driver<T>>,
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T: DeserializeOwned> JsonlStreamParser<S, T> {
    /// Reads a source in the lenient mode, into `T`.
    pub fn new(source: S) -> Self {
        let meter = Meter::new("text", Start::now());
        Self { pump: Pump::new(source, Driver::new(Options::lenient()), meter) }
    }
}

impl<S: TryStream, T> JsonlStreamParser<S, T> {
    pub(super) fn map<U>(self, change: impl FnOnce(Driver<T>) -> Driver<U>) -> JsonlStreamParser<S, U> {
        JsonlStreamParser { pump: self.pump.map(change) }
    }

    /// Sets the options for reading. Call it before the first poll. [`partials`](Self::partials) turns
    /// partials on by itself.
    pub fn with_options(self, options: Options) -> Self {
        self.map(|driver| driver.with_options(options))
    }

    /// Places the events in a longer text, of which the source is the rest from the start of a line: with the number of
    /// that line, from 1, and its offset in bytes. To go on after a restart; see the guide's page on streams.
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::json::Raw;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = "{\"a\":1}\n{\"a\":2}\nnot JSON\n";
    /// // The number and the offset of the first line that was not read.
    /// let (line, offset) = (2, 8);
    /// let rest = futures_util::stream::iter([Ok::<_, std::io::Error>(&text[offset as usize..])]);
    /// let mut records = JsonlStreamParser::<_, Raw>::new(rest).starting_at(line, offset).records();
    /// let record = records.next().await.unwrap()?;
    /// assert_eq!((record.line, record.span.start), (2, 8));
    /// assert!(records.next().await.is_none());
    /// assert_eq!(records.report().diagnostics()[0].line, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn starting_at(self, line: u64, offset: u64) -> Self {
        self.map(|driver| driver.starting_at(line, offset))
    }

    /// Applies the rules of another reader.
    pub fn with_rules(self, rules: Rules) -> Self {
        self.map(|driver| driver.with_rules(rules))
    }

    /// Validates each record before it is deserialized into `T`. One that breaks a rule is rejected. With several
    /// validators, a record must pass all of them.
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.map(|driver| driver.with_validator(validator))
    }

    /// Rejects records that a rule of your own finds invalid: a closure over the record, which returns the reason. The
    /// reason is shown in the diagnostic. Rules and [validators](Self::with_validator) apply in the order in which they are
    /// added; each rule deserializes the record once more.
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Invoice {
    ///     net: u64,
    ///     tax: u64,
    ///     total: u64,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let lines = ["{\"net\":100,\"tax\":19,\"total\":119}\n", "{\"net\":100,\"tax\":19,\"total\":120}\n"];
    /// let body = futures_util::stream::iter(lines.map(Ok::<_, std::io::Error>));
    /// let mut invoices = JsonlStreamParser::<_, Invoice>::new(body)
    ///     .validated_with(|invoice| match invoice.net + invoice.tax == invoice.total {
    ///         true => Ok(()),
    ///         false => Err("the total is not the sum of net and tax".to_owned()),
    ///     })
    ///     .values();
    /// while let Some(invoice) = invoices.next().await {
    ///     assert_eq!(invoice?.total, 119);
    /// }
    /// let rejected = &invoices.report().diagnostics()[0];
    /// assert_eq!(rejected.to_string(), "2:1: schema_violation: the total is not the sum of net and tax");
    /// # Ok(())
    /// # }
    /// ```
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_validator(OwnRule::new(rule))
    }

    /// Validates each tool call against tool definitions; see [`tool_calls`](Self::tool_calls).
    pub fn with_tools(self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.map(|driver| driver.with_tools(tools))
    }

    /// Ends the stream after this many records or tool calls. The source is dropped with the last of them,
    /// not when the next one is polled: the connection closes, and no more tokens are paid for. This is not
    /// an error; see [`Report::ended_by`]. With 0 nothing is read.
    pub fn with_max_records(self, max_records: u64) -> Self {
        self.map(|driver| driver.with_quota(|quota| quota.max_records = Some(max_records)))
    }

    /// Tolerates this many rejects. At the next one the stream drops the source and ends with
    /// [`StreamError::TooManyRejected`], after the reject itself. Prose does not count, nor do
    /// [repaired](Self::with_repair) rejects. A [`StopOnReject`] stream always ends at its first reject.
    pub fn with_error_budget(self, rejects: u64) -> Self {
        self.map(|driver| driver.with_quota(|quota| quota.error_budget = Some(rejects)))
    }

    /// Ends the stream where the text repeats itself: with the warning [`Code::Repetition`](tokenline_core::Code::Repetition)
    /// and [`Report::ended_by`]. The source is dropped, which closes the connection. Only exact copies count; see
    /// [`RepetitionLimits`].
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::{EarlyEnd, RepetitionLimits};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = std::iter::repeat_n("Let me think again. ", 1000).map(Ok::<_, std::io::Error>);
    /// let mut values = JsonlStreamParser::<_, serde_json::Value>::new(futures_util::stream::iter(text))
    ///     .with_stop_on_repetition(RepetitionLimits::default())
    ///     .values();
    /// assert!(values.next().await.is_none());
    /// assert_eq!(values.report().ended_by(), Some(EarlyEnd::Repetition));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_stop_on_repetition(self, limits: RepetitionLimits) -> Self {
        self.map(|driver| driver.stop_on_repetition(limits))
    }

    /// Asks a closure for replacements of rejects. It receives the rejected text and the diagnostic.
    ///
    /// It is asked about records that are malformed, truncated, not an object, not UTF-8, or break the
    /// schema, the type or the tools' rules; see
    /// [`Code::is_repairable`](tokenline_core::Code::is_repairable). A replacement must be one JSON object
    /// that passes the same rules. It takes the place of the reject, and is
    /// [marked](tokenline_core::Recovery::Repaired). Otherwise the reject stands; the closure is not asked
    /// again.
    ///
    /// With a hook, the current line is kept, up to
    /// [`Limits::line_bytes`](tokenline_core::Limits::line_bytes).
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::Recovery;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let body = futures_util::stream::iter(["{\"a\":1}\n{\"a\":N", "aN}\n{\"a\":\n{\"a\":4}\n{\"a\":5}\n"].map(Ok::<_, std::io::Error>));
    /// // `body` has the lines `{"a":1}`, `{"a":NaN}`, `{"a":`, `{"a":4}` and `{"a":5}`.
    /// let mut records = JsonlStreamParser::<_, serde_json::Value>::new(body)
    ///     .with_max_records(3)
    ///     .with_error_budget(2)
    ///     .with_repair(|rejected| Some(rejected.text.replace("NaN", "null")))
    ///     .records();
    /// let mut seen = Vec::new();
    /// while let Some(record) = records.next().await {
    ///     let record = record?;
    ///     seen.push((record.line, record.value.to_string(), record.recovered.contains(Recovery::Repaired)));
    /// }
    /// let expected = [(1, r#"{"a":1}"#, false), (2, r#"{"a":null}"#, true), (4, r#"{"a":4}"#, false)];
    /// assert_eq!(seen, expected.map(|(line, value, is_repaired)| (line, value.to_owned(), is_repaired)));
    ///
    /// let report = records.report();
    /// assert_eq!((report.records(), report.repaired(), report.rejected()), (3, 1, 1));
    /// assert_eq!(report.ended_by().map(|ended_by| ended_by.as_str()), Some("max_records"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_repair(self, repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static) -> Self {
        let mut parser = self.map(|driver| driver.with_repair(repair));
        parser.pump.set_repair(None);
        parser
    }

    /// Like [`with_repair`](Self::with_repair), but the closure returns a future, for example to ask a model.
    /// The stream awaits it in its own task and reads nothing meanwhile; dropping the stream drops it.
    ///
    /// ```
    /// # use futures_util::StreamExt;
    /// # use tokenline_codec::JsonlStreamParser;
    /// # async fn ask_a_model(broken: &str, why: &str) -> Option<String> { (why == "expected a value, found a letter").then(|| broken.replace("NaN", "null")) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let body = futures_util::stream::iter(["{\"a\":NaN}\n"].map(Ok::<_, std::io::Error>));
    /// let records = JsonlStreamParser::<_, serde_json::Value>::new(body)
    ///     .with_async_repair(|rejected| async move {
    ///         ask_a_model(&rejected.text, &rejected.diagnostic.message).await
    ///     })
    ///     .records();
    /// # assert_eq!(records.count().await, 1);
    /// # }
    /// ```
    pub fn with_async_repair<F>(self, repair: impl FnMut(Rejected) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.with_repair_hook(Some(Box::new(AsyncRepair::new(repair))))
    }

    /// Applies the asynchronous hook of another reader, if it has one.
    #[doc(hidden)]
    pub fn with_repair_hook(self, repair: Option<Box<AsyncRepair>>) -> Self {
        if repair.is_none() {
            return self;
        }
        let mut parser = self.map(Driver::with_repair_steps);
        parser.pump.set_repair(repair);
        parser
    }

    /// Why the open record will be rejected, if that is known; see [`Driver::open_violation`].
    ///
    /// [`Driver::open_violation`]: tokenline_core::adapter::Driver::open_violation
    #[must_use]
    pub fn open_violation(&self) -> Option<&Diagnostic> {
        self.pump.machine().open_violation()
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.pump.machine().report()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> JsonlStreamParser<S, T> {
    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self>
    where
        Self: Unpin,
    {
        Next::new(self)
    }

    /// The records with their positions; rejects go to the report.
    pub fn records(self) -> Records<S, T> {
        Items::new(self, items::record)
    }

    /// The records' values; rejects go to the report.
    pub fn values(self) -> Values<S, T> {
        Items::new(self, items::value)
    }

    /// The records up to the first reject, which is an error. Short for `records().strict()`. What is
    /// rejected depends on the [options](Self::with_options).
    pub fn strict(self) -> StopOnReject<Records<S, T>> {
        self.records().strict()
    }

    /// The records in their own type while they grow, and when they are complete.
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::partial::PartialEvent;
    ///
    /// type Lists = std::collections::BTreeMap<String, Vec<String>>; // usually a type of your own
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let body = futures_util::stream::iter(["{\"rivers\":[\"Po\",\"Rh", "ine\"]}\n"].map(Ok::<_, std::io::Error>));
    /// let mut lists = JsonlStreamParser::<_, Lists>::new(body).partials();
    /// let mut seen = Vec::new();
    /// while let Some(event) = lists.next().await {
    ///     match event? {
    ///         PartialEvent::Growing(partial) => seen.push(partial["rivers"].join(" ")),
    ///         PartialEvent::Complete(record) => seen.push(record.value["rivers"].join(" and ")),
    ///         PartialEvent::Invalid(diagnostic) | PartialEvent::Rejected(diagnostic) => println!("{diagnostic}"),
    ///         PartialEvent::Discarded => {} // it was prose
    ///     }
    /// }
    /// assert_eq!(seen, ["Po Rh", "Po and Rhine"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn partials(self) -> Partials<S, T>
    where
        T: Partial + DeserializeOwned,
    {
        Partials::new(self.pump.map(PartialDriver::new))
    }

    /// Everything in the text, in order: records, tool calls, and the text beside them. The options, rules and quotas
    /// apply; `reads` says what an object is.
    ///
    /// ```
    /// use tokenline_codec::JsonlStreamParser;
    /// use tokenline_core::{Reads, TextEvent, json::Raw};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let body = futures_util::stream::iter(["I'll look.\n[wea", "ther(city='Paris')]\nOne moment."].map(Ok::<_, std::io::Error>));
    /// let mut events = JsonlStreamParser::<_, Raw>::new(body).text_events(Reads::ToolCalls);
    /// let mut shown = String::new();
    /// while let Some(event) = events.next().await {
    ///     match event? {
    ///         TextEvent::Text(text) => shown += &text,
    ///         TextEvent::ToolCall { call, .. } => assert_eq!(call.name, "weather"),
    ///         TextEvent::RejectedCall(call) => println!("{call}"),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(shown, "I'll look.\nOne moment.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn text_events(self, reads: Reads) -> TextEvents<S, T>
    where
        T: DeserializeOwned,
    {
        TextEvents::new(self.pump.map(|driver| TextParser::from_driver(&driver, reads)))
    }

    /// Ends the stream, and drops the source.
    pub(super) fn stop(self: Pin<&mut Self>) {
        self.project().pump.stop(Driver::stop);
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>> JsonlStreamParser<S, Raw> {
    /// Reads each record as a tool call, `{"name", "parameters"}`, and validates it against the [tool
    /// definitions](Self::with_tools), if there are any. Also finds calls in tags and brackets: those of
    /// [`Options::calls`], by default all.
    ///
    /// ```
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

    /// Like [`tool_calls`](Self::tool_calls), but also yields the rejects.
    pub fn tool_call_events(self) -> JsonlStreamParser<S, ToolCall> {
        self.map(Driver::tool_calls)
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> EventStream for JsonlStreamParser<S, T> {
    type Event = Event<T>;
    type Error = StreamError<S::Error>;
    type Parser = Driver<T>;

    fn poll_pick<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pick: impl FnMut(Event<T>) -> Option<R>,
    ) -> Poll<Option<Result<R, Self::Error>>> {
        self.project().pump.poll_pick(cx, pick)
    }

    fn has_ended(&self) -> bool {
        self.pump.is_terminated()
    }

    fn parser(&self) -> &Driver<T> {
        self.pump.machine()
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> Stream for JsonlStreamParser<S, T> {
    type Item = Result<Event<T>, StreamError<S::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_pick(cx, Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.has_ended().then_some(0))
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, T> FusedStream for JsonlStreamParser<S, T> {
    fn is_terminated(&self) -> bool {
        self.has_ended()
    }
}

impl<S: TryStream, T> Reporting for JsonlStreamParser<S, T> {
    fn report(&self) -> &Report {
        self.pump.machine().report()
    }
}

impl<S: TryStream, T> fmt::Debug for JsonlStreamParser<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonlStreamParser").field("driver", self.pump.machine()).finish_non_exhaustive()
    }
}
