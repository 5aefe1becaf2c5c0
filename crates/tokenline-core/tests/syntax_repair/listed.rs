//! Each edit of the list, and what is refused.

use tokenline_core::Limits;
use tokenline_core::syntax_repair::EditKind;
use tokenline_core::syntax_repair::RepairOptions;
use tokenline_core::syntax_repair::Unrepaired;
use tokenline_core::syntax_repair::repair_syntax;

use crate::cases;

/// The result in a line: the edits, or the reason with the candidates.
fn result(text: &str, options: &RepairOptions, has_schema: bool) -> (String, Option<String>) {
    let mut accepts = |_: tokenline_core::json::Value<'_>| true;
    match repair_syntax(text, options, has_schema.then_some(&mut accepts)) {
        Ok(repair) => {
            let edits = repair.edits.iter();
            let edits = edits.map(|edit| format!("{} {}..{}", edit.kind, edit.span.start, edit.span.end));
            (edits.collect::<Vec<_>>().join(", "), Some(repair.text))
        }
        Err(reason) => (reason.to_string(), None),
    }
}

#[test]
fn the_fixtures_are_repaired_or_refused_with_their_reason() {
    let mut faults = Vec::new();
    for case in cases::all() {
        let options = RepairOptions { is_end_confirmed: case.is_end_confirmed, ..RepairOptions::default() };
        let (result, repaired) = result(&case.text, &options, case.has_schema);
        let value = repaired.map(|text| serde_json::from_str::<serde_json::Value>(&text).expect("JSON"));
        if result != case.result || (value.is_some() && value != case.original) {
            let (text, original) = (&case.text, &case.original);
            faults.push(format!(
                "{text}\n  expected {}\n  result   {result} {value:?} {original:?}",
                case.result
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_kind_has_a_fixture() {
    let results: Vec<String> = cases::all().into_iter().map(|case| case.result).collect();
    for kind in EditKind::ALL {
        assert!(results.iter().any(|result| result.starts_with(&format!("{kind} "))), "{kind}");
    }
}

#[test]
fn each_example_is_repaired() {
    for kind in EditKind::ALL {
        let tokenline_core::Example::Options { text, .. } = kind.example() else { continue };
        let (result, _) = result(text, &RepairOptions::default(), true);
        assert!(result.starts_with(&format!("{kind} ")), "{kind}: {result}");
    }
}

#[test]
fn valid_text_is_not_touched() {
    for text in ["{}", "[]", "null", " {\"a\":[1,2]}\n", "{\"a\":1,\"a\":2}", "\"it's\"", "1"] {
        assert_eq!(repair_syntax(text, &RepairOptions::default(), None), Err(Unrepaired::Valid), "{text}");
    }
}

#[test]
fn a_repair_may_have_64_places() {
    let text = |count: usize| format!("[{}]", vec!["{\"a\":1,}"; count].join(","));
    let options = RepairOptions::default();
    let repair = repair_syntax(&text(64), &options, None).expect("64 places");
    assert_eq!(repair.edits.len(), 64);
    assert_eq!(repair_syntax(&text(65), &options, None), Err(Unrepaired::NoEdit));
}

#[test]
fn limits_hold() {
    let limits = Limits { line_bytes: 16, depth: 3, ..Limits::default() };
    let options = RepairOptions { limits, ..RepairOptions::default() };
    assert!(repair_syntax("[[[1,]]]", &options, None).is_ok());
    assert_eq!(repair_syntax("[[[[1,]]]]", &options, None), Err(Unrepaired::NoEdit));
    assert_eq!(repair_syntax("[1234567890123456,]", &options, None), Err(Unrepaired::TooLong));
}

#[test]
fn a_schema_decides_between_closers() {
    let text = r#"{"a":{"b":1},"c":2}}"#;
    let options = RepairOptions::default();
    assert!(matches!(repair_syntax(text, &options, None), Err(Unrepaired::Ambiguous(_))));
    let mut has_c = |value: tokenline_core::json::Value<'_>| value.get("c").is_some();
    let repair = repair_syntax(text, &options, Some(&mut has_c)).expect("the schema refuses the other value");
    assert_eq!(repair.text, r#"{"a":{"b":1},"c":2}"#);
    let mut has_no_c = |value: tokenline_core::json::Value<'_>| value.get("c").is_none();
    assert!(matches!(repair_syntax(text, &options, Some(&mut has_no_c)), Err(Unrepaired::Ambiguous(_))));
}

#[test]
fn the_schema_must_accept_the_value() {
    let options = RepairOptions::default();
    let mut refuse = |_: tokenline_core::json::Value<'_>| false;
    let result = repair_syntax("{\"a\":1,}", &options, Some(&mut refuse));
    assert!(matches!(result, Err(Unrepaired::Refused(edits)) if edits.len() == 1));
}

#[test]
fn kinds_have_names_and_explanations() {
    for kind in EditKind::ALL {
        assert_eq!(EditKind::from_name(kind.as_str()), Some(*kind));
        assert!(kind.explanation().ends_with('.'));
    }
}
