//! A second chance for what is malformed.

use std::collections::VecDeque;

use tokenline_core::adapter::RepairHook;
use tokenline_core::json::Raw;
use tokenline_core::{Limits, Record, Rejected};

use super::fingerprint::Fingerprint;

/// The hook, and what it said last of lines that were malformed.
#[derive(Default)]
pub(super) struct Repair {
    hook: Option<RepairHook>,
    limits: Limits,
    said: VecDeque<(Fingerprint, Option<String>)>,
}

/// So many lines are remembered: a text that is read again after it was joined, or written again, is not asked about
/// twice.
const REMEMBERED: usize = 8;
/// Longer replacements, in bytes, are not.
const LONGEST: usize = 1024;

impl Repair {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    pub(super) fn set(&mut self, hook: RepairHook) {
        self.hook = Some(hook);
    }

    /// Lines longer than so many bytes are not for it; `None` if no line is.
    pub(super) fn line_bytes(&self) -> Option<usize> {
        self.hook.as_ref().map(|_| self.limits.line_bytes)
    }

    pub(super) fn ask(&mut self, rejected: Rejected) -> Option<String> {
        self.hook.as_mut()?(rejected)
    }

    /// What takes the place of a line that is malformed.
    pub(super) fn line(&mut self, rejected: Rejected, place: Record<()>) -> Option<Record<Raw>> {
        let line = Fingerprint::of(&rejected.text);
        let replacement = match self.said.iter().find(|(said, _)| *said == line) {
            Some((_, replacement)) => replacement.clone(),
            None => {
                let replacement = self.ask(rejected);
                if replacement.as_ref().is_none_or(|text| text.len() <= LONGEST) {
                    self.said.truncate(REMEMBERED - 1);
                    self.said.push_front((line, replacement.clone()));
                }
                replacement
            }
        }?;
        place.repaired(&replacement, &self.limits, |record| (*record).map(Raw::from))
    }

    /// Bytes of text that are kept.
    pub(super) fn held_bytes(&self) -> usize {
        self.said.iter().filter_map(|(_, replacement)| replacement.as_ref()).map(String::len).sum()
    }
}
