//! Whether all chunks came to this worker.

/// Watches the consumer's delivery numbers. While they are consecutive, no other worker got a chunk in between, and
/// nothing has to be read again.
#[derive(Debug, Default)]
pub(crate) struct Continuity {
    /// The number of the last delivery.
    last: Option<u64>,
    /// How often the connection was made.
    connects: u64,
    epoch: u64,
}

impl Continuity {
    /// Counts a delivery. Two first deliveries with the same epoch have none to another worker between them.
    pub(crate) fn epoch_of(&mut self, delivery: u64, connects: u64) -> u64 {
        if self.last.is_none_or(|last| delivery != last + 1) || self.connects != connects {
            self.epoch += 1;
        }
        (self.last, self.connects) = (Some(delivery), connects);
        self.epoch
    }

    /// Deliveries may have been lost. A server that starts again may also use their numbers again.
    pub(crate) fn interrupted(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_begin_an_epoch() {
        let mut continuity = Continuity::default();
        let first = continuity.epoch_of(7, 1);
        assert_eq!(continuity.epoch_of(8, 1), first);
        let second = continuity.epoch_of(10, 1);
        assert_ne!(second, first);
        assert_ne!(continuity.epoch_of(11, 2), second, "connected again");
        let third = continuity.epoch_of(12, 2);
        continuity.interrupted();
        assert_ne!(continuity.epoch_of(13, 2), third);
        assert_ne!(continuity.epoch_of(13, 2), continuity.epoch_of(13, 2), "numbers used again");
    }
}
