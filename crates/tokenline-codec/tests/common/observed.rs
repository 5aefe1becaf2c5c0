//! A recorder and a subscriber for one part of a test.
#![allow(dead_code, unreachable_pub, reason = "a module shared by several test programs")]

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tokenline_core::Report;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;

/// Recorded metrics and logs.
#[derive(Debug)]
pub struct Observed {
    /// Counters that are not 0, as `name{label=value,...}`; for histograms, the number of samples.
    pub metrics: BTreeMap<String, u64>,
    /// The samples of all histograms.
    pub samples: Vec<f64>,
    /// The log, including spans as they are created, entered, exited and closed.
    pub log: String,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic before").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a closure with everything switched on.
pub fn observed<R>(run: impl FnOnce() -> R) -> (R, Observed) {
    observed_from(LevelFilter::TRACE, run)
}

/// Runs a closure, and logs events of this level or above.
pub fn observed_from<R>(level: LevelFilter, run: impl FnOnce() -> R) -> (R, Observed) {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_span_events(FmtSpan::FULL)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    let run = || metrics::with_local_recorder(&recorder, run);
    let result = tracing::subscriber::with_default(subscriber, run);

    let (mut metrics, mut samples) = (BTreeMap::new(), Vec::new());
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let labels: Vec<_> =
            key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let count = match value {
            DebugValue::Counter(count) => count,
            DebugValue::Gauge(_) => panic!("there is none"),
            DebugValue::Histogram(values) => {
                samples.extend(values.iter().map(|value| value.into_inner()));
                values.len() as u64
            }
        };
        if count > 0 {
            metrics.insert(format!("{}{{{}}}", key.key().name(), labels.join(",")), count);
        }
    }
    let log = String::from_utf8(log.0.lock().expect("no panic before").clone()).expect("UTF-8");
    (result, Observed { metrics, samples, log })
}

impl Observed {
    /// Checks that the counts are what one stream reported, and nothing else.
    pub fn assert_is(&self, source: &str, outcome: &str, bytes: usize, events: u64, report: &Report) {
        let delivered = report.records() + report.tool_calls();
        let mut expected = BTreeMap::new();
        for (name, count) in [
            ("tokenline_bytes_total", bytes as u64),
            ("tokenline_events_total", events),
            ("tokenline_records_total", report.records()),
            ("tokenline_tool_calls_total", report.tool_calls()),
            ("tokenline_time_to_first_record_seconds", u64::from(delivered > 0)),
        ] {
            expected.insert(format!("{name}{{source={source}}}"), count);
        }
        let rejects = report.by_code().iter().filter(|(code, _)| !code.is_note());
        for (code, count) in rejects {
            expected.insert(format!("tokenline_rejected_total{{source={source},code={code}}}"), *count);
        }
        expected.insert(format!("tokenline_streams_total{{source={source},outcome={outcome}}}"), 1);
        expected.retain(|_, count| *count > 0);
        let mut metrics = self.metrics.clone();
        metrics.remove(&format!("tokenline_time_per_chunk_seconds{{source={source}}}"));
        let first = metrics.remove(&format!("tokenline_time_to_first_chunk_seconds{{source={source}}}"));
        assert_eq!(first, (source != "text" && bytes > 0).then_some(1));
        assert_eq!(metrics, expected);

        let counts = format!(
            "outcome=\"{outcome}\" bytes={bytes} events={events} records={} tool_calls={} rejected={}",
            report.records(),
            report.tool_calls(),
            report.rejected(),
        );
        assert_eq!(self.lines(&format!("}}: tokenline: ended {counts}")), 1, "{counts}: {}", self.log);
        // A model's response has its own attributes before the counts.
        let span = if source == "text" { "tokenline.stream" } else { "chat" };
        let (span, end) = (format!("{span}{{source=\"{source}\" "), format!(" {counts}}}: tokenline: close"));
        let closed = self.log.lines().filter(|line| line.contains(&span) && line.ends_with(&end)).count();
        assert_eq!(closed, 1, "{span}{end}: {}", self.log);
        assert_eq!(self.lines("tokenline: first record"), usize::from(delivered > 0));
        assert_eq!(self.lines("tokenline: new"), 1);
    }

    /// How many lines of the log contain this.
    pub fn lines(&self, text: &str) -> usize {
        self.log.lines().filter(|line| line.contains(text)).count()
    }

    /// Where the log or a label contains this.
    pub fn find(&self, text: &str) -> Option<&str> {
        let metrics = self.metrics.keys().map(String::as_str);
        self.log.lines().chain(metrics).find(|line| line.to_lowercase().contains(&text.to_lowercase()))
    }
}
