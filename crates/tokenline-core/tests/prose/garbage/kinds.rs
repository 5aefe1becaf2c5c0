//! What a line of garbage is.

use super::{lines, open};

/// What may be said of a line of garbage that stands outside a JSON fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Nothing was meant for a record: no reject.
    Prose,
    /// A record was meant: from its first bracket on, every byte lies in a reject's span or in a record that
    /// it [delivers](Kind::delivers).
    Meant,
    /// It leaves a bracket open, or is not UTF-8: whether it is a reject depends on what follows.
    Open,
}

/// A kind of garbage: one line, or several.
pub(super) struct Kind {
    pub(super) text: &'static [u8],
    pub(super) class: Class,
    /// The whole objects in it that may be delivered. They need not be: one behind a bracket that an earlier
    /// line left open may belong to what that began.
    pub(super) delivers: &'static [&'static str],
}

impl Kind {
    /// Whether a call of one of the syntaxes of tool calls, or the beginning of one, stands in it.
    pub(super) fn has_call(&self) -> bool {
        let calls: [&[u8]; 5] = [b"f(", b"g(", b"<function", b"<tool_call", b"[TOOL_CALLS]"];
        calls.iter().any(|call| self.text.windows(call.len()).any(|part| part == *call))
    }
}

/// All of them.
pub(super) fn all() -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut add = |class, rows: &[(&'static [u8], &'static [&'static str])]| {
        kinds.extend(rows.iter().map(|&(text, delivers)| Kind { text, class, delivers }));
    };
    add(Class::Prose, lines::PROSE);
    add(Class::Meant, lines::MEANT);
    add(Class::Meant, open::MEANT);
    add(Class::Open, open::OPEN);
    kinds
}
