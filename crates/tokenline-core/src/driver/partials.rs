//! The driver that also yields how the open record grows, in its own type.

use std::fmt;
use std::mem;

use serde::de::DeserializeOwned;

use super::Driver;
use crate::adapter::{CountAs, SourceEnd, StreamMachine, StreamStep, Tally};
use crate::partial::{Partial, PartialBuilder, PartialEvent};
use crate::{Event, Validate};

/// A [`Driver`] that also yields how the open record grows.
///
/// [`PartialEvent::Growing`] comes at most once for a chunk, when all of the chunk is read; [`partial`](Self::partial)
/// is what there is then. It is yielded without the partial, because a machine's events do not borrow from it.
pub struct PartialDriver<T: Partial> {
    driver: Driver<T>,
    open: PartialBuilder<T>,
    /// The start of the record that `open` is of.
    start: Option<u64>,
    has_changed: bool,
    /// The start of the record whose partial was yielded, until it is known what became of it.
    shown: Option<u64>,
    /// The start of the record that was reported to be invalid.
    invalid: Option<u64>,
}

impl<T: Partial + DeserializeOwned> PartialDriver<T> {
    /// The same driver, with partials. Forgets what was read before.
    #[must_use]
    pub fn new(driver: Driver<T>) -> Self {
        let options = driver.decoder.options().clone().partials(true);
        let (driver, open) = (driver.restarted(options), PartialBuilder::new());
        Self { driver, open, start: None, has_changed: false, shown: None, invalid: None }
    }

    /// Holds each complete record against a validator; see [`Driver::with_validator`].
    #[must_use]
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        Self { driver: self.driver.with_validator(validator), ..self }
    }

    /// The open record as far as it has arrived.
    #[must_use]
    pub fn partial(&self) -> Option<&T::Partial> {
        self.open.partial()
    }

    fn forget(&mut self) {
        self.open.take();
        (self.start, self.has_changed) = (None, false);
    }

    /// The driver under it.
    #[must_use]
    pub fn driver(&self) -> &Driver<T> {
        &self.driver
    }

    /// Ends here: nothing more is read or yielded.
    pub fn stop(&mut self) {
        self.driver.stop();
    }
}

impl<T: Partial + DeserializeOwned> StreamMachine for PartialDriver<T> {
    type Event = PartialEvent<(), T>;

    fn step(&mut self, input: &[u8]) -> (usize, StreamStep<Self::Event>) {
        let mut at = 0;
        loop {
            let Self { open, start, has_changed, .. } = self;
            let (consumed, step) = self.driver.step_with(&input[at..], |delta| {
                *start = Some(delta.start);
                *has_changed |= open.apply(delta.value);
            });
            at += consumed;
            let event = match step {
                StreamStep::Event(Event::Record(record)) => PartialEvent::Complete(record),
                StreamStep::Event(Event::Rejected(diagnostic)) => PartialEvent::Rejected(diagnostic),
                StreamStep::Event(_) => continue,
                StreamStep::Repair(rejected) => return (at, StreamStep::Repair(rejected)),
                StreamStep::NeedInput | StreamStep::Done => {
                    // What looked like a record may have turned out to be prose. A malformed record is rejected where
                    // its line ends.
                    if self.start.is_some() && self.driver.decoder.open_value() != self.start {
                        self.forget();
                    }
                    let rejected = self.driver.decoder.rejected_value();
                    let is_rejected =
                        rejected.zip(self.shown).is_some_and(|(rejected, shown)| rejected <= shown);
                    if self.shown.is_some() && self.shown != self.start && !is_rejected {
                        (self.shown, self.invalid) = (None, None);
                        return (at, StreamStep::Event(PartialEvent::Discarded));
                    }
                    let is_over = matches!(step, StreamStep::Done);
                    if !is_over && mem::take(&mut self.has_changed) && self.open.partial().is_some() {
                        self.shown = self.start;
                        return (at, StreamStep::Event(PartialEvent::Growing(())));
                    }
                    if !is_over
                        && self.shown.is_some()
                        && self.invalid != self.shown
                        && let Some(diagnostic) = self.driver.open_violation()
                    {
                        self.invalid = self.shown;
                        return (at, StreamStep::Event(PartialEvent::Invalid(diagnostic.clone())));
                    }
                    return (at, if is_over { StreamStep::Done } else { StreamStep::NeedInput });
                }
            };
            self.forget();
            (self.shown, self.invalid) = (None, None);
            return (at, StreamStep::Event(event));
        }
    }

    fn finish(&mut self, end: SourceEnd) {
        self.driver.finish(end);
    }

    fn resume(&mut self, replacement: Option<String>) {
        self.driver.resume(replacement);
    }

    fn count_as<'a>(&self, event: &'a Self::Event) -> CountAs<'a> {
        match event {
            PartialEvent::Growing(()) | PartialEvent::Invalid(_) | PartialEvent::Discarded => CountAs::Other,
            PartialEvent::Complete(record) => CountAs::Record(record.recovered),
            PartialEvent::Rejected(diagnostic) => CountAs::Diagnostic(diagnostic),
        }
    }

    fn tally(&self) -> &Tally {
        self.driver.tally()
    }

    fn is_done(&self) -> bool {
        self.driver.is_done()
    }
}

/// Places and counts only: what is open may be private.
impl<T: Partial> fmt::Debug for PartialDriver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialDriver").field("driver", &self.driver).finish_non_exhaustive()
    }
}
