//! A run: one response, and the events that a page shows of it.
//!
//! Nothing runs in the background. The body of the page's response polls the model, so a page that does not read slows
//! the model down, and a page that leaves stops it: at once by Stop, or when no page has come back for a while.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;

use super::event_log::EventLog;
use super::events::{Encoder, Status};
use super::model::Model;
use super::runs::Runs;

/// The size at which events leave together.
const BATCH_BYTES: usize = 16 * 1024;

/// A run and its readers, of which only the latest gets events.
pub(super) struct Run {
    id: String,
    state: Mutex<State>,
}

struct State {
    /// The response; `None` once it has ended.
    model: Option<Model>,
    encoder: Encoder,
    log: EventLog,
    /// The number of the latest reader.
    reader: u64,
    /// It is still there.
    is_read: bool,
    /// Wakes the latest reader.
    waker: Option<Waker>,
}

impl Run {
    pub(super) fn new(id: String, model: Model) -> Arc<Self> {
        let (mut encoder, mut log) = (Encoder::new(model.started), EventLog::default());
        encoder.start(&id, &model);
        encoder.move_to(&mut log);
        let state = State { model: Some(model), encoder, log, reader: 0, is_read: false, waker: None };
        Arc::new(Self { id, state: Mutex::new(state) })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Takes the run over, from the event after `last_id`.
    pub(super) fn read_after(self: &Arc<Self>, last_id: u64, runs: &Arc<Runs>) -> Reader {
        let mut state = self.state();
        state.reader += 1;
        state.is_read = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Reader { run: Arc::clone(self), runs: Arc::clone(runs), number: state.reader, next: last_id + 1 }
    }

    /// Stops the model: dropping it closes its connection.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.end(Status::Stopped, None);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// The number of the latest reader, if it has left.
    pub(super) fn abandoned_by(&self) -> Option<u64> {
        let state = self.state();
        (!state.is_read).then_some(state.reader)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn poll_model(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let first = self.log.next_id();
        while self.encoder.len() < BATCH_BYTES {
            let Some(model) = &mut self.model else { break };
            match model.poll_event(cx) {
                Poll::Ready(Some(Ok(event))) => self.encoder.event(&event, model),
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
        let run = Arc::clone(&self.run);
        let mut state = run.state();
        if state.reader != self.number {
            // Another page has taken over.
            return Poll::Ready(None);
        }
        let events = if self.next < state.log.first_id() {
            // Kept no longer. The event's id is that of the last one lost.
            let (from, to) = (self.next, state.log.first_id() - 1);
            self.next = to + 1;
            return Poll::Ready(Some(Ok(Encoder::gap(from, to))));
        } else if let Some(events) = state.log.send_from(self.next) {
            events
        } else {
            state.waker = Some(cx.waker().clone());
            match state.poll_model(cx) {
                Poll::Ready(Some(events)) => events,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        };
        self.next = state.log.next_id().max(self.next);
        Poll::Ready(Some(Ok(events)))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.run.state();
        if state.reader == self.number {
            state.is_read = false;
            state.waker = None;
            drop(state);
            self.runs.abandon(&self.run, self.number);
        }
    }
}
