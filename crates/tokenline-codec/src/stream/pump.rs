//! The poll function that all streams share.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::TryStream;
use pin_project_lite::pin_project;
use tokenline_core::adapter::{SourceEnd, StreamMachine, StreamStep};

use super::{AsyncRepair, SourceError, StreamError};
use crate::observe::Meter;

pin_project! {
    /// Feeds a machine from a source. For the streams of this workspace.
    #[derive(Debug)]
    pub struct Pump<S: TryStream, M> {
        // Dropped as soon as nothing more will be read from it.
        #[pin]
        source: Option<S>,
        chunk: Option<S::Ok>,
        // How many bytes of the chunk were consumed.
        at: usize,
        // How many bytes the source has yielded.
        position: u64,
        machine: M,
        // The error to end with. Boxed to keep idle streams small.
        error: Option<Box<StreamError<S::Error>>>,
        repair: Option<Box<AsyncRepair>>,
        meter: Meter,
    }
}

/// Bytes that one poll may read without yielding an item: a fraction of a millisecond. A source that is
/// always ready, and has only prose or blank lines, must not starve other tasks.
const POLL_BYTES: usize = 256 * 1024;
/// The cost of an event that is not yielded, in addition to its bytes: a line of prose may be two bytes long,
/// but its diagnostic takes as long as some hundred bytes.
const EVENT_COST: usize = 512;

impl<S: TryStream, M> Pump<S, M> {
    /// Feeds `machine` from `source`.
    pub fn new(source: S, machine: M, meter: Meter) -> Self {
        Self {
            source: Some(source),
            chunk: None,
            at: 0,
            position: 0,
            machine,
            error: None,
            repair: None,
            meter,
        }
    }

    /// Replaces the machine. Call it before the first poll.
    pub fn map<N>(self, change: impl FnOnce(M) -> N) -> Pump<S, N> {
        let Self { source, chunk, at, position, machine, error, repair, meter } = self;
        Pump { source, chunk, at, position, machine: change(machine), error, repair, meter }
    }

    /// Sets the hook that is asked when the machine asks for a repair.
    pub fn set_repair(&mut self, repair: Option<Box<AsyncRepair>>) {
        self.repair = repair;
    }

    /// Takes the hook out.
    pub fn take_repair(&mut self) -> Option<Box<AsyncRepair>> {
        self.repair.take()
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine, to change its options. Call it before the first poll.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Drops the source: nothing more is read from it.
    pub fn drop_source(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.source.set(None);
        *this.chunk = None;
    }
}

impl<S: TryStream<Ok: AsRef<[u8]>>, M: StreamMachine> Pump<S, M> {
    /// The next item that `pick` takes from the events, or the error that ends the stream, once.
    pub fn poll_pick<R>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut pick: impl FnMut(M::Event) -> Option<R>,
    ) -> Poll<Option<Result<R, StreamError<S::Error>>>> {
        let mut this = self.project();
        let mut meter = this.meter.enter();
        let mut spent = 0;
        while spent < POLL_BYTES {
            if let Some(repair) = this.repair
                && let Some(replacement) = ready!(repair.poll_replacement(cx))
            {
                this.machine.resume(replacement);
            }
            let unread =
                this.chunk.as_ref().and_then(|chunk| chunk.as_ref().get(*this.at..)).unwrap_or_default();
            let (consumed, step) = this.machine.step(&unread[..unread.len().min(POLL_BYTES)]);
            let is_used_up = consumed == unread.len();
            *this.at += consumed;
            spent += consumed;
            match (step, this.source.as_mut().as_pin_mut()) {
                (StreamStep::Event(event), _) => {
                    spent += EVENT_COST;
                    meter.count(this.machine.count_as(&event));
                    let tally = this.machine.tally();
                    if tally.is_over() {
                        // Drop it now: there may be no next poll.
                        this.source.set(None);
                        *this.chunk = None;
                        *this.error = (tally.too_many_rejected().cloned())
                            .map(|error| Box::new(StreamError::TooManyRejected(error)));
                        meter.end(tally.report());
                    }
                    if let Some(item) = pick(event) {
                        return Poll::Ready(Some(Ok(item)));
                    }
                }
                (StreamStep::Repair(rejected), _) => {
                    if let Some(repair) = this.repair {
                        repair.ask(*rejected);
                    }
                }
                (StreamStep::NeedInput, _) if !is_used_up => {}
                (StreamStep::NeedInput, Some(source)) => {
                    *this.chunk = None;
                    let end = match source.try_poll_next(cx) {
                        // Some servers and proxies keep the connection open after the end,
                        Poll::Pending if this.machine.expects_nothing() => SourceEnd::Clean,
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Some(Ok(chunk))) => {
                            spent += M::CHUNK_COST;
                            meter.chunk(&chunk);
                            *this.position += chunk.as_ref().len() as u64;
                            (*this.chunk, *this.at) = (Some(chunk), 0);
                            continue;
                        }
                        Poll::Ready(Some(Err(error))) if !this.machine.is_terminated() => {
                            meter.source_failed();
                            let error = SourceError::new(*this.position, error);
                            *this.error = Some(Box::new(StreamError::Source(error)));
                            SourceEnd::Failed
                        }
                        // or reset it, which does not affect complete data.
                        Poll::Ready(_) => SourceEnd::Clean,
                    };
                    this.machine.finish(end);
                    this.source.set(None);
                }
                (StreamStep::NeedInput | StreamStep::Done, _) => {
                    this.source.set(None);
                    *this.chunk = None;
                    meter.end(this.machine.tally().report());
                    return Poll::Ready(this.error.take().map(|error| Err(*error)));
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Drops the source before its end. What was complete until then is still yielded, including the rest of
    /// the chunk, which `push` passes to the machine.
    pub fn close(self: Pin<&mut Self>, push: impl FnOnce(&mut M, &[u8])) {
        let mut this = self.project();
        if this.source.is_some() {
            this.source.set(None);
            if let Some(chunk) = this.chunk.take() {
                push(this.machine, chunk.as_ref().get(*this.at..).unwrap_or_default());
            }
            this.machine.finish(SourceEnd::Failed);
            this.meter.enter().gave_up();
        }
    }

    /// Ends the stream: reads and yields nothing more.
    pub(super) fn stop(mut self: Pin<&mut Self>, stop: impl FnOnce(&mut M)) {
        self.as_mut().drop_source();
        let this = self.project();
        stop(this.machine);
        this.meter.enter().close();
    }

    /// Whether the stream has ended.
    pub fn is_terminated(&self) -> bool {
        self.source.is_none() && self.error.is_none() && self.machine.is_done()
    }
}
