//! The texts of rejects, which events do not have.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::adapter::Rules;
use crate::{Diagnostic, Rejected};

/// The texts of the rejects whose events are not handled yet. Clones share them.
///
/// ```
/// use tokenline_core::adapter::{RejectedTexts, Rules};
/// use tokenline_core::{Code, Diagnostic, Rejected, Span};
///
/// let texts = RejectedTexts::default();
/// let mut rules = Rules::default();
/// texts.watch(&mut rules);
/// let diagnostic = Diagnostic::new(Code::MalformedJson, 1, Span::new(0, 4), 1, "no JSON");
/// assert_eq!(rules.replacement(Rejected::new("{oh}", diagnostic.clone())), None);
/// assert_eq!(texts.take(&diagnostic).as_deref(), Some("{oh}"));
/// texts.push(Rejected::new("{oh}", diagnostic.clone()));
/// texts.clear();
/// assert_eq!(texts.take(&diagnostic), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RejectedTexts(Arc<Mutex<VecDeque<Rejected>>>);

/// Most texts that are kept: more rejects than a chunk has.
const MAX_TEXTS: usize = 1 << 16;

impl RejectedTexts {
    /// Makes these rules note each reject before their repair hook is asked. They ask no caller then.
    pub fn watch(&self, rules: &mut Rules) {
        let (before, texts) = (rules.clone(), self.clone());
        rules.set_repair(Box::new(move |rejected| {
            texts.push(rejected.clone());
            before.replacement(rejected)
        }));
    }

    /// A repair hook that notes each reject, and replaces none.
    pub fn hook(&self) -> impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static + use<> {
        let texts = self.clone();
        move |rejected| {
            texts.push(rejected);
            None
        }
    }

    /// Notes a reject.
    pub fn push(&self, rejected: Rejected) {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() == MAX_TEXTS {
            texts.pop_front();
        }
        texts.push_back(rejected);
    }

    /// Drops all texts, for another stream with the same rules.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Takes the text of a reject, and drops those before it, which were repaired. For events in their order.
    pub fn take(&self, diagnostic: &Diagnostic) -> Option<String> {
        self.take_from(diagnostic, |texts, at| texts.drain(..=at).next_back())
    }

    /// Takes the text of a reject, and keeps those before it. For events in any order.
    pub fn remove(&self, diagnostic: &Diagnostic) -> Option<String> {
        self.take_from(diagnostic, VecDeque::remove)
    }

    /// The message is not compared: secrets in it are masked only in the event.
    fn take_from(
        &self,
        diagnostic: &Diagnostic,
        take: impl FnOnce(&mut VecDeque<Rejected>, usize) -> Option<Rejected>,
    ) -> Option<String> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = |its: &Diagnostic| (its.code, its.line, its.span, its.origin);
        let at = texts.iter().position(|rejected| place(&rejected.diagnostic) == place(diagnostic))?;
        take(&mut texts, at).map(|rejected| rejected.text)
    }
}
