//! The cases of web-platform-tests' `eventsource/format-*`, by their names, and similar ones.

use std::time::Duration;

use tokenline_core::Span;

use crate::{Item, decode_fixture};

// Their server ends every message with a blank line, which is explicit here. The `format-mime-*` cases
// concern HTTP.

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
fn a_partial_bom_is_not_a_bom() {
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
