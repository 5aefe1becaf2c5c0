//! Chunks, delivered or read again from their stream.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use async_nats::jetstream::stream::RawMessageErrorKind;
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokenline::adapter::SourceEnd;

use crate::headers;
use crate::shared::{Shared, Transient};

/// Chunks read at once: enough to hide the round trip.
const BATCH: usize = 256;
/// Bytes of a batch, or two of the longest messages that the server takes.
const BATCH_BYTES: usize = 8 << 20;

/// A chunk of a source.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) sequence: u64,
    pub(crate) payload: Bytes,
    /// If it is the source's last.
    pub(crate) end: Option<SourceEnd>,
}

impl Chunk {
    pub(crate) fn new(sequence: u64, message: &async_nats::Message) -> Self {
        let end = end_of(message.headers.as_ref(), &message.payload);
        Self { sequence, payload: message.payload.clone(), end }
    }
}

fn end_of(headers: Option<&HeaderMap>, payload: &[u8]) -> Option<SourceEnd> {
    match headers.and_then(|headers| headers.get(headers::END)) {
        Some(end) if end.as_str() == headers::INCOMPLETE => Some(SourceEnd::Failed),
        Some(_) => Some(SourceEnd::Clean),
        None => payload.is_empty().then_some(SourceEnd::Clean),
    }
}

/// Reads the chunks of one source again, in order, by a short-lived consumer.
pub(crate) struct ChunkReader {
    consumer: Consumer<pull::Config>,
    /// The number of the last delivery. The consumer does not deliver again what was lost with a connection.
    delivered: u64,
    /// The sequence of the last chunk to read, which was delivered.
    to: u64,
}

impl ChunkReader {
    /// A reader of the chunks from sequence `from` to sequence `to`.
    pub(crate) async fn new(shared: &Shared, subject: &str, from: u64, to: u64) -> Result<Self, Transient> {
        let config = pull::Config {
            deliver_policy: match from {
                0 | 1 => DeliverPolicy::All,
                start_sequence => DeliverPolicy::ByStartSequence { start_sequence },
            },
            ack_policy: AckPolicy::None,
            filter_subject: subject.to_owned(),
            inactive_threshold: Duration::from_secs(30),
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let consumer = shared.chunks.create_consumer(config).await.map_err(Transient::new)?;
        Ok(Self { consumer, delivered: 0, to })
    }

    /// The next chunks. `None` if the last one is no longer in the stream.
    pub(crate) async fn next(&mut self, shared: &Shared) -> Result<Option<Vec<Chunk>>, Transient> {
        let bytes = BATCH_BYTES.max(2 * shared.context.client().server_info().max_payload);
        let fetch = self.consumer.fetch().max_messages(BATCH).max_bytes(bytes);
        let mut messages = fetch.messages().await.map_err(Transient::new)?;
        let mut chunks = Vec::new();
        while let Some(message) = messages.next().await {
            let message = message.map_err(Transient::from_boxed)?;
            let info = message.info().map_err(Transient::from_boxed)?;
            let (sequence, delivery) = (info.stream_sequence, info.consumer_sequence);
            if delivery != self.delivered + 1 {
                return Err(Transient::from_boxed("chunks were lost with a connection".into()));
            }
            self.delivered = delivery;
            if sequence > self.to {
                break;
            }
            chunks.push(Chunk::new(sequence, &message));
        }
        if chunks.is_empty() {
            // A replica that lags behind has it later.
            match shared.chunks.get_raw_message(self.to).await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => return Ok(None),
                Err(error) => return Err(Transient::new(error)),
            }
        }
        Ok(Some(chunks))
    }

    /// Deletes the consumer; the server would do so itself after a while.
    pub(crate) async fn close(self, shared: &Shared) {
        let name = &self.consumer.cached_info().name;
        if let Err(error) = shared.chunks.delete_consumer(name).await {
            tracing::debug!(%error, "cannot delete a short-lived consumer");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_chunk_or_a_header_ends_a_source() {
        let with = |end: &str| {
            let mut map = HeaderMap::new();
            map.insert(headers::END, end);
            map
        };
        assert_eq!(end_of(None, b"{}"), None);
        assert_eq!(end_of(None, b""), Some(SourceEnd::Clean));
        assert_eq!(end_of(Some(&with("complete")), b"{}"), Some(SourceEnd::Clean));
        assert_eq!(end_of(Some(&with("incomplete")), b""), Some(SourceEnd::Failed));
    }
}
