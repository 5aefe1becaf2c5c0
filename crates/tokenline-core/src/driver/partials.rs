//! The driver that also yields how the open record grows, in its own type.

use std::fmt;

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
    has_changed: bool,
}

impl<T: Partial + DeserializeOwned> PartialDriver<T> {
    /// The same driver, with partials. Forgets what was read before.
    #[must_use]
    pub fn new(mut driver: Driver<T>) -> Self {
        driver.options = driver.options.partials(true);
        Self { driver: driver.restarted(), open: PartialBuilder::new(), has_changed: false }
    }

    /// Holds each complete record against a validator; see [`Driver::with_validator`].
    #[must_use]
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        Self { driver: self.driver.with_validator(validator), ..self }
    }

    /// What there is of the open record.
    #[must_use]
    pub fn partial(&self) -> Option<&T::Partial> {
        self.open.partial()
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
            let (open, has_changed) = (&mut self.open, &mut self.has_changed);
            let (consumed, step) =
                self.driver.step_with(&input[at..], |delta| *has_changed |= open.apply(delta));
            at += consumed;
            let event = match step {
                StreamStep::Event(Event::Record(record)) => PartialEvent::Complete(record),
                StreamStep::Event(Event::Rejected(diagnostic)) => PartialEvent::Rejected(diagnostic),
                StreamStep::Event(_) => continue,
                StreamStep::Repair(rejected) => return (at, StreamStep::Repair(rejected)),
                StreamStep::NeedInput if self.has_changed && self.open.partial().is_some() => {
                    self.has_changed = false;
                    return (at, StreamStep::Event(PartialEvent::Growing(())));
                }
                StreamStep::NeedInput => return (at, StreamStep::NeedInput),
                StreamStep::Done => return (at, StreamStep::Done),
            };
            self.open.take();
            self.has_changed = false;
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
            PartialEvent::Growing(()) => CountAs::Other,
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
