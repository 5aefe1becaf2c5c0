//! A request's body as records, validated line by line.

mod cache;
mod error;
mod extract;
mod items;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum_core::body::BodyDataStream;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;
use serde::de::DeserializeOwned;
use tokenline::{Event, JsonlStreamParser, Limits, Options, Record, Report, Reporting, Validate};

pub use error::JsonLinesError;
pub use extract::JsonLinesRejection;
pub use items::{JsonLinesItems, JsonLinesRecords, JsonLinesValues};

pin_project! {
    /// The lines of a request's body as records of type `T`, each validated as soon as it has arrived.
    ///
    /// The mode is strict: each line that is not blank is one JSON object. It must satisfy the JSON Schema of `T`, which
    /// is compiled for the first request and then cached. A bad line harms only itself.
    ///
    /// As a stream it yields [`Event::Record`] and [`Event::Rejected`], both with their line, and an error if the body
    /// fails. [`values`](Self::values) and [`records`](Self::records) take the first reject as an error, which is a
    /// response as well:
    ///
    /// ```
    /// use axum::{Router, routing::post};
    /// use futures_util::TryStreamExt;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use tokenline_axum::{JsonLines, JsonLinesError};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Measurement {
    ///     sensor: String,
    ///     #[schemars(range(min = -273.15))]
    ///     celsius: f64,
    /// }
    ///
    /// /// Status 422 with `{"code":"schema_violation","line":7,...}` at the first bad line.
    /// async fn mean(measurements: JsonLines<Measurement>) -> Result<String, JsonLinesError> {
    ///     let mut measurements = measurements.values();
    ///     let (mut sum, mut count) = (0.0, 0.0);
    ///     while let Some(measurement) = measurements.try_next().await? {
    ///         sum += measurement.celsius;
    ///         count += 1.0;
    ///     }
    ///     Ok(format!("{}\n", sum / count))
    /// }
    /// # let _: Router = Router::new().route("/", post(mean));
    /// ```
    ///
    /// To keep the good lines, read the events:
    ///
    /// ```
    /// # use axum::{Router, routing::post};
    /// # use futures_util::TryStreamExt;
    /// use tokenline::{Event, json::Raw};
    /// # use tokenline_axum::{JsonLines, JsonLinesError};
    ///
    /// async fn check(mut lines: JsonLines<Raw>) -> Result<String, JsonLinesError> {
    ///     let mut rejects = String::new();
    ///     while let Some(event) = lines.try_next().await? {
    ///         match event {
    ///             Event::Record(record) => println!("{}: {}", record.line, record.value),
    ///             Event::Rejected(diagnostic) => rejects += &format!("{diagnostic}\n"),
    ///             _ => {}
    ///         }
    ///     }
    ///     Ok(rejects)
    /// }
    /// # let _: Router = Router::new().route("/", post(check));
    /// ```
    ///
    /// # Limits
    ///
    /// axum's `DefaultBodyLimit` applies: 2 MB unless the router sets another, such as
    /// `.layer(DefaultBodyLimit::max(1 << 30))`. A body that announces a larger `content-length` is rejected at once, with
    /// status 413. One without a length yields the records before the limit, then [`JsonLinesError::BodyTooLarge`]. How
    /// many these are depends on how the body was split, because a chunk beyond the limit is dropped as a whole.
    ///
    /// A line is held in memory until it is complete, up to [`Limits::line_bytes`]; the body is not. The server reads
    /// from the connection when the handler asks for the next line, so a slow handler slows the client down.
    ///
    /// # Cut-off bodies
    ///
    /// If the client disconnects, or the limit is reached, the line that was cut off is rejected as `truncated`; then the
    /// error follows. `values` and `records` yield the error only. What was read before it has been delivered: a handler
    /// that must store all or nothing commits at the end of the stream.
    #[must_use = "streams do nothing unless polled"]
    pub struct JsonLines<T> {
        #[pin]
        parser: JsonlStreamParser<BodyDataStream, T>,
    }
}

impl<T> JsonLines<T> {
    /// Validates the lines against other rules than the schema of `T`, such as a schema that is known at run time only.
    /// The lines must still fit the type; [`Raw`](tokenline::json::Raw) fits all.
    ///
    /// ```
    /// use axum::extract::State;
    /// use futures_util::TryStreamExt;
    /// use tokenline::{SchemaValidator, json::Raw};
    /// use tokenline_axum::{JsonLines, JsonLinesError};
    ///
    /// async fn count(
    ///     State(schema): State<SchemaValidator>,
    ///     lines: JsonLines<Raw>,
    /// ) -> Result<String, JsonLinesError> {
    ///     let lines: Vec<Raw> = lines.with_validator(schema).values().try_collect().await?;
    ///     Ok(lines.len().to_string())
    /// }
    /// # let _: axum::Router<SchemaValidator> = axum::Router::new().route("/", axum::routing::post(count));
    /// ```
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        Self { parser: self.parser.with_validator(validator) }
    }

    /// Rejects records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](tokenline::JsonlStreamParser::validated_with).
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        Self { parser: self.parser.validated_with(rule) }
    }

    /// Sets the longest line and the deepest nesting; by default 8 MiB and 127 containers.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { parser: self.parser.with_options(Options::strict().limits(limits)) }
    }

    /// Tolerates this many rejects. The next one is still yielded, then [`JsonLinesError::TooManyRejected`]. Has no
    /// effect on [`values`](Self::values) and [`records`](Self::records), which end at the first.
    pub fn with_error_budget(self, rejects: u64) -> Self {
        Self { parser: self.parser.with_error_budget(rejects) }
    }

    /// The records with their lines, up to the first reject, which is an error.
    pub fn records(self) -> JsonLinesRecords<T> {
        JsonLinesItems::new(self, |record| record)
    }

    /// The records' values, up to the first reject, which is an error.
    pub fn values(self) -> JsonLinesValues<T> {
        JsonLinesItems::new(self, |record: Record<T>| record.value)
    }

    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.parser.report()
    }
}

impl<T> Stream for JsonLines<T> {
    type Item = Result<Event<T>, JsonLinesError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.project().parser.poll_next(cx);
        polled.map(|event| event.map(|event| event.map_err(JsonLinesError::from_stream)))
    }
}

impl<T> FusedStream for JsonLines<T> {
    fn is_terminated(&self) -> bool {
        self.parser.is_terminated()
    }
}

impl<T> Reporting for JsonLines<T> {
    fn report(&self) -> &Report {
        self.parser.report()
    }
}

impl<T> fmt::Debug for JsonLines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").field("parser", &self.parser).finish()
    }
}
