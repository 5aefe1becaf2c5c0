//! When a request is sent again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};

use super::ClientError;

/// The longest that a provider is waited for. Whoever is told to wait for longer decides for themselves.
const MAX_WAIT: Duration = Duration::from_secs(60);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// How often a request may be repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retries(pub(super) u32);

impl Retries {
    /// Tries until there is an answer, an error that is not to be repeated, or no retry left. With the answer it says
    /// how often.
    pub(super) async fn run<R, F>(self, attempt: impl Fn() -> F) -> Result<(R, u32), ClientError>
    where
        F: Future<Output = Result<R, ClientError>>,
    {
        // Shared with the closure, and the future is to be `Send`.
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
        let outcome = counted
            .retry(waits)
            .when(ClientError::is_retryable)
            .adjust(|error, wait| wait.and_then(|wait| patience(wait, error.retry_after())))
            .notify(tell)
            .await;
        match outcome {
            Ok(answer) => Ok((answer, attempts.into_inner())),
            Err(error) => Err(error.with_attempts(attempts.into_inner())),
        }
    }
}

/// Tells those who watch that a request is sent once more.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody watches"))]
fn tell(error: &ClientError, wait: Duration) {
    #[cfg(feature = "tracing")]
    tracing::warn!(
        target: "tokenline",
        kind = ?error.kind(),
        status = error.status(),
        wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        "request repeated"
    );
}

/// How long to wait where the provider may have said so; `None` if that is too long.
fn patience(wait: Duration, retry_after: Option<Duration>) -> Option<Duration> {
    match retry_after {
        None => Some(wait),
        Some(after) => (after <= MAX_WAIT).then_some(after),
    }
}

/// Whether a refusal says that nothing was done, and that this may pass.
pub(super) fn may_pass(status: StatusCode, headers: &HeaderMap, message: &str) -> bool {
    // OpenAI and Anthropic say it themselves.
    match headers.get("x-should-retry").map(HeaderValue::as_bytes) {
        Some(b"true") => return true,
        Some(b"false") => return false,
        _ => {}
    }
    match status.as_u16() {
        // An account without money does not get any by waiting.
        429 => !message.contains("insufficient_quota"),
        // Whoever waited in between gave up; the model may be at it still.
        504 | 524 => false,
        // What the server cannot do, it cannot do later.
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
    fn only_what_produced_nothing_is_repeated() {
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
            assert_eq!(may_pass(status, &none, ""), expected, "{status}");
        }
        assert!(!may_pass(StatusCode::TOO_MANY_REQUESTS, &none, "insufficient_quota"));
        assert!(may_pass(StatusCode::CONFLICT, &headers("x-should-retry", "true"), ""));
        assert!(!may_pass(StatusCode::INTERNAL_SERVER_ERROR, &headers("x-should-retry", "false"), ""));
    }

    #[test]
    fn patience_ends_at_a_minute() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        assert_eq!(patience(second, None), Some(second));
        assert_eq!(patience(second, Some(minute)), Some(minute));
        assert_eq!(patience(second, Some(minute + second)), None);
    }
}
