//! A document cut at every place, and continued with every overlap.

use crate::common::{compact, cuts, documents};
use tokenline_continuation::{Confidence, ContinuationFailure, Document, Join, MergeOptions, Status, merge};
use tokenline_core::json::{Parser, Step};

/// Whether the text is a document that is cut, or whole.
fn is_json_so_far(text: &str) -> bool {
    let mut parser = Parser::new();
    match parser.resume(text) {
        Step::NeedMore => true,
        Step::Complete { end } => text[end..].trim().is_empty(),
        Step::Malformed(_) => false,
    }
}

/// The texts that come of every seam that the grammar allows.
fn all_seams(base: &str, fragment: &str) -> Vec<String> {
    let mut all: Vec<String> = (0..=base.len().min(fragment.len()))
        .filter(|&len| base.as_bytes().ends_with(&fragment.as_bytes()[..len]))
        .map(|len| base.to_owned() + &fragment[len..])
        .filter(|merged| is_json_so_far(merged))
        .collect();
    all.dedup();
    all
}

#[test]
fn every_cut_with_every_overlap() {
    let (mut count, mut refused) = (0, 0);
    for text in documents() {
        for at in cuts(&text) {
            let (base, rest) = text.split_at(at);
            if base.is_empty()
                || matches!(
                    serde_json::from_str(base),
                    Ok(serde_json::Value::Array(_)
                        | serde_json::Value::Object(_)
                        | serde_json::Value::String(_)
                        | serde_json::Value::Bool(_)
                        | serde_json::Value::Null)
                )
            {
                continue;
            }
            let document = Document::of(base);
            for overlap in 0..=60.min(at) {
                if !base.is_char_boundary(at - overlap) {
                    continue;
                }
                let fragment = [&base[at - overlap..], rest].concat();
                if overlap > 0 {
                    let mut document = document.clone();
                    let report = document.merge(
                        &fragment,
                        &MergeOptions { requested_overlap: Some(overlap), ..MergeOptions::default() },
                    );
                    assert_eq!(document.text(), text, "{base} + {fragment}");
                    let expected = (Join::Exact, overlap, Confidence::Certain);
                    assert_eq!((report.join, report.overlap, report.confidence), expected);
                    assert_eq!(document.status(), Status::Complete);
                }
                count += 1;
                let mut document = document.clone();
                let report = document.merge(&fragment, &MergeOptions::default());
                let merged = document.text();
                if merged != text && compact(merged) != compact(&text) {
                    let seams = all_seams(base, &fragment);
                    let is_refused = matches!(
                        report.join,
                        Join::Failed(ContinuationFailure::Ambiguous | ContinuationFailure::StartedOver)
                    );
                    refused += usize::from(is_refused);
                    assert!(is_refused || seams.len() > 1, "{base} + {fragment} = {merged}");
                    let is_failed = matches!(report.join, Join::Failed(_));
                    assert!(
                        is_failed || report.confidence == Confidence::Likely,
                        "{base} + {fragment} = {merged}"
                    );
                }
            }
        }
    }
    println!("{refused} of {count} refused that repeat what was not requested");
    assert!(refused * 4 < count, "{refused} of {count}");
}

#[test]
fn a_fragment_that_repeats_nothing() {
    let (mut count, mut refused) = (0, 0);
    for text in documents() {
        for at in cuts(&text).skip(1) {
            let (base, rest) = text.split_at(at);
            if serde_json::from_str::<serde_json::Value>(base).is_ok() {
                continue;
            }
            for requested_overlap in [None, Some(40)] {
                let options = MergeOptions { requested_overlap, ..MergeOptions::default() };
                let merged = merge(base, rest, &options);
                let is_same = compact(&merged.merged) == compact(&text);
                // `{"a":` after `{"a":{"a":` may be a restart of the document.
                let is_refused = matches!(
                    merged.join,
                    Join::Failed(ContinuationFailure::Ambiguous | ContinuationFailure::StartedOver)
                );
                assert!(is_same || is_refused, "{base} + {rest}: {merged:?}");
                refused += usize::from(is_refused);
                count += 1;
            }
        }
    }
    println!("{refused} of {count} refused that repeat nothing");
    assert!(refused * 8 < count, "{refused} of {count}");
}

#[test]
fn a_fragment_of_which_only_a_part_comes() {
    // The answer is cut again.
    for text in documents() {
        for at in cuts(&text).filter(|at| at % 3 == 1) {
            let base = &text[..at];
            if serde_json::from_str::<serde_json::Value>(base).is_ok() {
                continue;
            }
            for to in cuts(&text).filter(|&to| to > at && to % 5 == 0) {
                let overlap = 8.min(at);
                if !base.is_char_boundary(at - overlap) {
                    continue;
                }
                let options = MergeOptions { requested_overlap: Some(overlap), ..MergeOptions::default() };
                let merged = merge(base, &text[at - overlap..to], &options);
                // White space alone is not progress.
                assert_eq!((merged.merged.trim_end(), merged.join), (text[..to].trim_end(), Join::Exact));
            }
        }
    }
}

#[test]
fn a_fragment_costs_what_it_is_long() {
    let rows: Vec<String> = (0..40_000).map(|id| format!(r#"{{"id":{id},"name":"row {id}"}}"#)).collect();
    let text = format!(r#"{{"rows":[{}"#, rows.join(","));
    let mut document = Document::of(&text);
    // And the first byte to find that it is the first.
    assert_eq!(document.examined(), text.len() as u64 + 1);
    for requested_overlap in [Some(17), None] {
        let fragment = tail(document.text()).to_owned() + r#",{"id":-1,"name":"another"}"#;
        let options = MergeOptions { requested_overlap, ..MergeOptions::default() };
        let report = document.merge(&fragment, &options);
        assert_eq!((report.join, report.overlap, report.added), (Join::Exact, 17, 27));
    }
    assert_eq!(document.examined(), document.text().len() as u64 + 1);
}

#[test]
fn a_long_token_is_not_read_again() {
    // With each fragment, or for each seam: then this would take minutes.
    for (base, unit) in [("[\"", "\\n\\u00e9"), ("{\"", "\\n\\u00e9"), ("[0.", "1"), ("{\"", "word ")] {
        let mut document = Document::of(&(base.to_owned() + &unit.repeat(500_000 / unit.len())));
        for at in 0..300 {
            // Nothing that it ends with.
            let fragment = if at % 2 == 0 { "27" } else { "36" };
            let report = document.merge(fragment, &MergeOptions::default());
            assert_eq!(report.join.failure(), None);
        }
        assert_eq!(document.examined(), document.text().len() as u64 + 1);
    }
    // A restart that differs within a string, or ends there.
    let long = "a".repeat(2_000_000);
    let base = format!("[ \"{long}\",\"b");
    for rest in ["", "c\",\"b\"]"] {
        let merged = merge(&base, &format!("[\"{}{rest}", &long[..1_500_000]), &MergeOptions::default());
        assert_eq!(merged.merged, base, "{}", merged.join);
    }
}

fn tail(text: &str) -> &str {
    &text[text.len() - 17..]
}

#[test]
fn many_overlaps_are_no_more_work() {
    // Every length is an overlap, and each is tried: but not for ever.
    for unit in ["[", "\"\",", "[[],", "1,", "\\\\"] {
        let base = if unit == "\\\\" { "[\"" } else { "[" }.to_owned() + &unit.repeat(100);
        let merged = merge(&base, &unit.repeat(20_000), &MergeOptions::default());
        let is_failed = merged.join.failure().is_some();
        assert!(is_failed || merged.confidence != Confidence::Certain, "{unit}: {}", merged.join);
    }
}

#[test]
fn seams() {
    let mut failed = Vec::new();
    for (base, fragment, expected, join, confidence) in CASES {
        let merged = merge(base, fragment, &MergeOptions::default());
        let found = (merged.merged.as_str(), merged.join.as_str(), merged.confidence.as_str());
        if found != (*expected, *join, *confidence) {
            failed.push(format!(
                "{base} + {fragment}\n   {found:?}\n   expected {expected} {join} {confidence}"
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    // Nothing repeated.
    ("[1,1,1,1", ",1,1]", "[1,1,1,1", "failed", "certain"),
    ("[12", "3]", "[123]", "none_but_grammatical", "likely"),
    ("[1,2,3", ",4]", "[1,2,3,4]", "none_but_grammatical", "likely"),
    (r#"{"a":tr"#, "ue}", r#"{"a":true}"#, "none_but_grammatical", "likely"),
    (r#"{"na"#, r#"me":1}"#, r#"{"name":1}"#, "none_but_grammatical", "likely"),
    (
        r#"{"text":"It was th"#,
        r#"e best"}"#,
        r#"{"text":"It was the best"}"#,
        "none_but_grammatical",
        "likely",
    ),
    (r#"{"text":"a\"#, r#"nb"}"#, r#"{"text":"a\nb"}"#, "none_but_grammatical", "likely"),
    (r#"["\ud83d"#, r#"\ude00"]"#, r#"["\ud83d\ude00"]"#, "none_but_grammatical", "likely"),
    // A whole token rather than a longer number.
    ("[1,2,3", "3,4]", "[1,2,3", "failed", "certain"),
    // It may repeat the member, or add one of the same name.
    (r#"{"a":1,"b":2,"#, r#""b":2,"c":3}"#, r#"{"a":1,"b":2,"#, "failed", "certain"),
    // A tail of the base.
    (
        r#"{"rows":[{"id":17,"name":"Ada"},{"id":18,"na"#,
        r#"{"id":18,"name":"Grace"}]}"#,
        r#"{"rows":[{"id":17,"name":"Ada"},{"id":18,"name":"Grace"}]}"#,
        "exact",
        "likely",
    ),
    (
        r#"{"text":"It was the best of times, it was the wo"#,
        r#"times, it was the worst of times"}"#,
        r#"{"text":"It was the best of times, it was the worst of times"}"#,
        "exact",
        "likely",
    ),
    // Fences and prose.
    (
        r#"{"rows":[{"a":1},"#,
        "```json\n{\"a\":2}]}\n```",
        r#"{"rows":[{"a":1},{"a":2}]}"#,
        "none_but_grammatical",
        "likely",
    ),
    (
        r#"{"rows":[{"a":1},"#,
        "Here is the rest:\n\n```json\n{\"a\":2}]}\n```\nThat is all.",
        r#"{"rows":[{"a":1},{"a":2}]}"#,
        "none_but_grammatical",
        "likely",
    ),
    (
        r#"{"rows":[{"a":1},"#,
        "Here is the rest:\n{\"a\":2}]}",
        r#"{"rows":[{"a":1},{"a":2}]}"#,
        "none_but_grammatical",
        "likely",
    ),
    (
        r#"{"text":"It was th"#,
        "Sure.\ne best of times\"}",
        r#"{"text":"It was the best of times"}"#,
        "none_but_grammatical",
        "likely",
    ),
    (r#"{"code":"a "#, "```json b```\"}", r#"{"code":"a ```json b```"}"#, "none_but_grammatical", "likely"),
    (
        r#"{"text":"It was th"#,
        "```json\ne best of\n```",
        r#"{"text":"It was the best of"#,
        "none_but_grammatical",
        "likely",
    ),
    ("[1,2", ",3]\n\nThese are \"all\" of them.", "[1,2,3]", "none_but_grammatical", "likely"),
    ("[1,2", ",3,\n\n(to be continued)", "[1,2", "failed", "certain"),
    // Once more from the beginning.
    (r#"{"id":17,"a":[1,2"#, r#"{"id":17,"a":[1,2,3]}"#, r#"{"id":17,"a":[1,2,3]}"#, "restarted", "certain"),
    (
        r#"{"id":17,"a":[1,2"#,
        "```json\n{\n  \"id\": 17,\n  \"a\": [1, 2, 3]\n}\n```",
        "{\"id\":17,\"a\":[1,2, 3]\n}",
        "restarted",
        "certain",
    ),
    (
        r#"{"id":17,"a":[{"b":1},"#,
        r#"{"id":17,"a":[{"b":1},{"b":2}"#,
        r#"{"id":17,"a":[{"b":1},{"b":2}"#,
        "restarted",
        "certain",
    ),
    (r#"{"id":17,"a":[1,2,3"#, r#"{"id":17,"a":[1,"#, r#"{"id":17,"a":[1,2,3"#, "failed", "certain"),
    // With other white space.
    (
        "{\n  \"rows\": [\n    {\"id\": 1},\n    {\"id\": 2",
        r#"{"id":1},{"id":2},{"id":3}]}"#,
        "{\n  \"rows\": [\n    {\"id\": 1},\n    {\"id\": 2},{\"id\":3}]}",
        "respaced",
        "likely",
    ),
    (
        r#"{"rows":[{"id":1},{"id":2"#,
        "[\n    {\"id\": 1},\n    {\"id\": 2},\n    {\"id\": 3}\n  ]\n}",
        "{\"rows\":[{\"id\":1},{\"id\":2},\n    {\"id\": 3}\n  ]\n}",
        "respaced",
        "likely",
    ),
    // Outer containers opened again prove nothing.
    (
        r#"{"rows":[{"a":1},{"a":2}"#,
        r#"{"rows":[{"a":2},{"a":3}]}"#,
        r#"{"rows":[{"a":1},{"a":2}"#,
        "failed",
        "certain",
    ),
    (r#"{"rows":[{"a":1},{"a":2}"#, r#"[{"a":3}]"#, r#"{"rows":[{"a":1},{"a":2}"#, "failed", "certain"),
    (r#"{"rows":[{"a":1},{"a":2},"#, r#"[{"a":3}]}"#, r#"{"rows":[{"a":1},{"a":2},"#, "failed", "certain"),
    (
        r#"{"rows":[{"a":1},{"a":2,"b"#,
        r#"{"rows":[{"a":2,"b":5},{"a":3}]}"#,
        r#"{"rows":[{"a":1},{"a":2,"b"#,
        "failed",
        "certain",
    ),
    (
        r#"{"data":{"rows":[{"a":1},"#,
        r#"{"rows":[{"a":2}]}}"#,
        r#"{"data":{"rows":[{"a":1},"#,
        "failed",
        "certain",
    ),
    (r#"{"a":{"x":1,"y":2"#, r#"{"a":{"y":2,"z":3}}"#, r#"{"a":{"x":1,"y":2"#, "failed", "certain"),
    // Equal rows: it may repeat some, or add more.
    (
        r#"[{"a":"one","b":"two"},{"a":"one","b":"two"#,
        r#"two"},{"a":"one","b":"two"},{"a":"one","b":"two"}]"#,
        r#"[{"a":"one","b":"two"},{"a":"one","b":"two"#,
        "failed",
        "certain",
    ),
    // Once more from the beginning, with another value in it; or a value that begins as the document does.
    (
        r#"{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":"#,
        r#"{"rows":[{"id":1,"name":"Eve"},{"id":2,"na"#,
        r#"{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":"#,
        "failed",
        "certain",
    ),
    (r#"{"a":"é","b":1,"#, r#"{"a":"è","b":1}"#, r#"{"a":"é","b":1,"#, "failed", "certain"),
    (r#"{"abcdefgh":"x🎉"#, r#"{ "abcdefgh":"x🎈"#, r#"{"abcdefgh":"x🎉"#, "failed", "certain"),
    // Behind a byte order mark, if it is one.
    ("[1,", "\u{feff}2]", "[1,2]", "none_but_grammatical", "likely"),
    ("[1,", "\u{feff}```json\n2]\n```", "[1,2]", "none_but_grammatical", "likely"),
    (r#"{"a":"x"#, "\u{feff}y\"}", r#"{"a":"x"#, "failed", "certain"),
    // Not at all.
    ("", "I cannot.", "", "failed", "certain"),
    ("I cannot", "go on.", "I cannot", "failed", "certain"),
    ("[1,", ":2]", "[1,", "failed", "certain"),
    (r#"{"id":17,"a":1,"#, r#"{"id":17,"b":1}"#, r#"{"id":17,"a":1,"#, "failed", "certain"),
    ("[1]", ",2]", "[1]", "failed", "certain"),
    ("[1,}", "2]", "[1,}", "failed", "certain"),
    ("[1,", "I cannot go on.", "[1,", "failed", "certain"),
];
