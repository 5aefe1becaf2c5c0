//! Server-sent events: the standard's rules, the limits, and the same events however the input is split.

mod bounds;
mod chunkings;
mod events;
mod format;
mod lenient;
#[path = "../common/random.rs"]
mod random;
mod reference;

use std::time::Duration;

use reference::reference;
use tokenline_core::sse::{SseDecoded, SseDecoder, SseEvent, SseItem};
use tokenline_core::{Diagnostic, Limits, Span};

// The result of decoding a complete stream, owned.

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

/// Decodes one stream, and checks the decoder's contract.
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

/// Decodes the input at once, byte by byte and split at every position, with a new decoder and a used one.
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
