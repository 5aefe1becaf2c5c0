//! Runs several threads over one source, with the same result as one.

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
    // Enough blocks for the others to continue while one thread is slow.
    let results = Results::new(tally, 2 * jobs);
    thread::scope(|scope| {
        let spawn =
            |_| thread::Builder::new().spawn_scoped(scope, || work(&source, &results, contract, limits)).ok();
        // The current thread is one of the workers. Run with fewer if threads cannot be spawned.
        let threads: Vec<_> = (1..jobs).map_while(spawn).collect();
        work(&source, &results, contract, limits);
        // The scope only waits until the threads are done; joining also frees what they hold.
        for thread in threads {
            thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
    });
    results.finish()
}

/// The source, which one thread reads at a time.
struct Source<R> {
    blocks: Blocks<R>,
    /// The number of the next block.
    next: u64,
    /// For long blocks: it keeps their memory.
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
                // Earlier blocks are counted first.
                drop(reading);
                results.wait_for(number);
                return results.fail(error);
            }
        };
        *next += 1;
        if block.text().len() > LONG {
            // One long block at a time, to bound the memory: the source stays locked meanwhile.
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

/// Attempts before the thread sleeps: about as long as reading a block, and less than a wake-up takes.
const TRIES: usize = 64;

/// Like [`lock`], for a lock that is held briefly.
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
