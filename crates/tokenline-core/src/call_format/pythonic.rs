//! `[weather(city="Paris", days=3), now()]`

mod arguments;
mod literal;
mod string;

use std::borrow::Cow;
use std::collections::HashSet;

use super::scan::{MAX_NAME, found, is_name, is_space};
use super::skip::BalanceSkip;
use super::step::Flow;
use super::{CallFault, CallReader, CallStep, CallText, Opener, ToolCallFormat};
use crate::{Code, Limits};
use literal as python;

/// A Python list of calls, as written by Llama 3.2 and 4.
///
/// Arguments have names and are literals: strings with Python's escapes (surrogate pairs are accepted as
/// well), decimal numbers, `True`, `False`, `None`, lists, and dictionaries with strings as keys. JSON's
/// `true`, `false` and `null` are accepted too. The `,` or `]` after a call confirms it.
///
/// Brackets are common in text. Anything short of `[name(argument=` and the beginning of a literal is text,
/// as is `[name()]` followed by `(`, a Markdown link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pythonic;

impl ToolCallFormat for Pythonic {
    fn name(&self) -> &str {
        "pythonic"
    }

    fn openers(&self) -> Vec<Opener> {
        vec!["[".into()]
    }

    fn start(&self, limits: &Limits) -> Box<dyn CallReader> {
        Box::new(Reader::new(false, limits))
    }
}

/// One call that takes a line, without brackets.
///
/// Many a line of Python looks the same. So detection accepts it only for a known tool, and with any fault it
/// is text.
#[derive(Clone, Copy, Debug)]
pub(super) struct PythonicLine;

impl ToolCallFormat for PythonicLine {
    fn name(&self) -> &str {
        "pythonic"
    }

    fn openers(&self) -> Vec<Opener> {
        vec![Opener::NameAtLineStart]
    }

    fn start(&self, limits: &Limits) -> Box<dyn CallReader> {
        Box::new(Reader::new(true, limits))
    }

    fn needs_known_tool(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Reader {
    is_line: bool,
    depth_limit: usize,
    at: usize,
    /// The start of the open call.
    start: usize,
    state: State,
    name: String,
    /// The parameters so far, as JSON.
    parameters: String,
    /// The arguments' names so far.
    names: HashSet<String>,
    /// The open lists and dictionaries.
    containers: Vec<Container>,
    /// Whether this is certainly a call, not text that looks like one.
    is_call: bool,
    /// Whether there was a call, valid or not.
    has_step: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    List,
    Dict,
}

#[derive(Debug)]
enum State {
    Start,
    /// Before a call.
    Call,
    Name,
    /// Before an argument, or the end of the call.
    Argument,
    ArgumentName {
        from: usize,
    },
    AfterArgumentName {
        from: usize,
        to: usize,
    },
    Value,
    /// Before an element of the innermost list or dictionary, or its end.
    Element,
    Colon,
    AfterValue,
    Word {
        from: usize,
    },
    Number {
        from: usize,
    },
    /// Before a string's text.
    Quote {
        is_name: bool,
    },
    String {
        quote: u8,
        is_triple: bool,
        is_name: bool,
    },
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

impl CallReader for Reader {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }
}

impl Reader {
    fn new(is_line: bool, limits: &Limits) -> Self {
        Self {
            is_line,
            // The call and its parameters are two containers.
            depth_limit: (limits.effective_depth() as usize).saturating_sub(2),
            at: 0,
            start: 0,
            state: State::Start,
            name: String::new(),
            parameters: String::new(),
            names: HashSet::new(),
            containers: Vec::new(),
            is_call: false,
            has_step: false,
        }
    }

    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        // These states look at more than the next byte.
        match &mut self.state {
            State::Quote { is_name } => {
                let is_name = *is_name;
                return self.quote(text, is_end, is_name);
            }
            &mut State::String { quote, is_triple, is_name } => {
                return self.string(text, is_end, quote, is_triple, is_name);
            }
            State::Skip(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else { return Flow::Return(CallStep::NeedMore) };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                let state = if skipped.is_closed { State::BetweenCalls } else { State::Over };
                return self.end_call(state, CallStep::Malformed(fault));
            }
            State::Over => return Flow::Return(CallStep::Done { end: 0 }),
            _ => {}
        }
        let is_in_token = matches!(
            self.state,
            State::Name
                | State::ArgumentName { .. }
                | State::Word { .. }
                | State::Number { .. }
                | State::AfterList { .. }
        );
        if !is_in_token {
            self.skip_space(text);
        }
        let Some(&byte) = text.as_bytes().get(self.at) else { return self.out_of_text(text, is_end) };
        match self.state {
            State::Start if self.is_line => self.begin_call(text, byte),
            State::Start if byte == b'[' => self.go(State::Call),
            State::Call if byte == b']' && self.has_step => self.over(self.at + 1),
            State::Call => self.begin_call(text, byte),
            State::Name => self.call_name(text, byte),
            State::Argument => match byte {
                b')' => self.close_call(),
                _ if byte == b'_' || byte.is_ascii_alphabetic() => {
                    self.enter(State::ArgumentName { from: self.at })
                }
                b'"' | b'\'' | b'[' | b'{' | b'0'..=b'9' => {
                    self.is_call = true;
                    self.fault(Code::InvalidParameters, "an argument has no name")
                }
                _ => self.unexpected(text, "an argument"),
            },
            State::ArgumentName { .. } if byte == b'_' || byte.is_ascii_alphanumeric() => self.pass(),
            State::ArgumentName { from } => self.enter(State::AfterArgumentName { from, to: self.at }),
            State::AfterArgumentName { from, to } => self.argument(text, byte, from, to),
            State::Value => self.value(text, byte),
            State::Element => self.element(text, byte),
            State::Colon if byte == b':' => {
                self.parameters.push(':');
                self.go(State::Value)
            }
            State::Colon => self.unexpected(text, "`:`"),
            State::AfterValue => self.after_value(text, byte),
            State::Word { .. } if byte == b'_' || byte.is_ascii_alphanumeric() => self.pass(),
            State::Word { from } => match python::word(&text[from..self.at]) {
                Some(json) => {
                    self.is_call = true;
                    self.parameters.push_str(json);
                    self.enter(State::AfterValue)
                }
                None => {
                    self.at = from;
                    self.unexpected(text, "a literal")
                }
            },
            State::Number { from } => {
                let is_exponent = matches!(text.as_bytes()[self.at - 1], b'e' | b'E');
                match byte {
                    b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => self.pass(),
                    b'+' | b'-' if is_exponent => self.pass(),
                    _ if python::number(&text[from..self.at], &mut self.parameters) => {
                        self.is_call = true;
                        self.enter(State::AfterValue)
                    }
                    _ => {
                        self.at = from;
                        self.unexpected(text, "a decimal number")
                    }
                }
            }
            State::AfterCall { end } => self.after_call(text, byte, end),
            State::AfterList { call_end } if byte != b'(' => self.release(call_end, true),
            State::BetweenCalls if byte == b',' && !self.is_line => self.go(State::Call),
            State::BetweenCalls if byte == b']' && !self.is_line => self.over(self.at + 1),
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
            _ if !self.is_call => self.not_a_call(),
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

    fn begin_call(&mut self, text: &str, byte: u8) -> Flow {
        self.start = self.at;
        // The first call of a list decides what the list is.
        self.is_call = self.has_step;
        if !is_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.') {
            return self.unexpected(text, "a call");
        }
        self.go(State::Name)
    }

    fn call_name(&mut self, text: &str, byte: u8) -> Flow {
        match byte {
            b'(' => {
                text[self.start..self.at].clone_into(&mut self.name);
                self.names.clear();
                self.parameters.clear();
                self.parameters.push('{');
                self.go(State::Argument)
            }
            _ if is_name(byte) && self.at - self.start < MAX_NAME => self.pass(),
            _ => self.unexpected(text, "`(` after a name"),
        }
    }

    fn close_call(&mut self) -> Flow {
        self.parameters.push('}');
        let end = self.at + 1;
        self.go(State::AfterCall { end })
    }

    fn after_call(&mut self, text: &str, byte: u8, end: usize) -> Flow {
        match byte {
            b'\n' if self.is_line => self.release(end, true),
            _ if self.is_line => self.not_a_call(),
            b',' => self.release(end, true),
            b']' if self.has_step => self.release(end, true),
            // `[print()](print.md)` is a link.
            b']' => self.go(State::AfterList { call_end: end }),
            _ => self.unexpected(text, "`,` or `]`"),
        }
    }

    fn release(&mut self, end: usize, is_confirmed: bool) -> Flow {
        let call = CallText::from_parts(self.start..end, &self.name, &self.parameters, None);
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
        self.fault(Code::MalformedJson, message)
    }

    fn fault_in(&mut self, message: &'static str, quote: Option<u8>) -> Flow {
        self.faulty(Code::MalformedJson, message.into(), quote)
    }

    fn fault(&mut self, code: Code, message: impl Into<Cow<'static, str>>) -> Flow {
        self.faulty(code, message.into(), None)
    }

    fn faulty(&mut self, code: Code, message: Cow<'static, str>, quote: Option<u8>) -> Flow {
        if !self.is_call || self.is_line {
            return self.not_a_call();
        }
        let is_open = !matches!(self.state, State::Call | State::Name | State::AfterCall { .. });
        let depth = self.containers.len() as u32 + u32::from(is_open);
        let fault = CallFault::new(code, self.start, self.at, message);
        self.enter(State::Skip(fault, BalanceSkip::new(self.at, depth, quote, b"\"'").of_list()))
    }

    fn not_a_call(&mut self) -> Flow {
        self.state = State::Over;
        Flow::Return(CallStep::no_more(self.has_step))
    }

    /// Ends the call: the text then begins after it.
    fn end_call(&mut self, state: State, step: CallStep) -> Flow {
        self.has_step = true;
        self.at = 0;
        self.containers.clear();
        self.state = state;
        Flow::Return(step)
    }
}
