//! From a record's last chunk to the validated record.

use super::naive::Naive;
use super::{Contender, Group, Unit, last_chunk, tokenline};
use crate::corpora::Corpus;

/// Everything before the last chunk, of 4 bytes, has been received before.
pub const CONTENDERS: &[Contender] = &[
    Contender {
        name: "`LinesCodec` + serde_json + jsonschema",
        prepare: |corpus| last_chunk(corpus, Naive::new(corpus)),
    },
    Contender { name: "tokenline", prepare: |corpus| last_chunk(corpus, tokenline::pipeline(corpus)) },
];

/// The group over records of 300 bytes, 64 KB and 1 MB.
#[must_use]
pub fn group() -> Group {
    Group {
        name: "latency",
        title: "last chunk of a record to the validated record",
        unit: Unit::Microseconds,
        contenders: CONTENDERS,
        corpora: vec![
            Corpus::record_of_size("300 B", 300),
            Corpus::record_of_size("64 KB", 64_000),
            Corpus::record_of_size("1 MB", 1_000_000),
        ],
    }
}
