//! Calls as JSON objects after a marker: one, several in a row, or an array.

use std::sync::Arc;

use super::format::debug_by_name;
use super::literals::{Container, Dialect, Literals};
use super::scan::{Literal, found, next_byte, one_of};
use super::skip::{BalanceSkip, TagSkip};
use super::step::Flow;
use super::syntax::CallSyntax;
use super::{CallFault, CallReader, CallSoFar, CallStep, CallText};
use crate::json::{Expected, Kind, Parser, Step};
use crate::{Code, Limits, ToolCall};

/// The most bytes of markers before the first call.
const MAX_MARKERS: usize = 128;

/// Reads the calls of a run.
pub(super) struct Objects {
    syntax: Arc<CallSyntax>,
    json: Parser,
    /// An object as Python writes it.
    python: Box<Literals>,
    is_python: bool,
    at: usize,
    state: State,
    in_array: bool,
    /// Whether there was a call, valid or not.
    has_step: bool,
    has_closers: bool,
}

debug_by_name!(Objects);

#[derive(Debug)]
enum State {
    /// Before the marker.
    Start,
    /// Before the first call.
    First,
    /// Before another call, or the end.
    AfterCall,
    Object {
        from: usize,
    },
    /// An object that is not JSON, but may be one of Python.
    Python {
        from: usize,
        /// The fault because of which it is not JSON.
        fault: CallFault,
        /// Whether it may be text.
        may_be_text: bool,
    },
    /// The text after the object shows whether it is complete.
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

impl CallReader for Objects {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn call_so_far<'t>(&'t mut self, text: &'t str) -> Option<CallSoFar<'t>> {
        let (State::Object { from } | State::Confirming { from, .. }) = self.state else { return None };
        if self.is_python {
            return None;
        }
        let object = self.json.snapshot(&text[from..])?;
        if !self.syntax.key_is_name {
            return ToolCall::so_far(object, from);
        }
        let (name, arguments) = object.as_object()?.iter().next()?;
        (arguments.kind() == Kind::Object).then(|| CallSoFar::new(from, name, arguments.raw()))
    }
}

impl Objects {
    pub(super) fn new(syntax: Arc<CallSyntax>, limits: &Limits) -> Self {
        let json = Parser::new().with_limits(limits);
        let python = Box::new(Literals::new(Dialect::Python { is_line: false }, limits));
        let has_closers = syntax.closers().next().is_some();
        Self {
            syntax,
            json,
            python,
            is_python: false,
            at: 0,
            state: State::Start,
            in_array: false,
            has_step: false,
            has_closers,
        }
    }

    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        match &mut self.state {
            State::Start => self.start(text, is_end),
            State::First | State::AfterCall => self.next(text, is_end),
            &mut State::Object { from } => self.object(text, is_end, from),
            State::Python { .. } => self.python(text, is_end),
            &mut State::Confirming { from, to, is_after_comma } => {
                self.confirming(text, is_end, from, to, is_after_comma)
            }
            &mut State::Closing { end } => self.closing(text, is_end, end),
            State::SkipToTag(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else { return Flow::Return(CallStep::NeedMore) };
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

    fn start(&mut self, text: &str, is_end: bool) -> Flow {
        if self.at > 0 {
            next_byte(text, &mut self.at);
        }
        let syntax = Arc::clone(&self.syntax);
        let markers = syntax.openers().chain(syntax.before.iter().map(String::as_str));
        match one_of(text, self.at, is_end, markers) {
            Literal::Found((), len) if self.at < MAX_MARKERS => {
                self.at += len;
                self.in_array = text[..self.at].ends_with('[');
                Flow::Continue
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ if self.at == 0 => self.leave(),
            _ => self.enter(State::First),
        }
    }

    /// Before a call.
    fn next(&mut self, text: &str, is_end: bool) -> Flow {
        match next_byte(text, &mut self.at) {
            None if is_end => self.leave(),
            None => Flow::Return(CallStep::NeedMore),
            Some(b'{') => {
                self.json.reset();
                self.is_python = false;
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
            Some(b',' | b';') if self.has_step => {
                self.at += 1;
                Flow::Continue
            }
            Some(b'}' | b')') if self.in_array && self.has_step => self.over(0),
            Some(_) if self.in_array && self.has_step => {
                let fault =
                    CallFault::new(Code::NotAnObject, self.at, self.at, "a tool call must be an object");
                let skip = BalanceSkip::new(self.at, 0, None, b"\"");
                let skip = skip.before(self.opener(), text);
                self.enter(State::SkipToBalance(fault, skip))
            }
            Some(_) if self.has_step => self.closing(text, is_end, 0),
            Some(_) => self.leave(),
        }
    }

    fn object(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        match self.json.resume(&text[from..]) {
            Step::NeedMore if is_end => {
                self.state = State::Over;
                if let Some(call) = self.without_brace(text, from) {
                    return self.end_call(State::Over, CallStep::Call(call));
                }
                let fault = CallFault::truncated(from, text.len());
                Flow::Return(CallStep::Malformed(fault))
            }
            Step::NeedMore => Flow::Return(CallStep::NeedMore),
            Step::Complete { end } => {
                self.at = from + end;
                self.enter(State::Confirming { from, to: from + end, is_after_comma: false })
            }
            Step::Malformed(error) => {
                let fault = CallFault::from_syntax(from, from, error);
                let is_in_string = error.expected.is_in_string();
                let may_be_text = error.expected == Expected::NameOrBrace && !self.has_step;
                // Where Python's literals differ from those of JSON: `'`, `True`, `False`, `None` and `(`.
                let byte = text.as_bytes().get(fault.at).copied();
                if error.expected.is_between_tokens()
                    && matches!(byte, Some(b'\'' | b'T' | b'F' | b'N' | b'('))
                {
                    let is_key = matches!(error.expected, Expected::Name | Expected::NameOrBrace);
                    let has_lines = error.expected == Expected::NameOrBrace && self.json.depth() == 1;
                    let close = self.syntax.closers().next().unwrap_or_default();
                    self.python.allow_lines_before(has_lines.then_some(close));
                    let open: Vec<_> = self.json.open_containers().map(|open| open.kind).collect();
                    let container =
                        |kind| if kind == Kind::Array { Container::List } else { Container::Object };
                    let open = open.into_iter().rev().map(container);
                    self.python.go_on_from(&text[from..fault.at], fault.at, open, is_key);
                    return self.enter(State::Python { from, fault, may_be_text });
                }
                // A sentence about the tag that mentions `{...}`.
                if may_be_text { self.leave() } else { self.skip(text, fault, is_in_string) }
            }
        }
    }

    fn python(&mut self, text: &str, is_end: bool) -> Flow {
        let read = self.python.read(text, is_end);
        let State::Python { from, fault, may_be_text } = &mut self.state else { return Flow::Continue };
        let (from, may_be_text) = (*from, *may_be_text);
        match read {
            None if !is_end => Flow::Return(CallStep::NeedMore),
            Some(Ok(end)) => {
                (self.at, self.is_python) = (end, true);
                self.enter(State::Confirming { from, to: end, is_after_comma: false })
            }
            None if !self.syntax.closers().any(|close| text[from..].contains(close)) => {
                self.state = State::Over;
                Flow::Return(CallStep::Malformed(CallFault::truncated(from, text.len())))
            }
            None | Some(Err(_)) if may_be_text && !self.python.is_certain() => self.leave(),
            None | Some(Err(_)) => {
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0));
                self.skip(text, fault, false)
            }
        }
    }

    fn skip(&mut self, text: &str, fault: CallFault, is_in_string: bool) -> Flow {
        self.enter(if self.has_closers {
            let skip = TagSkip::new(&self.syntax, text, fault.at, is_in_string);
            State::SkipToTag(fault, skip)
        } else {
            let quote = is_in_string.then_some(b'"');
            let skip = BalanceSkip::new(fault.at, self.json.depth(), quote, b"\"");
            State::SkipToBalance(fault, skip.before(self.opener(), text))
        })
    }

    fn confirming(
        &mut self,
        text: &str,
        is_end: bool,
        from: usize,
        to: usize,
        mut is_after_comma: bool,
    ) -> Flow {
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
                let call = self.call(text, from, to);
                return self.end_call(State::AfterCall, CallStep::Call(call));
            }
            self.at += 1;
        }
        if is_end {
            let call = self.call(text, from, to).unconfirmed();
            return self.end_call(State::AfterCall, CallStep::Call(call));
        }
        self.state = State::Confirming { from, to, is_after_comma };
        Flow::Return(CallStep::NeedMore)
    }

    /// The text continues as if the object were still open.
    fn conflict(&mut self, text: &str, from: usize) -> Flow {
        let found = found(text, self.at);
        let message = format!("the object is balanced, but goes on with {found}");
        let fault = CallFault::new(Code::TrailingData, from, self.at, message);
        if self.has_closers {
            return self.enter(State::SkipToTag(fault, TagSkip::new(&self.syntax, text, self.at, false)));
        }
        // Skip to the end of the element, else to where the missing bracket belongs.
        let (at, depth) = if self.in_array { (self.at + 1, 0) } else { (self.at, 1) };
        let skip = BalanceSkip::new(at, depth, None, b"\"");
        let skip = skip.before(self.opener(), text);
        self.enter(State::SkipToBalance(fault, skip))
    }

    /// The object, as a call.
    fn call(&mut self, text: &str, from: usize, to: usize) -> CallText {
        let json = if self.is_python { self.python.so_far() } else { &text[from..to] };
        if self.is_python && self.syntax.key_is_name {
            self.json.reset();
            self.json.resume(json);
        }
        let members = if self.syntax.key_is_name { self.json.value(json).as_object() } else { None };
        let mut members = members.into_iter().flatten();
        match (members.next(), members.next()) {
            (Some((name, arguments)), None) => {
                CallText::from_parts(from..to, name, &arguments.raw().replace(['\n', '\r'], " "), None)
            }
            _ if self.is_python => CallText::as_json(from..to, json.to_owned()),
            _ => CallText::as_written(from..to),
        }
    }

    /// The object at the end of the text, if its key is a name and only its own brace is missing.
    fn without_brace(&self, text: &str, from: usize) -> Option<CallText> {
        if !self.syntax.key_is_name {
            return None;
        }
        let object = format!("{}}}", &text[from..]);
        let mut parser = Parser::new();
        let (name, arguments) = parser.parse(&object).ok()?.as_object()?.iter().next()?;
        let arguments = arguments.to_single_line();
        Some(CallText::from_parts(from..text.len(), name, &arguments, None).without_end().unconfirmed())
    }

    /// After the last call: the closing markers belong to the run.
    fn closing(&mut self, text: &str, is_end: bool, end: usize) -> Flow {
        next_byte(text, &mut self.at);
        let syntax = Arc::clone(&self.syntax);
        let markers = syntax.closers().chain(syntax.after.iter().map(String::as_str));
        match one_of(text, self.at, is_end, markers) {
            Literal::Found((), len) => {
                self.at += len;
                self.enter(State::Closing { end: self.at })
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.over(end),
        }
    }

    /// The first opener.
    fn opener(&self) -> &str {
        self.syntax.openers().next().unwrap_or_default()
    }

    fn enter(&mut self, state: State) -> Flow {
        self.state = state;
        Flow::Continue
    }

    fn over(&mut self, end: usize) -> Flow {
        self.state = State::Over;
        Flow::Return(CallStep::Done { end })
    }

    /// No call begins here, or no further one.
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
