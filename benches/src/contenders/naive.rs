//! Typical code without tokenline: `LinesCodec`, serde_json's `Value`, jsonschema's `is_valid`.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use jsonschema::Validator;
use serde_json::Value;
use tokio_util::codec::{Decoder, LinesCodec};

use super::Receiver;
use crate::corpora::Corpus;

/// The compiled schema of a corpus.
pub(super) fn validator(corpus: &Corpus) -> Validator {
    let schema = serde_json::from_str(corpus.schema).expect("a corpus's schema is JSON");
    jsonschema::validator_for(&schema).expect("a corpus's schema is valid")
}

/// The record on a line, if valid.
pub(super) fn record(validator: &Validator, line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(|value| validator.is_valid(value))
}

/// A `LinesCodec` used as a push parser; each complete line is parsed and validated.
pub(super) struct Naive {
    codec: LinesCodec,
    buffer: BytesMut,
    validator: Validator,
    record: Option<Value>,
}

impl Naive {
    /// Creates one with an empty buffer.
    pub(super) fn new(corpus: &Corpus) -> Self {
        Self { codec: LinesCodec::new(), buffer: BytesMut::new(), validator: validator(corpus), record: None }
    }
}

impl Receiver for Naive {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        // Free the previous record here, so that freeing does not count as latency.
        self.record = None;
        self.buffer.extend_from_slice(&stream[range]);
        let mut records = 0;
        while let Some(line) = self.codec.decode(&mut self.buffer).expect("lines of UTF-8") {
            self.record = record(&self.validator, &line);
            records += usize::from(self.record.is_some());
        }
        records
    }
}
