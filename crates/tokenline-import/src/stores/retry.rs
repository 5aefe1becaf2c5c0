//! How long to wait before another attempt.

use std::time::Duration;

const FIRST_DELAY: Duration = Duration::from_millis(250);
pub(super) const MAX_DELAY: Duration = Duration::from_secs(30);

/// The time to wait after this many failed attempts.
pub(super) fn delay(attempt: u32) -> Duration {
    FIRST_DELAY.saturating_mul(1 << attempt.min(10)).min(MAX_DELAY)
}
