//! An allocator that counts per thread.
#![allow(dead_code, unreachable_pub, reason = "a module shared by several test programs")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

pub struct Counting;

fn count(allocations: u64, bytes: i64) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: all work is left to the system's allocator; the counters are plain thread-local cells that need no
// allocation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both may be held while the bytes are copied.
        count(1, new_size as i64);
        count(0, -(layout.size() as i64));
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// A closure's use of the heap on this thread.
#[derive(Debug)]
pub struct Usage {
    /// Allocations and reallocations.
    pub allocations: u64,
    /// The peak of bytes held, beyond those held before.
    pub peak: u64,
    /// Bytes still held afterwards, beyond those held before.
    pub kept: i64,
}

pub fn measure<R>(f: impl FnOnce() -> R) -> (Usage, R) {
    let (allocations, held) = (ALLOCATIONS.get(), HELD.get());
    PEAK.set(held);
    let result = f();
    let usage = Usage {
        allocations: ALLOCATIONS.get() - allocations,
        peak: (PEAK.get() - held) as u64,
        kept: HELD.get() - held,
    };
    (usage, result)
}
