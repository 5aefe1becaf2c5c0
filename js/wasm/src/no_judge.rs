//! In place of `judge.rs`, without tool calls: the decoder's own verdicts.

use tokenline_core::{Event, LentEvent, RecordDecoder};

use crate::open::Open;
use crate::output::Output;
use crate::settings::Settings;

pub(crate) struct TextJudge;

impl TextJudge {
    pub(crate) fn new(settings: Settings) -> (RecordDecoder, Self) {
        (RecordDecoder::new(settings.options), Self)
    }

    /// Writes an event.
    pub(crate) fn event(&mut self, open: &mut Open, event: LentEvent<'_>, _: Option<bool>, out: &mut Output) {
        match event {
            Event::Record(record) => open.record(&record, out),
            Event::Rejected(found) | Event::Note(found) => open.found(&found, out),
            Event::Partial(delta) => open.grow(&delta, out),
            _ => {}
        }
    }

    pub(crate) fn arriving(&mut self, _: &mut RecordDecoder) {}

    pub(crate) fn reset(&mut self) {}
}
