//! The memory of 10,000 idle streams that have each received half a line. Prints a Markdown table. `measure` starts this
//! program, so that counting does not slow down what it times.
//!
//! Counts the bytes requested from the allocator, including the stream values, not the memory that the allocator takes from
//! the system.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use tokenline_benches::contenders::streams::{
    CONTENDERS, Contender, NAME, RESPONSES, RESPONSES_NAME, STREAMS,
};
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
        let half = line.slice(..line.len() / 2);
        (format!("{}, {} B", kind.name(), half.len()), half)
    });
    print!(
        "{}",
        table(NAME, format!("{STREAMS} streams that have received half a line"), CONTENDERS, &halves)
    );
    println!();
    let begun = [
        ("records", Corpus::responses_with_records(16 * 1024)),
        ("native calls", Corpus::responses_with_calls(1)),
    ]
    .map(|(name, corpora)| {
        // As they are sent. The second record has begun by then, or the first call.
        let [_, corpus, _] = &corpora[..] else { panic!("three ways to split") };
        let events = &corpus.wire.responses[0];
        let events = &events[..events.len().min(90) / 2];
        (format!("{name}, {} events", events.len()), Bytes::from(events.concat()))
    });
    let title = format!("{STREAMS} responses in a record or a call");
    print!("{}", table(RESPONSES_NAME, title, RESPONSES, &begun));
}

/// The memory of the streams that have received each of these.
fn table(name: &str, title: String, contenders: &[Contender], received: &[(String, Bytes)]) -> Table {
    let rows = contenders.iter().map(|contender| {
        let bytes = received.iter().map(|(_, received)| bytes_per_stream(contender.open, received));
        let cells = bytes.map(|bytes| Cell { value: bytes as f64, ratio: None }).collect();
        Row { label: contender.name.to_owned(), cells }
    });
    Table {
        name: name.to_owned(),
        title,
        unit: "bytes per stream".to_owned(),
        columns: received.iter().map(|(column, _)| column.clone()).collect(),
        rows: rows.collect(),
    }
}

fn bytes_per_stream(open: fn(usize, &Bytes) -> Box<dyn std::any::Any>, received: &Bytes) -> usize {
    let before = LIVE.load(Relaxed);
    let streams = open(STREAMS, received);
    let bytes = LIVE.load(Relaxed) - before;
    drop(streams);
    bytes / STREAMS
}
