//! Retries of requests.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};

use super::ClientError;

/// The longest pause honoured. A longer one is left to the caller.
const MAX_WAIT: Duration = Duration::from_secs(60);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The number of times a request may be repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retries(pub(super) u32);

impl Retries {
    /// Tries until there is a response, an error that must not be repeated, or no retry left. Returns the response and
    /// the number of attempts.
    pub(super) async fn run<R, F>(self, attempt: impl Fn() -> F) -> Result<(R, u32), ClientError>
    where
        F: Future<Output = Result<R, ClientError>>,
    {
        // Shared with the closure; atomic because the future must be `Send`.
        let attempts = AtomicU32::new(0);
        let waits = ExponentialBuilder::default()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(self.0 as usize)
            .with_jitter();
        let counted = || {
            attempts.fetch_add(1, Ordering::Relaxed);
            attempt()
        };
        let result = counted
            .retry(waits)
            .when(ClientError::is_retryable)
            .adjust(|error, wait| wait.and_then(|wait| retry_delay(wait, error.retry_after())))
            .notify(log_retry)
            .await;
        match result {
            Ok(response) => Ok((response, attempts.into_inner())),
            Err(error) => Err(error.with_attempts(attempts.into_inner())),
        }
    }
}

/// Logs a retry.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "only logged"))]
fn log_retry(error: &ClientError, wait: Duration) {
    #[cfg(feature = "tracing")]
    tracing::warn!(
        target: "tokenline",
        kind = ?error.kind(),
        status = error.status(),
        wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        "request repeated"
    );
}

/// The delay before a retry, as the provider asks, if it does; `None` if that is too long.
fn retry_delay(wait: Duration, retry_after: Option<Duration>) -> Option<Duration> {
    match retry_after {
        None => Some(wait),
        Some(after) => (after <= MAX_WAIT).then_some(after),
    }
}

/// Whether an error response shows that the request did nothing and that the fault is transient.
pub(super) fn is_transient(status: StatusCode, headers: &HeaderMap, message: &str) -> bool {
    // OpenAI and Anthropic decide it themselves.
    match headers.get("x-should-retry").map(HeaderValue::as_bytes) {
        Some(b"true") => return true,
        Some(b"false") => return false,
        _ => {}
    }
    match status.as_u16() {
        // An exhausted quota does not recover by waiting.
        429 => !message.contains("insufficient_quota"),
        // The gateway gave up, but the model may still be running.
        504 | 524 => false,
        // Unsupported requests stay unsupported.
        501 | 505 => false,
        status => status >= 500,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderName;

    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        [(HeaderName::from_static(name), HeaderValue::from_static(value))].into_iter().collect()
    }

    #[test]
    fn only_transient_faults_are_repeated() {
        let none = HeaderMap::new();
        for (status, expected) in [
            (400, false),
            (401, false),
            (403, false),
            (404, false),
            (408, false),
            (409, false),
            (413, false),
            (429, true),
            (500, true),
            (501, false),
            (502, true),
            (503, true),
            (504, false),
            (524, false),
            (529, true),
            (200, false),
            (302, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_transient(status, &none, ""), expected, "{status}");
        }
        assert!(!is_transient(StatusCode::TOO_MANY_REQUESTS, &none, "insufficient_quota"));
        assert!(is_transient(StatusCode::CONFLICT, &headers("x-should-retry", "true"), ""));
        assert!(!is_transient(StatusCode::INTERNAL_SERVER_ERROR, &headers("x-should-retry", "false"), ""));
    }

    #[test]
    fn a_pause_above_a_minute_is_not_awaited() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        assert_eq!(retry_delay(second, None), Some(second));
        assert_eq!(retry_delay(second, Some(minute)), Some(minute));
        assert_eq!(retry_delay(second, Some(minute + second)), None);
    }
}
