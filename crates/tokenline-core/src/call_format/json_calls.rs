//! Calls as JSON objects after a tag: one, several in a row, or an array.

use super::scan::{Literal, found, literal, next_byte};
use super::skip::{BalanceSkip, TagSkip};
use super::step::Flow;
use super::{CallFault, CallStep, CallText};
use crate::json::{Expected, Parser, Step};
use crate::{Code, Limits};

/// Reads the calls after the tag.
#[derive(Debug)]
pub(super) struct JsonCalls {
    json: Parser,
    at: usize,
    state: State,
    in_array: bool,
    /// Whether there was a call, valid or not.
    has_step: bool,
    tags: Tags,
}

/// The tags around the calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tags {
    pub(super) open: &'static str,
    pub(super) close: Option<&'static str>,
}

#[derive(Debug)]
enum State {
    /// Before the first call.
    First,
    /// Before another call, or the end.
    AfterCall,
    Object {
        from: usize,
    },
    /// What follows the object shows whether it is complete.
    Confirming {
        from: usize,
        to: usize,
        is_after_comma: bool,
    },
    /// After the array.
    Closing {
        end: usize,
    },
    SkipToTag(CallFault, TagSkip),
    SkipToBalance(CallFault, BalanceSkip),
    Over,
}

impl JsonCalls {
    /// Calls after the tag that ends at `at`.
    pub(super) fn new(at: usize, tags: Tags, limits: &Limits) -> Self {
        let json = Parser::new().with_limits(limits);
        Self { json, at, state: State::First, in_array: false, has_step: false, tags }
    }

    pub(super) fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        match &mut self.state {
            State::First | State::AfterCall => self.next(text, is_end),
            &mut State::Object { from } => self.object(text, is_end, from),
            &mut State::Confirming { from, to, is_after_comma } => {
                self.confirming(text, is_end, from, to, is_after_comma)
            }
            &mut State::Closing { end } => self.closing(text, is_end, end),
            State::SkipToTag(fault, skip) => {
                let Tags { open, close: Some(close) } = self.tags else {
                    unreachable!("a closing tag is skipped to")
                };
                let Some(skipped) = skip.end(text, is_end, &[close, open]) else {
                    return Flow::Return(CallStep::NeedMore);
                };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                let state = if skipped.is_closed { State::Closing { end: 0 } } else { State::Over };
                self.end_call(state, CallStep::Malformed(fault))
            }
            State::SkipToBalance(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else {
                    return Flow::Return(CallStep::NeedMore);
                };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                let state = if skipped.is_closed { State::AfterCall } else { State::Over };
                self.end_call(state, CallStep::Malformed(fault))
            }
            State::Over => Flow::Return(CallStep::Done { end: 0 }),
        }
    }

    /// Before a call.
    fn next(&mut self, text: &str, is_end: bool) -> Flow {
        match next_byte(text, &mut self.at) {
            None if is_end => self.leave(),
            None => Flow::Return(CallStep::NeedMore),
            Some(b'{') => {
                self.json.reset();
                self.enter(State::Object { from: self.at })
            }
            Some(b'[') if !self.in_array && !self.has_step => {
                self.in_array = true;
                self.at += 1;
                Flow::Continue
            }
            Some(b']') if self.in_array && self.has_step => {
                self.at += 1;
                self.enter(State::Closing { end: self.at })
            }
            Some(b',') if self.has_step => {
                self.at += 1;
                Flow::Continue
            }
            Some(b'}' | b')') if self.in_array && self.has_step => self.over(0),
            Some(_) if self.in_array && self.has_step => {
                let fault =
                    CallFault::new(Code::NotAnObject, self.at, self.at, "a tool call must be an object");
                let skip = BalanceSkip::new(self.at, 0, None, b"\"");
                self.enter(State::SkipToBalance(fault, skip.before(self.tags.open, text)))
            }
            Some(_) if self.has_step => self.closing(text, is_end, 0),
            Some(_) => self.leave(),
        }
    }

    fn object(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        match self.json.resume(&text[from..]) {
            Step::NeedMore if is_end => {
                self.state = State::Over;
                let fault = CallFault::truncated(from, text.len());
                Flow::Return(CallStep::Malformed(fault))
            }
            Step::NeedMore => Flow::Return(CallStep::NeedMore),
            Step::Complete { end } => {
                self.at = from + end;
                self.enter(State::Confirming { from, to: from + end, is_after_comma: false })
            }
            // A sentence about the tag that mentions `{...}`.
            Step::Malformed(error) if error.expected == Expected::NameOrBrace && !self.has_step => {
                self.leave()
            }
            Step::Malformed(error) => {
                let fault = CallFault::from_syntax(from, from, error);
                let is_in_string = error.expected.is_in_string();
                self.enter(if self.tags.close.is_some() {
                    let skip = TagSkip::new(text, fault.at, is_in_string);
                    State::SkipToTag(fault, skip)
                } else {
                    let quote = is_in_string.then_some(b'"');
                    let skip = BalanceSkip::new(fault.at, self.json.depth(), quote, b"\"");
                    State::SkipToBalance(fault, skip.before(self.tags.open, text))
                })
            }
        }
    }

    fn confirming(
        &mut self,
        text: &str,
        is_end: bool,
        from: usize,
        to: usize,
        mut is_after_comma: bool,
    ) -> Flow {
        let call = CallText::as_written(from..to);
        while let Some(&byte) = text.as_bytes().get(self.at) {
            let is_confirmed = match byte {
                b' ' | b'\t' | b'\r' => false,
                b'\n' => !self.in_array,
                b',' | b']' if self.in_array => true,
                b',' if !is_after_comma => {
                    is_after_comma = true;
                    false
                }
                b'{' => true,
                b':' | b'}' | b']' => return self.conflict(text, from),
                b'"' if is_after_comma => return self.conflict(text, from),
                _ if self.in_array => return self.conflict(text, from),
                _ => true,
            };
            if is_confirmed {
                return self.end_call(State::AfterCall, CallStep::Call(call));
            }
            self.at += 1;
        }
        if is_end {
            return self.end_call(State::AfterCall, CallStep::Call(call.unconfirmed()));
        }
        self.state = State::Confirming { from, to, is_after_comma };
        Flow::Return(CallStep::NeedMore)
    }

    /// The text continues as if the object were still open.
    fn conflict(&mut self, text: &str, from: usize) -> Flow {
        let found = found(text, self.at);
        let message = format!("the object is balanced, but goes on with {found}");
        let fault = CallFault::new(Code::TrailingData, from, self.at, message);
        if self.tags.close.is_some() {
            return self.enter(State::SkipToTag(fault, TagSkip::new(text, self.at, false)));
        }
        // Skip to the end of the element, else to where the missing bracket belongs.
        let (at, depth) = if self.in_array { (self.at + 1, 0) } else { (self.at, 1) };
        let skip = BalanceSkip::new(at, depth, None, b"\"");
        self.enter(State::SkipToBalance(fault, skip.before(self.tags.open, text)))
    }

    /// After the last call: the closing tag belongs to the run.
    fn closing(&mut self, text: &str, is_end: bool, end: usize) -> Flow {
        let Some(close) = self.tags.close else { return self.over(end) };
        next_byte(text, &mut self.at);
        match literal(text, self.at, &[close]) {
            Literal::Found(_) => self.over(self.at + close.len()),
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.over(end),
        }
    }

    fn enter(&mut self, state: State) -> Flow {
        self.state = state;
        Flow::Continue
    }

    fn over(&mut self, end: usize) -> Flow {
        self.state = State::Over;
        Flow::Return(CallStep::Done { end })
    }

    /// There is no call here, or no further one.
    fn leave(&mut self) -> Flow {
        self.state = State::Over;
        Flow::Return(CallStep::no_more(self.has_step))
    }

    /// Ends the call: the text then begins after it.
    fn end_call(&mut self, state: State, step: CallStep) -> Flow {
        self.has_step = true;
        self.at = 0;
        self.state = state;
        Flow::Return(step)
    }
}
