//! What a model is told when its answer was cut off.

use super::fingerprint::squeeze;
use super::progress::{Form, Progress};
use crate::request::Message;

/// The messages that follow those of the request.
pub(super) fn messages(progress: &Progress, quote_bytes: usize) -> Vec<Message> {
    let open = squeeze(&progress.open);
    let open =
        &open[..(0..=quote_bytes.min(open.len())).rev().find(|at| open.is_char_boundary(*at)).unwrap_or(0)];
    let quoted = progress.quoted();
    let separator = match progress.form {
        Form::Lines => "\n",
        Form::Elements => ",\n",
    };
    let said: Vec<&str> = quoted.iter().copied().chain((!open.is_empty()).then_some(open)).collect();
    let mut messages = Vec::new();
    if !said.is_empty() {
        messages.push(Message::assistant(said.join(separator), []));
    }
    messages.push(Message::user(instruction(progress, quoted.last().copied())));
    messages
}

fn instruction(progress: &Progress, anchor: Option<&str>) -> String {
    let (item, what) = match progress.form {
        Form::Lines => ("line", "It is JSON Lines: one JSON object a line."),
        Form::Elements => (
            "element",
            "It is a JSON array of objects, and you go on among its elements, with commas between them.",
        ),
    };
    let is_cut = !progress.open.is_empty();
    let next = match (progress.records, anchor) {
        (0, _) if is_cut => {
            format!("Write it again, from the beginning of the {item} that was cut off, which was the first.")
        }
        (0, _) => "Write it again from its beginning.".to_owned(),
        (_, Some(anchor)) => {
            let cut = if is_cut { ", which was cut off and must be written whole again" } else { "" };
            format!(
                "Begin by repeating exactly this last complete {item}:\n{anchor}\nThen go on with the {item} after it{cut}."
            )
        }
        (records, None) if is_cut => format!(
            "{records} {item}s came whole. Go on with the {item} after them, which was cut off and must be written whole again."
        ),
        (records, None) => format!("{records} {item}s came whole. Go on with the {item} after them."),
    };
    let again = if progress.records > 0 { " and do not start again from the beginning" } else { "" };
    format!("Your answer was cut off. {what} {next} Write nothing else, no code fences{again}.")
}
