//! The arguments of a call as they arrive.

use std::borrow::Cow;
use std::mem;

use super::ToolCallAssembler;
use super::call::{CallDelta, State, is_same_json, trim, trim_start};
use super::name::NamePiece;
use super::partial::{Misplaced, PartialArgs, PartialArgument, PartialValue};
use super::repetition::AfterArguments;
use crate::digest::Digest;
use crate::feature::{Boxed, RepairFeature};
use crate::json::{Kind, Parser, Step, error};
use crate::{Code, CompletedBy, Release, Violation};

pub(super) struct Arguments {
    pub(super) json: Parser,
    pub(super) text: String,
    /// Values with their paths, instead of text.
    pub(super) partial: Option<Box<PartialArgs>>,
    /// Bytes held by `partial`.
    pub(super) partial_bytes: u64,
    /// Whether a placeholder came before them. Of several, none is delivered as it is written.
    pub(super) follows_placeholder: bool,
    /// How the tool's name is cut, until arguments follow.
    pub(super) name_pieces: Vec<NamePiece>,
    /// Why they are malformed, while they are held to be repaired.
    pub(super) fault: Option<Boxed<RepairFeature, Violation>>,
}

impl Arguments {
    /// Whether no arguments came.
    pub(super) fn is_blank(&self) -> bool {
        trim_start(&self.text).is_empty() && self.partial.is_none()
    }

    /// Whether the balanced arguments are an object without members, which servers send in place of those that
    /// follow.
    pub(super) fn is_placeholder(&self) -> bool {
        self.json.is_empty()
    }

    /// Spells a placeholder `{}`. Returns how many bytes less are held.
    fn spell_placeholder(&mut self) -> u64 {
        let less = self.text.len() - NO_ARGUMENTS.len();
        NO_ARGUMENTS.clone_into(&mut self.text);
        self.json.reset();
        let _ = self.json.resume(&self.text);
        less as u64
    }

    /// Takes the arguments out of a string that holds them, if it does.
    fn decode(&mut self) -> bool {
        let Some(decoded) = self.json.value(&self.text).as_str().map(|text| trim(&text).to_owned()) else {
            return false;
        };
        self.text = if matches!(&*decoded, "" | "null") { NO_ARGUMENTS.to_owned() } else { decoded };
        self.json.reset();
        let is_whole = |step: Step, len: usize| matches!(step, Step::Complete { end } if end == len);
        is_whole(self.json.resume(&self.text), self.text.len()) && self.json.root_kind() == Kind::Object
    }
}

/// The text in a JSON string that holds complete arguments; others are unchanged.
fn decoded(text: &str) -> Cow<'_, str> {
    let string = Some(text).filter(|text| text.starts_with('"'));
    let decode = |text| Some(Parser::new().parse(text).ok()?.as_str()?.into_owned());
    string.and_then(decode).map_or(text.into(), Cow::Owned)
}

/// The rest of a text after the placeholders that begin it: `{}` and `null`.
fn after_placeholders(mut text: &str) -> &str {
    loop {
        text = trim_start(text);
        let rest = text.strip_prefix('{').and_then(|rest| trim_start(rest).strip_prefix('}'));
        match rest.or(text.strip_prefix("null")) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

impl ToolCallAssembler {
    pub(super) fn feed(&mut self, mut at: usize, delta: &CallDelta<'_>) {
        let mut rest = delta.arguments;
        if delta.is_corrupted(rest) && !matches!(self.calls[at].state, State::Rejected) {
            return self.reject_at_end(at, Code::InvalidUtf8, "the arguments are not UTF-8");
        }
        if self.calls[at].is_placeholder() && delta.is_start() {
            // As in one piece, where the white space before them is skipped.
            rest = trim_start(rest);
            self.replace_placeholder(at);
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
                if arguments.fault.is_some() {
                    return self.feed_malformed(at, delta);
                }
                arguments.text.push_str(rest);
                // Fast path: most fragments are a few plain characters inside a string.
                if is_plain(rest) && arguments.json.continue_string(rest.len()) {
                    self.examined += rest.len() as u64;
                    return;
                }
                if !arguments.name_pieces.is_empty() && !arguments.is_blank() {
                    match self.settle_name(at) {
                        Some(settled) => at = settled,
                        None => return,
                    }
                }
            }
            let Some(after) = self.parse(at, Parser::resume) else { return };
            rest = &rest[rest.len() - after..];
            if self.calls[at].is_placeholder() {
                let next = after_placeholders(rest);
                if next.len() < trim_start(rest).len() {
                    self.spell_placeholder(at);
                }
                rest = next;
                if rest.starts_with(['{', '"']) {
                    self.replace_placeholder(at);
                    return self.feed(at, &CallDelta { arguments: rest, ..*delta });
                }
            }
            if self.release == Release::OnBalance {
                self.release(at, CompletedBy::Balanced);
            }
        } else if delta.is_start() && self.calls[at].is_named_by(delta) {
            self.calls[at].repeat_header(delta);
        }
        self.feed_after(at, rest, delta);
    }

    /// Makes room for the arguments that follow a placeholder, unless the tool was named again: they are then those of
    /// another call.
    fn replace_placeholder(&mut self, at: usize) {
        let call = &mut self.calls[at];
        if !call.is_placeholder() || matches!(call.after_arguments, AfterArguments::Named) {
            return;
        }
        if let State::Balanced(mut arguments) = mem::replace(&mut call.state, State::Rejected) {
            self.held -= arguments.text.len() as u64;
            arguments.text.clear();
            arguments.json.reset();
            arguments.follows_placeholder = true;
            call.state = State::Open(arguments);
        }
    }

    /// Takes note that another placeholder follows the one of this call.
    fn spell_placeholder(&mut self, at: usize) {
        if let State::Balanced(arguments) = &mut self.calls[at].state {
            self.held -= arguments.spell_placeholder();
        }
    }

    /// Takes the complete arguments of a call.
    pub(super) fn feed_complete(&mut self, at: usize, delta: &CallDelta<'_>) {
        let complete = trim(delta.arguments);
        let call = &mut self.calls[at];
        let is_placeholder = call.is_placeholder();
        match &call.state {
            _ if complete.is_empty() => {}
            State::Open(arguments) if arguments.fault.is_some() => {
                match complete.strip_prefix(trim(&arguments.text)) {
                    Some(rest) => self.feed(at, &CallDelta { arguments: rest, ..*delta }),
                    None => self.reject_changed(at),
                }
            }
            State::Open(arguments) => match complete.strip_prefix(trim_start(&arguments.text)) {
                _ if arguments.partial.is_some() => {}
                Some(rest) => self.feed(at, &CallDelta { arguments: rest, ..*delta }),
                None => self.reject_changed(at),
            },
            State::Balanced(arguments) if is_same_json(&arguments.text, complete) => {
                call.after_arguments = AfterArguments::Nothing;
            }
            State::Balanced(_) | State::Released(_) => {
                // Compared with what came before as a fragment is.
                call.after_arguments = AfterArguments::Nothing;
                let complete = if is_placeholder { complete.into() } else { decoded(complete) };
                self.feed(at, &CallDelta { arguments: &complete, ..*delta });
                if !is_placeholder && self.calls[at].is_being_repeated() {
                    self.reject_changed(at);
                }
            }
            State::Rejected => {}
        }
    }

    /// Takes a value of the arguments.
    pub(super) fn push_value(&mut self, at: usize, part: &PartialArgument<'_>, lossy: bool) {
        let is_corrupted = |text: &str| lossy && text.contains(char::REPLACEMENT_CHARACTER);
        // The container of the arguments themselves counts as one.
        let max_depth = (self.limits.effective_depth() as usize).saturating_sub(1);
        let arguments = match &mut self.calls[at].state {
            State::Open(arguments) => arguments,
            State::Balanced(_) => {
                let message = "the arguments are balanced, but a value follows";
                return self.reject_at_end(at, Code::TrailingData, message);
            }
            State::Released(_) => {
                let message = "the call was released, but a value of its arguments follows";
                return self.reject_at_end(at, Code::LateFragment, message);
            }
            State::Rejected => return,
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
        let mut rest = rest;
        let (byte, call) = loop {
            let call = &mut self.calls[at];
            let was_null = matches!(call.after_arguments, AfterArguments::Null(_));
            let Some(next) = call.pass_null(rest) else { break (b'n', call) };
            if was_null && call.is_placeholder() && matches!(call.after_arguments, AfterArguments::Nothing) {
                self.spell_placeholder(at);
            }
            let call = &mut self.calls[at];
            let Some(next) = call.pass_encoded(next).and_then(|next| call.repeat(next)) else {
                return self.reject_changed(at);
            };
            rest = trim_start(next);
            let is_over = matches!(call.after_arguments, AfterArguments::Nothing);
            match rest.as_bytes().first() {
                None => {
                    if delta.name.is_some() && trim_start(delta.arguments).is_empty() {
                        call.repeat_header(delta);
                    }
                    return;
                }
                Some(b'{' | b'"') if is_over && call.is_placeholder() => {
                    self.replace_placeholder(at);
                    return self.feed(at, &CallDelta { arguments: rest, ..*delta });
                }
                // The same object again says nothing, nor does a placeholder.
                Some(b'{') if is_over => {
                    call.after_arguments = AfterArguments::Repetition(Digest::default());
                }
                Some(b'n') if is_over && !matches!(call.state, State::Rejected) => {
                    call.after_arguments = AfterArguments::Null(0);
                }
                Some(b'"') if is_over && !matches!(call.state, State::Rejected) => {
                    call.after_arguments =
                        AfterArguments::Encoded { seen: Digest::of("\""), is_escaped: false };
                    rest = &rest[1..];
                }
                Some(&byte) => break (byte, call),
            }
        };
        let found = error::UnexpectedToken::classify(byte);
        match call.state {
            _ if matches!(byte, b'{' | b'"') && matches!(call.after_arguments, AfterArguments::Named) => {
                let name = call.name.clone();
                self.push(CallDelta { name: name.as_deref(), arguments: rest, ..*delta });
            }
            State::Rejected => {}
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
                // Groq sends `null` for a tool without parameters.
                if json.root_kind() == Kind::Null || (json.is_empty() && arguments.follows_placeholder) {
                    self.held -= arguments.spell_placeholder();
                }
                if let State::Open(arguments) = mem::replace(&mut call.state, State::Rejected) {
                    call.state = State::Balanced(arguments);
                }
                return Some(after);
            }
            Step::Complete { end } if json.root_kind() == Kind::String => {
                let (after, written) = (text.len() - end, text.len());
                text.truncate(end);
                call.encoded = Digest::of(trim_start(text));
                if arguments.decode() {
                    self.held = self.held + arguments.text.len() as u64 - written as u64;
                    if arguments.is_placeholder() && arguments.follows_placeholder {
                        self.held -= arguments.spell_placeholder();
                    }
                    if let State::Open(arguments) = mem::replace(&mut call.state, State::Rejected) {
                        call.state = State::Balanced(arguments);
                    }
                    return Some(after);
                }
                self.held = self.held + arguments.text.len() as u64 - written as u64;
                let message = "the arguments are a string that does not hold an object";
                Violation::new(Code::InvalidParameters, 0, message)
            }
            Step::Complete { .. } => {
                let message = format!("the arguments must be an object, found {}", json.root_kind().as_str());
                Violation::new(Code::InvalidParameters, 0, message)
            }
            Step::Malformed(error) if error.expected == error::Expected::LessDepth => {
                Violation::new(Code::TooDeep, error.offset, error.description())
            }
            Step::Malformed(error) => {
                let violation = Violation::new(Code::MalformedJson, error.offset, error.description());
                self.hold_or_reject(at, violation);
                return None;
            }
        };
        self.reject(at, violation);
        None
    }

    /// Makes room for `bytes` more of this call, or rejects it.
    pub(super) fn reserve(&mut self, at: usize, bytes: usize) -> bool {
        let limit = self.limits.effective_line_bytes();
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
