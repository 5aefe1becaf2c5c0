//! Patterns with look-around and back-references, and limits of patterns.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokenline_core::json::{Parser, Step};
use tokenline_core::{Limits, Validate, Violation};
use tokenline_schema::{SchemaErrorKind, SchemaOptions, SchemaValidator, ToolSet};

#[test]
fn look_around_is_matched() {
    let email =
        r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
    let decimal = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$";
    let cases = [
        (email, "ab@x.org", true),
        (email, ".a@x.org", false),
        (email, "a..b@x.org", false),
        (decimal, "12.50", true),
        (decimal, "-", false),
        // Digits are those of ASCII, as in ECMA 262, with look-around and without.
        (decimal, "١٢", false),
        (r"^\d+$", "١٢", false),
        (r"(?<=\$)\d+\b", "for $12", true),
        (r"(?<=\$)\d+\b", "for 12", false),
        (r"(?<!\$)\b[\d]+\b", "for 12", true),
        (r"^(['\x22])[^'\x22]*\1$", "'a'", true),
        (r"^(['\x22])[^'\x22]*\1$", "'a\"", false),
        (r"^(?<quote>['*])\w*\k<quote>$", "*a*", true),
        (r"^(?<quote>['*])\w*\k<quote>$", "*a'", false),
        (r"[(?=]\(?=", "?(=", true),
        (r"^(?=.*\S)(?!\s)[^\n]*$", "a b", true),
        (r"^(?=.*\S)(?!\s)[^\n]*$", "\u{feff}a b", false),
        (r"^(?=[\w&&x])a", "a", true),
        (r"^(?:(?=a)[a-z]){3}$", "aaa", true),
    ];
    let mut parser = Parser::new();
    for (pattern, text, expected) in cases {
        let text = serde_json::to_string(text).unwrap();
        let value = parser.parse(&text).unwrap();
        let outside = json!({"pattern": pattern, "unevaluatedProperties": true});
        for schema in [json!({"pattern": pattern}), outside] {
            let validator = SchemaValidator::new(&schema).unwrap_or_else(|error| panic!("{error}"));
            let verdict = validator.validate(value);
            assert_eq!(verdict.is_ok(), expected, "{text} against {schema}: {verdict:?}");
            if let Err(violation) = verdict {
                assert_eq!(violation.schema_path, "/pattern");
                assert!(violation.message.starts_with("does not match the pattern"), "{violation}");
            }
        }
        let name = format!(r#"{{{text}:7}}"#);
        let schema = json!({"patternProperties": {pattern: {"type": "string"}}});
        let validator = SchemaValidator::new(&schema).unwrap();
        assert_eq!(validator.is_valid(parser.parse(&name).unwrap()), !expected, "{name} against {schema}");
    }
}

/// Records with one text for which the steps are not enough, wherever it is, are rejected with that reason, at once.
#[test]
fn beyond_the_steps_a_record_is_rejected() {
    let slow = format!("{}c", "a".repeat(60));
    let text = |value: &str| format!(r#"{{"x":{value}}}"#);
    let of_value = format!(r#""{slow}""#);
    let names = format!(r#"{{"{slow}":1}}"#);
    let nested = format!(r#"[[[{{"y":["aaaa","{slow}","{slow}x"]}}]]]"#);
    let many = format!("[{}1]", format!(r#""{slow}","#).repeat(2000));
    let pattern = "^(a|aa)+(?!b)\\1$";
    let deep = json!({"items": {"items": {"items": {"properties": {"y": {"items": {"pattern": pattern}}}}}}});
    let cases: [(Value, &str, &str, &str); 9] = [
        (json!({"pattern": pattern}), &of_value, "/x", "/properties/x/pattern"),
        (json!({"not": {"pattern": pattern}}), &of_value, "/x", "/properties/x/not/pattern"),
        (
            json!({"anyOf": [{"pattern": pattern}, {"type": "string"}]}),
            &of_value,
            "/x",
            "/properties/x/anyOf/0/pattern",
        ),
        (
            json!({"if": {"pattern": pattern}, "else": true, "then": true}),
            &of_value,
            "/x",
            "/properties/x/if/pattern",
        ),
        (
            json!({"patternProperties": {pattern: false}}),
            &names,
            "/x/*",
            "/properties/x/patternProperties/^(a|aa)+(?!b)\\1$",
        ),
        (
            json!({"propertyNames": {"pattern": pattern}}),
            &names,
            "/x/*",
            "/properties/x/propertyNames/pattern",
        ),
        (deep, &nested, "/x/0/0/0/*/1", "/properties/x/items/items/items/properties/y/items/pattern"),
        (
            json!({"items": {"anyOf": [{"pattern": pattern}, {"type": "string"}, {"const": 1}]}}),
            &many,
            "/x/0",
            "/properties/x/items/anyOf/0/pattern",
        ),
        (json!({"contains": {"pattern": pattern}}), &many, "/x/0", "/properties/x/contains/pattern"),
    ];
    let mut parser = Parser::new();
    for (rule, value, instance_path, schema_path) in cases {
        let plain = json!({"properties": {"x": rule}});
        let outside = json!({"properties": {"x": rule}, "unevaluatedItems": true});
        let text = text(value);
        for (schema, is_planned) in [(plain, true), (outside, false)] {
            let limits = Limits { pattern_steps: 20_000, ..Limits::DEFAULT };
            let validator = match SchemaOptions::new().limits(&limits).build(&schema) {
                Ok(validator) => validator,
                Err(error) => {
                    // Names that such a pattern selects need a plan.
                    assert!(!is_planned && rule.get("patternProperties").is_some(), "{error}");
                    continue;
                }
            };
            assert_eq!(validator.plan().is_compiled(), is_planned);
            let start = Instant::now();
            let value = parser.parse(&text).unwrap();
            let violation = validator.validate(value).unwrap_err();
            let expected = format!("the pattern {} could not be matched within 20000 steps", json!(pattern));
            assert_eq!(violation.message, expected, "{schema}");
            assert_eq!(violation.schema_path, schema_path, "{schema}");
            let shown = instance_path.replace("/0/*/1", "/0/y/1");
            let is_there = violation.instance_path == shown || violation.instance_path == instance_path;
            let is_near = !is_planned && shown.starts_with(&violation.instance_path);
            assert!(is_there || is_near, "{} is not {instance_path}: {schema}", violation.instance_path);
            assert!(!validator.is_valid(value));
            assert_eq!(validator.violations(value, 100), [*violation.clone()]);
            if let Some(mut open) = validator.open() {
                let mut parser = Parser::new();
                for end in 1..text.len() {
                    if matches!(parser.resume(&text[..end]), Step::Complete { .. }) {
                        break;
                    }
                    if let Some(snapshot) = parser.snapshot(&text[..end])
                        && let Err(early) = open.advance(snapshot)
                    {
                        assert_eq!(early.message, expected, "{schema}");
                        break;
                    }
                }
                let _ = parser.resume(&text);
                let _ = parser.finish(&text);
                assert_eq!(open.finish(parser.value(&text)).unwrap_err().message, expected, "{schema}");
            }
            // Not once for each of two thousand elements, in a debug build.
            assert!(start.elapsed() < Duration::from_secs(5), "{:?}: {schema}", start.elapsed());
        }
    }
}

#[test]
fn the_default_limit_ends_soon() {
    let validator = SchemaValidator::new(&json!({"pattern": "^(a|aa)+(?!b)\\1$"})).unwrap();
    let text = format!(r#""{}c""#, "a".repeat(200));
    let start = Instant::now();
    let violation = validator.validate(Parser::new().parse(&text).unwrap()).unwrap_err();
    assert!(violation.message.ends_with("could not be matched within 1000000 steps"), "{violation}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // Each step of this one reads the rest of the text.
    let limits = Limits { pattern_steps: 100_000, ..Limits::DEFAULT };
    let validator = SchemaOptions::new().limits(&limits).build(&json!({"pattern": "(?=a*b)a"})).unwrap();
    let text = format!(r#""{}""#, "a".repeat(1 << 20));
    let start = Instant::now();
    let violation = validator.validate(Parser::new().parse(&text).unwrap()).unwrap_err();
    assert!(violation.message.ends_with("could not be matched within 100000 steps"), "{violation}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // Steps are needed only where there is something to try.
    let validator = SchemaValidator::new(&json!({"pattern": "^(?!.*<script)[^\\x00]*$"})).unwrap();
    assert!(validator.is_valid(Parser::new().parse(&text).unwrap()));
    let text = format!(r#""{}<script""#, "a".repeat(1 << 19));
    let violation = validator.validate(Parser::new().parse(&text).unwrap()).unwrap_err();
    assert!(violation.message.starts_with("does not match the pattern"), "{violation}");
}

/// Many texts, each of which takes less than the limit.
#[test]
fn the_texts_of_a_record_are_limited_together() {
    let schema = json!({"items": {"not": {"pattern": "^(a|aa)+(?!b)\\1$"}}});
    let validator = SchemaValidator::new(&schema).unwrap();
    let start = Instant::now();
    for (length, is_valid) in [(8, true), (20, false)] {
        let text = format!("[{}]", vec![format!("\"{}c\"", "a".repeat(length)); 5_000].join(","));
        let check = |verdict: Result<(), Box<Violation>>| match verdict {
            Ok(()) => assert!(is_valid, "{length}"),
            Err(violation) => assert!(
                !is_valid && violation.message.ends_with("within 16000000 steps for all texts of the record"),
                "{violation}"
            ),
        };
        check(validator.validate(Parser::new().parse(&text).unwrap()));
        // In parts, which do not begin anew.
        let mut parser = Parser::new();
        let mut open = validator.open().unwrap();
        for end in (1..text.len()).step_by(200) {
            let _ = parser.resume(&text[..end]);
            if let Some(Err(early)) = parser.snapshot(&text[..end]).map(|snapshot| open.advance(snapshot)) {
                check(Err(early));
                break;
            }
        }
        let _ = parser.resume(&text);
        check(open.finish(parser.value(&text)));
        // Nor does another record begin with what is left.
        assert!(validator.is_valid(Parser::new().parse(r#"["aaaaaaaaaaaaaaaaaaaac"]"#).unwrap()));
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn patterns_together_are_limited() {
    let pattern = |at: usize| format!("^(?:[a-z]{{0,9}}{at}x?){{1,80}}$");
    let properties: serde_json::Map<_, _> =
        (0..1000).map(|at| (format!("p{at}"), json!({"pattern": pattern(at)}))).collect();
    let error = SchemaValidator::new(&json!({"properties": properties})).unwrap_err();
    assert_eq!(error.kind(), SchemaErrorKind::Pattern);
    assert!(error.path().starts_with("/properties/p") && error.path().ends_with("/pattern"), "{error}");
    let reason = "the patterns take more than 64 MiB in total; shorten them, above all their repetitions";
    assert!(error.to_string().ends_with(reason), "{error}");
    // The tools of a set share the memory.
    let tool = |at: usize| json!({"name": format!("t{at}"), "parameters": {"properties": {"p": {"pattern": pattern(at)}}}});
    let tools: Vec<_> = (0..1000).map(tool).collect();
    let tools = ToolSet::from_json_str(&json!(tools).to_string()).unwrap();
    assert!((1..1000).contains(&tools.warnings().len()) && tools.pattern_bytes() <= 64 << 20);
    assert!(tools.warnings()[0].contains(reason), "{}", tools.warnings()[0]);
    // Usual patterns have room, and the same one takes it once.
    let usual: serde_json::Map<_, _> =
        (0..1000).map(|at| (format!("p{at}"), json!({"pattern": format!("^[a-z]{{2}}-{at}$")}))).collect();
    assert!(SchemaValidator::new(&json!({"properties": usual})).is_ok());
    let same: serde_json::Map<_, _> =
        (0..1000).map(|at| (format!("p{at}"), json!({"pattern": pattern(7)}))).collect();
    assert!(SchemaValidator::new(&json!({"properties": same})).is_ok());
}
