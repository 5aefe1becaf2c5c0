//! Two thousand malformed records: a repair is the original, or is listed with its reason.
#![allow(clippy::disallowed_methods, reason = "fixtures are files")]

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tokenline_core::json::Parser;
use tokenline_core::syntax_repair::RepairOptions;
use tokenline_core::syntax_repair::repair_syntax;

use crate::cases;
use crate::common::random::Random;
use crate::generate;
use crate::members;
use crate::mutate;
use crate::mutate::Mutation;

/// Malformed records of each half: listed faults, with the fixtures, and other faults.
const HALF: usize = 1_000;

/// A malformed record, and what it was.
struct Malformed {
    fault: String,
    text: String,
    original: Value,
    is_end_confirmed: bool,
}

/// The results of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Right,
    Wrong,
    Refused,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Refused => "refused",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Schema {
    None,
    /// Accepts every value, so that it proves nothing.
    AcceptsAll,
    /// Accepts values with the members of the original.
    Members,
}

const SCHEMAS: [Schema; 3] = [Schema::None, Schema::AcceptsAll, Schema::Members];

#[test]
fn each_repair_is_the_original_or_is_listed() {
    let mut counts: BTreeMap<(&str, Schema), [usize; 3]> = BTreeMap::new();
    let mut wrong = BTreeMap::new();
    let malformed = malformed(HALF);
    assert_eq!(malformed.len(), 2 * HALF);
    for malformed in &malformed {
        for schema in SCHEMAS {
            let (outcome, repaired) = outcome(malformed, schema);
            counts.entry((&malformed.fault, schema)).or_default()[outcome as usize] += 1;
            if outcome == Outcome::Wrong {
                wrong.insert(
                    malformed.text.clone(),
                    (repaired, malformed.original.to_string(), &malformed.fault),
                );
            }
        }
    }
    for ((fault, schema), [right, wrong, refused]) in &counts {
        println!("{fault:22} {schema:?}: {right} right, {wrong} wrong, {refused} refused");
    }
    let listed = listed_wrong();
    for (text, (repaired, original, fault)) in &wrong {
        assert!(listed.contains(text), "{fault}: {text}\nrepaired {repaired}\noriginal {original}");
    }
    assert_eq!(wrong.len(), listed.len(), "a listed repair is not wrong, or not tried");

    let right = |fault: &str, schema| counts.get(&(fault, schema)).map_or(0, |[right, ..]| *right);
    let total = |fault: &str| counts[&(fault, Schema::None)].iter().sum::<usize>();
    for (fault, percent) in
        [("trailing_comma", 100), ("comment", 100), ("control_character", 100), ("surplus_closer", 80)]
    {
        assert!(right(fault, Schema::None) * 100 >= total(fault) * percent, "{fault}");
    }
    for (fault, percent) in [
        ("surplus_closer", 90),
        ("curly_quotes", 80),
        ("python_literal", 100),
        ("bare_name", 100),
        ("single_quotes", 90),
        ("python notation", 100),
        ("javascript notation", 100),
        ("mismatched_closer", 70),
        ("closers swapped", 60),
        ("missing_comma", 35),
        ("invalid_escape", 100),
        ("missing_closer", 55),
    ] {
        assert!(right(fault, Schema::Members) * 100 >= total(fault) * percent, "{fault}");
    }
}

/// Writes the records for other tools, with the outcomes here: `scripts/repair-peers` reads them. `TOKENLINE_CASES` is
/// the number of records.
#[test]
#[ignore = "writes a file"]
fn write_records() {
    let path = env::var_os("TOKENLINE_REPAIR_RECORDS").expect("TOKENLINE_REPAIR_RECORDS names a file");
    let cases = env::var("TOKENLINE_CASES").map(|cases| cases.parse::<usize>().expect("a number"));
    let half = cases.map_or(HALF, |cases| cases / 2);
    let listed_faults: BTreeSet<&str> = mutate::LISTED.iter().map(|(fault, _)| *fault).collect();
    let mut lines = String::new();
    for malformed in malformed(half) {
        let outcomes = SCHEMAS.map(|schema| outcome(&malformed, schema).0.as_str());
        let line = serde_json::json!({
            "fault": malformed.fault,
            "is_listed": listed_faults.contains(&malformed.fault[..]) || malformed.fault == "fixture",
            "text": malformed.text,
            "original": malformed.original.to_string(),
            "is_end_confirmed": malformed.is_end_confirmed,
            "without_schema": outcomes[0],
            "accepts_all": outcomes[1],
            "members": outcomes[2],
        });
        lines.push_str(&format!("{line}\n"));
    }
    fs::write(path, lines).expect("the file is written");
}

fn outcome(malformed: &Malformed, schema: Schema) -> (Outcome, String) {
    let expected = members(&malformed.original);
    let mut accepts_all = |_: tokenline_core::json::Value<'_>| true;
    let mut accepts_members =
        |value: tokenline_core::json::Value<'_>| members(&value.to_value().expect("a value")) == expected;
    let options = RepairOptions { is_end_confirmed: malformed.is_end_confirmed, ..RepairOptions::default() };
    let result = match schema {
        Schema::None => repair_syntax(&malformed.text, &options, None),
        Schema::AcceptsAll => repair_syntax(&malformed.text, &options, Some(&mut accepts_all)),
        Schema::Members => repair_syntax(&malformed.text, &options, Some(&mut accepts_members)),
    };
    match result {
        Err(_) => (Outcome::Refused, String::new()),
        Ok(repair) => {
            let value: Value = serde_json::from_str(&repair.text).expect("a repair is JSON");
            let is_right = value == malformed.original;
            (if is_right { Outcome::Right } else { Outcome::Wrong }, repair.text)
        }
    }
}

/// The same records in every run: `half` with the fixtures and listed faults, and `half` with others.
fn malformed(half: usize) -> Vec<Malformed> {
    let mut all = Vec::new();
    for case in cases::all() {
        if let Some(original) = case.original {
            let is_end_confirmed = case.is_end_confirmed;
            all.push(Malformed { fault: "fixture".to_owned(), text: case.text, original, is_end_confirmed });
        }
    }
    fill(&mut Random::new(1), &mut all, &mutate::LISTED, half);
    fill(&mut Random::new(2), &mut all, &mutate::OTHERS, 2 * half);
    all
}

fn fill(random: &mut Random, all: &mut Vec<Malformed>, mutations: &[(&str, Mutation)], count: usize) {
    let mut texts: BTreeSet<String> = all.iter().map(|malformed| malformed.text.clone()).collect();
    let mut turns = mutations.iter().cycle();
    while all.len() < count {
        let (fault, mutation) = turns.next().expect("mutations repeat");
        // A record that has no place for the fault is replaced by the next.
        for _ in 0..100 {
            let tokens = generate::record(random);
            let Some(text) = mutation(random, &tokens) else { continue };
            if text.is_empty() || Parser::new().parse(&text).is_ok() || !texts.insert(text.clone()) {
                continue;
            }
            let original = serde_json::from_str(&generate::write(&tokens)).expect("a record is JSON");
            let is_end_confirmed = *fault != mutate::TRUNCATED;
            all.push(Malformed { fault: (*fault).to_owned(), text, original, is_end_confirmed });
            break;
        }
    }
}

/// The texts of `fixtures/repair/wrong.jsonl`, each with the reason why the repair differs from the original.
fn listed_wrong() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repair/wrong.jsonl");
    let text = fs::read_to_string(path).expect("the fixture is read");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line is JSON");
        assert!(line["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{line}");
        line["text"].as_str().expect("a text").to_owned()
    });
    lines.collect()
}
