//! The one poll of all streams.

use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_core::stream::TryStream;
use pin_project_lite::pin_project;
use tokenline_core::Rejected;
use tokenline_core::adapter::{SourceEnd, StreamMachine, StreamStep};

use super::{SourceError, StreamError};
use crate::observe::Meter;

pin_project! {
    /// Feeds a machine from a source. For the streams of this workspace.
    #[derive(Debug)]
    pub struct Pump<S: TryStream, M> {
        // Dropped as soon as nothing more will be read from it.
        #[pin]
        source: Option<S>,
        chunk: Option<S::Ok>,
        // How much of the chunk is done with.
        at: usize,
        // How many bytes the source gave.
        position: u64,
        machine: M,
        // What to end with.
        error: Option<StreamError<S::Error>>,
        repair: Option<Box<AsyncRepair>>,
        meter: Meter,
    }
}

/// Bytes that one poll may read without yielding an item: a fraction of a millisecond. A source that is
/// always ready, and has nothing but prose or blank lines, must not keep other tasks from running.
const POLL_BYTES: usize = 256 * 1024;
/// What an event that is not yielded costs beside its bytes: a line of prose may be two bytes long, but
/// its diagnostic takes as long as some hundred.
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

    /// Replaces the machine. To be called before the first poll.
    pub fn map<N>(self, change: impl FnOnce(M) -> N) -> Pump<S, N> {
        let Self { source, chunk, at, position, machine, error, repair, meter } = self;
        Pump { source, chunk, at, position, machine: change(machine), error, repair, meter }
    }

    /// Awaits the answers of this closure where the machine asks for a repair.
    pub(super) fn set_repair<F>(&mut self, mut ask: impl FnMut(Rejected) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        let ask = Box::new(move |rejected| Box::pin(ask(rejected)) as Pin<Box<Answer>>);
        self.repair = Some(Box::new(AsyncRepair { ask, answer: None }));
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine, to change how it reads. To be called before the first poll.
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
    /// The next thing that `pick` takes out of the events, or the error that ends the stream, once.
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
                && repair.answer.is_some()
            {
                let replacement = ready!(repair.poll_answer(cx));
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
                        // Now, not at the next poll, for which there may be no reason.
                        this.source.set(None);
                        *this.chunk = None;
                        *this.error = tally.too_many_rejected().cloned().map(StreamError::TooManyRejected);
                        meter.end(tally.report());
                    }
                    if let Some(item) = pick(event) {
                        return Poll::Ready(Some(Ok(item)));
                    }
                }
                (StreamStep::Repair(rejected), _) => {
                    if let Some(repair) = this.repair {
                        repair.answer = Some(Mutex::new((repair.ask)(*rejected)));
                    }
                }
                (StreamStep::NeedInput, _) if !is_used_up => {}
                (StreamStep::NeedInput, Some(source)) => {
                    *this.chunk = None;
                    let end = match source.try_poll_next(cx) {
                        // Some servers and proxies keep the connection open behind the end,
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
                            *this.error = Some(StreamError::Source(error));
                            SourceEnd::Failed
                        }
                        // or break it, which takes nothing from what is whole.
                        Poll::Ready(_) => SourceEnd::Clean,
                    };
                    this.machine.finish(end);
                    this.source.set(None);
                }
                (StreamStep::NeedInput | StreamStep::Done, _) => {
                    this.source.set(None);
                    *this.chunk = None;
                    meter.end(this.machine.tally().report());
                    return Poll::Ready(this.error.take().map(Err));
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Drops the source before its end. What was complete until then is still yielded, also of the rest of
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

    /// Ends the stream: nothing more is read or yielded.
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

/// The replacement that a repair hook will give, if it does.
type Answer = dyn Future<Output = Option<String>> + Send;

/// A repair hook that answers with a future.
struct AsyncRepair {
    ask: Box<dyn FnMut(Rejected) -> Pin<Box<Answer>> + Send + Sync>,
    /// In a mutex that is never locked: few futures can be shared between threads, and a stream that
    /// holds one is to be lent across an `await` all the same.
    answer: Option<Mutex<Pin<Box<Answer>>>>,
}

impl AsyncRepair {
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
        let answer = answer.get_mut().unwrap_or_else(PoisonError::into_inner);
        let replacement = ready!(answer.as_mut().poll(cx));
        self.answer = None;
        Poll::Ready(replacement)
    }
}

impl fmt::Debug for AsyncRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncRepair").field("is_asked", &self.answer.is_some()).finish_non_exhaustive()
    }
}
