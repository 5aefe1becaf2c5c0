//! Lines that are a record and nothing else, as most are: read in one step.

use super::{Outcome, Place, Scanner, State, Step};
use crate::json::Kind;
use crate::json::parser::RawStep;
use crate::records::cursor::Cursor;
use crate::{CompletedBy, Mode, Record, Recovered, Release, Span};

/// The least bytes that are worth a try: a token of a model hardly ever is a line.
const MIN_CHUNK: usize = 16;

impl Scanner {
    /// Whether the next line, if it is a record and nothing else, is read like any such line. Until another line
    /// comes, that stays so.
    pub(super) fn is_between_plain_lines(&self) -> bool {
        matches!(self.state, State::LineStart)
            && self.options.release != Release::OnBalance
            && !(self.options.mode == Mode::Lenient && self.options.items.is_some())
            && !(self.options.whole_values || self.is_in_parts || self.thinking.is_text || self.drops_line)
            && (self.region.is_none() && self.array.is_none() && self.rescan.is_none())
            && (self.fence.is_none() && self.calls.is_none() && self.multiline.is_none())
            && (self.gap.is_none() && self.end.is_none() && self.late_reject.is_none())
            && self.line.is_clean()
    }

    /// Reads a line that is a record and nothing else. `None` if it is another, or not complete; what was read of it is
    /// not read again.
    #[inline]
    pub(super) fn plain_line(&mut self, cursor: &mut Cursor<'_>) -> Step {
        self.limit(cursor);
        let (start, from) = (cursor.offset(), cursor.at);
        let bytes = cursor.rest();
        let is_line_start = matches!(self.state, State::LineStart)
            && start == self.line.start
            && start == self.line.text_start;
        if bytes.len() < MIN_CHUNK || bytes[0] != b'{' || !is_line_start {
            return None;
        }
        self.json.reset();
        if let RawStep::Complete { end } = self.json.resume_bytes(bytes)
            && bytes.get(end) == Some(&b'\n')
            && end as u64 <= self.limit
            && cursor.check(from, from + end).is_ok()
        {
            debug_assert!(self.json.root_kind() == Kind::Object);
            self.record = Record {
                value: (),
                line: self.line.number,
                column: 1,
                span: Span::new(start, start + end as u64),
                completion: CompletedBy::Newline,
                recovered: Recovered::NONE,
            };
            self.has_content = true;
            self.scanned += 1;
            cursor.at = from + end + 1;
            self.line.pass_record(cursor.offset());
            self.counted_from = self.line.start;
            return Some(Outcome::Record);
        }
        self.line.first = Some(start);
        self.place = Place { line: self.line.number, column: 1, recovered: Recovered::NONE };
        self.state = State::Value { start };
        None
    }
}
