//! The texts of rejects, which events do not have.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokenline_core::{Diagnostic, Rejected};

/// The texts of the rejects whose events are not taken yet.
#[derive(Clone, Default)]
pub(super) struct RejectedTexts(Arc<Mutex<VecDeque<Rejected>>>);

impl RejectedTexts {
    pub(super) fn push(&self, rejected: Rejected) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(rejected);
    }

    /// Takes the text of a reject, and drops those before it.
    pub(super) fn take(&self, diagnostic: &Diagnostic) -> Option<String> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Secrets in a message are masked only in the event.
        let is_of = |rejected: &Rejected| {
            let its = &rejected.diagnostic;
            (its.code, its.line, its.span) == (diagnostic.code, diagnostic.line, diagnostic.span)
        };
        let at = texts.iter().position(is_of)?;
        texts.drain(..=at).next_back().map(|rejected| rejected.text)
    }
}
