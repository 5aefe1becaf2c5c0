//! Every rule of the schema, from both sides, and the rules beyond it.

use crate::common::{EXAMPLE_JSON, valid_response, with, without};
use serde_json::{Value, json};
use tokenline_chat_analysis::{
    AnalysisWarning, CheckError, RESPONSE_SCHEMA, RESPONSE_SCHEMA_TYPESCRIPT, check, review,
};

const NAME: &str = "/analysis/subjects/0/name";
const DESCRIPTION: &str = "/analysis/subjects/0/description";
const IS_NEW: &str = "/analysis/subjects/0/isNew";
const KEYWORDS: &str = "/analysis/subjects/0/keywords";
const TERM: &str = "/analysis/subjects/0/keywords/0/term";
const CONFIDENCE: &str = "/analysis/subjects/0/keywords/0/confidence";
const SUMMARY: &str = "/analysis/summaryUpdate";

fn passes(text: &str) {
    if let Err(error) = check(text) {
        panic!("{error}: {text}");
    }
}

/// Checks that only this rule of the schema is violated, at this path.
fn breaks(text: &str, path: &str, rule: &str) {
    let error = check(text).expect_err(text);
    let CheckError::Invalid(diagnostic) = &error else { panic!("{error:?}") };
    assert_eq!(diagnostic.instance_path.as_deref(), Some(path), "{error}");
    let found = diagnostic.schema_path.as_deref().unwrap_or_default();
    assert_eq!(found.rsplit('/').next(), Some(rule), "{error}");
    let review = review(text);
    assert_eq!(review.errors, [error]);
    assert_eq!(review.response, None);
}

/// Characters of one to four bytes, each counted once.
const CHARACTERS: [&str; 4] = ["a", "é", "—", "🎓"];

#[test]
fn lengths_count_characters() {
    for (path, least, most) in [("/response", 1, 10_000), (DESCRIPTION, 10, 200), (SUMMARY, 10, 500)] {
        for character in CHARACTERS {
            passes(&with(path, character.repeat(least)));
            passes(&with(path, character.repeat(most)));
            breaks(&with(path, character.repeat(least - 1)), path, "minLength");
            breaks(&with(path, character.repeat(most + 1)), path, "maxLength");
        }
    }
    // Two UTF-16 units, written as escapes.
    let text = with("/response", "X").replace("\"X\"", &format!("\"{}\"", "\\ud83c\\udf93".repeat(10_000)));
    passes(&text);
}

#[test]
fn names_and_terms() {
    for path in [NAME, TERM] {
        for good in ["ab", "a1", "42", "529-plan", "a-b-c-d-1", &"a".repeat(50)] {
            passes(&with(path, good));
        }
        breaks(&with(path, "a"), path, "minLength");
        breaks(&with(path, "a".repeat(51)), path, "maxLength");
        for bad in [
            "College",
            "a_b",
            "a b",
            "-ab",
            "ab-",
            "a--b",
            "ab\n",
            "\nab",
            "ab\r",
            "ab\r\n",
            "ab ",
            "a.b",
            "é-a",
            "ａｂ",
            "١٢",
            "ab\u{2028}",
        ] {
            breaks(&with(path, bad), path, "pattern");
        }
    }
}

#[test]
fn confidences() {
    for good in
        ["0", "1", "0.0", "1.0", "0.90", "1.00", "-0", "1e0", "5E-1", "0.6000000000000000000000001", "1e-400"]
    {
        let text = with(CONFIDENCE, 0.123).replace("0.123", good);
        let response = check(&text).unwrap_or_else(|error| panic!("{good}: {error}")).response;
        assert_eq!(response.analysis.subjects[0].keywords[0].confidence.as_str(), good);
    }
    for (bad, rule) in [
        ("-0.01", "minimum"),
        ("1.01", "maximum"),
        ("2", "maximum"),
        ("1e400", "maximum"),
        ("-1e400", "minimum"),
    ] {
        breaks(&with(CONFIDENCE, 0.123).replace("0.123", bad), CONFIDENCE, rule);
    }
}

#[test]
fn numbers_of_items() {
    let subject = valid_response()["analysis"]["subjects"][0].clone();
    passes(&with("/analysis/subjects", vec![subject.clone(); 3]));
    breaks(&with("/analysis/subjects", vec![subject; 4]), "/analysis/subjects", "maxItems");
    let keyword = json!({"term": "529-plan", "confidence": 1});
    passes(&with(KEYWORDS, json!([])));
    passes(&with(KEYWORDS, vec![keyword.clone(); 10]));
    breaks(&with(KEYWORDS, vec![keyword; 11]), KEYWORDS, "maxItems");
}

#[test]
fn types() {
    let others = |not: &str| {
        let all = [
            ("string", json!("0.5")),
            ("number", json!(0.5)),
            ("boolean", json!(true)),
            ("null", json!(null)),
            ("array", json!([])),
            ("object", json!({})),
        ];
        all.into_iter().filter(move |(kind, _)| *kind != not).map(|(_, value)| value).collect::<Vec<_>>()
    };
    for (path, kind) in [
        ("/response", "string"),
        ("/analysis", "object"),
        ("/analysis/subjects", "array"),
        ("/analysis/subjects/0", "object"),
        (NAME, "string"),
        (DESCRIPTION, "string"),
        (IS_NEW, "boolean"),
        (KEYWORDS, "array"),
        ("/analysis/subjects/0/keywords/0", "object"),
        (TERM, "string"),
        (CONFIDENCE, "number"),
        (SUMMARY, "string"),
    ] {
        for value in others(kind) {
            breaks(&with(path, value), path, "type");
        }
    }
}

#[test]
fn required_members() {
    for path in [
        "/response",
        "/analysis",
        "/analysis/subjects",
        SUMMARY,
        NAME,
        DESCRIPTION,
        IS_NEW,
        KEYWORDS,
        TERM,
        CONFIDENCE,
    ] {
        let parent = path.rsplit_once('/').unwrap().0;
        breaks(&without(path), parent, "required");
    }
}

#[test]
fn a_blank_response_is_an_error() {
    for blank in [" ", "\t\n\r ", "\u{a0}\u{3000}", "\u{feff}"] {
        let error = check(&with("/response", blank)).unwrap_err();
        assert!(matches!(error, CheckError::Blank(_)), "{error:?}");
        assert_eq!(error.path(), Some("/response"));
        assert!(error.to_string().ends_with("the response is blank (at /response)"), "{error}");
    }
    passes(&with("/response", " x "));
}

#[test]
fn warnings() {
    assert_eq!(check(EXAMPLE_JSON).unwrap().warnings, []);
    assert_eq!(
        check(&with("/analysis/subjects", json!([]))).unwrap().warnings,
        [AnalysisWarning::NoSubjects]
    );
    let mut more = valid_response();
    more["x/y"] = json!(1);
    more["analysis"]["subjects"][0]["keywords"][0]["weight"] = json!(1);
    let warnings = check(&more.to_string()).unwrap().warnings;
    let told: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "not part of the schema; ignored (at /x~1y)",
            "not part of the schema; ignored (at /analysis/subjects/0/keywords/0/weight)",
        ]
    );
    let fenced = format!("Here it is:\n```json\n{EXAMPLE_JSON}```\n");
    assert_eq!(check(&fenced).unwrap().warnings, [AnalysisWarning::SurroundingText]);
    let thought = format!("<think>\n{{\"response\": 1}}\n</think>\n{}", valid_response());
    assert_eq!(check(&thought).unwrap().warnings, []);
}

#[test]
fn a_review_reports_all_errors_with_positions() {
    let text = "{\n  \"response\": \" \",\n  \"analysis\": {\n    \"subjects\": [\n      {\"name\": \"A\", \"description\": \"too short\",\n       \"keywords\": [{\"term\": \"b\", \"confidence\": 2}]}\n    ],\n    \"summaryUpdate\": 7\n  }\n}\n";
    let review = review(text);
    let told: Vec<_> = review.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "2:15: the response is blank (at /response)",
            "5:7: schema_violation: missing required member `isNew` (at /analysis/subjects/0)",
            "5:16: schema_violation: fewer characters than minLength 2: has 1 (at /analysis/subjects/0/name)",
            "5:16: schema_violation: does not match the pattern \"^[a-z0-9]+(-[a-z0-9]+)*$\" (at /analysis/subjects/0/name)",
            "5:36: schema_violation: fewer characters than minLength 10: has 9 (at /analysis/subjects/0/description)",
            "6:30: schema_violation: fewer characters than minLength 2: has 1 (at /analysis/subjects/0/keywords/0/term)",
            "6:49: schema_violation: more than the maximum 1.0 (at /analysis/subjects/0/keywords/0/confidence)",
            "8:22: schema_violation: expected type string, found a number (at /analysis/summaryUpdate)",
        ]
    );
    // A mere check ends with the first error.
    assert!(review.errors.contains(&check(text).unwrap_err()));
}

#[test]
fn reports_are_bounded() {
    let mut more = valid_response();
    for at in 0..1000 {
        more[format!("{at}-{}\u{1b}", "x".repeat(1000))] = json!(1);
    }
    let checked = check(&more.to_string()).unwrap();
    assert_eq!(checked.warnings.len(), 100);
    for warning in &checked.warnings {
        let told = warning.to_string();
        assert!(told.chars().count() < 120 && !told.contains('\u{1b}') && told.ends_with("…)"), "{told}");
    }
}

#[test]
fn anything_but_one_object_is_rejected() {
    let one = valid_response().to_string();
    for text in [format!("{one}\n{one}"), format!("{one} {one}"), format!("[{one}]"), format!("- {one}")] {
        let error = check(&text).unwrap_err();
        assert!(matches!(error, CheckError::NotOneObject(_)), "{error:?}: {text}");
    }
    for text in ["", " \n", "I cannot answer this.", "null", "42", "\"text\""] {
        let error = check(text).unwrap_err();
        let CheckError::NoObject(received) = &error else { panic!("{error:?}: {text}") };
        assert_eq!(received.text, text);
    }
    for text in ["{\"response\": NaN}", "{'response': 1}", "[]]", "{\"response\":\"a\" \"b\"}"] {
        let error = check(text).unwrap_err();
        assert!(!matches!(error, CheckError::Truncated { .. }), "{error:?}: {text}");
    }
    let twice = one.replacen('{', "{\"response\":\"Something else.\",", 1);
    assert!(check(&twice).unwrap_err().to_string().contains("duplicate_key"));
    let lone = with("/response", "X").replace("\"X\"", "\"\\ud83c\"");
    assert!(check(&lone).is_err());
}

#[test]
fn messages_do_not_repeat_the_response() {
    for text in [
        with("/response", json!({"secret": "secret"})),
        with(NAME, "secret secret"),
        with(CONFIDENCE, "secret"),
        "{\"response\": \"secret".to_owned(),
        "{\"response\": secret}".to_owned(),
        "secret".to_owned(),
    ] {
        let error = check(&text).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        if error.received().is_some() {
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}

/// The constant of the TypeScript module is the schema.
#[test]
fn the_typescript_schema_is_the_same() {
    let module = RESPONSE_SCHEMA_TYPESCRIPT;
    let start = module.find("= {").unwrap() + 2;
    let end = module.find("} as const;").unwrap() + 1;
    let mut json = String::new();
    for line in module[start..end].lines() {
        let indent = line.len() - line.trim_start().len();
        match line.trim_start().split_once(": ") {
            Some((name, rest)) if name.chars().all(|char| char.is_ascii_alphanumeric() || char == '$') => {
                json.push_str(&format!("{}\"{name}\": {rest}", &line[..indent]));
            }
            _ => json.push_str(line),
        }
        json.push('\n');
    }
    let json: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(json, serde_json::from_str::<Value>(RESPONSE_SCHEMA).unwrap());
    for (interface, members) in [
        ("LLMKeyword", "term: string; confidence: number;"),
        ("LLMSubject", "name: string; description: string; isNew: boolean; keywords: LLMKeyword[];"),
        ("LLMAnalysis", "subjects: LLMSubject[]; summaryUpdate: string;"),
        ("LLMResponse", "response: string; analysis: LLMAnalysis;"),
    ] {
        let text = module.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("export interface {interface} {{ {members} }}")), "{interface}");
    }
}
