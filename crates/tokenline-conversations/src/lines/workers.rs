//! Runs several threads over one source, with the same result as one.

use std::io::{self, Read};
use std::panic;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;

use tokenline_core::Limits;

use super::blocks::{Block, Blocks, LONG};
use super::buffer::Buffer;
use super::results::{Guard, Results, lock};

/// Processes blocks on one thread.
pub(super) trait Worker: Send {
    type Result: Send;

    /// Whether blocks need the number of their first line. Counting takes another look at each byte.
    const NUMBERS_LINES: bool;

    /// Processes a block, or as much of its rest as one result may hold.
    fn process(&mut self, block: &mut Block) -> Self::Result;
}

/// Reads a source to its end. `sink` takes the results in the order of the blocks, each with the text of its block.
pub(super) fn run<W: Worker>(
    source: impl Read + Send,
    limits: Limits,
    jobs: usize,
    new_worker: impl Fn() -> W + Sync,
    mut sink: impl FnMut(&mut W::Result, &[u8]) -> io::Result<()> + Send,
) -> io::Result<()> {
    let mut blocks = Blocks::new(source, limits, W::NUMBERS_LINES);
    if jobs <= 1 {
        let (mut worker, mut buffer) = (new_worker(), Buffer::default());
        while let Some(mut block) = blocks.next(buffer, None::<fn() -> Buffer>)? {
            while !block.is_done() {
                sink(&mut worker.process(&mut block), block.text())?;
            }
            buffer = block.into_buffer();
        }
        return Ok(());
    }
    let source = Mutex::new(Source { blocks, next: 0, worker: new_worker() });
    // Enough blocks for the others to continue while one thread is slow.
    let results = Results::new(&mut sink, 2 * jobs);
    thread::scope(|scope| {
        let work = || work(&source, &results, &mut new_worker());
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        // The current thread is one of the workers. Run with fewer if threads cannot be spawned.
        let threads: Vec<_> = (1..jobs).map_while(spawn).collect();
        work();
        // The scope only waits until the threads are done; joining also frees what they hold.
        for thread in threads {
            thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
    });
    results.finish()
}

/// The source, which one thread reads at a time.
struct Source<R, W> {
    blocks: Blocks<R>,
    /// The number of the next block.
    next: u64,
    /// For long blocks: it keeps their memory.
    worker: W,
}

fn work<R: Read, W: Worker>(
    source: &Mutex<Source<R, W>>,
    results: &Results<'_, W::Result, impl FnMut(&mut W::Result, &[u8]) -> io::Result<()>>,
    own_worker: &mut W,
) {
    let _guard = Guard(results);
    loop {
        let mut reading = lock_soon(source);
        let Source { blocks, next, worker } = &mut *reading;
        let number = *next;
        let Some(buffer) = results.buffer() else { return };
        let mut block = match blocks.next(buffer, Some(|| results.long_buffer())) {
            Ok(Some(block)) => block,
            Ok(None) => return,
            Err(error) => {
                // Earlier blocks are passed on first.
                drop(reading);
                results.wait_for(number);
                return results.fail(error);
            }
        };
        *next += 1;
        if block.text().len() > LONG {
            // One long block at a time, to bound the memory: the source stays locked meanwhile.
            results.wait_for(number);
            let result = results.process_in_parts(number, &mut block, worker);
            results.add(number, result, block);
        } else {
            drop(reading);
            let result = results.process_in_parts(number, &mut block, own_worker);
            results.add(number, result, block);
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
