//! What a model is told when its answer was cut off.

use super::error::ContinuationFailure;
use super::fingerprint::squeezed;
use super::progress::{Form, Progress};
use crate::request::Message;

/// The messages that follow those of the request.
pub(super) fn messages(progress: &Progress, quote_bytes: usize) -> Vec<Message> {
    let inside = progress.inside(quote_bytes);
    let mut open = String::new();
    if inside.is_none() {
        let mut room = quote_bytes;
        open.extend(squeezed(progress.open.text()).take_while(|char| {
            let left = room.checked_sub(char.len_utf8());
            room = left.unwrap_or(0);
            left.is_some()
        }));
    }
    let quoted = progress.quoted();
    let separator = match progress.form {
        Form::Lines => "\n",
        Form::Elements => ",\n",
    };
    let said: Vec<&str> = quoted.iter().copied().chain((!open.is_empty()).then_some(&*open)).collect();
    let mut messages = Vec::new();
    if !said.is_empty() {
        messages.push(Message::assistant(said.join(separator), []));
    }
    let anchor = quoted[quoted.len() - progress.anchor()..].join(separator);
    messages.push(Message::user(match inside {
        Some(overlap) => go_on_inside(progress, overlap, quote_bytes),
        None => write_again(progress, &anchor),
    }));
    messages
}

/// What one record is called, and what they are together.
fn words(form: Form) -> (&'static str, &'static str) {
    match form {
        Form::Lines => ("line", "It is JSON Lines: one JSON object a line."),
        Form::Elements => (
            "element",
            "It is a JSON array of objects, and you go on among its elements, with commas between them.",
        ),
    }
}

/// What is told to a model that does not do as it was told.
fn again(progress: &Progress, item: &str) -> String {
    match progress.failure {
        Some(ContinuationFailure::StartedOver) => format!(
            " When you were asked to go on you started again from the beginning, and were cut off before anything new \
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

/// The record that was cut off is asked for once more, and what follows it.
fn write_again(progress: &Progress, anchor: &str) -> String {
    let (item, what) = words(progress.form);
    let is_cut = !progress.open.is_empty();
    let next = match (progress.records, progress.anchor()) {
        (0, _) if is_cut => {
            format!("Write it again, from the beginning of the {item} that was cut off, which was the first.")
        }
        (0, _) => "Write it again from its beginning.".to_owned(),
        (records, 0) if is_cut => format!(
            "{records} {item}s came whole. Go on with the {item} after them, which was cut off and must be written whole again."
        ),
        (records, 0) => format!("{records} {item}s came whole. Go on with the {item} after them."),
        (_, asked) => {
            let cut = if is_cut { ", which was cut off and must be written whole again" } else { "" };
            let (last, them) = match asked {
                1 => (format!("this last complete {item}"), "it"),
                _ => (format!("these last {asked} complete {item}s"), "them"),
            };
            format!(
                "Begin by repeating exactly {last}:\n{anchor}\nThen go on with the {item} after {them}{cut}."
            )
        }
    };
    let not = if progress.records > 0 { " and do not start again from the beginning" } else { "" };
    let again = again(progress, item);
    format!("Your answer was cut off. {what} {next} Write nothing else, no code fences{not}.{again}")
}

/// The rest of a record that is too long to be written again is asked for, and what follows it.
fn go_on_inside(progress: &Progress, overlap: &str, quote_bytes: usize) -> String {
    let (item, what) = words(progress.form);
    let outline = progress.open.outline(quote_bytes);
    let which = match progress.records {
        0 => format!("The first {item} was cut off"),
        records => format!("{records} {item}s came whole, and the {item} after them was cut off"),
    };
    let again = again(progress, item);
    format!(
        "Your answer was cut off. {what} {which} inside. This is how far that {item} came (the sign … stands for what is \
         left out here, it is not part of it):\n\n\
         <cut_off>{outline}</cut_off>\n\n\
         It ends with exactly these characters:\n\n\
         <end_of_answer>{overlap}</end_of_answer>\n\n\
         Go on from there. Begin with exactly the characters between <end_of_answer> and </end_of_answer>, continue \
         directly behind them, and when the {item} is complete go on with the {item}s after it. Write nothing else: no \
         explanation, no code fences, no tags. Do not write anything again that stands before these characters.{again}"
    )
}
