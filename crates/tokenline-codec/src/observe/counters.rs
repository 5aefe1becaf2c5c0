//! A stream's handles to the recorder's counters.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::{Counter, Histogram, Unit};
use metrics::{counter, describe_counter, describe_histogram, histogram};
use tokenline_core::Code;

use super::outcome::Outcome;

const BYTES: &str = "tokenline_bytes_total";
const EVENTS: &str = "tokenline_events_total";
const RECORDS: &str = "tokenline_records_total";
const TOOL_CALLS: &str = "tokenline_tool_calls_total";
const REJECTED: &str = "tokenline_rejected_total";
const STREAMS: &str = "tokenline_streams_total";
const TIME_TO_FIRST_RECORD: &str = "tokenline_time_to_first_record_seconds";
const TIME_TO_FIRST_CHUNK: &str = "tokenline_time_to_first_chunk_seconds";
const TIME_PER_CHUNK: &str = "tokenline_time_per_chunk_seconds";

/// Registers the units and descriptions of the metrics with the installed recorder. Call it once, after
/// installing it.
pub fn describe_metrics() {
    describe_counter!(BYTES, Unit::Bytes, "Bytes read from the sources of streams");
    describe_counter!(EVENTS, Unit::Count, "Events that streams yielded");
    describe_counter!(RECORDS, Unit::Count, "Records delivered");
    describe_counter!(TOOL_CALLS, Unit::Count, "Tool calls delivered");
    describe_counter!(REJECTED, Unit::Count, "Rejects, by diagnostic code");
    describe_counter!(STREAMS, Unit::Count, "Streams that ended, by outcome");
    describe_histogram!(
        TIME_TO_FIRST_RECORD,
        Unit::Seconds,
        "Time from a stream's start to its first record or tool call"
    );
    describe_histogram!(
        TIME_TO_FIRST_CHUNK,
        Unit::Seconds,
        "Time from a model request to the first chunk of its response"
    );
    describe_histogram!(TIME_PER_CHUNK, Unit::Seconds, "Time between the chunks of a model's response");
}

/// Looked up once per stream, not per event.
pub(super) struct Counters {
    source: &'static str,
    pub(super) bytes: Counter,
    pub(super) events: Counter,
    pub(super) records: Counter,
    pub(super) tool_calls: Counter,
    /// The counters of the codes so far.
    rejected: BTreeMap<Code, Counter>,
    time_to_first_record: Histogram,
    pub(super) time_to_first_chunk: Histogram,
    pub(super) time_per_chunk: Histogram,
}

impl Counters {
    pub(super) fn new(source: &'static str) -> Self {
        Self {
            source,
            bytes: counter!(BYTES, "source" => source),
            events: counter!(EVENTS, "source" => source),
            records: counter!(RECORDS, "source" => source),
            tool_calls: counter!(TOOL_CALLS, "source" => source),
            rejected: BTreeMap::new(),
            time_to_first_record: histogram!(TIME_TO_FIRST_RECORD, "source" => source),
            time_to_first_chunk: histogram!(TIME_TO_FIRST_CHUNK, "source" => source),
            time_per_chunk: histogram!(TIME_PER_CHUNK, "source" => source),
        }
    }

    pub(super) fn rejected(&mut self, code: Code) {
        let source = self.source;
        let counter = || counter!(REJECTED, "source" => source, "code" => code.as_str());
        self.rejected.entry(code).or_insert_with(counter).increment(1);
    }

    pub(super) fn first(&self, elapsed: Duration) {
        self.time_to_first_record.record(elapsed.as_secs_f64());
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        counter!(STREAMS, "source" => self.source, "outcome" => outcome.as_str()).increment(1);
    }
}
