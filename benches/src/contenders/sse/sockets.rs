//! Responses over sockets: a server on a thread of its own sends an event to each stream at a fixed interval, and a client
//! on one thread reads all streams to typed records.

use std::fs;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::net;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, ready};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, stream};
use memchr::memmem;
use tokenline::Options;
use tokenline::llm::ResponseStream;
use tokenline::llm::providers::EventShapes;
use tokio::io::{AsyncBufReadExt as _, AsyncRead as _, AsyncReadExt as _, BufReader, ReadBuf};
use tokio::net::TcpStream;

use super::naive::{Definition, Reader as _, Records};
use super::tokenline::parser;
use super::turns::Template;
use crate::corpora::random::Random;
use crate::corpora::{openai_chat_sse, words};

/// The number of streams in the table.
pub const STREAMS: usize = 1_000;
/// The bytes of text in an event.
const TOKEN_BYTES: usize = 4;
/// The events of a record.
const RECORD_EVENTS: usize = 28;
/// The records of a stream.
const RECORDS: usize = 9;
/// The first records of a stream that are not measured: in the first event shapes are learned, and buffers grow.
const WARM_UP: usize = 3;

/// The size of a stream's buffer: that of `BufReader`.
const BUFFER_BYTES: usize = 8 * 1024;

/// A way to read all streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// Finds the ends of records in the bytes, and parses nothing: the cost of the sockets and the runtime.
    Floor,
    /// Lines, serde_json, and a `String` for each stream.
    Naive,
    /// A `ResponseStream` for each stream. All share the shapes of events, as those of a client do.
    Tokenline,
}

impl Contender {
    /// Every contender.
    pub const ALL: [Self; 3] = [Self::Floor, Self::Naive, Self::Tokenline];

    /// The name in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "bytes, the ends of records by memmem",
            Self::Naive => "`read_line` + serde_json",
            Self::Tokenline => "tokenline `ResponseStream`",
        }
    }
}

/// The figures of a round, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// The median time from sending the last event of a record to the record.
    pub median: f64,
    /// The 99th percentile of these times.
    pub percentile_99: f64,
    /// The client's CPU time per event.
    pub cpu: f64,
}

/// Sends each of `streams` streams an event per `interval`, and reads them all.
///
/// # Errors
///
/// If a socket cannot be opened or fails, or the system does not tell a thread's CPU time.
///
/// # Panics
///
/// If a record is missing.
pub fn round(contender: Contender, streams: usize, interval: Duration) -> io::Result<Figures> {
    let body = Bytes::from(openai_chat_sse(&text(), TOKEN_BYTES));
    let schedule = Arc::new(Schedule::new(&body, streams, interval));
    let (senders, receivers): (Vec<_>, Vec<_>) =
        pairs(streams)?.into_iter().map(|pair| (pair.sender, pair.receiver)).unzip();
    let server = {
        let schedule = Arc::clone(&schedule);
        thread::spawn(move || schedule.send(senders))
    };
    let before = cpu_time()?;
    let mut delays = read(contender, receivers, &schedule)?;
    let cpu = cpu_time()?.saturating_sub(before);
    server.join().expect("the server does not panic")?;
    delays.sort_unstable();
    let percentile = |percent: usize| microseconds(delays[delays.len() * percent / 100]);
    let events = streams * schedule.events.len();
    Ok(Figures {
        median: percentile(50),
        percentile_99: percentile(99),
        cpu: microseconds(cpu) / events as f64,
    })
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Records of the same length, each in [`RECORD_EVENTS`] events.
fn text() -> String {
    let mut random = Random::new(7);
    let mut text = String::new();
    for _ in 0..RECORDS {
        let definition = format!("{} {}", words::definition(&mut random), words::definition(&mut random));
        let mut record = format!(r#"{{"entity":"{}","definition":"{definition}"#, words::noun(&mut random));
        assert!(record.is_ascii(), "a record that can be cut anywhere");
        record.truncate(RECORD_EVENTS * TOKEN_BYTES - END.len());
        text += &record;
        text += END;
    }
    text
}

/// The end of a record.
const END: &str = "\"}\n";
/// The same in an event.
const END_IN_EVENT: &[u8] = b"\\\"}\\n\"";

/// The two ends of a connection.
struct Pair {
    sender: net::TcpStream,
    receiver: net::TcpStream,
}

fn pairs(count: usize) -> io::Result<Vec<Pair>> {
    let listener = net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let pair = |_| {
        let receiver = net::TcpStream::connect(address)?;
        let (sender, _) = listener.accept()?;
        sender.set_nodelay(true)?;
        receiver.set_nonblocking(true)?;
        Ok(Pair { sender, receiver })
    };
    (0..count).map(pair).collect()
}

/// The times at which the server sends events, as planned and as measured.
struct Schedule {
    /// Every stream gets the same events, with an id of its response.
    events: Vec<Template>,
    /// The record that each event ends.
    ends: Vec<Option<usize>>,
    interval: Duration,
    start: Instant,
    /// The nanoseconds from the start to the end of each record of each stream.
    sent: Vec<AtomicU64>,
}

impl Schedule {
    fn new(body: &Bytes, streams: usize, interval: Duration) -> Self {
        let mut start = 0;
        let events: Vec<_> = memmem::find_iter(body, b"\n\n")
            .map(|end| body.slice(std::mem::replace(&mut start, end + 2)..end + 2))
            .collect();
        let mut records = 0..;
        let ends = events.iter().map(|event| memmem::find(event, END_IN_EVENT).and_then(|_| records.next()));
        Self {
            ends: ends.collect(),
            events: events.into_iter().map(Template::new).collect(),
            interval,
            start: Instant::now(),
            sent: (0..streams * RECORDS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Sends all events. Streams begin one after another, so that at all times some are at the end of a record.
    fn send(&self, mut sockets: Vec<net::TcpStream>) -> io::Result<()> {
        let (mut buffer, count) = (Vec::new(), sockets.len());
        for tick in 0..self.events.len() + RECORD_EVENTS {
            for (stream, socket) in sockets.iter_mut().enumerate() {
                let number =
                    tick.checked_sub(stream % RECORD_EVENTS).filter(|number| *number < self.events.len());
                let Some(number) = number else { continue };
                let event = self.events[number].of(stream, &mut buffer);
                let due = self.interval * tick as u32 + self.interval * stream as u32 / count as u32;
                if let Some(early) = due.checked_sub(self.start.elapsed()) {
                    thread::sleep(early);
                }
                if let Some(record) = self.ends[number] {
                    let now = self.start.elapsed().as_nanos() as u64;
                    self.sent[stream * RECORDS + record].store(now, Ordering::Release);
                }
                socket.write_all(event)?;
            }
        }
        Ok(())
    }

    /// The time since the end of a record was sent.
    fn delay(&self, stream: usize, record: usize) -> Duration {
        let sent = self.sent[stream * RECORDS + record].load(Ordering::Acquire);
        self.start.elapsed() - Duration::from_nanos(sent)
    }
}

/// The records of a stream as they arrive.
struct Arrivals {
    schedule: Arc<Schedule>,
    stream: usize,
    records: usize,
    delays: Vec<Duration>,
}

impl Arrivals {
    fn add(&mut self) {
        let delay = self.schedule.delay(self.stream, self.records);
        if self.records >= WARM_UP {
            self.delays.push(delay);
        }
        self.records += 1;
    }
}

/// Reads all streams, a task each, and returns the delays of their records.
fn read(
    contender: Contender,
    sockets: Vec<net::TcpStream>,
    schedule: &Arc<Schedule>,
) -> io::Result<Vec<Duration>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let shapes = EventShapes::default();
        let mut tasks = Vec::with_capacity(sockets.len());
        for (stream, socket) in sockets.into_iter().enumerate() {
            let socket = TcpStream::from_std(socket)?;
            let delays = Vec::with_capacity(RECORDS);
            let arrivals = Arrivals { schedule: Arc::clone(schedule), stream, records: 0, delays };
            tasks.push(match contender {
                Contender::Floor => tokio::spawn(floor(socket, arrivals)),
                Contender::Naive => tokio::spawn(naive(socket, arrivals)),
                Contender::Tokenline => tokio::spawn(tokenline(socket, arrivals, shapes.clone())),
            });
        }
        let mut delays = Vec::with_capacity(tasks.len() * RECORDS);
        for task in tasks {
            let arrivals = task.await.expect("a reader does not panic")?;
            assert_eq!(arrivals.records, RECORDS, "the records of a stream");
            delays.extend(arrivals.delays);
        }
        Ok(delays)
    })
}

/// A record's end in two chunks would be missed, and noticed: the server writes an event at once.
async fn floor(mut socket: TcpStream, mut arrivals: Arrivals) -> io::Result<Arrivals> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = socket.read(&mut buffer).await?;
        if length == 0 {
            return Ok(arrivals);
        }
        memmem::find_iter(&buffer[..length], END_IN_EVENT).for_each(|_| arrivals.add());
    }
}

async fn naive(socket: TcpStream, mut arrivals: Arrivals) -> io::Result<Arrivals> {
    let mut lines = BufReader::new(socket);
    let mut line = String::new();
    let mut records = Records::default();
    while lines.read_line(&mut line).await? > 0 {
        if let Some(data) = line.trim_end().strip_prefix("data: ") {
            records.read(data);
            while arrivals.records < records.count() {
                arrivals.add();
            }
        }
        line.clear();
    }
    Ok(arrivals)
}

async fn tokenline(socket: TcpStream, mut arrivals: Arrivals, shapes: EventShapes) -> io::Result<Arrivals> {
    let parser = parser::<Definition>(Options::lenient()).with_shapes(&shapes);
    let mut records = ResponseStream::new(chunks(socket), parser).records();
    while let Some(record) = records.next().await {
        black_box(record.map_err(io::Error::other)?);
        arrivals.add();
    }
    Ok(arrivals)
}

/// Reads a socket as the body of a response: a chunk of whatever has arrived.
fn chunks(mut socket: TcpStream) -> impl Stream<Item = io::Result<Bytes>> + Unpin {
    let mut buffer = vec![0; BUFFER_BYTES];
    stream::poll_fn(move |context| {
        let mut room = ReadBuf::new(&mut buffer);
        ready!(Pin::new(&mut socket).poll_read(context, &mut room))?;
        let chunk = room.filled();
        Poll::Ready((!chunk.is_empty()).then(|| Ok(Bytes::copy_from_slice(chunk))))
    })
}

/// The CPU time of this thread, from Linux.
fn cpu_time() -> io::Result<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split(' ').next().and_then(|figure| figure.parse().ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no CPU time in schedstat"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn every_contender_finds_every_record() {
        for contender in Contender::ALL {
            let figures = round(contender, 40, Duration::from_micros(500)).expect("sockets");
            assert!(figures.median > 0.0 && figures.median <= figures.percentile_99, "{contender:?}");
        }
    }

    #[test]
    fn records_have_the_same_events() {
        let schedule = Schedule::new(&openai_chat_sse(&text(), TOKEN_BYTES).into(), 1, Duration::ZERO);
        let ends: Vec<_> =
            schedule.ends.iter().enumerate().filter_map(|(at, end)| Some((at, (*end)?))).collect();
        // The first event has the role.
        let expected: Vec<_> = (0..RECORDS).map(|record| ((record + 1) * RECORD_EVENTS, record)).collect();
        assert_eq!(ends, expected);
    }
}
