//! tokenline: the record decoder over chunks, with validation on the tape.

use std::cell::RefCell;
use std::hint::black_box;
use std::ops::Range;

use bytes::Bytes;
use tokenline::adapter::OpenValidation;
use tokenline::json::{Parser, Step, Value};
use tokenline::schema::SchemaValidator;
use tokenline::{CheckedChunk, Event, Options, RecordDecoder};

use super::{CHUNK_BYTES, Receiver, Run, in_chunks, timed_pass};
use crate::corpora::Corpus;

/// Chunks to records, validated if there is a validator.
struct Tokenline {
    decoder: RecordDecoder,
    validation: Option<OpenValidation<SchemaValidator>>,
}

impl Receiver for Tokenline {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        let mut chunk = CheckedChunk::new(&stream[range]);
        let mut records = 0;
        while let Some(event) = self.decoder.next_event(&mut chunk) {
            if let Event::Record(record) = event {
                let is_valid = match &mut self.validation {
                    Some(validation) => validation.finish(&record).is_ok(),
                    None => true,
                };
                records += usize::from(is_valid);
                black_box(record);
            }
        }
        if let Some(validation) = &mut self.validation {
            validation.read_on(&mut self.decoder);
        }
        records
    }
}

/// The complete pipeline: framing, UTF-8, JSON and the schema.
pub(super) fn pipeline(corpus: &Corpus) -> impl Receiver + 'static {
    let schema: serde_json::Value = serde_json::from_str(corpus.schema).expect("a corpus's schema is JSON");
    let validator = SchemaValidator::new(&schema).expect("a corpus's schema is valid");
    let validation = Some(OpenValidation::new(validator));
    Tokenline { decoder: RecordDecoder::new(Options::lenient()), validation }
}

/// Records without validation.
pub(super) fn records_alone() -> impl Receiver + 'static {
    Tokenline { decoder: RecordDecoder::new(Options::lenient()), validation: None }
}

/// Records from chunks of 64 KiB, without validation.
pub(super) fn records(corpus: &Corpus) -> Run<'_> {
    in_chunks(corpus, CHUNK_BYTES, records_alone())
}

/// Only the parser, over the whole text after a UTF-8 check, which is the one that the library makes. It finds the ends of
/// the records itself.
pub(super) fn tape(corpus: &Corpus) -> Run<'_> {
    parsed(corpus, |value| {
        black_box(value);
    })
}

/// The same, and every value read from the tape: names, strings without their escapes, numbers as integers or floats.
pub(super) fn converted(corpus: &Corpus) -> Run<'_> {
    let buffer = RefCell::new(String::new());
    parsed(corpus, move |value| convert(value, &mut buffer.borrow_mut()))
}

fn parsed<'c>(corpus: &'c Corpus, read: impl Fn(Value<'_>) + 'c) -> Run<'c> {
    let mut parser = Parser::new();
    timed_pass(corpus, move || {
        let mut rest = simdutf8::basic::from_utf8(&corpus.bytes).expect("lines of UTF-8");
        let mut records = 0;
        while !rest.is_empty() {
            parser.reset();
            let Step::Complete { end } = parser.resume(rest) else { break };
            read(parser.value(rest));
            records += 1;
            rest = &rest[end + 1..];
        }
        records
    })
}

fn convert(value: Value<'_>, buffer: &mut String) {
    if let Some(text) = value.as_str_in(buffer) {
        black_box(text);
    } else if let Some(number) = value.as_number() {
        if number.is_written_as_integer() {
            black_box(number.as_i64());
        } else {
            black_box(number.as_f64());
        }
    } else if let Some(array) = value.as_array() {
        array.iter().for_each(|value| convert(value, buffer));
    } else if let Some(object) = value.as_object() {
        object.iter().for_each(|(name, value)| {
            black_box(name);
            convert(value, buffer);
        });
    } else {
        black_box(value.as_bool());
    }
}

/// The deltas of each chunk.
pub(super) fn deltas() -> impl Receiver + 'static {
    Deltas(RecordDecoder::new(Options::lenient().partials(true)))
}

/// A snapshot of the record after each chunk.
pub(super) fn snapshots() -> impl Receiver + 'static {
    Snapshots(RecordDecoder::new(Options::lenient()))
}

/// Reads every delta with its depth and key.
struct Deltas(RecordDecoder);

impl Receiver for Deltas {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        read_events(&mut self.0, &stream[range])
    }
}

/// Takes a snapshot after each token.
struct Snapshots(RecordDecoder);

impl Receiver for Snapshots {
    fn receive(&mut self, stream: &Bytes, range: Range<usize>) -> usize {
        let records = read_events(&mut self.0, &stream[range]);
        if let Some(snapshot) = self.0.snapshot() {
            black_box(snapshot.value.get("note"));
        }
        records
    }
}

/// Reads every event, and counts the records.
#[inline]
fn read_events(decoder: &mut RecordDecoder, chunk: &[u8]) -> usize {
    let mut chunk = CheckedChunk::new(chunk);
    let mut records = 0;
    while let Some(event) = decoder.next_event(&mut chunk) {
        records += usize::from(matches!(event, Event::Record(_)));
        black_box(&event);
    }
    records
}
