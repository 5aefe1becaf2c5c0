//! A run: one response, and the events that a page shows of it.
//!
//! Nothing runs in the background. The body of the page's response polls the model, so a page that does not read slows
//! the model down, and a page that leaves stops it: at once by Stop, or when no page has come back for a while.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;

use super::event_log::EventLog;
use super::events::{Encoder, Status};
use super::model::Model;
use super::runs::Runs;

/// The bytes of open records and calls at which a run ends: a response may have many, each within the parser's limits.
const MAX_HELD_BYTES: u64 = 64 << 20;
/// The size at which events leave together.
const BATCH_BYTES: usize = 16 * 1024;

/// A run and its readers, of which only the latest gets events.
pub(super) struct Run {
    id: String,
    control: Mutex<Control>,
    /// Held by the reader that polls the model, which can take long: nothing else waits for it.
    state: Mutex<State>,
    stopped: AtomicBool,
    /// Polling may take long: there are rules to check.
    is_slow: bool,
}

/// Who reads a run. Never locked for long.
#[derive(Default)]
struct Control {
    /// The number of the latest reader.
    reader: u64,
    /// It is still there.
    is_read: bool,
    /// Wakes it.
    waker: Option<Waker>,
}

struct State {
    /// The response; `None` once it has ended.
    model: Option<Model>,
    encoder: Encoder,
    log: EventLog,
}

impl Run {
    pub(super) fn new(id: String, model: Model) -> Arc<Self> {
        let (mut encoder, mut log) = (Encoder::new(model.started, model.reasks_rejects), EventLog::default());
        encoder.start(&id, &model);
        encoder.move_to(&mut log);
        let is_slow = model.is_validated;
        let state = Mutex::new(State { model: Some(model), encoder, log });
        Arc::new(Self { id, control: Mutex::default(), state, stopped: AtomicBool::new(false), is_slow })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Takes the run over, from the event after `last_id`.
    pub(super) fn read_after(self: &Arc<Self>, last_id: u64, runs: &Arc<Runs>) -> Reader {
        let mut control = self.control();
        control.reader += 1;
        control.is_read = true;
        if let Some(waker) = control.waker.take() {
            waker.wake();
        }
        let next = last_id.saturating_add(1);
        Reader { run: Arc::clone(self), runs: Arc::clone(runs), number: control.reader, next }
    }

    /// Stops the model: dropping it closes its connection. If it is being polled, the reader does so.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Ok(mut state) = self.state.try_lock() {
            state.end(Status::Stopped, None);
        }
        self.wake();
    }

    /// The number of the latest reader, if it has left.
    pub(super) fn abandoned_by(&self) -> Option<u64> {
        let control = self.control();
        (!control.is_read).then_some(control.reader)
    }

    /// Whether the response has ended, and its reader has left.
    pub(super) fn is_over(&self) -> bool {
        let has_ended = || self.state.try_lock().is_ok_and(|state| state.model.is_none());
        self.abandoned_by().is_some() && has_ended()
    }

    fn wake(&self) {
        let waker = self.control().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Drops the model, and logs how the run ended.
    fn end(&mut self, status: Status, message: Option<&str>) {
        if let Some(model) = self.model.take() {
            self.encoder.done(&model, status, message);
            self.encoder.move_to(&mut self.log);
        }
    }

    /// The next events from the model, at least one; `None` if it has ended.
    fn poll_model(&mut self, stopped: &AtomicBool, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let first = self.log.next_id();
        while self.encoder.len() < BATCH_BYTES {
            if stopped.load(Ordering::SeqCst) {
                self.end(Status::Stopped, None);
            }
            let Some(model) = &mut self.model else { break };
            match model.poll_event(cx) {
                Poll::Ready(Some(Ok(event))) => {
                    self.encoder.event(&event, model);
                    if model.parser().is_some_and(|parser| parser.held_bytes() > MAX_HELD_BYTES) {
                        self.end(Status::Failed, Some("the response's open records and calls are too large"));
                    }
                }
                Poll::Ready(Some(Err(message))) => self.end(Status::Failed, Some(&message)),
                Poll::Ready(None) => {
                    let status = model.status();
                    self.end(status, None);
                }
                Poll::Pending if self.encoder.len() == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        self.encoder.move_to(&mut self.log);
        Poll::Ready(self.log.send_from(first))
    }

    /// The next events from the id `next`, at least one; `None` at the end.
    fn poll_from(
        &mut self,
        next: &mut u64,
        stopped: &AtomicBool,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Bytes>> {
        // A reader cannot be ahead.
        *next = (*next).min(self.log.next_id());
        if *next < self.log.first_id() {
            // No longer kept. The event's id is that of the last one lost.
            let (from, to) = (*next, self.log.first_id() - 1);
            *next = to + 1;
            return Poll::Ready(Some(Encoder::gap(from, to)));
        }
        let events = match self.log.send_from(*next) {
            Some(events) => Poll::Ready(Some(events)),
            None => self.poll_model(stopped, cx),
        };
        if events.is_ready() {
            *next = self.log.next_id();
        }
        events
    }
}

/// The body of a response to a page: the events of a run.
pub(super) struct Reader {
    run: Arc<Run>,
    runs: Arc<Runs>,
    number: u64,
    /// The id of the next event.
    next: u64,
}

impl Stream for Reader {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { run, number, next, .. } = &mut *self;
        let mut control = run.control();
        if control.reader != *number {
            // Another page has taken over.
            return Poll::Ready(None);
        }
        control.waker = Some(cx.waker().clone());
        drop(control);
        let mut state = match run.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            // The reader before is still polling. It wakes this one.
            Err(TryLockError::WouldBlock) => return Poll::Pending,
        };
        let mut poll = || state.poll_from(next, &run.stopped, cx);
        // Other tasks of this thread do not wait for it.
        let events = if run.is_slow { tokio::task::block_in_place(poll) } else { poll() };
        drop(state);
        if run.control().reader != *number {
            run.wake();
        }
        events.map(|events| events.map(Ok))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut control = self.run.control();
        if control.reader == self.number {
            control.is_read = false;
            control.waker = None;
            drop(control);
            self.runs.abandon(&self.run, self.number);
        }
    }
}
