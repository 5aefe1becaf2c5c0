//! `[weather(city="Paris", days=3), now()]`

use std::borrow::Cow;
use std::sync::Arc;

use super::format::debug_by_name;
use super::literals::{Container, Dialect, Fault, Literals};
use super::scan::{Literal, MAX_NAME, found, is_name, is_space, one_of, peek_byte};
use super::skip::BalanceSkip;
use super::step::Flow;
use super::syntax::CallSyntax;
use super::{CallFault, CallReader, CallSoFar, CallStep, CallText};
use crate::json::Parser;
use crate::{Code, Limits, ToolCall};

/// Reads a Python list of calls, or calls that each take a line.
///
/// The `,` or `]` after a call confirms it.
///
/// Brackets are common in text. Without markers around the list, anything short of `[name(argument=` and the
/// beginning of a literal is text, as is `[name()]` followed by `(`, a Markdown link. Many a line of Python
/// looks like a call that takes a line: detection accepts it only for a known tool, and with any fault it is
/// text.
pub(super) struct Pythonic {
    syntax: Arc<CallSyntax>,
    is_line: bool,
    /// Whether a marker opened it.
    is_framed: bool,
    /// Whether the calls are in brackets.
    is_list: bool,
    /// Whether the open call is a dictionary with name and arguments.
    is_dict: bool,
    literals: Literals,
    at: usize,
    /// The start of the open call.
    start: usize,
    state: State,
    name: String,
    /// Whether this is certainly a call, not text that looks like one.
    is_call: bool,
    /// Whether there was a call, valid or not.
    has_step: bool,
}

debug_by_name!(Pythonic);

#[derive(Debug)]
enum State {
    Start,
    /// After a marker.
    Open,
    /// After the calls, before a marker.
    Closing {
        end: usize,
    },
    /// Before a call.
    Call,
    Name,
    Arguments,
    /// After the closing parenthesis.
    AfterCall {
        end: usize,
    },
    /// After the closing bracket of a list of one call.
    AfterList {
        call_end: usize,
    },
    /// After a call that was returned.
    BetweenCalls,
    Skip(CallFault, BalanceSkip),
    Over,
}

impl CallReader for Pythonic {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn call_so_far<'t>(&'t mut self, _: &'t str) -> Option<CallSoFar<'t>> {
        let is_open =
            matches!(self.state, State::Arguments | State::AfterCall { .. } | State::AfterList { .. });
        let is_certain = self.is_call && !self.is_dict && !self.is_line && is_open;
        is_certain.then(|| CallSoFar::new(self.start, &self.name, self.literals.so_far()))
    }
}

impl Pythonic {
    pub(super) fn new(syntax: Arc<CallSyntax>, is_line: bool, limits: &Limits) -> Self {
        Self {
            syntax,
            is_line,
            is_framed: false,
            is_list: !is_line,
            is_dict: false,
            literals: Literals::new(Dialect::Python { is_line }, limits),
            at: 0,
            start: 0,
            state: State::Start,
            name: String::new(),
            is_call: false,
            has_step: false,
        }
    }

    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        // These states look at more than the next byte.
        match &mut self.state {
            State::Arguments => return self.arguments(text, is_end),
            State::Skip(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else { return Flow::Return(CallStep::NeedMore) };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                let state = if skipped.is_closed { State::BetweenCalls } else { State::Over };
                return self.end_call(state, CallStep::Malformed(fault));
            }
            State::Over => return Flow::Return(CallStep::Done { end: 0 }),
            State::Start if !self.is_line => return self.open(text, is_end),
            &mut State::Closing { end } => return self.closing(text, is_end, end),
            _ => {}
        }
        if !matches!(self.state, State::Name | State::AfterList { .. }) {
            self.skip_space(text);
        }
        let Some(&byte) = text.as_bytes().get(self.at) else { return self.out_of_text(text, is_end) };
        match self.state {
            State::Start if self.is_line => self.begin_call(text, byte),
            State::Open if byte == b'[' => self.go(State::Call),
            State::Open => {
                self.is_list = false;
                self.enter(State::Call)
            }
            State::Call if byte == b'{' => self.begin_dict(text, is_end),
            State::Call if byte == b']' && self.has_step && self.is_list => self.end_list(),
            State::Call if self.has_step && !self.is_list && !is_name(byte) => {
                self.enter(State::Closing { end: 0 })
            }
            State::Call => self.begin_call(text, byte),
            State::Name => self.call_name(text, byte),
            State::AfterCall { end } => self.after_call(text, byte, end),
            State::AfterList { call_end } if byte != b'(' => self.release(call_end, true),
            State::BetweenCalls if byte == b',' && !self.is_line => self.go(State::Call),
            State::BetweenCalls if byte == b']' && self.is_list => self.end_list(),
            State::BetweenCalls if self.is_framed && !self.is_list => self.enter(State::Call),
            State::BetweenCalls => self.over(0),
            _ => self.not_a_call(),
        }
    }

    /// Handles the end of the text so far.
    fn out_of_text(&mut self, text: &str, is_end: bool) -> Flow {
        if !is_end {
            return Flow::Return(CallStep::NeedMore);
        }
        match self.state {
            State::AfterCall { end } if self.is_call => self.release(end, false),
            State::AfterList { call_end } => self.release(call_end, true),
            State::Call | State::BetweenCalls if self.has_step => self.over(0),
            _ if !self.is_certain() => self.not_a_call(),
            _ => {
                self.state = State::Over;
                Flow::Return(CallStep::Malformed(CallFault::truncated(self.start, text.len())))
            }
        }
    }

    fn skip_space(&mut self, text: &str) {
        let rest = &text.as_bytes()[self.at..];
        // A call that takes a line must not continue on the next.
        let is_space = |byte: &u8| is_space(*byte) && !(self.is_line && *byte == b'\n');
        self.at += rest.iter().position(|byte| !is_space(byte)).unwrap_or(rest.len());
    }

    /// Reads the opening marker, or the bracket.
    fn open(&mut self, text: &str, is_end: bool) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        match one_of(text, 0, is_end, syntax.openers()) {
            Literal::Found((), len) => {
                self.is_framed = text[..len] != *"[";
                if self.is_framed {
                    let close = syntax.block.iter().find(|(open, _)| *open == text[..len]);
                    self.literals.allow_lines_before(close.map(|(_, close)| close.as_str()));
                }
                self.at = len;
                let state = if self.is_framed { State::Open } else { State::Call };
                self.enter(state)
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.not_a_call(),
        }
    }

    fn end_list(&mut self) -> Flow {
        let end = self.at + 1;
        if self.is_framed { self.go(State::Closing { end }) } else { self.over(end) }
    }

    /// The closing markers belong to the run.
    fn closing(&mut self, text: &str, is_end: bool, end: usize) -> Flow {
        self.skip_space(text);
        let syntax = Arc::clone(&self.syntax);
        match one_of(text, self.at, is_end, syntax.closers()) {
            Literal::Found((), len) => {
                self.at += len;
                self.enter(State::Closing { end: self.at })
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.over(end),
        }
    }

    /// Begins a dictionary with name and arguments.
    fn begin_dict(&mut self, text: &str, is_end: bool) -> Flow {
        // With double quotes, it may as well be JSON.
        if !self.is_framed {
            match peek_byte(text, self.at + 1) {
                Ok(Some(b'\'')) => {}
                Ok(None) if !is_end => return Flow::Return(CallStep::NeedMore),
                _ => return self.not_a_call(),
            }
        }
        self.start = self.at;
        (self.is_call, self.is_dict) = (self.is_framed, true);
        self.literals.begin(self.at, Container::Object);
        self.enter(State::Arguments)
    }

    fn begin_call(&mut self, text: &str, byte: u8) -> Flow {
        self.start = self.at;
        // The first call of a list decides what the list is.
        self.is_call = self.has_step;
        self.is_dict = false;
        if !is_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.') {
            return self.unexpected(text, "a call");
        }
        self.go(State::Name)
    }

    fn call_name(&mut self, text: &str, byte: u8) -> Flow {
        match byte {
            b'(' => {
                text[self.start..self.at].clone_into(&mut self.name);
                self.is_call |= self.is_framed;
                self.literals.begin(self.at, Container::Call);
                self.enter(State::Arguments)
            }
            _ if is_name(byte) && self.at - self.start < MAX_NAME => self.pass(),
            _ => self.unexpected(text, "`(` after a name"),
        }
    }

    fn arguments(&mut self, text: &str, is_end: bool) -> Flow {
        let read = self.literals.read(text, is_end);
        self.is_call |= self.literals.is_certain();
        match read {
            None => self.out_of_text(text, is_end),
            Some(Ok(end)) => {
                self.at = end;
                // Between markers, a call without brackets is complete.
                if self.is_framed && !self.is_list {
                    self.release(end, true)
                } else {
                    self.enter(State::AfterCall { end })
                }
            }
            Some(Err(Fault { at, code, message, quote })) => {
                self.at = at;
                self.faulty(code, message, quote)
            }
        }
    }

    fn after_call(&mut self, text: &str, byte: u8, end: usize) -> Flow {
        match byte {
            b'\n' if self.is_line => self.release(end, true),
            _ if self.is_line => self.not_a_call(),
            b',' => self.release(end, true),
            b']' if self.has_step || self.is_framed => self.release(end, true),
            // `[print()](print.md)` is a link.
            b']' => self.go(State::AfterList { call_end: end }),
            _ => self.unexpected(text, "`,` or `]`"),
        }
    }

    fn release(&mut self, end: usize, is_confirmed: bool) -> Flow {
        if self.is_dict && !self.is_framed && !is_call(self.literals.so_far()) {
            return self.not_a_call();
        }
        let call = if self.is_dict {
            CallText::as_json(self.start..end, self.literals.so_far().to_owned())
        } else {
            CallText::from_parts(self.start..end, &self.name, self.literals.so_far(), None)
        };
        self.end_call(
            State::BetweenCalls,
            CallStep::Call(if is_confirmed { call } else { call.unconfirmed() }),
        )
    }

    fn pass(&mut self) -> Flow {
        self.at += 1;
        Flow::Continue
    }

    /// Moves past this byte, into the state.
    fn go(&mut self, state: State) -> Flow {
        self.at += 1;
        self.enter(state)
    }

    fn enter(&mut self, state: State) -> Flow {
        self.state = state;
        Flow::Continue
    }

    fn over(&mut self, end: usize) -> Flow {
        self.state = State::Over;
        Flow::Return(CallStep::Done { end })
    }

    fn unexpected(&mut self, text: &str, expected: &str) -> Flow {
        let message = format!("expected {expected}, found {}", found(text, self.at));
        self.faulty(Code::MalformedJson, message.into(), None)
    }

    fn faulty(&mut self, code: Code, message: Cow<'static, str>, quote: Option<u8>) -> Flow {
        if !self.is_certain() || self.is_line {
            return self.not_a_call();
        }
        let depth = if matches!(self.state, State::Arguments) { self.literals.depth() } else { 0 };
        let fault = CallFault::new(code, self.start, self.at, message);
        self.enter(State::Skip(fault, BalanceSkip::new(self.at, depth, quote, b"\"'").of_list()))
    }

    /// Whether this is a call, valid or not. A list of dictionaries may be any data.
    fn is_certain(&self) -> bool {
        self.is_call && (self.is_framed || !self.is_dict)
    }

    fn not_a_call(&mut self) -> Flow {
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

/// Whether an object has the members of a call.
fn is_call(object: &str) -> bool {
    Parser::new().parse(object).is_ok_and(|object| ToolCall::is_in(object, None))
}
