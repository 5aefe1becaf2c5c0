//! Memory of idle streams: 10,000 at once, each with half a line received. Prints a Markdown table.
//!
//! What is counted is what the streams ask of the allocator, their own values included, and not
//! what the allocator takes from the system for it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use tokenline_benches::contenders::streams::{CONTENDERS, STREAMS};
use tokenline_benches::corpora::{Corpus, Kind};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allocated and not yet freed.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
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
        // SAFETY: as above; `pointer` came from `System`, as all of ours do.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn main() {
    let halves = Kind::ALL.map(|kind| {
        let line = Corpus::generate(kind, 1).bytes;
        (kind.name(), line.slice(..line.len() / 2))
    });
    println!("{STREAMS} streams that have received half a line, bytes a stream\n");
    print!("| |");
    for (name, half) in &halves {
        print!(" {name}, {} B |", half.len());
    }
    println!("\n|---|{}", "--:|".repeat(halves.len()));
    for contender in CONTENDERS {
        print!("| {} |", contender.name);
        for (_, half) in &halves {
            print!(" {} |", bytes_a_stream(contender.open, half));
        }
        println!();
    }
}

fn bytes_a_stream(open: fn(usize, &Bytes) -> Box<dyn std::any::Any>, received: &Bytes) -> usize {
    let before = LIVE.load(Relaxed);
    let streams = open(STREAMS, received);
    let bytes = LIVE.load(Relaxed) - before;
    drop(streams);
    bytes / STREAMS
}
