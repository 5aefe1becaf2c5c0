//! `<function=weather>{"city":"Paris"}</function>`, and the same with a tag for each parameter.

use std::borrow::Cow;
use std::collections::HashSet;

use super::header::{Header, HeaderStep};
use super::scan::{Literal, found, literal, next_byte, parameters_parser};
use super::skip::TagSkip;
use super::step::Flow;
use super::{CallFault, CallReader, CallStep, CallText, Opener, ToolCallFormat, write};
use crate::json::{Expected, Parser, Step};
use crate::{Code, Limits};

/// The tags of Llama 3.1's custom tool calls, whose arguments are a JSON object, and of Qwen3-Coder, where
/// each parameter has its own tag and is a string:
///
/// ```text
/// <function=weather>{"city": "Paris"}</function>
///
/// <tool_call>
/// <function=weather>
/// <parameter=city>
/// Paris
/// </parameter>
/// </function>
/// </tool_call>
/// ```
///
/// Also accepted: `<function name="weather">`, `<parameter name="city">`, and a name directly followed by the
/// arguments, without `>`. One newline is stripped from either end of a parameter's text, where Qwen's chat
/// template puts them. `</parameter>` ends the text anywhere, except as a part of a call that the text
/// contains on lines of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionTag;

impl ToolCallFormat for FunctionTag {
    fn name(&self) -> &str {
        "function_tag"
    }

    fn openers(&self) -> Vec<Opener> {
        ["<function=", "<function name=", "<tool_call>"].map(Opener::from).into()
    }

    fn start(&self, limits: &Limits) -> Box<dyn CallReader> {
        Box::new(Reader {
            json: parameters_parser(limits),
            at: 0,
            start: 0,
            state: State::Start,
            is_wrapped: false,
            has_step: false,
            name: String::new(),
            parameters: String::new(),
            names: HashSet::new(),
        })
    }
}

#[derive(Debug)]
struct Reader {
    json: Parser,
    at: usize,
    /// The start of the open call.
    start: usize,
    state: State,
    /// Whether a `<tool_call>` is open.
    is_wrapped: bool,
    /// Whether there was a call, valid or not.
    has_step: bool,
    name: String,
    /// The parameters so far that have their own tags.
    parameters: String,
    names: HashSet<String>,
}

#[derive(Debug)]
enum State {
    Start,
    /// Inside `<tool_call>`, before a function or the end.
    Between,
    Function(Header),
    Body {
        from: usize,
    },
    Json {
        from: usize,
    },
    AfterJson {
        from: usize,
        to: usize,
    },
    Parameters,
    Parameter(Header),
    Value {
        from: usize,
        /// Calls that its text has opened and not closed.
        depth: u32,
    },
    Skip(CallFault, TagSkip),
    Over,
}

const WRAPPER: &str = "<tool_call>";
const FUNCTION: &str = "<function";
const END: &str = "</function>";

impl CallReader for Reader {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn is_in_text(&self) -> bool {
        matches!(self.state, State::Value { .. } | State::Skip(..))
    }
}

impl Reader {
    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        match &mut self.state {
            State::Start => match literal(text, 0, &[WRAPPER, FUNCTION]) {
                Literal::Found(0) => {
                    self.is_wrapped = true;
                    self.at = WRAPPER.len();
                    self.enter(State::Between)
                }
                Literal::Found(_) => self.enter(State::Function(Header::new(FUNCTION.len()))),
                Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
                _ => self.not_a_call(),
            },
            State::Between => self.between(text, is_end),
            State::Function(header) => match header.read(text) {
                HeaderStep::Complete { name, body } => {
                    name.clone_into(&mut self.name);
                    self.at = body;
                    self.enter(State::Body { from: body })
                }
                HeaderStep::NeedMore if is_end && header.is_nameless() => self.not_a_call(),
                HeaderStep::NeedMore => self.wait(text, is_end),
                HeaderStep::None { .. } => self.not_a_call(),
            },
            &mut State::Body { from } => self.body(text, is_end, from),
            &mut State::Json { from } => self.arguments(text, is_end, from),
            &mut State::AfterJson { from, to } => self.after_arguments(text, is_end, from, to),
            State::Parameters => self.parameters(text, is_end),
            State::Parameter(header) => match header.read(text) {
                HeaderStep::Complete { name, body } => {
                    if !self.names.insert(name.to_owned()) {
                        let at = body - 1;
                        return self.fault(text, Code::MalformedJson, at, "a parameter is given twice");
                    }
                    if self.parameters.len() > 1 {
                        self.parameters.push(',');
                    }
                    write::string(&mut self.parameters, name);
                    self.parameters.push(':');
                    self.at = body;
                    self.enter(State::Value { from: body, depth: 0 })
                }
                HeaderStep::NeedMore => self.wait(text, is_end),
                HeaderStep::None { at } => {
                    self.fault(text, Code::MalformedJson, at, "expected the name of a parameter")
                }
            },
            &mut State::Value { from, depth } => self.value(text, is_end, from, depth),
            State::Skip(fault, skip) => match skip.end(text, is_end, &[END, FUNCTION, WRAPPER]) {
                None => Flow::Return(CallStep::NeedMore),
                Some(skipped) => {
                    let end = if skipped.is_closed { skipped.end + END.len() } else { skipped.end };
                    let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(end);
                    self.end_call(CallStep::Malformed(fault))
                }
            },
            State::Over => Flow::Return(CallStep::Done { end: 0 }),
        }
    }

    fn between(&mut self, text: &str, is_end: bool) -> Flow {
        next_byte(text, &mut self.at);
        match literal(text, self.at, &[FUNCTION, "</tool_call>"]) {
            Literal::Found(0) => {
                self.start = self.at;
                self.enter(State::Function(Header::new(self.at + FUNCTION.len())))
            }
            Literal::Found(_) if self.has_step => {
                Flow::Return(CallStep::Done { end: self.at + "</tool_call>".len() })
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.not_a_call(),
        }
    }

    fn body(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        match next_byte(text, &mut self.at) {
            None => self.wait(text, is_end),
            Some(b'{') => {
                self.json.reset();
                self.enter(State::Json { from: self.at })
            }
            Some(b'<') => {
                self.names.clear();
                self.parameters.clear();
                self.parameters.push('{');
                self.enter(State::Parameters)
            }
            Some(b'[' | b'"') if self.at == from => {
                let message = "the arguments must be an object";
                self.fault(text, Code::InvalidParameters, self.at, message)
            }
            // A sentence about the tag that mentions its name.
            Some(_) => self.not_a_call(),
        }
    }

    fn arguments(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        match self.json.resume(&text[from..]) {
            Step::NeedMore => self.wait(text, is_end),
            Step::Complete { end } => {
                self.at = from + end;
                self.enter(State::AfterJson { from, to: from + end })
            }
            // A sentence about the tag that mentions `{...}`.
            Step::Malformed(error) if error.expected == Expected::NameOrBrace && !self.has_step => {
                self.not_a_call()
            }
            Step::Malformed(error) => {
                let fault = CallFault::from_syntax(self.start, from, error);
                let skip = TagSkip::new(text, fault.at, error.expected.is_in_string());
                self.enter(State::Skip(fault, skip))
            }
        }
    }

    fn after_arguments(&mut self, text: &str, is_end: bool, from: usize, to: usize) -> Flow {
        next_byte(text, &mut self.at);
        match literal(text, self.at, &[END]) {
            Literal::Found(_) => {
                let end = self.at + END.len();
                // Outside strings, which cannot contain one, a newline is white space.
                let parameters = text[from..to].replace(['\n', '\r'], " ");
                let call = CallText::from_parts(self.start..end, &self.name, &parameters, None);
                self.end_call(CallStep::Call(call))
            }
            Literal::NeedMore => self.wait(text, is_end),
            Literal::None => {
                let found = found(text, self.at);
                let message = format!("expected `</function>` after the arguments, found {found}");
                self.fault(text, Code::TrailingData, self.at, message)
            }
        }
    }

    fn parameters(&mut self, text: &str, is_end: bool) -> Flow {
        next_byte(text, &mut self.at);
        match literal(text, self.at, &[END, "<parameter"]) {
            Literal::Found(0) => {
                let end = self.at + END.len();
                self.parameters.push('}');
                let call = CallText::from_parts(self.start..end, &self.name, &self.parameters, None);
                self.end_call(CallStep::Call(call))
            }
            Literal::Found(_) => self.enter(State::Parameter(Header::new(self.at + "<parameter".len()))),
            Literal::NeedMore => self.wait(text, is_end),
            Literal::None if self.names.is_empty() => self.not_a_call(),
            Literal::None => {
                let found = found(text, self.at);
                let message = format!("expected `<parameter=` or `</function>`, found {found}");
                self.fault(text, Code::MalformedJson, self.at, message)
            }
        }
    }

    /// The text of a parameter, up to its closing tag. A call inside it, on lines of its own, is text.
    fn value(&mut self, text: &str, is_end: bool, from: usize, mut depth: u32) -> Flow {
        let tags = ["</parameter>", FUNCTION, END, "<parameter", "</tool_call>"];
        while let Some(found) = memchr::memchr(b'<', &text.as_bytes()[self.at..]) {
            self.at += found;
            let before = text[from..self.at].trim_end_matches([' ', '\t']);
            let is_line_start = before.ends_with('\n');
            match literal(text, self.at, &tags) {
                Literal::Found(1) if is_line_start => {
                    depth += 1;
                    self.at += 1;
                }
                Literal::Found(tag) if depth > 0 => {
                    depth -= u32::from(tag == 2);
                    self.at += 1;
                }
                Literal::Found(0) => {
                    let value = &text[from..self.at];
                    let value = value.strip_prefix("\r\n").or(value.strip_prefix('\n')).unwrap_or(value);
                    let value = value.strip_suffix("\r\n").or(value.strip_suffix('\n')).unwrap_or(value);
                    write::string(&mut self.parameters, value);
                    self.at += tags[0].len();
                    return self.enter(State::Parameters);
                }
                // The closing tag is missing: what follows must not become part of the value.
                Literal::Found(_) if is_line_start => {
                    let message = "a parameter's closing tag is missing";
                    return self.fault(text, Code::MalformedJson, self.at, message);
                }
                Literal::NeedMore => {
                    self.state = State::Value { from, depth };
                    return self.wait(text, is_end);
                }
                Literal::Found(_) | Literal::None => self.at += 1,
            }
        }
        self.at = text.len();
        self.state = State::Value { from, depth };
        self.wait(text, is_end)
    }

    fn enter(&mut self, state: State) -> Flow {
        self.state = state;
        Flow::Continue
    }

    /// The text so far is an open call.
    fn wait(&mut self, text: &str, is_end: bool) -> Flow {
        match is_end {
            true => {
                self.state = State::Over;
                let fault = CallFault::truncated(self.start, text.len());
                Flow::Return(CallStep::Malformed(fault))
            }
            false => Flow::Return(CallStep::NeedMore),
        }
    }

    fn fault(&mut self, text: &str, code: Code, at: usize, message: impl Into<Cow<'static, str>>) -> Flow {
        let fault = CallFault::new(code, self.start, at, message);
        self.enter(State::Skip(fault, TagSkip::new(text, at, false)))
    }

    fn not_a_call(&mut self) -> Flow {
        self.state = State::Over;
        Flow::Return(CallStep::no_more(self.has_step))
    }

    /// Ends the call: the text then begins after it.
    fn end_call(&mut self, step: CallStep) -> Flow {
        self.has_step = true;
        self.at = 0;
        self.state = if self.is_wrapped { State::Between } else { State::Over };
        Flow::Return(step)
    }
}
