//! Records that are validated while they arrive.

use std::collections::VecDeque;

use serde_json::json;
#[cfg(feature = "jsonschema")]
use tokenline_core::Limits;
use tokenline_core::adapter::OpenValidation;
use tokenline_core::adapter::{Driver, PartialDriver, SourceEnd, StreamMachine, StreamStep};
use tokenline_core::json::{Parser, Raw};
use tokenline_core::partial::PartialEvent;
use tokenline_core::{Diagnostic, Event, Options, RecordDecoder, Release, Validate};
use tokenline_schema::{SchemaOptions, SchemaValidator};

use crate::extent::cases;
use crate::support::guided::Schemas;
use crate::support::near_miss::near_miss;
use crate::support::random::{DRAFTS, Random};

fn orders() -> SchemaValidator {
    SchemaValidator::new(&json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "maxItems": 40},
            "note": {"type": "string", "maxLength": 30},
        },
        "required": ["id", "items"],
        "additionalProperties": false,
        "$defs": {
            "item": {"oneOf": [
                {
                    "properties": {"type": {"const": "part"}, "n": {"type": "integer"}},
                    "required": ["type", "n"],
                },
                {
                    "properties": {"type": {"const": "box"}, "of": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
                    "required": ["type", "of"],
                },
            ]},
        },
    }))
    .unwrap()
}

/// The diagnostic for an open record after each character, from the first on that has one, and the text before it.
fn known_at(validator: SchemaValidator, text: &str) -> Option<(String, String)> {
    let mut decoder = RecordDecoder::new(Options::lenient());
    let mut validation = OpenValidation::new(validator).at_once();
    let mut known = None;
    for (at, _) in text.char_indices() {
        let next = text[at..].chars().next().map_or(at, |char| at + char.len_utf8());
        assert!(decoder.decode(&text.as_bytes()[at..next]).event.is_none());
        if let Some(violation) = validation.read_on(&mut decoder) {
            assert!(known.is_none(), "known once");
            known = Some((text[..next].to_owned(), violation.to_string()));
        }
        assert_eq!(validation.violation().is_some(), known.is_some(), "what is known stays known");
    }
    known
}

#[test]
fn a_record_that_cannot_become_valid_is_known_at_once() {
    let cases = [
        (r#"{"id":1,"items":[{"type":"part","n":"one""#, "/items/0/n"),
        (r#"{"id":1,"items":{"#, "/items"),
        (r#"{"id":1.5,"#, "/id"),
        (r#"{"id":1,"items":[{"type":"box","of":[{"type":"part","n":1},{"type":"part"}"#, "/items/0/of/1"),
        (r#"{"id":1,"items":[{"type":"bag""#, "/items/0/type"),
        (r#"{"id":1,"other":["#, "/*"),
        (r#"{"id":1,"note":"a note of more than thirty characters""#, "/note"),
        ("{\n  \"id\": 1,\n  \"items\": [\n    7,", "/items/0"),
        (r#"{"id":1,"id""#, "1:9: duplicate_key"),
    ];
    for (text, path) in cases {
        let (before, message) = known_at(orders(), &format!("{text} ")).expect(text);
        assert_eq!(before, text, "{message}");
        assert!(message.contains(path), "{message} is about {path}");
    }
    assert_eq!(
        known_at(orders(), r#"{"id":1,"items":[{"n":1,"of":[{"#),
        None,
        "nothing selects the alternative"
    );
}

#[test]
fn the_diagnostic_is_that_of_the_complete_record() {
    let text = "Here:\n{\"id\": 1,\n \"items\": [{\"type\": \"part\", \"n\": true}, {\"type\": \"part\", \"n\": 2}]}\n";
    let mut decoder = RecordDecoder::new(Options::lenient());
    let mut validation = OpenValidation::new(orders()).at_once();
    let (mut early, mut rest) = (None, text.as_bytes());
    let complete = loop {
        let (piece, after) = rest.split_at(1);
        rest = after;
        match decoder.decode(piece).event {
            Some(Event::Record(record)) => break *validation.finish(&record).unwrap_err(),
            _ => early = early.or(validation.read_on(&mut decoder).cloned()),
        }
    };
    let early = early.unwrap();
    assert!(early.span.end < complete.span.end && early.span.start == complete.span.start);
    let place = |diagnostic: &tokenline_core::Diagnostic| {
        (diagnostic.code, diagnostic.line, diagnostic.column, diagnostic.message.clone())
    };
    assert_eq!(place(&early), place(&complete));
    assert_eq!((early.instance_path, early.schema_path), (complete.instance_path, complete.schema_path));
}

#[test]
fn a_repeated_name_that_is_allowed_decides_at_the_end() {
    let validator = SchemaOptions::new().allow_duplicate_keys(true);
    let validator = validator.build(&json!({"properties": {"a": {"type": "integer"}}})).unwrap();
    assert_eq!(known_at(validator, r#"{"a":"x","a":1"#), None);
}

/// Long records, valid and not, on a line and over several, in a fence and beside prose.
fn text() -> String {
    let item = |n: usize| match n % 5 {
        0 => json!({"type": "box", "of": [{"type": "part", "n": n}, {"type": "box", "of": []}]}),
        1 => json!({"n": n, "type": "part", "weight": [n, {"kg": 1.5}]}),
        _ => json!({"type": "part", "n": n, "label": "a label with \"quotes\" and ünïcode"}),
    };
    let order =
        |id: usize, items: usize| json!({"id": id, "items": (0..items).map(item).collect::<Vec<_>>()});
    let (long, longer, invalid) = (order(1, 12), order(2, 40), order(3, 41));
    let mut wrong = order(4, 20);
    wrong["items"][13]["n"] = json!("thirteen");
    let pretty = serde_json::to_string_pretty(&order(5, 9)).unwrap();
    let cut = &longer.to_string()[..700];
    format!(
        "Orders {{as asked}}:\n{long}\n{longer}\n{invalid}\n- {wrong}\n```json\n{pretty}\n```\n{cut}\n{{\"id\":6,\"items\":[]}}\n{cut}"
    )
}

#[test]
fn any_chunks_yield_the_same_events() {
    let events = |sizes: &mut dyn Iterator<Item = usize>, options: &Options| {
        let text = text();
        let mut driver = Driver::<Raw>::new(options.clone()).with_validator(orders());
        let (mut chunk, mut rest) = (&b""[..], text.as_bytes());
        let mut events = Vec::new();
        loop {
            let (consumed, step) = driver.step(chunk);
            chunk = &chunk[consumed..];
            match step {
                StreamStep::Event(event) => events.push(event),
                StreamStep::NeedInput if rest.is_empty() => driver.finish(SourceEnd::Clean),
                StreamStep::NeedInput => {
                    (chunk, rest) = rest.split_at(sizes.next().unwrap_or(rest.len()).min(rest.len()));
                }
                _ => return events,
            }
        }
    };
    for options in [Options::lenient(), Options::lenient().release(Release::OnBalance), Options::strict()] {
        let whole = events(&mut std::iter::empty(), &options);
        let rejected = whole.iter().filter(|event| matches!(event, Event::Rejected(_))).count();
        assert!(whole.len() > rejected && rejected > 1, "{whole:?}");
        for size in [1, 2, 3, 7, 16, 61, 600, 1500] {
            assert_eq!(events(&mut std::iter::repeat(size), &options), whole, "in chunks of {size}");
        }
        for at in (0..text().len()).step_by(41) {
            assert_eq!(events(&mut std::iter::once(at), &options), whole, "in two chunks, cut at {at}");
        }
    }
}

/// Records that are seen only once they are balanced, before the line feed that confirms them.
#[test]
fn a_verdict_is_not_that_of_the_record_before() {
    let mut decoder = RecordDecoder::new(Options::strict());
    let mut validation = OpenValidation::new(orders()).at_once();
    for (line, is_invalid) in [
        (r#"{"id":1.5,"items":[]}"#, true),
        (r#"{"id":1,"items":[]}"#, false),
        (r#"{"id":2,"items":7}"#, true),
    ] {
        assert!(decoder.decode(line.as_bytes()).event.is_none());
        assert_eq!(validation.read_on(&mut decoder).is_some(), is_invalid, "{line}");
        let Some(Event::Record(record)) = decoder.decode(b"\n").event else { panic!("{line}") };
        assert_eq!(validation.finish(&record).is_err(), is_invalid, "{line}");
    }
}

/// Records for random schemas, in chunks of random sizes: a verdict while a record arrives is that of the complete one.
#[test]
fn random_records_have_one_verdict() {
    let mut random = Random(41);
    let (mut valid, mut early) = (0, 0);
    let mut records = 0;
    let most = cases(4_000);
    for round in 0.. {
        if records >= most {
            break;
        }
        let schema = Schemas { random: &mut random, draft: round % DRAFTS.len() }.schema();
        let Ok(validator) = SchemaValidator::new(&schema) else { continue };
        let lines: Vec<String> = (0..64)
            .map(|at| near_miss(&mut random, &schema, &schema, 6, at % 4 == 0))
            .filter(|line| line.starts_with('{'))
            .collect();
        let mut open: VecDeque<&String> = lines.iter().collect();
        let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let mut decoder = RecordDecoder::new(Options::strict());
        let validation = OpenValidation::new(&validator);
        let mut validation = if round % 2 == 0 { validation.at_once() } else { validation };
        let longest = [2, 8, 64, 2048][random.below(4)];
        let mut known: Option<Diagnostic> = None;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (mut chunk, after) = rest.split_at(rest.len().min(1 + random.below(longest)));
            rest = after;
            loop {
                let decoded = decoder.decode(chunk);
                chunk = &chunk[decoded.consumed..];
                let record = match decoded.event {
                    None => break,
                    Some(Event::Record(record)) => record,
                    Some(other) => panic!("{other:?}: {text}"),
                };
                let line = open.pop_front().expect("a line for each record");
                let found = validation
                    .finish(&record)
                    .map_err(|diagnostic| (diagnostic.code, diagnostic.instance_path, diagnostic.message));
                let mut parser = Parser::new();
                let violation = validator.validate(parser.parse(line).unwrap());
                let whole = violation.map_err(|violation| {
                    let diagnostic = record.diagnose(*violation);
                    (diagnostic.code, diagnostic.instance_path, diagnostic.message)
                });
                assert_eq!(found, whole, "{line} against {schema}");
                assert!(known.is_none() || found.is_err(), "{known:?} is wrong: {line} against {schema}");
                early += usize::from(known.take().is_some());
                valid += usize::from(found.is_ok());
                records += 1;
            }
            known = known.or(validation.read_on(&mut decoder).cloned());
        }
        assert!(open.is_empty() && known.is_none(), "{open:?}");
    }
    assert!(valid * 8 > records && valid * 8 < records * 7, "{valid} of {records} are valid");
    assert!(early * 20 > records, "{early} of {records} are known to be invalid early");
}

#[test]
fn partials_tell_that_the_record_is_invalid() {
    type Row = std::collections::BTreeMap<String, u32>;
    let validator = SchemaValidator::new(&json!({"additionalProperties": {"maximum": 9}})).unwrap();
    let mut driver = PartialDriver::new(Driver::<Row>::new(Options::lenient()).with_validator(validator));
    let mut seen = Vec::new();
    for chunk in ["{\"a\":1", ",\"b\":10,", "\"c\":2 ", "}\n{\"a\":2,", "}\n"] {
        let mut chunk = chunk.as_bytes();
        loop {
            let (consumed, step) = driver.step(chunk);
            chunk = &chunk[consumed..];
            match step {
                StreamStep::Event(PartialEvent::Growing(())) => {
                    seen.push(driver.partial().map(|row| format!("{row:?}")).unwrap());
                }
                StreamStep::Event(PartialEvent::Invalid(diagnostic)) => {
                    seen.push(format!("invalid at {}", diagnostic.instance_path.unwrap()));
                }
                StreamStep::Event(PartialEvent::Rejected(diagnostic)) => {
                    seen.push(diagnostic.code.to_string());
                }
                StreamStep::NeedInput => break,
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(
        seen,
        [
            "{}",
            "{\"a\": 1, \"b\": 10}",
            "invalid at /*",
            "{\"a\": 1, \"b\": 10, \"c\": 2}",
            "schema_violation",
            "{\"a\": 2}",
            "malformed_json"
        ]
    );
}

#[cfg(feature = "jsonschema")]
#[test]
fn nothing_beside_an_invalid_value_is_matched() {
    let schema = json!({"properties": {"s": {"items": {"pattern": "(?:(?=x*y)|x)*z"}}}});
    let limits = Limits { pattern_steps: 1000, ..Limits::DEFAULT };
    let validator = SchemaOptions::new().limits(&limits).build(&schema).unwrap();
    // On the other elements, a match would take so many steps that it and the search for the broken rule were given up.
    let text = format!(r#"{{"s":["x",{}"#, format!(r#""{}","#, "x".repeat(900)).repeat(20));
    let mut decoder = RecordDecoder::new(Options::lenient());
    let mut validation = OpenValidation::new(validator).at_once();
    assert!(decoder.decode(text.as_bytes()).event.is_none());
    let violation = validation.read_on(&mut decoder).expect("it is known");
    assert_eq!(violation.message, r#"does not match the pattern "(?:(?=x*y)|x)*z""#);
    assert_eq!(violation.instance_path.as_deref(), Some("/s/0"));
}
