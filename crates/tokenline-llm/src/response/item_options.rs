//! How the response to a request for one item is read.

use std::mem;

use tokenline_core::adapter::{RejectedTexts, Rules, StopAfter};
use tokenline_core::{Mode, Options};

use super::ResponseOptions;

impl ResponseOptions {
    /// Text that is parsed with these options, by these rules.
    pub(crate) fn with_rules(options: Options, rules: Rules) -> Self {
        let mut response = Self::from(options);
        response.settings.change_rules(|own| *own = rules);
        response
    }

    /// Notes the texts of rejects.
    pub(crate) fn note_rejects(mut self, texts: &RejectedTexts) -> Self {
        self.settings.change_rules(|rules| texts.watch(rules));
        self
    }

    /// Whether events say how records grow.
    pub(crate) fn has_partials(&self) -> bool {
        self.settings.options.partials
    }

    /// Whether events say how calls grow.
    pub(crate) fn has_call_updates(&self) -> bool {
        self.settings.wants_call_updates
    }

    /// For the response to a request for one item: it may stand in a fence or a sentence, and only the item counts.
    pub(crate) fn for_one_item(mut self) -> Self {
        self.settings.options.mode = Mode::Lenient;
        self.settings.options.partials = false;
        self.settings.wants_text = false;
        self.settings.wants_call_updates = false;
        self.settings.wants_deltas = true;
        self.settings.keeps_message = false;
        // The second item of any kind decides.
        self.quota = StopAfter { max_records: Some(2), error_budget: Some(1), ..StopAfter::default() };
        self
    }

    /// The quotas, which the options have no longer.
    pub(crate) fn take_quota(&mut self) -> StopAfter {
        mem::take(&mut self.quota)
    }
}
