//! Where an emitter writes and counts.

use std::io::{self, Write};

use tokenline::Diagnostic;
use tokenline::adapter::CountAs;

use super::Part;
use crate::excerpt::Excerpt;
use crate::failure::Failure;

/// Takes what an [`Emitter`](super::Emitter) has formatted.
pub(crate) trait Sink {
    /// The data. [Count](Self::count) an event before its output.
    fn out(&mut self) -> &mut impl Write;

    /// Counts an event other than a diagnostic.
    fn count(&mut self, event: CountAs<'_>);

    /// Counts a text.
    fn count_text(&mut self);

    /// Whether the next reject is shown in a message.
    fn shows_rejects(&self) -> bool;

    /// Counts a diagnostic after its output. `part` is the part of the input that it is about, `excerpt` the place in it,
    /// `reject` its line for the reject file.
    fn diagnostic(
        &mut self,
        diagnostic: &Diagnostic,
        part: Option<&Part>,
        excerpt: Option<Excerpt>,
        reject: Option<String>,
    ) -> Result<(), Failure>;

    /// Takes a part of the model's refusal.
    fn refusal(&mut self, text: &str);

    /// Whether a quota is reached.
    fn is_done(&self) -> bool;

    fn has_reject_file(&self) -> bool;

    /// The failure of writing to [`out`](Self::out).
    fn failed(&mut self, error: io::Error) -> Failure;
}
