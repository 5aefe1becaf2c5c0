//! The end of the input.

use super::{Scanner, State, Step};
use crate::json::{error, parser::RawStep};
use crate::records::cursor::Cursor;
use crate::{Code, CompletedBy};

impl Scanner {
    /// Ends the input after these bytes, which are all read. `incomplete_len` is the number of bytes of an incomplete
    /// character after them.
    ///
    /// `Err` if some of the bytes must be read again.
    pub(in crate::records) fn finish(
        &mut self,
        cursor: &mut Cursor<'_>,
        completion: CompletedBy,
        incomplete_len: usize,
    ) -> Result<Step, ReadOn> {
        self.is_plain = false;
        let step = match self.late_reject {
            None => self.finish_step(cursor, completion, incomplete_len)?,
            Some(_) => None,
        };
        Ok(step.or_else(|| self.late_reject.take().map(|reject| self.report(*reject))))
    }

    fn finish_step(
        &mut self,
        cursor: &mut Cursor<'_>,
        completion: CompletedBy,
        incomplete_len: usize,
    ) -> Result<Step, ReadOn> {
        let end = cursor.offset_of(cursor.len());
        let outcome = match *self.state.get() {
            State::Ended => return Ok(self.end_region()),
            State::Think { .. } if self.unclosed_from().is_some() => {
                self.read_unclosed(cursor);
                self.end = Some(completion);
                None
            }
            State::Think { .. } => {
                self.state.enter_ended();
                return Ok(Some(self.unclosed_thinking(end + incomplete_len as u64)));
            }
            State::Tag => {
                let is_nothing = end == self.thinking.start;
                self.not_a_tag(cursor);
                if self.state.think().is_some() {
                    self.state.enter_ended();
                    let end = end + incomplete_len as u64;
                    return Ok((!is_nothing).then(|| self.unclosed_thinking(end)));
                }
                None
            }
            State::Undecided { start, fault } => self.decide(cursor, start, fault, true),
            State::Call { start } => self.call(cursor, start, Some(completion)),
            State::AfterRejected { .. } => self.end_region_on_line(),
            State::LineStart
            | State::Fence { .. }
            | State::Text
            | State::Value { .. }
            | State::Confirming { .. }
            | State::Array
            | State::Skip(_)
            | State::Discard => None,
        };
        if outcome.is_some() {
            return Ok(outcome);
        }
        read_on(cursor)?;
        let is_cut_value = match *self.state.get() {
            State::Value { start } => match self.json.finish_bytes(cursor.from(cursor.index(start))) {
                // A number.
                RawStep::Complete { .. } => {
                    self.state.enter_confirming(start, end);
                    if self.array.is_some() {
                        self.end_of_element(cursor, start, end);
                    }
                    false
                }
                _ => {
                    let expected = self.json.expected();
                    let message = error::describe(expected, error::UnexpectedToken::EndOfInput);
                    if self.multiline.is_some() {
                        self.give_up(cursor, start, Code::Truncated, end, message);
                        return Err(ReadOn);
                    }
                    self.fault(Code::Truncated, start, end, message);
                    self.state.enter_discard();
                    true
                }
            },
            _ => false,
        };
        if incomplete_len > 0
            && !is_cut_value
            && !self.is_discarding()
            && let Some(outcome) = self.bad_byte(cursor)
        {
            return Ok(Some(outcome));
        }
        read_on(cursor)?;
        let content_end = self.check_length(cursor);
        let content_end = if incomplete_len > 0 { end + incomplete_len as u64 } else { content_end };
        if let Some((start, record_end, false)) = self.state.balanced() {
            if self.is_object_in_code(cursor, (start, record_end)) {
                self.look_for_code(cursor, record_end, true);
            }
            self.state.enter_text();
            if let Some(outcome) = self.release(cursor, start, record_end, completion) {
                return Ok(Some(outcome));
            }
            read_on(cursor)?;
        }
        if let Some(outcome) = self.reject_unclosed_marker(end) {
            return Ok(Some(outcome));
        }
        if let Some(outcome) = self.end_region_at_end() {
            return Ok(Some(outcome));
        }
        if self.array.as_ref().is_some_and(|array| array.held_from().is_some()) {
            return self.read_held(cursor).map_or(Err(ReadOn), |outcome| Ok(Some(outcome)));
        }
        let is_in_reject = self.state.skip().is_some() || self.state.is_discard();
        if let Some(array) = self.array.take()
            && !(array.is_damaged || array.may_have_ended || is_in_reject)
        {
            let message = error::describe(array.expected(), error::UnexpectedToken::EndOfInput);
            // What was delivered of it is not rejected.
            self.fault(Code::Truncated, array.done_to, end, message);
        }
        self.state.enter_ended();
        if let Some(region) = &mut self.region {
            region.reaches_end();
        }
        let outcome = self.end_line_at(content_end, end).or_else(|| self.end_region());
        if let Some(segments) = &mut self.segments {
            segments.text(end);
        }
        Ok(outcome)
    }
}

/// Some of the bytes must be read again.
pub(in crate::records) struct ReadOn;

fn read_on(cursor: &Cursor<'_>) -> Result<(), ReadOn> {
    if cursor.at < cursor.len() { Err(ReadOn) } else { Ok(()) }
}
