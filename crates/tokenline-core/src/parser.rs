//! Records from pushed chunks of text, without I/O.

use bytes::{Bytes, BytesMut};

use crate::json::Value;
use crate::{Chunk, CompletedBy, LentEvent, OpenRecord, Options, RecordDecoder};

/// Parses records from text that arrives in chunks, without I/O: push a chunk, take its events, finish.
///
/// Each event borrows from the parser until the next call. The events are the same wherever the text is cut.
///
/// ```
/// use tokenline_core::{CompletedBy, Event, JsonlParser, Options};
///
/// let mut parser = JsonlParser::new(Options::lenient());
/// let mut log = Vec::new();
/// let mut take = |parser: &mut JsonlParser| {
///     while let Some(event) = parser.next_event() {
///         log.push(match event {
///             Event::Record(record) => format!("{} {}", record.completion.as_str(), record.value.raw()),
///             Event::Rejected(diagnostic) => format!("rejected: {diagnostic}"),
///             Event::Note(diagnostic) => format!("note: {diagnostic}"),
///             _ => unreachable!(),
///         });
///     }
/// };
/// for piece in ["Here they are:\n{\"a\":", "1}\n{\"a\":NaN}\n", "{\"a\":2}\n{\"a\":"] {
///     parser.push(piece);
///     take(&mut parser);
/// }
/// parser.finish();
/// take(&mut parser);
///
/// assert_eq!(log, [
///     "note: 1:1: prose: text without a record",
///     "newline {\"a\":1}",
///     "rejected: 3:6: malformed_json: expected a value, found a letter",
///     "newline {\"a\":2}",
///     "rejected: 5:6: truncated: expected a value, found the end of the input",
/// ]);
/// ```
#[derive(Debug)]
pub struct JsonlParser {
    decoder: RecordDecoder,
    chunk: Bytes,
    /// Index of the next byte of the chunk.
    at: usize,
    finished: Option<CompletedBy>,
}

impl JsonlParser {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { decoder: RecordDecoder::new(options), chunk: Bytes::new(), at: 0, finished: None }
    }

    /// Places the events in a longer text, of which the rest is pushed from the start of a line: with the number of that
    /// line, from 1, and its offset in bytes. Call it before the first push.
    ///
    /// ```
    /// use tokenline_core::{JsonlParser, LentEvent, Options, Span};
    ///
    /// let text = "{\"a\":1}\n{\"a\":2}\n";
    /// let mut parser = JsonlParser::new(Options::lenient()).starting_at(2, 8);
    /// parser.push(&text[8..]);
    /// let Some(LentEvent::Record(record)) = parser.next_event() else { panic!() };
    /// assert_eq!((record.line, record.span), (2, Span::new(8, 15)));
    /// ```
    #[must_use]
    pub fn starting_at(mut self, line: u64, offset: u64) -> Self {
        self.decoder.reset_at(line, offset);
        self
    }

    /// Adds the next chunk of the text: `&str`, `&[u8]`, `String`, `Vec<u8>` or [`Bytes`]. Owned chunks are not copied;
    /// borrowed ones are, which a [`RecordDecoder`] avoids.
    ///
    /// Take the events before the next push. Text that is still unread then is copied.
    pub fn push(&mut self, chunk: impl Chunk) {
        let chunk = chunk.into_bytes();
        if self.at == self.chunk.len() {
            self.chunk = chunk;
        } else {
            let unread = std::mem::take(&mut self.chunk).split_off(self.at);
            let mut joined = unread.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
            joined.extend_from_slice(&chunk);
            self.chunk = joined.freeze();
        }
        self.at = 0;
    }

    /// The next event, or `None` if all pushed text is read.
    pub fn next_event(&mut self) -> Option<LentEvent<'_>> {
        if self.at == self.chunk.len() {
            // Drop the chunk as soon as no event borrows from it.
            self.chunk = Bytes::new();
            self.at = 0;
        }
        let (consumed, event) = self.decoder.step(&self.chunk[self.at..]);
        self.at += consumed;
        let event = match (event, self.finished) {
            (Some(event), _) => event,
            (None, Some(completion)) if self.at == self.chunk.len() => {
                self.decoder.finish_step(completion)?
            }
            (None, _) => return None,
        };
        Some(self.decoder.lend(event))
    }

    /// The open record as far as it has arrived, if there is one; see [`RecordDecoder::snapshot`]. Call it once
    /// [`next_event`](Self::next_event) returns `None`.
    ///
    /// ```
    /// use tokenline_core::{JsonlParser, Options};
    ///
    /// let mut parser = JsonlParser::new(Options::lenient());
    /// parser.push("{\"title\":\"Soup\",\"steps\":[\"Peel the on");
    /// assert!(parser.next_event().is_none());
    /// let recipe = parser.snapshot().unwrap().value;
    /// assert_eq!(recipe.to_json(), r#"{"title":"Soup","steps":["Peel the on"]}"#);
    /// assert!(recipe.pointer("/steps/0").unwrap().is_open());
    /// ```
    pub fn snapshot(&mut self) -> Option<OpenRecord<Value<'_>>> {
        self.decoder.snapshot()
    }

    /// Ends the text. [`next_event`](Self::next_event) then returns the last events.
    pub fn finish(&mut self) {
        self.finish_with(CompletedBy::EndOfInput);
    }

    /// Like [`finish`](Self::finish), with stronger evidence than the end of the text that a record at the end is
    /// complete.
    pub fn finish_with(&mut self, completion: CompletedBy) {
        self.finished.get_or_insert(completion);
    }

    /// Starts over with another text. Keeps allocated memory.
    pub fn reset(&mut self) {
        self.decoder.reset();
        self.chunk = Bytes::new();
        self.at = 0;
        self.finished = None;
    }

    /// The decoder, for its position and its work counter.
    #[must_use]
    pub fn decoder(&self) -> &RecordDecoder {
        &self.decoder
    }
}
