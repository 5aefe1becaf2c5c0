//! What the model is sent.

use std::borrow::Cow;

use crate::contexts::Contexts;

/// What to send to the model next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Which request it is, counted from 1.
    pub number: usize,
    /// The prompt: the original one, or one that asks for the rest.
    pub prompt: Cow<'a, str>,
    /// How many bytes of overlap are asked for; `None` if none are: the whole answer is, or the
    /// [overlap](crate::ContextOptions::overlap_bytes) is to be empty.
    pub requested_overlap: Option<usize>,
}

/// The prompt that asks for the rest of a cut answer to `prompt`. It holds the original prompt, so it needs
/// no conversation before it.
///
/// ```
/// use tokenline_continuation::{ContextOptions, Document, continuation_prompt};
///
/// let document = Document::of(r#"{"rows":[{"id":1},{"i"#);
/// let prompt = continuation_prompt("List the rows.", &document.contexts(&ContextOptions::default()));
/// assert!(prompt.starts_with("List the rows.\n"));
/// assert!(prompt.ends_with("Begin with exactly these:\n\n{\"rows\":[{\"id\":1},{\"i"));
/// ```
#[must_use]
pub fn continuation_prompt(prompt: &str, contexts: &Contexts<'_>) -> String {
    let Contexts { overlap_context, hierarchy_context_for_prompt, .. } = contexts;
    let begin = match *overlap_context {
        "" => "Begin with the very next character.".to_owned(),
        // Last: what a model is to repeat, it has to see last, and without tags, which it would repeat as well.
        overlap => {
            format!("Write nothing again but its last characters. Begin with exactly these:\n\n{overlap}")
        }
    };
    format!(
        "{prompt}\n\n\
         Your answer to this was cut off. This is how far it came (the sign … stands for what is left out here, it is \
         not part of the answer):\n\n{hierarchy_context_for_prompt}\n\n\
         Go on directly behind its last character, and stop when the JSON document is complete. Do not start the \
         document over, and do not open again what is open already. Write nothing but the rest of the JSON: no \
         explanation, no code fence. {begin}"
    )
}
