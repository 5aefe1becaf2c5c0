//! Deviations of model servers, which a lenient decoder accepts.

use tokenline_core::Limits;
use tokenline_core::sse::{SseDecoder, SseItem, StrayObject};

use crate::random::Random;
use crate::{Item, decode};

#[derive(Debug, PartialEq)]
struct Lenient {
    items: Vec<Item>,
    strays: Vec<StrayObject>,
    unknown_fields: u64,
    last_id: String,
}

fn read<'c>(decoder: &mut SseDecoder, chunks: impl IntoIterator<Item = &'c [u8]>) -> Lenient {
    let (mut items, mut strays) = (Vec::new(), Vec::new());
    for chunk in chunks {
        let mut rest = chunk;
        loop {
            let decoded = decoder.decode(rest);
            rest = &rest[decoded.consumed..];
            let is_item = decoded.item.is_some();
            items.extend(decoded.item.map(Item::from));
            strays.extend(decoder.take_stray_object());
            if !is_item && rest.is_empty() {
                break;
            }
        }
    }
    loop {
        let item = decoder.finish();
        let goes_on = matches!(item, Some(SseItem::Event(_)));
        items.extend(item.map(Item::from));
        strays.extend(decoder.take_stray_object());
        if !goes_on {
            let (unknown_fields, last_id) = (decoder.unknown_fields(), decoder.last_event_id().to_owned());
            return Lenient { items, strays, unknown_fields, last_id };
        }
    }
}

fn lenient() -> SseDecoder {
    SseDecoder::new(Limits::default()).lenient()
}

const PARTS: [&str; 22] = [
    "data: {\"a\":1}",
    "data:{\"b\":[",
    "data: ]}",
    "data: [1]",
    "data: [DONE]",
    "data: text",
    "data:",
    "data",
    "event: error",
    "event: a",
    "id: 7",
    "id",
    "retry: 5",
    ": comment",
    "",
    "",
    "",
    "error: {\"message\":\"down\"}",
    "{\"error\":",
    "\"down\"}",
    "<html>",
    "{\"error\":{}}",
];

#[test]
fn any_cut_same_events() {
    let mut used = lenient();
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let mut wire = String::new();
        for _ in 0..1 + random.below(9) {
            wire += *random.pick::<&str>(&PARTS);
            wire += *random.pick::<&str>(&["\n", "\n", "\n", "\r\n", "\r", "\n\n"]);
        }
        if random.below(3) == 0 {
            wire.truncate(random.below(wire.len() + 1));
        }
        let wire = wire.as_bytes();
        let whole = read(&mut lenient(), [wire]);
        used.reset();
        assert_eq!(read(&mut used, wire.chunks(1)), whole, "seed {seed}, byte by byte");
        let cut = random.below(wire.len() + 1);
        used.reset();
        assert_eq!(read(&mut used, [&wire[..cut], &wire[cut..]]), whole, "seed {seed}, cut at {cut}");
    }
}

#[test]
fn a_stream_of_the_standard_is_read_as_always() {
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let mut wire = String::new();
        for _ in 0..1 + random.below(6) {
            wire += *random.pick::<&str>(&["", "event: a\n", "id: 7\n", ": comment\n", "retry: 5\n"]);
            wire += *random.pick::<&str>(&["data: {\"a\":1}\n", "data: {\ndata: }\n", "data: x\ndata: y\n"]);
            wire += *random.pick::<&str>(&["", "event: b\n", "id: 8\n"]);
            wire += "\n";
        }
        let strict = decode(&mut SseDecoder::default(), [wire.as_bytes()]);
        let seen = read(&mut lenient(), [wire.as_bytes()]);
        assert_eq!((seen.items, seen.last_id), (strict.items, strict.last_id), "{wire}");
        assert!(seen.strays.is_empty());
    }
}

#[test]
fn events_keep_their_names_without_a_blank_line() {
    let wire = b"event: a\ndata: {\"n\":1}\nevent: b\ndata: {\"n\":2}\ndata: {\"n\":3}\n\n";
    let seen = read(&mut lenient(), [&wire[..]]).items;
    let seen: Vec<_> = seen
        .iter()
        .map(|item| match item {
            Item::Event(event) => (event.event.as_str(), event.data.as_str(), event.line),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(seen, [("a", "{\"n\":1}", 1), ("b", "{\"n\":2}", 4), ("message", "{\"n\":3}", 5)]);
}

/// Each line is examined once: otherwise this would take hours.
#[test]
fn blank_data_and_open_objects_take_linear_time() {
    for line in ["data:\n", "data: \n", "{\n", "[\n", "data: [\n", "data: {\"a\":\n"] {
        let wire = line.repeat(400_000);
        read(&mut lenient(), wire.as_bytes().chunks(4096));
    }
}
