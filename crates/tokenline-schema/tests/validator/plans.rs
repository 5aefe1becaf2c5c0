//! Plans give the verdicts of jsonschema.
//!
//! `TOKENLINE_CASES=1000000` tries so many values.

use std::time::{Duration, Instant};

use jsonschema::PatternOptions;
use serde_json::{Value, json};
use tokenline_core::json::{Parser, Step};
use tokenline_core::{Validate, Violation};
use tokenline_schema::{SchemaErrorKind, SchemaOptions, SchemaValidator};

use crate::extent::cases;
use crate::support::guided::Schemas;
use crate::support::near_miss::near_miss;
use crate::support::random::{DRAFTS, Random, is_unclear_in_draft_4};
use crate::support::{is_unsupported, supported};

fn options() -> jsonschema::ValidationOptions<'static> {
    let patterns = PatternOptions::fancy_regex();
    jsonschema::options().offline().with_pattern_options(patterns).should_validate_formats(true)
}

/// How many values are tried with each schema.
const PER_SCHEMA: usize = 24;

#[test]
fn equal_jsonschema_for_values_made_from_schemas() {
    let cases: usize = cases(6_000);
    let mut random = Random(26);
    let mut parser = Parser::new();
    let (mut valid, mut repeated, mut compiled, mut early, mut elsewhere, mut weakened) = (0, 0, 0, 0, 0, 0);
    let schemas = cases.div_ceil(PER_SCHEMA);
    for round in 0..schemas {
        let schema = Schemas { random: &mut random, draft: round % DRAFTS.len() }.schema();
        let Ok(reference) = options().build(&schema) else {
            SchemaValidator::new(&schema).expect_err("both refuse the schema");
            continue;
        };
        let Ok(strict) = SchemaValidator::new(&schema) else {
            if cfg!(not(feature = "jsonschema")) {
                let texts =
                    (0..PER_SCHEMA).map(|at| near_miss(&mut random, &schema, &schema, 6, at % 4 == 0));
                let fits = |text: &String| reference.is_valid(&serde_json::from_str(text).unwrap());
                let is_clear = |text: &String| round % DRAFTS.len() > 0 || !is_unclear_in_draft_4(text);
                supported(&schema, &texts.filter(is_clear).filter(fits).collect::<Vec<_>>());
                weakened += 1;
            }
            continue;
        };
        let lenient = SchemaOptions::new().allow_duplicate_keys(true).build(&schema).unwrap();
        compiled += usize::from(strict.plan().is_compiled());
        for at in 0..PER_SCHEMA {
            let text = near_miss(&mut random, &schema, &schema, 6, at % 4 == 0);
            if round % DRAFTS.len() == 0 && is_unclear_in_draft_4(&text) {
                continue;
            }
            let expected = reference.is_valid(&serde_json::from_str(&text).unwrap());
            let value = parser.parse(&text).unwrap();
            let is_repeated = value.repeated_name().is_some();
            assert_eq!(lenient.is_valid(value), expected, "{text} against {schema} ({})", strict.plan());
            assert_eq!(strict.is_valid(value), expected && !is_repeated, "{text} against {schema}");
            if let Some(is_found) = known_early(&strict, &text, &mut random) {
                early += 1;
                elsewhere += usize::from(!is_found);
            }
            valid += usize::from(expected);
            repeated += usize::from(is_repeated);
        }
    }
    println!(
        "{cases} values, {valid} valid, {repeated} with repeated names, {compiled} of {schemas} schemas compiled, \
         {weakened} only in part, {early} known to be invalid early"
    );
    let (cases, schemas) = (cases - weakened * PER_SCHEMA, schemas - weakened);
    assert!(valid * 5 > cases && valid * 5 < cases * 4, "{valid} of {cases} are valid");
    assert!(repeated * 30 > cases, "{repeated} of {cases} have repeated names");
    assert!(compiled * 10 > schemas * 7, "{compiled} of {schemas} are compiled");
    assert!(early * 20 > cases, "{early} of {cases} are known to be invalid early");
    // If a string selects no alternative, those that are left may be tried, or the string is what is wrong.
    assert!(elsewhere * 100 < early, "{elsewhere} of {early} are reported at another place in the end");
}

/// Validates a text while it arrives, in random chunks. If it is known to be invalid early, returns whether the place is
/// one of those that are reported in the end, or inside it.
fn known_early(validator: &SchemaValidator, text: &str, random: &mut Random) -> Option<bool> {
    let mut parser = Parser::new();
    let expected = validator.validate(parser.parse(text).unwrap());
    parser.reset();
    let mut open = validator.open()?;
    let most = [2, 8, 64][random.below(3)];
    let (mut end, mut early) = (0, None);
    while end < text.len() {
        end = text.len().min(end + 1 + random.below(most));
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let is_complete = matches!(parser.resume(&text[..end]), Step::Complete { .. });
        if let Some(snapshot) = parser.snapshot(&text[..end]).filter(|_| !is_complete)
            && let Err(violation) = open.advance(snapshot)
        {
            early.get_or_insert(violation);
        }
    }
    let _ = parser.finish(text);
    let value = parser.value(text);
    assert_eq!(open.finish(value), expected, "{text} against {}", validator.schema());
    let early = early?;
    let all = validator.violations(value, 1000);
    assert!(!all.is_empty(), "{early:?} is wrong: {text} fits {}", validator.schema());
    let is_around = |violation: &Violation| early.instance_path.starts_with(&violation.instance_path);
    // Of members of the same name, all are seen early, the last one in the end.
    Some(all.iter().any(is_around) || value.repeated_name().is_some())
}

/// A schema that jsonschema refuses is refused with a plan too, although jsonschema does not compile it then.
#[test]
fn refuse_what_jsonschema_refuses() {
    let mut random = Random(27);
    let junk =
        [json!(null), json!(-1), json!("#/nowhere"), json!([]), json!([1]), json!({"a": 1}), json!("(")];
    let (mut accepted, mut refused, mut unsupported) = (0, 0, 0);
    let schemas: usize = cases(500);
    for round in 0..schemas {
        let mut schema = Schemas { random: &mut random, draft: round % DRAFTS.len() }.schema();
        let places = objects(&schema);
        let Some(place) = places.get(random.below(places.len().max(1))) else { continue };
        let members = schema.pointer_mut(place).and_then(Value::as_object_mut).expect("an object");
        let Some(name) = members.keys().nth(random.below(members.len().max(1))).cloned() else { continue };
        if name == "$schema" {
            continue;
        }
        members.insert(name, junk[random.below(junk.len())].clone());
        let theirs = options().build(&schema).map(drop).map_err(|error| error.to_string());
        match (SchemaValidator::new(&schema), theirs) {
            (Ok(_), Ok(())) => accepted += 1,
            (Err(error), _) if error.kind() == SchemaErrorKind::Cost => {}
            (Err(_), Err(_)) => refused += 1,
            (Err(error), Ok(())) if is_unsupported(&error) => unsupported += 1,
            // References are not followed in parts that nothing refers to, and patterns not read there.
            (Ok(_), Err(_)) if cfg!(not(feature = "jsonschema")) => unsupported += 1,
            (ours, theirs) => panic!("{:?} against {theirs:?}: {schema}", ours.map(|ours| ours.plan())),
        }
    }
    let schemas = schemas - unsupported;
    let least = if cfg!(feature = "jsonschema") { 3 } else { 2 };
    assert!(
        accepted * 40 > schemas * least && refused * 10 > schemas * 3,
        "{accepted} accepted, {refused} refused"
    );
}

/// The pointers of all objects.
fn objects(schema: &Value) -> Vec<String> {
    let mut open = vec![(schema, String::new())];
    let mut objects = Vec::new();
    while let Some((value, pointer)) = open.pop() {
        match value {
            Value::Object(members) => {
                let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
                open.extend(
                    members.iter().map(|(name, value)| (value, format!("{pointer}/{}", escape(name)))),
                );
                objects.push(pointer);
            }
            Value::Array(elements) => {
                open.extend(
                    elements.iter().enumerate().map(|(at, value)| (value, format!("{pointer}/{at}"))),
                );
            }
            _ => {}
        }
    }
    objects
}

/// Thirty levels, each with two references to the next.
#[test]
fn a_subschema_is_judged_once_for_a_value() {
    type Link = fn(Value) -> Value;
    let links: [Link; 4] = [
        |next| json!({"anyOf": [next, next]}),
        |next| json!({"allOf": [next, next]}),
        |next| json!({"if": next, "then": next, "else": next}),
        |next| json!({"allOf": [{"properties": {"a": next}}, {"properties": {"a": next}}]}),
    ];
    for link in links {
        for last in [json!({"type": "object"}), json!({"type": "null"})] {
            let next = |at: usize| json!({"$ref": format!("#/$defs/n{at}")});
            let mut definitions: serde_json::Map<_, _> =
                (0..30).map(|at| (format!("n{at}"), link(next(at + 1)))).collect();
            definitions.insert("n30".to_owned(), last);
            let schema = json!({"$ref": "#/$defs/n0", "$defs": definitions});
            let validator = SchemaOptions::new().max_paths(u64::MAX).build(&schema).unwrap();
            assert!(validator.plan().is_compiled());
            let text = r#"{"a":"#.repeat(30) + "{}" + &"}".repeat(30);
            let mut parser = Parser::new();
            let value = parser.parse(&text).unwrap();
            let start = Instant::now();
            for _ in 0..100 {
                let _ = validator.is_valid(value);
            }
            // Some microseconds each when optimized; following all paths would take minutes.
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}: {schema}", start.elapsed());
        }
    }
}

#[test]
fn many_unions_of_large_alternatives_compile_soon() {
    let alternative = |kind: usize| {
        let constants = (0..2000).map(|at| (format!("m{at}"), json!({"const": format!("{kind} {at}")})));
        let mut properties: serde_json::Map<_, _> = constants.collect();
        let kinds: Vec<_> = (0..2000).map(|at| format!("{kind} {at}")).collect();
        properties.insert("kind".to_owned(), json!({ "enum": kinds }));
        json!({ "properties": properties })
    };
    let union = json!({"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]});
    let properties: serde_json::Map<_, _> = (0..1000).map(|at| (format!("p{at}"), union.clone())).collect();
    let definitions = json!({"a": alternative(0), "b": alternative(1)});
    let start = Instant::now();
    let validator = SchemaValidator::new(&json!({"properties": properties, "$defs": definitions})).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(validator.plan().is_compiled());
    let mut parser = Parser::new();
    assert!(validator.is_valid(parser.parse(r#"{"p0":{"kind":"1 7"},"p999":{"kind":"0 7"}}"#).unwrap()));
    assert!(!validator.is_valid(parser.parse(r#"{"p0":{"kind":"1 7","m1":"0 1"}}"#).unwrap()));
    assert!(!validator.is_valid(parser.parse(r#"{"p999":{"kind":"2 7"}}"#).unwrap()));
}

#[test]
fn tags_select_alternatives() {
    let branch = |kind: &str, tag: &str, rest: Value| {
        let mut properties = json!({"tag": {"const": tag}});
        properties.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"type": kind, "properties": properties, "required": properties.as_object().unwrap().keys().collect::<Vec<_>>()})
    };
    let schema = json!({"oneOf": [
        branch("object", "a", json!({"n": {"type": "integer", "minimum": 1}})),
        branch("object", "a name of more than sixteen letters", json!({"a member of more than sixteen letters": {"type": "string"}})),
        branch("string", "no object", json!({"n": {}})),
        {"properties": {"n": {}, "tag": {"enum": ["last", "say \"this\""]}}, "required": ["n"]},
    ]});
    let reference = options().build(&schema).unwrap();
    let validator = SchemaValidator::new(&schema).unwrap();
    assert!(validator.plan().is_compiled());
    let tags = [
        r#""a""#,
        r#""\u0061""#,
        r#""a name of more than sixteen letters""#,
        r#""a name of more than sixteen lettres""#,
        r#""no object""#,
        r#""last""#,
        r#""say \"this\"""#,
        r#""""#,
        "7",
    ];
    let rests = [
        "",
        r#""n":1"#,
        r#""n":0"#,
        r#""n":1.0,"m":[{}]"#,
        r#""\u006e":1"#,
        r#""a member of more than sixteen letters":"x""#,
        r#""a member of more than sixteen letters":8"#,
        r#""n":"x","a member of more than sixteen letters":"x""#,
    ];
    let (mut parser, mut valid) = (Parser::new(), 0);
    for tag in tags {
        for rest in rests {
            for name in ["tag", "t\\u0061g", "tags"] {
                let tag = format!("\"{name}\":{tag}");
                let comma = if rest.is_empty() { "" } else { "," };
                for text in [format!("{{{tag}{comma}{rest}}}"), format!("{{ {rest}{comma} {tag} }}")] {
                    let expected = reference.is_valid(&serde_json::from_str(&text).unwrap());
                    assert_eq!(validator.is_valid(parser.parse(&text).unwrap()), expected, "{text}");
                    valid += usize::from(expected);
                }
            }
        }
    }
    assert!(valid > 20, "{valid} are valid");
}
