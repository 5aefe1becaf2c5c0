//! The result of parsing a response.

use tokenline_core::{Diagnostic, Limits, RejectedCall, Report, ToolCall};

/// The tool calls of a complete response, and its rejects.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ParsedCalls {
    /// The calls, in the order of the response.
    pub calls: Vec<ToolCall>,
    /// Rejected calls: of an unknown tool, without a name, with missing or invalid parameters, malformed, truncated.
    /// Each with position, reason and received text. At most [`Limits::diagnostics`] are kept; the report counts all.
    pub rejected: Vec<RejectedCall>,
    /// Counts, and all diagnostics in order; the same as for a stream.
    pub report: Report,
}

/// Collects calls and rejects.
pub(super) struct Collector {
    parsed: ParsedCalls,
    limits: Limits,
}

impl Collector {
    pub(super) fn new(limits: &Limits) -> Self {
        let parsed = ParsedCalls { report: Report::new(limits), ..ParsedCalls::default() };
        Self { parsed, limits: *limits }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn add(&mut self, call: Result<ToolCall, Box<RejectedCall>>) {
        match call {
            Ok(call) => {
                self.parsed.report.count_tool_call();
                self.parsed.calls.push(call);
            }
            Err(rejected) => {
                self.parsed.report.add(rejected.diagnostic.clone());
                if self.parsed.rejected.len() < self.limits.diagnostics {
                    self.parsed.rejected.push(*rejected);
                }
            }
        }
    }

    pub(super) fn reject(&mut self, diagnostic: Diagnostic, received: &str) {
        self.add(Err(Box::new(RejectedCall::new(diagnostic, received))));
    }

    pub(super) fn note(&mut self, diagnostic: Diagnostic) {
        self.parsed.report.add(diagnostic);
    }

    pub(super) fn finish(mut self) -> ParsedCalls {
        self.parsed.report.set_complete();
        self.parsed
    }
}
