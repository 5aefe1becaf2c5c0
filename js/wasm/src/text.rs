//! The records and the calls of a text.

use tokenline_core::json::Change;
use tokenline_core::{CheckedChunk, Event, RecordDecoder};

use crate::judge::TextJudge;
use crate::machine::Machine;
use crate::open::Open;
use crate::output::Output;
use crate::settings::Settings;

/// A decoder, and what judges its records.
pub(crate) struct TextMachine {
    decoder: RecordDecoder,
    judge: TextJudge,
    open: Open,
    is_complete: bool,
}

impl TextMachine {
    pub(crate) fn new(settings: Settings) -> Self {
        let (decoder, judge) = TextJudge::new(settings);
        Self { decoder, judge, open: Open::default(), is_complete: false }
    }
}

impl Machine for TextMachine {
    fn push(&mut self, chunk: &[u8], out: &mut Output) -> bool {
        let mut rest = CheckedChunk::new(chunk);
        let mut is_appended = false;
        while let Some(found) = self.decoder.next_event(&mut rest) {
            if let Event::Partial(delta) = &found
                && let Change::Append(text) = delta.value.change
                && text.as_bytes() == chunk
                && self.open.start == Some(delta.start)
            {
                // Nothing else is in the chunk.
                is_appended = true;
                continue;
            }
            self.judge.event(&mut self.open, found, None, out);
        }
        self.judge.arriving(&mut self.decoder);
        self.open.settle(self.decoder.open_value(), out);
        is_appended && out.is_empty()
    }

    fn finish(&mut self, has_failed: bool, out: &mut Output) {
        while let Some(found) = self.decoder.finish() {
            self.judge.event(&mut self.open, found, Some(has_failed), out);
        }
        self.open.settle(None, out);
        self.is_complete = !has_failed;
    }

    fn reset(&mut self) {
        self.decoder.reset();
        self.judge.reset();
        self.open = Open::default();
        self.is_complete = false;
    }

    fn status(&self) -> u32 {
        u32::from(self.is_complete)
    }
}
