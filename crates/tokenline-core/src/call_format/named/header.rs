//! The name of a call, and what stands between it and the arguments.

use std::sync::Arc;

use super::{Flow, Marker, Named, State};
use crate::Code;
use crate::call_format::CallStep;
use crate::call_format::scan::{
    Literal, MAX_NAME, ends_inside, first_literal, is_name, is_space, kind, literal, next_byte,
};
use crate::call_format::syntax::CallSyntax;

impl Named {
    /// The text that may follow the name, and stays to be read.
    fn after_name(syntax: &CallSyntax, call: usize) -> impl Iterator<Item = &str> {
        let close = syntax.call_markers(call).1;
        let close = syntax.parameter.is_some().then_some(close);
        syntax.parameter_openers().chain(close).chain(["{"]).chain(syntax.before.iter().map(String::as_str))
    }

    pub(super) fn name(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let bytes = text.as_bytes();
        let mut at = from;
        if next_byte(text, &mut at).is_none() && !is_end {
            self.state = State::Name { from: at };
            return Flow::Return(CallStep::NeedMore);
        }
        let quote = bytes.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        at += usize::from(quote.is_some());
        let len = bytes[at..].iter().take(MAX_NAME + 1).take_while(|byte| is_part_of_name(**byte)).count();
        let Some(len) = self.name_len(text, is_end, at, len) else { return self.wait(text, is_end) };
        let mut end = at + len;
        match bytes.get(end) {
            _ if len > MAX_NAME => return self.not_a_call(),
            None if is_end && len == 0 => return self.not_a_call(),
            None => return self.wait(text, is_end),
            Some(_) if len == 0 => return self.not_a_call(),
            Some(_) => {}
        }
        text[at..end].clone_into(&mut self.name);
        if let Some(quote) = quote {
            if bytes[end] != quote {
                return self.not_a_call();
            }
            end += 1;
        }
        self.at = end;
        self.enter(State::Header { name_end: end })
    }

    /// The length of a name at `at` that has at most `len` bytes, before the marker that ends it; `None` if the
    /// marker may have begun.
    fn name_len(&self, text: &str, is_end: bool, at: usize, len: usize) -> Option<usize> {
        let ends = self.syntax.name_end.iter().map(String::as_str).chain(self.syntax.id.as_deref());
        let ends = ends.chain(self.syntax.parameter_openers());
        let ends = ends.filter(|end| end.bytes().next().is_some_and(is_part_of_name));
        match first_literal(text, at..at + len, is_end, &ends) {
            Literal::Found(end, _) => Some(end - at),
            Literal::NeedMore => None,
            Literal::None => Some(len),
        }
    }

    pub(super) fn header(&mut self, text: &str, is_end: bool, name_end: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        loop {
            let ends = kind(Marker::NameEnd, syntax.name_end.iter().map(String::as_str));
            let id = kind(Marker::Id, syntax.id.as_deref());
            let next = kind(Marker::Arguments, Self::after_name(&syntax, self.call));
            match literal(text, self.at, is_end, ends.chain(id).chain(next)) {
                Literal::Found(Marker::NameEnd, len) => {
                    self.at += len;
                    break;
                }
                Literal::Found(Marker::Id, len) => {
                    self.at += len;
                    if self.id.is_some() {
                        return self.not_a_call();
                    }
                    return self.enter(State::Id { from: self.at });
                }
                // At the end of the text, a marker may be the first part of a longer one that ends the name.
                Literal::Found(..)
                    if is_end && syntax.name_end.iter().any(|end| ends_inside(&text[self.at..], end)) =>
                {
                    return self.wait(text, is_end);
                }
                // `<tool_call> and </tool_call>` in a sentence.
                Literal::Found(..) if self.has_blanks(text, name_end) && self.is_at_closer(text) => {
                    return self.not_a_call();
                }
                Literal::Found(..) => break,
                Literal::NeedMore if !is_end => return Flow::Return(CallStep::NeedMore),
                Literal::NeedMore => return self.wait(text, is_end),
                Literal::None => match text.as_bytes().get(self.at) {
                    Some(byte) if is_space(*byte) && (*byte != b'\n' || syntax.header_is_id) => self.at += 1,
                    // `weather({"city": "Paris"})`: with a closing marker, this is not just code.
                    Some(b'(')
                        if !self.is_in_parentheses
                            && !syntax.header_is_id
                            && !syntax.call_markers(self.call).1.is_empty() =>
                    {
                        self.at += 1;
                        self.is_in_parentheses = true;
                        return self.enter(State::Body { from: self.at });
                    }
                    // Attributes.
                    Some(_)
                        if syntax.parameter.as_ref().is_some_and(|it| it.type_attribute.is_some())
                            && self.at < name_end + 256 =>
                    {
                        self.at += 1;
                    }
                    Some(_) => return self.not_a_call(),
                    None => return self.wait(text, is_end),
                },
            }
        }
        if syntax.header_is_id {
            let (name, index) = self.name.rsplit_once(':').unwrap_or((&self.name, ""));
            if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
                let message = "expected a name and an index, such as `functions.weather:0`";
                return self.fault(text, Code::MalformedJson, name_end, message);
            }
            let name = name.strip_prefix("functions.").unwrap_or(name).to_owned();
            let header = std::mem::replace(&mut self.name, name);
            self.id = Some(match syntax.call_markers(self.call).0 {
                "functions." => format!("functions.{header}"),
                _ => header,
            });
        }
        if syntax.namespace
            && let Some((namespace, name)) = self.name.split_once('.')
            && namespace == name
        {
            self.name.truncate(namespace.len());
        }
        self.enter(State::Body { from: self.at })
    }

    /// Whether there are blanks around the name that ends here.
    fn has_blanks(&self, text: &str, name_end: usize) -> bool {
        let before = self.start + if self.is_bare { 0 } else { self.syntax.call_markers(self.call).0.len() };
        text[before..].starts_with(' ') || text[name_end..].starts_with(' ')
    }

    fn is_at_closer(&self, text: &str) -> bool {
        let close = self.syntax.call_markers(self.call).1;
        !close.is_empty() && text[self.at..].starts_with(close)
    }

    pub(super) fn id(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let rest = text.as_bytes()[from..].iter().take(MAX_NAME + 1);
        let len = rest.take_while(|byte| is_name(**byte)).count();
        if from + len == text.len() {
            return self.wait(text, is_end);
        }
        if len == 0 || len > MAX_NAME {
            return self.not_a_call();
        }
        self.id = Some(text[from..from + len].to_owned());
        self.at = from + len;
        self.enter(State::Header { name_end: self.at })
    }
}

/// Only a bracket, a quote or white space ends a name.
fn is_part_of_name(byte: u8) -> bool {
    !byte.is_ascii_control()
        && !matches!(byte, b' ' | b'<' | b'>' | b'[' | b'(' | b'{' | b'}' | b'"' | b'\'' | b'=')
}
