//! Several threads over one source, with the outcome of one.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::panic;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokenline_core::Limits;

use super::blocks::{Block, Blocks};
use super::check::{Checked, Checker, Contract};
use super::tally::{Count, Tally};

/// Reads a source to its end.
pub(super) fn run<C: Contract, K: Count<C>>(
    source: impl Read + Send,
    contract: &C,
    limits: Limits,
    jobs: usize,
    tally: &mut Tally<'_, K>,
) -> io::Result<()> {
    let mut blocks = Blocks::new(source, limits);
    if jobs <= 1 {
        let (mut checker, mut buffer) = (Checker::new(limits), Vec::new());
        while let Some(mut block) = blocks.next(buffer)? {
            while !block.is_done() {
                tally.add::<C>(&mut checker.check(&mut block, contract), block.text())?;
            }
            buffer = block.into_buffer();
        }
        return Ok(());
    }
    let source = Mutex::new(Source { blocks, next: 0, checker: Checker::new(limits) });
    let results = Results {
        state: Mutex::new(State { waiting: BTreeMap::new(), next: 0, failure: None, tally }),
        turn: Condvar::new(),
        // Enough for each thread to go on while one is slow.
        most: 2 * jobs,
    };
    thread::scope(|scope| {
        let spawn =
            |_| thread::Builder::new().spawn_scoped(scope, || work(&source, &results, contract, limits)).ok();
        // This is one of them; where there cannot be as many there are fewer.
        let threads: Vec<_> = (1..jobs).map_while(spawn).collect();
        work(&source, &results, contract, limits);
        // The scope waits until they are done, this until they are gone, with what they hold.
        for thread in threads {
            thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
    });
    match results.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Blocks that are longer than this are checked one after the other, so that there is memory for one of them.
const LONG: usize = 1024 * 1024;

/// What is read by one thread at a time.
struct Source<R> {
    blocks: Blocks<R>,
    /// The number of the next block.
    next: u64,
    /// For long blocks: what it needs for them it keeps.
    checker: Checker,
}

/// Blocks that were checked, on their way into the tally.
struct Results<'t, 's, F, K> {
    state: Mutex<State<'t, 's, F, K>>,
    /// The next block was taken in.
    turn: Condvar,
    most: usize,
}

struct State<'t, 's, F, K> {
    /// Blocks, or the last parts of them, that others before them are waited for.
    waiting: BTreeMap<u64, (Checked<F>, Block)>,
    /// The number of the block that is taken in next.
    next: u64,
    failure: Option<io::Error>,
    tally: &'t mut Tally<'s, K>,
}

fn work<R: Read, C: Contract, K: Count<C>>(
    source: &Mutex<Source<R>>,
    results: &Results<'_, '_, C::Fact, K>,
    contract: &C,
    limits: Limits,
) {
    let (mut checker, mut buffer) = (Checker::new(limits), Vec::new());
    let _guard = Guard(results);
    loop {
        let (number, mut block) = {
            let mut source = lock(source);
            let Source { blocks, next, checker } = &mut *source;
            if lock(&results.state).failure.is_some() {
                return;
            }
            match blocks.next(std::mem::take(&mut buffer)) {
                Ok(Some(mut block)) => {
                    let number = *next;
                    *next += 1;
                    if block.text().len() > LONG {
                        // Nobody reads on meanwhile.
                        drop(results.until(number, lock(&results.state), |_| true));
                        let checked = results.add_parts(number, &mut block, checker, contract);
                        // Nor does each thread keep as much memory as that took.
                        results.add::<C>(number, checked, block);
                        continue;
                    }
                    (number, block)
                }
                Ok(None) => return,
                Err(error) => {
                    lock(&results.state).failure.get_or_insert(error);
                    results.turn.notify_all();
                    return;
                }
            }
        };
        let checked = results.add_parts(number, &mut block, &mut checker, contract);
        buffer = results.add::<C>(number, checked, block);
    }
}

impl<F, K> Results<'_, '_, F, K> {
    /// Checks a block, and takes in all parts of it but the last, which it gives back.
    fn add_parts<C: Contract<Fact = F>>(
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
            let mut state = self.until(number, lock(&self.state), |_| true);
            let State { failure, tally, .. } = &mut *state;
            if failure.is_some() {
                break;
            }
            *failure = tally.add::<C>(&mut checked, block.text()).err();
            drop(state);
            checked = checker.check(block, contract);
        }
        checked
    }

    /// Waits for the turn of a block, as long as there is need to.
    fn until<'l, 't, 's>(
        &self,
        number: u64,
        state: MutexGuard<'l, State<'t, 's, F, K>>,
        is_needed: impl Fn(&State<'t, 's, F, K>) -> bool,
    ) -> MutexGuard<'l, State<'t, 's, F, K>> {
        let must_wait = |state: &mut State<'t, 's, F, K>| {
            state.failure.is_none() && number > state.next && is_needed(state)
        };
        self.turn.wait_while(state, must_wait).unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a block, or leaves it to who has the one before. Gives back memory for the next one.
    fn add<C: Contract<Fact = F>>(&self, number: u64, checked: Checked<F>, block: Block) -> Vec<u8>
    where
        K: Count<C>,
    {
        let mut state = self.until(number, lock(&self.state), |state| state.waiting.len() >= self.most);
        state.waiting.insert(number, (checked, block));
        let mut buffer = Vec::new();
        let State { waiting, next, failure, tally } = &mut *state;
        while failure.is_none()
            && let Some((mut checked, block)) = waiting.remove(next)
        {
            *next += 1;
            if let Err(error) = tally.add::<C>(&mut checked, block.text()) {
                *failure = Some(error);
            }
            buffer = block.into_buffer();
        }
        drop(state);
        self.turn.notify_all();
        buffer
    }
}

/// Lets nobody wait for a thread that panicked.
struct Guard<'r, 't, 's, F, K>(&'r Results<'t, 's, F, K>);

impl<F, K> Drop for Guard<'_, '_, '_, F, K> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.state).failure.get_or_insert_with(|| io::Error::other("a thread panicked"));
            self.0.turn.notify_all();
        }
    }
}

/// A thread that panics takes the others with it at the end of the scope, so what it left behind is not looked at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
