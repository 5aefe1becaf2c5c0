//! Lines in, anything out.

use std::fmt;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::vec;

use tokenline_core::{Code, Diagnostic, Event, LentEvent, Limits, Span};

use super::blocks::Block;
use super::decode::{LineDecoder, Lines};
use super::workers::{self, Worker};

/// Maps the lines of JSON Lines files on several threads, with the same results in the same order as on one.
///
/// ```
/// use std::io::Write as _;
/// use std::ops::ControlFlow;
///
/// use tokenline_conversations::{LineMapper, LineWorker};
/// use tokenline_core::{Event, LentEvent};
///
/// /// Each thread has one.
/// struct Names;
///
/// impl LineWorker for Names {
///     /// The number of the line, if it has no name.
///     type Result = Option<u64>;
///
///     fn line(&mut self, event: LentEvent<'_>, output: &mut Vec<u8>) -> Option<u64> {
///         match event {
///             Event::Record(record) => match record.value.get("name") {
///                 Some(name) => writeln!(output, "{}", name.raw()).err().map(|_| record.line),
///                 None => Some(record.line),
///             },
///             Event::Rejected(diagnostic) => Some(diagnostic.line),
///             _ => None,
///         }
///     }
/// }
///
/// let file: &[u8] = b"{\"name\":\"DNA\"}\n{\"nam\n{\"name\":\"ATP\"}\n";
/// let (mut names, mut without) = (Vec::new(), Vec::new());
/// LineMapper::new(|| Names).jobs(2).read(file, |lines| {
///     for (line, output) in lines {
///         without.extend(line);
///         names.extend_from_slice(output);
///     }
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!((names, without), (b"\"DNA\"\n\"ATP\"\n".to_vec(), vec![2]));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LineMapper<N> {
    new_worker: N,
    limits: Limits,
    jobs: usize,
}

/// Maps lines on one thread.
pub trait LineWorker: Send {
    /// The result of a line, in addition to its output.
    type Result: Send;

    /// Maps a line: a [record](Event::Record), or the [reject](Event::Rejected) of a line that is not a JSON object.
    /// Blank lines are skipped. Lines and offsets count from the start of the source.
    fn line(&mut self, event: LentEvent<'_>, output: &mut Vec<u8>) -> Self::Result;
}

impl<W: LineWorker, N: Fn() -> W + Sync> LineMapper<N> {
    /// A mapper on one thread. `new_worker` is called at least once for each thread.
    pub fn new(new_worker: N) -> Self {
        Self { new_worker, limits: Limits::default(), jobs: 1 }
    }

    /// Sets the limits for the length of lines (default 8 MiB, without the line end) and the depth of values (default
    /// 127).
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the number of threads; default: 1.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Reads a source to its end. `sink` takes the lines in order, as many at a time as were read together; it may
    /// [stop](ControlFlow::Break) the mapper.
    ///
    /// Lines are mapped as soon as they are complete.
    ///
    /// # Errors
    ///
    /// If the source cannot be read, or the sink fails.
    pub fn read(
        &self,
        source: impl Read + Send,
        mut sink: impl FnMut(MappedLines<'_, W::Result>) -> io::Result<ControlFlow<()>> + Send,
    ) -> io::Result<()> {
        let Self { new_worker, limits, jobs } = self;
        let new_worker = || MapWorker { decoder: LineDecoder::new(*limits), worker: new_worker() };
        let mut has_stopped = false;
        let read = workers::run(source, *limits, *jobs, new_worker, |mapped: &mut Mapped<_>, _| {
            let Mapped { results, output } = mapped;
            let lines = MappedLines { results: results.drain(..), output, from: 0 };
            match sink(lines)? {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => {
                    has_stopped = true;
                    // Ends all threads.
                    Err(io::Error::other("stopped"))
                }
            }
        });
        if has_stopped { Ok(()) } else { read }
    }
}

/// Lines read together: the result and the output of each, in order.
pub struct MappedLines<'m, R> {
    results: vec::Drain<'m, (R, usize)>,
    output: &'m [u8],
    from: usize,
}

impl<'m, R> Iterator for MappedLines<'m, R> {
    type Item = (R, &'m [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (result, end) = self.results.next()?;
        let output = &self.output[self.from..end];
        self.from = end;
        Some((result, output))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.results.size_hint()
    }
}

/// Hides the output.
impl<R> fmt::Debug for MappedLines<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedLines").field("lines", &self.results.len()).finish_non_exhaustive()
    }
}

/// The results of lines, each with the end of its output.
struct Mapped<R> {
    results: Vec<(R, usize)>,
    output: Vec<u8>,
}

struct MapWorker<W> {
    decoder: LineDecoder,
    worker: W,
}

impl<W: LineWorker> Worker for MapWorker<W> {
    type Result = Mapped<W::Result>;

    const NUMBERS_LINES: bool = true;

    fn process(&mut self, block: &mut Block) -> Self::Result {
        let Self { decoder, worker } = self;
        let limit = decoder.limit;
        let mapped = Mapped { results: Vec::new(), output: Vec::new() };
        let mut lines = Mapping { worker, limit, mapped };
        decoder.decode(&block.text, &mut block.progress, &mut lines);
        lines.mapped
    }
}

struct Mapping<'w, W: LineWorker> {
    worker: &'w mut W,
    limit: usize,
    mapped: Mapped<W::Result>,
}

/// Lines and bytes of output per part: a block may have a line in every third byte, and its output may be longer.
const MAX_LINES: usize = 8 * 1024;
const MAX_OUTPUT: usize = 2 * 1024 * 1024;

impl<W: LineWorker> Lines for Mapping<'_, W> {
    fn event(&mut self, event: LentEvent<'_>) {
        let Mapped { results, output } = &mut self.mapped;
        let result = self.worker.line(event, output);
        results.push((result, output.len()));
    }

    fn too_long(&mut self, line: u64, span: Span) {
        let limit = self.limit as u64;
        let message = format!("the line is longer than {limit} bytes ({} bytes)", span.end - span.start);
        let diagnostic = Diagnostic::new(Code::LineTooLong, line, span, limit + 1, message);
        self.event(Event::Rejected(diagnostic));
    }

    fn is_full(&self) -> bool {
        self.mapped.results.len() >= MAX_LINES || self.mapped.output.len() >= MAX_OUTPUT
    }
}

impl<N> fmt::Debug for LineMapper<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineMapper").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}
