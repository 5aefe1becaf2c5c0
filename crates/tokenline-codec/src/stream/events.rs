//! What adaptors need of the streams under them.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokenline_core::Report;

/// A stream that keeps a [`Report`] of what it delivered and what it rejected.
///
/// Every stream here has `report` as a method of its own too; the trait is for code that is generic
/// over them.
pub trait Reporting {
    /// What was delivered and rejected so far.
    fn report(&self) -> &Report;
}

/// A stream of events that [`Items`](crate::Items) picks from: a
/// [`JsonlStreamParser`](crate::JsonlStreamParser), or `ResponseStream` in `tokenline-llm`.
pub trait EventStream: Reporting {
    /// What there is to pick from.
    type Event;
    /// Why the stream may end early.
    type Error;
    /// The machine that reads the chunks.
    type Parser;

    /// The next thing that `pick` takes out of the events. An error comes once, after everything that was
    /// complete; then the stream has ended.
    fn poll_pick<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pick: impl FnMut(Self::Event) -> Option<R>,
    ) -> Poll<Option<Result<R, Self::Error>>>;

    /// Whether the stream has ended.
    fn has_ended(&self) -> bool;

    /// The machine that reads the chunks, for what it knows beside the events.
    fn parser(&self) -> &Self::Parser;
}
