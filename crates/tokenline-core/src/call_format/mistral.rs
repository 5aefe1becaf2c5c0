//! `[TOOL_CALLS]`, and the forms that Mistral's models write after it.

use super::json_calls::{JsonCalls, Tags};
use super::scan::{Literal, MAX_NAME, found, is_name, literal, next_byte, parameters_parser};
use super::skip::BalanceSkip;
use super::{CallFault, CallReader, CallStep, CallText, Opener, ToolCallFormat};
use crate::json::{Expected, Parser, Step};
use crate::{Code, Limits};

/// The forms of mistral-common's tokenizers: the first is that of versions up to 7, the others are those from
/// version 11 on:
///
/// ```text
/// [TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Paris"}, "id": "a1b2c3d4e"}]
/// [TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Paris"}
/// [TOOL_CALLS]weather[ARGS]{"city": "Paris"}
/// ```
///
/// `[ARGS]` may be missing. Another call begins with `[TOOL_CALLS]` again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mistral;

const OPENER: &str = "[TOOL_CALLS]";
const TAGS: Tags = Tags { open: OPENER, close: None };
const CALL_ID: &str = "[CALL_ID]";
const ARGS: &str = "[ARGS]";

impl ToolCallFormat for Mistral {
    fn name(&self) -> &str {
        "mistral"
    }

    fn openers(&self) -> Vec<Opener> {
        vec![OPENER.into()]
    }

    fn start(&self, limits: &Limits) -> Box<dyn CallReader> {
        Box::new(Reader { limits: *limits, at: OPENER.len(), state: State::Start })
    }
}

#[derive(Debug)]
struct Reader {
    limits: Limits,
    at: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    /// Right after the opener.
    Form,
    Objects(Box<JsonCalls>),
    Named(Box<Named>),
    Over,
}

/// A call whose name comes before its arguments.
#[derive(Debug)]
struct Named {
    json: Parser,
    part: Part,
    name: (usize, usize),
    id: Option<(usize, usize)>,
}

#[derive(Debug)]
enum Part {
    Name,
    Marker,
    Id,
    /// After the last marker.
    Arguments,
    Json {
        from: usize,
    },
    Confirming {
        from: usize,
        to: usize,
        is_after_comma: bool,
    },
    Skip(CallFault, BalanceSkip),
}

impl CallReader for Reader {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        loop {
            match &mut self.state {
                State::Start => match literal(text, 0, &[OPENER]) {
                    Literal::Found(_) => self.state = State::Form,
                    Literal::NeedMore if !is_end => return CallStep::NeedMore,
                    _ => return self.not_a_call(),
                },
                State::Form => match next_byte(text, &mut self.at) {
                    None if is_end => return self.not_a_call(),
                    None => return CallStep::NeedMore,
                    Some(b'{' | b'[') => {
                        let calls = JsonCalls::new(self.at, TAGS, &self.limits);
                        self.state = State::Objects(Box::new(calls));
                    }
                    // A sentence that mentions the tag.
                    Some(_) if self.at > OPENER.len() => return self.not_a_call(),
                    Some(_) => {
                        self.state = State::Named(Box::new(Named {
                            json: parameters_parser(&self.limits),
                            part: Part::Name,
                            name: (self.at, self.at),
                            id: None,
                        }));
                    }
                },
                State::Objects(calls) => return calls.read(text, is_end),
                State::Named(named) => {
                    let step = named.read(text, is_end, &mut self.at);
                    if step != CallStep::NeedMore {
                        self.state = State::Over;
                    }
                    return step;
                }
                State::Over => return CallStep::Done { end: 0 },
            }
        }
    }
}

impl Reader {
    fn not_a_call(&mut self) -> CallStep {
        self.state = State::Over;
        CallStep::NotACall
    }
}

impl Named {
    fn read(&mut self, text: &str, is_end: bool, at: &mut usize) -> CallStep {
        loop {
            // Inside arguments the parser reads every byte.
            let byte = text.as_bytes().get(*at).copied();
            let (Some(byte), false) = (byte, matches!(self.part, Part::Json { .. } | Part::Skip(..))) else {
                match self.rest(text, is_end, at) {
                    Some(step) => return step,
                    None => continue,
                }
            };
            match &mut self.part {
                Part::Name => match byte {
                    _ if is_name(byte) && *at - self.name.0 < MAX_NAME => {
                        self.name.1 = *at + 1;
                        *at += 1;
                    }
                    _ if self.name.0 == self.name.1 => return CallStep::NotACall,
                    b' ' | b'\t' | b'[' | b'{' => self.part = Part::Marker,
                    _ => return CallStep::NotACall,
                },
                Part::Marker => match (byte, literal(text, *at, &[CALL_ID, ARGS])) {
                    (b' ' | b'\t', _) => *at += 1,
                    (b'{', _) => self.part = Part::Arguments,
                    (_, Literal::Found(0)) if self.id.is_none() => {
                        *at += CALL_ID.len();
                        self.id = Some((*at, *at));
                        self.part = Part::Id;
                    }
                    (_, Literal::Found(1)) => {
                        *at += ARGS.len();
                        self.part = Part::Arguments;
                    }
                    (_, Literal::NeedMore) if !is_end => return CallStep::NeedMore,
                    (_, Literal::NeedMore) => return truncated(text),
                    _ => return CallStep::NotACall,
                },
                Part::Id => {
                    let (from, to) = self.id.get_or_insert((*at, *at));
                    match byte {
                        _ if is_name(byte) && *at - *from < MAX_NAME => {
                            *to = *at + 1;
                            *at += 1;
                        }
                        _ if from == to => return CallStep::NotACall,
                        _ => self.part = Part::Marker,
                    }
                }
                Part::Arguments => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' => *at += 1,
                    b'{' => self.part = Part::Json { from: *at },
                    _ => {
                        let message = "the arguments must be an object";
                        let fault = CallFault::new(Code::InvalidParameters, 0, *at, message);
                        self.part = Part::Skip(fault, BalanceSkip::new(*at, 0, None, b"\""));
                    }
                },
                &mut Part::Confirming { from, to, ref mut is_after_comma } => match byte {
                    b' ' | b'\t' | b'\r' => *at += 1,
                    b',' if !*is_after_comma => {
                        *is_after_comma = true;
                        *at += 1;
                    }
                    b'"' | b':' | b'}' | b']' if byte != b'"' || *is_after_comma => {
                        let found = found(text, *at);
                        let message = format!("the arguments are balanced, but go on with {found}");
                        let fault = CallFault::new(Code::TrailingData, 0, *at, message);
                        let skip = BalanceSkip::new(*at, 1, None, b"\"");
                        self.part = Part::Skip(fault, skip.before(OPENER, text));
                    }
                    _ => return CallStep::Call(self.call(text, from, to)),
                },
                Part::Json { .. } | Part::Skip(..) => unreachable!("read by the rest"),
            }
        }
    }

    /// Reads arguments and skips malformed ones, and handles the end of the text.
    fn rest(&mut self, text: &str, is_end: bool, at: &mut usize) -> Option<CallStep> {
        match &mut self.part {
            &mut Part::Json { from } => match self.json.resume(&text[from..]) {
                Step::Complete { end } => {
                    *at = from + end;
                    self.part = Part::Confirming { from, to: *at, is_after_comma: false };
                    return None;
                }
                // A sentence about the tag that mentions `{...}`.
                Step::Malformed(error) if error.expected == Expected::NameOrBrace => {
                    return Some(CallStep::NotACall);
                }
                Step::Malformed(error) => {
                    let fault = CallFault::from_syntax(0, from, error);
                    let quote = error.expected.is_in_string().then_some(b'"');
                    let skip = BalanceSkip::new(fault.at, self.json.depth(), quote, b"\"");
                    self.part = Part::Skip(fault, skip.before(OPENER, text));
                    return None;
                }
                Step::NeedMore => {}
            },
            Part::Skip(fault, skip) => {
                let skipped = skip.end(text, is_end);
                return Some(skipped.map_or(CallStep::NeedMore, |skipped| {
                    let fault = std::mem::replace(fault, CallFault::truncated(0, 0));
                    CallStep::Malformed(fault.ending_at(skipped.end))
                }));
            }
            &mut Part::Confirming { from, to, .. } if is_end => {
                return Some(CallStep::Call(self.call(text, from, to).unconfirmed()));
            }
            _ => {}
        }
        Some(if is_end { truncated(text) } else { CallStep::NeedMore })
    }

    fn call(&self, text: &str, from: usize, to: usize) -> CallText {
        // Outside strings, which cannot contain one, a newline is white space.
        let parameters = text[from..to].replace(['\n', '\r'], " ");
        let id = self.id.map(|(from, to)| &text[from..to]);
        CallText::from_parts(0..to, &text[self.name.0..self.name.1], &parameters, id)
    }
}

fn truncated(text: &str) -> CallStep {
    CallStep::Malformed(CallFault::truncated(0, text.len()))
}
