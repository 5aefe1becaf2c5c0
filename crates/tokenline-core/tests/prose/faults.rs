//! Collects all faults that a test finds before it fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokenline_core::{Diagnostic, Options};

use crate::common::{Seen, decode};

/// How many faults are shown; all are counted.
const SHOWN: usize = 40;

/// The faults of one test.
#[derive(Default)]
pub(crate) struct Faults {
    checked: usize,
    counts: BTreeMap<&'static str, usize>,
    /// The first of each kind.
    shown: BTreeMap<&'static str, Vec<String>>,
}

impl Faults {
    pub(crate) fn checked(&mut self) {
        self.checked += 1;
    }

    pub(crate) fn count(&self) -> usize {
        self.counts.values().sum()
    }

    /// Adds a fault of this kind at this place, described in a line or two.
    pub(crate) fn add(&mut self, kind: &'static str, place: &str, detail: &str) {
        *self.counts.entry(kind).or_default() += 1;
        let shown = self.shown.entry(kind).or_default();
        if shown.len() < SHOWN {
            shown.push(format!("{kind}: {place}\n    {detail}"));
        }
    }

    /// Fails if there are any faults.
    #[track_caller]
    pub(crate) fn report(self) {
        assert!(self.checked > 0, "nothing was checked");
        let count = self.count();
        let (checked, counts, mut shown) = (self.checked, self.counts, self.shown);
        // The most frequent first.
        let first = ["panic", "lost", "invented"].into_iter().filter_map(|kind| shown.remove(kind));
        let shown: Vec<String> =
            first.collect::<Vec<_>>().into_iter().chain(shown.into_values()).flatten().collect();
        let shown = shown[..shown.len().min(SHOWN)].join("\n");
        assert!(count == 0, "{count} faults in {checked} inputs, {counts:?}\n{shown}\n");
    }
}

/// The events of an input in one chunk. A failed assertion of the decoder, such as its bound on the bytes
/// examined, is a fault as well.
pub(crate) fn run(options: &Options, input: &[u8]) -> Result<Vec<Seen>, String> {
    guarded(|| decode(options, [input]))
}

/// The events, or the message of a panic.
pub(crate) fn guarded(decode: impl FnOnce() -> Vec<Seen>) -> Result<Vec<Seen>, String> {
    catch_unwind(AssertUnwindSafe(decode)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
    })
}

/// The rejects among these events.
pub(crate) fn rejects(seen: &[Seen]) -> impl Iterator<Item = &Diagnostic> {
    seen.iter().filter_map(|event| match event {
        Seen::Rejected(diagnostic) => Some(diagnostic),
        Seen::Record { .. } | Seen::Note(_) => None,
    })
}

/// The text of the records among these events.
pub(crate) fn records(seen: &[Seen]) -> impl Iterator<Item = &str> {
    seen.iter().filter_map(|event| match event {
        Seen::Record { raw, .. } => Some(raw.as_str()),
        Seen::Rejected(_) | Seen::Note(_) => None,
    })
}

/// A diagnostic with the line it refers to.
pub(crate) fn shown(diagnostic: &Diagnostic, input: &[u8]) -> String {
    let line = input.split(|byte| *byte == b'\n').nth(diagnostic.line as usize - 1).unwrap_or_default();
    let span = diagnostic.span;
    format!("{diagnostic}, {}..{} in: {}", span.start, span.end, excerpt(line, 100))
}

/// Bytes on one line, shortened if there are many.
pub(crate) fn excerpt(bytes: &[u8], most: usize) -> String {
    let mut text = String::new();
    let all = String::from_utf8_lossy(bytes);
    for char in all.chars().take(most) {
        match char {
            '\n' => text.push('⏎'),
            '\r' => text.push('␍'),
            char if char.is_control() => write!(text, "⟨{:02X}⟩", u32::from(char)).expect("a string"),
            char => text.push(char),
        }
    }
    if all.chars().nth(most).is_some() {
        text.push('…');
    }
    text
}
