//! The diagnostics that a report keeps.

use std::borrow::Borrow;

use crate::{Diagnostic, Severity};

/// The first diagnostics of a stream, or entries with one each, in the order of the input, up to a limit. Rejects and
/// warnings displace notes, of which prose may have any number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDiagnostics<T = Diagnostic> {
    kept: Vec<T>,
    /// The number of notes among them.
    notes: usize,
    dropped: u64,
}

impl<T> KeptDiagnostics<T> {
    pub(crate) const NONE: Self = Self { kept: Vec::new(), notes: 0, dropped: 0 };

    /// Those kept.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.kept
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        self.kept
    }

    /// The number of those that are not kept.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl<T: Borrow<Diagnostic>> KeptDiagnostics<T> {
    pub(crate) fn from_parts(kept: Vec<T>, dropped: u64) -> Self {
        let notes = kept.iter().filter(|kept| (*kept).borrow().severity() == Severity::Info).count();
        Self { kept, notes, dropped }
    }

    /// Keeps the entry of a diagnostic with this severity, if at most `capacity` are kept then.
    pub fn add(&mut self, severity: Severity, capacity: usize, entry: impl FnOnce() -> T) {
        let is_new_note = severity == Severity::Info;
        if self.kept.len() >= capacity {
            self.dropped += 1;
            if self.notes == 0 || is_new_note {
                return;
            }
            let is_note = |kept: &T| kept.borrow().severity() == Severity::Info;
            if let Some(last) = self.kept.iter().rposition(is_note) {
                self.kept.remove(last);
                self.notes -= 1;
            }
        }
        self.notes += usize::from(is_new_note);
        self.kept.push(entry());
    }
}

impl<T> Default for KeptDiagnostics<T> {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Span};

    #[test]
    fn rejects_and_warnings_displace_the_last_notes() {
        let mut kept = KeptDiagnostics::default();
        let codes = [
            Code::Prose,
            Code::Prose,
            Code::MalformedJson,
            Code::Prose,
            Code::TokenLimit,
            Code::Truncated,
            Code::Truncated,
        ];
        for (line, code) in (1..).zip(codes) {
            let diagnostic = Diagnostic::new(code, line, Span::default(), 1, "");
            kept.add(diagnostic.severity(), 3, || diagnostic);
        }
        let lines: Vec<u64> = kept.as_slice().iter().map(|diagnostic| diagnostic.line).collect();
        assert_eq!((lines, kept.dropped()), (vec![3, 5, 6], 4));
        let mut none = KeptDiagnostics::<Diagnostic>::default();
        none.add(Severity::Error, 0, || unreachable!("nothing is kept"));
        assert_eq!((none.as_slice().len(), none.dropped()), (0, 1));
    }
}
