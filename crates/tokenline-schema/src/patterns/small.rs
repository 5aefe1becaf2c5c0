//! Patterns without the feature `jsonschema`: an engine of a few kilobytes, without tables of Unicode, for WebAssembly. It
//! matches in linear time, and a pattern that it accepts has the verdicts that it has with the feature.

mod program;
mod syntax;

use super::{PATTERN_SIZE, Refusal, Space, is_repetition};
use program::Program;

/// Why there is no verdict: there always is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {}

impl Reason {
    pub(super) fn message(self, _: &str) -> String {
        match self {}
    }
}

/// Begins with another record. Only a search has a budget.
#[inline]
pub(crate) fn begin_record() {}

/// The budget that is left to a record that is judged in parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordBudget(());

impl RecordBudget {
    /// Judges a part.
    pub(crate) fn of<T>(&mut self, judge: impl FnOnce() -> T) -> T {
        judge()
    }
}

/// The engine of a pattern.
#[derive(Debug)]
pub(super) struct Engine(Program);

impl Engine {
    /// Compiles a pattern. Returns how many bytes it takes as well.
    pub(super) fn compile(pattern: &str, space: &Space) -> Result<(Self, usize), Refusal> {
        let size = PATTERN_SIZE.min(space.bytes);
        let too_large = if size < PATTERN_SIZE { Refusal::TooManyBytes } else { Refusal::TooLarge };
        let (expression, classes) = syntax::parse(pattern)?;
        let program = Program::new(&expression, classes, size).ok_or(too_large)?;
        let bytes = program.bytes() + pattern.len();
        Ok((Self(program), bytes))
    }

    pub(super) fn matches(&self, text: &str) -> Result<bool, Reason> {
        Ok(self.0.matches(text))
    }
}
