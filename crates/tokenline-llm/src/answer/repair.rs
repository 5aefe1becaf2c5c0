//! The repair hook of an answer.

use tokenline_core::json::Value;
use tokenline_core::{Limits, Record, Rejected};

/// A repair hook, and the limits of what it may answer.
pub(super) struct Repair {
    ask: Box<dyn FnMut(Rejected) -> Option<String> + Send + Sync>,
    limits: Limits,
}

impl Repair {
    pub(super) fn new(
        ask: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static,
        limits: Limits,
    ) -> Self {
        Self { ask: Box::new(ask), limits }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Reads the replacement for what was lost at this place, if there is one.
    pub(super) fn read<R>(
        &mut self,
        rejected: Rejected,
        place: Record<()>,
        read: impl FnOnce(&Record<Value<'_>>) -> Option<R>,
    ) -> Option<R> {
        let replacement = (self.ask)(rejected)?;
        place.repaired(&replacement, &self.limits, read)?
    }
}
