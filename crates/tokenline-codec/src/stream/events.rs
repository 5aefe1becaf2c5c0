//! Traits of the streams that adaptors wrap.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokenline_core::Report;

/// A stream with a [`Report`] of what it delivered and rejected.
///
/// Every stream here also has `report` as an inherent method; the trait is for generic code.
pub trait Reporting {
    /// The counts and diagnostics so far.
    fn report(&self) -> &Report;
}

/// A stream of events that [`Items`](crate::Items) picks from: a
/// [`JsonlStreamParser`](crate::JsonlStreamParser), or `ResponseStream` in `tokenline-llm`.
pub trait EventStream: Reporting {
    /// The events to pick from.
    type Event;
    /// Why the stream may end early.
    type Error;
    /// The machine that reads the chunks.
    type Parser;

    /// The next item that `pick` takes from the events. An error comes once, after everything that was
    /// complete; then the stream has ended.
    fn poll_pick<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pick: impl FnMut(Self::Event) -> Option<R>,
    ) -> Poll<Option<Result<R, Self::Error>>>;

    /// Whether the stream has ended.
    fn has_ended(&self) -> bool;

    /// The machine that reads the chunks, for state that is not in the events.
    fn parser(&self) -> &Self::Parser;
}
