//! No allocation per record after warm-up.

#[path = "common/allocator.rs"]
mod allocator;

use allocator::measure;
use bytes::Bytes;
use futures_util::FutureExt;
use serde::Deserialize;
use tokenline_codec::JsonlStreamParser;
use tokenline_core::{CompletedBy, Event, JsonlParser, Options, RecordDecoder};

#[global_allocator]
static COUNTING: allocator::Counting = allocator::Counting;

const LINES: usize = 2_000;

/// Lines of several lengths, a longest one among the first: nested, escaped, not only ASCII.
fn lines() -> Vec<u8> {
    let mut text = String::new();
    for number in 0..LINES {
        let filler = "é\\n ".repeat((LINES - number) % 50);
        text.push_str(&format!(
            "{{\"id\":{number},\"weight\":0.{number},\"text\":\"{filler}\",\"tags\":[\"a\",{{\"b\":null}}]}}\n"
        ));
    }
    text.into_bytes()
}

#[test]
fn the_record_decoder_does_not_allocate() {
    let text = lines();
    for options in [Options::strict(), Options::lenient()] {
        for size in [1, 4, 61, 4096, 65_536] {
            let mut decoder = RecordDecoder::new(options.clone());
            let mut records = 0;
            let mut run = || {
                for chunk in text.chunks(size) {
                    let mut rest = chunk;
                    loop {
                        let decoded = decoder.decode(rest);
                        rest = &rest[decoded.consumed..];
                        match decoded.event {
                            Some(Event::Record(record)) => {
                                assert_eq!(record.completion, CompletedBy::Newline);
                                records += record.value.get("tags").map_or(0, |_| 1);
                            }
                            Some(other) => panic!("{other:?}"),
                            None => break,
                        }
                    }
                }
            };
            run();
            let (usage, ()) = measure(run);
            assert_eq!(usage.allocations, 0, "in chunks of {size}: {usage:?}");
            assert_eq!(records, 2 * LINES);
        }
    }
}

#[test]
fn the_push_parser_does_not_allocate() {
    let text = Bytes::from(lines());
    for size in [1, 4, 61, 4096, 65_536] {
        let chunks: Vec<_> = (0..text.len()).step_by(size).map(|at| at..text.len().min(at + size)).collect();
        let mut parser = JsonlParser::new(Options::lenient());
        let mut records = 0;
        let mut run = || {
            for chunk in &chunks {
                parser.push(text.slice(chunk.clone()));
                while let Some(event) = parser.next_event() {
                    records += usize::from(event.into_record().is_some());
                }
            }
        };
        run();
        let (usage, ()) = measure(run);
        assert_eq!(usage.allocations, 0, "in chunks of {size}: {usage:?}");
        assert_eq!(records, 2 * LINES);
    }
}

#[test]
fn a_stream_of_plain_values_does_not_allocate() {
    #[derive(Deserialize)]
    struct Plain {
        id: usize,
        weight: f64,
    }

    let text = lines();
    for (size, has_hooks) in [4, 61, 4096, 65_536].into_iter().flat_map(|size| [(size, false), (size, true)])
    {
        let twice = text.chunks(size).chain(text.chunks(size)).map(Ok::<_, std::io::Error>);
        let parser = JsonlStreamParser::<_, Plain>::new(futures_util::stream::iter(twice));
        let mut values = if has_hooks {
            let parser = parser.with_max_records(u64::MAX).with_error_budget(0);
            parser.with_repair(|_| panic!("nothing is rejected")).values().infallible()
        } else {
            parser.values().infallible()
        };
        let mut run = || {
            for number in 0..LINES {
                let value = values.next().now_or_never().expect("always ready").expect("another");
                assert_eq!((value.id, value.weight < 1.0), (number, true));
            }
        };
        run();
        let (usage, ()) = measure(run);
        assert_eq!(usage.allocations, 0, "in chunks of {size}: {usage:?}");
    }
}
