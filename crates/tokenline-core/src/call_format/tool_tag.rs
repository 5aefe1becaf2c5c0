//! The name of a tool as a tag, and a tag for each parameter: `<weather><city>Paris</city></weather>`.

use std::collections::HashSet;

use super::format::debug_by_name;
use super::scan::{Literal, MAX_BLANKS, MAX_NAME, is_name, is_space, next_byte, one_of};
use super::step::Flow;
use super::syntax::Trim;
use super::{CallFault, CallReader, CallSoFar, CallStep, CallSyntax, CallText, write};
use crate::Code;

/// Reads one call.
pub(super) struct ToolTag {
    at: usize,
    state: State,
    name: String,
    /// The closing tag of the call.
    close: String,
    /// The name of the open parameter, and its closing tag.
    key: String,
    key_close: String,
    /// The parameters so far as JSON, without the closing brace.
    parameters: String,
    names: HashSet<String>,
    /// Whether a parameter was given twice.
    is_repeated: bool,
}

debug_by_name!(ToolTag);

#[derive(Debug)]
enum State {
    Start,
    Parameters,
    Value { from: usize },
    Over,
}

impl CallReader for ToolTag {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| match self.state {
            State::Start => self.start(text, is_end),
            State::Parameters => self.parameters(text, is_end),
            State::Value { from } => self.value(text, is_end, from),
            State::Over => Flow::Return(CallStep::Done { end: 0 }),
        })
    }

    fn is_in_text(&self) -> bool {
        matches!(self.state, State::Value { .. })
    }

    fn call_so_far<'t>(&'t mut self, text: &'t str) -> Option<CallSoFar<'t>> {
        let open_parameter = match self.state {
            State::Start | State::Over => return None,
            State::Parameters if self.parameters.len() == 1 => return None,
            State::Parameters => None,
            State::Value { from } => {
                let value = Trim::Newline.of_open(text.get(from..self.at)?);
                Some((self.key.as_str().into(), value))
            }
        };
        let so_far = CallSoFar::new(0, &self.name, &self.parameters);
        Some(CallSoFar { is_untyped: true, open_parameter, ..so_far })
    }
}

impl ToolTag {
    pub(super) fn new() -> Self {
        Self {
            at: 0,
            state: State::Start,
            name: String::new(),
            close: String::new(),
            key: String::new(),
            key_close: String::new(),
            parameters: "{".to_owned(),
            names: HashSet::new(),
            is_repeated: false,
        }
    }

    fn start(&mut self, text: &str, is_end: bool) -> Flow {
        match tag(text, 0) {
            Tag::Found { name, end } => {
                name.clone_into(&mut self.name);
                self.close = format!("</{name}>");
                self.at = end;
                self.enter(State::Parameters)
            }
            Tag::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            Tag::NeedMore | Tag::None => self.not_a_call(),
        }
    }

    fn parameters(&mut self, text: &str, is_end: bool) -> Flow {
        let has_parameter = self.parameters.len() > 1;
        next_byte(text, &mut self.at);
        match one_of(text, self.at, is_end, [self.close.as_str()]) {
            Literal::Found((), len) => {
                let call = self.call(self.at + len);
                return self.end(CallStep::Call(call));
            }
            Literal::NeedMore if !is_end => return Flow::Return(CallStep::NeedMore),
            Literal::NeedMore if has_parameter => {
                let call = self.call(text.len()).without_end().unconfirmed();
                return self.end(CallStep::Call(call));
            }
            Literal::NeedMore => return self.not_a_call(),
            Literal::None => {}
        }
        match tag(text, self.at) {
            // The call was left open, or the tag was only a mention.
            Tag::Found { end, .. } if is_marker(&text[self.at..end]) && has_parameter => {
                let message = format!("`{}` is missing", self.close);
                let fault = CallFault::new(Code::MalformedJson, 0, self.at, message);
                self.end(CallStep::Malformed(fault.ending_at(self.at)))
            }
            Tag::Found { end, .. } if is_marker(&text[self.at..end]) => self.not_a_call(),
            Tag::Found { name, end } => {
                name.clone_into(&mut self.key);
                self.key_close = format!("</{name}>");
                self.at = end;
                self.enter(State::Value { from: end })
            }
            Tag::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            Tag::NeedMore if has_parameter => {
                self.end(CallStep::Malformed(CallFault::truncated(0, text.len())))
            }
            // A tag of the same name in text.
            Tag::NeedMore | Tag::None => self.not_a_call(),
        }
    }

    /// The text of a parameter, up to the closing tag that another parameter or the end of the call follows.
    fn value(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        while let Some(found) = memchr::memmem::find(&text.as_bytes()[self.at..], b"</") {
            self.at += found;
            let is_line_start = text[from..self.at].trim_end_matches([' ', '\t']).ends_with('\n');
            match one_of(text, self.at, is_end, [self.key_close.as_str()]) {
                Literal::Found((), len) => match self.may_end(text, is_end, self.at + len) {
                    None => return Flow::Return(CallStep::NeedMore),
                    Some(false) => self.at += 2,
                    Some(true) => {
                        self.end_value(&text[from..self.at]);
                        self.at += len;
                        return self.enter(State::Parameters);
                    }
                },
                Literal::NeedMore if !is_end => return Flow::Return(CallStep::NeedMore),
                Literal::NeedMore | Literal::None if is_line_start => {
                    match one_of(text, self.at, is_end, [self.close.as_str()]) {
                        Literal::Found((), len) => {
                            let message = "a parameter's closing tag is missing";
                            let fault = CallFault::new(Code::MalformedJson, 0, self.at, message);
                            return self.end(CallStep::Malformed(fault.ending_at(self.at + len)));
                        }
                        Literal::NeedMore if !is_end => return Flow::Return(CallStep::NeedMore),
                        Literal::NeedMore | Literal::None => self.at += 2,
                    }
                }
                Literal::NeedMore | Literal::None => self.at += 2,
            }
        }
        // A tag may have begun.
        self.at = text.len() - usize::from(text[self.at..].ends_with('<'));
        if is_end {
            return self.end(CallStep::Malformed(CallFault::truncated(0, text.len())));
        }
        Flow::Return(CallStep::NeedMore)
    }

    /// Whether a value may end with the tag that ends at `end`; `None` if more text is needed.
    fn may_end(&self, text: &str, is_end: bool, end: usize) -> Option<bool> {
        let rest = text.as_bytes()[end..].iter().take(MAX_BLANKS + 1);
        let blanks = rest.take_while(|byte| is_space(**byte)).count();
        let at = end + blanks;
        if blanks > MAX_BLANKS || (is_end && at == text.len()) {
            return Some(true);
        }
        match (one_of(text, at, is_end, [self.close.as_str()]), tag(text, at)) {
            (Literal::Found(..), _) | (_, Tag::Found { .. }) => Some(true),
            (Literal::NeedMore, _) | (_, Tag::NeedMore) => is_end.then_some(true),
            (Literal::None, Tag::None) => Some(false),
        }
    }

    fn end_value(&mut self, value: &str) {
        if self.parameters.len() > 1 {
            self.parameters.push(',');
        }
        // Of several, the last counts.
        self.is_repeated |= !self.names.insert(self.key.clone());
        crate::json::write::string(&mut self.parameters, &self.key);
        self.parameters.push(':');
        crate::json::write::string(&mut self.parameters, Trim::Newline.of(value));
    }

    fn call(&mut self, end: usize) -> CallText {
        self.parameters.push('}');
        if self.is_repeated {
            self.parameters = write::without_repetitions(&self.parameters);
        }
        CallText::from_parts(0..end, &self.name, &self.parameters, None).untyped()
    }

    fn enter(&mut self, state: State) -> Flow {
        self.state = state;
        Flow::Continue
    }

    fn end(&mut self, step: CallStep) -> Flow {
        self.state = State::Over;
        Flow::Return(step)
    }

    fn not_a_call(&mut self) -> Flow {
        self.end(CallStep::NotACall)
    }
}

/// Whether a tag opens calls in a syntax of the table, so that it is not a parameter.
fn is_marker(tag: &str) -> bool {
    CallSyntax::built_in().iter().any(|syntax| syntax.openers().any(|opener| opener == tag))
}

/// An opening tag, which has only a name.
pub(super) enum Tag<'t> {
    Found { name: &'t str, end: usize },
    NeedMore,
    None,
}

/// Whether a tag stands at `at`.
pub(super) fn tag(text: &str, at: usize) -> Tag<'_> {
    let rest = &text[at..];
    let Some(name) = rest.strip_prefix('<') else {
        return if rest.is_empty() { Tag::NeedMore } else { Tag::None };
    };
    let len = name.bytes().take(MAX_NAME + 1).take_while(|byte| is_name(*byte)).count();
    match name.as_bytes().get(len) {
        _ if len > MAX_NAME => Tag::None,
        None => Tag::NeedMore,
        Some(b'>') if len > 0 => Tag::Found { name: &name[..len], end: at + len + 2 },
        Some(_) => Tag::None,
    }
}
