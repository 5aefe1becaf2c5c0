//! Calls that a server sends twice: same id, same name, all arguments again.

use std::mem;

use super::call::{Call, CallDelta, State, trim_start};
use crate::digest::Digest;

/// The text after the balanced arguments.
#[derive(Default)]
pub(super) enum AfterArguments {
    #[default]
    Nothing,
    /// The tool's name again: the header of another call, if arguments follow.
    Named,
    /// The call again; the digest covers the part of its arguments that has arrived.
    Repetition(Digest),
    /// A brace and white space: a placeholder, or the call again, unless the digest is missing because the white space
    /// differs.
    Brace(Option<Digest>),
    /// The beginning of `null`, a placeholder: its length in bytes.
    Null(usize),
    /// The beginning of a string: the one that held the arguments again, or a placeholder. The digest covers the part
    /// that has arrived, of which a last backslash escapes what follows.
    Encoded { seen: Digest, is_escaped: bool },
}

/// Placeholders in a string.
const ENCODED: [&str; 4] = ["\"\"", "\"{}\"", "\"{ }\"", "\"null\""];

impl Call {
    /// Whether the fragment has this call's id and name, so that it is about no other call.
    pub(super) fn is_named_by(&self, delta: &CallDelta<'_>) -> bool {
        let is_same = |own: &Option<String>, new: Option<&str>| new.is_some() && own.as_deref() == new;
        is_same(&self.id, delta.id) && is_same(&self.name, delta.name)
    }

    /// Takes a header after the arguments.
    pub(super) fn repeat_header(&mut self, delta: &CallDelta<'_>) {
        if !self.is_named_by(delta) {
            self.after_arguments = AfterArguments::Named;
        } else if !self.is_being_repeated() {
            self.after_arguments = AfterArguments::Repetition(Digest::default());
        }
    }

    /// Whether the arguments have come again in part, and the rest is to follow.
    pub(super) fn is_being_repeated(&self) -> bool {
        match self.after_arguments {
            AfterArguments::Nothing | AfterArguments::Named => false,
            AfterArguments::Repetition(seen) => !seen.is_empty(),
            AfterArguments::Brace(_) | AfterArguments::Null(_) | AfterArguments::Encoded { .. } => true,
        }
    }

    /// Consumes the part of `text` that repeats the arguments, or is a placeholder, and returns the rest; `None` if it
    /// is neither.
    pub(super) fn repeat<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let (seen, is_brace) = match self.after_arguments {
            AfterArguments::Repetition(seen) => (Some(seen), false),
            AfterArguments::Brace(seen) => (seen, true),
            _ => return Some(text),
        };
        let is_begun = is_brace || seen.is_some_and(|seen| !seen.is_empty());
        let text = if is_begun { text } else { trim_start(text) };
        if text.is_empty() {
            return Some(text);
        }
        if !is_begun && !text.starts_with('{') {
            self.after_arguments = AfterArguments::Nothing;
            return Some(text);
        }
        // A rejected call stays rejected.
        if matches!(self.state, State::Open(_) | State::Rejected) {
            return Some("");
        }
        let after_brace = if is_brace { Some(text) } else { text.strip_prefix('{').filter(|_| !is_begun) };
        if let Some(rest) = after_brace.and_then(|rest| trim_start(rest).strip_prefix('}')) {
            self.after_arguments = AfterArguments::Nothing;
            return Some(rest);
        }
        let (seen, rest) = seen
            .and_then(|seen| self.compare(seen, text))
            .map_or((None, ""), |(seen, rest)| (Some(seen), rest));
        self.after_arguments = match seen {
            _ if after_brace.is_some_and(|rest| trim_start(rest).is_empty()) => AfterArguments::Brace(seen),
            Some(seen) if self.is_same(seen) => AfterArguments::Nothing,
            Some(seen) => AfterArguments::Repetition(seen),
            None => return None,
        };
        Some(rest)
    }

    /// Compares the next part of the arguments with what came first; `None` if it differs. Returns what follows them.
    fn compare<'a>(&self, mut seen: Digest, text: &'a str) -> Option<(Digest, &'a str)> {
        let (own, len) = match &self.state {
            State::Balanced(arguments) => {
                let own = trim_start(&arguments.text);
                (Some(own), own.len())
            }
            State::Released(digest) => (None, digest.len()),
            State::Open(_) | State::Rejected => return None,
        };
        let (part, rest) = text.split_at_checked(text.len().min(len - seen.len()))?;
        if own.is_some_and(|own| !own.as_bytes()[seen.len()..].starts_with(part.as_bytes())) {
            return None;
        }
        seen.add(part);
        let is_other = matches!(&self.state, State::Released(digest) if seen.len() == len && seen != *digest);
        (!is_other).then_some((seen, rest))
    }

    /// Whether all of the arguments have come again.
    fn is_same(&self, seen: Digest) -> bool {
        match &self.state {
            State::Balanced(arguments) => seen.len() == trim_start(&arguments.text).len(),
            State::Released(digest) => seen == *digest,
            State::Open(_) | State::Rejected => false,
        }
    }

    /// Passes the rest of a `null` that may have begun, and returns what follows; `None` if it is another word.
    pub(super) fn pass_null<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let AfterArguments::Null(len) = self.after_arguments else { return Some(text) };
        let missing = &"null"[len..];
        let rest = text.strip_prefix(missing);
        let is_open = rest.is_none() && missing.starts_with(text);
        self.after_arguments =
            if is_open { AfterArguments::Null(len + text.len()) } else { AfterArguments::Nothing };
        if is_open { Some("") } else { rest }
    }

    /// Passes the rest of a string that has begun, and returns what follows; `None` if it is another than the one that
    /// held the arguments, and no placeholder.
    pub(super) fn pass_encoded<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let AfterArguments::Encoded { seen, is_escaped } = &mut self.after_arguments else {
            return Some(text);
        };
        // A rejected call stays rejected.
        if matches!(self.state, State::Rejected) {
            return Some("");
        }
        let is_end = |byte| {
            let is_escaped = mem::replace(is_escaped, byte == b'\\' && !*is_escaped);
            byte == b'"' && !is_escaped
        };
        let Some(end) = text.bytes().position(is_end) else {
            seen.add(text);
            return Some("");
        };
        let (part, rest) = text.split_at(end + 1);
        seen.add(part);
        let is_known = *seen == self.encoded || ENCODED.iter().any(|text| *seen == Digest::of(text));
        self.after_arguments = AfterArguments::Nothing;
        is_known.then_some(rest)
    }
}
