//! The arguments of a call as they arrive.

use std::mem;

use super::ToolCallAssembler;
use super::call::{CallDelta, State, is_same_json, trim, trim_start};
use super::partial::{Misplaced, PartialArgs, PartialArgument, PartialValue};
use super::repetition::{AfterArguments, Digest};
use crate::json::{Kind, Parser, Step, error};
use crate::{Code, CompletedBy, Release, Violation};

pub(super) struct Arguments {
    pub(super) json: Parser,
    pub(super) text: String,
    /// Values with their paths, instead of text.
    pub(super) partial: Option<Box<PartialArgs>>,
    /// Bytes held by `partial`.
    pub(super) partial_bytes: u64,
}

impl Arguments {
    /// Whether no arguments came.
    pub(super) fn is_blank(&self) -> bool {
        trim_start(&self.text).is_empty() && self.partial.is_none()
    }
}

impl ToolCallAssembler {
    pub(super) fn feed(&mut self, at: usize, delta: &CallDelta<'_>) {
        let mut rest = delta.arguments;
        if delta.is_corrupted(rest) && !matches!(self.calls[at].state, State::Rejected) {
            return self.reject_at_end(at, Code::InvalidUtf8, "the arguments are not UTF-8");
        }
        if self.calls[at].is_open() {
            if self.calls[at].has_partial_args() && !trim_start(rest).is_empty() {
                let message = "the arguments come as values, and then as text";
                return self.reject_at_end(at, Code::TrailingData, message);
            }
            if !self.reserve(at, rest.len()) {
                return;
            }
            if let State::Open(arguments) = &mut self.calls[at].state {
                arguments.text.push_str(rest);
                // Fast path: most fragments are a few plain characters inside a string.
                if is_plain(rest) && arguments.json.continue_string(rest.len()) {
                    self.examined += rest.len() as u64;
                    return;
                }
            }
            let Some(after) = self.parse(at, Parser::resume) else { return };
            rest = &rest[rest.len() - after..];
            if self.options.release == Release::OnBalance {
                self.release(at, CompletedBy::Balanced);
            }
        } else if delta.is_start() && self.calls[at].is_named_by(delta) {
            self.calls[at].repeat_header(delta);
        }
        self.feed_after(at, rest, delta);
    }

    /// Takes the complete arguments of a call.
    pub(super) fn feed_complete(&mut self, at: usize, delta: &CallDelta<'_>) {
        let complete = delta.arguments;
        let is_none = trim(complete).is_empty() || (trim(complete) == "null" && !self.calls[at].is_open());
        if is_none {
            return;
        }
        match &self.calls[at].state {
            State::Open(arguments) if arguments.partial.is_none() => {
                match complete.strip_prefix(&*arguments.text) {
                    Some(rest) => self.feed(at, &CallDelta { arguments: rest, ..*delta }),
                    None => self.reject_changed(at),
                }
            }
            State::Balanced(arguments) if !is_same_json(&arguments.text, complete) => self.reject_changed(at),
            State::Released(digest)
                if *digest != Digest::default() && *digest != Digest::of(trim(complete)) =>
            {
                self.reject_changed(at);
            }
            _ => {}
        }
    }

    /// Takes a value of the arguments.
    pub(super) fn push_value(&mut self, at: usize, part: &PartialArgument<'_>, lossy: bool) {
        let is_corrupted = |text: &str| lossy && text.contains(char::REPLACEMENT_CHARACTER);
        // The container of the arguments themselves counts as one.
        let max_depth = (self.options.limits.effective_depth() as usize).saturating_sub(1);
        let State::Open(arguments) = &mut self.calls[at].state else {
            return if !matches!(self.calls[at].state, State::Rejected) {
                self.reject_at_end(at, Code::TrailingData, "the arguments are balanced, but a value follows");
            };
        };
        if is_corrupted(part.path) || matches!(part.value, PartialValue::Text(text) if is_corrupted(text)) {
            return self.reject_at_end(at, Code::InvalidUtf8, "the arguments are not UTF-8");
        }
        if arguments.partial.is_none() && !trim_start(&arguments.text).is_empty() {
            let message = "the arguments come as text, and then as values";
            return self.reject_at_end(at, Code::TrailingData, message);
        }
        match arguments.partial.get_or_insert_default().set(part, max_depth) {
            Ok(bytes) => {
                if self.reserve(at, bytes)
                    && let State::Open(arguments) = &mut self.calls[at].state
                {
                    arguments.partial_bytes += bytes as u64;
                }
            }
            Err(Misplaced::TooDeep) => self.reject_at_end(at, Code::TooDeep, Misplaced::TooDeep.as_str()),
            Err(misplaced) => self.reject_at_end(at, Code::MalformedJson, misplaced.as_str()),
        }
    }

    /// Takes what follows the arguments of a call once they are balanced or rejected.
    fn feed_after(&mut self, at: usize, rest: &str, delta: &CallDelta<'_>) {
        let Some(rest) = self.calls[at].repeat(rest) else { return self.reject_changed(at) };
        let call = &mut self.calls[at];
        let rest = trim_start(rest);
        let Some(&byte) = rest.as_bytes().first() else {
            if delta.name.is_some() && trim_start(delta.arguments).is_empty() {
                call.repeat_header(delta);
            }
            return;
        };
        let found = error::UnexpectedToken::classify(byte);
        match call.state {
            _ if byte == b'{' && matches!(call.after_arguments, AfterArguments::Named) => {
                let name = call.name.clone();
                self.push(CallDelta { name: name.as_deref(), arguments: rest, ..*delta });
            }
            State::Rejected => {}
            _ if byte == b'{' => {
                // A header would have opened the call of these arguments.
                let at = self.open(delta);
                self.current = self.calls[at].ordinal;
                self.reject_at_end(at, Code::MissingField, "arguments follow without the name of a tool");
            }
            State::Released(_) => {
                let message = format!("the call was released, but its arguments go on with {found}");
                self.reject_at_end(at, Code::LateFragment, message);
            }
            State::Open(_) | State::Balanced(_) => {
                let message = format!("the arguments are balanced, but go on with {found}");
                self.reject_at_end(at, Code::TrailingData, message);
            }
        }
    }

    /// Rejects a call that came again with other arguments.
    pub(super) fn reject_changed(&mut self, at: usize) {
        let (code, message) = match self.calls[at].state {
            State::Released(_) => {
                (Code::LateFragment, "the call was released, but came again with other arguments")
            }
            _ => (Code::TrailingData, "the call came again with other arguments"),
        };
        self.reject_at_end(at, code, message);
    }

    /// Parses the new part of an open call's arguments. Once they are balanced, returns how many bytes
    /// follow.
    pub(super) fn parse(&mut self, at: usize, step: fn(&mut Parser, &str) -> Step) -> Option<usize> {
        let call = &mut self.calls[at];
        let State::Open(arguments) = &mut call.state else { return None };
        let Arguments { json, text, .. } = &mut **arguments;
        let before = json.examined();
        let step = step(json, text);
        self.examined += json.examined() - before;
        let violation = match step {
            Step::NeedMore => return None,
            Step::Complete { end } if matches!(json.root_kind(), Kind::Object | Kind::Null) => {
                let after = text.len() - end;
                text.truncate(end);
                self.held -= after as u64;
                if json.root_kind() == Kind::Null {
                    // Groq's arguments of a tool without parameters.
                    self.held -= (end - NO_ARGUMENTS.len()) as u64;
                    NO_ARGUMENTS.clone_into(text);
                    json.reset();
                    let _ = json.resume(text);
                }
                if let State::Open(arguments) = mem::replace(&mut call.state, State::Rejected) {
                    call.state = State::Balanced(arguments);
                }
                return Some(after);
            }
            Step::Complete { .. } => {
                let message = format!("the arguments must be an object, found {}", json.root_kind().as_str());
                Violation::new(Code::InvalidParameters, 0, message)
            }
            Step::Malformed(error) if error.expected == error::Expected::LessDepth => {
                Violation::new(Code::TooDeep, error.offset, error.description())
            }
            Step::Malformed(error) => Violation::new(Code::MalformedJson, error.offset, error.description()),
        };
        self.reject(at, violation);
        None
    }

    /// Makes room for `bytes` more of this call, or rejects it.
    pub(super) fn reserve(&mut self, at: usize, bytes: usize) -> bool {
        let limit = self.options.limits.effective_line_bytes();
        let is_admitted = self.held + bytes as u64 <= limit;
        if is_admitted {
            self.held += bytes as u64;
        } else {
            let message = format!("the open calls are larger than {limit} bytes");
            self.reject_at_end(at, Code::RecordTooLarge, message);
        }
        is_admitted
    }
}

const NO_ARGUMENTS: &str = "{}";

/// Whether a fragment is short and, inside a string, only plain characters.
fn is_plain(fragment: &str) -> bool {
    const SHORT: usize = 16;
    let is_plain = |byte| byte >= b' ' && byte != b'"' && byte != b'\\';
    fragment.len() <= SHORT && fragment.bytes().all(is_plain)
}
