//! Whether all chunks came to this worker.

use std::time::Duration;

use tokio::time::Instant;

/// How long after a lost connection deliveries of the old one may still come out of buffers.
const SETTLING: Duration = Duration::from_secs(1);

/// Watches the consumer's delivery numbers. While they are consecutive, no other worker got a chunk in between, and
/// nothing has to be read again.
#[derive(Debug)]
pub(crate) struct Continuity {
    /// The number of the last delivery.
    last: Option<u64>,
    /// How often the connection was made, and until when it counts as new.
    connects: u64,
    settles: Option<Instant>,
    epoch: u64,
}

impl Continuity {
    pub(crate) fn new(connects: u64) -> Self {
        Self { last: None, connects, settles: None, epoch: 0 }
    }

    /// Counts a delivery. Two first deliveries with the same epoch have none to another worker between them.
    pub(crate) fn epoch_of(&mut self, delivery: u64, connects: u64, now: Instant) -> u64 {
        if self.connects != connects {
            // A server that starts again may use numbers again.
            (self.connects, self.settles) = (connects, Some(now + SETTLING));
        }
        let is_settling = self.settles.is_some_and(|settles| now < settles);
        if is_settling || self.last.is_none_or(|last| delivery != last + 1) {
            self.epoch += 1;
        }
        self.last = Some(delivery);
        self.epoch
    }

    /// Deliveries may have been lost.
    pub(crate) fn interrupted(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_begin_an_epoch() {
        let now = Instant::now();
        let mut continuity = Continuity::new(1);
        let first = continuity.epoch_of(7, 1, now);
        assert_eq!(continuity.epoch_of(8, 1, now), first);
        let second = continuity.epoch_of(10, 1, now);
        assert_ne!(second, first);
        continuity.interrupted();
        let third = continuity.epoch_of(11, 1, now);
        assert_ne!(third, second);
        assert_ne!(continuity.epoch_of(11, 1, now), third, "delivered with a number used before");
    }

    #[test]
    fn a_new_connection_settles_first() {
        let now = Instant::now();
        let mut continuity = Continuity::new(1);
        let before = continuity.epoch_of(1, 1, now);
        let buffered = continuity.epoch_of(2, 2, now);
        assert_ne!(buffered, before);
        let next = continuity.epoch_of(3, 2, now);
        assert_ne!(next, buffered);
        let settled = continuity.epoch_of(4, 2, now + SETTLING);
        assert_eq!(settled, next);
        assert_eq!(continuity.epoch_of(5, 2, now + SETTLING), settled);
    }
}
