//! Calls that a server sends twice: same id, same name, all arguments again.

use super::call::{Call, CallDelta, State, trim_start};

/// What followed the balanced arguments.
#[derive(Default)]
pub(super) enum AfterArguments {
    #[default]
    Nothing,
    /// The tool's name again: the header of another call, if arguments follow.
    Named,
    /// The call again; the digest covers the part of its arguments that has arrived.
    Repetition(Digest),
}

/// A digest to compare texts by: the length, and FNV-1a over the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    len: usize,
    hash: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self { len: 0, hash: 0xCBF2_9CE4_8422_2325 }
    }
}

impl Digest {
    pub(super) fn of(text: &str) -> Self {
        let mut digest = Self::default();
        digest.add(text);
        digest
    }

    fn add(&mut self, text: &str) {
        self.len += text.len();
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        self.hash = text.bytes().fold(self.hash, step);
    }
}

impl Call {
    /// Whether the fragment has this call's id and name, so that it is about no other call.
    pub(super) fn is_named_by(&self, delta: &CallDelta<'_>) -> bool {
        let is_same = |own: &Option<String>, its: Option<&str>| its.is_some() && own.as_deref() == its;
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
        matches!(self.after_arguments, AfterArguments::Repetition(seen) if seen.len > 0)
    }

    /// Consumes the part of `text` that repeats the arguments, and returns the rest; `None` if the arguments
    /// differ.
    pub(super) fn repeat<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let AfterArguments::Repetition(mut seen) = self.after_arguments else { return Some(text) };
        let text = if seen.len == 0 { trim_start(text) } else { text };
        if text.is_empty() {
            return Some(text);
        }
        if seen.len == 0 && !text.starts_with('{') {
            self.after_arguments = AfterArguments::Nothing;
            return Some(text);
        }
        let (own, digest) = match &self.state {
            State::Balanced(arguments) => (Some(trim_start(&arguments.text)), None),
            State::Released(digest) => (None, Some(*digest)),
            // A rejected call stays rejected.
            State::Open(_) | State::Rejected => return Some(""),
        };
        let len = own.map_or_else(|| digest.map_or(0, |digest| digest.len), str::len);
        let (part, rest) = text.split_at_checked(text.len().min(len - seen.len))?;
        if own.is_some_and(|own| !own.as_bytes()[seen.len..].starts_with(part.as_bytes())) {
            return None;
        }
        seen.add(part);
        let is_complete = seen.len == len;
        self.after_arguments =
            if is_complete { AfterArguments::Nothing } else { AfterArguments::Repetition(seen) };
        let is_other = is_complete && digest.is_some_and(|digest| digest != seen);
        (!is_other).then_some(rest)
    }
}
