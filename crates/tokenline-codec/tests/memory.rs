//! Memory stays within the limits for any input.

#[path = "common/allocator.rs"]
mod allocator;

use allocator::measure;
use futures_util::{Stream, StreamExt};
use tokenline_codec::{JsonlStreamParser, StreamError};
use tokenline_core::json::Raw;
use tokenline_core::{Event, Limits, Mode, Options};

#[global_allocator]
static COUNTING: allocator::Counting = allocator::Counting;

const MIB: u64 = 1024 * 1024;

type Events = Vec<String>;

fn run(
    options: Options,
    source: impl Stream<Item = Result<&'static [u8], ()>>,
) -> (allocator::Usage, Events) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let parser = JsonlStreamParser::<_, Raw>::new(source).with_options(options);
    measure(|| {
        runtime.block_on(parser.map(|event: Result<_, StreamError<()>>| summary(&event.unwrap())).collect())
    })
}

fn summary(event: &Event<Raw>) -> String {
    match event {
        Event::Record(record) => record.value.to_string(),
        Event::Rejected(diagnostic) => format!("{}: {}", diagnostic.code, diagnostic.message),
        other => panic!("{other:?}"),
    }
}

/// `{"a":1}`, a line of 64 MiB, `{"b":2}`.
fn with_a_long_line(start: &'static str) -> impl Iterator<Item = &'static [u8]> {
    static FILLER: [u8; 16 * 1024] = [b'x'; 16 * 1024];
    let filler = std::iter::repeat_n(&FILLER[..], 4096);
    [b"{\"a\":1}\n", start.as_bytes()].into_iter().chain(filler).chain([&b"\"}\n{\"b\":2}\n"[..]])
}

#[test]
fn a_long_line_is_one_diagnostic_within_the_limit() {
    for (line_bytes, most) in [(8 * MIB, 33 * MIB), (64 * 1024, MIB)] {
        let limits = Limits { line_bytes: line_bytes as usize, ..Limits::default() };
        for options in [Options::strict(), Options::lenient()] {
            let options = options.limits(limits);
            for start in ["{\"long\":\"", "[{\"long\":\"", "\"", "{\"bad\":x\""] {
                let source = with_a_long_line(start);
                let length = 64 * MIB + start.len() as u64 + 2;
                let (usage, seen) = run(options.clone(), futures_util::stream::iter(source.map(Ok)));
                let is_array = options.mode == Mode::Lenient && start.starts_with('[');
                assert_eq!(seen.len(), 3 + usize::from(is_array), "{start}: {seen:?}");
                assert_eq!((&*seen[0], &*seen[2]), ("{\"a\":1}", "{\"b\":2}"));
                let expected =
                    format!("line_too_long: the line is longer than {line_bytes} bytes ({length} bytes)");
                // An array may have any length, its elements may not.
                let is_element = is_array && seen[1].starts_with("record_too_large");
                let is_malformed = seen[1].starts_with("malformed_json");
                assert!(seen[1] == expected || is_element || is_malformed, "{start}: {}", seen[1]);
                assert!(usage.peak < most, "{start}: {usage:?}");
            }
        }
    }
}

#[test]
fn a_long_line_in_one_chunk_is_no_different() {
    let chunk: &'static [u8] = with_a_long_line("{\"long\":\"").collect::<Vec<_>>().concat().leak();
    let (usage, seen) = run(Options::lenient(), futures_util::stream::iter([Ok(chunk)]));
    assert_eq!(seen.len(), 3);
    assert!(usage.peak < 33 * MIB, "{usage:?}");
}

#[test]
fn a_hundred_thousand_brackets_are_one_diagnostic() {
    for opener in ["[", "{\"a\":"] {
        let text: &'static str = format!("{{\"a\":1}}\n{}\n{{\"b\":2}}\n", opener.repeat(100_000)).leak();
        for size in [5, 4096] {
            let chunks = text.as_bytes().chunks(size).map(Ok);
            let (usage, seen) = run(Options::lenient(), futures_util::stream::iter(chunks));
            assert_eq!(seen.len(), 3, "{seen:?}");
            assert!(seen[1].starts_with("too_deep"), "{}", seen[1]);
            assert!(usage.peak < MIB / 4, "{usage:?}");
        }
    }
}

#[test]
fn a_stream_keeps_nothing_of_what_it_yielded() {
    let line: &'static [u8] = b"{\"a\":[1,2,3,4,5,6,7,8]}\n";
    let source = futures_util::stream::iter(std::iter::repeat_n(Ok::<_, ()>(line), 200_000));
    let mut values = JsonlStreamParser::<_, Raw>::new(source).values().infallible();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (usage, count) = measure(|| {
        runtime.block_on(async {
            let mut count = 0;
            while values.next().await.is_some() {
                count += 1;
            }
            count
        })
    });
    assert_eq!(count, 200_000);
    assert!(usage.peak < 16 * 1024, "{usage:?}");
}

#[test]
fn for_a_repair_hook_a_line_is_kept_up_to_the_limit() {
    let limits = Limits { line_bytes: MIB as usize, ..Limits::default() };
    for start in ["{\"long\":\"", "[{\"long\":\"", "\"", "{\"bad\":x\""] {
        let source = futures_util::stream::iter(with_a_long_line(start).map(Ok::<_, ()>));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut values = JsonlStreamParser::<_, Raw>::new(source)
            .with_options(Options::lenient().limits(limits))
            .with_repair(|rejected| panic!("asked about {} bytes", rejected.text.len()))
            .values();
        let (usage, count) = measure(|| runtime.block_on(values.by_ref().count()));
        assert_eq!(
            (count, values.report().rejected()),
            (2, 1 + u64::from(start.starts_with('['))),
            "{start}"
        );
        assert!(usage.peak < 6 * MIB, "{start}: {usage:?}");
        assert!(usage.kept < MIB as i64 / 4, "{start}: {usage:?}");
    }
}
