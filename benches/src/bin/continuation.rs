//! `continuation`: compares tokenline with crates that repair JSON, on cut-off documents: how many they close without
//! inventing anything, and how many continuations they merge. Prints Markdown tables to standard output.

use std::panic::catch_unwind;

use serde_json::Value;
use tokenline_benches::corpora::{Corpus, Kind};
use tokenline_continuation::{ContextOptions, Document, MergeOptions};

/// The requested overlap in bytes.
const OVERLAP: usize = 40;
/// Continue one of this many cuts.
const STEP: usize = 5;

type Close = fn(&str) -> Option<String>;

const CLOSERS: &[(&str, Close)] = &[
    ("tokenline-continuation", |text| {
        let document = Document::of(text);
        let contexts = document.contexts(&ContextOptions::default());
        contexts.json_parsing_success.then(|| contexts.complete_part.into_owned())
    }),
    ("llm_json", |text| {
        let options =
            llm_json::RepairOptions { ensure_ascii: false, stream_stable: true, ..Default::default() };
        llm_json::repair_json(text, &options).ok()
    }),
    ("jsonrepair", |text| jsonrepair::repair_json(text, &jsonrepair::Options::default()).ok()),
    ("jsonrepair-rs", |text| jsonrepair_rs::jsonrepair(text).ok()),
    ("partial-json-fixer", |text| Some(partial_json_fixer::fix_json(text))),
];

fn main() {
    // Some peers panic on some cuts.
    std::panic::set_hook(Box::new(|_| {}));
    let documents = documents();
    close(&documents);
    merge(&documents);
}

/// A few records of each kind, compact and indented.
fn documents() -> Vec<String> {
    let values = Kind::ALL.map(|kind| {
        let corpus = Corpus::document(kind.name(), kind, 1500);
        serde_json::from_slice::<Value>(&corpus.bytes).expect("the corpus is JSON")
    });
    values.iter().map(Value::to_string).chain(values.iter().map(|value| format!("{value:#}"))).collect()
}

fn cuts(text: &str) -> impl Iterator<Item = usize> + '_ {
    (1..text.len()).filter(|&at| text.is_char_boundary(at))
}

fn close(documents: &[String]) {
    let all: usize = documents.iter().map(|text| cuts(text).count()).sum();
    println!("{all} cuts, each closed\n\n| | valid JSON | valid, nothing invented | text kept |");
    println!("|---|--:|--:|--:|");
    for (name, close) in CLOSERS {
        let (mut valid, mut faithful, mut kept, mut length) = (0, 0, 0, 0);
        for text in documents {
            let whole: Value = serde_json::from_str(text).expect("the document is JSON");
            let compact: Vec<usize> = compact_lengths(text);
            for at in cuts(text) {
                length += compact[at];
                let closed = catch_unwind(|| close(&text[..at])).ok().flatten();
                let Some(part) = closed.and_then(|closed| serde_json::from_str::<Value>(&closed).ok()) else {
                    continue;
                };
                valid += 1;
                if is_prefix(&part, &whole) {
                    faithful += 1;
                    kept += part.to_string().len().min(compact[at]);
                }
            }
        }
        println!(
            "| {name} | {} | {} | {} |",
            percent(valid, all),
            percent(faithful, all),
            percent(kept, length)
        );
    }
}

/// For each offset, the number of bytes before it without whitespace between tokens.
fn compact_lengths(text: &str) -> Vec<usize> {
    let (mut in_string, mut escaped, mut length) = (false, false, 0);
    let mut lengths = vec![0];
    for byte in text.bytes() {
        length += usize::from(in_string || !byte.is_ascii_whitespace());
        in_string ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        lengths.push(length);
    }
    lengths
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole as f64)
}

/// Whether `part` is a prefix of `whole`: containers and strings may be shorter, numbers may not.
fn is_prefix(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            let last = part.len().saturating_sub(1);
            part.len() <= whole.len()
                && part.iter().zip(whole).enumerate().all(|(at, (part, whole))| {
                    if at == last { is_prefix(part, whole) } else { part == whole }
                })
        }
        (Value::Object(part), Value::Object(whole)) => {
            let mut less = part.iter().filter(|(name, part)| whole.get(*name) != Some(part));
            let first = less.next();
            less.next().is_none()
                && first
                    .is_none_or(|(name, part)| whole.get(name).is_some_and(|whole| is_prefix(part, whole)))
        }
        _ => part == whole,
    }
}

/// A model's continuation of a document that was cut off at an offset.
type Continue = fn(&str, usize) -> String;

const WAYS: &[(&str, Continue)] = &[
    ("as requested", |text, at| text[overlap(text, at)..].to_owned()),
    ("no overlap", |text, at| text[at..].to_owned()),
    ("in a code fence", |text, at| format!("```json\n{}\n```", &text[overlap(text, at)..])),
    ("after prose", |text, at| format!("Here is the rest:\n{}", &text[overlap(text, at)..])),
    ("started over", |text, _| text.to_owned()),
    ("started over, other spacing", |text, _| {
        let value: Value = serde_json::from_str(text).expect("the document is JSON");
        if text.contains('\n') { value.to_string() } else { format!("{value:#}") }
    }),
];

fn overlap(text: &str, at: usize) -> usize {
    let mut from = at.saturating_sub(OVERLAP);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    from
}

fn merge(documents: &[String]) {
    let places: Vec<(&String, usize)> =
        documents.iter().flat_map(|text| cuts(text).step_by(STEP).map(move |at| (text, at))).collect();
    println!("\n{} cuts, continued in several ways: the document was restored\n", places.len());
    print!("| |");
    for (way, _) in WAYS {
        print!(" {way} |");
    }
    println!("\n|---|{}", "--:|".repeat(WAYS.len()));
    let options = MergeOptions { requested_overlap: Some(OVERLAP), ..MergeOptions::default() };
    print!("| tokenline-continuation, merged |");
    for (_, way) in WAYS {
        let restored = places.iter().filter(|(text, at)| {
            is_same(text, Some(tokenline_continuation::merge(&text[..*at], &way(text, *at), &options).merged))
        });
        print!(" {} |", percent(restored.count(), places.len()));
    }
    println!();
    // The peers cannot merge: concatenate both texts, and repair the result.
    for (name, close) in &CLOSERS[1..] {
        print!("| concatenated, {name} |");
        for (_, way) in WAYS {
            let restored = places.iter().filter(|(text, at)| {
                let both = text[..*at].to_owned() + &way(text, *at);
                is_same(text, catch_unwind(|| close(&both)).ok().flatten())
            });
            print!(" {} |", percent(restored.count(), places.len()));
        }
        println!();
    }
}

fn is_same(text: &str, result: Option<String>) -> bool {
    let whole: Value = serde_json::from_str(text).expect("the document is JSON");
    result.and_then(|result| serde_json::from_str::<Value>(&result).ok()).is_some_and(|value| value == whole)
}
