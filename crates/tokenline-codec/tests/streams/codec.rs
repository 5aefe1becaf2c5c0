//! `JsonlCodec`: the lines of `LinesCodec`, nothing lost at the end, and its encoder.

use std::collections::BTreeMap;
use std::io;

use crate::common::{INPUTS, chunkings, expected, summary};
use bytes::BytesMut;
use futures_util::{SinkExt, StreamExt, TryStreamExt};
use proptest::prelude::*;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokenline_codec::JsonlCodec;
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Code, Event, Limits, Options, Validate, Violation};
use tokio_util::codec::{Decoder, Encoder, FramedRead, FramedWrite, LinesCodec};

/// The frames of an input that arrives in chunks, as `FramedRead` would request them.
fn frames<C: Decoder>(mut codec: C, pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<C::Item>
where
    C::Error: std::fmt::Debug,
{
    let mut buffer = BytesMut::new();
    let mut frames = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(&piece);
        while let Some(frame) = codec.decode(&mut buffer).unwrap() {
            frames.push(frame);
        }
    }
    while let Some(frame) = codec.decode_eof(&mut buffer).unwrap() {
        frames.push(frame);
    }
    frames
}

#[test]
fn any_split_gives_the_events_of_the_core() {
    for options in [Options::lenient(), Options::strict()] {
        for input in INPUTS {
            let expected = expected(options.clone(), input);
            for pieces in chunkings(input) {
                let codec = JsonlCodec::<Raw>::new().with_options(options.clone());
                assert_eq!(frames(codec, pieces), expected, "{}", String::from_utf8_lossy(input));
            }
        }
    }
}

#[test]
fn owned_records_are_complete() {
    let input = b"{\"a\":1}\n{\"a\":";
    let codec = JsonlCodec::<Raw>::new().with_options(Options::lenient().partials(true));
    let pieces = input.chunks(2).map(<[u8]>::to_vec);
    assert_eq!(frames(codec, pieces), expected(Options::lenient(), input));
}

/// Text whose lines are often records, and often not.
fn text() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "{\"a\":1}",
        "{\"a\":1}\n",
        "{\"b\":\"é\u{2028}\u{85}\"}\r\n",
        "{",
        "}",
        "\"",
        "{}",
        "[1]",
        ",",
        "null",
        "x",
        "🦀",
        "\u{feff}",
        "\u{b}",
        "\u{c}",
        "\\n",
        "{\"c\":\"\\n\"}",
    ];
    prop::collection::vec(prop::sample::select(PARTS), 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_lines_are_those_of_lines_codec(text in text(), size in 1_usize..20) {
        // Only a byte order mark at the start is read differently.
        let text = text.trim_start_matches('\u{feff}');
        let pieces = || text.as_bytes().chunks(size).map(<[u8]>::to_vec);
        let lines = frames(LinesCodec::new(), pieces());
        let codec = JsonlCodec::<Raw>::new().with_options(Options::strict());
        let mut events = frames(codec, pieces()).into_iter();
        for (index, line) in lines.iter().enumerate() {
            let trimmed = line.trim_matches([' ', '\t', '\r']);
            if trimmed.is_empty() {
                continue;
            }
            let event = events.next().expect("an event for each line that is not blank");
            let is_record = serde_json::from_str::<serde_json::Map<_, _>>(trimmed).is_ok();
            match event {
                Event::Record(record) => {
                    prop_assert!(is_record);
                    prop_assert_eq!(record.value.as_str(), trimmed);
                    prop_assert_eq!(record.line, index as u64 + 1);
                    let start = line.len() - line.trim_start_matches([' ', '\t', '\r']).len();
                    prop_assert_eq!(record.column, start as u64 + 1);
                }
                Event::Rejected(diagnostic) => {
                    prop_assert!(!is_record);
                    prop_assert_eq!(diagnostic.line, index as u64 + 1);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert_eq!(events.next(), None);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Definition {
    entity: String,
    weight: f64,
    tags: Vec<Option<String>>,
}

#[tokio::test]
async fn writing_and_reading_round_trip() {
    let definitions = [
        Definition { entity: "D\nN\r\nA".to_owned(), weight: 0.1 + 0.2, tags: vec![None] },
        Definition { entity: "\u{2028}🦀\u{0}\"\\".to_owned(), weight: -0.0, tags: vec![] },
        Definition { entity: "x".repeat(20_000), weight: 1e300, tags: vec![Some(String::new()); 3] },
    ];
    let mut writer = FramedWrite::new(Vec::new(), JsonlCodec::<()>::new());
    for definition in &definitions {
        writer.send(definition).await.unwrap();
    }
    let written = writer.into_inner();
    assert_eq!(written.iter().filter(|byte| **byte == b'\n').count(), definitions.len());
    for capacity in [1, 13, 8192] {
        let codec = JsonlCodec::<Definition>::new().with_options(Options::strict());
        let events = FramedRead::with_capacity(&written[..], codec, capacity);
        let read: Vec<_> = events.map(|event| event.unwrap().into_record().unwrap().value).collect().await;
        assert_eq!(read, definitions);
    }
}

#[test]
fn a_failed_write_leaves_the_buffer_unchanged() {
    struct Unwilling;
    impl Serialize for Unwilling {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(S::Error::custom("unwilling"))
        }
    }

    let mut codec = JsonlCodec::<Raw>::new();
    let mut buffer = BytesMut::from("{\"before\":1}\n");
    let half_written = (vec![1, 2, 3], Unwilling);
    let error = codec.encode(half_written, &mut buffer).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::InvalidData, "unwilling"));
    let error = codec.encode(BTreeMap::from([(vec![1], 1)]), &mut buffer).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(buffer, "{\"before\":1}\n");
}

#[test]
fn pretty_printed_values_are_written_on_one_line() {
    let mut codec = JsonlCodec::<Raw>::new();
    let mut buffer = BytesMut::new();
    let pretty = "{\n  \"a\": \"x\\ny\"\n}";
    codec.encode(Raw::new(pretty).unwrap(), &mut buffer).unwrap();
    codec.encode(serde_json::from_str::<&RawValue>(pretty).unwrap(), &mut buffer).unwrap();
    assert_eq!(buffer, "{\"a\":\"x\\ny\"}\n{   \"a\": \"x\\ny\" }\n");
}

#[tokio::test]
async fn an_error_of_the_reader_is_the_only_error() {
    let reader = tokio_test::io::Builder::new()
        .read(b"{\"a\":1}\n[1]\n{\"a\"")
        .read_error(io::ErrorKind::TimedOut.into())
        .read(b":2}\n")
        .build();
    let mut events = FramedRead::new(reader, JsonlCodec::<Raw>::new());
    let mut seen = Vec::new();
    // `FramedRead` returns `None` after an error, and continues if it is polled again.
    for _ in 0..6 {
        seen.push(events.next().await.map(|event| event.map_err(|error| error.kind()).map(|e| summary(&e))));
    }
    let expected = [
        Some(Ok("newline {\"a\":1}".to_owned())),
        Some(Ok("not_an_object".to_owned())),
        Some(Err(io::ErrorKind::TimedOut)),
        None,
        Some(Ok("newline {\"a\":2}".to_owned())),
        None,
    ];
    assert_eq!(seen, expected);
}

#[test]
fn after_the_end_it_stays_ended_until_reset() {
    let mut codec = JsonlCodec::<Raw>::new();
    let mut buffer = BytesMut::from("{\"a\":1} {\"a\":2}\n[] {\"cut");
    let mut seen = Vec::new();
    while let Some(event) = codec.decode_eof(&mut buffer).unwrap() {
        seen.push(summary(&event));
    }
    assert_eq!(seen, ["next_item {\"a\":1}", "newline {\"a\":2}", "truncated"]);
    for _ in 0..3 {
        buffer.extend_from_slice(b"{\"a\":3}\n\xE2\x82");
        assert_eq!(codec.decode(&mut buffer).unwrap(), None);
        assert_eq!(codec.decode_eof(&mut buffer).unwrap(), None);
        assert!(buffer.is_empty());
    }
    codec.reset();
    buffer.extend_from_slice(b"{\"a\":4}");
    let event = codec.decode_eof(&mut buffer).unwrap().unwrap();
    assert_eq!(event.into_record().map(|record| (record.line, record.column)), Some((1, 1)));
}

#[tokio::test]
async fn records_are_checked_by_the_validator_and_the_type() {
    struct HasEntity;
    impl Validate for HasEntity {
        fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
            match value.get("entity") {
                Some(_) => Ok(()),
                None => Err(Box::new(Violation::new(Code::SchemaViolation, 0, "`entity` is required"))),
            }
        }
    }
    #[derive(Debug, Deserialize)]
    struct Entity {
        #[serde(rename = "entity")]
        _entity: u8,
    }

    let text = "{\"entity\":1}\n{}\n{\"entity\":\"secret\"}\n{\"entity\":70000}\n{\"entity\":2}";
    let codec = JsonlCodec::<Entity>::new().with_validator(HasEntity);
    let events: Vec<_> = FramedRead::new(text.as_bytes(), codec).try_collect().await.unwrap();
    let rejects: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Rejected(diagnostic) => Some(diagnostic.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(events.len(), 5);
    assert_eq!(
        rejects,
        [
            "2:1: schema_violation: `entity` is required",
            "3:11: schema_violation: invalid type: a string, expected u8 (at /entity)",
            "4:11: schema_violation: invalid value: an integer, expected u8 (at /entity)",
        ]
    );
}

#[test]
fn the_limit_does_not_count_the_line_ending() {
    let options = Options::strict().limits(Limits { line_bytes: 7, ..Limits::default() });
    for input in ["{\"a\":1}\r\n{\"a\":10}\r\n{\"a\":2}", "{\"a\":1}\n{\"a\":10}\n{\"a\":2}\r"] {
        for pieces in chunkings(input.as_bytes()) {
            let codec = JsonlCodec::<Raw>::new().with_options(options.clone());
            let seen: Vec<_> = frames(codec, pieces).iter().map(summary).collect();
            assert_eq!(seen, ["newline {\"a\":1}", "line_too_long", "end_of_input {\"a\":2}"]);
        }
    }
}
