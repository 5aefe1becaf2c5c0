//! What several threads came to, counted in the order of the blocks.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::blocks::{Block, LONG};
use super::buffer::Buffer;
use super::check::{Checked, Checker, Contract};
use super::tally::{Count, Tally};

/// Blocks that were checked, on their way into the tally. Nobody waits for who counts: what is there when that one is
/// done is counted by it too.
pub(super) struct Results<'t, 's, F, K> {
    state: Mutex<State<'t, 's, F, K>>,
    /// The next block was taken in, or the tally is free.
    turn: Condvar,
    /// With so many blocks here, only the one whose turn it is is let in.
    most_blocks: usize,
}

struct State<'t, 's, F, K> {
    /// Checked blocks, or the last parts of them, whose turn has not come.
    checked: BTreeMap<u64, (Checked<F>, Block)>,
    /// The number of the block that is taken in next.
    next: u64,
    failure: Option<io::Error>,
    /// Nothing while somebody counts.
    tally: Option<&'t mut Tally<'s, K>>,
    /// Threads that wait.
    waiting: usize,
    /// Memory for blocks, none of it for [long](LONG) ones.
    spare: Vec<Buffer>,
    /// Memory for the next long block.
    long_spare: Option<Buffer>,
}

impl<'t, 's, F, K> Results<'t, 's, F, K> {
    pub(super) fn new(tally: &'t mut Tally<'s, K>, most_blocks: usize) -> Self {
        let state = State {
            checked: BTreeMap::new(),
            next: 0,
            failure: None,
            tally: Some(tally),
            waiting: 0,
            spare: Vec::new(),
            long_spare: None,
        };
        Self { state: Mutex::new(state), turn: Condvar::new(), most_blocks }
    }

    /// Checks a block. If that comes in several parts all but the last are taken in; the last is returned.
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
            let mut state = self.turn_of(number);
            // After a failure nothing is counted any more.
            let State { failure: None, tally, .. } = &mut *state else { break };
            let Some(tally) = tally.take() else { break };
            drop(state);
            let added = tally.add::<C>(&mut checked, block.text());
            drop(self.return_tally(tally, added));
            checked = checker.check(block, contract);
        }
        checked
    }

    /// Takes in a block, or leaves it to who counts or to who has the one before.
    pub(super) fn add<C: Contract<Fact = F>>(&self, number: u64, checked: Checked<F>, block: Block)
    where
        K: Count<C>,
    {
        let mut state =
            self.wait_while(|state| number > state.next && state.checked.len() >= self.most_blocks);
        state.checked.insert(number, (checked, block));
        while state.failure.is_none() && state.tally.is_some() {
            let next = state.next;
            let Some((mut checked, block)) = state.checked.remove(&next) else { break };
            let Some(tally) = state.tally.take() else { break };
            drop(state);
            let added = tally.add::<C>(&mut checked, block.text());
            // Who is woken up by this gets the lock after the next lines.
            state = self.return_tally(tally, added);
            state.next += 1;
            let buffer = block.into_buffer();
            match buffer.capacity() > LONG {
                true => state.long_spare = Some(buffer),
                false => state.spare.push(buffer),
            }
        }
    }

    /// Waits until all blocks before this one are taken in, or something failed.
    pub(super) fn wait_for(&self, number: u64) {
        drop(self.turn_of(number));
    }

    /// Memory for the next block, or nothing after a failure.
    pub(super) fn buffer(&self) -> Option<Buffer> {
        let mut state = lock(&self.state);
        state.failure.is_none().then(|| state.spare.pop().unwrap_or_default())
    }

    /// Memory for a long block.
    pub(super) fn long_buffer(&self) -> Buffer {
        lock(&self.state).long_spare.take().unwrap_or_default()
    }

    /// Ends it all; the first failure is the one that is told.
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

    fn turn_of(&self, number: u64) -> MutexGuard<'_, State<'t, 's, F, K>> {
        self.wait_while(|state| number > state.next || state.tally.is_none())
    }

    /// Waits as long as there is need to.
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

    /// Lets others count.
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

/// Lets nobody wait for a thread that panicked.
pub(super) struct Guard<'r, 't, 's, F, K>(pub(super) &'r Results<'t, 's, F, K>);

impl<F, K> Drop for Guard<'_, '_, '_, F, K> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(io::Error::other("a thread panicked"));
        }
    }
}

/// A thread that panics takes the others with it at the end. What it left behind is whole: nobody holds a lock while
/// something can panic, but the source's, which [ends](super::blocks::Blocks) with that.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
