//! The account of a request: what is counted until it ends.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokenline::ResponseEvent;
use tokenline::llm::Provider;
use tokenline::llm::writer::Failure;

use super::{Gateway, RequestSummary};

/// Counts what the gateway does for a request, and reports it when it is dropped: at the end of the response, or when the
/// client has left.
pub(super) struct Account {
    gateway: Arc<Gateway>,
    pub(super) summary: RequestSummary,
    started: Instant,
    is_complete: bool,
}

impl Account {
    pub(super) fn new(gateway: &Arc<Gateway>, id: String, client: Provider) -> Self {
        gateway.metrics.begin();
        let summary = RequestSummary::new(id, client, gateway.upstream.provider());
        Self { gateway: gateway.clone(), summary, started: Instant::now(), is_complete: false }
    }

    /// Counts an event of the response.
    pub(super) fn count<T>(&mut self, event: &ResponseEvent<T>) {
        match event {
            ResponseEvent::ToolCall { record, .. } => {
                self.summary.tool_calls += 1;
                self.summary.calls_in_text += u64::from(record.is_some());
            }
            ResponseEvent::RejectedCall { call, .. } => {
                self.summary.rejected_calls += 1;
                self.summary.first_reject.get_or_insert(call.diagnostic.code);
            }
            ResponseEvent::Usage(usage) => self.summary.usage = *usage,
            _ => {}
        }
    }

    /// Masks the upstream's key in text. Other bytes stay.
    pub(super) fn mask(&self, bytes: Bytes) -> Bytes {
        match str::from_utf8(&bytes) {
            Ok(text) => match self.gateway.upstream.mask_secrets(text) {
                Cow::Owned(masked) => masked.into(),
                Cow::Borrowed(_) => bytes,
            },
            Err(_) => bytes,
        }
    }

    /// The time of silence after which a stream gets an event without content.
    pub(super) fn ping(&self) -> Duration {
        self.gateway.ping
    }

    /// Notes that the client gets a byte.
    pub(super) fn sent(&mut self) {
        let elapsed = self.started.elapsed();
        self.summary.first_byte.get_or_insert(elapsed);
    }

    /// Notes that the response has ended. The first error counts.
    pub(super) fn end(&mut self, failure: Option<Failure>) {
        self.is_complete = true;
        if let Some(failure) = failure {
            self.summary.failure.get_or_insert(failure);
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.summary.duration = self.started.elapsed();
        self.summary.client_left = !self.is_complete;
        self.gateway.metrics.end(&self.summary);
        if let Some(observer) = &self.gateway.observer {
            observer(&self.summary);
        }
    }
}
