//! A chat response with an analysis: from JSON to a checked response and XML.

mod responses;

use std::hint::black_box;
use std::time::Instant;

use tokenline::Validate;
use tokenline::chat_analysis::{LlmResponse, RESPONSE_SCHEMA, ResponseReader, check, validator};
use tokenline::json::Parser;

use super::{Contender, Group, Run, TOKEN_BYTES, Unit};
use crate::corpora::Corpus;

/// Runs per measurement, so that the clock can resolve it.
const REPEATS: u32 = 100;

/// The steps of the work, and the whole.
pub const CONTENDERS: &[Contender] = &[
    Contender { name: "serde_json + jsonschema, no XML", prepare: naive },
    Contender { name: "tokenline, parsing", prepare: parse },
    Contender { name: "tokenline, schema validation", prepare: validate },
    Contender { name: "tokenline, `to_xml`", prepare: to_xml },
    Contender { name: "tokenline, `from_xml`, checked", prepare: from_xml },
    Contender { name: "tokenline, `check`, `to_xml`", prepare: all },
    Contender { name: "tokenline, in chunks of 4 bytes, `to_xml`", prepare: in_small_chunks },
];

/// The group over a typical response, and the largest valid one.
#[must_use]
pub fn group() -> Group {
    Group {
        name: "chat_analysis",
        title: "from a chat response to its checked analysis",
        unit: Unit::Microseconds,
        contenders: CONTENDERS,
        corpora: responses::all(),
    }
}

fn text(corpus: &Corpus) -> &str {
    str::from_utf8(&corpus.bytes).expect("a response is UTF-8")
}

fn response(corpus: &Corpus) -> LlmResponse {
    check(text(corpus)).expect("a valid response").response
}

/// A run of a step.
fn repeated<'c, T>(mut step: impl FnMut() -> T + 'c) -> Run<'c> {
    Box::new(move || {
        let start = Instant::now();
        for _ in 0..REPEATS {
            black_box(step());
        }
        start.elapsed() / REPEATS
    })
}

fn naive(corpus: &Corpus) -> Run<'_> {
    let schema = serde_json::from_str(RESPONSE_SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let text = text(corpus);
    repeated(move || {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert!(validator.is_valid(&value));
        serde_json::from_value::<LlmResponse>(value).expect("a response")
    })
}

fn parse(corpus: &Corpus) -> Run<'_> {
    let mut parser = Parser::new();
    let text = text(corpus);
    repeated(move || parser.parse(text).expect("JSON").range().len())
}

fn validate(corpus: &Corpus) -> Run<'_> {
    let mut parser = Parser::new();
    let text = text(corpus);
    Box::new(move || {
        let value = parser.parse(text).expect("JSON");
        repeated(|| validator().validate(black_box(value)).expect("a valid response"))()
    })
}

fn to_xml(corpus: &Corpus) -> Run<'_> {
    let response = response(corpus);
    repeated(move || response.to_xml().expect("XML"))
}

fn from_xml(corpus: &Corpus) -> Run<'_> {
    let xml = response(corpus).to_xml().expect("XML");
    repeated(move || LlmResponse::from_xml(&xml).expect("a response"))
}

fn all(corpus: &Corpus) -> Run<'_> {
    repeated(|| check(text(corpus)).expect("a valid response").response.to_xml().expect("XML"))
}

fn in_small_chunks(corpus: &Corpus) -> Run<'_> {
    let text = text(corpus);
    repeated(move || {
        let mut reader = ResponseReader::new();
        let mut shown = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let size = (TOKEN_BYTES.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at));
            let (chunk, after) = rest.split_at(size.unwrap_or(rest.len()));
            shown += reader.push(chunk).expect("valid so far").len();
            rest = after;
        }
        (shown, reader.finish().expect("a valid response").response.to_xml().expect("XML"))
    })
}
