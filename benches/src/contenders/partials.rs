//! One record in chunks of one token, and its partial value after each.

use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use ::tokenline::{CheckedChunk, Event, Options, Partial, PartialBuilder, RecordDecoder};
use actson::feeder::PushJsonFeeder;
use actson::{JsonEvent, JsonParser};
use bytes::Bytes;
use jiter::{JsonValue, JsonValueScratch, PartialMode};
use serde::Deserialize;

use super::{Contender, Group, Receiver, Run, TOKEN_BYTES, Unit, in_chunks, tokenline};
use crate::corpora::Corpus;

/// jiter parses the whole text again at each token; the others resume. actson reports a string once it is complete.
pub const CONTENDERS: &[Contender] = &[
    Contender { name: "`jiter` partial mode, the text so far", prepare: jiter },
    Contender { name: "`actson` events", prepare: |corpus| in_chunks(corpus, TOKEN_BYTES, Actson::new()) },
    Contender {
        name: "tokenline, records alone",
        prepare: |corpus| in_chunks(corpus, TOKEN_BYTES, tokenline::records_alone()),
    },
    Contender {
        name: "tokenline, deltas",
        prepare: |corpus| in_chunks(corpus, TOKEN_BYTES, tokenline::deltas()),
    },
    Contender {
        name: "tokenline, typed partial",
        prepare: |corpus| in_chunks(corpus, TOKEN_BYTES, Typed::new()),
    },
    Contender {
        name: "tokenline, a snapshot",
        prepare: |corpus| in_chunks(corpus, TOKEN_BYTES, tokenline::snapshots()),
    },
];

/// The group over records of 16 KB to 1 MB, and one that is a single text.
#[must_use]
pub fn group() -> Group {
    Group {
        name: "partials",
        title: "one record in chunks of 4 bytes, its partial value after each",
        unit: Unit::NanosecondsPerToken,
        contenders: CONTENDERS,
        corpora: vec![
            Corpus::record_of_size("16 KB", 16_000),
            Corpus::record_of_size("64 KB", 64_000),
            Corpus::record_of_size("256 KB", 256_000),
            Corpus::record_of_size("1 MB", 1_000_000),
            Corpus::record_with_text("256 KB, one text", 256_000),
        ],
    }
}

/// The corpora's record.
#[derive(Deserialize, Partial)]
#[expect(dead_code, reason = "only its partial is read")]
struct Order {
    id: String,
    items: Vec<Item>,
    note: String,
}

#[derive(Deserialize, Partial)]
#[expect(dead_code, reason = "only its partial is read")]
struct Item {
    name: String,
    quantity: u64,
    price: f64,
    in_stock: bool,
    tags: Vec<String>,
    size: Size,
}

#[derive(Deserialize, Partial)]
#[expect(dead_code, reason = "only its partial is read")]
struct Size {
    width: f64,
    height: f64,
}

/// The record in its own type after each token.
struct Typed {
    decoder: RecordDecoder,
    order: PartialBuilder<Order>,
}

impl Typed {
    fn new() -> Self {
        let decoder = RecordDecoder::new(Options::lenient().partials(true));
        Self { decoder, order: PartialBuilder::new() }
    }
}

impl Receiver for Typed {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        let (mut chunk, mut records) = (CheckedChunk::new(&stream[range]), 0);
        while let Some(event) = self.decoder.next_event(&mut chunk) {
            match event {
                Event::Partial(partial) => {
                    self.order.apply(partial.value);
                }
                Event::Record(_) => {
                    records += 1;
                    black_box(self.order.take().expect("it has begun"));
                }
                _ => {}
            }
        }
        black_box(self.order.partial());
        records
    }
}

/// The bytes that jiter may parse per run. All tokens of 1 MB would take 125 GB.
const MAX_BYTES: usize = 64_000_000;

/// jiter at each token. If that takes too long, at evenly spaced tokens, scaled up to all of them: the time per token grows
/// linearly with the text before it.
fn jiter(corpus: &Corpus) -> Run<'_> {
    let bytes = &corpus.bytes[..];
    let tokens = bytes.len().div_ceil(TOKEN_BYTES);
    let step = (tokens * bytes.len() / 2).div_ceil(MAX_BYTES).max(1);
    let ends: Vec<usize> =
        (step / 2..tokens).step_by(step).map(|token| bytes.len().min((token + 1) * TOKEN_BYTES)).collect();
    let mut scratch = JsonValueScratch::new();
    let whole = JsonValue::parse(bytes, false).expect("the record is JSON");
    assert!(matches!(whole, JsonValue::Object(_)), "records of {}", corpus.name);
    Box::new(move || {
        let start = Instant::now();
        for end in &ends {
            let value = scratch.parse(&bytes[..*end], false, PartialMode::TrailingStrings);
            black_box(value.expect("the beginning of a record"));
        }
        start.elapsed().mul_f64(tokens as f64 / ends.len() as f64)
    })
}

/// actson, which yields strings, names and numbers as text.
struct Actson {
    parser: JsonParser<PushJsonFeeder>,
    depth: usize,
}

impl Actson {
    fn new() -> Self {
        Self { parser: JsonParser::new(PushJsonFeeder::new()), depth: 0 }
    }
}

impl Receiver for Actson {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        let pushed = self.parser.feeder.push_bytes(&stream[range.clone()]);
        assert_eq!(pushed, range.len(), "there is room for a token");
        let mut records = 0;
        while let Some(event) = self.parser.next_event().expect("the record is JSON") {
            match event {
                JsonEvent::NeedMoreInput => return records,
                JsonEvent::StartObject | JsonEvent::StartArray => self.depth += 1,
                JsonEvent::EndObject | JsonEvent::EndArray => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        records += 1;
                        self.parser = JsonParser::new(PushJsonFeeder::new());
                        return records;
                    }
                }
                _ => {
                    black_box(self.parser.current_str().expect("UTF-8"));
                }
            }
        }
        records
    }
}
