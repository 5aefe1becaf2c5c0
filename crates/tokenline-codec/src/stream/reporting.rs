//! Streams that count what they deliver and reject.

use tokenline_core::Report;

/// A stream that keeps a [`Report`] of what it delivered and what it rejected.
///
/// Every stream here has `report` as a method of its own too; the trait is for who is generic over
/// them.
pub trait Reporting {
    /// What was delivered and rejected so far.
    fn report(&self) -> &Report;
}
