//! Lines that are a record and nothing else, as most are: read in one step.

use super::{Place, Scanner};
use crate::json::parser::RawStep;
use crate::json::{Kind, Value};
use crate::records::input::Input;
use crate::{CompletedBy, Mode, Record, Recovered, Recoveries, Release, Span};

/// The least bytes that are worth a try: a token of a model hardly ever is a line.
const MIN_CHUNK: usize = 16;

impl Scanner {
    /// Whether a line starts at `next`, and nothing that came before affects how it is read. This remains true until a
    /// line comes that is more than a record.
    pub(super) fn is_between_plain_lines(&self, next: u64) -> bool {
        self.state.is_line_start()
            && (self.line.start == next && self.line.text_start == next)
            && self.options.release != Release::OnBalance
            && !(self.options.mode == Mode::Lenient && self.options.items.is_some())
            && !(self.options.whole_values
                || self.is_in_parts
                || self.thinking.is_text
                || self.line.is_dropped)
            && (self.region.is_none() && self.array.is_none() && self.rescan.is_none())
            && (self.fence.is_none() && self.calls.is_none() && !self.multiline.is_some())
            && (self.gap.is_none() && self.end.is_none() && self.late_reject.is_none())
            && self.line.is_clean()
    }

    /// Reads a line that is a record and nothing else, and returns the record's text; the record is
    /// [`line_record`](Self::line_record). `None` if the line has anything else or is not complete; what was read of it is
    /// not read again. `input` must not end inside a character.
    #[inline(always)]
    pub(in crate::records) fn plain_line<'i>(&mut self, input: impl Input<'i>) -> Option<&'i str> {
        let bytes = input.bytes();
        if !self.is_plain || bytes.len() < MIN_CHUNK || bytes[0] != b'{' {
            return None;
        }
        let limit = usize::try_from(self.max_bytes())
            .map_or(bytes.len(), |limit| bytes.len().min(limit.saturating_add(1)));
        self.json.reset();
        if let RawStep::Complete { end } = self.json.resume_bytes(&bytes[..limit])
            && bytes[..limit].get(end) == Some(&b'\n')
            && let Some(text) = input.text(0..end)
        {
            debug_assert!(self.json.root_kind() == Kind::Object);
            self.has_content = true;
            self.scanned += 1;
            self.line.pass_record(self.line.start + end as u64 + 1);
            self.counted_from = self.line.start;
            return Some(text);
        }
        self.leave_plain_lines();
        None
    }

    /// The next line is more than a record, or not complete.
    #[cold]
    fn leave_plain_lines(&mut self) {
        let start = self.line.start;
        self.line.first = Some(start);
        self.place = Place { line: self.line.number, column: 1, recovered: Recoveries::NONE };
        self.state.enter_value(start);
        self.is_plain = false;
    }

    /// The record on the line before this one, with its text.
    #[inline(always)]
    pub(in crate::records) fn line_record<'a>(&'a self, text: &'a str) -> Record<Value<'a>> {
        let end = self.line.start - 1;
        Record {
            value: self.json.value(text),
            line: self.line.number - 1,
            column: 1,
            span: Span::new(end - text.len() as u64, end),
            completion: CompletedBy::Newline,
            recovered: Recovered::NONE,
        }
    }
}
