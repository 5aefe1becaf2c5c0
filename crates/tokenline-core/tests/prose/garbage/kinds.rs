//! Kinds of garbage.

use super::{lines, open};

/// The diagnostics that a line of garbage outside a JSON fence may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// No record was intended: no reject.
    Prose,
    /// A record was intended: from its first bracket on, every byte is in a reject's span or in a record that
    /// it [delivers](Kind::delivers).
    Meant,
    /// It leaves a bracket open, or is not UTF-8: whether it is a reject depends on what follows.
    Open,
}

/// A kind of garbage: one line, or several.
pub(super) struct Kind {
    pub(super) text: &'static [u8],
    pub(super) class: Class,
    /// Complete objects in it that may be delivered. An object after a bracket that an earlier line left open
    /// may belong to that bracket's value instead.
    pub(super) delivers: &'static [&'static str],
}

impl Kind {
    /// Whether it contains a tool call in one of the syntaxes, or the beginning of one.
    pub(super) fn has_call(&self) -> bool {
        let calls: [&[u8]; 5] = [b"f(", b"g(", b"<function", b"<tool_call", b"[TOOL_CALLS]"];
        calls.iter().any(|call| self.text.windows(call.len()).any(|part| part == *call))
    }
}

/// All kinds.
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
