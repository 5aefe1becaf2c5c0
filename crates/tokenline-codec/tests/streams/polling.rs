//! When the source is polled, and when other tasks run.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{self, FusedStream};
use futures_util::{FutureExt, Stream, StreamExt};
use tokenline_codec::{JsonlCodec, JsonlStreamParser};
use tokenline_core::json::Raw;
use tokenline_core::{Limits, Options};
use tokio_test::stream_mock::StreamMockBuilder;
use tokio_test::{assert_pending, assert_ready, task};

type Chunk = Result<&'static [u8], ()>;

/// Counts how often it is polled; panics if it is polled after its end.
struct Counting<S> {
    inner: S,
    polled: Arc<AtomicUsize>,
    ended: bool,
}

impl<S: Stream<Item = Chunk> + Unpin> Stream for Counting<S> {
    type Item = Chunk;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        assert!(!self.ended, "polled after its end");
        let polled = self.polled.fetch_add(1, Ordering::Relaxed);
        assert!(polled < 1_000_000, "whoever polls this never stops");
        let polled = self.inner.poll_next_unpin(cx);
        self.ended = matches!(polled, Poll::Ready(None | Some(Err(()))));
        polled
    }
}

fn counting<S: Stream<Item = Chunk> + Unpin>(inner: S) -> (Counting<S>, Arc<AtomicUsize>) {
    let polled = Arc::new(AtomicUsize::new(0));
    (Counting { inner, polled: polled.clone(), ended: false }, polled)
}

fn repeat(chunk: &'static [u8]) -> impl Stream<Item = Chunk> + Unpin {
    stream::repeat(Ok(chunk))
}

#[test]
fn the_source_is_polled_only_when_no_event_is_ready() {
    // One record per chunk, confirmed in the same chunk or in the next one.
    for (chunk, ahead) in [(&b"{\"a\":1}\n"[..], 0), (b"\n{\"a\":1}", 1)] {
        let (source, polled) = counting(repeat(chunk));
        let mut values = JsonlStreamParser::<_, Raw>::new(source).values().infallible();
        assert_eq!(polled.load(Ordering::Relaxed), 0, "nothing is read before the first poll");
        for yielded in 1..=100 {
            assert!(values.next().now_or_never().unwrap().is_some());
            assert_eq!(polled.load(Ordering::Relaxed), yielded + ahead);
        }
    }
    // A hundred records in a chunk.
    let chunk: &'static [u8] = b"{\"a\":1}\n".repeat(100).leak();
    let (source, polled) = counting(repeat(chunk));
    let mut events = JsonlStreamParser::<_, Raw>::new(source);
    for yielded in 1..=1000_usize {
        assert!(events.next().now_or_never().unwrap().is_some());
        assert_eq!(polled.load(Ordering::Relaxed), yielded.div_ceil(100));
    }
}

#[test]
fn events_of_a_split_line_come_before_the_next_poll() {
    let chunks = ["{\"a\":1", "},{\"a\":2} {\"a\":3} {\"a\":NaN}\n"].map(|chunk| Ok(chunk.as_bytes()));
    let (source, polled) = counting(stream::iter(chunks));
    let mut events = JsonlStreamParser::<_, Raw>::new(source);
    for _ in 0..4 {
        assert!(events.next().now_or_never().unwrap().is_some());
        assert_eq!(polled.load(Ordering::Relaxed), 2);
    }
    assert!(events.next().now_or_never().unwrap().is_none());
}

#[test]
fn the_source_is_not_polled_after_its_end() {
    for end in [vec![], vec![Err(()), Ok(&b"{}\n"[..])]] {
        let chunks = [Ok(&b"{\"a\":1}\n{\"a\":2}\n{\"a\""[..])].into_iter().chain(end);
        let (source, _) = counting(stream::iter(chunks));
        let mut events = JsonlStreamParser::<_, Raw>::new(source);
        for _ in 0..10 {
            _ = events.next().now_or_never().unwrap();
        }
        assert!(events.is_terminated());
    }
}

type Source = Pin<Box<dyn Stream<Item = Chunk>>>;

/// Sources without a single record that are always ready.
fn barren() -> Vec<(&'static str, Source)> {
    let blank: &'static [u8] = b"\n \r\n".repeat(2 << 20).leak();
    let prose: &'static [u8] = b"x\n".repeat(1 << 20).leak();
    vec![
        ("prose", Box::pin(repeat(b"Let me think about this.\n"))),
        ("prose in one chunk", Box::pin(repeat(prose))),
        ("rejects", Box::pin(repeat(b"[1]\n"))),
        ("blank lines", Box::pin(repeat(b"\n"))),
        ("blank lines in one chunk", Box::pin(repeat(blank))),
        ("nothing", Box::pin(repeat(b""))),
        ("one line", Box::pin(repeat(b"xxxxxxxxxxxxxxxx"))),
        ("one string", Box::pin(stream::iter([Ok(&b"{\"a\":\""[..])]).chain(repeat(b"xxxxxxxxxxxxxxxx")))),
    ]
}

#[test]
fn a_poll_without_an_item_ends_and_wakes() {
    for (name, source) in barren() {
        let (source, polled) = counting(source);
        let mut values = task::spawn(JsonlStreamParser::<_, Raw>::new(source).values());
        for _ in 0..20 {
            let before = polled.load(Ordering::Relaxed);
            assert_pending!(values.poll_next(), "{name}");
            assert!(values.is_woken(), "{name}: it must be polled again");
            let chunks = polled.load(Ordering::Relaxed) - before;
            assert!(chunks <= 512, "{name}: {chunks} chunks in one poll");
        }
        assert!(polled.load(Ordering::Relaxed) > 0);
    }
}

#[test]
fn a_big_chunk_takes_many_polls() {
    let chunk: &'static [u8] = b"\n \r\n".repeat(2 << 20).leak();
    let mut values = task::spawn(JsonlStreamParser::<_, Raw>::new(stream::iter([Chunk::Ok(chunk)])).values());
    let mut polls = 0;
    while values.poll_next().is_pending() {
        assert!(values.is_woken());
        polls += 1;
    }
    assert!(polls >= 16, "{polls} polls for 8 MiB");
}

#[tokio::test]
async fn a_source_without_records_does_not_starve_others() {
    for (name, source) in barren() {
        let (source, _) = counting(source);
        let options = Options::lenient().limits(Limits { line_bytes: 1 << 20, ..Limits::default() });
        let mut values = JsonlStreamParser::<_, Raw>::new(source).with_options(options).values().strict();
        let mut values = Box::pin(async move { while values.next().await.is_some() {} }.fuse());
        let other = tokio::spawn(async {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        });
        tokio::select! {
            biased;
            // StopOnReject: this one ends at the first reject.
            () = &mut values => assert!(["rejects", "one string"].contains(&name), "{name}"),
            done = other => done.unwrap(),
        }
    }
}

#[test]
fn a_pending_source_is_not_woken_needlessly() {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Chunk>();
    let mut receiver = receiver;
    let source = stream::poll_fn(move |cx| receiver.poll_recv(cx));
    let mut values = task::spawn(JsonlStreamParser::<_, Raw>::new(source).values());
    assert_pending!(values.poll_next());
    assert!(!values.is_woken());
    sender.send(Ok(b"{\"a\":1}")).unwrap();
    assert!(values.is_woken());
    assert_pending!(values.poll_next(), "it is not sealed");
    assert!(!values.is_woken());
    sender.send(Ok(b"\n")).unwrap();
    assert_eq!(assert_ready!(values.poll_next()).unwrap().unwrap(), "{\"a\":1}");
    drop(sender);
    assert!(assert_ready!(values.poll_next()).is_none());
}

const TEXT: &str = "Sure:\n{\"a\":1}\n{\"a\":2},{\"a\":3}\n[1]\n{\"a\":\"é\"}\n{\"a\":4}";

#[tokio::test]
async fn dropping_next_loses_nothing() {
    // The source says `Pending` before each byte.
    let source = stream::iter(TEXT.as_bytes().chunks(1).map(Ok::<_, ()>)).then(|chunk| async move {
        tokio::task::yield_now().await;
        chunk
    });
    let mut records = Box::pin(JsonlStreamParser::<_, Raw>::new(source).records());
    let (mut seen, mut dropped) = (Vec::new(), 0);
    loop {
        tokio::select! {
            biased;
            record = records.next() => match record {
                Some(record) => seen.push(record.unwrap().value.to_string()),
                None => break,
            },
            // The future of `next` is dropped each time.
            () = std::future::ready(()) => {
                dropped += 1;
                tokio::task::yield_now().await;
            }
        }
    }
    assert_eq!(seen, ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}", "{\"a\":\"é\"}", "{\"a\":4}"]);
    assert!(dropped >= TEXT.len());
    assert_eq!((records.report().rejected(), records.report().notes()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_item_comes_as_soon_as_it_is_confirmed() {
    let tick = Duration::from_secs(1);
    let mock = StreamMockBuilder::new()
        .next(Ok::<_, ()>("{\"a\":"))
        .wait(tick)
        .next(Ok("1}\n{\"a\":2}"))
        .wait(tick)
        .next(Ok(" \n"))
        .wait(tick)
        .next(Err(()))
        .build();
    // The mock panics when it is dropped with something left.
    let mut values = JsonlStreamParser::<_, Raw>::new(mock).values().infallible();
    let start = tokio::time::Instant::now();
    let mut seen = Vec::new();
    while let Some(value) = values.next().await {
        seen.push((value.to_string(), start.elapsed().as_secs()));
    }
    assert_eq!(seen, [("{\"a\":1}".to_owned(), 1), ("{\"a\":2}".to_owned(), 2)]);
    assert!(values.error().is_some());
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_codec_waits_as_the_stream_does() {
    let reader = tokio_test::io::Builder::new()
        .read(b"{\"a\":")
        .wait(Duration::from_secs(1))
        .read(b"1}\n{\"a\":2}\n{\"a\":3")
        .wait(Duration::from_secs(1))
        .read(b"}")
        .build();
    let mut events = tokio_util::codec::FramedRead::new(reader, JsonlCodec::<Raw>::new());
    let start = tokio::time::Instant::now();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push((event.unwrap().into_record().unwrap().value.to_string(), start.elapsed().as_secs()));
    }
    let expected = [("{\"a\":1}", 1), ("{\"a\":2}", 1), ("{\"a\":3}", 2)].map(|(a, b)| (a.to_owned(), b));
    assert_eq!(seen, expected);
}
