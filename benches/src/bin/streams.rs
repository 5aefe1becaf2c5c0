//! The memory of 10,000 idle streams that have each received half a line. Prints a Markdown table. `measure` starts this
//! program, so that counting does not slow down what it times.
//!
//! Counts the bytes requested from the allocator, including the stream values, not the memory that the allocator takes from
//! the system.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use tokenline_benches::contenders::streams::{CONTENDERS, NAME, STREAMS};
use tokenline_benches::corpora::{Corpus, Kind};
use tokenline_benches::tables::{Cell, Row, Table};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes allocated and not yet freed.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The system allocator, with a byte count.
struct Counting;

// SAFETY: every call goes to `System` unchanged, and counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract, which is the same for `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; all our pointers come from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn main() {
    let halves = Kind::ALL.map(|kind| {
        let line = Corpus::generate(kind, 1).bytes;
        (kind.name(), line.slice(..line.len() / 2))
    });
    let rows = CONTENDERS.iter().map(|contender| {
        let bytes = halves.iter().map(|(_, half)| bytes_per_stream(contender.open, half));
        let cells = bytes.map(|bytes| Cell { value: bytes as f64, ratio: None }).collect();
        Row { label: contender.name.to_owned(), cells }
    });
    let table = Table {
        name: NAME.to_owned(),
        title: format!("{STREAMS} streams that have received half a line"),
        unit: "bytes per stream".to_owned(),
        columns: halves.iter().map(|(name, half)| format!("{name}, {} B", half.len())).collect(),
        rows: rows.collect(),
    };
    print!("{table}");
}

fn bytes_per_stream(open: fn(usize, &Bytes) -> Box<dyn std::any::Any>, received: &Bytes) -> usize {
    let before = LIVE.load(Relaxed);
    let streams = open(STREAMS, received);
    let bytes = LIVE.load(Relaxed) - before;
    drop(streams);
    bytes / STREAMS
}
