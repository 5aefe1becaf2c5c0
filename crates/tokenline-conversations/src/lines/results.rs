//! Passes on the results of several threads, in the order of the blocks.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::blocks::{Block, LONG};
use super::buffer::Buffer;
use super::workers::Worker;

/// Results of blocks on their way into a sink. Workers never block on the thread that runs the sink: it also passes on
/// what they add meanwhile.
pub(super) struct Results<'s, R, S> {
    state: Mutex<State<'s, R, S>>,
    /// Signals that the next block was passed on, or that the sink is free.
    turn: Condvar,
    /// With this many blocks queued, only the next block is admitted.
    max_blocks: usize,
}

struct State<'s, R, S> {
    /// Results of blocks, or of their last parts, that wait for their turn.
    done: BTreeMap<u64, (R, Block)>,
    /// The number of the next block to pass on.
    next: u64,
    failure: Option<io::Error>,
    /// `None` while a thread runs it.
    sink: Option<&'s mut S>,
    /// The number of waiting threads.
    waiting: usize,
    /// Memory for blocks, except [long](LONG) ones.
    spare: Vec<Buffer>,
    /// Memory for the next long block.
    long_spare: Option<Buffer>,
}

impl<'s, R, S: FnMut(&mut R, &[u8]) -> io::Result<()>> Results<'s, R, S> {
    pub(super) fn new(sink: &'s mut S, max_blocks: usize) -> Self {
        let state = State {
            done: BTreeMap::new(),
            next: 0,
            failure: None,
            sink: Some(sink),
            waiting: 0,
            spare: Vec::new(),
            long_spare: None,
        };
        Self { state: Mutex::new(state), turn: Condvar::new(), max_blocks }
    }

    /// Processes a block. If it has several parts, passes on the results of all but the last; returns that of the last.
    pub(super) fn process_in_parts(
        &self,
        number: u64,
        block: &mut Block,
        worker: &mut impl Worker<Result = R>,
    ) -> R {
        let mut result = worker.process(block);
        while !block.is_done() {
            let mut state = self.wait_for_turn(number);
            // After a failure nothing is passed on.
            let State { failure: None, sink, .. } = &mut *state else { break };
            let Some(sink) = sink.take() else { break };
            drop(state);
            let passed = sink(&mut result, block.text());
            drop(self.return_sink(sink, passed));
            result = worker.process(block);
        }
        result
    }

    /// Queues a result, and passes on the queue unless another thread does, or the next block is missing.
    pub(super) fn add(&self, number: u64, result: R, block: Block) {
        let mut state = self.wait_while(|state| number > state.next && state.done.len() >= self.max_blocks);
        state.done.insert(number, (result, block));
        while state.failure.is_none() && state.sink.is_some() {
            let next = state.next;
            let Some((mut result, block)) = state.done.remove(&next) else { break };
            let Some(sink) = state.sink.take() else { break };
            drop(state);
            let passed = sink(&mut result, block.text());
            drop(result);
            // Threads woken by this get the lock after the next lines.
            state = self.return_sink(sink, passed);
            state.next += 1;
            let buffer = block.into_buffer();
            if buffer.capacity() > LONG { state.long_spare = Some(buffer) } else { state.spare.push(buffer) }
        }
    }

    /// Waits until all earlier blocks are passed on, or something failed.
    pub(super) fn wait_for(&self, number: u64) {
        drop(self.wait_for_turn(number));
    }

    /// Memory for the next block; `None` after a failure.
    pub(super) fn buffer(&self) -> Option<Buffer> {
        let mut state = lock(&self.state);
        state.failure.is_none().then(|| state.spare.pop().unwrap_or_default())
    }

    /// Memory for a long block.
    pub(super) fn long_buffer(&self) -> Buffer {
        lock(&self.state).long_spare.take().unwrap_or_default()
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn wait_for_turn(&self, number: u64) -> MutexGuard<'_, State<'s, R, S>> {
        self.wait_while(|state| number > state.next || state.sink.is_none())
    }

    /// Waits while the condition holds, unless something failed.
    fn wait_while(&self, must_wait: impl Fn(&State<'s, R, S>) -> bool) -> MutexGuard<'_, State<'s, R, S>> {
        let mut state = lock(&self.state);
        while state.failure.is_none() && must_wait(&state) {
            state.waiting += 1;
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state
    }

    /// Releases the sink for other threads.
    fn return_sink(&self, sink: &'s mut S, passed: io::Result<()>) -> MutexGuard<'_, State<'s, R, S>> {
        let mut state = lock(&self.state);
        state.sink = Some(sink);
        if let Err(error) = passed {
            state.failure.get_or_insert(error);
        }
        if state.waiting > 0 {
            self.turn.notify_all();
        }
        state
    }
}

impl<R, S> Results<'_, R, S> {
    /// Stops all threads. The first failure is reported.
    pub(super) fn fail(&self, error: io::Error) {
        lock(&self.state).failure.get_or_insert(error);
        self.turn.notify_all();
    }
}

/// Unblocks waiters if a worker panics.
pub(super) struct Guard<'r, 's, R, S>(pub(super) &'r Results<'s, R, S>);

impl<R, S> Drop for Guard<'_, '_, R, S> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(io::Error::other("a thread panicked"));
        }
    }
}

/// Locks a mutex. A panic ends all threads later. The protected state is consistent: no lock is held while something
/// can panic, except that of the source, which then [ends](super::blocks::Blocks).
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
