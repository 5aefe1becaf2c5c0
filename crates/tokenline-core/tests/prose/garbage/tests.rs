//! The tests.

use std::collections::BTreeMap;

use super::cases::{Case, Placement};
use super::check::{self, Verdict};
use super::kinds::{Class, Kind, all};
use super::layouts::{Layout, of_calls, of_items, of_json};
use crate::common::extent::is_exhaustive;
use crate::common::{Seen, at_every_split};
use crate::faults::{Faults, excerpt, guarded, run};
use crate::random::Random;

/// How many records are in a case.
fn records() -> usize {
    if is_exhaustive() { 200 } else { 60 }
}

#[test]
fn there_are_many_kinds() {
    assert!(all().len() >= 150, "{}", all().len());
    assert!(of_json().len() + of_calls().len() >= 12);
    let has_id = |kind: &Kind| kind.text.windows(5).any(|part| part == b"\"id\":");
    assert!(!all().iter().any(has_id), "an id is that of a record");
}

/// The check of a case.
#[derive(Clone, Copy)]
enum Asked {
    /// Which records are delivered.
    Records,
    /// Which diagnostics the garbage has.
    Garbage,
}

/// The faults of a case.
fn verdict_of(
    asked: Asked,
    layout: &Layout,
    kind: &Kind,
    case: &Case,
    seen: Result<Vec<Seen>, String>,
) -> Verdict {
    let mut verdict = Verdict::default();
    match (seen, asked) {
        (Err(message), _) => verdict.add("panic", excerpt(message.as_bytes(), 300)),
        (Ok(seen), Asked::Records) => {
            check::records(case, &seen, |raw| may_deliver(layout, kind, raw), &mut verdict);
        }
        (Ok(seen), Asked::Garbage) => {
            check::garbage(case, kind.class, layout.is_json_fence, &seen, &mut verdict);
        }
    }
    verdict
}

/// Whether a kind of garbage may yield this object.
fn may_deliver(layout: &Layout, kind: &Kind, raw: &str) -> bool {
    let is_call = layout.calls.is_some() && kind.has_call();
    // An empty object is prose, except in a JSON fence.
    is_call || kind.delivers.contains(&raw) || (layout.is_json_fence && raw == "{}")
}

/// Decodes each kind in each layout and position. Reports for each kind the failing layouts, and the first
/// fault of each sort.
fn check_all(asked: Asked, layouts: &[Layout], with_crlf: bool) {
    let mut faults = Faults::default();
    for kind in all() {
        let mut found: BTreeMap<&'static str, (Vec<String>, String)> = BTreeMap::new();
        for layout in layouts {
            for placement in Placement::ALL {
                let mut case = Case::of_kind(layout, &kind, placement, records());
                if with_crlf {
                    case = case.with_crlf();
                }
                faults.checked();
                let seen = run(&layout.options(), &case.input);
                for (fault, detail) in verdict_of(asked, layout, &kind, &case, seen).faults {
                    let (places, _) = found.entry(fault).or_insert_with(|| (Vec::new(), detail));
                    places.push(format!("{} {placement:?}", layout.name));
                }
            }
        }
        for (fault, (places, detail)) in found {
            let text = excerpt(kind.text, 60);
            let more = places.len().saturating_sub(3);
            let places = format!("in {} (and {more} more)", places[..places.len().min(3)].join("; "));
            faults.add(fault, &text, &format!("{places}\n    {detail}"));
        }
    }
    faults.report();
}

#[test]
fn garbage_hides_no_record() {
    check_all(Asked::Records, &of_json(), false);
}

#[test]
fn garbage_hides_no_record_with_crlf() {
    check_all(Asked::Records, &of_json()[..4], true);
}

#[test]
fn garbage_hides_no_call() {
    check_all(Asked::Records, &of_calls(), false);
}

#[test]
fn garbage_hides_no_item() {
    check_all(Asked::Records, &of_items(), false);
}

/// Next to calls of another syntax JSON is text, so this checks only without calls.
#[test]
fn garbage_is_reported_and_prose_is_not_a_reject() {
    check_all(Asked::Garbage, &of_json(), false);
}

/// Several kinds of garbage in one text, with a record after each. Kinds that leave something open are kept
/// apart from the others, because a closing bracket may close them, and make one value of everything in
/// between.
#[test]
fn kinds_of_garbage_together_hide_no_record() {
    let mut faults = Faults::default();
    let is_open =
        |kind: &Kind| super::open::MEANT.iter().chain(super::open::OPEN).any(|(text, _)| *text == kind.text);
    let (open, closed): (Vec<_>, Vec<_>) = all().into_iter().partition(is_open);
    for layout in of_json().iter().chain(&of_calls()).chain(&of_items()) {
        for (name, kinds) in [("open", &open), ("closed", &closed)] {
            for seed in 0..8 {
                let mut random = Random::new(seed);
                let case = Case::new(layout, records(), |_| {
                    if random.once_in(3) { vec![random.pick(kinds).text] } else { Vec::new() }
                });
                faults.checked();
                let place = format!("{} with {name} kinds, seed {seed}", layout.name);
                let seen = match run(&layout.options(), &case.input) {
                    Ok(seen) => seen,
                    Err(message) => {
                        faults.add("panic", &place, &excerpt(message.as_bytes(), 300));
                        continue;
                    }
                };
                let may_deliver = |raw: &str| kinds.iter().any(|kind| may_deliver(layout, kind, raw));
                let mut verdict = Verdict::default();
                check::records(&case, &seen, may_deliver, &mut verdict);
                if layout.calls.is_none() {
                    check::garbage(&case, Class::Open, layout.is_json_fence, &seen, &mut verdict);
                }
                for (fault, detail) in verdict.faults {
                    faults.add(fault, &place, &detail);
                }
            }
        }
    }
    faults.report();
}

/// Invalid elements of an array, each with the comma after it, and what is delivered of it. No unclosed
/// bracket: the elements after it are indented deeper than the array or as deep as a value in it, so they
/// belong to it by the grammar. The kinds above are placed between arrays, not in them.
const ELEMENTS: &[(&str, &[&str])] = &[
    (",", &[]),
    (",,,", &[]),
    ("NaN,", &[]),
    ("nope,", &[]),
    ("'x',", &[]),
    ("\"x\",", &[]),
    ("5,", &[]),
    ("-,", &[]),
    ("01,", &[]),
    ("null,", &[]),
    ("undefined,", &[]),
    ("[],", &[]),
    ("[1, 2],", &[]),
    ("[NaN],", &[]),
    ("[[x]],", &[]),
    ("[{\"a\":1}],", &[]),
    ("{},", &["{}"]),
    ("{\"a\":1},,", &["{\"a\":1}"]),
    ("{\"a\":1} , ,", &["{\"a\":1}"]),
    ("{\"a\":1}", &["{\"a\":1}"]),
    ("{\"a\":1} {\"b\":2},", &["{\"a\":1}", "{\"b\":2}"]),
    ("{\"a\":NaN},", &[]),
    ("{\"a\":tru},", &[]),
    ("{\"a\":1,},", &[]),
    ("{\"a\" 1},", &[]),
    ("{\"a\"},", &[]),
    ("{'a':1},", &[]),
    ("{a:1},", &[]),
    ("{x},", &[]),
    ("{\"a\":\"\\x\"},", &[]),
    ("{\"a\":{\"b\":NaN,\"c\":{\"d\":1}}},", &[]),
    ("{\"a\":[1,]},", &[]),
    ("{\"a\":01,\"b\":{\"c\":1}},", &[]),
];

#[test]
fn invalid_elements_hide_no_element() {
    let mut faults = Faults::default();
    let layout = &of_json()[0];
    for (element, delivers) in ELEMENTS {
        for (how, indent) in [("flat", ""), ("pretty", "  ")] {
            for at in [0, 1, 30, 59] {
                let mut input = String::from("[\n");
                for id in 0..60 {
                    if id == at || (at == 30 && id % 7 == 0) {
                        input.push_str(&format!("{indent}{element}\n"));
                    }
                    let comma = if id == 59 { "" } else { "," };
                    input.push_str(&format!("{indent}{{\"id\":{id}}}{comma}\n"));
                }
                input.push_str("]\n");
                let case =
                    Case { input: input.into_bytes(), garbage: Vec::new(), expected: layout.expected(60) };
                faults.checked();
                let place = format!("{element} {how}, before {at}");
                match run(&layout.options(), &case.input) {
                    Err(message) => faults.add("panic", &place, &message),
                    Ok(seen) => {
                        let mut verdict = Verdict::default();
                        check::records(&case, &seen, |raw| delivers.contains(&raw), &mut verdict);
                        for (fault, detail) in verdict.faults {
                            faults.add(fault, &place, &detail);
                        }
                    }
                }
            }
        }
    }
    faults.report();
}

/// Each kind among a few records, in one or two layouts, split at every position.
#[test]
fn the_same_at_every_split() {
    let mut faults = Faults::default();
    let layouts: Vec<Layout> = of_json().into_iter().chain(of_calls()).chain(of_items()).collect();
    for (index, kind) in all().iter().enumerate() {
        for step in [0, 7] {
            let layout = &layouts[(index + step) % layouts.len()];
            let placement = Placement::ALL[(index + step) % 3];
            let case = Case::of_kind(layout, kind, placement, 6);
            faults.checked();
            let place = format!("{} in {} {placement:?}", excerpt(kind.text, 60), layout.name);
            let seen = guarded(|| at_every_split(layout.options(), &case.input));
            for (fault, detail) in verdict_of(Asked::Records, layout, kind, &case, seen).faults {
                faults.add(fault, &place, &detail);
            }
        }
    }
    faults.report();
}
