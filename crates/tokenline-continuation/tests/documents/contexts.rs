//! The contexts, at every cut.

use crate::common::{cuts, documents, is_prefix};
use serde_json::Value;
use tokenline_continuation::{ContextOptions, Document, Status};

#[test]
fn every_cut() {
    let options = ContextOptions { overlap_bytes: 12, prompt_budget_bytes: 40 };
    for text in documents() {
        let whole: Value = serde_json::from_str(&text).unwrap();
        let mut growing = Document::new();
        let mut pushed = 0;
        for at in cuts(&text).chain([text.len()]) {
            let cut = &text[..at];
            let document = Document::of(cut);
            let contexts = document.contexts(&options);
            assert_eq!(contexts.hierarchy_context, cut);
            let is_complete = serde_json::from_str::<Value>(cut).is_ok();
            assert_eq!(document.status() == Status::Complete, is_complete, "{cut}");
            if is_complete {
                assert_eq!((contexts.overlap_context, &*contexts.complete_part), ("", cut));
            } else {
                assert!(cut.ends_with(contexts.overlap_context) && contexts.overlap_context.len() <= 12);
                assert_eq!(contexts.overlap_context.is_empty(), cut.is_empty(), "{cut}");
            }
            if contexts.json_parsing_success {
                let part: Value = serde_json::from_str(&contexts.complete_part)
                    .unwrap_or_else(|error| panic!("{cut}: {}: {error}", contexts.complete_part));
                // A number at the root may go on.
                assert!(is_prefix(&part, &whole) || whole.is_number(), "{cut}: {}", contexts.complete_part);
            } else {
                assert_eq!(contexts.complete_part, "");
                assert!(!cut.starts_with(['{', '[', '"']), "{cut}");
            }
            let prompt = &contexts.hierarchy_context_for_prompt;
            for budget in [0, 1, 5, 7, 10, 17, 40, 80, 200] {
                let options = ContextOptions { prompt_budget_bytes: budget, ..options };
                let prompt = document.contexts(&options).hierarchy_context_for_prompt;
                assert!(prompt.len() <= budget, "{budget}: {prompt}");
                let same = prompt.bytes().rev().zip(cut.bytes().rev()).take_while(|(a, b)| a == b).count();
                assert!(same >= budget.min(cut.len()).min(1) || prompt.is_empty(), "{prompt}: {cut}");
            }
            assert!(prompt.len() <= 40);

            growing.push(&text[pushed..at]);
            pushed = at;
            assert_eq!(growing.contexts(&options), contexts);
        }
        assert!(growing.examined() <= 3 * text.len() as u64, "{}: {text}", growing.examined());
    }
}

#[track_caller]
fn complete_part(text: &str) -> String {
    let document = Document::of(text);
    document.contexts(&ContextOptions::default()).complete_part.into_owned()
}

#[test]
fn what_is_dropped() {
    let cases = [
        (r#"{"a":1,"b":2"#, r#"{"a":1}"#),
        (r#"{"a":1,"b":2 "#, r#"{"a":1,"b":2}"#),
        (r#"{"a":1,"b":tru"#, r#"{"a":1}"#),
        (r#"{"a":1,"b":true"#, r#"{"a":1,"b":true}"#),
        (r#"{"a":1,"b"#, r#"{"a":1}"#),
        (r#"{"a":1,"b":"#, r#"{"a":1}"#),
        (r#"{"a":1,"b" : "#, r#"{"a":1}"#),
        (r#"{ "a" : 1 , "#, r#"{ "a" : 1}"#),
        (r#"{"a":"#, "{}"),
        (r#"{"a":["#, r#"{"a":[]}"#),
        (r#"{"a":"x\"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\u00e"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\ud83d"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\ud83d\ude0"#, r#"{"a":"x"}"#),
        (r#"{"a":"x\ud83d\ude00"#, r#"{"a":"x\ud83d\ude00"}"#),
        (r#"["#, "[]"),
        ("[1,[2,3", "[1,[2]]"),
        ("[-", "[]"),
        (r#""tex"#, r#""tex""#),
        ("12", "12"),
        ("12.", ""),
        ("tru", ""),
        ("", ""),
        ("{\"a\":1}  \n", r#"{"a":1}"#),
        (r#"{"a":1,}"#, ""),
        ("no JSON", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(complete_part(text), expected, "{text}");
    }
}

#[test]
fn a_fence_and_prose_are_no_part_of_it() {
    let open = r#"{"a":[1,{"b":"x"#;
    let closed = r#"{"a":[1,{"b":"x"}]}"#;
    for (before, text, after, status) in [
        ("```json\n", open, "", Status::Open),
        ("```json\n", open, "\n```", Status::Open),
        ("```json\n", open, "\n`", Status::Open),
        ("```json\r\n", open, "\r\n```\r\nThere is more.", Status::Open),
        ("Here {x} it is [see below]:\n", open, "", Status::Open),
        ("true enough, 12 rows:\n\n```\n", open, "", Status::Open),
        ("12 rows: ", closed, "\n\nThat is \"all\".", Status::Complete),
        ("```json\n", closed, "\n```\nThat is [all] {there} is.", Status::Complete),
        ("```{not}\n```\nNow:\n```\n", "12", "\n```\n", Status::Complete),
        ("<think>{\"plan\":1}</think>", open, "", Status::Open),
        ("<think>\n[1]\n</think>\n", closed, "\n", Status::Complete),
        ("\n[THINK]{\"plan\":[/THINK]", open, "", Status::Open),
        ("Okay.\n<thinking>{</thinking>\n```json\n", open, "\n```", Status::Open),
        ("", closed, ",\nand so on", Status::Complete),
        ("", closed, "\n{\"b\":2}", Status::Complete),
        ("", closed, "{\"b\":", Status::Complete),
        ("As [1] says: ", closed, ".", Status::Complete),
        ("{\n  like this\n", closed, "", Status::Complete),
        ("\u{feff} ", closed, "  ", Status::Complete),
    ] {
        let all = [before, text, after].concat();
        let document = Document::of(&all);
        assert_eq!(document.status(), status, "{all}");
        assert_eq!(document.text().trim_end(), text, "{all}");
        let contexts = document.contexts(&ContextOptions::default());
        assert!(contexts.json_parsing_success, "{all}");

        // However it comes.
        let mut growing = Document::new();
        for character in all.chars() {
            growing.push(character.encode_utf8(&mut [0; 4]));
        }
        assert_eq!(growing.contexts(&ContextOptions::default()), contexts, "{all}");
    }
}

/// Found by fuzzing, or much like it.
#[test]
fn what_comes_in_pieces_is_the_same() {
    for text in [
        "[-   \r",
        "[-   \r\n",
        "[tru \n``x",
        "{\"a\":\"b\r\n```",
        "[\"a\n",
        "[\"a\n b",
        "12 `",
        "12\n``` x",
        "\"a\" b [1",
        "``` [1]\n```",
        "```json {\"a\":1",
        "{x}} [1",
        "12\n\nrows: [{\"a\":1}, 2]",
        "\"a\n```",
        "```json\n42\n43",
        "<think>{\"a\":1}</think>[1",
        "[THINK][1[/THINK]{\"a\":1},",
        "{\"a\":1},\"b\":2}",
        "{\"a\":1,\n\"b\":x\n",
        "[\nsee\n[1]\n",
        "{\"a\": [ {\"b\" x",
        "{ // so\n a: 1",
        "[1]\n\n] x",
        "{} {} [] {\"a\"",
    ] {
        let mut growing = Document::new();
        for character in text.chars() {
            growing.push(character.encode_utf8(&mut [0; 4]));
            let _ = growing.contexts(&ContextOptions::default());
            growing = growing.clone();
        }
        let document = Document::of(text);
        assert_eq!(growing.status(), document.status(), "{text:?}");
        let options = ContextOptions::default();
        assert_eq!(growing.contexts(&options), document.contexts(&options), "{text:?}");
    }
}

#[test]
fn what_is_no_json() {
    for text in [
        r#"{"a":1,"b"x"#,
        r#"{"query":"x"},"limit":10}"#,
        "[{\"a\":1},{\"b\":x}]",
        "```json\n[1, x",
        "{\n  \"a\": 1,\n  \"b\": x\n}\n{\"c\":2}",
        "{\"a\":\"raw\nline\"}",
    ] {
        let document = Document::of(text);
        assert!(matches!(document.status(), Status::Malformed(_)), "{text}: {:?}", document.status());
        let contexts = document.contexts(&ContextOptions::default());
        assert!(!contexts.json_parsing_success);
        assert_eq!((contexts.overlap_context, &*contexts.complete_part), ("", ""));
    }
    // A value inside brackets that are not JSON is not taken for the document.
    assert_ne!(Document::of(r#"{a:{"c":1}}"#).status(), Status::Complete);
    // Nor is what is prose, or what the model thinks.
    for text in [
        "[1]]",
        "[1][2]",
        "As in [1]",
        "an {} or {x}",
        "12 rows",
        "<think>{\"a\":1}",
        "</think",
        "[THINK][1",
        "null or",
    ] {
        assert_eq!(Document::of(text).status(), Status::Empty, "{text}");
    }
}

#[test]
fn the_way_to_the_cut() {
    let rows: String = (0..100).map(|id| format!("{{\"id\":{id},\"name\":\"row {id}\"}},")).collect();
    let text = format!(r#"{{"meta":{{"v":1}},"data":{{"kind":"rows","rows":[{rows}{{"id":100,"na"#);
    let document = Document::of(&text);
    let prompt = |budget| {
        let options = ContextOptions { prompt_budget_bytes: budget, ..Default::default() };
        document.contexts(&options).hierarchy_context_for_prompt.into_owned()
    };
    assert_eq!(
        prompt(120),
        r#"{"meta":{"v":1},"data":{"kind":"rows","rows":[…,{"id":99,"name":"row 99"},{"id":100,"na"#
    );
    assert_eq!(prompt(60), r#"{…,"data":{"kind":"rows","rows":[…,{"id":100,"na"#);
    assert_eq!(prompt(54), r#"{…,"data":{"kind":"rows","rows":[…,{…,"na"#);
    assert_eq!(prompt(12), r#"…":100,"na"#);
    assert_eq!(prompt(100_000), text);

    let text = format!(r#"{{"title":"t","body":"{}the end"#, "long ".repeat(100));
    let document = Document::of(&text);
    let options = ContextOptions { prompt_budget_bytes: 40, ..Default::default() };
    let prompt = document.contexts(&options).hierarchy_context_for_prompt.into_owned();
    assert_eq!(prompt, r#"{…,"body":"…g long long long the end"#);
}

#[test]
fn what_is_shown_of_the_end_is_not_shown_twice() {
    let prompt = |text: &str, budget| {
        let options = ContextOptions { prompt_budget_bytes: budget, ..Default::default() };
        Document::of(text).contexts(&options).hierarchy_context_for_prompt.into_owned()
    };
    let text = r#"{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":"Grace"#;
    assert_eq!(prompt(text, 40), r#"{"rows":[…,{…,"name":"Grace"#);
    assert_eq!(prompt(&format!("{text}\""), 40), r#"{"rows":[…,{"id":2,"name":"Grace""#);
    assert_eq!(prompt(&format!("{text}\""), 32), r#"{"rows":[…,{…,"name":"Grace""#);
    assert_eq!(prompt(&format!("{text}\""), 31), r#"{"rows":[…,{…"name":"Grace""#);
}

#[test]
fn a_document_nested_too_deeply_is_no_prose() {
    for unit in ["[", "[\n", "{\"a\":", "[1,\n"] {
        let document = Document::of(&unit.repeat(200));
        assert!(matches!(document.status(), Status::Malformed(_)), "{unit}: {:?}", document.status());
    }
}

/// Bytes that the time of reading does not depend on: only where it is read again does it show.
#[test]
fn what_comes_in_pieces_is_read_once() {
    let long = 2_000_000;
    let spaces = " ".repeat(long);
    let quotes = "`".repeat(long);
    for text in [
        format!("{spaces}[1"),
        format!("\u{feff}{spaces}[1"),
        format!("```{spaces}\n[1"),
        format!("[\"a\n{spaces}"),
        format!("[\"a\n```{quotes}"),
        format!("[\"a\n```\n{spaces}"),
        "{x}".repeat(long / 3),
    ] {
        let mut growing = Document::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, remaining) = rest.split_at(rest.ceil_char_boundary(4.min(rest.len())));
            growing.push(piece);
            rest = remaining;
        }
        let document = Document::of(&text);
        assert_eq!(growing.status(), document.status());
        assert_eq!(growing.text(), document.text());
    }
}
