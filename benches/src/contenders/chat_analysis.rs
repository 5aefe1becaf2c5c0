//! A chat answer with its analysis: JSON in, checked, XML out.

use std::hint::black_box;
use std::time::Instant;

use tokenline::Validate;
use tokenline::chat_analysis::{LlmResponse, RESPONSE_SCHEMA, ResponseReader, check, validator};
use tokenline::json::Parser;

use super::{Contender, Group, Run, TOKEN_BYTES, Unit};
use crate::corpora::Corpus;

/// Each is run so often in a row that the clock sees it.
const REPEATS: u32 = 100;

/// The steps of the work, and all of it.
pub const CONTENDERS: &[Contender] = &[
    Contender { name: "serde_json + jsonschema, no XML", prepare: naive },
    Contender { name: "tokenline, parsing", prepare: parse },
    Contender { name: "tokenline, schema validation", prepare: validate },
    Contender { name: "tokenline, `to_xml`", prepare: to_xml },
    Contender { name: "tokenline, `from_xml`, checked", prepare: from_xml },
    Contender { name: "tokenline, `check`, `to_xml`", prepare: all },
    Contender { name: "tokenline, in pieces of 4 bytes, `to_xml`", prepare: in_pieces },
];

/// The group over an answer as a model writes it, and the largest that passes.
#[must_use]
pub fn group() -> Group {
    Group {
        name: "chat_analysis",
        title: "a chat answer to its checked analysis",
        unit: Unit::Microseconds,
        contenders: CONTENDERS,
        corpora: Corpus::chat_answers(),
    }
}

fn text(corpus: &Corpus) -> &str {
    str::from_utf8(&corpus.bytes).expect("an answer is UTF-8")
}

fn answer(corpus: &Corpus) -> LlmResponse {
    check(text(corpus)).expect("the answer passes").response
}

/// A run of a step that gives something.
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
        serde_json::from_value::<LlmResponse>(value).expect("an answer")
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
        repeated(|| validator().validate(black_box(value)).expect("the answer passes"))()
    })
}

fn to_xml(corpus: &Corpus) -> Run<'_> {
    let answer = answer(corpus);
    repeated(move || answer.to_xml().expect("XML"))
}

fn from_xml(corpus: &Corpus) -> Run<'_> {
    let xml = answer(corpus).to_xml().expect("XML");
    repeated(move || LlmResponse::from_xml(&xml).expect("an answer"))
}

fn all(corpus: &Corpus) -> Run<'_> {
    repeated(|| check(text(corpus)).expect("the answer passes").response.to_xml().expect("XML"))
}

fn in_pieces(corpus: &Corpus) -> Run<'_> {
    let text = text(corpus);
    repeated(move || {
        let mut reader = ResponseReader::new();
        let mut shown = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let size = (TOKEN_BYTES.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at));
            let (piece, after) = rest.split_at(size.unwrap_or(rest.len()));
            shown += reader.push(piece).expect("no fault").len();
            rest = after;
        }
        (shown, reader.finish().expect("the answer passes").response.to_xml().expect("XML"))
    })
}
