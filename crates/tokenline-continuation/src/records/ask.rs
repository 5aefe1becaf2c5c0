//! The messages that ask a model to continue a list.

use super::fingerprint::minify_to;
use super::progress::{Begin, Form, Progress};
use crate::error::ContinuationFailure;
use crate::prompt::{begin_with, so_far};

/// The messages that follow those of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuationMessages {
    /// The end of the list so far, as the message of the model. `None` if none of it is known.
    pub assistant: Option<String>,
    /// The request to continue, as a message of the user.
    pub user: String,
}

impl ContinuationMessages {
    pub(super) fn new(progress: &Progress, context_bytes: usize) -> Self {
        let recent = &progress.recent;
        let (separator, item, format) = match progress.form {
            Form::Lines => ("\n", "line", "It is JSON Lines: one JSON object per line."),
            Form::Elements => (",\n", "element", "It is a JSON array of objects, separated by commas."),
        };
        let join = |texts: &mut dyn Iterator<Item = &str>| texts.collect::<Vec<_>>().join(separator);
        let open = minify_to(progress.open.text(), context_bytes);
        let shown = recent.iter().map(|text| &**text).chain(Some(&*open).filter(|open| !open.is_empty()));
        let assistant = join(&mut { shown });
        let is_cut = !open.is_empty() || progress.reached > 0;
        let count = count(progress.records, item);
        let which = match progress.records {
            0 => format!("The first {item} was cut off."),
            _ if is_cut => format!("{count} arrived complete; the next {item} was cut off."),
            _ => format!("{count} arrived complete."),
        };
        let rest = match progress.begin() {
            Begin::List => "Write the answer again from its beginning.".to_owned(),
            Begin::Anchor(0) => format!("Continue with the {item} after the last complete one."),
            Begin::Anchor(count) => {
                let anchor = join(&mut recent.range(recent.len() - count..).map(|text| &**text));
                let last = match count {
                    1 => format!("this last complete {item}"),
                    _ => format!("these last {count} complete {item}s"),
                };
                let then = if is_cut {
                    format!(
                        "the {item} that was cut off, again from its beginning, and the {item}s after that"
                    )
                } else {
                    format!("the {item}s that follow")
                };
                format!(
                    "Begin by repeating exactly {last}:\n{anchor}\nThen write {then}. Do not start the answer over."
                )
            }
            Begin::Overlap(_) if open.is_empty() => {
                format!("Continue with the {item}s after the last complete one.")
            }
            Begin::Overlap(overlap) => {
                let outline = progress.open.0.outline(context_bytes);
                let shown = outline.strip_suffix(overlap).unwrap_or_default();
                let shown = so_far(&format!("that {item}"), shown, overlap);
                format!("{shown}Write the rest of that {item}, and then the {item}s that follow.")
            }
        };
        let begin = match progress.begin() {
            Begin::Overlap(overlap) if open.is_empty() => {
                begin_with(&format!("the last complete {item}"), overlap)
            }
            Begin::Overlap(overlap) => begin_with(&format!("that {item}"), overlap),
            _ => String::new(),
        };
        let failure = failure(progress, &count);
        let user = format!(
            "Your answer was cut off. {format} {which} {rest} Write nothing else: no explanation, no code fences.{failure}{begin}"
        );
        Self { assistant: (!assistant.is_empty()).then_some(assistant), user }
    }
}

fn count(records: u64, item: &str) -> String {
    if records == 1 { format!("1 {item}") } else { format!("{records} {item}s") }
}

/// Why the last response was dropped, in words for the model.
fn failure(progress: &Progress, count: &str) -> String {
    match progress.failure {
        Some(ContinuationFailure::StartedOver) => format!(
            " Your last continuation started the answer over and was cut off before anything new came. Do not start over: \
             {count} arrived, and only what follows is missing."
        ),
        Some(ContinuationFailure::Diverged | ContinuationFailure::Ambiguous) => {
            " Your last continuation could not be used: begin with exactly what is asked for.".to_owned()
        }
        _ => String::new(),
    }
}
