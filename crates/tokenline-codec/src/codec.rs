//! JSON Lines for `tokio_util::codec`.

use std::fmt;
use std::io;

use bytes::{Buf, BufMut, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokenline_core::json::Raw;
use tokenline_core::{Event, Options, RecordDecoder, Validate};
use tokio_util::codec::{Decoder, Encoder};

use crate::reader::{End, Reader};

/// JSON Lines as a [`tokio_util::codec`] `Decoder` and `Encoder`.
///
/// # Decoding
///
/// Yields an [`Event`] for each record and for each line that is none. `Err` comes from the reader
/// only: after an `Err`, `FramedRead` withholds what it holds and ends, so a bad line must not be
/// one. The lines are those of [`LinesCodec`](tokio_util::codec::LinesCodec), split at LF only and
/// without one CR before it, except that a byte order mark at the start is dropped, blank lines
/// yield nothing, and a line with bad UTF-8 or beyond the limit is an event instead of an error.
///
/// The buffer is used up at each call; what belongs to an open record is kept inside, up to
/// [`Limits::line_bytes`](tokenline_core::Limits::line_bytes). After the end it stays ended, also
/// if more bytes come, until [`reset`](Self::reset).
///
/// # Encoding
///
/// Writes any `Serialize` as one line of compact JSON and a LF.
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
    decoder: RecordDecoder,
    reader: Reader<T>,
}

impl<T: DeserializeOwned> JsonlCodec<T> {
    /// A codec that reads leniently, into `T`.
    #[must_use]
    pub fn new() -> Self {
        Self { decoder: RecordDecoder::new(Options::lenient()), reader: Reader::typed() }
    }
}

impl<T: DeserializeOwned> Default for JsonlCodec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> JsonlCodec<T> {
    /// Sets how to read: mode, emission and limits. Forgets what was read before. There are no
    /// partials: a codec yields what is whole.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        Self { decoder: RecordDecoder::new(options.partials(false)), ..self }
    }

    /// Holds each record against a validator before it is read into `T`.
    #[must_use]
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.reader.set_validator(validator);
        self
    }

    /// Forgets everything that was read, the end too, and starts with the next text.
    pub fn reset(&mut self) {
        self.decoder.reset();
    }
}

impl<T> Decoder for JsonlCodec<T> {
    type Item = Event<T>;
    type Error = io::Error;

    /// Never fails.
    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Event<T>>> {
        let decoded = self.decoder.decode(src);
        let consumed = decoded.consumed;
        // A record is one item: this reads no lists of calls.
        let event = decoded.event.and_then(|event| self.reader.read(event, End::Clean));
        src.advance(consumed);
        Ok(event)
    }

    /// Never fails.
    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Event<T>>> {
        if let Some(event) = self.decode(src)? {
            return Ok(Some(event));
        }
        Ok(self.decoder.finish().and_then(|event| self.reader.read(event, End::Clean)))
    }
}

impl<T, I: Serialize> Encoder<I> for JsonlCodec<T> {
    type Error = io::Error;

    /// Fails with [`InvalidData`](io::ErrorKind::InvalidData), leaving `dst` as it was, if the item
    /// cannot be written as JSON: a map with keys that are no strings, say.
    fn encode(&mut self, item: I, dst: &mut BytesMut) -> io::Result<()> {
        let start = dst.len();
        if let Err(error) = serde_json::to_writer(dst.writer(), &item) {
            dst.truncate(start);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        // serde_json's `RawValue` is written as it came, which may be pretty printed. In valid JSON
        // a line feed is white space: inside a string it would be escaped.
        dst[start..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        dst.put_u8(b'\n');
        Ok(())
    }
}

impl<T> fmt::Debug for JsonlCodec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonlCodec").field("position", &self.decoder.position()).finish_non_exhaustive()
    }
}
