//! Limits, and the cost of decoding.

use std::collections::BTreeSet;

use tokenline_core::sse::{SseDecoded, SseDecoder, SseItem};
use tokenline_core::{Code, Span};

use crate::{decode_every_way, limits};

// Limits.

#[test]
fn a_line_beyond_the_limit_rejects_only_its_event() {
    let line = "data: 0123456789";
    for ending in ["\n", "\r", "\r\n"] {
        let input = format!("data: a\n\nevent: e\n{line}\nid: 9\ndata: b\n\ndata: c\n\n");
        let input = input.replace('\n', ending);
        let all = decode_every_way(input.as_bytes(), limits(16, 100));
        assert_eq!(all.data(), ["a", "0123456789\nb", "c"]);

        let decoded = decode_every_way(input.as_bytes(), limits(15, 100));
        assert_eq!(decoded.events(), [("message", "a", ""), ("message", "c", "9")]);
        let [diagnostic] = decoded.rejected()[..] else { panic!("{decoded:?}") };
        assert_eq!(diagnostic.code, Code::LineTooLong);
        assert_eq!((diagnostic.line, diagnostic.column), (4, 16));
        let start = input.find(line).unwrap() as u64;
        assert_eq!(diagnostic.span, Span::new(start, start + 16));
        assert_eq!(
            diagnostic.message,
            "a line of 16 bytes is longer than the limit of 15 bytes; its server-sent event was dropped"
        );
    }
}

#[test]
fn an_event_beyond_the_limit_affects_nothing_else() {
    let input = "data: a\n\nid: 1\ndata: 0123\ndata: 5678\ndata: more\nid: 2\n\ndata: c\n\n";
    let all = decode_every_way(input.as_bytes(), limits(100, 14));
    assert_eq!(all.data(), ["a", "0123\n5678\nmore", "c"]);

    for limit in [4, 8, 13] {
        let decoded = decode_every_way(input.as_bytes(), limits(100, limit));
        assert_eq!(decoded.events(), [("message", "a", ""), ("message", "c", "2")]);
        let [diagnostic] = decoded.rejected()[..] else { panic!("{decoded:?}") };
        assert_eq!(diagnostic.code, Code::RecordTooLarge);
        assert_eq!((diagnostic.line, diagnostic.column), (3, 1));
        assert_eq!(diagnostic.span, Span::new(9, 54));
        assert_eq!(
            diagnostic.message,
            format!(
                "a server-sent event of 45 bytes has more data than the limit of {limit} bytes; it was dropped"
            )
        );
    }
}

#[test]
fn a_dropped_event_is_reported_once_and_also_at_the_end() {
    for input in [
        "data: 0123456789\ndata: 0123456789\n\n",
        "data: 0123456789\ndata: 0123456789\n",
        "data: 0123456789\ndata: 0123456789",
        "data: 0123456789",
        "data: 0123456789\n: comment",
    ] {
        for limits in [limits(12, 100), limits(100, 5), limits(0, 0)] {
            let decoded = decode_every_way(input.as_bytes(), limits);
            assert_eq!(decoded.rejected().len(), 1, "{input:?}");
            assert_eq!(decoded.items.len(), 1, "{input:?}");
        }
    }
}

#[test]
fn comments_have_no_limit_and_a_byte_order_mark_no_length() {
    let input = "\u{feff}data:x\n: a comment of some length\n\n";
    let decoded = decode_every_way(input.as_bytes(), limits(6, 1));
    assert_eq!(decoded.data(), ["x"]);
}

#[test]
fn an_endless_line_is_dropped_as_it_arrives() {
    let mut decoder = SseDecoder::new(limits(1024, 1024));
    let chunk = vec![b'x'; 64 * 1024];
    assert_eq!(decoder.decode(b"data: ").item, None);
    for _ in 0..1024 {
        assert_eq!(decoder.decode(&chunk).item, None);
    }
    // Its fields are private, so check the memory held.
    assert!(format!("{decoder:?}").contains("buffered: 0,"));
    let SseDecoded { consumed, item } = decoder.decode(b"\n\ndata: y\n\n");
    let Some(SseItem::Rejected(diagnostic)) = item else { panic!("{item:?}") };
    assert_eq!(diagnostic.span, Span::new(0, 6 + 64 * 1024 * 1024));
    let rest = decoder.decode(&b"\n\ndata: y\n\n"[consumed..]);
    assert!(matches!(rest.item, Some(SseItem::Event(event)) if event.data == "y"));
}

// Cost.

#[test]
fn a_line_inside_a_chunk_is_not_copied() {
    let input = b"event: e\nid: 1\ndata: first\n\n: c\r\ndata: second\r\n\r\n";
    let mut decoder = SseDecoder::default();
    let mut rest = &input[..];
    let mut seen = 0;
    while let SseDecoded { consumed, item: Some(item) } = decoder.decode(rest) {
        rest = &rest[consumed..];
        let SseItem::Event(event) = item else { panic!() };
        assert!(input.as_ptr_range().contains(&event.data.as_ptr()));
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[test]
fn a_warm_buffer_is_reused() {
    let input = "event: delta\ndata: {\"text\":\"abc\"}\ndata: more\n\n".repeat(50);
    let mut decoder = SseDecoder::default();
    let mut places = BTreeSet::new();
    for byte in input.as_bytes().chunks(1) {
        if let Some(SseItem::Event(event)) = decoder.decode(byte).item {
            places.insert((event.event.as_ptr(), event.data.as_ptr()));
        }
    }
    assert_eq!(places.len(), 1);
}

/// A decoder that rescanned an open line with each chunk would take many minutes here.
#[test]
fn single_bytes_take_linear_time() {
    const SIZE: usize = 8 * 1024 * 1024;
    for input in [
        ["data: ", &"x".repeat(SIZE), "\n\n"].concat(),
        "data: x\n".repeat(SIZE / 8) + "\n",
        [": ", &"x".repeat(SIZE), "\ndata: x\n\n"].concat(),
    ] {
        let mut decoder = SseDecoder::default();
        let mut events = 0;
        for byte in input.as_bytes().chunks(1) {
            events += usize::from(decoder.decode(byte).item.is_some());
        }
        assert_eq!(events, 1);
    }
}
