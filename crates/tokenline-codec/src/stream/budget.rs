//! How much one poll may do.

/// What is left of the work that one poll may do without yielding an item. A source that is always
/// ready, and has nothing but prose or blank lines, must not keep other tasks from running.
pub(super) struct Budget(usize);

impl Budget {
    /// Bytes that may be decoded before other tasks get their turn: a fraction of a millisecond.
    /// Also the most that is decoded in one step.
    pub(super) const BYTES: usize = 256 * 1024;

    /// What a chunk, and an event that is not yielded, costs besides its bytes: a chunk may be
    /// empty, and a line of prose two bytes long, but its diagnostic takes as long as some hundred.
    const PER_STEP: usize = 512;

    pub(super) fn new() -> Self {
        Self(Self::BYTES)
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }

    pub(super) fn spend_step(&mut self) {
        self.spend(Self::PER_STEP);
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }
}
