//! Splits bytes that arrive in chunks into events, for any framing.

use std::borrow::Cow;

use tokenline_core::sse::{SseDecoded, SseDecoder, SseEvent, SseItem, StrayObject};
use tokenline_core::{Code, Diagnostic, Limits, Origin, Span};

use super::Framing;
use super::array::ArrayDecoder;
use super::body::{BodyDecoder, blank_len};
use super::element::Element;
use super::event_stream::{EventStreamDecoder, EventStreamEvent, EventStreamMessage};
use super::lines::LineDecoder;

/// Decodes a stream's bytes into its events.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    framing: Framing,
    limits: Limits,
    state: State,
    /// Line feeds before the first byte that identifies the framing.
    blank_lines: u64,
}

#[derive(Debug)]
enum State {
    /// Server-sent events, unless the first byte that is not white space opens an object or an array.
    Detecting(SseDecoder),
    Events(SseDecoder),
    Array(ArrayDecoder),
    Lines(LineDecoder),
    Messages(EventStreamDecoder),
    Body(BodyDecoder),
}

/// A decoded part of the stream.
pub(crate) enum Frame<'a> {
    Event(WireEvent<'a>),
    /// An event above the limit, which was dropped.
    Rejected(Diagnostic),
    /// The stream ended inside an event.
    Truncated(Diagnostic),
    /// An object outside the events.
    Stray(StrayObject),
}

/// One event of a stream.
pub(crate) struct WireEvent<'a> {
    /// The name; `message` if the framing has no names.
    pub(crate) name: &'a str,
    /// The data, which may be empty.
    pub(crate) data: Cow<'a, str>,
    /// The data had invalid UTF-8, replaced by U+FFFD.
    pub(crate) is_lossy: bool,
    /// The stream ended before the end of the event.
    pub(crate) is_cut: bool,
    /// A complete response that was not streamed.
    pub(crate) is_body: bool,
    /// The framing's name for an event.
    noun: &'static str,
    pub(crate) line: u64,
    pub(crate) span: Span,
}

impl State {
    fn new(framing: Framing, limits: &Limits) -> Self {
        match framing {
            Framing::Events | Framing::EventsOrArray => Self::Detecting(SseDecoder::new(*limits).lenient()),
            Framing::Lines => Self::Lines(LineDecoder::new(limits)),
            Framing::Messages => Self::Messages(EventStreamDecoder::new(limits)),
            Framing::Body => Self::Body(BodyDecoder::new(limits, 0)),
        }
    }
}

impl FrameDecoder {
    pub(crate) fn new(framing: Framing, limits: Limits) -> Self {
        Self { framing, limits, state: State::new(framing, &limits), blank_lines: 0 }
    }

    /// Reads a word of each cache line that an event needs, if it is one of server-sent events.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        if let State::Events(events) = &self.state {
            events.prefetch();
        }
    }

    /// A decoder of the same framing, at the start of a stream.
    pub(crate) fn with_limits(&self, limits: Limits) -> Self {
        Self::new(self.framing, limits)
    }

    /// Starts over for the next stream.
    pub(crate) fn reset(&mut self) {
        self.blank_lines = 0;
        self.state = match std::mem::replace(&mut self.state, State::Body(BodyDecoder::new(&self.limits, 0)))
        {
            // Reuse the memory.
            State::Events(mut events) | State::Detecting(mut events) => {
                events.reset();
                State::Detecting(events)
            }
            _ => State::new(self.framing, &self.limits),
        };
    }

    /// Consumes a short chunk that lies within one line; returns whether it did.
    #[inline]
    pub(crate) fn extend_line(&mut self, piece: &[u8]) -> bool {
        match &mut self.state {
            State::Events(events) => events.extend_line(piece),
            State::Detecting(_) | State::Array(_) | State::Lines(_) | State::Messages(_) | State::Body(_) => {
                false
            }
        }
    }

    /// Decodes up to the next event, or to the end of the input; returns the number of bytes consumed.
    #[inline]
    pub(crate) fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<Frame<'a>>) {
        match &self.state {
            State::Detecting(_) => self.detect(input),
            // A message that starts with a brace would be 2 GB long.
            State::Messages(messages) if messages.offset() == 0 && input.first() == Some(&b'{') => {
                self.state = State::Body(BodyDecoder::new(&self.limits, 0));
            }
            _ => {}
        }
        match &mut self.state {
            State::Events(events) | State::Detecting(events) => {
                if let Some(object) = events.take_stray_object() {
                    return (0, Some(Frame::Stray(object)));
                }
                let SseDecoded { consumed, item } = events.decode(input);
                (consumed, item.map(|item| Frame::of_item(item, false)))
            }
            State::Array(array) => {
                let (consumed, element) = array.decode(input);
                (consumed, element.map(|element| Frame::of_element(element, false)))
            }
            State::Lines(lines) => {
                let (consumed, element) = lines.decode(input);
                (consumed, element.map(|element| Frame::of_element(element, false)))
            }
            State::Messages(messages) => {
                let (consumed, message) = messages.decode(input);
                (consumed, message.map(Frame::of_message))
            }
            State::Body(body) => {
                body.push(input);
                (input.len(), None)
            }
        }
    }

    /// Detects the framing at the first byte that identifies it. A line of an event stream never begins with a bracket.
    #[cold]
    fn detect(&mut self, input: &[u8]) {
        let State::Detecting(events) = &mut self.state else { return };
        let blank = blank_len(input);
        let (offset, lines) = (events.offset(), self.blank_lines);
        match input.get(blank) {
            Some(b'[') => self.state = State::Array(ArrayDecoder::new(&self.limits, offset, lines)),
            Some(b'{') => self.state = State::Body(BodyDecoder::new(&self.limits, offset)),
            Some(_) => self.state = State::Events(std::mem::take(events)),
            None => self.blank_lines += memchr::memchr_iter(b'\n', input).count() as u64,
        }
    }

    /// Ends the stream. Returns the unterminated last event; before it, what is complete: call it again after a
    /// frame that [is whole](Frame::is_whole).
    pub(crate) fn finish(&mut self) -> Option<Frame<'_>> {
        match &mut self.state {
            State::Events(events) | State::Detecting(events) => {
                if let Some(object) = events.take_stray_object() {
                    return Some(Frame::Stray(object));
                }
                events.finish().map(|item| {
                    let is_cut = !matches!(item, SseItem::Event(_));
                    Frame::of_item(item, is_cut)
                })
            }
            State::Array(array) => {
                array.finish().map(|(line, span)| Frame::Truncated(truncated(OBJECT, line, span)))
            }
            State::Lines(lines) => lines.finish().map(|element| Frame::of_element(element, true)),
            State::Messages(messages) => {
                messages.finish().map(|(line, span)| Frame::Truncated(truncated(MESSAGE, line, span)))
            }
            State::Body(body) => body.finish().map(|element| match Frame::of_element(element, true) {
                Frame::Event(event) => Frame::Event(WireEvent { is_body: true, ..event }),
                frame => frame,
            }),
        }
    }

    /// Takes an object outside the events that ends with the stream.
    pub(crate) fn take_stray(&mut self) -> Option<StrayObject> {
        match &mut self.state {
            State::Events(events) | State::Detecting(events) => events.take_stray_object(),
            State::Array(_) | State::Lines(_) | State::Messages(_) | State::Body(_) => None,
        }
    }

    /// Whether the input is one JSON document.
    pub(crate) fn is_body(&self) -> bool {
        matches!(self.state, State::Body(_))
    }

    /// The number of lines that are not part of an event stream, and the place of the first.
    pub(crate) fn unknown_lines(&self) -> Option<(u64, (u64, Span))> {
        match &self.state {
            State::Events(events) | State::Detecting(events) => {
                Some((events.unknown_fields(), events.first_unknown()?))
            }
            State::Array(_) | State::Lines(_) | State::Messages(_) | State::Body(_) => None,
        }
    }
}

impl<'a> Frame<'a> {
    /// Whether the stream may go on after it: it is complete.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Event(event) => !event.is_cut,
            Self::Stray(_) => true,
            Self::Rejected(_) | Self::Truncated(_) => false,
        }
    }

    #[inline]
    fn of_item(item: SseItem<'a>, is_cut: bool) -> Self {
        match item {
            SseItem::Event(event) | SseItem::Incomplete(event) if is_cut && !may_be_complete(&event) => {
                Self::Truncated(truncated(EVENT, event.line, event.span))
            }
            SseItem::Event(event) | SseItem::Incomplete(event) => Self::Event(WireEvent {
                name: event.event,
                data: Cow::Borrowed(event.data),
                is_lossy: event.lossy,
                is_cut,
                is_body: false,
                noun: EVENT,
                line: event.line,
                span: event.span,
            }),
            SseItem::Rejected(diagnostic) => Self::Rejected(diagnostic),
        }
    }

    fn of_message(message: EventStreamMessage<'a>) -> Self {
        let EventStreamMessage { event, number: line, span } = message;
        let EventStreamEvent { name, data } = match event {
            Ok(event) => event,
            Err(diagnostic) => return Self::Rejected(diagnostic),
        };
        let data = match data {
            Cow::Borrowed(data) => String::from_utf8_lossy(data),
            Cow::Owned(data) => String::from_utf8_lossy(&data).into_owned().into(),
        };
        let (is_lossy, is_cut, is_body) = (matches!(data, Cow::Owned(_)), false, false);
        Self::Event(WireEvent { name, data, is_lossy, is_cut, is_body, noun: MESSAGE, line, span })
    }

    fn of_element(element: Element<'a>, is_cut: bool) -> Self {
        let Element { data, line, span } = element;
        match data.map(String::from_utf8_lossy) {
            Ok(data) => {
                let is_lossy = matches!(data, Cow::Owned(_));
                let data = match data {
                    Cow::Borrowed(data) => data.trim_start_matches('\u{feff}').into(),
                    Cow::Owned(data) => data.trim_start_matches('\u{feff}').to_owned().into(),
                };
                let (name, noun, is_body) = ("message", OBJECT, false);
                Self::Event(WireEvent { name, data, is_lossy, is_cut, is_body, noun, line, span })
            }
            Err(diagnostic) => Self::Rejected(diagnostic),
        }
    }
}

impl WireEvent<'_> {
    /// The diagnostic if the stream ended inside the event.
    #[cold]
    pub(crate) fn truncated(&self) -> Diagnostic {
        truncated(self.noun, self.line, self.span)
    }
}

/// Whether an unterminated event may have all of its data. If it is not JSON after all, it was truncated.
fn may_be_complete(event: &SseEvent<'_>) -> bool {
    let data = event.data.trim();
    event.data.is_empty() || data == "[DONE]" || data.starts_with('{') || event.event == "error"
}

const EVENT: &str = "a server-sent event";
const OBJECT: &str = "an object";
const MESSAGE: &str = "a message";

fn truncated(noun: &str, line: u64, span: Span) -> Diagnostic {
    let message = format!("the stream ended inside {noun}, {} bytes after its start", span.len());
    Diagnostic::new(Code::Truncated, line, span, 1, message).with_origin(Origin::Wire)
}
