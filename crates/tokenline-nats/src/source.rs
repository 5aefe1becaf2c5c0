//! One source: its chunks in order, decoded, stored, acknowledged.

use std::sync::Arc;

use async_nats::jetstream::AckKind;
use tokenline::adapter::SourceEnd;

use crate::Error;
use crate::chunks::{Chunk, ChunkReader};
use crate::decoder::Decoder;
use crate::holder::Holder;
use crate::lane::{Lane, Origin};
use crate::shared::{Backoff, Counters, Failure, Shared};

/// Bytes of a message's headers, beside the names of run and source, that a payload leaves room for.
const HEADER_BYTES: usize = 768;

/// A source that this worker reads.
pub(crate) struct Source {
    shared: Arc<Shared>,
    name: String,
    subject: String,
    holder: Holder,
    /// `None` until it is known what is stored, and after a part of the chunks was removed.
    reading: Option<Reading>,
}

/// How far a source is read.
struct Reading {
    records: Lane,
    rejects: Lane,
    /// `None` after the end.
    decoder: Option<Box<Decoder>>,
    /// The sequence of the first chunk.
    first: u64,
    /// The sequence of the last chunk that was decoded; after the end, of the one with the end.
    position: u64,
    /// The epoch in which the chunk at the position was delivered for the first time.
    epoch: Option<u64>,
}

impl Source {
    pub(crate) fn new(shared: Arc<Shared>, name: String, holder: Holder) -> Self {
        let subject = format!("{}.{name}", shared.options.chunks);
        Self { shared, name, subject, holder, reading: None }
    }

    /// Works until the worker gives the source up.
    pub(crate) async fn run(mut self) {
        while let Some(top) = self.holder.next().await {
            let (mut backoff, mut is_reopened) = (Backoff::new(), false);
            loop {
                let error = match self.process(top).await {
                    Ok(()) => break,
                    Err(Failure::Transient(error)) => error,
                    Err(Failure::Final(error)) if !error.is_of_source() => {
                        _ = self.shared.failed.send(error);
                        return;
                    }
                    // A server that lost power may have lost output that can be stored again.
                    Err(Failure::Final(error)) if !is_reopened => {
                        tracing::warn!(%error, source = self.name, "reading the source again");
                        (self.reading, is_reopened) = (None, true);
                        continue;
                    }
                    Err(Failure::Final(error)) => return self.set_aside(&error).await,
                };
                tracing::warn!(%error, source = self.name, "cannot read from JetStream; trying again");
                self.holder.wait(tokio::time::sleep(backoff.next())).await;
            }
            let done = self.holder.ack(top, AckKind::Ack).await;
            Counters::add(&self.shared.counters.chunks, done);
        }
    }

    /// Reports the source, and terminates its chunks until the worker gives it up: unacknowledged, they would take the
    /// place of other sources' chunks.
    async fn set_aside(mut self, error: &Error) {
        tracing::error!(%error, source = self.name, "the source is set aside");
        Counters::add(&self.shared.counters.failed, 1);
        if let Some(report) = &self.shared.options.on_source_failed {
            report(&self.name, error);
        }
        self.reading = None;
        while let Some(top) = self.holder.next().await {
            self.holder.ack(top, AckKind::Term).await;
        }
    }

    /// Decodes the chunks up to the sequence `top`, and stores the outputs.
    async fn process(&mut self, top: u64) -> Result<(), Failure> {
        if self.reading.is_none() {
            self.reading = Some(self.open().await?);
        }
        let reading = self.reading.as_mut().expect("it was opened");
        if reading.decoder.is_none() {
            if top > reading.position {
                tracing::warn!(
                    source = self.name,
                    sequence = top,
                    "a chunk after the source's end is ignored"
                );
            }
            return Ok(());
        }
        if top <= reading.position {
            return Ok(());
        }
        let epoch = self.holder.epoch(reading.position, top);
        if epoch.is_some() && epoch == reading.epoch {
            for chunk in self.holder.chunks(reading.position, top) {
                reading.read(&self.shared, &mut self.holder, &self.name, &chunk).await?;
            }
        } else if !self.read_again(top).await? {
            tracing::warn!(source = self.name, "chunks were removed from the stream; the source is given up");
            self.reading = None;
            return Ok(());
        }
        let epoch = self.holder.epoch_at(top);
        let reading = self.reading.as_mut().expect("it was opened");
        reading.epoch = epoch;
        reading.store(&self.shared, &mut self.holder).await?;
        Ok(())
    }

    /// Finds out what is stored.
    async fn open(&mut self) -> Result<Reading, Failure> {
        let mut records = Lane::new(&self.shared, &self.name, true);
        let mut rejects = Lane::new(&self.shared, &self.name, false);
        self.holder.wait(records.read_stored(&self.shared)).await?;
        self.holder.wait(rejects.read_stored(&self.shared)).await?;
        let ended_at = records.ended_at();
        let decoder = match ended_at {
            Some(_) => None,
            None => {
                let names = 2 * (self.shared.options.run.len() + self.name.len());
                let room = self.shared.max_message.saturating_sub(HEADER_BYTES + names);
                Some(Box::new(Decoder::new(&self.shared.options, room)))
            }
        };
        Ok(Reading { records, rejects, decoder, first: 0, position: ended_at.unwrap_or(0), epoch: None })
    }

    /// Reads the chunks after the position up to the sequence `top` from the stream: after a start, and when another
    /// worker may have got some of them. Returns whether they are there.
    async fn read_again(&mut self, top: u64) -> Result<bool, Failure> {
        let reading = self.reading.as_mut().expect("it was opened");
        let from = reading.position + 1;
        let new = ChunkReader::new(&self.shared, &self.subject, from, top);
        let mut reader = self.holder.wait(new).await?;
        let mut found = true;
        while found && reading.position < top && reading.decoder.is_some() {
            match self.holder.wait(reader.next(&self.shared)).await? {
                Some(chunks) => {
                    for chunk in &chunks {
                        reading.read(&self.shared, &mut self.holder, &self.name, chunk).await?;
                    }
                }
                None => found = false,
            }
        }
        reader.close(&self.shared).await;
        Ok(found)
    }
}

impl Reading {
    /// Decodes a chunk.
    async fn read(
        &mut self,
        shared: &Shared,
        holder: &mut Holder,
        name: &str,
        chunk: &Chunk,
    ) -> Result<(), Error> {
        if self.decoder.is_none() {
            return Ok(());
        }
        if self.first == 0 {
            self.first = chunk.sequence;
            let first = self.records.first_chunk().or(self.rejects.first_chunk());
            if let Some(first) = first.filter(|first| *first != chunk.sequence) {
                let subject = format!("{}.{name}", shared.options.chunks);
                return Err(Error::ChunksRemoved { subject, first });
            }
        }
        let origin = Origin { first_chunk: self.first, chunk: chunk.sequence };
        self.decode(shared, holder, &chunk.payload, origin).await?;
        self.position = chunk.sequence;
        if let Some(end) = chunk.end {
            self.end(shared, holder, end, origin).await?;
            Counters::add(&shared.counters.ended, 1);
        }
        Ok(())
    }

    async fn decode(
        &mut self,
        shared: &Shared,
        holder: &mut Holder,
        mut input: &[u8],
        origin: Origin,
    ) -> Result<(), Error> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        loop {
            let (read, output) = decoder.step(input);
            input = &input[read..];
            let Some(output) = output else { return Ok(()) };
            let lane = if output.is_record { &mut self.records } else { &mut self.rejects };
            lane.push(&shared.options.run, output, origin);
            if lane.is_full() {
                lane.store(shared, holder).await?;
            }
        }
    }

    async fn end(
        &mut self,
        shared: &Shared,
        holder: &mut Holder,
        end: SourceEnd,
        origin: Origin,
    ) -> Result<(), Error> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        decoder.finish(end);
        self.decode(shared, holder, b"", origin).await?;
        // Once the end is stored, nothing is read again: everything else comes before it.
        self.store(shared, holder).await?;
        let is_complete = self.decoder.take().is_some_and(|decoder| decoder.is_complete());
        let rejects = self.rejects.decoded();
        self.records.push_end(&shared.options.run, is_complete && end == SourceEnd::Clean, rejects, origin);
        self.records.store(shared, holder).await
    }

    async fn store(&mut self, shared: &Shared, holder: &mut Holder) -> Result<(), Error> {
        self.records.store(shared, holder).await?;
        self.rejects.store(shared, holder).await
    }
}
