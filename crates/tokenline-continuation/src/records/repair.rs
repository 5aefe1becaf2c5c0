//! Replacements for lines that are malformed.

use std::collections::VecDeque;

use tokenline_core::Rejected;
use tokenline_core::adapter::RepairHook;

use super::fingerprint::Fingerprint;

/// The hook, and its last replacements.
#[derive(Default)]
pub(super) struct Repair {
    hook: Hook,
    /// The last lines and their replacements: the hook is not asked again about a line that a model repeats.
    replacements: VecDeque<(Fingerprint, Option<String>)>,
    /// The line that the caller is asked about.
    asked: Option<Fingerprint>,
    question: Option<Rejected>,
}

#[derive(Default)]
enum Hook {
    #[default]
    None,
    Closure(RepairHook),
    /// The caller is asked.
    Steps,
}

/// How many replacements are remembered.
const MAX_REMEMBERED: usize = 8;
/// Longer replacements, in bytes, are remembered only until the next one.
const MAX_REMEMBERED_BYTES: usize = 1024;

impl Repair {
    pub(super) fn set_hook(&mut self, hook: RepairHook) {
        self.hook = Hook::Closure(hook);
    }

    pub(super) fn set_steps(&mut self) {
        self.hook = Hook::Steps;
    }

    /// The replacement, if there is one; the outer `None` if the caller has to answer first.
    pub(super) fn ask(&mut self, rejected: &Rejected) -> Option<Option<String>> {
        if matches!(self.hook, Hook::None) {
            return Some(None);
        }
        let line = Fingerprint::of(&rejected.text);
        if let Some((_, replacement)) = self.replacements.iter().find(|(of, _)| *of == line) {
            return Some(replacement.clone());
        }
        if let Hook::Closure(hook) = &mut self.hook {
            let replacement = hook(rejected.clone());
            self.remember(line, replacement.clone());
            return Some(replacement);
        }
        if self.asked != Some(line) {
            (self.asked, self.question) = (Some(line), Some(rejected.clone()));
        }
        None
    }

    fn remember(&mut self, line: Fingerprint, replacement: Option<String>) {
        let is_short = |text: &String| text.len() <= MAX_REMEMBERED_BYTES;
        self.replacements.retain(|(_, replacement)| replacement.as_ref().is_none_or(is_short));
        self.replacements.truncate(MAX_REMEMBERED - 1);
        self.replacements.push_front((line, replacement));
    }

    /// The question for the caller, once.
    pub(super) fn question(&mut self) -> Option<Rejected> {
        self.question.take()
    }

    /// Whether the answer of the caller is awaited.
    pub(super) fn is_waiting(&self) -> bool {
        self.asked.is_some()
    }

    /// Takes the answer to the question.
    pub(super) fn answer(&mut self, replacement: Option<String>) {
        if let Some(line) = self.asked {
            self.reset();
            self.remember(line, replacement);
        }
    }

    /// Drops the question.
    pub(super) fn reset(&mut self) {
        (self.asked, self.question) = (None, None);
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.replacements.iter().filter_map(|(_, text)| text.as_ref()).map(String::len).sum()
    }
}
