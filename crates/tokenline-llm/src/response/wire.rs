//! How an answer is framed: what on the wire is one event.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use tokenline_core::json::SyntaxError;
use tokenline_core::sse::{SseDecoded, SseDecoder, SseEvent, SseItem};
use tokenline_core::{Code, Diagnostic, Limits, Options, Origin, Span};

use super::array::ArrayDecoder;
use super::element::Element;
use super::lines::LineDecoder;
use super::provider::{Decoder, Provider, may_be_whole};
use super::state::ResponseState;
use crate::Delta;

/// The framing of a stream, as far as it has come.
#[derive(Debug)]
pub(super) struct Wire {
    provider: Provider,
    limits: Limits,
    framing: Framing,
    /// Line feeds that came before it was decided what the framing is.
    blank_lines: u64,
}

#[derive(Debug)]
enum Framing {
    Events(SseDecoder),
    /// Server-sent events, unless the first byte that is no white space says otherwise.
    EventsOrArray(SseDecoder),
    Array(ArrayDecoder),
    /// A JSON object a line.
    Lines(LineDecoder),
}

impl Framing {
    fn new(provider: Provider, limits: &Limits) -> Self {
        match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses | Provider::Anthropic => {
                Self::Events(SseDecoder::new(*limits))
            }
            Provider::Gemini => Self::EventsOrArray(SseDecoder::new(*limits)),
            Provider::Ollama => Self::Lines(LineDecoder::new(limits)),
        }
    }
}

impl Wire {
    pub(super) fn new(provider: Provider, options: &Options) -> Self {
        let limits = options.limits;
        Self { provider, limits, framing: Framing::new(provider, &limits), blank_lines: 0 }
    }

    pub(super) fn reset(&mut self) {
        self.blank_lines = 0;
        match &mut self.framing {
            // Keeps its memory.
            Framing::Events(events) if self.provider != Provider::Gemini => events.reset(),
            framing => *framing = Framing::new(self.provider, &self.limits),
        }
    }

    /// Takes in a short piece that is no more than a part of a line, and answers whether it is.
    #[inline]
    pub(super) fn extend_line(&mut self, piece: &[u8]) -> bool {
        match &mut self.framing {
            Framing::Events(events) => events.extend_line(piece),
            Framing::EventsOrArray(_) | Framing::Array(_) | Framing::Lines(_) => false,
        }
    }

    /// Decodes up to the next event, or to the end of the input, and says how much that is.
    pub(super) fn decode<T: DeserializeOwned>(
        &mut self,
        input: &[u8],
        decoder: &mut Decoder,
        state: &mut ResponseState<T>,
    ) -> usize {
        if let Framing::EventsOrArray(events) = &mut self.framing {
            let blank = input.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            match input.get(blank) {
                Some(b'[') => {
                    let array = ArrayDecoder::new(&self.limits, events.offset(), self.blank_lines);
                    self.framing = Framing::Array(array);
                }
                Some(_) => self.framing = Framing::Events(std::mem::take(events)),
                None => self.blank_lines += memchr::memchr_iter(b'\n', input).count() as u64,
            }
        }
        match &mut self.framing {
            Framing::Events(events) | Framing::EventsOrArray(events) => {
                let SseDecoded { consumed, item } = events.decode(input);
                match item {
                    None => {}
                    Some(SseItem::Event(event) | SseItem::Incomplete(event)) => {
                        sse_event(&event, false, decoder, state);
                    }
                    Some(SseItem::Rejected(diagnostic)) => state.lose(diagnostic),
                }
                consumed
            }
            Framing::Array(array) => {
                let (consumed, element) = array.decode(input);
                element.map(|element| read_element(element, false, decoder, state));
                consumed
            }
            Framing::Lines(lines) => {
                let (consumed, element) = lines.decode(input);
                element.map(|element| read_element(element, false, decoder, state));
                consumed
            }
        }
    }

    /// Ends the stream. An event without its end counts if it is whole.
    pub(super) fn finish<T: DeserializeOwned>(
        &mut self,
        decoder: &mut Decoder,
        state: &mut ResponseState<T>,
    ) {
        let is_whole = match &mut self.framing {
            Framing::Events(events) | Framing::EventsOrArray(events) => match events.finish() {
                None => true,
                Some(SseItem::Event(event) | SseItem::Incomplete(event)) => {
                    sse_event(&event, true, decoder, state)
                }
                Some(SseItem::Rejected(diagnostic)) => {
                    state.lose(diagnostic);
                    false
                }
            },
            Framing::Array(array) => match array.finish() {
                None => true,
                Some((line, span)) => {
                    state.begin_event(line, span);
                    state.out.finding(None, 0, truncated(line, span));
                    false
                }
            },
            Framing::Lines(lines) => match lines.finish() {
                None => true,
                Some(element) => read_element(element, true, decoder, state),
            },
        };
        // What is kept back until the stream has ended is none of one that was cut off.
        if is_whole {
            decoder.finish(|delta| state.take(delta, None, false));
            state.end_event();
        }
    }

    /// Bytes that came.
    pub(super) fn offset(&self) -> u64 {
        match &self.framing {
            Framing::Events(events) | Framing::EventsOrArray(events) => events.offset(),
            Framing::Array(array) => array.offset(),
            Framing::Lines(lines) => lines.offset(),
        }
    }

    /// Lines that are not of an event stream.
    pub(super) fn strange_lines(&self) -> u64 {
        match &self.framing {
            Framing::Events(events) | Framing::EventsOrArray(events) => events.unknown_fields(),
            Framing::Array(_) | Framing::Lines(_) => 0,
        }
    }
}

/// `is_cut` tells that the stream ended in the event, so that it may not be whole. Answers whether it
/// could be read.
fn sse_event<T: DeserializeOwned>(
    event: &SseEvent<'_>,
    is_cut: bool,
    decoder: &mut Decoder,
    state: &mut ResponseState<T>,
) -> bool {
    state.at(event.line, event.span);
    if event.data.is_empty() {
        return true;
    }
    state.begin_event(event.line, event.span);
    if is_cut && !may_be_whole(event) {
        state.out.finding(None, 0, event.truncated());
        return false;
    }
    let decoded = decode(event.event, event.data, event.lossy, decoder, state);
    match &decoded {
        Ok(()) => state.end_event(),
        Err(_) if is_cut => state.out.finding(None, 0, event.truncated()),
        Err(error) => state.lose_event(error),
    }
    decoded.is_ok()
}

fn decode<T: DeserializeOwned>(
    event: &str,
    data: &str,
    lossy: bool,
    decoder: &mut Decoder,
    state: &mut ResponseState<T>,
) -> Result<(), SyntaxError> {
    let mut lone = None;
    decoder.decode(event, data, |delta| match delta {
        Delta::LoneSurrogates(halves) => lone = Some(halves),
        delta => state.take(delta, lone, lossy),
    })
}

/// `is_cut` tells that the stream ended in the element, so that it may not be whole. Answers whether it
/// could be read.
fn read_element<T: DeserializeOwned>(
    element: Element<'_>,
    is_cut: bool,
    decoder: &mut Decoder,
    state: &mut ResponseState<T>,
) -> bool {
    let Element { data, line, span } = element;
    state.begin_event(line, span);
    let data = match data {
        Ok(data) => String::from_utf8_lossy(data),
        Err(diagnostic) => {
            state.lose(diagnostic);
            return false;
        }
    };
    let lossy = matches!(data, Cow::Owned(_));
    let data = data.trim_start_matches('\u{feff}');
    let decoded = decode("message", data, lossy, decoder, state);
    match &decoded {
        Ok(()) => state.end_event(),
        Err(_) if is_cut => state.out.finding(None, 0, truncated(line, span)),
        Err(error) => state.lose_event(error),
    }
    decoded.is_ok()
}

fn truncated(line: u64, span: Span) -> Diagnostic {
    let message = format!("the stream ended inside an object, {} bytes after its start", span.len());
    Diagnostic::new(Code::Truncated, line, span, 1, message).with_origin(Origin::Wire)
}
