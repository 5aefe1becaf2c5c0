//! Several threads over one source, with the outcome of one.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokenline_core::Limits;

use super::blocks::Blocks;
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
    let mut blocks = Blocks::new(source, limits.line_bytes);
    if jobs <= 1 {
        let (mut checker, mut buffer) = (Checker::new(limits), Vec::new());
        while let Some(block) = blocks.next(buffer)? {
            let mut checked = checker.check(block, contract);
            tally.add::<C>(&mut checked)?;
            buffer = checked.text;
        }
        return Ok(());
    }
    let source = Mutex::new((blocks, 0));
    let results = Results {
        state: Mutex::new(State { waiting: BTreeMap::new(), next: 0, failure: None, tally }),
        turn: Condvar::new(),
        // Enough for each thread to go on while one is slow.
        most: 2 * jobs,
    };
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work(&source, &results, contract, limits));
        }
    });
    match results.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Blocks that were checked, on their way into the tally.
struct Results<'t, 's, F, K> {
    state: Mutex<State<'t, 's, F, K>>,
    /// The next block was taken in.
    turn: Condvar,
    most: usize,
}

struct State<'t, 's, F, K> {
    /// Blocks that others before them are waited for.
    waiting: BTreeMap<u64, Checked<F>>,
    /// The number of the block that is taken in next.
    next: u64,
    failure: Option<io::Error>,
    tally: &'t mut Tally<'s, K>,
}

fn work<R: Read, C: Contract, K: Count<C>>(
    source: &Mutex<(Blocks<R>, u64)>,
    results: &Results<'_, '_, C::Fact, K>,
    contract: &C,
    limits: Limits,
) {
    let (mut checker, mut buffer) = (Checker::new(limits), Vec::new());
    let _guard = Guard(results);
    loop {
        let (number, block) = {
            let mut source = lock(source);
            let (blocks, next) = &mut *source;
            if lock(&results.state).failure.is_some() {
                return;
            }
            match blocks.next(std::mem::take(&mut buffer)) {
                Ok(Some(block)) => {
                    *next += 1;
                    (*next - 1, block)
                }
                Ok(None) => return,
                Err(error) => {
                    lock(&results.state).failure.get_or_insert(error);
                    results.turn.notify_all();
                    return;
                }
            }
        };
        let checked = checker.check(block, contract);
        buffer = results.add::<C>(number, checked);
    }
}

impl<F, K> Results<'_, '_, F, K> {
    /// Takes in a block, or leaves it to who has the one before. Gives back memory for the next one.
    fn add<C: Contract<Fact = F>>(&self, number: u64, checked: Checked<F>) -> Vec<u8>
    where
        K: Count<C>,
    {
        let mut state = lock(&self.state);
        while state.failure.is_none() && number > state.next && state.waiting.len() >= self.most {
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.insert(number, checked);
        let mut buffer = Vec::new();
        let State { waiting, next, failure, tally } = &mut *state;
        while failure.is_none()
            && let Some(mut checked) = waiting.remove(next)
        {
            *next += 1;
            if let Err(error) = tally.add::<C>(&mut checked) {
                *failure = Some(error);
            }
            buffer = checked.text;
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
