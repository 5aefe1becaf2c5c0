//! A call that a server sends once more: same id, same name, the arguments all over again.

use super::call::{Call, CallDelta, State, trim_start};

/// What followed the arguments once they were balanced.
#[derive(Default)]
pub(super) enum AfterArguments {
    #[default]
    Nothing,
    /// The tool was named again: the header of another call, if arguments follow.
    Named,
    /// The call begins anew; so much of its arguments came again.
    Repetition(Digest),
}

/// Tells a text from others without keeping it: its length, and FNV-1a over its bytes.
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
    /// Whether the fragment has this call's header, id and name: it is about no other call.
    pub(super) fn is_named_by(&self, delta: &CallDelta<'_>) -> bool {
        let is_same = |own: &Option<String>, its: Option<&str>| its.is_some() && own.as_deref() == its;
        is_same(&self.id, delta.id) && is_same(&self.name, delta.name)
    }

    /// Takes in a header after the arguments.
    pub(super) fn name_again(&mut self, delta: &CallDelta<'_>) {
        if !self.is_named_by(delta) {
            self.sequel = AfterArguments::Named;
        } else if !self.is_being_repeated() {
            self.sequel = AfterArguments::Repetition(Digest::default());
        }
    }

    /// Whether a part of the arguments came again, and the rest is to follow.
    pub(super) fn is_being_repeated(&self) -> bool {
        matches!(self.sequel, AfterArguments::Repetition(seen) if seen.len > 0)
    }

    /// Takes what belongs to a repetition of the arguments, and gives what does not; `None` if it
    /// is no repetition, because the arguments are others.
    pub(super) fn repeat<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let AfterArguments::Repetition(mut seen) = self.sequel else { return Some(text) };
        let text = if seen.len == 0 { trim_start(text) } else { text };
        if text.is_empty() {
            return Some(text);
        }
        if seen.len == 0 && !text.starts_with('{') {
            self.sequel = AfterArguments::Nothing;
            return Some(text);
        }
        let (own, digest) = match &self.state {
            State::Balanced(arguments) => (Some(trim_start(&arguments.text)), None),
            State::Released(digest) => (None, Some(*digest)),
            // What was rejected stays so.
            State::Open(_) | State::Rejected => return Some(""),
        };
        let len = own.map_or_else(|| digest.map_or(0, |digest| digest.len), str::len);
        let (part, rest) = text.split_at_checked(text.len().min(len - seen.len))?;
        if own.is_some_and(|own| !own.as_bytes()[seen.len..].starts_with(part.as_bytes())) {
            return None;
        }
        seen.add(part);
        let is_whole = seen.len == len;
        self.sequel = if is_whole { AfterArguments::Nothing } else { AfterArguments::Repetition(seen) };
        let is_other = is_whole && digest.is_some_and(|digest| digest != seen);
        (!is_other).then_some(rest)
    }
}
