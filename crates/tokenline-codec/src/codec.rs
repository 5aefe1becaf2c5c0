//! A codec for JSON Lines with `tokio_util::codec`.

use std::fmt;
use std::io;

use bytes::{Buf, BufMut, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokenline_core::adapter::{Driver, OwnRule, SourceEnd, StreamMachine, StreamStep};
use tokenline_core::json::Raw;
use tokenline_core::{
    Event, Options, Reads, Rejected, Report, TextEvent, TextParser, ToolCall, Validate, ValidateCall,
};
use tokio_util::codec::{Decoder, Encoder};

/// JSON Lines as a [`tokio_util::codec`] `Decoder` and `Encoder`.
///
/// # Decoding
///
/// Yields an [`Event`] for each record, and for each other line. `Err` comes from the reader, or means that
/// the [error budget](Self::with_error_budget) is exceeded. An invalid line is not an `Err`, because
/// `FramedRead` ends at an `Err` and withholds what it has buffered. Lines are those of
/// [`LinesCodec`](tokio_util::codec::LinesCodec): they end at LF, and one CR before it is stripped. It differs in
/// this:
///
/// | | here | `LinesCodec` |
/// |---|---|---|
/// | a byte order mark at the start | dropped | kept |
/// | a blank line | nothing | an empty line |
/// | invalid UTF-8, or a line beyond the limit | an event | an error |
///
/// Each call consumes the complete buffer; the codec keeps the bytes of an open record, up to
/// [`Limits::line_bytes`](tokenline_core::Limits::line_bytes). After the end it ignores further bytes until
/// [`reset`](Self::reset).
///
/// # Encoding
///
/// Writes any `Serialize` as one line of compact JSON, ending in LF.
///
/// ```
/// use futures_util::{SinkExt, StreamExt};
/// use tokenline_codec::JsonlCodec;
/// use tokenline_core::{Event, Options};
/// use tokio_util::codec::{FramedRead, FramedWrite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut lines = FramedWrite::new(Vec::new(), JsonlCodec::<()>::new());
/// lines.send([("a", 1)].into_iter().collect::<std::collections::BTreeMap<_, _>>()).await?;
/// lines.send([("b", "x\ny")].into_iter().collect::<std::collections::BTreeMap<_, _>>()).await?;
/// let text = lines.into_inner();
/// assert_eq!(text, b"{\"a\":1}\n{\"b\":\"x\\ny\"}\n");
///
/// let codec = JsonlCodec::<serde_json::Value>::new().with_options(Options::strict());
/// let mut events = FramedRead::new(&text[..], codec);
/// while let Some(event) = events.next().await {
///     match event? {
///         Event::Record(record) => println!("line {}: {}", record.line, record.value),
///         Event::Rejected(diagnostic) => eprintln!("{diagnostic}"),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct JsonlCodec<T = Raw> {
    driver: Driver<T>,
    /// Whether the error for too many rejects was returned.
    has_failed: bool,
}

impl<T: DeserializeOwned> JsonlCodec<T> {
    /// A codec in the lenient mode that reads into `T`.
    #[must_use]
    pub fn new() -> Self {
        Self { driver: Driver::new(Options::lenient()), has_failed: false }
    }
}

impl<T: DeserializeOwned> Default for JsonlCodec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> JsonlCodec<T> {
    fn map<U>(self, change: impl FnOnce(Driver<T>) -> Driver<U>) -> JsonlCodec<U> {
        JsonlCodec { driver: change(self.driver), has_failed: false }
    }

    /// Sets the options for reading. Discards what was read before. There are no partials: a codec yields
    /// complete records.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        self.map(|driver| driver.with_options(options))
    }

    /// Places the events in a longer text, of which the rest is decoded from the start of a line: with the number of that
    /// line, from 1, and its offset in bytes. Discards what was read before.
    #[must_use]
    pub fn starting_at(self, line: u64, offset: u64) -> Self {
        self.map(|driver| driver.starting_at(line, offset))
    }

    /// Validates each record before it is deserialized into `T`.
    #[must_use]
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.map(|driver| driver.with_validator(validator))
    }

    /// Rejects records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](crate::JsonlStreamParser::validated_with).
    #[must_use]
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_validator(OwnRule::new(rule))
    }

    /// Validates each tool call against tool definitions; see [`tool_calls`](Self::tool_calls).
    #[must_use]
    pub fn with_tools(self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.map(|driver| driver.with_tools(tools))
    }

    /// Asks a closure for replacements of rejects; see
    /// [`JsonlStreamParser::with_repair`](crate::JsonlStreamParser::with_repair). It is called during
    /// decoding, and must not block.
    #[must_use]
    pub fn with_repair(self, repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static) -> Self {
        self.map(|driver| driver.with_repair(repair))
    }

    /// Yields at most this many records or tool calls; what follows is dropped unread.
    ///
    /// A decoder cannot end a `FramedRead`, which continues to the end of its reader. To close the connection
    /// with the last record, check the [report](Self::report) and drop the reader:
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_codec::JsonlCodec;
    /// use tokio_util::codec::FramedRead;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let codec = JsonlCodec::<serde_json::Value>::new()
    ///     .with_repair(|rejected| Some(rejected.text.replace("NaN", "null")))
    ///     .with_max_records(2);
    /// let mut events = FramedRead::new(&b"{\"a\":NaN}\n{\"a\":2}\n{\"a\":3}\n"[..], codec);
    /// while events.decoder().report().ended_by().is_none()
    ///     && let Some(event) = events.next().await
    /// {
    ///     println!("{:?}", event?);
    /// }
    /// let report = events.decoder().report();
    /// assert_eq!((report.records(), report.repaired()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_max_records(self, max_records: u64) -> Self {
        self.map(|driver| driver.with_quota(|quota| quota.max_records = Some(max_records)))
    }

    /// Tolerates this many rejects. After the next one `decode` fails once, which ends a `FramedRead`, and
    /// then yields nothing. The inner error is [`TooManyRejected`](tokenline_core::TooManyRejected). Prose
    /// does not count, nor do [repaired](Self::with_repair) rejects.
    #[must_use]
    pub fn with_error_budget(self, rejects: u64) -> Self {
        self.map(|driver| driver.with_quota(|quota| quota.error_budget = Some(rejects)))
    }

    /// Yields everything in the text instead, in order: records, tool calls, and the text beside them. The options, rules
    /// and quotas apply; `reads` says what an object is.
    ///
    /// ```
    /// use bytes::BytesMut;
    /// use tokenline_codec::JsonlCodec;
    /// use tokenline_core::json::Raw;
    /// use tokenline_core::{Reads, TextEvent};
    /// use tokio_util::codec::Decoder;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let mut codec = JsonlCodec::<Raw>::new().text_events(Reads::Records);
    /// let mut buffer = BytesMut::from("Here it is:\n{\"a\":1}\n");
    /// let mut seen = Vec::new();
    /// while let Some(event) = codec.decode(&mut buffer)? {
    ///     match event {
    ///         TextEvent::Text(text) => seen.push(text),
    ///         TextEvent::Record(record) => seen.push(record.value.to_string()),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(seen, ["Here it is:\n", "{\"a\":1}"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn text_events(self, reads: Reads) -> TextCodec<T>
    where
        T: DeserializeOwned,
    {
        TextCodec { parser: TextParser::from_driver(&self.driver, reads), has_failed: false }
    }

    /// The counts and diagnostics so far. The report [is complete](Report::is_complete) once the end was
    /// decoded.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.driver.report()
    }

    /// Discards everything that was read and counted, including the end, and starts with the next text.
    pub fn reset(&mut self) {
        self.driver.reset();
        self.has_failed = false;
    }
}

impl JsonlCodec<Raw> {
    /// Reads each record as a tool call, `{"name", "parameters"}`, and validates it against the [tool
    /// definitions](Self::with_tools), if there are any. Also finds calls in tags and brackets: those of
    /// [`Options::calls`], by default all.
    ///
    /// ```
    /// use bytes::BytesMut;
    /// use tokenline_codec::JsonlCodec;
    /// use tokio_util::codec::Decoder;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let mut codec = JsonlCodec::new().tool_calls();
    /// let mut buffer = BytesMut::from("{\"name\":\"weather\",\"parameters\":{\"city\":\"Paris\"}}\n");
    /// let record = codec.decode(&mut buffer)?.and_then(|event| event.into_record());
    /// assert_eq!(record.unwrap().value.name, "weather");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn tool_calls(self) -> JsonlCodec<ToolCall> {
        self.map(Driver::tool_calls)
    }
}

impl<T> Decoder for JsonlCodec<T> {
    type Item = Event<T>;
    type Error = io::Error;

    /// Fails once if the [error budget](JsonlCodec::with_error_budget) is exceeded; never without one.
    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Event<T>>> {
        decode(&mut self.driver, &mut self.has_failed, src)
    }

    /// Fails like [`decode`](Self::decode).
    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Event<T>>> {
        decode_eof(&mut self.driver, &mut self.has_failed, src)
    }
}

#[inline]
fn decode<M: StreamMachine>(
    machine: &mut M,
    has_failed: &mut bool,
    src: &mut BytesMut,
) -> io::Result<Option<M::Event>> {
    let (consumed, step) = machine.step(src);
    src.advance(consumed);
    match step {
        StreamStep::Event(event) => Ok(Some(event)),
        StreamStep::NeedInput => Ok(None),
        StreamStep::Done => match machine.tally().too_many_rejected() {
            Some(error) if !*has_failed => {
                *has_failed = true;
                Err(io::Error::other(error.clone()))
            }
            _ => Ok(None),
        },
        StreamStep::Repair(_) => unreachable!("the hook replies at once"),
    }
}

fn decode_eof<M: StreamMachine>(
    machine: &mut M,
    has_failed: &mut bool,
    src: &mut BytesMut,
) -> io::Result<Option<M::Event>> {
    if let Some(event) = decode(machine, has_failed, src)? {
        return Ok(Some(event));
    }
    machine.finish(SourceEnd::Clean);
    decode(machine, has_failed, src)
}

/// Everything in a text as a `Decoder`: records, tool calls, and the text beside them. [`JsonlCodec::text_events`] makes
/// it.
pub struct TextCodec<T = Raw> {
    parser: TextParser<T>,
    has_failed: bool,
}

impl<T> TextCodec<T> {
    /// The counts and diagnostics so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.parser.report()
    }

    /// Discards everything that was read and counted, including the end, and starts with the next text.
    pub fn reset(&mut self) {
        self.parser.reset();
        self.has_failed = false;
    }
}

impl<T> fmt::Debug for TextCodec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextCodec").field("parser", &self.parser).finish_non_exhaustive()
    }
}

impl<T> Decoder for TextCodec<T> {
    type Item = TextEvent<T>;
    type Error = io::Error;

    /// Fails once if the [error budget](JsonlCodec::with_error_budget) is exceeded; never without one.
    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<TextEvent<T>>> {
        decode(&mut self.parser, &mut self.has_failed, src)
    }

    /// Fails like [`decode`](Self::decode).
    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<TextEvent<T>>> {
        decode_eof(&mut self.parser, &mut self.has_failed, src)
    }
}

impl<T, I: Serialize> Encoder<I> for JsonlCodec<T> {
    type Error = io::Error;

    /// Fails with [`InvalidData`](io::ErrorKind::InvalidData), and leaves `dst` unchanged, if the item cannot
    /// be written as JSON, such as a map with keys that are not strings.
    fn encode(&mut self, item: I, dst: &mut BytesMut) -> io::Result<()> {
        let start = dst.len();
        if let Err(error) = serde_json::to_writer(dst.writer(), &item) {
            dst.truncate(start);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        // serde_json's `RawValue` is written as received, which may be pretty-printed. In valid JSON a
        // newline is white space: inside a string it would be escaped.
        dst[start..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        dst.put_u8(b'\n');
        Ok(())
    }
}

impl<T> fmt::Debug for JsonlCodec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonlCodec").field("driver", &self.driver).finish_non_exhaustive()
    }
}
