//! A stream's span, and the events in it.
//!
//! A log is read by more people than the data, and kept for longer. So of a diagnostic it contains only the
//! code and the position. The message may quote a provider's text; the path in the record consists of names
//! that the model wrote, while the path in the schema is the caller's own. Errors of the source are left out
//! as well: an HTTP client's error contains the URL, and with it keys.

use std::time::Duration;

use tokenline_core::{Code, Diagnostic};
use tracing::field::Empty;
use tracing::{Span, debug, debug_span, span, warn};

use super::ModelRequest;
use super::outcome::Outcome;

/// The span of a stream, and what it records at its end.
pub(super) struct Trace {
    source: &'static str,
    span: Span,
    counts: Counts,
    /// The finish reasons of the choices.
    reasons: Vec<String>,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) bytes: u64,
    pub(super) events: u64,
    pub(super) records: u64,
    pub(super) tool_calls: u64,
    pub(super) rejected: u64,
}

/// The same, inside the span.
pub(super) struct Entered<'a> {
    source: &'static str,
    span: &'a Span,
    _inside: span::Entered<'a>,
    counts: &'a mut Counts,
    reasons: &'a mut Vec<String>,
}

impl Trace {
    pub(super) fn new(source: &'static str) -> Self {
        let span = debug_span!(
            target: "tokenline",
            "tokenline.stream",
            source,
            outcome = Empty,
            bytes = Empty,
            events = Empty,
            records = Empty,
            tool_calls = Empty,
            rejected = Empty,
        );
        Self { source, span, counts: Counts::default(), reasons: Vec::new() }
    }

    /// Named after OpenTelemetry's semantic conventions for generative AI.
    pub(super) fn of_model(source: &'static str, request: &ModelRequest) -> Self {
        let span = debug_span!(
            target: "tokenline",
            "chat",
            source,
            otel.kind = "client",
            otel.name = request.model.as_ref().map(|model| format!("chat {model}")),
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = request.provider,
            gen_ai.request.model = request.model,
            // This library reads responses as streams only.
            gen_ai.request.stream = true,
            gen_ai.request.max_tokens = request.max_tokens,
            gen_ai.request.temperature = request.temperature,
            gen_ai.request.top_p = request.top_p,
            gen_ai.request.seed = request.seed,
            server.address = request.server_address,
            server.port = request.server_port,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.response.time_to_first_chunk = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            error.type = Empty,
            outcome = Empty,
            bytes = Empty,
            events = Empty,
            records = Empty,
            tool_calls = Empty,
            rejected = Empty,
        );
        Self { source, span, counts: Counts::default(), reasons: Vec::new() }
    }

    pub(super) fn enter(&mut self) -> Entered<'_> {
        let Self { source, span, counts, reasons } = self;
        Entered { source, _inside: span.enter(), span, counts, reasons }
    }
}

impl Entered<'_> {
    pub(super) fn counts(&mut self, count: impl FnOnce(&mut Counts)) {
        count(self.counts);
    }

    pub(super) fn first(&self, elapsed: Duration) {
        debug!(target: "tokenline", elapsed_ms = elapsed.as_secs_f64() * 1e3, "first record");
    }

    pub(super) fn first_chunk(&self, elapsed: Duration) {
        self.span.record("gen_ai.response.time_to_first_chunk", elapsed.as_secs_f64());
    }

    pub(super) fn usage(&self, [input, output, cached]: [Option<u64>; 3]) {
        self.span.record("gen_ai.usage.input_tokens", input);
        self.span.record("gen_ai.usage.output_tokens", output);
        self.span.record("gen_ai.usage.cache_read.input_tokens", cached);
    }

    pub(super) fn finish(&mut self, reason: &str) {
        self.reasons.push(reason.to_owned());
        self.span.record("gen_ai.response.finish_reasons", tracing::field::debug(&*self.reasons));
    }

    pub(super) fn rejected(&self, diagnostic: &Diagnostic) {
        let (source, code) = (self.source, diagnostic.code.as_str());
        match diagnostic.code {
            // With the source, because a filter for warnings hides the span.
            Code::ProviderError => {
                self.span.record("error.type", code);
                warn!(target: "tokenline", source, code, "provider error");
            }
            Code::StreamIncomplete => {
                self.span.record("error.type", code);
                warn!(target: "tokenline", source, code, "stream incomplete");
            }
            _ => debug!(
                target: "tokenline",
                code,
                origin = diagnostic.origin.as_str(),
                line = diagnostic.line,
                column = diagnostic.column,
                start = diagnostic.span.start,
                end = diagnostic.span.end,
                schema_path = diagnostic.schema_path.as_deref(),
                "rejected"
            ),
        }
    }

    pub(super) fn source_failed(&self) {
        self.span.record("error.type", "source_failed");
        warn!(target: "tokenline", source = self.source, "source failed");
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        let outcome = outcome.as_str();
        let Counts { bytes, events, records, tool_calls, rejected } = *self.counts;
        debug!(target: "tokenline", outcome, bytes, events, records, tool_calls, rejected, "ended");
        self.span.record("outcome", outcome);
        self.span.record("bytes", bytes);
        self.span.record("events", events);
        self.span.record("records", records);
        self.span.record("tool_calls", tool_calls);
        self.span.record("rejected", rejected);
    }
}
