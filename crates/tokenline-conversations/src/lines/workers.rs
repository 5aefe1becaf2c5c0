//! Several threads over one source, with the outcome of one.

use std::io::{self, Read};
use std::panic;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;

use tokenline_core::Limits;

use super::blocks::{Blocks, LONG};
use super::buffer::Buffer;
use super::check::{Checker, Contract};
use super::results::{Guard, Results, lock};
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
        let (mut checker, mut buffer) = (Checker::new(limits), Buffer::default());
        while let Some(mut block) = blocks.next(buffer, None::<fn() -> Buffer>)? {
            while !block.is_done() {
                tally.add::<C>(&mut checker.check(&mut block, contract), block.text())?;
            }
            buffer = block.into_buffer();
        }
        return Ok(());
    }
    let source = Mutex::new(Source { blocks, next: 0, checker: Checker::new(limits) });
    // Enough blocks for each thread to go on while one is slow.
    let results = Results::new(tally, 2 * jobs);
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
    results.finish()
}

/// What is read by one thread at a time.
struct Source<R> {
    blocks: Blocks<R>,
    /// The number of the next block.
    next: u64,
    /// For long blocks: what it needs for them it keeps.
    checker: Checker,
}

fn work<R: Read, C: Contract, K: Count<C>>(
    source: &Mutex<Source<R>>,
    results: &Results<'_, '_, C::Fact, K>,
    contract: &C,
    limits: Limits,
) {
    let mut own_checker = Checker::new(limits);
    let _guard = Guard(results);
    loop {
        let mut reading = lock_soon(source);
        let Source { blocks, next, checker } = &mut *reading;
        let number = *next;
        let Some(buffer) = results.buffer() else { return };
        let mut block = match blocks.next(buffer, Some(|| results.long_buffer())) {
            Ok(Some(block)) => block,
            Ok(None) => return,
            Err(error) => {
                // What was read before is told before.
                drop(reading);
                results.wait_for(number);
                return results.fail(error);
            }
        };
        *next += 1;
        if block.text().len() > LONG {
            // One after the other, so that there is memory for one of them: nobody reads on meanwhile.
            results.wait_for(number);
            let checked = results.check_in_parts(number, &mut block, checker, contract);
            results.add::<C>(number, checked, block);
            drop(reading);
        } else {
            drop(reading);
            let checked = results.check_in_parts(number, &mut block, &mut own_checker, contract);
            results.add::<C>(number, checked, block);
        }
    }
}

/// How often a lock is asked for before the thread sleeps. That is about as long as a block is read, and less than it
/// takes to be woken up.
const TRIES: usize = 64;

/// As [`lock`], of what is most likely free again soon.
fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    for _ in 0..TRIES {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(error)) => return error.into_inner(),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
    lock(mutex)
}
