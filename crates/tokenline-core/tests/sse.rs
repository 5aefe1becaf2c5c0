//! Server-sent events: the standard's rules, the limits, and that no cut makes a difference.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use tokenline_core::sse::{SseDecoded, SseDecoder, SseEvent, SseItem};
use tokenline_core::{Code, Diagnostic, Limits, Origin, Span};

// What a decoder says about a whole stream, owned.

#[derive(Clone, Debug, PartialEq)]
struct Owned {
    event: String,
    data: String,
    id: String,
    line: u64,
    span: Span,
    lossy: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Item {
    Event(Owned),
    Incomplete(Owned),
    Rejected(Diagnostic),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Decoded {
    items: Vec<Item>,
    last_id: String,
    retry: Option<Duration>,
    unknown_fields: u64,
}

impl From<SseEvent<'_>> for Owned {
    fn from(event: SseEvent<'_>) -> Self {
        Self {
            event: event.event.to_owned(),
            data: event.data.to_owned(),
            id: event.id.to_owned(),
            line: event.line,
            span: event.span,
            lossy: event.lossy,
        }
    }
}

impl From<SseItem<'_>> for Item {
    fn from(item: SseItem<'_>) -> Self {
        match item {
            SseItem::Event(event) => Self::Event(event.into()),
            SseItem::Incomplete(event) => Self::Incomplete(event.into()),
            SseItem::Rejected(diagnostic) => Self::Rejected(diagnostic),
        }
    }
}

impl Decoded {
    fn events(&self) -> Vec<(&str, &str, &str)> {
        self.items
            .iter()
            .filter_map(|item| match item {
                Item::Event(event) => Some((&*event.event, &*event.data, &*event.id)),
                Item::Incomplete(_) | Item::Rejected(_) => None,
            })
            .collect()
    }

    fn data(&self) -> Vec<&str> {
        self.events().into_iter().map(|(_, data, _)| data).collect()
    }

    fn rejected(&self) -> Vec<&Diagnostic> {
        self.items
            .iter()
            .filter_map(|item| match item {
                Item::Rejected(diagnostic) => Some(diagnostic),
                Item::Event(_) | Item::Incomplete(_) => None,
            })
            .collect()
    }
}

/// Decodes one stream, and holds the decoder to its contract on the way.
fn decode<'c>(decoder: &mut SseDecoder, chunks: impl IntoIterator<Item = &'c [u8]>) -> Decoded {
    let mut items = Vec::new();
    let mut offset = decoder.offset();
    for chunk in chunks {
        let mut rest = chunk;
        loop {
            let SseDecoded { consumed, item } = decoder.decode(rest);
            let done = item.is_none();
            items.extend(item.map(Item::from));
            assert!(consumed > 0 || rest.is_empty(), "no progress");
            rest = &rest[consumed..];
            offset += consumed as u64;
            assert_eq!(decoder.offset(), offset);
            if done {
                assert!(rest.is_empty(), "asked for more with input left");
                break;
            }
        }
    }
    items.extend(decoder.finish().map(Item::from));
    assert_eq!(decoder.finish(), None, "finished twice");
    Decoded {
        items,
        last_id: decoder.last_event_id().to_owned(),
        retry: decoder.retry(),
        unknown_fields: decoder.unknown_fields(),
    }
}

/// Decodes whole, byte by byte and at every cut, on a fresh decoder and on a used one.
fn decode_every_way(input: &[u8], limits: Limits) -> Decoded {
    let whole = decode(&mut SseDecoder::new(limits), [input]);
    assert_eq!(whole, reference(input, limits), "whole, and by the book");

    let mut used = SseDecoder::new(limits);
    let bytes = decode(&mut used, input.chunks(1));
    assert_eq!(bytes, whole, "byte by byte");
    for cut in 0..=input.len() {
        used.reset();
        let (head, tail) = input.split_at(cut);
        let cut_up = decode(&mut used, [head, &[], tail]);
        assert_eq!(cut_up, whole, "cut at {cut}");
    }
    whole
}

fn decode_fixture(input: impl AsRef<[u8]>) -> Decoded {
    decode_every_way(input.as_ref(), Limits::default())
}

fn limits(sse_line_bytes: usize, sse_event_bytes: usize) -> Limits {
    Limits { sse_line_bytes, sse_event_bytes, ..Limits::default() }
}

// The standard once more, as plainly as possible: all of the input at once, and a copy of everything.

fn reference(input: &[u8], limits: Limits) -> Decoded {
    let mut decoded = Decoded::default();
    let mut id = String::new();
    let mut block: Vec<Line<'_>> = Vec::new();
    for line in lines(input) {
        if line.bytes.is_empty() {
            decoded.items.extend(interpret(&block, line.start, &mut id, limits, &mut decoded.retry));
            decoded.last_id.clone_from(&id);
            block.clear();
        } else if line.bytes[0] != b':' {
            decoded.unknown_fields += u64::from(line.is_unknown(limits));
            block.push(line);
        }
    }
    if !block.is_empty() {
        let end = input.len() as u64;
        let item = interpret(&block, end, &mut id, limits, &mut decoded.retry);
        decoded.items.push(match item {
            Some(Item::Event(event)) => Item::Incomplete(event),
            Some(item) => item,
            None => Item::Incomplete(Owned {
                event: event_of(&block),
                data: String::new(),
                id,
                line: block[0].number,
                span: Span::new(block[0].start, end),
                lossy: false,
            }),
        });
    }
    decoded
}

struct Line<'i> {
    number: u64,
    start: u64,
    bytes: &'i [u8],
}

impl<'i> Line<'i> {
    fn field(&self) -> (&'i [u8], &'i [u8]) {
        match self.bytes.iter().position(|&byte| byte == b':') {
            None => (self.bytes, b""),
            Some(colon) => {
                let value = &self.bytes[colon + 1..];
                (&self.bytes[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
        }
    }

    fn is_unknown(&self, limits: Limits) -> bool {
        let known: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];
        !known.contains(&self.field().0) && self.bytes.len() <= limits.sse_line_bytes
    }
}

fn lines(input: &[u8]) -> Vec<Line<'_>> {
    let mut rest = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let len = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        lines.push(Line {
            number: lines.len() as u64 + 1,
            start: (input.len() - rest.len()) as u64,
            bytes: &rest[..len],
        });
        rest = match &rest[len..] {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => &[],
        };
    }
    lines
}

fn event_of(block: &[Line<'_>]) -> String {
    let mut event = String::new();
    for (name, value) in block.iter().map(Line::field) {
        if name == b"event" {
            event = String::from_utf8_lossy(value).into_owned();
        }
    }
    if event.is_empty() {
        event.push_str("message");
    }
    event
}

fn interpret(
    block: &[Line<'_>],
    end: u64,
    id: &mut String,
    limits: Limits,
    retry: &mut Option<Duration>,
) -> Option<Item> {
    let mut data: Option<Vec<u8>> = None;
    let mut fault = None;
    let first = block.first()?;
    for line in block {
        if line.bytes.len() > limits.sse_line_bytes {
            let span = Span::new(line.start, line.start + line.bytes.len() as u64);
            fault = fault.or(Some((Code::LineTooLong, line.number, span)));
            continue;
        }
        let (name, value) = line.field();
        match name {
            b"data" => {
                let joined = match data.take() {
                    None => value.to_vec(),
                    Some(data) => [&data, &b"\n"[..], value].concat(),
                };
                if joined.len() > limits.sse_event_bytes {
                    let span = Span::new(first.start, end);
                    fault = fault.or(Some((Code::RecordTooLarge, first.number, span)));
                }
                data = Some(joined);
            }
            b"id" if !value.contains(&0) => *id = String::from_utf8_lossy(value).into_owned(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let number = String::from_utf8_lossy(value).parse().unwrap_or(u64::MAX);
                *retry = Some(Duration::from_millis(number));
            }
            _ => {}
        }
    }
    if let Some((code, line, span)) = fault {
        let (column, message) = match code {
            Code::LineTooLong => (
                limits.sse_line_bytes as u64 + 1,
                format!(
                    "a line of {} bytes is longer than the limit of {} bytes; its server-sent \
                     event was dropped",
                    span.len(),
                    limits.sse_line_bytes
                ),
            ),
            _ => (
                1,
                format!(
                    "a server-sent event of {} bytes has more data than the limit of {} bytes; \
                     it was dropped",
                    span.len(),
                    limits.sse_event_bytes
                ),
            ),
        };
        let diagnostic = Diagnostic::new(code, line, span, column, message).with_origin(Origin::Wire);
        return Some(Item::Rejected(diagnostic));
    }
    let data = data?;
    Some(Item::Event(Owned {
        event: event_of(block),
        data: String::from_utf8_lossy(&data).into_owned(),
        id: id.clone(),
        line: first.number,
        span: Span::new(first.start, end),
        lossy: std::str::from_utf8(&data).is_err(),
    }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_of_any_lines_reads_as_the_standard_says(
        pieces in prop::collection::vec(piece(), 0..60),
        sizes in prop::collection::vec(0_usize..12, 1..40),
        limits in prop_oneof![
            2 => Just(Limits::default()),
            1 => (0_usize..24, 0_usize..24).prop_map(|(line, event)| limits(line, event)),
        ],
    ) {
        let input = pieces.concat();
        let mut rest = &input[..];
        let mut chunks = Vec::new();
        for size in sizes.into_iter().cycle().take(4 * input.len() + 40) {
            let (chunk, tail) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        chunks.push(rest);

        let decoded = decode(&mut SseDecoder::new(limits), chunks);
        prop_assert_eq!(&decoded, &reference(&input, limits));
        prop_assert_eq!(decode(&mut SseDecoder::new(limits), [&input[..]]), decoded);
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&[u8]] = &[
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b":",
        b" ",
        b": ",
        b"\0",
        b"\t",
        b"\xEF\xBB\xBF",
        b"data",
        b"data:",
        b"data: ",
        b"\ndata: {}\n\n",
        b"dat",
        b"event",
        b"event: ",
        b"id",
        b"id:",
        b"retry: ",
        b"\nretry: 70\n",
        b"12",
        b"99999999999999999999",
        b"x",
        b"{\"a\":1}",
        b"[DONE]",
        b"\nfoo: bar\n",
        b"\n: keep-alive\n",
        "\u{e9}\u{20ac}\u{1F600}".as_bytes(),
        b"\xE2",
        b"\x82",
        b"\xAC",
        b"\xF0\x9F",
        b"\xFF",
        b"\xC0\xAF",
        b"\xED\xA0\x80",
    ];
    prop::sample::select(PIECES).prop_map(<[u8]>::to_vec)
}

// The cases of web-platform-tests' `eventsource/format-*`, by their names. Their server ends every
// message with a blank line, which is written out here. The `format-mime-*` ones concern HTTP.

#[test]
fn format_bom() {
    let decoded = decode_fixture("\u{feff}data:1\n\n\u{feff}data:2\n\ndata:3\n\n");
    assert_eq!(decoded.data(), ["1", "3"]);
    assert_eq!(decoded.unknown_fields, 1);
}

#[test]
fn format_bom_2() {
    let decoded = decode_fixture("\u{feff}\u{feff}data:1\n\ndata:2\n\ndata:3\n\n");
    assert_eq!(decoded.data(), ["2", "3"]);
}

#[test]
fn a_partial_bom_is_no_bom() {
    for partial in [&b"\xEF"[..], b"\xEF\xBB"] {
        let decoded = decode_fixture([partial, b"data:1\n\ndata:2\n\n"].concat());
        assert_eq!(decoded.data(), ["2"]);
        let decoded = decode_fixture([partial, b"\n\ndata:2\n\n"].concat());
        assert_eq!(decoded.data(), ["2"]);
        assert_eq!(decode_fixture(partial).items.len(), 1);
    }
    assert_eq!(decode_fixture("\u{feff}").items, []);
    assert_eq!(decode_fixture("\u{feff}data:1\n\n").data(), ["1"]);
}

#[test]
fn format_comments() {
    let long = "x".repeat(2 * 1024);
    let input = format!("data:1\r:\0\n:\r\ndata:2\n:{long}\rdata:3\n:data:fail\r:{long}\ndata:4\n\n");
    assert_eq!(decode_fixture(input).data(), ["1\n2\n3\n4"]);
}

#[test]
fn format_data_before_final_empty_line() {
    let decoded = decode_fixture("retry:1000\ndata:test1\n\nid:test\ndata:test2\n");
    assert_eq!(decoded.events(), [("message", "test1", "")]);
    assert_eq!(decoded.last_id, "", "the id of a discarded event is discarded");
    let Some(Item::Incomplete(event)) = decoded.items.last() else { panic!("{decoded:?}") };
    assert_eq!((&*event.data, &*event.id, event.line), ("test2", "test", 4));
    assert_eq!(event.span, Span::new(23, 42));
}

#[test]
fn format_field_data() {
    let decoded = decode_fixture("data:\n\ndata\ndata\n\ndata:test\n\n");
    assert_eq!(decoded.data(), ["", "\n", "test"]);
}

#[test]
fn format_field_event() {
    let decoded = decode_fixture("event:test\ndata:x\n\ndata:x\n\n");
    assert_eq!(decoded.events(), [("test", "x", ""), ("message", "x", "")]);
}

#[test]
fn format_field_event_empty() {
    let decoded = decode_fixture("event:test\nevent: \ndata:data\n\n");
    assert_eq!(decoded.events(), [("message", "data", "")]);
}

#[test]
fn an_event_without_data_is_not_dispatched_and_its_type_forgotten() {
    let decoded = decode_fixture("event:test\n\n\nevent: x\nid: 7\n\ndata:x\n\n");
    assert_eq!(decoded.events(), [("message", "x", "7")]);
}

#[test]
fn format_field_id() {
    let decoded = decode_fixture("id: \u{2026}\ndata:1\n\ndata:2\n\nid:3\n\ndata:3\n\nid\ndata:4\n\n");
    let ids: Vec<_> = decoded.events().into_iter().map(|(_, _, id)| id).collect();
    assert_eq!(ids, ["\u{2026}", "\u{2026}", "3", ""]);
    assert_eq!(decoded.last_id, "");
    assert_eq!(decode_fixture("id:1\nid:2\ndata:x\n\n").last_id, "2");
}

#[test]
fn format_field_id_null() {
    for null in ["\0hello", "\0", "hel\0lo", "hello\0"] {
        let decoded = decode_fixture(format!("id:1\nid:{null}\ndata:x\n\n"));
        assert_eq!(decoded.events(), [("message", "x", "1")]);
    }
}

#[test]
fn format_field_parsing() {
    let decoded = decode_fixture(
        "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
    );
    assert_eq!(decoded.data(), ["\0\n 2\n1\n3\n\n4"]);
    assert_eq!(decoded.unknown_fields, 6);
}

#[test]
fn format_field_retry() {
    for (input, milliseconds) in [
        ("retry:3000\ndata:test\n\n", 3_000),
        ("retry:3000\nretry:1000x\ndata:x\n\n", 3_000),
        ("retry:1000\nretry\nretry:\ndata:test\n\n", 1_000),
        ("retry:1\nretry: -2\nretry:+3\nretry:4.0\nretry:5 \nretry: \u{661}\n", 1),
        ("retry: 007", 7),
        ("retry:99999999999999999999", u64::MAX),
    ] {
        let retry = decode_fixture(input).retry;
        assert_eq!(retry, Some(Duration::from_millis(milliseconds)), "{input:?}");
    }
    assert_eq!(decode_fixture("retry:\n\n").retry, None);
}

#[test]
fn format_field_unknown() {
    let decoded =
        decode_fixture("data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n");
    assert_eq!(decoded.data(), ["test\n\ntest"]);
    assert_eq!(decoded.unknown_fields, 3);
}

#[test]
fn format_leading_space() {
    let decoded = decode_fixture("data:\ttest\rdata: \ndata:test\n\n");
    assert_eq!(decoded.data(), ["\ttest\n\ntest"]);
}

#[test]
fn format_newlines() {
    let decoded = decode_fixture("data:test\r\ndata\ndata:test\r\n\r\n");
    assert_eq!(decoded.data(), ["test\n\ntest"]);
}

#[test]
fn format_null_character() {
    assert_eq!(decode_fixture("data:\0\n\n\n\n").data(), ["\0"]);
}

#[test]
fn format_utf_8() {
    let decoded = decode_fixture("data:ok\u{2026}\u{1F600}\nevent: \u{e9}v\n\n");
    assert_eq!(decoded.events(), [("\u{e9}v", "ok\u{2026}\u{1F600}", "")]);
}

#[test]
fn event_data() {
    let decoded = decode_fixture(
        "data:msg\ndata: msg\n\n:\nfalsefield:msg\n\nfalsefield:msg\nData:data\n\ndata\n\ndata:end\n\n",
    );
    assert_eq!(decoded.data(), ["msg\nmsg", "", "end"]);
}

// What the suite above leaves open.

#[test]
fn every_line_ending_reads_the_same() {
    let input = "event: a\ndata: 1\n: comment\ndata: 2\nid: 3\n\n\ndata: 4\n\nretry: 5\n\ndata\n\n";
    let expected = [("a", "1\n2", "3"), ("message", "4", "3"), ("message", "", "3")];
    for ending in ["\n", "\r", "\r\n"] {
        let decoded = decode_fixture(input.replace('\n', ending));
        assert_eq!(decoded.events(), expected, "{ending:?}");
    }
    // LF CR is two line ends.
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
fn a_truncated_event_is_a_diagnostic_for_who_wants_one() {
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

// Limits.

#[test]
fn a_line_beyond_the_limit_costs_its_event_only() {
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
fn an_event_beyond_the_limit_costs_nothing_else() {
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
    // Its fields are private; what it holds is not.
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

/// A decoder that looked at an open line again with each chunk would take many minutes here.
#[test]
fn single_bytes_cost_what_they_weigh() {
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
