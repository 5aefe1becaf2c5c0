//! Continuations with the habits of models, of random documents.

use crate::common::{boundary, compact, pretty};
use crate::model::solid;
use proptest::prelude::*;
use serde_json::{Map, Value};
use tokenline_continuation::{Confidence, Document, Join, MergeOptions, merge};
use tokenline_core::json::{Kind, Parser};

/// How a model answers that was asked to continue.
#[derive(Clone, Copy, Debug)]
enum Disturbance {
    Fenced,
    ProseBefore,
    ProseAfter,
    FencedAfterProse,
    PartlyRepeated,
    WhitespaceDiffers,
    Restarted,
    RestartedRespaced,
    FencedRestart,
    Reopened,
}

const ALL: [Disturbance; 10] = [
    Disturbance::Fenced,
    Disturbance::ProseBefore,
    Disturbance::ProseAfter,
    Disturbance::FencedAfterProse,
    Disturbance::PartlyRepeated,
    Disturbance::WhitespaceDiffers,
    Disturbance::Restarted,
    Disturbance::RestartedRespaced,
    Disturbance::FencedRestart,
    Disturbance::Reopened,
];

impl Disturbance {
    /// The fragment for a document that was cut at `at` and that repeats `overlap` bytes or so.
    fn fragment(self, text: &str, at: usize, overlap: usize) -> String {
        let rest = &text[at - overlap..];
        match self {
            Self::Fenced => format!("```json\n{rest}\n```"),
            Self::ProseBefore => format!("Here is the rest of it:\n{rest}"),
            Self::ProseAfter => format!("{rest}\n\nThat is all there is."),
            Self::FencedAfterProse => {
                format!("Certainly! Here it goes on.\n\n```json\n{rest}\n```\n\nThat is all.")
            }
            Self::PartlyRepeated => text[at - overlap / 2..].to_owned(),
            Self::WhitespaceDiffers => {
                // From a token on that is in the overlap, or is the first of it.
                let mut parser = Parser::new();
                let _ = parser.resume(&text[..at]);
                respaced(text, parser.token_before(at - overlap))
            }
            Self::Restarted => text.to_owned(),
            Self::RestartedRespaced => other_spacing(text),
            Self::FencedRestart => format!("```json\n{}\n```", other_spacing(text)),
            Self::Reopened => reopened(text, at),
        }
    }
}

fn other_spacing(text: &str) -> String {
    if text.contains('\n') { compact(text) } else { pretty(text) }
}

/// The rest of the text from a token on, spaced otherwise.
fn respaced(text: &str, from: usize) -> String {
    let tokens = |text: &str| solid(text).collect::<Vec<_>>();
    let index = tokens(text).binary_search(&from).unwrap_or(0);
    let other = other_spacing(text);
    other[tokens(&other)[index]..].to_owned()
}

/// The containers that lead to the cut, then the open member of the innermost array and what follows.
fn reopened(text: &str, at: usize) -> String {
    let mut parser = Parser::new();
    let _ = parser.resume(&text[..at]);
    let open: Vec<_> = parser.open_containers().collect();
    let Some(array) = open.iter().position(|open| open.kind == Kind::Array) else { return text.to_owned() };
    let mut fragment = String::new();
    for open in open[array..].iter().rev() {
        if let Some(name) = &open.name {
            fragment.push_str(&text[name.start - 1..=name.end]);
            fragment.push(':');
        }
        fragment.push(if open.kind == Kind::Object { '{' } else { '[' });
    }
    let member = match array.checked_sub(1) {
        Some(inner) => open[inner].start,
        None => parser.cut().unwrap().member,
    };
    // Between two members it begins with the next.
    fragment + text[member..].trim_start_matches([',', ' ', '\n'])
}

/// Values of all kinds, with much that is repeated.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u32..200).prop_map(Value::from),
        (-1.0e3..1.0e3_f64).prop_map(|number| Value::from((number * 8.0).round() / 8.0)),
        "[ a-c\"\\\\\n`{}\\[\\],:é🎉]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec(("[a-d]{1,3}", inner), 0..5)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// Rows as models are asked for, all different.
fn rows() -> impl Strategy<Value = Value> {
    let row = ("[A-Z][a-z]{2,8}", "[a-z ,.\"\\\\\n\t{}\\[\\]é🎉]{0,40}", any::<bool>(), 0_u32..100_000);
    let rows = proptest::collection::vec(row, 1..8);
    (rows, "[a-z]{3,8}").prop_map(|(rows, title)| {
        let rows: Vec<Value> = (1..)
            .zip(rows)
            .map(|(id, (name, text, flag, number))| {
                serde_json::json!({"id": id, "name": name, "text": text, "flags": [flag, {"n": number}]})
            })
            .collect();
        serde_json::json!({"data": {"rows": rows}, "title": title})
    })
}

fn text_of(value: &Value, is_pretty: bool) -> String {
    let text = value.to_string();
    if is_pretty { pretty(&text) } else { text }
}

/// A place to cut at where the text is not complete.
fn cut(text: &str, place: prop::sample::Index) -> usize {
    let mut at = 1 + place.index(text.len().max(2) - 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_come_out_the_same(
        value in rows(),
        is_pretty in any::<bool>(),
        place in any::<prop::sample::Index>(),
        overlap in 16_usize..60,
        disturbance in prop::sample::select(&ALL[..]),
    ) {
        let text = text_of(&value, is_pretty);
        let at = cut(&text, place);
        prop_assume!(at >= 30 && at < text.len());
        let overlap = at - boundary(&text, at - overlap.min(at));
        let half = at - boundary(&text, at - overlap / 2);
        let fragment = match disturbance {
            Disturbance::PartlyRepeated => text[at - half..].to_owned(),
            _ => disturbance.fragment(&text, at, overlap),
        };
        let options = MergeOptions { requested_overlap: Some(overlap), ..MergeOptions::default() };
        let merged = merge(&text[..at], &fragment, &options);
        let found = serde_json::from_str::<Value>(&merged.merged).ok();
        // Of `aaaa` and `aa` nobody can tell, what is left of an overlap without its white space may be little, and a
        // part of the document that is opened again proves nothing.
        let may_fail = matches!(
            disturbance,
            Disturbance::PartlyRepeated | Disturbance::WhitespaceDiffers | Disturbance::Reopened
        );
        let is_told = may_fail && matches!(merged.join, Join::Failed(_));
        prop_assert!(
            is_told || found.as_ref() == Some(&value),
            "{:?} {:?} {:?}\n{}\n+ {}\n= {}", disturbance, merged.join, merged.confidence, &text[..at], fragment, merged.merged
        );
    }

    #[test]
    fn no_other_value_is_certain(
        value in any_value(),
        is_pretty in any::<bool>(),
        place in any::<prop::sample::Index>(),
        overlap in 0_usize..60,
        is_requested in any::<bool>(),
        disturbance in prop::sample::select(&ALL[..]),
    ) {
        let text = text_of(&value, is_pretty);
        let at = cut(&text, place);
        prop_assume!(at < text.len() && serde_json::from_str::<Value>(&text[..at]).is_err());
        let overlap = at - boundary(&text, at - overlap.min(at));
        prop_assume!(text.is_char_boundary(at - overlap / 2));
        let fragment = disturbance.fragment(&text, at, overlap);
        let options = MergeOptions { requested_overlap: is_requested.then_some(overlap), ..MergeOptions::default() };
        let mut document = Document::of(&text[..at]);
        let report = document.merge(&fragment, &options);
        if let Join::Failed(_) = report.join {
            prop_assert_eq!(document.text(), &text[..at]);
        }
        // What the fragment was asked for and has is certain, whatever it was meant to be.
        let is_exact = is_requested && report.join == Join::Exact;
        if report.confidence == Confidence::Certain && !is_exact && report.has_progress {
            let found = serde_json::from_str::<Value>(document.text()).ok();
            prop_assert_eq!(
                found.as_ref(), Some(&value),
                "{:?} {:?}\n{}\n+ {}\n= {}", disturbance, report, &text[..at], fragment, document.text()
            );
        }
    }
}
