//! What ends an answer before its source does, and what gives its rejects a second chance.

use tokenline_core::{Counted, EndedBy, Quota, Rejected, TooManyRejected};

use super::{AnswerParser, Ending, Stage};
use crate::AnswerEvent;
use crate::answer::repair::Repair;

impl<T> AnswerParser<T> {
    /// Ends the answer once it has yielded so many records and tool calls: no event comes after the
    /// last of them, and what is pushed is not looked at. An
    /// [`AnswerStream`](crate::AnswerStream) lets go of its source then, so that no more tokens are
    /// paid for, and counts only what it yields: of [`records`](crate::AnswerStream::records) the
    /// records. That is no error; [`Report::ended_by`](tokenline_core::Report::ended_by) tells of it.
    #[must_use]
    pub fn with_max_records(mut self, max_records: u64) -> Self {
        self.quota.max_records = Some(max_records);
        self.begin();
        self
    }

    /// Lives with so many rejects. The next one is the last event; then there is the
    /// [error](Self::too_many_rejected), which an [`AnswerStream`](crate::AnswerStream) ends with.
    ///
    /// Prose is no reject, nor is what was [repaired](Self::with_repair), nor an error of the
    /// provider's or an answer without an end, which are for themselves to say.
    #[must_use]
    pub fn with_error_budget(mut self, rejects: u64) -> Self {
        self.quota.error_budget = Some(rejects);
        self
    }

    /// Gives what is rejected a second chance: the closure gets the text that was lost, with the
    /// finding, and may return another one to take its place.
    ///
    /// It is asked about records and calls that are malformed, cut off, not UTF-8, or against the
    /// schema, the type or the tools; see [`Code::is_repairable`](tokenline_core::Code::is_repairable).
    /// A replacement is one JSON object, and is held against the same rules. It comes in the order and
    /// with the place of what it replaces, and is [marked](tokenline_core::Recovery::Repaired). If it is
    /// anything else, or breaks a rule itself, the first finding stands; the closure is not asked again.
    ///
    /// Of a native call the text is what had come of its arguments when it was given up, and a
    /// replacement is the arguments; [`Rejected::tool`] tells that it is one. That the call is whole is
    /// then the closure's word alone: it counts as complete because of the
    /// [end of its input](tokenline_core::Completion::EndOfInput).
    ///
    /// The closure is called while bytes are pushed, before the events in front of the replacement are
    /// taken.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{AnswerEvent, AnswerParser, Provider};
    ///
    /// let mut parser = AnswerParser::<Raw>::new(Provider::Ollama, Options::lenient())
    ///     .with_repair(|rejected| Some(rejected.text.replace("NaN", "null")));
    /// parser.push(b"{\"message\":{\"content\":\"{\\\"a\\\":NaN}\\n\"},\"done\":true}\n");
    /// let Some(AnswerEvent::Record { record, .. }) = parser.next_event() else { panic!() };
    /// assert_eq!(record.value, r#"{"a":null}"#);
    /// assert!(!record.recovered.is_empty());
    /// ```
    #[must_use]
    pub fn with_repair(
        mut self,
        repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.answer.out.repair = Some(Repair::new(repair, self.answer.options.limits));
        self
    }

    /// Why the answer was ended, if more was rejected than
    /// [its error budget](Self::with_error_budget) allows.
    #[must_use]
    pub fn too_many_rejected(&self) -> Option<&TooManyRejected> {
        self.too_many.as_ref()
    }

    /// Takes over how much is to be yielded and rejected, and what repairs are made by.
    pub(super) fn with_hooks(mut self, quota: Quota) -> Self {
        self.quota = quota;
        if let Some(repair) = &mut self.answer.out.repair {
            repair.set_limits(self.answer.options.limits);
        }
        self.begin();
        self
    }

    /// Says which events are yielded, of those that a most was set for.
    pub(crate) fn set_counted(&mut self, counted: Counted) {
        self.quota.counted = counted;
    }

    /// Ends the answer at its start if nothing of it is wanted.
    pub(super) fn begin(&mut self) {
        if self.quota.is_full(&self.report) {
            self.end_by(EndedBy::MaxRecords);
        }
    }

    /// Ends the answer if this event, which was counted, is the last of it.
    #[inline]
    pub(super) fn end_with(&mut self, event: &AnswerEvent<T>) {
        if self.quota.max_records.is_none() && self.quota.error_budget.is_none() {
            return;
        }
        if let Some(diagnostic) = event.diagnostic() {
            self.too_many = self.quota.exceeded_by(diagnostic, &self.report);
            if self.too_many.is_some() {
                self.end_by(EndedBy::ErrorBudget);
            }
        } else if self.quota.is_full(&self.report) {
            self.end_by(EndedBy::MaxRecords);
        }
    }

    #[cold]
    fn end_by(&mut self, ended_by: EndedBy) {
        self.report.set_ended_by(ended_by);
        self.answer.forget();
        (self.beginning, self.unread, self.read) = (Vec::new(), Vec::new(), 0);
        (self.ending, self.stage) = (Some(Ending::Failed), Stage::Ended);
    }
}
