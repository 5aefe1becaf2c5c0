//! The records of a response and of its continuations, as one stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream};
use serde::de::DeserializeOwned;
use tokenline_codec::Next;
use tokenline_core::json::Raw;
use tokenline_core::{Event, Record};

use super::{Checkpoint, ContinuationReport, ContinuedError, ContinuedEvents, RecordContinuation};

/// The records of a response and of its continuations: each once, in order, as if the response had not been cut off.
///
/// Lazy and cancel-safe: it sends requests and reads bytes only when polled. Dropping it closes the connection. A
/// record's positions are those in the response that it came in. Rejects are in the [report](Self::report). An error
/// comes once, after everything that was complete, and ends the stream; a [checkpoint](Self::checkpoint) taken then
/// continues where it ended.
///
/// ```
/// use tokenline_llm::ContinuationOptions;
/// use tokenline_llm::client::LlmClient;
/// use tokenline_llm::Provider;
/// use tokenline_llm::request::ChatRequest;
///
/// #[derive(serde::Deserialize)]
/// struct Definition {
///     entity: String,
/// }
///
/// # #[cfg(not(feature = "replay"))]
/// # fn main() {}
/// # #[cfg(feature = "replay")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use tokenline_llm::replay::{self, ReplayServer};
/// # let server = ReplayServer::bind("127.0.0.1:0".parse()?, replay::builtin()).await?;
/// # let base_url = &server.url();
/// let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
/// let request = ChatRequest::new("definitions").user("Everything in a cell, as JSON Lines.");
/// let continuation = ContinuationOptions::new().max_requests(20);
/// let mut records = client.continued(&request, continuation)?.typed::<Definition>().records();
/// while let Some(record) = records.next().await {
///     println!("{}", record?.value.entity);
/// }
/// assert!(records.report().is_complete() && records.report().requests() == 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct ContinuedRecords<T = Raw> {
    events: ContinuedEvents<T>,
}

impl<T> ContinuedRecords<T> {
    pub(super) fn new(events: ContinuedEvents<T>) -> Self {
        Self { events }
    }

    /// The counts of records, rejects, requests and tokens so far.
    #[must_use]
    pub fn report(&self) -> ContinuationReport<'_> {
        self.events.report()
    }

    /// The state after the last record that was taken. Save it, and
    /// [resume](super::ContinuationOptions::resume) it in another process.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.events.checkpoint()
    }

    /// The state machine of the list.
    #[must_use]
    pub fn machine(&self) -> &RecordContinuation {
        self.events.machine()
    }
}

impl<T: DeserializeOwned + Send + 'static> ContinuedRecords<T> {
    /// The next item; `None` at the end. Needs no `StreamExt`. Dropping the future loses nothing.
    pub fn next(&mut self) -> Next<'_, Self> {
        Next::new(self)
    }
}

impl<T: DeserializeOwned + Send + 'static> Stream for ContinuedRecords<T> {
    type Item = Result<Record<T>, ContinuedError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_pick(cx, Event::into_record)
    }
}

impl<T: DeserializeOwned + Send + 'static> FusedStream for ContinuedRecords<T> {
    fn is_terminated(&self) -> bool {
        self.events.is_terminated()
    }
}

impl<T> fmt::Debug for ContinuedRecords<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuedRecords").field("events", &self.events).finish()
    }
}
