//! Prompts that ask a model to continue.

use crate::contexts::Contexts;

/// The shortest overlap that is asked for, in bytes besides white space. A shorter one may occur elsewhere in the document or
/// list.
pub(crate) const MIN_OVERLAP: usize = 32;

/// The prompt that asks for the rest of a truncated response to `prompt`. It contains the original prompt, so it is a
/// conversation by itself.
///
/// ```
/// use tokenline_continuation::{ContextOptions, Document, continuation_prompt};
///
/// let document = Document::of(r#"{"rows":[{"id":1},{"i"#);
/// let prompt = continuation_prompt("List the rows.", &document.contexts(&ContextOptions::default()));
/// assert!(prompt.starts_with("List the rows.\n"));
/// assert!(prompt.ends_with("after them:\n\n{\"rows\":[{\"id\":1},{\"i"));
/// ```
#[must_use]
pub fn continuation_prompt(prompt: &str, contexts: &Contexts<'_>) -> String {
    ask_for_rest(prompt, &contexts.hierarchy_context_for_prompt, contexts.overlap_context)
}

pub(crate) fn ask_for_rest(prompt: &str, outline: &str, overlap: &str) -> String {
    let shown = so_far("the answer", outline.strip_suffix(overlap).unwrap_or_default(), overlap);
    let begin = match overlap {
        "" => " Begin with the very next character.".to_owned(),
        _ => begin_with("the answer", overlap),
    };
    format!(
        "{prompt}\n\n\
         Your answer to this was cut off. {shown}Write the rest of it, and stop when the JSON document is complete. Do not \
         start over, and do not reopen arrays or objects that are already open. Write nothing but JSON: no explanation, no \
         code fences.{begin}"
    )
}

/// Shows the truncated response or record up to the overlap. The text to repeat appears once, at the end of the prompt:
/// models continue from what they read last.
pub(crate) fn so_far(whole: &str, shown: &str, overlap: &str) -> String {
    let without = if overlap.is_empty() { "" } else { ", without its last characters" };
    match shown {
        "" => String::new(),
        _ => format!(
            "This is {whole} so far{without} (… marks what is left out here; it is not part of {whole}):\n\n{shown}\n\n"
        ),
    }
}

/// Asks for an overlap: the end of a response or a record. This ends the prompt.
pub(crate) fn begin_with(whole: &str, overlap: &str) -> String {
    format!(
        " Begin with exactly these last characters of {whole}, and continue directly after them:\n\n{overlap}"
    )
}
