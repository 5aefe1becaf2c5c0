//! Messages with a header: `<|channel|>commentary to=functions.weather<|message|>{"city":"Paris"}<|call|>`.

use std::sync::Arc;

use super::format::debug_by_name;
use super::scan::{
    Firsts, Literal, first_literal, found, kind, literal, next_byte, one_of, parameters_parser,
};
use super::skip::TagSkip;
use super::step::Flow;
use super::syntax::CallSyntax;
use super::{CallFault, CallReader, CallSoFar, CallStep, CallText, PassedRole};
use crate::json::{Expected, Parser, Step};
use crate::{Code, Limits};

/// The token before a channel's name.
const CHANNEL: &str = "<|channel|>";

/// The longest header.
const MAX_HEADER: usize = 512;

/// Reads one message. The row's `name_end` ends the header, the closers of its calls end the message.
pub(super) struct Messages {
    syntax: Arc<CallSyntax>,
    /// The first bytes of what may end a message.
    firsts: Firsts,
    json: Parser,
    at: usize,
    state: State,
    name: String,
}

debug_by_name!(Messages);

#[derive(Debug)]
enum State {
    Start,
    /// After the opener.
    Header {
        from: usize,
    },
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
    /// Text or reasoning, up to the end of the message.
    Passing(PassedRole),
    Skip(CallFault, TagSkip),
    /// After a malformed call, before its marker.
    Closing,
    Over {
        end: usize,
    },
}

impl CallReader for Messages {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn is_in_text(&self) -> bool {
        matches!(self.state, State::Skip(..) | State::Passing(_))
    }

    fn call_so_far<'t>(&'t mut self, text: &'t str) -> Option<CallSoFar<'t>> {
        let json = match self.state {
            State::Json { from } => &text[from..from + self.json.len()],
            State::AfterJson { from, to } => &text[from..to],
            _ => return None,
        };
        Some(CallSoFar::new(0, &self.name, json))
    }
}

impl Messages {
    pub(super) fn new(syntax: Arc<CallSyntax>, limits: &Limits) -> Self {
        let firsts = Firsts::of_literals(syntax.call_closers().chain(syntax.openers()));
        let json = parameters_parser(limits);
        Self { syntax, firsts, json, at: 0, state: State::Start, name: String::new() }
    }

    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        match &mut self.state {
            State::Start => match one_of(text, 0, is_end, self.syntax.openers()) {
                Literal::Found((), from) => {
                    self.state = State::Header { from };
                    Flow::Continue
                }
                Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
                _ => Flow::Return(CallStep::NotACall),
            },
            &mut State::Header { from } => self.header(text, is_end, from),
            &mut State::Body { from } => match next_byte(text, &mut self.at) {
                Some(b'{') => {
                    self.json.reset();
                    self.state = State::Json { from: self.at };
                    Flow::Continue
                }
                // The call has tags of its own.
                Some(b'<') => {
                    self.state = State::Over { end: from };
                    Flow::Continue
                }
                Some(_) => {
                    let message = "the arguments must be an object";
                    self.fault(text, Code::InvalidParameters, from, message, false)
                }
                None => self.wait(text, is_end),
            },
            &mut State::Json { from } => match self.json.resume(&text[from..]) {
                Step::NeedMore => self.wait(text, is_end),
                Step::Complete { end } => {
                    self.at = from + end;
                    self.state = State::AfterJson { from, to: from + end };
                    Flow::Continue
                }
                Step::Malformed(error) if error.expected == Expected::NameOrBrace => {
                    Flow::Return(CallStep::NotACall)
                }
                Step::Malformed(error) => {
                    let fault = CallFault::from_syntax(0, from, error);
                    let skip = TagSkip::new(&self.syntax, text, fault.at, error.expected.is_in_string());
                    self.state = State::Skip(fault, skip);
                    Flow::Continue
                }
            },
            &mut State::AfterJson { from, to } => self.after_json(text, is_end, from, to),
            &mut State::Passing(role) => self.passing(text, is_end, role),
            State::Skip(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else { return Flow::Return(CallStep::NeedMore) };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                self.at = 0;
                self.state = State::Closing;
                Flow::Return(CallStep::Malformed(fault))
            }
            State::Closing => {
                let end = match one_of(text, 0, is_end, self.syntax.call_closers()) {
                    Literal::NeedMore if !is_end => return Flow::Return(CallStep::NeedMore),
                    Literal::Found((), end) => end,
                    _ => 0,
                };
                self.state = State::Over { end };
                Flow::Continue
            }
            &mut State::Over { end } => Flow::Return(CallStep::Done { end }),
        }
    }

    fn header(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let ends = syntax.name_end.iter().map(String::as_str);
        let end = match first_literal(text, 0..MAX_HEADER, false, &ends) {
            Literal::Found(at, len) => at..at + len,
            Literal::NeedMore
                if !text[from..].contains('\n') && (!is_end || text.contains("to=functions.")) =>
            {
                return self.wait(text, is_end);
            }
            // A sentence about the token.
            _ => return Flow::Return(CallStep::NotACall),
        };
        let header = &text[..end.start];
        if header.get(from..).is_some_and(|header| header.contains('\n')) {
            return Flow::Return(CallStep::NotACall);
        }
        let has_channels = syntax.openers().any(|opener| opener == CHANNEL);
        if header.contains(CHANNEL) && !has_channels {
            return Flow::Return(CallStep::NotACall);
        }
        self.at = end.end;
        let recipient = header.split_once("to=").map(|(_, rest)| {
            let end = rest.find(|char: char| char.is_whitespace() || char == '<').unwrap_or(rest.len());
            &rest[..end]
        });
        let role = match recipient {
            Some("self") => PassedRole::Reasoning,
            Some("user") => PassedRole::Text,
            Some(name) if !name.is_empty() => {
                name.strip_prefix("functions.").unwrap_or(name).clone_into(&mut self.name);
                self.state = State::Body { from: self.at };
                return Flow::Continue;
            }
            _ if header.contains("analysis") => PassedRole::Reasoning,
            _ => {
                self.state = State::Over { end: self.at };
                return Flow::Continue;
            }
        };
        self.state = State::Passing(role);
        let end = std::mem::take(&mut self.at);
        Flow::Return(CallStep::Passed { end, role: PassedRole::Markup })
    }

    fn after_json(&mut self, text: &str, is_end: bool, from: usize, to: usize) -> Flow {
        let next = next_byte(text, &mut self.at);
        let syntax = Arc::clone(&self.syntax);
        match literal(text, self.at, is_end, ends(&syntax)) {
            Literal::Found(true, len) => self.call(text, (from, to), self.at + len, true),
            Literal::Found(false, _) => self.call(text, (from, to), self.at, false),
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            // The text ends here, or inside a marker.
            Literal::NeedMore => self.call(text, (from, to), text.len(), false),
            Literal::None if next == Some(b'<') => self.call(text, (from, to), self.at, false),
            Literal::None => {
                let message = format!("the arguments are balanced, but go on with {}", found(text, self.at));
                self.fault(text, Code::TrailingData, self.at, message, false)
            }
        }
    }

    fn call(&mut self, text: &str, (from, to): (usize, usize), end: usize, is_closed: bool) -> Flow {
        let json = text[from..to].replace(['\n', '\r'], " ");
        let call = CallText::from_parts(0..end, &self.name, &json, None);
        let call = match (is_closed, end == text.len()) {
            (true, _) => call,
            (false, true) => call.without_end().unconfirmed(),
            (false, false) => call.without_end(),
        };
        self.state = State::Over { end: 0 };
        Flow::Return(CallStep::Call(call))
    }

    fn passing(&mut self, text: &str, is_end: bool, role: PassedRole) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        while let Some(found) = self.firsts.find(&text.as_bytes()[self.at..]) {
            self.at += found;
            let step = match literal(text, self.at, is_end, ends(&syntax)) {
                Literal::None => {
                    self.at += 1;
                    continue;
                }
                Literal::NeedMore if is_end => {
                    self.at += 1;
                    continue;
                }
                Literal::NeedMore => None,
                Literal::Found(is_closer, len) => Some(if is_closer { len } else { 0 }),
            };
            // First what is certainly reasoning.
            if self.at > 0 {
                let end = std::mem::take(&mut self.at);
                return Flow::Return(CallStep::Passed { end, role });
            }
            return match step {
                None => Flow::Return(CallStep::NeedMore),
                Some(end) => {
                    self.state = State::Over { end };
                    Flow::Continue
                }
            };
        }
        if text.is_empty() {
            return Flow::Return(if is_end { CallStep::Done { end: 0 } } else { CallStep::NeedMore });
        }
        self.at = 0;
        Flow::Return(CallStep::Passed { end: text.len(), role })
    }

    fn wait(&mut self, text: &str, is_end: bool) -> Flow {
        if !is_end {
            return Flow::Return(CallStep::NeedMore);
        }
        self.state = State::Over { end: 0 };
        Flow::Return(CallStep::Malformed(CallFault::truncated(0, text.len())))
    }

    fn fault(
        &mut self,
        text: &str,
        code: Code,
        at: usize,
        message: impl Into<std::borrow::Cow<'static, str>>,
        is_in_string: bool,
    ) -> Flow {
        let fault = CallFault::new(code, 0, at, message);
        self.state = State::Skip(fault, TagSkip::new(&self.syntax, text, at, is_in_string));
        Flow::Continue
    }
}

/// The end of a message: its closers, or else the next message.
fn ends(syntax: &CallSyntax) -> impl Iterator<Item = (bool, &str)> {
    kind(true, syntax.call_closers()).chain(kind(false, syntax.openers()))
}
