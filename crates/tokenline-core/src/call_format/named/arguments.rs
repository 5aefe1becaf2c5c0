//! Arguments as JSON, or as keys and values; and the end of a call.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Flow, Marker, Named, State};
use crate::Code;
use crate::call_format::literals::Fault;
use crate::call_format::scan::{Literal, found, kind, literal, next_byte, one_of};
use crate::call_format::{CallFault, CallStep, CallText, write};
use crate::json::{Expected, Step};

impl Named {
    pub(super) fn body(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        if let Some(notation) = self.notation.as_mut().filter(|notation| notation.is_in_text()) {
            notation.begin(from);
            return self.enter(State::Notation);
        }
        let first = next_byte(text, &mut self.at);
        if self.is_in_parentheses {
            return match first {
                None => self.wait(text, is_end),
                Some(b'{') if self.notation.is_none() => {
                    self.json.reset();
                    self.enter(State::Json { from: self.at })
                }
                Some(b')') => {
                    self.parameters.replace_range(.., "{}");
                    self.enter(State::Parenthesis { from: self.at, to: self.at })
                }
                Some(_) => self.not_a_call(),
            };
        }
        let before = kind(Marker::Markup, syntax.before.iter().map(String::as_str));
        let close = syntax.call_markers(self.call).1;
        match literal(text, self.at, is_end, before.chain([(Marker::CallEnd, close)])) {
            Literal::Found(Marker::Markup, len) => {
                self.at += len;
                return Flow::Continue;
            }
            Literal::Found(..) => return self.begin_parameters(),
            Literal::NeedMore if !is_end && first.is_some() => return Flow::Return(CallStep::NeedMore),
            _ => {}
        }
        match first {
            None => self.wait(text, is_end),
            Some(b'{') => match &mut self.notation {
                Some(notation) => {
                    notation.begin(self.at);
                    self.enter(State::Notation)
                }
                None => {
                    self.json.reset();
                    self.enter(State::Json { from: self.at })
                }
            },
            Some(_) if self.parameter_here(text, is_end) == Literal::NeedMore && !is_end => {
                Flow::Return(CallStep::NeedMore)
            }
            Some(_) if self.parameter_here(text, is_end) != Literal::None => self.begin_parameters(),
            Some(b'[' | b'"') if self.at == from || close.is_empty() => {
                self.fault(text, Code::InvalidParameters, self.at, "the arguments must be an object")
            }
            Some(_) if close.is_empty() && !syntax.name_end.is_empty() && self.ended_name(text, from) => {
                self.fault(text, Code::InvalidParameters, self.at, "the arguments must be an object")
            }
            // A sentence about the tag that mentions its name.
            Some(_) => self.not_a_call(),
        }
    }

    /// Whether a marker stands between the name and `at`.
    fn ended_name(&self, text: &str, at: usize) -> bool {
        self.syntax.name_end.iter().any(|end| end.trim() != "" && text[..at].ends_with(end.as_str()))
    }

    /// Whether a parameter's tag is here.
    fn parameter_here(&self, text: &str, is_end: bool) -> Literal<()> {
        one_of(text, self.at, is_end, self.syntax.parameter_openers())
    }

    pub(super) fn json(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        match self.json.resume(&text[from..]) {
            Step::NeedMore => self.wait(text, is_end),
            Step::Complete { end } => {
                self.at = from + end;
                self.after_arguments(from, from + end)
            }
            // A sentence about the tag that mentions `{...}`.
            Step::Malformed(error) if error.expected == Expected::NameOrBrace && !self.has_step => {
                self.not_a_call()
            }
            Step::Malformed(error) => {
                let fault = CallFault::from_syntax(self.start, from, error);
                let is_in_string = error.expected.is_in_string();
                let depth = self.json.depth();
                self.skip(text, fault, is_in_string, depth)
            }
        }
    }

    fn after_arguments(&mut self, from: usize, to: usize) -> Flow {
        let is_in_parentheses = self.is_in_parentheses;
        self.enter(if is_in_parentheses {
            State::Parenthesis { from, to }
        } else {
            State::AfterJson { from, to }
        })
    }

    pub(super) fn parenthesis(&mut self, text: &str, is_end: bool, from: usize, to: usize) -> Flow {
        match next_byte(text, &mut self.at) {
            None => self.wait(text, is_end),
            Some(b')') => {
                self.at += 1;
                self.enter(State::AfterJson { from, to })
            }
            Some(_) => {
                let message = format!("expected `)` after the arguments, found {}", found(text, self.at));
                self.fault(text, Code::TrailingData, self.at, message)
            }
        }
    }

    pub(super) fn notation(&mut self, text: &str, is_end: bool) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let close = syntax.call_markers(self.call).1;
        let Some(notation) = &mut self.notation else { return self.not_a_call() };
        let read = notation.read(text, is_end, close);
        if read.is_none() && is_end && notation.end_before(text, close) {
            std::mem::swap(&mut self.parameters, notation.json());
            // In a longer text, the string could go on.
            let call = self.call_text(text, (0, 0), text.len());
            return self.end_call(CallStep::Call(call.unconfirmed()));
        }
        match read {
            None => self.wait(text, is_end),
            Some(Ok(end)) => {
                self.at = end;
                std::mem::swap(&mut self.parameters, notation.json());
                self.enter(State::AfterJson { from: end, to: end })
            }
            Some(Err(Fault { at, code, message, .. })) => {
                let is_in_text = notation.is_in_text();
                self.skip(text, CallFault::new(code, self.start, at, message), is_in_text, 0)
            }
        }
    }

    /// The arguments as JSON on one line.
    fn arguments<'t>(&'t self, text: &'t str, from: usize, to: usize) -> Cow<'t, str> {
        if from == to {
            return self.parameters.as_str().into();
        }
        let json = &text[from..to];
        // Outside strings, which cannot contain one, a newline is white space.
        match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
            Some(_) => json.replace(['\n', '\r'], " ").into(),
            None => json.into(),
        }
    }

    pub(super) fn call(
        &mut self,
        text: &str,
        (from, to): (usize, usize),
        end: usize,
        is_closed: bool,
    ) -> Flow {
        let call = self.call_text(text, (from, to), end);
        let call = if is_closed { call } else { call.without_end() };
        self.end_call(CallStep::Call(call))
    }

    pub(super) fn call_text(&mut self, text: &str, (from, to): (usize, usize), end: usize) -> CallText {
        if from == to && std::mem::take(&mut self.is_repeated) {
            self.parameters = write::without_repetitions(&self.parameters);
        }
        let arguments = self.arguments(text, from, to);
        let call = CallText::from_parts(self.start..end, &self.name, &arguments, self.id.as_deref());
        if from == to { call.untyped() } else { call }
    }

    pub(super) fn after_json(&mut self, text: &str, is_end: bool, from: usize, to: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let close = syntax.call_markers(self.call).1;
        if close.is_empty() && syntax.after.is_empty() {
            return self.enter(State::Confirming { from, to, is_after_comma: false });
        }
        next_byte(text, &mut self.at);
        let after = kind(Marker::Markup, syntax.after.iter().map(String::as_str));
        let markers = after.chain([(Marker::CallEnd, close)]).chain(self.nexts_in_block());
        match literal(text, self.at, is_end, markers) {
            Literal::Found(Marker::Markup, len) => {
                self.at += len;
                Flow::Continue
            }
            Literal::Found(Marker::CallEnd, len) => self.call(text, (from, to), self.at + len, true),
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ if is_end && self.is_cut_here(text, close) => {
                let end = text.len();
                let call = self.call_text(text, (from, to), end);
                self.end_call(CallStep::Call(call.without_end().unconfirmed()))
            }
            Literal::Found(..) => self.call(text, (from, to), self.at, false),
            _ if close.is_empty() && text[to..self.at].trim().is_empty() => {
                self.at = to;
                self.enter(State::Confirming { from, to, is_after_comma: false })
            }
            _ if close.is_empty() => {
                let end = to + text[to..self.at].trim_end().len();
                self.call(text, (from, to), end, true)
            }
            _ => {
                let found = found(text, self.at);
                let message = format!("expected `{close}` after the arguments, found {found}");
                self.fault(text, Code::TrailingData, self.at, message)
            }
        }
    }

    /// Whether the text ends here, or inside one of the markers that may follow the arguments.
    pub(super) fn is_cut_here(&self, text: &str, close: &str) -> bool {
        let rest = &text[self.at..];
        rest.is_empty() || close.starts_with(rest) || self.syntax.after.iter().any(|it| it.starts_with(rest))
    }

    /// Inside a block, what shows that the call before it is over.
    pub(super) fn nexts_in_block(&self) -> impl Iterator<Item = (Marker, &str)> {
        let block = self.block.map(|block| self.syntax.block[block].1.as_str());
        let is_in_block = block.is_some_and(|close| !close.is_empty());
        let calls = self.syntax.call_openers().filter(move |_| is_in_block);
        kind(Marker::NextCall, block.into_iter().chain(calls))
    }

    pub(super) fn confirming(
        &mut self,
        text: &str,
        is_end: bool,
        from: usize,
        to: usize,
        mut is_after_comma: bool,
    ) -> Flow {
        while let Some(&byte) = text.as_bytes().get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b',' if !is_after_comma => {
                    is_after_comma = true;
                    self.at += 1;
                }
                b'"' | b':' | b'}' | b']' if byte != b'"' || is_after_comma => {
                    let found = found(text, self.at);
                    let message = format!("the arguments are balanced, but go on with {found}");
                    let fault = CallFault::new(Code::TrailingData, self.start, self.at, message);
                    return self.skip(text, fault, false, 1);
                }
                _ => return self.call(text, (from, to), to, true),
            }
        }
        if is_end {
            let call = self.call_text(text, (from, to), to);
            return self.end_call(CallStep::Call(call.unconfirmed()));
        }
        self.state = State::Confirming { from, to, is_after_comma };
        Flow::Return(CallStep::NeedMore)
    }
}
