//! The entries of a response.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::{Stream, TryStream};
use pin_project_lite::pin_project;
use serde::Serialize;
use tokenline::{Code, Diagnostic, Event, Record, ResponseEvent};

/// The entry that a [`RecordsResponse`](crate::RecordsResponse) sends for an item of its stream.
///
/// A stream of other items can be mapped to it:
///
/// ```
/// use futures_util::{TryStreamExt, stream};
/// use tokenline_axum::{Entry, RecordsFormat, RecordsResponse};
///
/// let numbers = stream::iter([1, 2, 3].map(Ok::<u32, std::io::Error>));
/// let odd = numbers.map_ok(|n| if n % 2 == 1 { Entry::Record(n) } else { Entry::Nothing });
/// let response = RecordsResponse::from_entries(RecordsFormat::Ndjson, odd);
/// # let _ = response;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<T> {
    /// A record.
    Record(T),
    /// The diagnostic of a reject: an event of its own among server-sent events, nothing in NDJSON. It may mean that the
    /// response is incomplete: see [`DataLoss`](crate::DataLoss).
    Rejected(Diagnostic),
    /// The source failed, and the response ends: see [`RecordsResponse`](crate::RecordsResponse#failures).
    Failed(Box<Diagnostic>),
    /// Nothing.
    Nothing,
}

/// An item of a stream that a [`RecordsResponse`](crate::RecordsResponse) sends: a record, or an event that may be one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record, nor an event of a stream of records",
    note = "for a stream of plain values, call `RecordsResponse::from_values`; for other items, map them to `Entry`"
)]
pub trait IntoEntry {
    /// The value of a record.
    type Value: Serialize + 'static;

    /// Whether rejects are among the items. If so, the last event of a response counts them.
    const HAS_REJECTS: bool = true;

    /// Converts the item to the entry to send.
    fn into_entry(self) -> Entry<Self::Value>;
}

impl<T: Serialize + 'static> IntoEntry for Entry<T> {
    type Value = T;

    fn into_entry(self) -> Self {
        self
    }
}

impl<T: Serialize + 'static> IntoEntry for Record<T> {
    type Value = T;
    const HAS_REJECTS: bool = false;

    fn into_entry(self) -> Entry<T> {
        Entry::Record(self.value)
    }
}

/// Records and rejects; not prose.
impl<T: Serialize + 'static> IntoEntry for Event<T> {
    type Value = T;

    fn into_entry(self) -> Entry<T> {
        match self {
            Self::Record(record) => Entry::Record(record.value),
            Self::Rejected(diagnostic) => Entry::Rejected(diagnostic),
            Self::Note(diagnostic) if diagnostic.code == Code::Repetition => Entry::Rejected(diagnostic),
            _ => Entry::Nothing,
        }
    }
}

/// Records, rejects of any kind, and the warnings of a token limit and of a stopped repetition; not tool calls, text, reasoning, refusals and usage. A failure of the provider, or
/// a response without its end, ends the response.
impl<T: Serialize + 'static> IntoEntry for ResponseEvent<T> {
    type Value = T;

    fn into_entry(self) -> Entry<T> {
        match self {
            Self::Record { record, .. } => Entry::Record(record.value),
            Self::Rejected { diagnostic, .. }
                if matches!(diagnostic.code, Code::ProviderError | Code::StreamIncomplete) =>
            {
                Entry::Failed(Box::new(diagnostic))
            }
            Self::Rejected { diagnostic, .. } => Entry::Rejected(diagnostic),
            Self::RejectedCall { call, .. } => Entry::Rejected(call.diagnostic),
            Self::Note { diagnostic, .. }
                if matches!(diagnostic.code, Code::TokenLimit | Code::Repetition) =>
            {
                Entry::Rejected(diagnostic)
            }
            _ => Entry::Nothing,
        }
    }
}

/// A plain value in a stream [from values](crate::RecordsResponse::from_values).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainValue<T>(T);

impl<T: Serialize + 'static> IntoEntry for PlainValue<T> {
    type Value = T;
    const HAS_REJECTS: bool = false;

    fn into_entry(self) -> Entry<T> {
        Entry::Record(self.0)
    }
}

pin_project! {
    /// The stream of a response [from values](crate::RecordsResponse::from_values).
    #[derive(Clone, Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct PlainValues<S> {
        #[pin]
        values: S,
    }
}

impl<S> PlainValues<S> {
    pub(super) fn new(values: S) -> Self {
        Self { values }
    }
}

impl<S: TryStream> Stream for PlainValues<S> {
    type Item = Result<PlainValue<S::Ok>, S::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let value = ready!(self.project().values.try_poll_next(cx));
        Poll::Ready(value.map(|value| value.map(PlainValue)))
    }
}
