//! The framings by name.

/// The framing of a provider's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// Server-sent events, or one JSON array of their data.
    EventsOrArray,
    /// One JSON object a line.
    Lines,
    /// Messages of an Amazon event stream.
    Messages,
    /// One JSON document with the complete response.
    Body,
}

impl Framing {
    /// The media type of the framing.
    #[cfg(feature = "client")]
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Events | Self::EventsOrArray => "text/event-stream",
            Self::Lines => "application/x-ndjson",
            Self::Messages => "application/vnd.amazon.eventstream",
            Self::Body => "application/json",
        }
    }
}
