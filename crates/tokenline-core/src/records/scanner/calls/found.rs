//! Takes the steps of a reader: a call, text, or neither.

use memchr::memchr;

use super::accept::Accepted;
use super::bounds::call_line;
use super::unread::QUOTED;
use crate::call_format::{CallStep, PassedRole};
use crate::records::cursor::Cursor;
use crate::records::scanner::{Scanner, Step};
use crate::{Code, CompletedBy};

/// The text that a reader has read.
pub(super) struct Read<'a> {
    /// The index of its format.
    pub(super) index: usize,
    pub(super) text: &'a str,
    /// Whether the text ends where another call begins.
    pub(super) is_cut: bool,
    /// All that has arrived, from the same place on.
    pub(super) whole: &'a str,
    /// The evidence that no further text follows.
    pub(super) end: Option<CompletedBy>,
}

impl Scanner {
    /// Takes the step of a reader that has read from `start`. `None` to read on there; it may have moved.
    #[inline(never)]
    pub(super) fn take_step(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: &mut u64,
        mut step: CallStep,
        read: &Read<'_>,
    ) -> Option<Step> {
        let Read { index, text, is_cut, whole, end } = *read;
        let from = *start;
        let is_end = end.is_some();
        if let CallStep::Call(_) | CallStep::Done { .. } = step {
            self.leave_fence(text, &mut step);
        }
        // Where a call ends, and whether its marker may only be mentioned.
        let (step_end, may_be_mention) = match &step {
            CallStep::Call(call) => (Some(call.end), call.is_end_missing),
            CallStep::Malformed(fault) => (Some(fault.end), true),
            CallStep::NeedMore | CallStep::Passed { .. } | CallStep::Done { .. } | CallStep::NotACall => {
                (None, false)
            }
        };
        let rest = step_end.and_then(|end| Some((from + end as u64, whole.get(end..)?)));
        let may_be_quoted = self.may_be_in_code();
        let is_quoted = rest.map_or(Some(false), |(end, rest)| self.is_quoted(index, end, rest, is_end));
        let may_be_mention = may_be_mention && from == self.calls.as_ref()?.opener;
        let is_mention = if may_be_mention { self.is_mention(whole, from, is_end) } else { Some(false) };
        let (Some(is_quoted), Some(is_mention)) = (is_quoted, is_mention) else {
            self.calls.as_mut()?.held = Some(Box::new(step));
            cursor.at = cursor.end();
            return Some(None);
        };
        if may_be_quoted && step_end.is_some() {
            // More text could have closed the inline code before it.
            self.end = self.end.or(end);
        }
        let gives_up = is_mention || (is_quoted && matches!(step, CallStep::Malformed(_)));
        let calls = self.calls.as_mut()?;
        match step {
            CallStep::NeedMore if text.trim().is_empty() => {
                let next = from + text.len() as u64;
                self.pass_lines(text, from, 0, text.len());
                self.end_calls(cursor, next);
                return Some(None);
            }
            CallStep::NeedMore => {
                let (message, code) = if is_cut {
                    ("another tool call begins inside this one", Code::MalformedJson)
                } else {
                    ("the text ended inside a tool call", Code::Truncated)
                };
                let outcome = self.call_fault(text, from, code, (0, text.len(), text.len()), message);
                self.end_calls(cursor, from + text.len() as u64);
                return Some(Some(outcome));
            }
            // What a text quotes or mentions is not a call of the model.
            CallStep::Call(_) | CallStep::Malformed(_) if gives_up => {
                calls.reader = None;
                self.end = self.end.or(end);
            }
            CallStep::Call(call) => {
                let next = from + call.end as u64;
                calls.is_text = is_quoted;
                let outcome = if is_quoted {
                    self.pass_call(text, from, &call, QUOTED)
                } else {
                    match self.accept_call(text, from, index, call, end) {
                        Accepted::Call(outcome) => Some(outcome),
                        Accepted::Text(note) => {
                            self.calls.as_mut()?.is_text = true;
                            note
                        }
                        // It is read again as if the reader did not exist.
                        Accepted::No => {
                            self.calls.as_mut()?.reader = None;
                            self.end = self.end.or(end);
                            return None;
                        }
                    }
                };
                *start = next;
                self.read_on(cursor, next);
                if outcome.is_some() || self.late_reject.is_some() {
                    return Some(outcome);
                }
            }
            CallStep::Malformed(fault) => {
                self.end = self.end.or(end);
                // The reader may be the user's own.
                let end = fault.end.min(text.len());
                let end = call_line(calls, &text[..end], fault.at).unwrap_or(end);
                let fault_at = fault.at.min(end);
                let places = (fault.start.min(fault_at), fault_at, end);
                let outcome = self.call_fault(text, from, fault.code, places, &fault.message);
                self.read_on(cursor, from + end as u64);
                return Some(Some(outcome));
            }
            CallStep::Passed { end, role } => {
                calls.detector.admit_message(index);
                let next = from + end as u64;
                match (&mut self.segments, role) {
                    (Some(segments), PassedRole::Markup) => segments.markup(next),
                    (Some(segments), PassedRole::Reasoning) => segments.reasoning(next),
                    (Some(segments), _) => segments.text(next),
                    (None, _) => {}
                }
                self.pass_lines(text, from, 0, end);
                *start = next;
                self.read_on(cursor, next);
                if self.late_reject.is_some() {
                    return Some(None);
                }
            }
            // A reader of the user's own may call it a run without calls.
            CallStep::Done { end } if from + end as u64 == calls.opener => calls.reader = None,
            CallStep::Done { end } => {
                calls.detector.end_run(index);
                let is_text = calls.is_text;
                match &mut self.segments {
                    // The markers around a call that is text are text as well.
                    Some(segments) if is_text => segments.text(from + end as u64),
                    Some(segments) => segments.markup(from + end as u64),
                    None => {}
                }
                self.pass_lines(text, from, 0, end);
                self.end_calls(cursor, from + end as u64);
                return Some(None);
            }
            CallStep::NotACall => {
                calls.reader = None;
                self.end = self.end.or(end);
            }
        }
        None
    }

    /// Goes on after what was found.
    #[inline]
    fn read_on(&mut self, cursor: &mut Cursor<'_>, next: u64) {
        self.state.enter_call(next);
        self.counted_from = next;
        cursor.seek(next);
    }

    /// Leaves the fence after a call to the text, unless the call began with one: it closes another block, or opens
    /// one.
    fn leave_fence(&mut self, text: &str, step: &mut CallStep) {
        const FENCE: &str = "```";
        let Some(calls) = &mut self.calls else { return };
        let (end, is_call) = match step {
            CallStep::Call(call) if memchr(b'`', &text.as_bytes()[..call.end]).is_none() => return,
            CallStep::Call(call) => {
                let head = text[..call.end].find(['{', '(']).unwrap_or(call.end);
                calls.has_own_fence |= text[..head].matches(FENCE).count() % 2 == 1;
                (&mut call.end, true)
            }
            CallStep::Done { end } => (end, false),
            _ => return,
        };
        let mut fences = Vec::new();
        if is_call {
            // Others may be in its arguments.
            let mut rest = &text[..*end];
            while let Some(before) = rest.trim_end().strip_suffix(FENCE) {
                fences.push(before.len());
                rest = before;
            }
            fences.reverse();
        } else if memchr(b'`', &text.as_bytes()[..*end]).is_some() {
            fences.extend(text[..*end].match_indices(FENCE).map(|(at, _)| at));
        }
        if let Some(&at) = fences.get(usize::from(calls.has_own_fence)) {
            *end = text[..at].trim_end().len();
        }
        calls.has_own_fence &= fences.is_empty();
    }
}
