//! An event source as a stream of wire bytes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::stream::FusedStream;
use reqwest_eventsource::retry::Never;
use reqwest_eventsource::{Error, Event, EventSource, ReadyState};

use super::EventSourceError;
use super::failure::failure;

/// The messages of an [`EventSource`], as the bytes of an event stream.
///
/// It is the source of a [`ResponseStream`](crate::ResponseStream); see the [module](super). Each item is one message.
/// Comments, ids and `retry` are dropped: nothing reads them.
///
/// It is lazy: it starts nothing in the background, and sends its request when first polled. Dropping it closes the
/// connection. After its end, or its one error, it has dropped the source and stays ended.
#[must_use = "streams do nothing unless polled"]
pub struct EventSourceBody {
    state: State,
    /// The server's response has begun.
    has_responded: bool,
}

enum State {
    Open(Box<EventSource>),
    /// It has ended; the server's error message is being read.
    Failed(Pin<Box<dyn Future<Output = Option<EventSourceError>> + Send>>),
    Ended,
}

impl EventSourceBody {
    /// Wraps an event source, and sets its retry policy to [`Never`].
    ///
    /// Do this before it has failed: a failed source is about to send its request again, and cannot be told from a new
    /// one.
    pub fn new(mut source: EventSource) -> Self {
        source.set_retry_policy(Box::new(Never));
        let has_responded = source.ready_state() == ReadyState::Open;
        Self { state: State::Open(Box::new(source)), has_responded }
    }
}

impl Stream for EventSourceBody {
    type Item = Result<String, EventSourceError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let error = match &mut self.state {
                State::Open(source) => match ready!(poll_source(source, cx)) {
                    Ok(Some(Ok(Event::Open))) => {
                        self.has_responded = true;
                        continue;
                    }
                    Ok(Some(Ok(Event::Message(message)))) => {
                        return Poll::Ready(Some(Ok(wire_of(&message.event, &message.data))));
                    }
                    Ok(Some(Err(error))) => {
                        // Dropping the source here prevents a retry, whatever its policy.
                        self.state = State::Failed(Box::pin(failure(error, self.has_responded)));
                        continue;
                    }
                    Ok(None) => None,
                    Err(Panicked) => Some(EventSourceError::Failed(PANICKED)),
                },
                State::Failed(failure) => ready!(failure.as_mut().poll(cx)),
                State::Ended => None,
            };
            self.state = State::Ended;
            return Poll::Ready(error.map(Err));
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.is_terminated().then_some(0))
    }
}

struct Panicked;

const PANICKED: &str = "it panicked, as it does if a stream begins with a byte order mark";

/// A server must not be able to end the task with its first three bytes.
fn poll_source(
    source: &mut EventSource,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Result<Event, Error>>, Panicked>> {
    // The state a panic leaves the source in does not matter: it is dropped.
    match catch_unwind(AssertUnwindSafe(|| Pin::new(source).poll_next(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(_) => Poll::Ready(Err(Panicked)),
    }
}

/// The bytes of a message. Neither its name nor a line of its data contains CR or LF: those end lines.
fn wire_of(event: &str, data: &str) -> String {
    let mut wire = String::with_capacity(event.len() + data.len() + "event: \ndata: \n\n".len());
    let mut add = |field: &str, value: &str| {
        // The space belongs to the field, so that the value keeps its own leading space.
        for part in [field, ": ", value, "\n"] {
            wire.push_str(part);
        }
    };
    if !matches!(event, "" | "message") {
        add("event", event);
    }
    data.split('\n').for_each(|line| add("data", line));
    wire.push('\n');
    wire
}

impl FusedStream for EventSourceBody {
    fn is_terminated(&self) -> bool {
        matches!(self.state, State::Ended)
    }
}

/// Hides the request, which may hold secrets.
impl fmt::Debug for EventSourceBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSourceBody")
            .field("has_responded", &self.has_responded)
            .field("is_ended", &self.is_terminated())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokenline_core::Limits;
    use tokenline_core::sse::{SseDecoder, SseItem};

    use super::wire_of;

    #[test]
    fn a_message_survives_a_round_trip() {
        for event in ["message", "content_block_delta", " spaced ", "a: b", "é"] {
            for data in
                ["", " ", "{\"a\":1}", " a", "a\nb", "\n", "\n\na\n", ": no comment", "\u{feff}a", "data: x"]
            {
                let wire = [wire_of(event, data), wire_of("", "[DONE]")].concat();
                let mut decoder = SseDecoder::new(Limits::default());
                let mut rest = wire.as_bytes();
                for expected in [(event, data), ("message", "[DONE]")] {
                    let decoded = decoder.decode(rest);
                    let Some(SseItem::Event(event)) = decoded.item else { panic!("{wire:?}") };
                    assert_eq!((event.event, event.data), expected, "{wire:?}");
                    rest = &rest[decoded.consumed..];
                }
                assert!(rest.is_empty() && decoder.finish().is_none(), "{wire:?}");
            }
        }
        assert_eq!(wire_of("message", "a\nb"), "data: a\ndata: b\n\n");
        assert_eq!(wire_of("ping", ""), "event: ping\ndata: \n\n");
    }
}
