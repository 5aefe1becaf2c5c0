//! Hints that a source is not what the caller takes it for.
//!
//! Nothing is read ahead, and nothing waits: the bytes are looked at as they pass. However they are cut, the hint is the
//! same.

mod document;
mod message;
mod opening;
mod watch;

pub(crate) use message::Hint;
pub(crate) use watch::{Outcome, SourceWatch};
