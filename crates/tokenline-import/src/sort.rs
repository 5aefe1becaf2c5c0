//! Groups messages that are not grouped: an external sort on another thread.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Take, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as MemoryOrdering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use ext_sort::{
    ChunkBuffer, ChunkBufferBuilder, ExternalChunk, ExternalSorter, ExternalSorterBuilder, SortError,
};
use rayon::slice::ParallelSliceMut;

use crate::ImportError;
use crate::entry;

/// How to sort.
#[derive(Clone, Debug)]
pub(crate) struct SortOptions {
    /// The memory for entries, in bytes.
    pub(crate) memory: usize,
    pub(crate) temporary_dir: Option<PathBuf>,
}

type Packed = Box<[u8]>;
type Compare = fn(&Packed, &Packed) -> Ordering;
pub(crate) type Sorted = ext_sort::BinaryHeapMerger<Packed, io::Error, Compare, Chunk>;
type Failure = SortError<io::Error, io::Error, io::Error>;

/// Takes entries in any order.
#[derive(Debug)]
pub(crate) struct Sorter {
    batch: Vec<Packed>,
    batch_bytes: usize,
    sender: Option<SyncSender<Vec<Packed>>>,
    thread: Option<JoinHandle<Result<Sorted, Failure>>>,
    is_dropped: Arc<AtomicBool>,
}

/// Whether the entries are not wanted any more. The sort then ends without order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    is_dropped: Arc<AtomicBool>,
    is_interrupted: Option<Arc<AtomicBool>>,
}

impl Stop {
    fn is_set(&self) -> bool {
        let is_set = |flag: &AtomicBool| flag.load(MemoryOrdering::Relaxed);
        is_set(&self.is_dropped) || self.is_interrupted.as_deref().is_some_and(is_set)
    }
}

/// A batch crosses threads when it has this many entries or bytes.
const BATCH_ENTRIES: usize = 512;
const BATCH_BYTES: usize = 1 << 20;

impl Sorter {
    pub(crate) fn new(options: SortOptions, is_interrupted: Option<Arc<AtomicBool>>) -> Self {
        let is_dropped = Arc::default();
        let stop = Stop { is_dropped: Arc::clone(&is_dropped), is_interrupted };
        let (sender, batches) = mpsc::sync_channel::<Vec<Packed>>(4);
        let sort = move || {
            let mut builder = ExternalSorterBuilder::new()
                .with_buffer(BufferBuilder { memory: options.memory, stop })
                .with_rw_buf_size(64 * 1024);
            if let Some(dir) = &options.temporary_dir {
                builder = builder.with_tmp_dir(Path::new(dir));
            }
            let sorter: ExternalSorter<Packed, io::Error, BufferBuilder, Chunk> = builder.build()?;
            let compare: Compare = |one, other| entry::compare(one, other);
            sorter.sort_by(batches.into_iter().flatten().map(Ok), compare)
        };
        let thread = thread::Builder::new().name("sort".to_owned()).spawn(sort).ok();
        Self { batch: Vec::new(), batch_bytes: 0, sender: Some(sender), thread, is_dropped }
    }

    pub(crate) fn push(&mut self, entry: &[u8]) -> Result<(), ImportError> {
        self.batch.push(entry.into());
        self.batch_bytes += entry.len();
        if self.batch.len() >= BATCH_ENTRIES || self.batch_bytes >= BATCH_BYTES {
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), ImportError> {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let is_sent = self.sender.as_ref().is_some_and(|sender| sender.send(batch).is_ok());
        // The sort ended early, and has the reason.
        if is_sent { Ok(()) } else { self.join().map(|_| ()) }
    }

    /// Ends the input, and returns the entries in order. After an interrupt, they are in any order, or lost.
    pub(crate) fn finish(mut self) -> Result<Sorted, ImportError> {
        self.send()?;
        self.join()
    }

    fn join(&mut self) -> Result<Sorted, ImportError> {
        self.sender = None;
        let failed = |error: io::Error| ImportError::output("temporary files", error);
        let thread = self.thread.take().ok_or_else(|| failed(io::Error::other("the sort cannot start")))?;
        match thread.join() {
            Ok(sorted) => sorted.map_err(|error| {
                failed(match error {
                    SortError::TempDir(error)
                    | SortError::IO(error)
                    | SortError::SerializationError(error)
                    | SortError::DeserializationError(error)
                    | SortError::InputError(error) => error,
                    SortError::ThreadPoolBuildError(error) => io::Error::other(error),
                })
            }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// The directory of the temporary files vanishes with the thread, which must not outlive an import that ends early.
impl Drop for Sorter {
    fn drop(&mut self) {
        self.is_dropped.store(true, MemoryOrdering::Relaxed);
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // The entries are not wanted, whatever they came to.
            let _ = thread.join();
        }
    }
}

/// Entries in memory, up to a number of bytes.
pub(crate) struct Buffer {
    entries: Vec<Packed>,
    bytes: usize,
    memory: usize,
    stop: Stop,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct BufferBuilder {
    memory: usize,
    stop: Stop,
}

impl ChunkBufferBuilder<Packed> for BufferBuilder {
    type Buffer = Buffer;

    fn build(&self) -> Buffer {
        Buffer { entries: Vec::new(), bytes: 0, memory: self.memory, stop: self.stop.clone() }
    }
}

/// The memory of an entry besides its bytes: its address and length, twice while the sort moves them, and the allocator's.
const OVERHEAD: usize = 48;

impl ChunkBuffer<Packed> for Buffer {
    fn push(&mut self, entry: Packed) {
        self.bytes += entry.len() + OVERHEAD;
        self.entries.push(entry);
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_full(&self) -> bool {
        self.bytes >= self.memory
    }
}

impl IntoIterator for Buffer {
    type Item = Packed;
    type IntoIter = std::vec::IntoIter<Packed>;

    fn into_iter(mut self) -> Self::IntoIter {
        if self.stop.is_set() {
            self.entries.clear();
        }
        self.entries.into_iter()
    }
}

impl ParallelSliceMut<Packed> for Buffer {
    fn as_parallel_slice_mut(&mut self) -> &mut [Packed] {
        if self.stop.is_set() { &mut [] } else { &mut self.entries }
    }
}

/// A sorted part in a temporary file without a name: the length of each entry, and the entry.
#[derive(Debug)]
pub(crate) struct Chunk(Take<BufReader<File>>);

impl ExternalChunk<Packed> for Chunk {
    type SerializationError = io::Error;
    type DeserializationError = io::Error;

    fn new(reader: Take<BufReader<File>>) -> Self {
        Self(reader)
    }

    fn dump(out: &mut BufWriter<File>, entries: impl IntoIterator<Item = Packed>) -> io::Result<()> {
        entries.into_iter().try_for_each(|entry| write_entry(out, &entry))
    }
}

impl Iterator for Chunk {
    type Item = io::Result<Packed>;

    fn next(&mut self) -> Option<io::Result<Packed>> {
        (self.0.limit() > 0).then(|| read_entry(&mut self.0))
    }
}

/// Writes an entry and its length.
pub(crate) fn write_entry(out: &mut impl Write, entry: &[u8]) -> io::Result<()> {
    out.write_all(&(entry.len() as u32).to_le_bytes())?;
    out.write_all(entry)
}

/// Reads what [`write_entry`] wrote.
pub(crate) fn read_entry(source: &mut impl Read) -> io::Result<Packed> {
    let mut len = [0; 4];
    source.read_exact(&mut len)?;
    let mut entry = vec![0; u32::from_le_bytes(len) as usize];
    source.read_exact(&mut entry)?;
    Ok(entry.into_boxed_slice())
}
