//! Counts the results of several threads in the order of the blocks.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::blocks::{Block, LONG};
use super::buffer::Buffer;
use super::check::{Checked, Checker, Contract};
use super::tally::{Count, Tally};

/// Checked blocks on their way into the tally. Workers never block on the counting thread: it also counts what they add
/// meanwhile.
pub(super) struct Results<'t, 's, F, K> {
    state: Mutex<State<'t, 's, F, K>>,
    /// Signals that the next block was counted, or that the tally is free.
    turn: Condvar,
    /// With this many blocks queued, only the next block is admitted.
    max_blocks: usize,
}

struct State<'t, 's, F, K> {
    /// Checked blocks, or their last parts, that wait for their turn.
    checked: BTreeMap<u64, (Checked<F>, Block)>,
    /// The number of the next block to count.
    next: u64,
    failure: Option<io::Error>,
    /// `None` while a thread counts.
    tally: Option<&'t mut Tally<'s, K>>,
    /// The number of waiting threads.
    waiting: usize,
    /// Memory for blocks, except [long](LONG) ones.
    spare: Vec<Buffer>,
    /// Memory for the next long block.
    long_spare: Option<Buffer>,
}

impl<'t, 's, F, K> Results<'t, 's, F, K> {
    pub(super) fn new(tally: &'t mut Tally<'s, K>, max_blocks: usize) -> Self {
        let state = State {
            checked: BTreeMap::new(),
            next: 0,
            failure: None,
            tally: Some(tally),
            waiting: 0,
            spare: Vec::new(),
            long_spare: None,
        };
        Self { state: Mutex::new(state), turn: Condvar::new(), max_blocks }
    }

    /// Checks a block. If it has several parts, counts all but the last; returns the last.
    pub(super) fn check_in_parts<C: Contract<Fact = F>>(
        &self,
        number: u64,
        block: &mut Block,
        checker: &mut Checker,
        contract: &C,
    ) -> Checked<F>
    where
        K: Count<C>,
    {
        let mut checked = checker.check(block, contract);
        while !block.is_done() {
            let mut state = self.wait_for_turn(number);
            // After a failure nothing is counted.
            let State { failure: None, tally, .. } = &mut *state else { break };
            let Some(tally) = tally.take() else { break };
            drop(state);
            let added = tally.add::<C>(&mut checked, block.text());
            drop(self.return_tally(tally, added));
            checked = checker.check(block, contract);
        }
        checked
    }

    /// Queues a block, and counts the queue unless another thread does, or the next block is missing.
    pub(super) fn add<C: Contract<Fact = F>>(&self, number: u64, checked: Checked<F>, block: Block)
    where
        K: Count<C>,
    {
        let mut state =
            self.wait_while(|state| number > state.next && state.checked.len() >= self.max_blocks);
        state.checked.insert(number, (checked, block));
        while state.failure.is_none() && state.tally.is_some() {
            let next = state.next;
            let Some((mut checked, block)) = state.checked.remove(&next) else { break };
            let Some(tally) = state.tally.take() else { break };
            drop(state);
            let added = tally.add::<C>(&mut checked, block.text());
            // Threads woken by this get the lock after the next lines.
            state = self.return_tally(tally, added);
            state.next += 1;
            let buffer = block.into_buffer();
            match buffer.capacity() > LONG {
                true => state.long_spare = Some(buffer),
                false => state.spare.push(buffer),
            }
        }
    }

    /// Waits until all earlier blocks are counted, or something failed.
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

    /// Stops all threads. The first failure is reported.
    pub(super) fn fail(&self, error: io::Error) {
        lock(&self.state).failure.get_or_insert(error);
        self.turn.notify_all();
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn wait_for_turn(&self, number: u64) -> MutexGuard<'_, State<'t, 's, F, K>> {
        self.wait_while(|state| number > state.next || state.tally.is_none())
    }

    /// Waits while the condition holds, unless something failed.
    fn wait_while(
        &self,
        must_wait: impl Fn(&State<'t, 's, F, K>) -> bool,
    ) -> MutexGuard<'_, State<'t, 's, F, K>> {
        let mut state = lock(&self.state);
        while state.failure.is_none() && must_wait(&state) {
            state.waiting += 1;
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state
    }

    /// Releases the tally for other threads.
    fn return_tally(
        &self,
        tally: &'t mut Tally<'s, K>,
        added: io::Result<()>,
    ) -> MutexGuard<'_, State<'t, 's, F, K>> {
        let mut state = lock(&self.state);
        state.tally = Some(tally);
        if let Err(error) = added {
            state.failure.get_or_insert(error);
        }
        if state.waiting > 0 {
            self.turn.notify_all();
        }
        state
    }
}

/// Unblocks waiters if a worker panics.
pub(super) struct Guard<'r, 't, 's, F, K>(pub(super) &'r Results<'t, 's, F, K>);

impl<F, K> Drop for Guard<'_, '_, '_, F, K> {
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
