//! What a model is asked when its list was cut off.

use super::ContinuationFailure;
use super::fingerprint::minify_to;
use super::progress::{Begin, Form, Progress};
use crate::iteration::{begin_with, so_far};

/// The messages that follow those of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuationMessages {
    /// What the model wrote last, as its own message. `None` if nothing of it is known.
    pub assistant: Option<String>,
    /// How it is asked to continue.
    pub user: String,
}

impl ContinuationMessages {
    pub(super) fn new(progress: &Progress, context_bytes: usize) -> Self {
        let recent = &progress.recent;
        let (separator, item, format) = match progress.form {
            Form::Lines => ("\n", "line", "It is JSON Lines: one JSON object a line."),
            Form::Elements => (
                ",\n",
                "element",
                "It is a JSON array of objects: go on among its elements, with commas between them.",
            ),
        };
        let join = |texts: &mut dyn Iterator<Item = &str>| texts.collect::<Vec<_>>().join(separator);
        let open = minify_to(progress.open.text(), context_bytes);
        let shown = recent.iter().map(|text| &**text).chain(Some(&*open).filter(|open| !open.is_empty()));
        let assistant = join(&mut { shown });
        let records = progress.records;
        let is_cut = !open.is_empty() || progress.lacks_open;
        let count = if records == 1 { format!("1 {item}") } else { format!("{records} {item}s") };
        let which = match records {
            0 => format!("The first {item} was cut off."),
            _ if is_cut => format!("{count} came complete, and the {item} after that was cut off."),
            _ => format!("{count} came complete."),
        };
        let again = failure(progress, item);
        let then = match is_cut {
            true => format!("the {item} that was cut off again, from its beginning, and the "),
            false => "the ".to_owned(),
        };
        let user = match progress.begin() {
            Begin::List => format!(
                "Your answer was cut off. {format} {which} Write the answer again from its beginning. Write nothing else, \
                 no code fences.{again}"
            ),
            Begin::Anchor(0) => format!(
                "Your answer was cut off. {format} {which} Go on with the {item} after the last complete one. Write nothing \
                 else, no code fences.{again}"
            ),
            Begin::Anchor(count) => {
                let anchor = join(&mut recent.range(recent.len() - count..).map(|text| &**text));
                let last = match count {
                    1 => format!("this last complete {item}"),
                    _ => format!("these last {count} complete {item}s"),
                };
                format!(
                    "Your answer was cut off. {format} {which} Begin by repeating exactly {last}:\n{anchor}\nThen write \
                     {then}{item}s after it. Write nothing else, no code fences, and do not start again from the \
                     beginning.{again}"
                )
            }
            Begin::Overlap(overlap) => {
                let outline = progress.open.0.outline(context_bytes);
                let whole = if open.is_empty() {
                    format!("the last complete {item}")
                } else {
                    format!("that {item}")
                };
                let rest = match outline.strip_suffix(overlap).unwrap_or_default() {
                    _ if open.is_empty() => format!(" Go on with the {item}s after the last complete one."),
                    shown => {
                        let what = format!("{whole} so far, without its last characters");
                        so_far(&what, &whole, shown)
                            + &format!("Write the rest of it, and then the {item}s that follow.")
                    }
                };
                let begin = begin_with(&whole, overlap);
                format!(
                    "Your answer was cut off. {format} {which}{rest} Write nothing else: no explanation, no code fences.\
                     {again} {begin}"
                )
            }
        };
        Self { assistant: (!assistant.is_empty()).then_some(assistant), user }
    }
}

/// Why the last response was dropped, in words for the model.
fn failure(progress: &Progress, item: &str) -> String {
    match progress.failure {
        Some(ContinuationFailure::StartedOver) => format!(
            " When you were asked to go on, you started again from the beginning, and were cut off before anything new \
             came. Do not do so: the first {} {item}s are there, and only what follows them is missing.",
            progress.records
        ),
        Some(ContinuationFailure::Diverged | ContinuationFailure::Ambiguous) => {
            " What you wrote when you were asked to go on could not be used: begin with exactly what is asked for."
                .to_owned()
        }
        _ => String::new(),
    }
}
