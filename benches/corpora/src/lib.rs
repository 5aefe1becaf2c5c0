//! Deterministic corpora, the same bytes on every machine: JSON Lines, and responses of models on the wire.

mod conversations;
mod definitions;
mod mixed;
pub mod random;
mod record;
mod sse;
mod tool_calls;
pub mod words;
mod write;

use bytes::Bytes;

use random::Random;

pub use sse::{Wire, openai_chat_sse};

/// The kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{"entity", "definition"}`, about 130 bytes.
    Definitions,
    /// A union of four record types discriminated by `type`, about 190 bytes.
    Mixed,
    /// `{"name", "parameters", "call_id"}` with nested parameters and escapes, about 290 bytes.
    ToolCalls,
    /// Conversations with non-ASCII text, about 2.7 KB.
    Conversations,
}

impl Kind {
    /// Every kind, shortest lines first.
    pub const ALL: [Self; 4] = [Self::Definitions, Self::Mixed, Self::ToolCalls, Self::Conversations];

    /// The name in tables and benchmark ids.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Definitions => "definitions",
            Self::Mixed => "mixed",
            Self::ToolCalls => "tool calls",
            Self::Conversations => "conversations",
        }
    }

    /// The JSON Schema that every line satisfies.
    #[must_use]
    pub const fn schema(self) -> &'static str {
        match self {
            Self::Definitions => definitions::SCHEMA,
            Self::Mixed => mixed::SCHEMA,
            Self::ToolCalls => tool_calls::SCHEMA,
            Self::Conversations => conversations::SCHEMA,
        }
    }

    const fn seed(self) -> u64 {
        match self {
            Self::Definitions => 1,
            Self::Mixed => 2,
            Self::ToolCalls => 3,
            Self::Conversations => 4,
        }
    }

    fn write(self, random: &mut Random, out: &mut String) {
        match self {
            Self::Definitions => definitions::write(random, out),
            Self::Mixed => mixed::write(random, out),
            Self::ToolCalls => tool_calls::write(random, out),
            Self::Conversations => conversations::write(random, out),
        }
    }
}

/// Valid JSON Lines, each ended by a line feed; or responses of a model that contain such records, or tool calls.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The name in tables and benchmark ids.
    pub name: &'static str,
    /// The lines, or the responses one after another.
    pub bytes: Bytes,
    /// The number of records or calls; for lines, the number of lines.
    pub records: usize,
    /// The JSON Schema that every record satisfies.
    pub schema: &'static str,
    /// The wire form of responses. Empty for lines.
    pub wire: Wire,
}

impl Corpus {
    /// Complete lines of one kind, at least `bytes` bytes.
    #[must_use]
    pub fn generate(kind: Kind, bytes: usize) -> Self {
        let mut random = Random::new(kind.seed());
        let mut out = String::with_capacity(bytes + 8192);
        let mut records = 0;
        while out.len() < bytes {
            kind.write(&mut random, &mut out);
            out.push('\n');
            records += 1;
        }
        let wire = Wire::default();
        Self { name: kind.name(), bytes: out.into(), records, schema: kind.schema(), wire }
    }

    /// One corpus of each kind, of `bytes` bytes each.
    #[must_use]
    pub fn all(bytes: usize) -> Vec<Self> {
        Kind::ALL.map(|kind| Self::generate(kind, bytes)).into()
    }

    /// One record, an object with an array of nested objects, on a line of exactly `bytes` bytes.
    ///
    /// # Panics
    ///
    /// If `bytes` is below 256.
    #[must_use]
    pub fn record_of_size(name: &'static str, bytes: usize) -> Self {
        Self {
            name,
            bytes: record::line(&mut Random::new(5), bytes, bytes).into(),
            records: 1,
            schema: record::SCHEMA,
            wire: Wire::default(),
        }
    }

    /// Like [`record_of_size`](Self::record_of_size), but nearly all of it is one text.
    #[must_use]
    pub fn record_with_text(name: &'static str, bytes: usize) -> Self {
        let bytes = record::line(&mut Random::new(5), bytes, 0).into();
        Self { name, bytes, records: 1, schema: record::SCHEMA, wire: Wire::default() }
    }

    /// One document of about `bytes` bytes: an object with an array of records of this kind.
    #[must_use]
    pub fn document(name: &'static str, kind: Kind, bytes: usize) -> Self {
        let lines = Self::generate(kind, bytes);
        let rows = String::from_utf8_lossy(&lines.bytes).trim_end().replace('\n', ",");
        let bytes = format!("{{\"rows\":[{rows}]}}").into();
        Self { name, bytes, records: 1, schema: "{}", wire: Wire::default() }
    }

    /// Responses of `bytes` bytes on the wire whose text is records, once per way to split them into chunks.
    #[must_use]
    pub fn responses_with_records(bytes: usize) -> Vec<Self> {
        sse::records(bytes)
    }

    /// Responses of `bytes` bytes on the wire with native tool calls, once per way to split them into chunks.
    #[must_use]
    pub fn responses_with_calls(bytes: usize) -> Vec<Self> {
        sse::calls(bytes)
    }

    /// Streams that receive a response with records at the same time, once per number of streams. All together receive
    /// `bytes` bytes or, if there are many, more.
    #[must_use]
    pub fn records_in_turn(bytes: usize) -> Vec<Self> {
        sse::records_in_turn(bytes)
    }

    /// As [`records_in_turn`](Self::records_in_turn), with native tool calls.
    #[must_use]
    pub fn calls_in_turn(bytes: usize) -> Vec<Self> {
        sse::calls_in_turn(bytes)
    }

    /// A response of about `bytes` bytes on the wire with records in the texts of its choices, in one chunk per event, once
    /// per number of choices.
    #[must_use]
    pub fn choices_in_turn(bytes: usize) -> Vec<Self> {
        sse::choices(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 1_000_000;

    /// FNV-1a, 64 bits.
    fn checksum(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Figures are comparable over time only while these checksums hold.
    #[test]
    fn corpora_do_not_drift() {
        let expected = [
            (Kind::Definitions, 130, 0x416f_30ee_f6e4_8a6d),
            (Kind::Mixed, 190, 0x13a3_b39a_eb70_0aff),
            (Kind::ToolCalls, 290, 0xfc85_02ca_32b7_399a),
            (Kind::Conversations, 2700, 0x3507_996b_5339_2c1c),
        ];
        for (kind, line, sum) in expected {
            let corpus = Corpus::generate(kind, BYTES);
            let average = corpus.bytes.len() / corpus.records;
            assert!(average.abs_diff(line) * 10 <= line, "{kind:?}: {average} bytes a line");
            assert_eq!(checksum(&corpus.bytes), sum, "{kind:?}");
        }
        assert_eq!(checksum(&Corpus::record_of_size("64 KB", 65_536).bytes), 0xd709_7c59_d1cb_fcd2);
        assert_eq!(checksum(&openai_chat_sse("{\"a\": \"é🎉\"}\n", 4)), 0xc478_65e8_32ba_0146);
        assert_eq!(checksum(&Corpus::responses_with_records(BYTES)[0].bytes), 0x9a1a_403d_e605_e8ff);
        assert_eq!(checksum(&Corpus::responses_with_calls(BYTES)[0].bytes), 0xe227_d9a9_afe0_c3c9);
    }

    #[test]
    fn corpora_are_valid() {
        let mut corpora = Corpus::all(BYTES);
        for bytes in [256, 300, 301, 65_536] {
            let record = Corpus::record_of_size("record", bytes);
            assert_eq!(record.bytes.len(), bytes);
            corpora.push(record);
        }
        for corpus in corpora {
            let schema = serde_json::from_str(corpus.schema).expect("the schema is JSON");
            let validator = jsonschema::validator_for(&schema).expect("a valid schema");
            let mut lines = 0;
            for line in std::str::from_utf8(&corpus.bytes).expect("UTF-8").lines() {
                let value = serde_json::from_str(line).expect("each line is JSON");
                assert!(validator.is_valid(&value), "{}: {line}", corpus.name);
                lines += 1;
            }
            assert_eq!(lines, corpus.records, "{}", corpus.name);
            assert_eq!(corpus.bytes.last(), Some(&b'\n'));
        }
    }

    #[test]
    fn events_carry_the_text() {
        let text = "{\"a\": \"é🎉\"}\n{\"b\": \"\\n\"}\n";
        let events = openai_chat_sse(text, 3);
        let mut joined = String::new();
        for line in std::str::from_utf8(&events).expect("UTF-8").lines() {
            let Some(data) = line.strip_prefix("data: ").filter(|data| *data != "[DONE]") else {
                continue;
            };
            let chunk: serde_json::Value = serde_json::from_str(data).expect("each event is JSON");
            joined.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or(""));
        }
        assert_eq!(joined, text);
    }

    #[test]
    fn responses_are_split_into_chunks() {
        for corpora in [Corpus::responses_with_records(BYTES), Corpus::responses_with_calls(BYTES)] {
            let names: Vec<_> = corpora.iter().map(|corpus| corpus.name).collect();
            assert_eq!(names, ["64 KiB", "one event", "16 bytes"]);
            for Corpus { bytes, wire, .. } in &corpora {
                assert_eq!(wire.responses.concat().concat(), *bytes);
                assert!(
                    wire.responses.iter().all(|response| response.concat().ends_with(b"data: [DONE]\n\n"))
                );
            }
            let [large, events, small] = corpora.try_into().expect("three ways to split");
            assert!(large.wire.responses.iter().flatten().all(|chunk| chunk.len() <= 65_536));
            assert_eq!(events.wire.responses.concat().len(), events.wire.events);
            assert!(events.wire.responses.iter().flatten().all(|chunk| chunk.ends_with(b"\n\n")));
            assert!(small.wire.responses.iter().flatten().all(|chunk| chunk.len() <= 16));
        }
    }
}
