//! Arguments in a notation of their own.

use super::elements::Elements;
use crate::Limits;
use crate::call_format::literals::{Container, Dialect, Fault, Literals};
use crate::call_format::syntax::{CallSyntax, Reads};

/// Reads arguments as JSON.
pub(super) trait Notation: Send + Sync {
    /// Begins at the first byte of the arguments.
    fn begin(&mut self, at: usize);

    /// Reads on, up to `close`: where the arguments end, or a fault; `None` if more text is needed.
    fn read(&mut self, text: &str, is_end: bool, close: &str) -> Option<Result<usize, Fault>>;

    /// The arguments as JSON, so far.
    fn json(&mut self) -> &mut String;

    /// The complete members of the arguments as JSON, so far, without the closing brace.
    fn complete_members(&self) -> &str;

    /// Ends the arguments with the text, if only the end of a string is missing before `close`.
    fn end_before(&mut self, text: &str, close: &str) -> bool {
        let _ = (text, close);
        false
    }

    /// Whether it is inside arbitrary text.
    fn is_in_text(&self) -> bool {
        false
    }
}

/// The notation of a row's arguments, if they have one.
pub(super) fn of(syntax: &CallSyntax, reads: Reads, limits: &Limits) -> Option<Box<dyn Notation>> {
    if reads == Reads::Elements {
        let marker = syntax.before.first().map_or("<", String::as_str);
        return Some(Box::new(Elements::new(marker, limits)));
    }
    let delimiter = syntax.quote.clone()?;
    Some(Box::new(Literals::new(Dialect::Delimited(delimiter), limits)))
}

impl Notation for Literals {
    fn begin(&mut self, at: usize) {
        self.begin(at, Container::Object);
    }

    fn read(&mut self, text: &str, is_end: bool, _: &str) -> Option<Result<usize, Fault>> {
        self.read(text, is_end)
    }

    fn json(&mut self) -> &mut String {
        self.json()
    }

    fn complete_members(&self) -> &str {
        self.complete_members()
    }

    fn end_before(&mut self, text: &str, close: &str) -> bool {
        self.end_before(text, close)
    }
}
