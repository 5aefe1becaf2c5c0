//! The decoder: owns the bytes that the scanner reads, and returns what it finds.

mod read;

use std::hint;
use std::sync::Arc;

pub(super) use self::read::Token;
use super::carry::Carry;
use super::input::{CheckedChunk, Input};
use super::parts::{Parts, UnlentEvent};
use super::scanner::{Gap, Scanner};
use crate::json::{Kind, Value, ValueDelta};
use crate::{CompletedBy, Event, LentEvent, OpenCall, OpenRecord, Options, Span, ValidateCall};

/// The result of [`RecordDecoder::decode`].
#[derive(Debug)]
pub struct Decoded<'a> {
    /// How many bytes of the input were consumed. After an event, call again with the rest.
    pub consumed: usize,
    /// An event, or `None` if all input is consumed and more is needed.
    pub event: Option<LentEvent<'a>>,
}

/// Decodes records from text that arrives in chunks. The machine under [`JsonlParser`](crate::JsonlParser),
/// for callers that keep their own buffers.
///
/// [`decode`](Self::decode) never keeps a borrow of its input: the part that belongs to an open record is
/// copied, once. A record that lies inside one chunk borrows from it, without a copy.
///
/// ```
/// use tokenline_core::{Event, Options, RecordDecoder};
///
/// let mut decoder = RecordDecoder::new(Options::lenient());
/// let mut entities = Vec::new();
/// for piece in ["Sure!\n{\"entity\":\"D", "NA\"}\n{\"entity\":\"RNA\"}\n"] {
///     let mut rest = piece.as_bytes();
///     loop {
///         let decoded = decoder.decode(rest);
///         rest = &rest[decoded.consumed..];
///         match decoded.event {
///             Some(Event::Record(record)) => entities.push(record.value.get("entity").unwrap().raw().to_owned()),
///             Some(_) => {}
///             None => break,
///         }
///     }
/// }
/// assert!(decoder.finish().is_none(), "nothing is left over");
/// assert_eq!(entities, ["\"DNA\"", "\"RNA\""]);
/// ```
#[derive(Debug)]
pub struct RecordDecoder {
    pub(super) scanner: Scanner,
    pub(super) carry: Carry,
    /// Set if text or partials are asked for.
    pub(super) parts: Option<Box<Parts>>,
    /// Offset in the stream of the first byte of input not yet consumed.
    position: u64,
    /// Bytes examined to find the end of a carried line.
    scanned: u64,
    /// The gap on the line of the next byte.
    pub(super) gap: Option<Gap>,
    /// Not 0 if the input ends in a string, and there is no event: one more than the bytes that may be
    /// [appended](Self::append_token) to the carry and read later.
    string_room: u64,
}

impl RecordDecoder {
    /// A decoder at the start of a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            parts: Parts::from_options(&options).map(Box::new),
            scanner: Scanner::new(options),
            carry: Carry::default(),
            position: 0,
            scanned: 0,
            gap: None,
            string_room: 0,
        }
    }

    /// Sets the defined tools, which help to tell calls from other text with [`Options::calls`].
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.scanner.set_tools(Arc::new(tools));
        self
    }

    /// Forgets everything and starts with the next text. Keeps its memory.
    pub fn reset(&mut self) {
        self.reset_at(1, 0);
    }

    /// Like [`reset`](Self::reset), for a part of a larger text that begins at the start of a line: with the number of
    /// that line, from 1, and its offset. Events are placed in the larger text. In [strict mode](Options::strict),
    /// lines do not depend on those before them.
    ///
    /// ```
    /// use tokenline_core::{Event, Options, RecordDecoder, Span};
    ///
    /// let mut decoder = RecordDecoder::new(Options::strict());
    /// decoder.reset_at(8, 100);
    /// let Some(Event::Record(record)) = decoder.decode(b"{\"a\":1}\n").event else { panic!() };
    /// assert_eq!((record.line, record.span), (8, Span::new(100, 107)));
    /// ```
    pub fn reset_at(&mut self, line: u64, offset: u64) {
        self.read_appended();
        self.scanner.reset_at(line, offset);
        self.carry.clear();
        self.carry.shrink();
        if let Some(parts) = &mut self.parts {
            parts.clear();
        }
        self.position = offset;
        self.gap = None;
    }

    /// The line and offset at which it starts; `None` once something has been read.
    pub(crate) fn start(&self) -> Option<(u64, u64)> {
        (self.examined() == 0).then(|| (self.scanner.line(), self.position))
    }

    /// After the next [`reset`](Self::reset), texts no longer begin [inside
    /// reasoning](Options::in_reasoning): they continue the first one's response.
    pub fn end_reasoning(&mut self) {
        self.scanner.end_reasoning();
    }

    /// Reports that bytes were lost upstream, before those to come. Rejects the line that they may have been
    /// on, from its first byte to its end. The gap itself takes no bytes.
    ///
    /// ```
    /// use tokenline_core::adapter::Gap;
    /// use tokenline_core::{Code, Event, Options, RecordDecoder};
    ///
    /// let mut decoder = RecordDecoder::new(Options::lenient());
    /// assert!(decoder.decode(b"{\"a\":").event.is_none());
    /// decoder.gap(Gap::Missing);
    /// let Some(Event::Rejected(diagnostic)) = decoder.decode(b"1}\n{\"a\":2}\n").event else { panic!() };
    /// assert_eq!((diagnostic.code, diagnostic.span.end), (Code::MalformedJson, 7));
    /// ```
    pub fn gap(&mut self, gap: Gap) {
        self.read_appended();
        self.gap.get_or_insert(gap);
    }

    /// Reads on, up to the next event or the end of the input.
    ///
    /// Returns `event: None` once all of `input` is consumed. Never fails: invalid text becomes an event.
    ///
    /// Checks each record to be UTF-8. Text that is a `str` already need not be checked:
    /// [`decode_str`](Self::decode_str). Bytes that hold many records are checked faster all at once:
    /// [`next_event`](Self::next_event).
    #[inline]
    pub fn decode<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        self.decode_input(input)
    }

    /// Like [`decode`](Self::decode), for text. `consumed` is at the boundary of a character.
    ///
    /// Both may be used for the same stream.
    ///
    /// ```
    /// use tokenline_core::{Event, Options, RecordDecoder};
    ///
    /// let mut decoder = RecordDecoder::new(Options::lenient());
    /// assert!(decoder.decode(b"{\"name\":\"Jos\xC3").event.is_none());
    /// assert!(decoder.decode(b"\xA9").event.is_none());
    /// let decoded = decoder.decode_str("\"}\nÀ bientôt");
    /// assert_eq!(decoded.consumed, 3);
    /// let Some(Event::Record(record)) = decoded.event else { panic!() };
    /// assert_eq!(record.value.raw(), "{\"name\":\"José\"}");
    /// ```
    #[inline]
    pub fn decode_str<'a>(&'a mut self, input: &'a str) -> Decoded<'a> {
        self.decode_input(input)
    }

    /// Consumes a chunk up to the next event; `None` once all of it is consumed. The text of the chunk is not checked
    /// again.
    ///
    /// ```
    /// use tokenline_core::{CheckedChunk, Event, Options, RecordDecoder};
    ///
    /// let mut decoder = RecordDecoder::new(Options::lenient());
    /// let mut log = Vec::new();
    /// for chunk in [&b"{\"a\":1}\n{\"a\":\"\xC3"[..], b"\xA9\"}\n{\"a\":\"\xFF\"}\n{\"a\":2}\n"] {
    ///     let mut chunk = CheckedChunk::new(chunk);
    ///     while let Some(event) = decoder.next_event(&mut chunk) {
    ///         log.push(match event {
    ///             Event::Record(record) => record.value.raw().to_owned(),
    ///             Event::Rejected(diagnostic) => diagnostic.code.to_string(),
    ///             _ => unreachable!(),
    ///         });
    ///     }
    /// }
    /// assert_eq!(log, ["{\"a\":1}", "{\"a\":\"é\"}", "invalid_utf8", "{\"a\":2}"]);
    /// ```
    #[inline]
    pub fn next_event<'a, 'i: 'a>(&'a mut self, chunk: &mut CheckedChunk<'i>) -> Option<LentEvent<'a>> {
        // Asked for again after a token in a string.
        if self.string_room > 0 && chunk.is_empty() {
            return None;
        }
        if self.parts.is_some() { self.next_in_parts(chunk) } else { self.next_alone(chunk) }
    }

    /// `next_event` without parts.
    fn next_alone<'a, 'i: 'a>(&'a mut self, chunk: &mut CheckedChunk<'i>) -> Option<LentEvent<'a>> {
        if chunk.text.is_empty() {
            if self.append_token(chunk.rest) {
                chunk.rest = &[];
                return None;
            }
            if let Some(token) = self.take_token(chunk.rest) {
                chunk.rest = &[];
                if token != Token::Unread {
                    return None;
                }
            }
        } else if let Some(text) = self.plain_line(chunk.text) {
            chunk.text = &chunk.text[text.len() + 1..];
            return Some(Event::Record(self.scanner.line_record(text)));
        }
        self.next_other_event(chunk)
    }

    /// Ends the input. Call it until it returns `None`: a last line without a newline may yield several
    /// events.
    pub fn finish(&mut self) -> Option<LentEvent<'_>> {
        self.finish_with(CompletedBy::EndOfInput)
    }

    /// Like [`finish`](Self::finish), with stronger evidence than the end of the input that a record at the
    /// end is complete.
    pub fn finish_with(&mut self, completion: CompletedBy) -> Option<LentEvent<'_>> {
        let event = self.finish_step(completion)?;
        Some(self.lend(event))
    }

    /// The bytes of the open record so far, which it keeps if they came in several chunks.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.held_from().map_or(0, |start| self.position.saturating_sub(start))
    }

    /// Reads a word of each cache line that a token in a string needs.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        let tail = self.carry.text.as_bytes().last();
        hint::black_box(tail.map_or(0, |byte| u64::from(*byte)) ^ self.string_room);
    }

    /// The options for reading.
    #[must_use]
    pub fn options(&self) -> &Options {
        self.scanner.options()
    }

    /// Offset in the stream of the next byte to be decoded.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The line of this byte, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.scanner.line()
    }

    /// Offset in the stream of the open value, or of one that is balanced and not released yet. It may still
    /// prove to be prose.
    ///
    /// ```
    /// use tokenline_core::{Options, RecordDecoder};
    ///
    /// let mut decoder = RecordDecoder::new(Options::lenient());
    /// assert!(decoder.decode(b"Use {x}: {\"a\":1").event.is_none());
    /// assert_eq!(decoder.open_value(), Some(9));
    /// ```
    #[must_use]
    pub fn open_value(&self) -> Option<u64> {
        self.scanner.open_start()
    }

    /// Whether the text so far ends in reasoning between tags, such as `<think>` and `</think>`.
    ///
    /// ```
    /// use tokenline_core::{Options, RecordDecoder};
    ///
    /// let mut decoder = RecordDecoder::new(Options::lenient());
    /// assert!(decoder.decode(b"<think>A list of {").event.is_none());
    /// assert!(decoder.is_in_reasoning());
    /// assert!(decoder.decode(b"}.</think>\n{\"a\":1").event.is_none());
    /// assert!(!decoder.is_in_reasoning());
    /// ```
    #[must_use]
    pub fn is_in_reasoning(&self) -> bool {
        self.scanner.is_in_reasoning()
    }

    /// Offset in the stream of a malformed value that has not ended: it will be rejected.
    #[must_use]
    pub fn rejected_value(&self) -> Option<u64> {
        self.scanner.rejected_start()
    }

    /// Offset in the stream of the first byte that a later event may refer to. To quote rejected text, keep
    /// the input from here on.
    #[must_use]
    pub fn undecided_from(&self) -> u64 {
        self.scanner.undecided_from().min(self.position)
    }

    /// Offset in the stream of the first byte that may be part of a later record; the
    /// [position](Self::position) if nothing is open.
    #[must_use]
    pub fn open_from(&self) -> u64 {
        self.scanner.open_from().map_or(self.position, |from| from.min(self.position))
    }

    /// The text of a span from the last event, if it was kept: of an [`Event::Text`], [`Event::Reasoning`] or [`Event::Markup`], or
    /// of an [`Event::Rejected`] within the limit that is UTF-8, but for what earlier events are about: a reject may
    /// contain records and reasoning. Empty without [`Options::text`].
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        let text = self.carry.get(span).filter(|_| self.scanner.emits_text());
        text.unwrap_or_default()
    }

    /// Bytes examined since the decoder was created, by the parser and by the search for lines and openers,
    /// without the UTF-8 check. At most twice the input; three times if much of it is malformed, and once
    /// more after an unclosed tag for thinking; with [partials](Options::partials), new bytes are examined
    /// once more.
    #[must_use]
    pub fn examined(&self) -> u64 {
        // A token is examined by the parser, and for the end of the line.
        self.scanner.examined() + self.scanned + 2 * self.appended() as u64
    }

    /// The open record so far, if there is one, as if it ended here; see
    /// [`json::Parser::snapshot`](crate::json::Parser::snapshot).
    ///
    /// Call it once [`decode`](Self::decode) has no more events. Does not need [`Options::partials`]. The
    /// record may still be rejected.
    pub fn snapshot(&mut self) -> Option<OpenRecord<Value<'_>>> {
        self.read_appended();
        let waiting = self.parts.as_deref().and_then(|parts| parts.waiting(&self.scanner));
        let place = waiting.or_else(|| self.scanner.open_place())?;
        let text = self.carry.open_text(place.start)?;
        let value = self.scanner.json_mut().snapshot(text)?;
        // Only objects are records.
        (value.kind() == Kind::Object).then(|| place.map(|()| value))
    }

    /// The open tool call so far, once its name is known, in whichever syntax it is written. Only with
    /// [`Options::calls`].
    ///
    /// Call it once [`decode`](Self::decode) has no more events. The call may still be rejected, or prove to be
    /// ordinary text. Takes time proportional to what is new.
    ///
    /// ```
    /// use tokenline_core::{CallFormat, Options, RecordDecoder};
    ///
    /// let mut decoder = RecordDecoder::new(Options::lenient().calls(CallFormat::Auto));
    /// assert!(decoder.decode(b"<function=weather>\n<parameter=city>\nPar").event.is_none());
    /// let call = decoder.open_call().unwrap();
    /// assert_eq!((&*call.name, call.parameters), ("weather", r#"{"city":"Par"#));
    /// ```
    pub fn open_call(&mut self) -> Option<OpenCall<'_>> {
        self.read_appended();
        let start = match self.parts.as_deref().and_then(|parts| parts.waiting(&self.scanner)) {
            Some(_) => return None,
            None => self.scanner.call_start().or_else(|| Some(self.scanner.open_place()?.start))?,
        };
        self.scanner.open_call(self.carry.open_text(start)?, start)
    }

    /// Consumes a token that only continues an open string. Returns whether it is one.
    #[inline]
    pub(crate) fn append(&mut self, token: &str) -> bool {
        self.append_token(token)
    }

    #[inline(always)]
    fn decode_input<'a>(&'a mut self, input: impl Input<'a>) -> Decoded<'a> {
        if self.append_token(input) {
            return Decoded { consumed: input.bytes().len(), event: None };
        }
        self.decode_more(input)
    }

    /// Anything but a token in the open string.
    #[inline(never)]
    fn decode_more<'a>(&'a mut self, input: impl Input<'a>) -> Decoded<'a> {
        if self.parts.is_none()
            && let Some(token) = self.take_token(input)
        {
            let consumed = input.bytes().len();
            if token != Token::Unread {
                return Decoded { consumed, event: None };
            }
            return Decoded { consumed, event: self.next_carried() };
        }
        if let Some(text) = self.plain_line(input) {
            let event = Some(Event::Record(self.scanner.line_record(text)));
            return Decoded { consumed: text.len() + 1, event };
        }
        self.decode_other(input)
    }

    /// `next_event` with parts.
    fn next_in_parts<'a, 'i: 'a>(&'a mut self, chunk: &mut CheckedChunk<'i>) -> Option<LentEvent<'a>> {
        if !self.is_emitted()
            && let Some(event) = self.next_part()
        {
            return Some(self.lend_part(event));
        }
        if chunk.text.is_empty() && self.waits_for_input() {
            if chunk.rest.is_empty() {
                return None;
            }
            if let Some(token) = self.take_token(chunk.rest) {
                let len = chunk.rest.len();
                chunk.rest = &[];
                let event = self.add_token(len, token)?;
                if token == Token::InString && self.is_emitted() {
                    // Only for the call after this one: nothing is appended unread.
                    self.string_room = 1;
                }
                return Some(self.lend_part(event));
            }
        }
        self.next_other_event(chunk)
    }

    #[inline(never)]
    fn next_other_event<'a, 'i: 'a>(&'a mut self, chunk: &mut CheckedChunk<'i>) -> Option<LentEvent<'a>> {
        let mut event = None;
        if !chunk.text.is_empty() || chunk.rest.is_empty() {
            let consumed;
            (consumed, event) = self.step_input(chunk.text);
            chunk.text = &chunk.text[consumed..];
        }
        if event.is_none() && !chunk.rest.is_empty() {
            let consumed;
            (consumed, event) = self.step_input(chunk.rest);
            chunk.rest = &chunk.rest[consumed..];
        }
        event.map(|event| self.lend(event))
    }

    /// Anything but a token and a plain line.
    #[inline(never)]
    fn decode_other<'a>(&'a mut self, input: impl Input<'a>) -> Decoded<'a> {
        let (consumed, event) = self.step_input(input);
        Decoded { consumed, event: event.map(|event| self.lend(event)) }
    }

    #[inline(never)]
    fn next_carried(&mut self) -> Option<LentEvent<'_>> {
        let event = self.read_carry()?;
        Some(self.lend(event))
    }

    /// `decode` without borrowing the event from the decoder.
    #[inline(always)]
    pub(crate) fn step<'i>(&mut self, input: &'i [u8]) -> (usize, Option<UnlentEvent<'i>>) {
        if self.append_token(input) {
            return (input.len(), None);
        }
        if self.parts.is_none()
            && let Some(token) = self.take_token(input)
        {
            return (input.len(), if token == Token::Unread { self.read_carry() } else { None });
        }
        if let Some(text) = self.plain_line(input) {
            return (text.len() + 1, Some(UnlentEvent::PlainLine(text)));
        }
        self.step_input(input)
    }

    // `inline(always)`: otherwise the event is copied once more, a tenth of the work for a short line.
    #[inline(always)]
    pub(super) fn step_input<'i>(&mut self, input: impl Input<'i>) -> (usize, Option<UnlentEvent<'i>>) {
        if self.parts.is_some() { self.step_in_parts(input) } else { self.read(input) }
    }

    /// `finish_with` without borrowing the event from the decoder.
    pub(crate) fn finish_step(&mut self, completion: CompletedBy) -> Option<UnlentEvent<'static>> {
        self.next_part().or_else(|| {
            let event = self.read_end(completion);
            self.add_parts(event)
        })
    }

    /// Does what `lend` does, with a fast path for deltas, the most frequent of these events.
    #[inline(always)]
    fn lend_part(&self, event: UnlentEvent<'static>) -> LentEvent<'_> {
        match event {
            UnlentEvent::ValueDelta => Event::Partial(self.delta()),
            event => self.lend(event),
        }
    }

    /// The delta found last.
    #[inline(always)]
    fn delta(&self) -> OpenRecord<ValueDelta<'_>> {
        let parts = self.parts.as_deref().expect("partials are asked for");
        parts.delta(&self.scanner, &self.carry)
    }

    #[inline]
    pub(crate) fn lend<'a>(&'a self, event: UnlentEvent<'a>) -> LentEvent<'a> {
        match event {
            UnlentEvent::Diagnostic(diagnostic) => Event::from_diagnostic(*diagnostic),
            UnlentEvent::InInput(text) => Event::Record(self.scanner.lend(text)),
            UnlentEvent::PlainLine(text) => Event::Record(self.scanner.line_record(text)),
            UnlentEvent::InCarry => {
                let text = self.carry.text_of(self.scanner.found().span);
                Event::Record(self.scanner.lend(text))
            }
            UnlentEvent::Call => Event::Record(self.scanner.lend(self.scanner.call_text())),
            UnlentEvent::ValueDelta => Event::Partial(self.delta()),
            UnlentEvent::Text(span) => Event::Text(span),
            UnlentEvent::Reasoning(span) => Event::Reasoning(span),
            UnlentEvent::Markup(span) => Event::Markup(span),
        }
    }
}
