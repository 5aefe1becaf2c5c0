//! `JsonlCodec` behaves like the stream: tool calls, repair, quotas, a report.

use crate::common::{INPUTS, chunkings, summary};
use crate::repair::OnlyGood;
use bytes::BytesMut;
use futures_util::stream;
use futures_util::{FutureExt, StreamExt};
use tokenline_codec::{JsonlCodec, JsonlStreamParser, StreamError};
use tokenline_core::json::Raw;
use tokenline_core::{EarlyEnd, Event, Options, Recovery, Rejected, Report, TooManyRejected};
use tokio_util::codec::{Decoder, FramedRead};

/// The frames that `FramedRead` would return for chunks: events, then the error if there is one.
fn frames<C: Decoder>(codec: &mut C, pieces: &[Vec<u8>]) -> (Vec<C::Item>, Option<C::Error>) {
    let mut buffer = BytesMut::new();
    let mut frames = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match codec.decode(&mut buffer) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    loop {
        match codec.decode_eof(&mut buffer) {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => return (frames, None),
            Err(error) => return (frames, Some(error)),
        }
    }
}

fn fix(rejected: &Rejected) -> Option<String> {
    Some(rejected.text.replace("NaN", "null").replace(":tru", ":true}"))
}

#[test]
fn it_yields_what_the_stream_yields() {
    for options in [Options::lenient(), Options::strict()] {
        for (records, rejects) in [(u64::MAX, u64::MAX), (2, 9), (0, 9), (9, 1), (9, 0), (1, 0)] {
            for input in INPUTS {
                let mut first: Option<Report> = None;
                for pieces in chunkings(input) {
                    let source = stream::iter(pieces.clone().into_iter().map(Ok::<_, ()>));
                    let mut parser = JsonlStreamParser::<_, Raw>::new(source)
                        .with_options(options.clone())
                        .with_repair(|rejected| fix(&rejected))
                        .with_max_records(records)
                        .with_error_budget(rejects);
                    let (mut expected, mut failed) = (Vec::new(), None);
                    while let Some(event) = parser.next().now_or_never().unwrap() {
                        match event {
                            Ok(event) => expected.push(event),
                            Err(StreamError::TooManyRejected(error)) => failed = Some(error),
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                    let mut codec = JsonlCodec::<Raw>::new()
                        .with_options(options.clone())
                        .with_repair(|rejected| fix(&rejected))
                        .with_max_records(records)
                        .with_error_budget(rejects);
                    for _ in 0..2 {
                        let (events, error) = frames(&mut codec, &pieces);
                        let error = error.map(|error| error.downcast::<TooManyRejected>().unwrap());
                        assert_eq!((events, error), (expected.clone(), failed.clone()));
                        assert_eq!(codec.report(), parser.report());
                        assert_eq!(codec.report(), first.get_or_insert_with(|| parser.report().clone()));
                        codec.reset();
                        assert_eq!(codec.report().records(), 0);
                    }
                }
            }
        }
    }
}

#[test]
fn it_reads_and_validates_tool_calls() {
    let text = "{\"name\":\"good\",\"parameters\":{\"n\":1}}\n{\"name\":\"bad\",\"parameters\":{}}\n\
        {\"tool_calls\":[{\"name\":\"good\",\"arguments\":{}},{\"name\":\"evil\",\"arguments\":{}}]}\n\
        {\"tool_calls\":[]}\n<tool_call>{\"name\":\"good\",\"arguments\":{}}</tool_call>\n";
    for pieces in chunkings(text.as_bytes()) {
        let mut codec = JsonlCodec::new()
            .with_tools(OnlyGood)
            .with_repair(|rejected| Some(rejected.text.replace("bad", "good")))
            .tool_calls();
        let (events, error) = frames(&mut codec, &pieces);
        let seen: Vec<_> = events
            .iter()
            .map(|event| match event {
                Event::Record(record) => {
                    assert_eq!(record.value.name, "good");
                    format!("{} {}", record.line, record.recovered.contains(Recovery::Repaired))
                }
                Event::Rejected(diagnostic) => format!("{} {}", diagnostic.line, diagnostic.code),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(seen, ["1 false", "2 true", "3 false", "3 unknown_tool", "5 false"]);
        let report = codec.report();
        assert_eq!((report.tool_calls(), report.records(), report.repaired()), (4, 0, 1));
        assert!(error.is_none() && report.is_complete());
    }
}

#[test]
fn after_the_last_record_it_reads_nothing_more() {
    let mut codec = JsonlCodec::<Raw>::new().with_max_records(1);
    let mut buffer = BytesMut::from("Sure:\n{\"a\":1}\n{\"a\":2}\n[1]\n");
    let mut seen = Vec::new();
    while let Some(event) = codec.decode(&mut buffer).unwrap() {
        seen.push(summary(&event));
    }
    assert_eq!(seen, ["(prose)", "newline {\"a\":1}"]);
    for _ in 0..2 {
        // Further bytes are dropped, so that the buffer of a `FramedRead` does not grow.
        assert!(buffer.is_empty());
        buffer.extend_from_slice(b"{\"a\":3}\n");
        assert_eq!(codec.decode_eof(&mut buffer).unwrap(), None);
    }
    let report = codec.report();
    assert_eq!((report.records(), report.rejected(), report.is_complete()), (1, 0, false));
    assert_eq!(report.ended_by(), Some(EarlyEnd::MaxRecords));
    codec.reset();
    buffer.extend_from_slice(b"{\"a\":4}\n");
    assert!(codec.decode(&mut buffer).unwrap().is_some());
}

#[tokio::test]
async fn a_framed_reader_ends_with_the_error_of_one_reject_too_many() {
    let text = "{\"a\":1}\n[1]\n[2]\n{\"a\":2}\n";
    for capacity in [1, 8, 1024] {
        let codec = JsonlCodec::<Raw>::new().with_error_budget(1);
        let mut events = FramedRead::with_capacity(text.as_bytes(), codec, capacity);
        for expected in ["newline {\"a\":1}", "not_an_object", "not_an_object"] {
            assert_eq!(summary(&events.next().await.unwrap().unwrap()), expected);
        }
        let error = events.next().await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the stream was ended: more than 1 rejected");
        assert!(events.next().await.is_none());
        // Polled again it continues, and yields nothing.
        assert!(events.next().await.is_none());
        assert_eq!(events.decoder().report().ended_by(), Some(EarlyEnd::ErrorBudget));
    }
}
