//! The order of deltas: some wait until the events before them are taken, or for the answer to a question.

use std::mem;

use serde::de::DeserializeOwned;
use tokenline_core::json::LoneSurrogates;

use super::ResponseState;
use crate::response::deferred::{Deferred, SLICE};
use crate::response::text::Borrower;
use crate::{Delta, FinishReason};

impl<T: DeserializeOwned> ResponseState<T> {
    /// Applies the delta of a wire event. `lone` says whether its text begins or ends with half a surrogate pair.
    #[inline]
    pub(in crate::response) fn take(&mut self, delta: Delta<'_>, lone: Option<LoneSurrogates>, lossy: bool) {
        if lone.is_none() && self.joiner.is_empty() {
            self.take_joined(delta, lossy);
        } else {
            self.join(delta, lone, lossy);
        }
    }

    #[cold]
    fn join(&mut self, delta: Delta<'_>, lone: Option<LoneSurrogates>, lossy: bool) {
        let mut joiner = mem::take(&mut self.joiner);
        joiner.join(delta, lone, lossy, |delta, lossy| self.take_joined(delta, lossy));
        self.joiner = joiner;
    }

    /// Applies a delta. A long text is read in slices, each once the events of the one before are taken, to bound the
    /// queue; later deltas wait.
    #[inline]
    fn take_joined(&mut self, delta: Delta<'_>, lossy: bool) {
        let waits = match &delta {
            // It has no effect, and nearly every event of some providers starts with it.
            Delta::Start { choice } if !self.is_terminated && self.has_choice(*choice) => return,
            Delta::Unknown { .. } => false,
            Delta::Text { text, .. } if self.waits_for_events(text) => true,
            _ => self.has_backlog(),
        };
        if waits {
            self.backlog.push_back(Deferred::new(delta, lossy));
        } else {
            self.handle_or_defer(delta, lossy);
        }
    }

    /// Ends the choice that repeats itself, if one does: once the answer is there, if a text asks a question. What waits is
    /// dropped. Returns whether one does.
    #[cold]
    pub(in crate::response) fn ends_for_repetition(&mut self) -> bool {
        let Some(choice) = self.repeating() else { return false };
        self.backlog.clear();
        self.join(Delta::Finish { choice, reason: FinishReason::Repetition }, None, false);
        true
    }

    /// Whether a text is read only once the events before it are taken.
    pub(super) fn waits_for_events(&self, text: &str) -> bool {
        (text.len() > SLICE || self.is_body) && !self.out.settings.passes_text()
    }

    /// Applies a delta. One that ends a text which asks a question is applied again after the answer.
    #[inline]
    fn handle_or_defer(&mut self, delta: Delta<'_>, lossy: bool) {
        if self.out.settings.asks {
            self.handle_or_ask(delta, lossy);
        } else {
            self.handle(delta, lossy);
        }
    }

    #[cold]
    fn handle_or_ask(&mut self, delta: Delta<'_>, lossy: bool) {
        let may_wait = matches!(
            delta,
            Delta::BlockStop { .. }
                | Delta::Finish { .. }
                | Delta::Restart
                | Delta::Error { .. }
                | Delta::Terminator
        );
        let again = may_wait.then(|| Deferred::new(delta.clone(), lossy));
        if !self.handle(delta, lossy)
            && let Some(again) = again
        {
            self.backlog.push_front(again);
        }
    }

    fn has_choice(&self, index: u64) -> bool {
        self.choices.iter().any(|choice| choice.index == index)
    }

    /// Applies the next delta that waits. A borrower gets the records of a text that can be lent.
    pub(in crate::response) fn resume(&mut self, borrower: Option<&mut Borrower<'_>>) {
        let Some(mut deferred) = self.backlog.pop_front() else { return };
        let lossy = deferred.is_lossy();
        let (after, is_begun) = (self.backlog.len(), deferred.is_begun());
        let mut put_back = 0;
        match deferred.next() {
            Delta::Text { choice, block, text } if is_begun => {
                if let Some(at) = self.choice(choice) {
                    self.read_text(at, block, text, lossy, borrower);
                }
            }
            Delta::Text { choice, block, text } if !self.is_terminated => {
                let at = self.begin_text(choice, block, text);
                if borrower.is_some() && !self.out.events.is_empty() {
                    // They come before the records.
                    put_back = text.len();
                } else if let Some(at) = at {
                    self.read_text(at, block, text, lossy, borrower);
                }
            }
            delta => self.handle_or_defer(delta, lossy),
        }
        if put_back > 0 {
            deferred.put_back(put_back);
        }
        if deferred.has_more() {
            self.backlog.insert(self.backlog.len() - after, deferred);
        }
        self.end_event();
    }

    /// Takes the answer to the question that was asked.
    pub(in crate::response) fn answer(&mut self, replacement: Option<String>) {
        if self.out.answer_native(replacement.as_deref()) {
            return;
        }
        let Some(question) = self.out.question.take() else { return };
        if let Some(choice) = self.choices.iter_mut().find(|choice| choice.index == question.choice) {
            choice.answer(replacement, &mut self.out);
        }
        self.end_event();
    }
}
