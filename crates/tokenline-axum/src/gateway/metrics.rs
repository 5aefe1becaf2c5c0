//! Counters, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::RequestSummary;

/// Sums over all requests that have ended.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<Sums>);

#[derive(Debug, Default)]
struct Sums {
    /// By the client's API and the status.
    requests: BTreeMap<(&'static str, u16), u64>,
    /// By the client's API: the time of requests.
    durations: BTreeMap<&'static str, Histogram>,
    open: u64,
    failed: u64,
    left: u64,
    calls: u64,
    calls_in_text: u64,
    rejected: u64,
    records: u64,
    rejected_records: u64,
    reasks: u64,
    continuations: u64,
    input_tokens: u64,
    output_tokens: u64,
}

/// The upper bounds of durations, in seconds.
const BOUNDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];

#[derive(Debug, Default)]
struct Histogram {
    /// The number of durations up to each bound.
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Metrics {
    pub(super) fn begin(&self) {
        self.with(|sums| sums.open += 1);
    }

    pub(super) fn end(&self, request: &RequestSummary) {
        self.with(|sums| {
            let client = request.client.as_str();
            sums.open = sums.open.saturating_sub(1);
            *sums.requests.entry((client, request.status)).or_default() += 1;
            sums.durations.entry(client).or_default().add(request.duration);
            sums.failed += u64::from(request.failure.is_some());
            sums.left += u64::from(request.client_left);
            sums.calls += request.tool_calls;
            sums.calls_in_text += request.calls_in_text;
            sums.rejected += request.rejected_calls;
            sums.records += request.records;
            sums.rejected_records += request.rejected_records;
            sums.reasks += request.reasks;
            sums.continuations += request.continuations;
            sums.input_tokens += request.usage.input_tokens.unwrap_or(0);
            sums.output_tokens += request.usage.output_tokens.unwrap_or(0);
        });
    }

    fn with<R>(&self, change: impl FnOnce(&mut Sums) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All metrics as text.
    pub(super) fn to_text(&self) -> String {
        self.with(|sums| sums.to_text().expect("memory takes it"))
    }
}

impl Histogram {
    fn add(&mut self, duration: Duration) {
        for (count, bound) in self.counts.iter_mut().zip(BOUNDS) {
            *count += u64::from(duration.as_secs_f64() <= bound);
        }
        self.count += 1;
        self.sum += duration;
    }
}

impl Sums {
    fn to_text(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            writeln!(out, "# HELP tokenline_gateway_{name} {help}\n# TYPE tokenline_gateway_{name} {kind}")
        };
        head(&mut out, "requests_total", "counter", "Requests that have ended.")?;
        for ((client, status), count) in &self.requests {
            let labels = format!("client=\"{client}\",status=\"{status}\"");
            writeln!(out, "tokenline_gateway_requests_total{{{labels}}} {count}")?;
        }
        let name = "request_duration_seconds";
        head(&mut out, name, "histogram", "Time from a request to the end of its response.")?;
        for (client, Histogram { counts, count, sum }) in &self.durations {
            for (below, bound) in counts.iter().zip(BOUNDS) {
                let labels = format!("client=\"{client}\",le=\"{bound}\"");
                writeln!(out, "tokenline_gateway_{name}_bucket{{{labels}}} {below}")?;
            }
            writeln!(out, "tokenline_gateway_{name}_bucket{{client=\"{client}\",le=\"+Inf\"}} {count}")?;
            writeln!(out, "tokenline_gateway_{name}_sum{{client=\"{client}\"}} {}", sum.as_secs_f64())?;
            writeln!(out, "tokenline_gateway_{name}_count{{client=\"{client}\"}} {count}")?;
        }
        head(&mut out, "open_requests", "gauge", "Requests that have not ended.")?;
        writeln!(out, "tokenline_gateway_open_requests {}", self.open)?;
        for (name, help, count) in [
            ("failed_total", "Requests that ended with an error.", self.failed),
            ("client_left_total", "Requests whose client left before the end.", self.left),
            ("tool_calls_total", "Tool calls delivered.", self.calls),
            ("calls_in_text_total", "Tool calls read out of a model's text.", self.calls_in_text),
            ("rejected_calls_total", "Tool calls rejected.", self.rejected),
            ("records_total", "Records delivered in responses with a schema.", self.records),
            (
                "rejected_records_total",
                "Records of such responses that the schema rejects.",
                self.rejected_records,
            ),
            ("reasks_total", "Further requests for what was rejected.", self.reasks),
            ("continuations_total", "Further requests for the rest of a response.", self.continuations),
            ("input_tokens_total", "Tokens of prompts.", self.input_tokens),
            ("output_tokens_total", "Tokens of responses.", self.output_tokens),
        ] {
            head(&mut out, name, "counter", help)?;
            writeln!(out, "tokenline_gateway_{name} {count}")?;
        }
        Ok(out)
    }
}
