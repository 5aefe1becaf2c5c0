//! The events of lines, mapped on any number of threads, compared with those of one decoder.

use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::Slow;
use tokenline_conversations::{LineMapper, LineWorker};
use tokenline_core::{Code, Event, LentEvent, Limits, Options, RecordDecoder};

/// Writes the place and the content of each event.
struct Places;

impl LineWorker for Places {
    type Result = (u64, Option<Code>);

    fn line(&mut self, event: LentEvent<'_>, output: &mut Vec<u8>) -> Self::Result {
        let (line, code) = match &event {
            Event::Record(record) => (record.line, None),
            Event::Rejected(diagnostic) => (diagnostic.line, Some(diagnostic.code)),
            other => panic!("unexpected event: {other:?}"),
        };
        output.extend_from_slice(place(&event).as_bytes());
        (line, code)
    }
}

fn place(event: &LentEvent<'_>) -> String {
    match event {
        Event::Record(record) => {
            let place = record.map(|_| ());
            format!("{place:?} {}\n", record.value.raw())
        }
        other => format!("{other:?}\n"),
    }
}

fn decoded(input: &[u8], limits: Limits) -> String {
    let mut decoder = RecordDecoder::new(Options::strict().limits(limits));
    let (mut seen, mut rest) = (String::new(), input);
    loop {
        let decoded = decoder.decode(rest);
        rest = &rest[decoded.consumed..];
        let Some(event) = decoded.event else { break };
        seen += &place(&event);
    }
    while let Some(event) = decoder.finish() {
        seen += &place(&event);
    }
    seen
}

fn mapped(input: &[u8], piece: usize, jobs: usize, limits: Limits) -> String {
    let mut seen = String::new();
    let mapper = LineMapper::new(|| Places).jobs(jobs).limits(limits);
    let read = mapper.read(Slow(input, piece), |lines| {
        for (_, output) in lines {
            seen += std::str::from_utf8(output).expect("it is text");
        }
        Ok(ControlFlow::Continue(()))
    });
    read.expect("it is read");
    seen
}

fn lines(count: usize) -> Vec<u8> {
    let kinds: [&[u8]; 6] =
        [b"{\"a\"", b"[1]", b"{\"b\":{\"c\":[]}} ", b"\xff\xfe", b"", b" {\"a\":1,\"a\":2}"];
    let mut input = b"\xef\xbb\xbf".to_vec();
    for number in 0..count {
        let text = "é".repeat(number * 37 % 1500);
        input.extend_from_slice(format!("{{\"id\":{number},\"text\":\"{text}\"}}\r\n").as_bytes());
        input.extend_from_slice(kinds[number % kinds.len()]);
        input.push(b'\n');
    }
    input.extend_from_slice(b"{\"cut\":");
    input
}

#[test]
fn events_are_those_of_one_decoder() {
    let input = lines(2000);
    let expected = decoded(&input, Limits::default());
    for (jobs, piece) in [(1, usize::MAX), (2, usize::MAX), (4, 1000), (1, 999), (2, 131_071)] {
        assert!(mapped(&input, piece, jobs, Limits::default()) == expected, "{jobs} jobs, {piece} bytes");
    }
    for end in 0..300 {
        let input = &input[..end];
        assert_eq!(mapped(input, 7, 1, Limits::default()), decoded(input, Limits::default()), "{end}");
    }
}

#[test]
fn a_line_above_the_limit_is_rejected_alone() {
    let limits = Limits { line_bytes: 200, ..Limits::default() };
    let mut input = Vec::new();
    for length in [10, 180, 191, 192, 193, 300_000, 10, 250] {
        input.extend_from_slice(format!("{{\"a\":\"{}\"}}\n", "x".repeat(length)).as_bytes());
    }
    let expected = decoded(&input, limits);
    assert_eq!(expected.matches("LineTooLong").count(), 3, "{expected}");
    for (jobs, piece) in [(1, usize::MAX), (2, usize::MAX), (1, 10), (2, 1000)] {
        assert_eq!(mapped(&input, piece, jobs, limits), expected, "{jobs} jobs, {piece} bytes");
    }
}

#[test]
fn the_sink_stops_or_fails() {
    let input = "{}\n".repeat(100_000);
    for jobs in [1, 3] {
        let mut taken = 0;
        let mapper = LineMapper::new(|| Places).jobs(jobs);
        let read = mapper.read(input.as_bytes(), |lines| {
            for ((line, code), _) in lines {
                taken += 1;
                assert_eq!((line, code), (taken, None));
                if taken == 70_000 {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        read.expect("it stops");
        assert_eq!(taken, 70_000);
        let failed = mapper.read(input.as_bytes(), |_| Err(io::Error::other("the disk is full")));
        assert_eq!(failed.expect_err("it fails").to_string(), "the disk is full");
    }
}

#[test]
fn a_panic_of_a_worker_reaches_the_caller() {
    struct Panics;
    impl LineWorker for Panics {
        type Result = ();

        fn line(&mut self, event: LentEvent<'_>, _: &mut Vec<u8>) {
            assert!(matches!(event, Event::Record(record) if record.line < 60_000), "line 60000");
        }
    }
    let input = "{}\n".repeat(100_000);
    for jobs in [1, 3] {
        let read = || {
            LineMapper::new(|| Panics).jobs(jobs).read(input.as_bytes(), |_| Ok(ControlFlow::Continue(())))
        };
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
    }
}
