//! The comfortable way to use the record decoder without any I/O.

use bytes::{Bytes, BytesMut};

use crate::json::Value;
use crate::{CompletedBy, LentEvent, Options, Partial, RecordDecoder};

/// Records out of a text that arrives in pieces: push, take the events, finish.
///
/// [`push`](Self::push) hands over a piece without copying it; [`next_event`](Self::next_event)
/// lends each event until the next call. The events are the same however the text is cut.
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
    /// How much of the chunk is done with.
    at: usize,
    finished: Option<CompletedBy>,
}

impl JsonlParser {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { decoder: RecordDecoder::new(options), chunk: Bytes::new(), at: 0, finished: None }
    }

    /// Hands over the next piece of the text: [`Bytes`], a `String`, a `Vec<u8>`, or anything
    /// `'static`. Of a borrowed buffer push a copy (`buffer[..read].to_vec()`), or read it with a
    /// [`RecordDecoder`], which needs none.
    ///
    /// Take the events before the next push: what is not
    /// read by then has to be copied.
    pub fn push(&mut self, chunk: impl Into<Bytes>) {
        let chunk = chunk.into();
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

    /// The next event of what was pushed, or `None` if it is used up.
    pub fn next_event(&mut self) -> Option<LentEvent<'_>> {
        if self.at == self.chunk.len() {
            // Let go of the chunk as soon as nothing is lent from it.
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

    /// The open record as far as it has come, if there is one, as if it ended here; see
    /// [`RecordDecoder::snapshot`]. Ask once there is no [`next_event`](Self::next_event).
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
    pub fn snapshot(&mut self) -> Option<Partial<Value<'_>>> {
        self.decoder.snapshot()
    }

    /// Says that the text has ended; what was open yields its last events from
    /// [`next_event`](Self::next_event).
    pub fn finish(&mut self) {
        self.finish_with(CompletedBy::EndOfInput);
    }

    /// As [`finish`](Self::finish), where more than the mere end of the text proves that a record
    /// at the end is whole.
    pub fn finish_with(&mut self, completion: CompletedBy) {
        self.finished.get_or_insert(completion);
    }

    /// Forgets everything and starts with the next text. Keeps its memory.
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
