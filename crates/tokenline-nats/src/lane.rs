//! One subject for output, and how messages get there exactly once and in order.
//!
//! The outputs of a source on one subject are numbered. The last stored message says how many are stored, so that a
//! worker that reads the source again leaves these out. Each message names what must be stored before it: the first of
//! a batch the subject's last sequence, the others the message before them in the batch. The server checks both, also
//! beyond the duplicate window. Of several workers, one stores the message; the others read how many are stored.

use std::collections::VecDeque;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageError, LastRawMessageErrorKind};
use async_nats::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;

use crate::decoder::Output;
use crate::holder::Holder;
use crate::shared::{Backoff, Counters, Failure, Shared, Transient};
use crate::{Error, headers, setup};

/// Messages sent before the first of them is confirmed.
const BATCH: usize = 512;
/// Bytes that wait to be stored, beyond which decoding pauses.
const WAITING_BYTES: usize = 1 << 20;

/// A numbered output.
struct Message {
    ordinal: u64,
    id: String,
    headers: Vec<(&'static str, HeaderValue)>,
    payload: Bytes,
}

/// Where the outputs on a subject come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The sequence of the source's first chunk.
    pub(crate) first_chunk: u64,
    /// The sequence of the chunk that completed them.
    pub(crate) chunk: u64,
}

/// The output of a source on one subject.
pub(crate) struct Lane {
    subject: String,
    source: String,
    is_records: bool,
    /// How many messages of the run are stored, and the sequence of the last.
    stored: u64,
    last_sequence: u64,
    /// From the last stored message: the source's first chunk, and the chunk that ended the source.
    first_chunk: Option<u64>,
    ended_at: Option<u64>,
    /// How many outputs were decoded.
    decoded: u64,
    waiting: VecDeque<Message>,
    waiting_bytes: usize,
}

impl Lane {
    pub(crate) fn new(shared: &Shared, source: &str, is_records: bool) -> Self {
        let prefix = if is_records { &shared.options.records } else { &shared.options.rejects };
        Self {
            subject: format!("{prefix}.{source}"),
            source: source.to_owned(),
            is_records,
            stored: 0,
            last_sequence: 0,
            first_chunk: None,
            ended_at: None,
            decoded: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    pub(crate) fn first_chunk(&self) -> Option<u64> {
        self.first_chunk
    }

    /// The chunk with the source's end, if the end is stored.
    pub(crate) fn ended_at(&self) -> Option<u64> {
        self.ended_at
    }

    /// How many outputs were decoded.
    pub(crate) fn decoded(&self) -> u64 {
        self.decoded
    }

    /// Whether to store what waits before decoding more.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= BATCH || self.waiting_bytes >= WAITING_BYTES
    }

    /// Reads which messages are stored.
    pub(crate) async fn read_stored(&mut self, shared: &Shared) -> Result<(), Failure> {
        let (stream, prefix) = if self.is_records {
            (&shared.records, &shared.options.records)
        } else {
            (&shared.rejects, &shared.options.rejects)
        };
        // Answered by the stream's leader, which knows of every message that it confirmed.
        let last = match stream.get_last_raw_message_by_subject(&self.subject).await {
            Ok(last) => last,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound && self.stored == 0 => {
                self.last_sequence = 0;
                return Ok(());
            }
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Err(Error::OutputRemoved { subject: self.subject.clone() }.into());
            }
            Err(error) if is_stream_missing(&error) => return Err(setup::missing(prefix).into()),
            Err(error) => return Err(Transient::new(error).into()),
        };
        let text = |name: &str| last.headers.get(name).map(HeaderValue::as_str);
        let number = |name: &str| text(name)?.parse::<u64>().ok();
        let (run, ordinal) = (text(headers::RUN), number(headers::ORDINAL));
        let (Some(ordinal), true) = (ordinal, run == Some(&*shared.options.run)) else {
            let run = run.map(str::to_owned);
            return Err(Error::ForeignOutput { subject: self.subject.clone(), run }.into());
        };
        if ordinal < self.stored {
            return Err(Error::OutputRemoved { subject: self.subject.clone() }.into());
        }
        (self.stored, self.last_sequence) = (ordinal, last.sequence);
        self.first_chunk = number(headers::FIRST_CHUNK);
        self.ended_at = text(headers::END).and_then(|_| number(headers::CHUNK));
        Ok(())
    }

    /// Adds an output, unless it is stored.
    pub(crate) fn push(&mut self, run: &str, output: Output, origin: Origin) {
        self.decoded += 1;
        if self.decoded <= self.stored {
            return;
        }
        let offset = output.place.map_or(0, |(_, span)| span.start);
        let mut message = self.message(run, offset, origin, output.payload);
        if let Some((line, span)) = output.place {
            message.headers.push((headers::LINE, line.into()));
            message.headers.push((headers::SPAN, format!("{}-{}", span.start, span.end).into()));
        }
        if let Some(completion) = output.completion {
            message.headers.push((headers::COMPLETION, completion.as_str().into()));
        }
        for (name, number) in [(headers::CHOICE, output.choice), (headers::BLOCK, output.block)] {
            if number != 0 {
                message.headers.push((name, number.into()));
            }
        }
        self.wait(message);
    }

    /// Adds the message that ends the source, unless it is stored.
    pub(crate) fn push_end(&mut self, run: &str, is_complete: bool, rejects: u64, origin: Origin) {
        let records = self.decoded;
        self.decoded += 1;
        if self.decoded <= self.stored {
            return;
        }
        let end = if is_complete { headers::COMPLETE } else { headers::INCOMPLETE };
        let mut message = self.message(run, 0, origin, Bytes::new());
        message.headers.extend([
            (headers::END, end.into()),
            (headers::RECORDS, records.into()),
            (headers::REJECTS, rejects.into()),
        ]);
        self.wait(message);
    }

    fn message(&self, run: &str, offset: u64, origin: Origin, payload: Bytes) -> Message {
        let letter = if self.is_records { 'r' } else { 'x' };
        let id = format!("{run}/{}/{offset}/{letter}{}", self.source, self.decoded);
        let headers = vec![
            (headers::RUN, run.into()),
            (headers::ORDINAL, self.decoded.into()),
            (headers::CHUNK, origin.chunk.into()),
            (headers::FIRST_CHUNK, origin.first_chunk.into()),
        ];
        Message { ordinal: self.decoded, id, headers, payload }
    }

    fn wait(&mut self, message: Message) {
        self.waiting_bytes += message.payload.len();
        self.waiting.push_back(message);
    }

    /// Stores what waits. Tries again until it is stored, by this worker or another one.
    pub(crate) async fn store(&mut self, shared: &Shared, holder: &mut Holder) -> Result<(), Error> {
        let mut backoff = Backoff::new();
        while !self.waiting.is_empty() {
            let stored = self.stored;
            let pause = match self.store_batch(shared, holder).await {
                Ok(()) => false,
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Transient(error)) => {
                    let subject = &self.subject;
                    tracing::warn!(%error, %subject, "cannot store output; trying again");
                    true
                }
            };
            if self.stored > stored {
                backoff = Backoff::new();
            }
            if pause {
                let time = backoff.next();
                holder.wait(tokio::time::sleep(time)).await;
            }
        }
        Ok(())
    }

    /// Stores the next messages. `Ok` if all went well, or another worker was faster.
    async fn store_batch(&mut self, shared: &Shared, holder: &mut Holder) -> Result<(), Failure> {
        let acks = holder.wait(self.send(shared)).await;
        let counters = &shared.counters;
        let counter = if self.is_records { &counters.records } else { &counters.rejects };
        let (mut is_in_order, mut duplicate) = (true, None);
        let first = self.stored + 1;
        for (ordinal, ack) in (first..).zip(acks) {
            let ack = match ack {
                Ok(ack) => holder.wait(ack.into_future()).await,
                Err(error) => Err(error),
            };
            match ack {
                Ok(ack) if ack.duplicate => {
                    duplicate = Some(ordinal);
                    is_in_order = false;
                }
                Ok(ack) => {
                    Counters::add(counter, 1);
                    if is_in_order {
                        (self.stored, self.last_sequence) = (ordinal, ack.sequence);
                        self.forget_stored();
                    }
                }
                Err(error) if is_conflict(&error) => {
                    tracing::debug!(subject = %self.subject, ordinal, "another message came first");
                    is_in_order = false;
                }
                Err(error) => {
                    holder.wait(self.reread(shared)).await?;
                    return Err(Transient::new(error).into());
                }
            }
        }
        if !is_in_order {
            // Whoever was faster: the subject says what is stored.
            holder.wait(self.reread(shared)).await?;
            if duplicate.is_some_and(|ordinal| ordinal > self.stored) {
                return Err(Error::OutputRemoved { subject: self.subject.clone() }.into());
            }
        }
        Ok(())
    }

    /// Sends the next messages, each with what must be stored before it.
    async fn send(&self, shared: &Shared) -> Vec<Result<PublishAckFuture, PublishError>> {
        let mut acks = Vec::with_capacity(self.waiting.len().min(BATCH));
        let mut before: Option<&str> = None;
        let _together = shared.sending.lock().await;
        for message in self.waiting.iter().take(BATCH) {
            let mut map = HeaderMap::new();
            for (name, value) in &message.headers {
                map.insert(HeaderName::from_static(name), value.clone());
            }
            let publish = PublishMessage::build().payload(message.payload.clone()).headers(map);
            let publish = publish.message_id(&message.id);
            let publish = match before {
                None => publish.expected_last_subject_sequence(self.last_sequence),
                Some(id) => publish.expected_last_message_id(id),
            };
            let ack = shared.context.send_publish(self.subject.clone(), publish).await;
            let is_sent = ack.is_ok();
            acks.push(ack);
            if !is_sent {
                break;
            }
            before = Some(&message.id);
        }
        acks
    }

    async fn reread(&mut self, shared: &Shared) -> Result<(), Failure> {
        self.read_stored(shared).await?;
        self.forget_stored();
        Ok(())
    }

    fn forget_stored(&mut self) {
        while self.waiting.front().is_some_and(|message| message.ordinal <= self.stored) {
            let message = self.waiting.pop_front();
            self.waiting_bytes -= message.map_or(0, |message| message.payload.len());
        }
    }
}

fn is_stream_missing(error: &LastRawMessageError) -> bool {
    matches!(error.kind(), LastRawMessageErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

/// Whether the server did not store a message because of what is stored before it.
fn is_conflict(error: &PublishError) -> bool {
    matches!(error.kind(), PublishErrorKind::WrongLastSequence | PublishErrorKind::WrongLastMessageId)
}
