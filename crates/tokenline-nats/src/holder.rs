//! The chunks that a source was delivered and has not acknowledged.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use async_nats::jetstream::{AckKind, Message};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::chunks::Chunk;

/// A delivered chunk.
pub(crate) struct Delivery {
    pub(crate) message: Message,
    pub(crate) sequence: u64,
    /// See [`Continuity`](crate::continuity::Continuity); `None` if it was delivered before.
    pub(crate) epoch: Option<u64>,
}

/// Takes deliveries, and keeps the server from delivering them again while they wait.
pub(crate) struct Holder {
    inbox: mpsc::UnboundedReceiver<Delivery>,
    /// By their sequence in the stream. One that is delivered again takes the place of the first.
    held: BTreeMap<u64, Delivery>,
    interval: Duration,
    next_sign: Instant,
}

impl Holder {
    /// `inbox` is unbounded, but holds no more than the consumer's `max_ack_pending`.
    pub(crate) fn new(inbox: mpsc::UnboundedReceiver<Delivery>, ack_wait: Duration) -> Self {
        let interval = ack_wait / 3;
        Self { inbox, held: BTreeMap::new(), interval, next_sign: Instant::now() + interval }
    }

    /// Waits until there is a delivery, and takes all that there are. Returns the last sequence; `None` once the worker
    /// gave the source up.
    pub(crate) async fn next(&mut self) -> Option<u64> {
        if self.held.is_empty() {
            let delivery = self.inbox.recv().await?;
            self.keep(delivery);
            self.next_sign = Instant::now() + self.interval;
        }
        self.drain();
        self.held.last_key_value().map(|(sequence, _)| *sequence)
    }

    fn keep(&mut self, delivery: Delivery) {
        self.held.insert(delivery.sequence, delivery);
    }

    fn drain(&mut self) {
        while let Ok(delivery) = self.inbox.try_recv() {
            self.keep(delivery);
        }
    }

    /// The held chunks after `position` up to `top`.
    pub(crate) fn chunks(&self, position: u64, top: u64) -> Vec<Chunk> {
        let held = self.held.range(position + 1..=top);
        held.map(|(sequence, delivery)| Chunk::new(*sequence, &delivery.message)).collect()
    }

    /// The epoch that all held chunks after `position` up to `top` have in common.
    pub(crate) fn epoch(&self, position: u64, top: u64) -> Option<u64> {
        let mut epochs = self.held.range(position + 1..=top).map(|(_, delivery)| delivery.epoch);
        let first = epochs.next()??;
        epochs.all(|epoch| epoch == Some(first)).then_some(first)
    }

    /// The epoch of one held chunk.
    pub(crate) fn epoch_at(&self, sequence: u64) -> Option<u64> {
        self.held.get(&sequence)?.epoch
    }

    /// Acknowledges the chunks up to `top`, or terminates them. Returns their number. A lost
    /// acknowledgment does no harm: the chunk is delivered again, and found to be done.
    pub(crate) async fn ack(&mut self, top: u64, kind: AckKind) -> u64 {
        let rest = self.held.split_off(&(top + 1));
        let done = std::mem::replace(&mut self.held, rest);
        for delivery in done.values() {
            if let Err(error) = delivery.message.ack_with(kind).await {
                tracing::warn!(%error, sequence = delivery.sequence, "cannot acknowledge a chunk");
            }
        }
        done.len() as u64
    }

    /// Waits. Meanwhile, regularly extends the acknowledgment deadline of the held chunks.
    pub(crate) async fn wait<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            match timeout_at(self.next_sign, &mut future).await {
                Ok(output) => return output,
                Err(_) => self.show_life().await,
            }
        }
    }

    async fn show_life(&mut self) {
        self.drain();
        for delivery in self.held.values() {
            // If it cannot be sent, the chunk is delivered again.
            _ = delivery.message.ack_with(AckKind::Progress).await;
        }
        self.next_sign = Instant::now() + self.interval;
    }
}
