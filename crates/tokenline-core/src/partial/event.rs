//! The events of a stream of partials.

use crate::{Diagnostic, Record};

/// How a record grows, and what becomes of it.
///
/// `P` is the [partial](super::Partial::Partial), or a reference to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartialEvent<P, T> {
    /// There is more of the open record. It may still be rejected.
    Growing(P),
    /// The open record, of which a `Growing` came before, will be rejected: what is complete of it breaks a rule. It may
    /// still turn out to be prose. Comes at most once for a record.
    Invalid(Diagnostic),
    /// The record is complete. If a `Growing` came before, it was of this record.
    Complete(Record<T>),
    /// Something was not delivered, and why. If a `Growing` came before, it was of this.
    Rejected(Diagnostic),
    /// The value that was growing is prose, not a record.
    Discarded,
}

impl<P, T> PartialEvent<P, T> {
    /// The same event with another partial.
    pub fn map<Q>(self, f: impl FnOnce(P) -> Q) -> PartialEvent<Q, T> {
        match self {
            Self::Growing(partial) => PartialEvent::Growing(f(partial)),
            Self::Invalid(diagnostic) => PartialEvent::Invalid(diagnostic),
            Self::Complete(record) => PartialEvent::Complete(record),
            Self::Rejected(diagnostic) => PartialEvent::Rejected(diagnostic),
            Self::Discarded => PartialEvent::Discarded,
        }
    }
}
