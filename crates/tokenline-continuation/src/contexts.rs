//! The five contexts of a truncated text.

use std::borrow::Cow;

use crate::document::{Document, Status};
use crate::outline::outline;

/// The size limits of [`Contexts`]. The fields are public: construct it with
/// `..ContextOptions::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextOptions {
    /// The maximum length of [`Contexts::overlap_context`], in bytes. 200 by default. With 0 the context is always empty,
    /// with 1 to 3 if the last character is longer; an empty context then does not mean that the text is complete.
    pub overlap_bytes: usize,
    /// The maximum length of [`Contexts::hierarchy_context_for_prompt`], in bytes. 4,000 by default.
    pub prompt_budget_bytes: usize,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self { overlap_bytes: 200, prompt_budget_bytes: 4000 }
    }
}

/// The parts of a truncated JSON text that are needed to continue it, or to use it as it is.
///
/// It serializes as an object of these five members.
///
/// ```
/// use tokenline_continuation::{ContextOptions, Document};
///
/// let document = Document::of(r#"{"rows":[{"id":1,"note":"caf\u00e9"},{"id":2,"no"#);
/// let contexts = document.contexts(&ContextOptions { overlap_bytes: 10, ..Default::default() });
/// assert_eq!(contexts.overlap_context, r#""id":2,"no"#);
/// assert_eq!(contexts.complete_part, r#"{"rows":[{"id":1,"note":"caf\u00e9"},{"id":2}]}"#);
/// assert!(contexts.json_parsing_success);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Contexts<'a> {
    /// The end of the text, which the model is asked to begin with: at most
    /// [`overlap_bytes`](ContextOptions::overlap_bytes) long. Empty if the text is complete, or is not JSON.
    pub overlap_context: &'a str,
    /// The truncated text, to which a continuation is merged. Only the JSON: code fences and prose around it are left out.
    pub hierarchy_context: &'a str,
    /// The truncated text within a budget, for a prompt: the path of the open containers and their last members, each
    /// gap marked by `…`. It ends as the text does.
    pub hierarchy_context_for_prompt: Cow<'a, str>,
    /// The complete part, with all structures closed. A number, literal, escape or name at the cut is left out, and so is
    /// the name of a value that is left out; a string ends at its last complete character. A number is complete only if
    /// something follows it, or if it is the document. Empty unless `json_parsing_success`.
    pub complete_part: Cow<'a, str>,
    /// Whether `complete_part` is valid JSON: not if the text is malformed before its end, or has no
    /// value.
    pub json_parsing_success: bool,
}

impl<'a> Contexts<'a> {
    pub(crate) fn new(document: &'a Document, options: &ContextOptions) -> Self {
        let text = document.text();
        let complete_part = document.complete_part();
        Self {
            overlap_context: document.overlap(options.overlap_bytes),
            hierarchy_context: text,
            hierarchy_context_for_prompt: document.outline(options.prompt_budget_bytes),
            json_parsing_success: complete_part.is_some(),
            complete_part: complete_part.unwrap_or_default(),
        }
    }
}

impl Document {
    /// The contexts of the text so far. Takes time in proportion to the budget, the overlap, the depth,
    /// and for copying the complete part, its length.
    #[must_use]
    pub fn contexts(&self, options: &ContextOptions) -> Contexts<'_> {
        Contexts::new(self, options)
    }

    /// The truncated text within a budget of bytes, as in
    /// [`hierarchy_context_for_prompt`](Contexts::hierarchy_context_for_prompt), without the cost of the other
    /// contexts. Takes time in proportion to the budget and the depth.
    #[must_use]
    pub fn outline(&self, budget_bytes: usize) -> Cow<'_, str> {
        match self.status() {
            Status::Open => outline(self, budget_bytes),
            _ => crate::outline::ending(self.text(), budget_bytes),
        }
    }
}
