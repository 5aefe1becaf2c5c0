//! The texts of rejects, which events do not have.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokenline_core::adapter::Rules;
use tokenline_core::{Diagnostic, Rejected};

/// Most texts that are kept.
const MAX_TEXTS: usize = 1024;

/// The texts of the rejects whose events are not taken yet.
#[derive(Clone, Default)]
pub(crate) struct RejectedTexts(Arc<Mutex<VecDeque<Rejected>>>);

impl RejectedTexts {
    fn push(&self, rejected: Rejected) {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() == MAX_TEXTS {
            // Those that were repaired have no event.
            texts.pop_front();
        }
        texts.push_back(rejected);
    }

    /// Makes these rules note each reject before their repair hook is asked. They ask no caller then.
    pub(crate) fn watch(&self, rules: &mut Rules) {
        let (before, texts) = (rules.clone(), self.clone());
        rules.set_repair(Box::new(move |rejected| {
            texts.push(rejected.clone());
            before.replacement(rejected)
        }));
    }

    /// Takes the text of a reject, and drops those before it.
    pub(super) fn take(&self, diagnostic: &Diagnostic) -> Option<String> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Secrets in a message are masked only in the event.
        let is_of = |rejected: &Rejected| {
            let its = &rejected.diagnostic;
            (its.code, its.line, its.span, its.origin)
                == (diagnostic.code, diagnostic.line, diagnostic.span, diagnostic.origin)
        };
        let at = texts.iter().position(is_of)?;
        texts.drain(..=at).next_back().map(|rejected| rejected.text)
    }
}
