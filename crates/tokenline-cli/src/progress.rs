//! The progress of a response, on a terminal.

use std::future;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokenline::json::Raw;
use tokenline::llm::ResponseParser;
use tokenline::llm::client::ContinuationReport;

use crate::emit::count;
use crate::log;

/// A line at the bottom of the terminal. Without a terminal it is hidden.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The name of the model.
    source: String,
    started: Instant,
}

/// The interval between updates.
const REDRAW: Duration = Duration::from_millis(200);

impl Progress {
    /// Shows that the program waits for the response.
    pub(crate) fn start(source: &str) -> Self {
        // Draws on standard error, and only if that is a terminal.
        let bar = log::progress(ProgressBar::new_spinner());
        bar.set_style(log::progress_style(&[(14, "{spinner} [{elapsed}] ")]));
        let progress = Self { bar, source: log::printable(source, &[]), started: Instant::now() };
        progress.show("waiting for the response");
        progress.bar.enable_steady_tick(Duration::from_millis(100));
        progress
    }

    fn show(&self, message: &str) {
        self.bar.set_message(format!("{}: {message}", self.source));
    }

    /// Restarts the clock as the response begins.
    pub(crate) fn begin(&mut self) {
        self.started = Instant::now();
    }

    /// Waits until the next update is due.
    pub(crate) async fn due(&self) {
        if self.bar.is_hidden() {
            future::pending::<()>().await;
        }
        tokio::time::sleep(REDRAW).await;
    }

    /// Shows the progress of a response.
    pub(crate) fn update(&self, parser: &ResponseParser<Raw>) {
        if self.bar.is_hidden() {
            return;
        }
        let known = parser.usage().and_then(|usage| usage.output_tokens);
        // Until the provider reports usage, count deltas: most send one per token.
        let (about, tokens) = known.map_or(("~", parser.delta_count()), |tokens| ("", tokens));
        let rate = tokens as f64 / self.started.elapsed().as_secs_f64().max(0.1);
        let report = parser.report();
        let counts = match (report.records(), report.tool_calls()) {
            (0, calls @ 1..) => count(calls, "tool call"),
            (records, 0) => count(records, "record"),
            (records, calls) => format!("{}, {}", count(records, "record"), count(calls, "tool call")),
        };
        let rejected = report.rejected();
        self.show(&format!("{about}{tokens} tokens, {counts}, {rejected} rejected, {rate:.0} tokens/s"));
    }

    /// Shows the progress of a continued response.
    pub(crate) fn update_continued(&self, report: ContinuationReport<'_>) {
        let (records, rejected) = (count(report.records(), "record"), report.rejected());
        let requests = count(u64::from(report.requests()), "request");
        self.show(&format!("{requests}, {records}, {rejected} rejected"));
    }

    /// The line, to be hidden while others write.
    pub(crate) fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Removes the line.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
