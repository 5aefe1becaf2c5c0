//! Decodes the wire's events into the response's state.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use tokenline_core::Span;
use tokenline_core::json::Value;
use tokenline_core::sse::{StrayObject, StrayPlace};

use super::state::ResponseState;
use crate::Delta;
use crate::providers::{EventDecoder, error_of_object};
use crate::wire::{Frame, FrameDecoder, WireEvent};

/// Members of events that have a part of a response.
const PARTS: [&str; 4] = ["\"choices\"", "\"delta\"", "\"candidates\"", "\"content\""];

impl<T: DeserializeOwned> ResponseState<T> {
    /// Decodes up to the next event on the wire, or to the end of the input; returns the number of bytes consumed.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        frames: &mut FrameDecoder,
        decoder: &mut EventDecoder,
    ) -> usize {
        let (consumed, frame) = frames.decode(input);
        if let Some(frame) = frame {
            self.read_frame(frame, decoder);
        }
        consumed
    }

    /// Ends the stream. An unterminated last event counts if it is complete.
    pub(super) fn read_end(&mut self, frames: &mut FrameDecoder, decoder: &mut EventDecoder) {
        let mut is_whole = true;
        while let Some(frame) = frames.finish() {
            let goes_on = frame.is_whole();
            is_whole = self.read_frame(frame, decoder);
            if !goes_on {
                break;
            }
        }
        // It may end with the stream.
        if let Some(object) = frames.take_stray() {
            self.read_stray(&object);
        }
        // What a decoder holds back until the end is dropped if the stream was cut off.
        if is_whole {
            decoder.finish(|delta| self.take(delta, None, false));
            self.end_event();
        }
    }

    /// Returns whether the event could be read.
    fn read_frame(&mut self, frame: Frame<'_>, decoder: &mut EventDecoder) -> bool {
        match frame {
            Frame::Event(event) => self.read_event(&event, decoder),
            Frame::Rejected(diagnostic) => {
                self.reject_event(diagnostic);
                false
            }
            Frame::Stray(object) => {
                self.read_stray(&object);
                true
            }
            Frame::Truncated(diagnostic) => {
                self.begin_event(diagnostic.line, diagnostic.span);
                self.out.push_diagnostic(None, 0, diagnostic);
                false
            }
        }
    }

    /// Reads an object outside the events: an error of the server, the data of a lost event, or nothing.
    #[cold]
    fn read_stray(&mut self, object: &StrayObject) {
        let Some((message, code)) = error_of_object(&object.text, object.place == StrayPlace::ErrorField)
        else {
            let is_chunk = || PARTS.iter().any(|name| object.text.contains(name));
            if object.place == StrayPlace::DataField || is_chunk() {
                self.miss_event();
            }
            return;
        };
        self.explained_lines += object.lines;
        self.begin_event(object.line, object.span);
        self.take(Delta::Error { message: message.into(), code: code.map(Cow::Owned) }, None, false);
        self.end_event();
    }

    /// Reads a complete body, which is at this place on the wire.
    pub(super) fn read_body(&mut self, body: Value<'_>, line: u64, span: Span, decoder: &mut EventDecoder) {
        self.begin_event(line, span);
        let mut lone = None;
        decoder.decode_value(body, |delta| match delta {
            Delta::LoneSurrogates(halves) => lone = Some(halves),
            delta => self.take(delta, lone, false),
        });
        self.end_event();
    }

    #[inline]
    fn read_event(&mut self, event: &WireEvent<'_>, decoder: &mut EventDecoder) -> bool {
        if event.data.is_empty() {
            self.at(event.line, event.span);
            return true;
        }
        self.begin_event(event.line, event.span);
        let mut lone = None;
        let sink = |delta: Delta<'_>| match delta {
            Delta::LoneSurrogates(halves) => lone = Some(halves),
            delta => self.take(delta, lone, event.is_lossy),
        };
        let decoded = if event.is_body {
            decoder.decode_body(&event.data, sink)
        } else {
            decoder.decode(event.name, &event.data, sink)
        };
        match &decoded {
            Ok(()) => self.end_event(),
            Err(_) if event.is_cut => self.out.push_diagnostic(None, 0, event.truncated()),
            Err(error) => self.reject_malformed_event(error),
        }
        decoded.is_ok()
    }
}
