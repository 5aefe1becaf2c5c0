//! Lines that are a record and nothing else, as most are: read in one step.

use super::{Place, Scanner, State};
use crate::json::Kind;
use crate::json::parser::RawStep;
use crate::{CompletedBy, Mode, Record, Recovered, Release, Span};

/// The least bytes that are worth a try: a token of a model hardly ever is a line.
const MIN_CHUNK: usize = 16;

impl Scanner {
    /// Whether nothing that came before affects how the next line is read. This remains true until a line comes that
    /// is more than a record.
    pub(super) fn is_between_plain_lines(&self) -> bool {
        matches!(self.state, State::LineStart)
            && self.options.release != Release::OnBalance
            && !(self.options.mode == Mode::Lenient && self.options.items.is_some())
            && !(self.options.whole_values || self.is_in_parts || self.thinking.is_text || self.drops_line)
            && (self.region.is_none() && self.array.is_none() && self.rescan.is_none())
            && (self.fence.is_none() && self.calls.is_none() && !self.multiline.is_some())
            && (self.gap.is_none() && self.end.is_none() && self.late_reject.is_none())
            && self.line.is_clean()
    }

    /// Reads a line that is a record and nothing else, from `offset` on, and returns the record's text. `None` if the line
    /// has anything else or is not complete; what was read of it is not read again. `bytes` must not end inside a
    /// character.
    #[inline]
    pub(in crate::records) fn plain_line<'i>(&mut self, bytes: &'i [u8], offset: u64) -> Option<&'i str> {
        if !self.is_plain || bytes.len() < MIN_CHUNK || bytes[0] != b'{' {
            return None;
        }
        let is_line_start = matches!(self.state, State::LineStart)
            && offset == self.line.start
            && offset == self.line.text_start;
        if !is_line_start {
            return None;
        }
        let limit =
            usize::try_from(self.limit).map_or(bytes.len(), |limit| bytes.len().min(limit.saturating_add(1)));
        self.json.reset();
        if let RawStep::Complete { end } = self.json.resume_bytes(&bytes[..limit])
            && bytes[..limit].get(end) == Some(&b'\n')
            && let Ok(text) = simdutf8::basic::from_utf8(&bytes[..end])
        {
            debug_assert!(self.json.root_kind() == Kind::Object);
            let end = offset + end as u64;
            self.record = Record {
                value: (),
                line: self.line.number,
                column: 1,
                span: Span::new(offset, end),
                completion: CompletedBy::Newline,
                recovered: Recovered::NONE,
            };
            self.has_content = true;
            self.scanned += 1;
            self.line.pass_record(end + 1);
            self.counted_from = end + 1;
            return Some(text);
        }
        self.line.first = Some(offset);
        self.place = Place { line: self.line.number, column: 1, recovered: Recovered::NONE };
        self.state = State::Value { start: offset };
        None
    }
}
