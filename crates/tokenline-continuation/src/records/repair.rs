//! Replacements for lines that are malformed.

use std::collections::VecDeque;

use tokenline_core::Rejected;
use tokenline_core::adapter::RepairHook;

use super::fingerprint::Fingerprint;

/// The hook, and its last replacements.
#[derive(Default)]
pub(super) struct Repair {
    pub(super) hook: Option<RepairHook>,
    /// The last lines and their replacements: the hook is not asked again about a line that a model repeats.
    replacements: VecDeque<(Fingerprint, Option<String>)>,
}

/// How many replacements are remembered.
const MAX_REMEMBERED: usize = 8;
/// Longer replacements, in bytes, are not remembered.
const MAX_REMEMBERED_BYTES: usize = 1024;

impl Repair {
    pub(super) fn ask(&mut self, rejected: Rejected) -> Option<String> {
        let hook = self.hook.as_mut()?;
        let line = Fingerprint::of(&rejected.text);
        if let Some((_, replacement)) = self.replacements.iter().find(|(of, _)| *of == line) {
            return replacement.clone();
        }
        let replacement = hook(rejected);
        if replacement.as_ref().is_none_or(|text| text.len() <= MAX_REMEMBERED_BYTES) {
            self.replacements.truncate(MAX_REMEMBERED - 1);
            self.replacements.push_front((line, replacement.clone()));
        }
        replacement
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.replacements.iter().filter_map(|(_, text)| text.as_ref()).map(String::len).sum()
    }
}
