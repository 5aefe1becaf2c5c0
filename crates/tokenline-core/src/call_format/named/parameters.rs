//! Parameters with tags of their own.

use std::sync::Arc;

use super::{Flow, Marker, Named, State, tags};
use crate::Code;
use crate::call_format::CallStep;
use crate::call_format::scan::{
    Literal, MAX_BLANKS, char_start, ends_inside, found, is_space, kind, literal, next_byte, one_of,
};
use crate::call_format::syntax::ParameterTags;
use crate::json::write;

/// The longest name of a type.
const MAX_TYPE: usize = 256;

/// The beginning of a value in which tags are text.
const CDATA: &[u8] = b"<![CDATA[";

/// The meaning of a tag that may end a value, by the text after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Another parameter, the end of the block, or another call: the value or the call has ended.
    Marker,
    /// Nothing, or the beginning of a marker.
    End,
    /// Something else: the value goes on.
    Text,
}

impl Named {
    pub(super) fn begin_parameters(&mut self) -> Flow {
        self.names.clear();
        self.is_repeated = false;
        self.may_go_on = false;
        self.parameters.clear();
        self.parameters.push('{');
        self.enter(State::Parameters)
    }

    pub(super) fn parameters(&mut self, text: &str, is_end: bool) -> Flow {
        next_byte(text, &mut self.at);
        let syntax = Arc::clone(&self.syntax);
        let close = syntax.call_markers(self.call).1;
        let tags = syntax.parameter.iter().flat_map(|it| Marker::openers(&it.tags, Marker::Parameter));
        let markers = tags.chain([(Marker::CallEnd, close)]).chain(self.nexts_in_block());
        // At the end of the text, a marker may be the first part of a tag.
        let rest = &text[self.at..];
        let may_be_tag = is_end && syntax.parameter_openers().any(|tag| ends_inside(rest, tag));
        let may_be_parameter = may_be_tag && !rest.is_empty();
        match literal(text, self.at, is_end, markers) {
            Literal::Found(Marker::Parameter(tag), len) => {
                self.enter(State::Key { from: self.at + len, tag })
            }
            Literal::Found(Marker::CallEnd, len) => {
                self.parameters.push('}');
                let end = self.at + len;
                let is_uncertain = may_be_tag || self.may_go_on;
                let call = self.call_text(text, (0, 0), end);
                self.end_call(CallStep::Call(if is_uncertain { call.unconfirmed() } else { call }))
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ if is_end && !may_be_parameter && !self.names.is_empty() && self.is_cut_here(text, close) => {
                self.parameters.push('}');
                let call = self.call_text(text, (0, 0), text.len());
                self.end_call(CallStep::Call(call.without_end().unconfirmed()))
            }
            Literal::Found(..) if may_be_tag => self.wait(text, is_end),
            Literal::Found(..) if !self.names.is_empty() => {
                self.parameters.push('}');
                self.call(text, (0, 0), self.at, false)
            }
            Literal::NeedMore => self.wait(text, is_end),
            _ if self.names.is_empty() => self.not_a_call(),
            _ => {
                let message = self.expected_parameter(text);
                self.fault(text, Code::MalformedJson, self.at, message)
            }
        }
    }

    pub(super) fn key(&mut self, text: &str, is_end: bool, from: usize, tag: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let Some(parameter) = &syntax.parameter else { return self.not_a_call() };
        match tags::key(text, from, parameter) {
            tags::Key::NeedMore => self.wait(text, is_end),
            tags::Key::None => {
                self.fault(text, Code::MalformedJson, from, "expected the name of a parameter")
            }
            tags::Key::Found { name, is_json, end } => {
                self.is_repeated |= !self.names.insert(name.to_owned());
                name.clone_into(&mut self.key);
                self.at = end;
                self.enter(State::BeforeValue { tag, is_json })
            }
        }
    }

    pub(super) fn before_value(
        &mut self,
        text: &str,
        is_end: bool,
        tag: usize,
        is_json: Option<bool>,
    ) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let Some(parameter) = &syntax.parameter else { return self.not_a_call() };
        let Some(value) = &parameter.value else {
            return self.enter(State::Value { from: self.at, tag, is_json, depth: 0 });
        };
        next_byte(text, &mut self.at);
        let types = parameter.type_tags.iter().map(|(open, close)| (Some(close), open.as_str()));
        match literal(text, self.at, is_end, [(None, value.as_str())].into_iter().chain(types)) {
            Literal::Found(None, len) => {
                self.at += len;
                self.enter(State::Value { from: self.at, tag, is_json, depth: 0 })
            }
            Literal::Found(Some(close), len) => {
                let from = self.at + len;
                let rest = &text[from..char_start(text, from + MAX_TYPE + close.len())];
                match rest.find(close.as_str()) {
                    Some(len) => {
                        let is_json = Some(!tags::is_string_type(text[from..from + len].trim()));
                        self.at = from + len + close.len();
                        self.enter(State::BeforeValue { tag, is_json })
                    }
                    None if text.len() - from > MAX_TYPE + close.len() => {
                        self.fault(text, Code::MalformedJson, from, "expected the type of a parameter")
                    }
                    None => self.wait(text, is_end),
                }
            }
            Literal::NeedMore => self.wait(text, is_end),
            Literal::None => {
                let message = format!("expected `{value}`, found {}", found(text, self.at));
                self.fault(text, Code::MalformedJson, self.at, message)
            }
        }
    }

    /// The text of a parameter, up to its closing tag. A call inside it, on lines of its own, is text.
    pub(super) fn value(
        &mut self,
        text: &str,
        is_end: bool,
        from: usize,
        tag: usize,
        is_json: Option<bool>,
        mut depth: u32,
    ) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let Some(parameter) = &syntax.parameter else { return self.not_a_call() };
        let (open, close) = syntax.call_markers(self.call);
        let bytes = text.as_bytes();
        let blanks = bytes[from..].iter().take(MAX_BLANKS).take_while(|byte| is_space(**byte)).count();
        let cdata = from + blanks + CDATA.len();
        if self.at < cdata && bytes[from + blanks..].starts_with(CDATA) {
            self.at = cdata;
            self.is_in_cdata = true;
        }
        if self.is_in_cdata {
            // Its end may have begun.
            let searched = self.at.saturating_sub(2).max(cdata);
            match memchr::memmem::find(&bytes[searched..], b"]]>") {
                Some(found) => (self.at, self.is_in_cdata) = (searched + found + 3, false),
                None => {
                    self.at = text.len();
                    return self.wait(text, is_end);
                }
            }
        }
        while let Some(found) = self.value_firsts.find(&bytes[self.at..]) {
            self.at += found;
            let before = text[from..self.at].trim_end_matches([' ', '\t']);
            let is_line_start = before.ends_with('\n');
            let value_end = (Marker::ValueEnd, parameter.tags[tag].1.as_str());
            let tags = parameter.tags.iter().enumerate();
            let tags = tags.map(|(index, (open, _))| (Marker::Parameter(index), open.as_str()));
            let others = kind(Marker::Markup, syntax.block_closers());
            let ends = [value_end, (Marker::CallEnd, close), (Marker::Call(self.call), open)];
            match literal(text, self.at, is_end, ends.into_iter().chain(tags).chain(others)) {
                Literal::Found(Marker::Call(_), _) if self.passed_end.is_some() => {
                    return self.value_goes_on(text);
                }
                Literal::Found(Marker::Call(_), _) if is_line_start => {
                    depth += 1;
                    self.at += 1;
                }
                Literal::Found(marker, _) if depth > 0 => {
                    depth -= u32::from(matches!(marker, Marker::CallEnd));
                    self.at += 1;
                }
                Literal::Found(Marker::ValueEnd, len) => {
                    match self.next(text, is_end, Marker::ValueEnd, self.at + len) {
                        None => {
                            self.state = State::Value { from, tag, is_json, depth };
                            return Flow::Return(CallStep::NeedMore);
                        }
                        Some(Next::Text) => {
                            self.passed_end.get_or_insert(self.at + len);
                            self.at += 1;
                        }
                        Some(Next::Marker | Next::End) => {
                            self.end_value(parameter, &text[from..self.at], is_json);
                            self.at += len;
                            return self.enter(State::Parameters);
                        }
                    }
                }
                // The closing tag is missing: what follows must not become part of the value.
                Literal::Found(marker, len) if is_line_start => {
                    let next = match marker {
                        Marker::Parameter(_) => Some(Next::Marker),
                        Marker::CallEnd => self.next(text, is_end, Marker::CallEnd, self.at + len),
                        _ => Some(Next::Text),
                    };
                    match next {
                        None => {
                            self.state = State::Value { from, tag, is_json, depth };
                            return Flow::Return(CallStep::NeedMore);
                        }
                        Some(next @ (Next::Marker | Next::End)) => {
                            let value = parameter.trim.before_line(&text[from..self.at]);
                            self.end_value(parameter, value, is_json);
                            self.may_go_on = next == Next::End;
                            return self.enter(State::Parameters);
                        }
                        // In a block, the end of a call stands before another call or the end of the block.
                        Some(Next::Text) if matches!(marker, Marker::CallEnd) && self.block.is_some() => {
                            self.passed_end.get_or_insert(self.at + len);
                            self.at += 1;
                        }
                        Some(Next::Text) => {
                            let message = "a parameter's closing tag is missing";
                            return self.fault(text, Code::MalformedJson, self.at, message);
                        }
                    }
                }
                Literal::NeedMore => {
                    self.state = State::Value { from, tag, is_json, depth };
                    return self.wait_in_value(text, is_end);
                }
                Literal::Found(..) | Literal::None => self.at += 1,
            }
        }
        self.at = text.len();
        self.state = State::Value { from, tag, is_json, depth };
        self.wait_in_value(text, is_end)
    }

    /// Writes the parameter whose value this is.
    fn end_value(&mut self, parameter: &ParameterTags, value: &str, is_json: Option<bool>) {
        if self.parameters.len() > 1 {
            self.parameters.push(',');
        }
        write::string(&mut self.parameters, &self.key);
        self.parameters.push(':');
        tags::value(&mut self.parameters, parameter, value, is_json);
        self.passed_end = None;
    }

    /// Decides, by the text after `end`, whether the tag that ends there ends the value. `None` if more text is needed.
    fn next(&self, text: &str, is_end: bool, tag: Marker, end: usize) -> Option<Next> {
        let rest = text.as_bytes()[end..].iter().take(MAX_BLANKS + 1);
        let blanks = rest.take_while(|byte| is_space(**byte)).count();
        let at = end + blanks;
        if blanks > MAX_BLANKS || (is_end && at == text.len()) {
            return Some(Next::End);
        }
        let syntax = &self.syntax;
        let close = syntax.call_markers(self.call).1;
        // The end of the call is what follows most.
        if matches!(tag, Marker::ValueEnd) && !close.is_empty() {
            match &text[at..] {
                rest if rest.starts_with(close) => return Some(Next::Marker),
                rest if !is_end && close.starts_with(rest) => return None,
                _ => {}
            }
        }
        let found = if matches!(tag, Marker::CallEnd) {
            let between = syntax.between.iter().map(String::as_str);
            one_of(text, at, is_end, syntax.block_closers().chain(syntax.openers()).chain(between))
        } else {
            let nexts = syntax.parameter_openers().chain([close]).chain(syntax.block_closers());
            let calls = self.nexts_in_block().map(|(_, marker)| marker);
            one_of(text, at, is_end, nexts.chain(calls))
        };
        match found {
            Literal::Found(..) => Some(Next::Marker),
            Literal::NeedMore => is_end.then_some(Next::End),
            Literal::None => Some(Next::Text),
        }
    }

    /// Waits for the rest of a value. At the end of the text it is cut, unless the call has ended after a tag that did
    /// not end the value: then what follows that tag is the fault.
    #[inline(always)]
    fn wait_in_value(&mut self, text: &str, is_end: bool) -> Flow {
        let close = self.syntax.call_markers(self.call).1;
        let has_end = |from: usize| !close.is_empty() && text[from..].contains(close);
        if is_end && self.passed_end.is_some_and(has_end) {
            self.value_goes_on(text)
        } else {
            self.wait(text, is_end)
        }
    }

    /// Rejects the call at the text after a tag that did not end the value.
    fn value_goes_on(&mut self, text: &str) -> Flow {
        self.at = self.passed_end.take().unwrap_or(self.at);
        next_byte(text, &mut self.at);
        let message = self.expected_parameter(text);
        self.fault(text, Code::MalformedJson, self.at, message)
    }

    fn expected_parameter(&self, text: &str) -> String {
        let open = self.syntax.parameter_openers().next().unwrap_or_default();
        let close = self.syntax.call_markers(self.call).1;
        format!("expected `{open}` or `{close}`, found {}", found(text, self.at))
    }

    /// The open value so far, if it is text and is not in `<![CDATA[`.
    pub(super) fn open_value<'t>(&self, text: &'t str) -> Option<&'t str> {
        let State::Value { from, is_json, .. } = self.state else { return None };
        let parameter = self.syntax.parameter.as_ref().filter(|it| !is_json.unwrap_or(it.json))?;
        let value = text.get(from..self.at)?;
        let blanks = value.bytes().take(MAX_BLANKS).take_while(|byte| is_space(*byte)).count();
        let mut begin = value[blanks..].bytes().zip(CDATA);
        let may_be_cdata = blanks < MAX_BLANKS && begin.all(|(byte, other)| byte == *other);
        (!may_be_cdata).then(|| parameter.trim.of_open(value))
    }
}
