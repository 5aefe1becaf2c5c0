//! The texts of rejects, for `--show-values`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokenline::{Diagnostic, Rejected};

/// The texts of the rejects that are not written yet. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct RejectedTexts(Arc<Mutex<VecDeque<Rejected>>>);

impl RejectedTexts {
    /// A repair hook that keeps each text, and replaces none.
    pub(crate) fn hook(&self) -> impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static {
        let texts = self.clone();
        move |rejected| {
            texts.push(rejected);
            None
        }
    }

    pub(crate) fn push(&self, rejected: Rejected) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(rejected);
    }

    /// Takes the text of a reject, and drops those before it.
    pub(super) fn take(&self, diagnostic: &Diagnostic) -> Option<String> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = texts.iter().position(|rejected| rejected.diagnostic == *diagnostic)?;
        texts.drain(..=at).next_back().map(|rejected| rejected.text)
    }
}
