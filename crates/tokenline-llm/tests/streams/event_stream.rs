//! The framing of Amazon event streams, for any chunks and any damage.

use crate::common::event_stream::{counted, crc32, event, exception, header, message, strings};
use crate::common::random;
use tokenline_core::{Limits, Origin, Span};
use tokenline_llm::providers::EventStreamDecoder;

/// The decoded messages, and the position of a truncated one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    messages: Vec<Message>,
    open: Option<(u64, Span)>,
}

/// Number, bytes, and name and data, or the error.
type Message = (u64, Span, Result<(String, Vec<u8>), String>);

/// A limit that all but one of the messages below satisfy.
const LIMIT: usize = 300;

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let limits = Limits { sse_event_bytes: LIMIT, ..Limits::default() };
    let mut decoder = EventStreamDecoder::new(&limits);
    let mut messages = Vec::new();
    let mut offset = 0;
    for piece in pieces {
        let mut rest = piece;
        while !rest.is_empty() {
            let (consumed, message) = decoder.decode(rest);
            assert!(consumed > 0 || message.is_some());
            if let Some(message) = message {
                let event = message.event.map(|event| (event.name.to_owned(), event.data.into_owned()));
                let event = event.map_err(|diagnostic| {
                    assert_eq!((diagnostic.origin, diagnostic.line), (Origin::Wire, message.number));
                    assert_eq!(diagnostic.span, message.span);
                    format!("{}: {}", diagnostic.code, diagnostic.message)
                });
                messages.push((message.number, message.span, event));
            } else {
                assert_eq!(consumed, rest.len());
            }
            offset += consumed as u64;
            assert_eq!(decoder.offset(), offset);
            rest = &rest[consumed..];
        }
    }
    let open = decoder.finish();
    assert_eq!(decoder.finish(), None);
    assert_eq!(decoder.decode(&event("late", "{}")).1.map(|message| message.number), None);
    Seen { messages, open }
}

/// Decodes at once, in chunks of several sizes, and in two at every cut; all results must agree.
fn at_every_cut(input: &[u8]) -> Seen {
    let whole = decode([input]);
    for size in [1, 2, 3, 5, 11, 12, 13, 16, 61, 259] {
        assert_eq!(decode(input.chunks(size)), whole, "in pieces of {size}");
    }
    assert_eq!(decode(input.chunks(1).flat_map(|piece| [&b""[..], piece])), whole);
    for at in 0..=input.len() {
        let (left, right) = input.split_at(at);
        assert_eq!(decode([left, right]), whole, "cut at {at}");
    }
    whole
}

/// Names and data; `!` and the error for a dropped message.
fn events(seen: &Seen) -> Vec<(&str, &str)> {
    fn event((.., event): &Message) -> (&str, &str) {
        match event {
            Ok((name, data)) => (name, std::str::from_utf8(data).expect("UTF-8")),
            Err(reason) => ("!", reason),
        }
    }
    seen.messages.iter().map(event).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
    digits.chunks(2).map(byte).collect()
}

/// The test vectors of Amazon's own libraries.
#[test]
fn published_vectors() {
    for (vector, expected) in [
        ("00000010 00000000 05c248eb 7d98c8ff", ""),
        ("0000001d 00000000 fd528c5a 7b27666f6f273a27626172277d c3653936", "{'foo':'bar'}"),
        (
            "0000003d 00000020 07fd8396 0c636f6e74656e742d74797065 07 0010 6170706c69636174696f6e2f6a736f6e \
             7b27666f6f273a27626172277d 8d9c08b1",
            "{'foo':'bar'}",
        ),
    ] {
        assert_eq!(events(&at_every_cut(&hex(vector))), [("message", expected)]);
    }
}

/// Headers of every type, including one that only resembles a relevant one.
fn every_type() -> Vec<u8> {
    [
        header("true", 0, &[]),
        header("false", 1, &[]),
        header("byte", 2, &[0xCF]),
        header("short", 3, &[1, 2]),
        header("int", 4, &[0, 0, 0xA0, 0x0C]),
        header("long", 5, &[1; 8]),
        header(":event-type", 6, &counted(b"bytes")),
        header("time", 8, &[0, 0, 0, 0, 0, 0x84, 0x5F, 0xED]),
        header("uuid", 9, &[7; 16]),
        header("", 0, &[]),
        strings(&[("bytes", ""), (":event-type", "every"), (":message-type", "event")]),
    ]
    .concat()
}

/// A message with a wrong last byte.
fn corrupt() -> Vec<u8> {
    let mut corrupt = event("corrupt", r#"{"a":1}"#);
    *corrupt.last_mut().expect("a byte") ^= 1;
    corrupt
}

#[test]
fn an_invalid_message_affects_only_itself() {
    let unknown_type = message(&[header("a", 10, &[]), strings(&[(":event-type", "x")])].concat(), b"{}");
    let cut_header = message(&strings(&[(":event-type", "cut")])[..14], b"{}");
    let not_utf8 = message(&header(":event-type", 7, &counted(b"\xFF")), b"{}");
    let large = event("large", &"x".repeat(LIMIT));
    let stream = [
        event("first", r#"{"a":1}"#),
        message(&every_type(), b"{}"),
        corrupt(),
        message(&[], b""),
        unknown_type,
        large.clone(),
        cut_header,
        event("empty", ""),
        not_utf8,
        event("last", r#"{"b":"\u00e4"}"#),
    ];
    let seen = at_every_cut(&stream.concat());
    let large = format!(
        "record_too_large: message 6 of {} bytes exceeds the limit of 300 bytes and was dropped",
        large.len()
    );
    let lost = "its part of the response is missing";
    assert_eq!(
        events(&seen),
        [
            ("first", r#"{"a":1}"#),
            ("every", "{}"),
            ("!", &format!("malformed_json: message 3 is corrupt (wrong checksum); {lost}")),
            ("message", ""),
            ("!", &format!("malformed_json: message 5 has a header of an unknown type; {lost}")),
            ("!", &large),
            ("!", &format!("malformed_json: message 7 has headers that end inside a header; {lost}")),
            ("empty", ""),
            ("!", &format!("malformed_json: message 9 has a header that is not UTF-8; {lost}")),
            ("last", r#"{"b":"\u00e4"}"#),
        ]
    );
    assert_eq!(seen.open, None);
    let mut end = 0;
    for (place, (message, (number, span, _))) in stream.iter().zip(&seen.messages).enumerate() {
        assert_eq!((*number, *span), (place as u64 + 1, Span::new(end, end + message.len() as u64)));
        end = span.end;
    }
}

#[test]
fn exceptions_and_errors() {
    let error = |headers: &[(&str, &str)]| message(&strings(headers), b"");
    for (message, expected) in [
        (
            exception("throttlingException", r#"{"message":"slow"}"#),
            ("throttlingException", r#"{"message":"slow"}"#),
        ),
        (exception("throttlingException", " "), ("throttlingException", "{}")),
        (error(&[(":message-type", "exception")]), ("error", "{}")),
        (
            error(&[(":message-type", "error"), (":error-code", "500"), (":error-message", "gone")]),
            ("error", "500: gone"),
        ),
        (error(&[(":message-type", "error"), (":error-code", "500")]), ("error", "500")),
        (error(&[(":error-message", ""), (":message-type", "error")]), ("error", "{}")),
        (error(&[(":message-type", "news")]), ("news", "")),
        (error(&[(":message-type", "news"), (":event-type", "a")]), ("a", "")),
    ] {
        assert_eq!(events(&at_every_cut(&message)), [expected]);
    }
}

#[test]
fn wrong_lengths_end_the_stream() {
    let prelude = |len: u32, headers_len: u32| {
        let lengths = [len.to_be_bytes(), headers_len.to_be_bytes()].concat();
        [&lengths, &crc32(&lengths).to_be_bytes()[..]].concat()
    };
    let mut other_crc = event("b", "{}");
    other_crc[11] ^= 1;
    let first = event("a", "{}");
    let at = first.len() as u64;
    for (broken, reason) in [
        (other_crc, "has a wrong checksum of its lengths"),
        (prelude(0, 0), "has a length below the minimum"),
        (prelude(15, 0), "has a length below the minimum"),
        (prelude(20, 5), "is shorter than its headers"),
        (prelude(20, u32::MAX), "is shorter than its headers"),
        (b"{\"message\":\"no stream\"}".to_vec(), "has a wrong checksum of its lengths"),
    ] {
        let seen = at_every_cut(&[first.clone(), broken, event("c", "{}")].concat());
        let reason = format!(
            "malformed_json: message 2 {reason}; the rest of the stream is unreadable: check that it is application/vnd.amazon.eventstream"
        );
        assert_eq!(events(&seen), [("a", "{}"), ("!", &reason)]);
        assert_eq!((seen.messages[1].1, seen.open), (Span::new(at, at + 12), None));
    }
}

#[test]
fn a_truncated_stream() {
    let stream = [event("a", "{}"), event("large", &"x".repeat(LIMIT)), event("b", "{}")];
    let ends: Vec<usize> = (1..=3).map(|count| stream[..count].concat().len()).collect();
    let stream = stream.concat();
    let whole = decode([&stream[..]]);
    for end in 0..=stream.len() {
        let seen = decode([&stream[..end]]);
        let messages = ends.iter().filter(|message_end| **message_end <= end).count();
        assert_eq!(seen.messages, whole.messages[..messages]);
        let start = messages.checked_sub(1).map_or(0, |last| ends[last]);
        let open = (end > start).then(|| (messages as u64 + 1, Span::new(start as u64, end as u64)));
        assert_eq!(seen.open, open, "{end}");
    }
}

/// Memory is allocated for received bytes, not for the announced length.
#[test]
fn an_announced_length_takes_no_memory() {
    let huge = u32::MAX - 1;
    for (limit, buffered) in [(usize::MAX, 112), (LIMIT, 0)] {
        let mut decoder = EventStreamDecoder::new(&Limits { sse_event_bytes: limit, ..Limits::default() });
        let lengths = [huge.to_be_bytes(), [0; 4]].concat();
        decoder.decode(&[&lengths, &crc32(&lengths).to_be_bytes()[..]].concat());
        for _ in 0..100 {
            assert!(matches!(decoder.decode(b"x"), (1, None)));
        }
        assert!(format!("{decoder:?}").contains(&format!("buffered: {buffered},")), "{decoder:?}");
        assert_eq!(decoder.finish(), Some((1, Span::new(0, 112))));
    }
}

/// Everything delivered from a damaged stream was sent like this, in this order.
fn check_damaged(wire: &[u8], sent: &[Message], how: &str) {
    let seen = decode([wire]);
    assert_eq!(decode(wire.chunks(7)), seen, "{how}");
    let mut sent = sent.iter().filter_map(|(.., event)| event.as_ref().ok());
    for (.., event) in &seen.messages {
        if let Ok(event) = event {
            assert!(sent.any(|sent| sent == event), "{how}: {event:?}");
        }
    }
}

fn healthy() -> Vec<u8> {
    [
        event("messageStart", r#"{"role":"assistant"}"#),
        message(&every_type(), b"{}"),
        event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"Hello"},"p":"abcdefgh"}"#),
        exception("throttlingException", r#"{"message":"slow"}"#),
        event("messageStop", r#"{"stopReason":"end_turn"}"#),
    ]
    .concat()
}

#[test]
fn a_changed_bit_is_detected() {
    let healthy = healthy();
    let sent = decode([&healthy[..]]).messages;
    for at in 0..healthy.len() {
        for bit in 0..8 {
            let mut wire = healthy.clone();
            wire[at] ^= 1 << bit;
            assert_ne!(decode([&wire[..]]).messages, sent);
            check_damaged(&wire, &sent, &format!("bit {bit} of byte {at}"));
        }
    }
}

#[test]
fn random_damage() {
    let healthy = healthy();
    let sent = decode([&healthy[..]]).messages;
    let mut random = random();
    for round in 0..20_000 {
        let mut wire = healthy.clone();
        for _ in 0..=random(3) {
            let at = random(wire.len());
            let end = (at + random(40)).min(wire.len());
            match random(5) {
                0 => wire[at..end].iter_mut().for_each(|byte| *byte = random(256) as u8),
                1 => drop(wire.drain(at..end)),
                2 => wire.extend_from_within(at..end),
                3 => drop(wire.splice(at..at, [random(256) as u8, 0])),
                _ => wire.truncate(at.max(1)),
            }
            if wire.is_empty() {
                wire.push(0);
            }
        }
        check_damaged(&wire, &sent, &format!("round {round}"));
    }
}
