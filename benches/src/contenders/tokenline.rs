//! Tokenline itself: the record decoder over chunks, records validated on the tape.

use std::hint::black_box;
use std::ops::Range;

use bytes::Bytes;
use tokenline::json::{Parser, Step};
use tokenline::schema::SchemaValidator;
use tokenline::{Event, Options, RecordDecoder, Validate};

use super::{CHUNK_BYTES, Receiver, Run, in_chunks, whole};
use crate::corpora::Corpus;

/// Chunks to records, held against the corpus's schema if there is a validator.
struct Tokenline {
    decoder: RecordDecoder,
    validator: Option<SchemaValidator>,
}

impl Receiver for Tokenline {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        let mut input = &stream[range];
        let mut records = 0;
        loop {
            let decoded = self.decoder.decode(input);
            input = &input[decoded.consumed..];
            match decoded.event {
                Some(Event::Record(record)) => {
                    let is_valid = match &self.validator {
                        Some(validator) => validator.validate(record.value).is_ok(),
                        None => true,
                    };
                    records += usize::from(is_valid);
                    black_box(record);
                }
                Some(_) => {}
                None => return records,
            }
        }
    }
}

/// The whole of it: framing, UTF-8, JSON and the schema.
pub(super) fn pipeline(corpus: &Corpus) -> impl Receiver + 'static {
    let schema: serde_json::Value = serde_json::from_str(corpus.schema).expect("a corpus's schema is JSON");
    let validator = SchemaValidator::new(&schema).expect("a corpus's schema is one");
    Tokenline { decoder: RecordDecoder::new(Options::lenient()), validator: Some(validator) }
}

/// Records, nothing validated.
pub(super) fn records_alone() -> impl Receiver + 'static {
    Tokenline { decoder: RecordDecoder::new(Options::lenient()), validator: None }
}

/// Records in chunks of 64 KiB, nothing validated.
pub(super) fn records(corpus: &Corpus) -> Run<'_> {
    in_chunks(corpus, CHUNK_BYTES, records_alone())
}

/// The parser alone over the whole text, which is UTF-8 checked first; it finds the ends itself.
pub(super) fn tape(corpus: &Corpus) -> Run<'_> {
    let mut parser = Parser::new();
    whole(corpus, move || {
        let mut rest = str::from_utf8(&corpus.bytes).expect("lines of UTF-8");
        let mut records = 0;
        while !rest.is_empty() {
            parser.reset();
            let Step::Complete { end } = parser.resume(rest) else { break };
            black_box(parser.value(rest));
            records += 1;
            rest = &rest[end + 1..];
        }
        records
    })
}

/// How the record grows, with each chunk.
pub(super) fn deltas() -> impl Receiver + 'static {
    Deltas(RecordDecoder::new(Options::lenient().partials(true)))
}

/// What there is of the record, after each chunk.
pub(super) fn snapshots() -> impl Receiver + 'static {
    Snapshots(RecordDecoder::new(Options::lenient()))
}

/// Every delta is looked at, with its depth and key.
struct Deltas(RecordDecoder);

impl Receiver for Deltas {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        receive_whole(&mut self.0, &stream[range])
    }
}

/// A view of the record after each token.
struct Snapshots(RecordDecoder);

impl Receiver for Snapshots {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        let records = receive_whole(&mut self.0, &stream[range]);
        if let Some(snapshot) = self.0.snapshot() {
            black_box(snapshot.value.get("note"));
        }
        records
    }
}

/// Looks at every event; counts the records.
#[inline]
fn receive_whole(decoder: &mut RecordDecoder, mut input: &[u8]) -> usize {
    let mut records = 0;
    loop {
        let decoded = decoder.decode(input);
        input = &input[decoded.consumed..];
        match decoded.event {
            Some(event) => {
                records += usize::from(matches!(event, Event::Record(_)));
                black_box(&event);
            }
            None => return records,
        }
    }
}
