//! Chunks of one token to validated records.

use super::naive::Naive;
use super::{Contender, Group, TOKEN_BYTES, Unit, in_chunks, tokenline};
use crate::corpora::Corpus;

/// The bytes and the work of `pipeline`, in chunks as a model produces them.
pub const CONTENDERS: &[Contender] = &[
    Contender {
        name: "`LinesCodec` + serde_json + jsonschema",
        prepare: |corpus| in_chunks(corpus, TOKEN_BYTES, Naive::new(corpus)),
    },
    Contender {
        name: "tokenline",
        prepare: |corpus| in_chunks(corpus, TOKEN_BYTES, tokenline::pipeline(corpus)),
    },
];

/// The group over corpora of `bytes` bytes.
#[must_use]
pub fn group(bytes: usize) -> Group {
    Group {
        name: "tokens",
        title: "chunks of 4 bytes to validated records",
        unit: Unit::NanosecondsPerToken,
        contenders: CONTENDERS,
        corpora: Corpus::all(bytes),
    }
}
