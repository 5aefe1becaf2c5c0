//! Cases that web-platform-tests leave open: line endings, invalid bytes, positions, and the end of the input.

use tokenline_core::sse::{SseDecoder, SseItem};
use tokenline_core::{Code, Limits, Span};

use crate::reference::reference;
use crate::{Item, decode, decode_fixture};

#[test]
fn every_line_ending_reads_the_same() {
    let input = "event: a\ndata: 1\n: comment\ndata: 2\nid: 3\n\n\ndata: 4\n\nretry: 5\n\ndata\n\n";
    let expected = [("a", "1\n2", "3"), ("message", "4", "3"), ("message", "", "3")];
    for ending in ["\n", "\r", "\r\n"] {
        let decoded = decode_fixture(input.replace('\n', ending));
        assert_eq!(decoded.events(), expected, "{ending:?}");
    }
    // LF CR is two line endings.
    assert_eq!(decode_fixture("data:1\n\rdata:2\n\n").data(), ["1", "2"]);
}

#[test]
fn a_carriage_return_dispatches_at_once_and_a_line_feed_after_it_is_swallowed() {
    let mut decoder = SseDecoder::default();
    let decoded = decoder.decode(b"data:1\r\n\r");
    assert_eq!(decoded.consumed, 9);
    let Some(SseItem::Event(event)) = decoded.item else { panic!("{decoded:?}") };
    assert_eq!((event.data, event.span), ("1", Span::new(0, 8)));
    let rest = decode(&mut decoder.clone(), [&b""[..]]);
    assert_eq!(rest.items, []);

    let decoded = decoder.decode(b"\ndata:2\n\n");
    let Some(SseItem::Event(event)) = decoded.item else { panic!("{decoded:?}") };
    assert_eq!((event.data, event.line, event.span), ("2", 3, Span::new(10, 17)));
}

#[test]
fn invalid_utf_8_is_replaced_as_the_encoding_standard_says() {
    for (bytes, expected) in [
        (&b"\xFF"[..], "\u{fffd}"),
        (b"a\xE2\x82", "a\u{fffd}"),
        (b"\xE2\x82\xE2\x82\xAC", "\u{fffd}\u{20ac}"),
        (b"\xC0\xAF", "\u{fffd}\u{fffd}"),
        (b"\xED\xA0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xF0\x9F\x98", "\u{fffd}"),
    ] {
        let input = [b"event:", bytes, b"\nid:", bytes, b"\ndata:", bytes, b"\ndata:z\n\n"].concat();
        let decoded = decode_fixture(input);
        let data = format!("{expected}\nz");
        assert_eq!(decoded.events(), [(expected, &*data, expected)]);
        assert!(matches!(&decoded.items[..], [Item::Event(event)] if event.lossy));
    }
    let decoded = decode_fixture(b"data: \xFF\n\ndata: ok\n\n");
    assert!(matches!(&decoded.items[..], [_, Item::Event(event)] if !event.lossy));
}

#[test]
fn spans_and_lines_say_where_an_event_was() {
    let input = "\u{feff}: hello\r\n\r\nid: 1\r\ndata: x\r\n: end\r\n\r\ndata: y\n\n";
    let decoded = decode_fixture(input);
    let places: Vec<_> = decoded
        .items
        .iter()
        .map(|item| match item {
            Item::Event(event) => {
                let text = &input[event.span.start as usize..event.span.end as usize];
                (event.line, text)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(places, [(3, "id: 1\r\ndata: x\r\n: end\r\n"), (7, "data: y\n")]);
}

#[test]
fn providers_streams() {
    let openrouter =
        ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: {\"a\":1}\n\ndata: [DONE]\n\n";
    assert_eq!(decode_fixture(openrouter).data(), ["{\"a\":1}", "[DONE]"]);
    let anthropic = "event: ping\ndata: {\"type\": \"ping\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"     }\n\n";
    assert_eq!(
        decode_fixture(anthropic).events(),
        [("ping", "{\"type\": \"ping\"}", ""), ("message_stop", "{\"type\":\"message_stop\"     }", "")]
    );
    let gemini = "data: {\"text\": \"a\"}\r\n\r\ndata: {\"text\": \"b\"}\r\n\r\n";
    assert_eq!(decode_fixture(gemini).data(), ["{\"text\": \"a\"}", "{\"text\": \"b\"}"]);
    let no_stream = decode_fixture("{\n  \"error\": {\"message\": \"overloaded\"}\n}\n");
    assert_eq!(no_stream.data(), [""; 0]);
    assert_eq!(no_stream.unknown_fields, 3);
}

// The end of the input.

#[test]
fn the_end_between_events_is_silent() {
    for input in ["", "\n", "\r", "data:x\n\n", "data:x\r\r", ": open comment", "data:x\n\n\n: c\n"] {
        let decoded = decode_fixture(input);
        assert!(decoded.items.iter().all(|item| matches!(item, Item::Event(_))), "{input:?}");
    }
}

#[test]
fn the_end_inside_an_event_is_reported() {
    for (input, event, data) in [
        ("data: [DONE]", "message", "[DONE]"),
        ("data: [DONE]\n", "message", "[DONE]"),
        ("data: a\r\ndata: b\r", "message", "a\nb"),
        ("event: x\ndata: a\ndat", "x", "a"),
        ("event: x\n", "x", ""),
        ("event: con", "con", ""),
        ("data: a\n: comment", "message", "a"),
        ("data: \u{20ac}", "message", "\u{20ac}"),
        ("d", "message", ""),
    ] {
        let decoded = decode_fixture(input);
        let [Item::Incomplete(found)] = &decoded.items[..] else { panic!("{input:?}: {decoded:?}") };
        assert_eq!((&*found.event, &*found.data), (event, data), "{input:?}");
        assert_eq!(found.span, Span::new(0, input.len() as u64));
    }
    let cut = decode_fixture(b"data: \xE2\x82");
    assert!(matches!(&cut.items[..], [Item::Incomplete(event)] if event.lossy));
}

#[test]
fn a_truncated_event_is_a_diagnostic_on_request() {
    let mut decoder = SseDecoder::default();
    assert_eq!(decoder.decode(b": hi\n\ndata: x\n").item, None);
    let Some(SseItem::Incomplete(event)) = decoder.finish() else { panic!() };
    let diagnostic = event.truncated();
    assert_eq!(diagnostic.code, Code::Truncated);
    assert_eq!((diagnostic.line, diagnostic.column), (3, 1));
    assert_eq!(diagnostic.span, Span::new(6, 14));
}

#[test]
fn reset_forgets_the_stream() {
    let mut decoder = SseDecoder::default();
    let first = decode(&mut decoder, [&b"id:1\nretry:5\nx\ndata:1\n\nid:2\nevent:e\ndata:2\r"[..]]);
    assert_eq!((&*first.last_id, first.unknown_fields), ("1", 1));
    decoder.reset();
    assert_eq!((decoder.last_event_id(), decoder.retry()), ("", None));
    let input = "\u{feff}\ndata:3\n\n";
    let second = decode(&mut decoder, [input.as_bytes()]);
    assert_eq!(second, reference(input.as_bytes(), Limits::default()));
    assert_eq!(second.events(), [("message", "3", "")]);
}
