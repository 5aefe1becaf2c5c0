//! Thoughts, prose, fences and list markers before the JSON of a fragment, and around that of a base.

use tokenline_continuation::{
    Confidence, ContextOptions, ContinuationFailure, Document, Join, MergeOptions, Status, merge,
};
use tokenline_core::adapter::THINK_TAGS;

const BASE: &str = r#"{"rows":[{"id":1},{"id":2},{"note":"ab"#;
const WHOLE: &str = r#"{"rows":[{"id":1},{"id":2},{"note":"abc"},{"id":4}]}"#;

/// The fragment after what stands before it: the rest, the rest after an overlap, and the whole document.
fn rests() -> [(&'static str, Option<usize>); 4] {
    let overlap = 9;
    [
        (&WHOLE[BASE.len()..], None),
        (&WHOLE[BASE.len() - overlap..], Some(overlap)),
        (&WHOLE[BASE.len() - overlap..], None),
        (WHOLE, Some(overlap)),
    ]
}

fn befores() -> Vec<String> {
    let mut all = Vec::new();
    for (opener, closer) in THINK_TAGS {
        for thought in
            ["", "x", "A list: [1, {\"id\":1}, so\n{\"rows\":[{\"id\":1},{\"id\":2},{\"note\":\"abc"]
        {
            for after in ["", "\n", "\r\n\r\n"] {
                all.push(format!("{opener}{thought}{closer}{after}"));
                all.push(format!("\n{opener}{thought}{closer}{after}"));
            }
        }
        all.push(format!("{opener}x{closer}\n{opener}y{closer}\n"));
        all.push(format!("{opener}x{closer}\nHere is the rest:\n\n"));
        all.push(format!("{opener}x{closer}\n```json\n"));
    }
    for fence in ["```", "````", "~~~", "~~~~~"] {
        for info in ["", "json", " json", "json {title=\"x\"}", "json title=x", "JSON5", "json:rows.json"] {
            all.push(format!("{fence}{info}\n"));
            all.push(format!("\n{fence}{info}\r\n"));
            all.push(format!("Here is the rest:\n\n{fence}{info}\n"));
        }
    }
    all.extend(["Here is the rest:\n", "Sure.\nIt goes on:\n\n"].map(str::to_owned));
    all
}

#[test]
fn what_stands_before_a_fragment_is_passed() {
    for before in befores() {
        for (rest, requested_overlap) in rests() {
            let fragment = before.clone() + rest;
            let options = MergeOptions { requested_overlap, ..MergeOptions::default() };
            let merged = merge(BASE, &fragment, &options);
            assert_eq!(merged.merged, WHOLE, "{fragment:?}: {:?}", merged.join);
        }
    }
}

#[test]
fn what_stands_around_a_base_is_passed() {
    for before in befores() {
        let fence = before.trim_start().trim_start_matches("Here is the rest:\n\n");
        let marker = fence.chars().next().filter(|char| matches!(char, '`' | '~'));
        let closing = marker.map(|char| {
            let count = fence.chars().take_while(|other| *other == char).count();
            format!("\n{}\n", String::from(char).repeat(count))
        });
        for end in ["", closing.as_deref().unwrap_or_default()] {
            for cut in [BASE, "{\"rows\":[{\"id\":1},", "{\"rows\":[{\"id\":1}", "[12", "{"] {
                let document = Document::of(&format!("{before}{cut}{end}"));
                assert_eq!(document.status(), Status::Open, "{before:?} {cut:?} {end:?}");
                let contexts = document.contexts(&ContextOptions::default());
                assert_eq!(contexts.hierarchy_context, cut, "{before:?} {end:?}");
                assert!(contexts.json_parsing_success);
            }
        }
    }
}

#[test]
fn the_document_again_is_told_from_its_rest() {
    for marker in ["- ", "* ", "1. ", "2) "] {
        let merged = merge(BASE, &format!("{marker}{WHOLE}"), &MergeOptions::default());
        assert_eq!((merged.merged.as_str(), merged.join), (WHOLE, Join::Restarted), "{marker:?}");
    }
    // At any length, if nothing else is grammatical.
    for (base, fragment) in [
        (r#"{"alpha":[1,2"#, r#"{"alpha":[1,2,3]}"#),
        (r#"{"a""#, r#"{"a":1}"#),
        (r#"{"a":1"#, "```json\n{\"a\":1,\"b\":2}\n```"),
        ("[1", "[1,2]"),
    ] {
        let merged = merge(base, fragment, &MergeOptions::default());
        assert_eq!(
            (merged.join, merged.confidence),
            (Join::Restarted, Confidence::Likely),
            "{base} {fragment}"
        );
        assert!(fragment.contains(&merged.merged), "{}", merged.merged);
    }
    for (base, fragment, failure) in [
        ("[1,2,", "[1,2,3]", ContinuationFailure::Ambiguous),
        ("[{\"a\":1},}", "2]", ContinuationFailure::BaseMalformed),
        ("[", "[1]", ContinuationFailure::Ambiguous),
        (r#"{"alpha":[1,2"#, r#"{"alpha":[1,3,3]}"#, ContinuationFailure::StartedOver),
    ] {
        let merged = merge(base, fragment, &MergeOptions::default());
        assert_eq!(merged.join, Join::Failed(failure), "{base} {fragment}");
    }
}

#[test]
fn a_thought_alone_adds_nothing() {
    for fragment in ["<think>Only a thought.</think>", "<think>Not even", "[THINK]\n[1", "<mm:th"] {
        let mut document = Document::of(BASE);
        let report = document.merge(fragment, &MergeOptions::default());
        assert!(!report.has_progress, "{fragment}: {report:?}");
        assert_eq!(document.text(), BASE);
    }
}

/// A draft is text that a model writes before the real one, in a thought or not.
#[test]
fn drafts_are_not_merged() {
    let base = r#"[1,2,"abcdefghijklm","#;
    let requested = |bytes| MergeOptions { requested_overlap: Some(bytes), ..MergeOptions::default() };
    for fragment in [
        "Sure!\n<think>\n[1,2,\"abcdefghijklm\",9]\n</think>\n[1,2,\"abcdefghijklm\",3]",
        "Sure!\n<think>x</think>\n<think>\"abcdefghijklm\",9]</think>\n\"abcdefghijklm\",3]",
        "```json\n<think>\"abcdefghijklm\",9]</think>\"abcdefghijklm\",3]\n```",
    ] {
        let merged = merge(base, fragment, &requested(16));
        assert_eq!(merged.merged, r#"[1,2,"abcdefghijklm",3]"#, "{fragment}: {:?}", merged.join);
    }
    for fragment in [
        "Hm: <think>\n[1,2,\"abcdefghijklm\",9]\n</think>\n[1,2,\"abcdefghijklm\",3]",
        "\"abcdefghijklm\",9]\n</think>\n\"abcdefghijklm\",3]",
        "Draft:\n\"abcdefghijklm\",9]\nFinal:\n\"abcdefghijklm\",3]",
    ] {
        assert!(merge(base, fragment, &requested(16)).join.failure().is_some(), "{fragment}");
    }
    // Lines with values are no prose, lines of other characters are.
    for (base, fragment) in
        [("[1,", "2\n3]"), ("[1", ":\n2]"), ("[-", "1\n2]"), ("[", "true\nfalse]"), ("[1,", "1e5,\r\n2e5 3]")]
    {
        assert!(merge(base, fragment, &MergeOptions::default()).join.failure().is_some(), "{base}{fragment}");
    }
    let merged = merge(base, "2 of 3:\n-----\n***\n\n\"abcdefghijklm\",3]", &requested(16));
    assert_eq!(merged.merged, r#"[1,2,"abcdefghijklm",3]"#, "{:?}", merged.join);
    // A part of a string again may be new.
    let again = merge(r#"{"t":"abcdefgh"#, "defgh", &MergeOptions::default());
    assert_eq!(again.join, Join::Failed(ContinuationFailure::Ambiguous));
    // The overlap may follow a thought, and look like one.
    let base = r#"{"t":"about the tags: <think> and so on"#;
    let fragment = "<think>Hm.</think>\n<think> and so on, </think>b\"}";
    let merged = merge(base, fragment, &requested(17));
    assert_eq!(merged.merged, r#"{"t":"about the tags: <think> and so on, </think>b"}"#);
}

/// A document may be about thoughts.
#[test]
fn an_overlap_with_a_tag_is_no_thought() {
    let base = r#"{"tags":["first","#;
    let next = r#""<think>","</think>"]}"#;
    let base = base.to_owned() + &next[..8];
    let overlap = "<think>";
    let options = MergeOptions { requested_overlap: Some(overlap.len()), ..MergeOptions::default() };
    let merged = merge(&base, &next[1..], &options);
    assert_eq!(merged.merged, base + &next[8..], "{:?}", merged.join);
}
