//! Events that come twice, in another order, late, or not at all, over all wires: nothing is delivered that no event says,
//! and nothing that was delivered is contradicted in silence.
//!
//! `TOKENLINE_CASES=100000` tries so many responses.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use tokenline_core::{Code, Severity};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

use super::draw::Draw;
use super::events::{Event, of_response};
use super::ledger::{Ledger, Spelled};
use super::mutation::{MUTATIONS, Mutation};
use super::oracle::{self, Outcome};
use super::{End, Raw, Tools, Wire, check_cut, outcomes, wires, writer};
use crate::common::extent::cases;
use crate::common::{Seen, decode, parser_of, random};

const LINES: [&str; 6] = ["{\"x\":1}", "{\"y\":[2]}", "{\"é\":\"😀\"}", "Some words", "", "{\"x\":12}"];

/// The text of a block, in pieces.
fn text(random: &mut impl FnMut(usize) -> usize) -> Vec<String> {
    let lines: Vec<&str> = (0..random(4)).map(|_| LINES[random(LINES.len())]).collect();
    let text: Vec<char> = lines.join("\n").chars().collect();
    let len = 1 + random(12);
    text.chunks(len).map(|piece| piece.iter().collect()).collect()
}

fn errors(seen: &Seen) -> Vec<Code> {
    let code = |event: &ResponseEvent<Raw>| {
        let diagnostic = event.diagnostic()?;
        (diagnostic.severity() == Severity::Error).then_some(diagnostic.code)
    };
    seen.events.iter().filter_map(code).collect()
}

/// The records of each block.
fn records(seen: &Seen) -> BTreeMap<u64, Vec<String>> {
    let mut records: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for event in &seen.events {
        if let ResponseEvent::Record { block, record, .. } = event {
            records.entry(*block).or_default().push(record.value.to_string());
        }
    }
    records
}

fn object(arguments: &str) -> Value {
    serde_json::from_str(arguments).expect("an object")
}

/// A response, its mutations, and what is found in it.
struct Case<'a> {
    wire: Wire,
    events: &'a [Event],
    mutations: &'a [Mutation],
    /// Of the response without mutations.
    expected: &'a [Outcome],
    expected_records: BTreeMap<u64, Vec<String>>,
    seen: &'a Seen,
}

impl Case<'_> {
    /// The disagreement.
    fn fault(&self) -> Option<String> {
        let found = outcomes(self.seen);
        let errors = errors(self.seen);
        if self.mutations.iter().all(|mutation| mutation.is_harmless()) {
            // The last event may complete calls in another order.
            let by_number = |outcomes: &[Outcome]| {
                let mut outcomes = outcomes.to_vec();
                outcomes.sort_by_key(|outcome| outcome.0);
                outcomes
            };
            let is_same =
                by_number(&found) == by_number(self.expected) && records(self.seen) == self.expected_records;
            return match () {
                () if !is_same => Some(format!("not the same: {found:?} {:?}", records(self.seen))),
                () if !errors.is_empty() => Some(format!("reported: {errors:?}")),
                () if !self.seen.is_complete => Some("not complete".to_owned()),
                () => None,
            };
        }
        // The finish reason of Gemini releases nothing until the stream ends.
        let is_late = |code: &Code| {
            *code == Code::LateFragment
                || (self.wire.provider == Provider::Gemini && *code == Code::TrailingData)
        };
        let has_late = errors.contains(&Code::LateFragment);
        if self.mutations == [Mutation::Contradict] && !errors.iter().any(is_late)
            || (has_late && self.seen.is_complete)
        {
            return Some(format!("contradicted, complete: {}, {errors:?}", self.seen.is_complete));
        }
        let ledger = Ledger::of(self.wire, self.events);
        let has_end = ledger.has_terminator || (ledger.has_finish && !self.needs_terminator());
        if self.seen.is_complete && !has_end {
            return Some("complete without an end".to_owned());
        }
        let is_silent = errors.is_empty() && self.seen.is_complete;
        self.invented(&ledger, &found)
            .or_else(|| self.unreported_call(&ledger, &found, is_silent))
            .or_else(|| self.wrong_text(&ledger, is_silent))
    }

    fn needs_terminator(&self) -> bool {
        !matches!(self.wire.provider, Provider::OpenAiChat | Provider::Gemini | Provider::Bedrock)
    }

    /// A delivered call that no entries spell.
    fn invented(&self, ledger: &Ledger, found: &[Outcome]) -> Option<String> {
        let mut spelled: Vec<&Value> =
            ledger.calls.values().flat_map(|call| &call.objects).map(|(object, _)| object).collect();
        for (_, name, id, outcome) in found {
            let Ok(arguments) = outcome else { continue };
            let object = object(arguments);
            let is_own = |call: &&Spelled| id.as_ref().is_none_or(|id| call.ids.contains(id));
            let mut own = ledger.calls.values().filter(is_own);
            if object.as_object().is_some_and(serde_json::Map::is_empty) {
                let ends_items = matches!(
                    self.wire.provider,
                    Provider::Anthropic
                        | Provider::Cohere
                        | Provider::OpenAiResponses
                        | Provider::GeminiInteractions
                );
                let may_be_empty = |call: &Spelled| !call.is_blank() || !ends_items || call.has_end;
                if !own.any(may_be_empty) {
                    return Some(format!("no entry says that {name} has no arguments"));
                }
                continue;
            }
            let Some(at) = spelled.iter().position(|spelling| **spelling == object) else {
                return Some(format!("{arguments} of {name} is delivered too often"));
            };
            spelled.remove(at);
            if !own.any(|call| call.objects.iter().any(|(own_object, _)| *own_object == object)) {
                return Some(format!("{arguments} belongs to another call than {name}"));
            }
        }
        None
    }

    /// Arguments that are neither delivered nor reported.
    fn unreported_call(&self, ledger: &Ledger, found: &[Outcome], is_silent: bool) -> Option<String> {
        for (key, call) in &ledger.calls {
            let is_own = |id: &Option<String>| {
                id.as_ref().is_none_or(|id| call.ids.is_empty() || call.ids.contains(id))
            };
            let is_delivered = |object: &Value| {
                found.iter().any(|(_, _, id, outcome)| {
                    is_own(id) && outcome.as_ref().is_ok_and(|arguments| self::object(arguments) == *object)
                })
            };
            let is_whole = call.objects.iter().all(|(object, is_needed)| !is_needed || is_delivered(object));
            if is_whole && !call.has_fault() {
                continue;
            }
            let is_rejected = found.iter().any(|(_, _, id, outcome)| outcome.is_err() && is_own(id));
            if is_silent || (self.seen.is_complete && !is_rejected) {
                return Some(format!("{key:?} is neither delivered nor reported: {call:?}"));
            }
        }
        None
    }

    fn wrong_text(&self, ledger: &Ledger, is_silent: bool) -> Option<String> {
        let found = records(self.seen);
        for (block, written) in &ledger.texts {
            let found = found.get(block).cloned().unwrap_or_default();
            let text = written.text();
            let is_often = |record: &String| {
                found.iter().filter(|delivered| *delivered == record).count()
                    > text.matches(&**record).count()
            };
            if let Some(record) = found.iter().find(|record| is_often(record)) {
                return Some(format!("{record} is delivered too often: {written:?}"));
            }
            let known = [false, true].map(|splits| written.records(splits));
            let is_known = known.iter().any(|(records, is_rejected)| *records == found && !is_rejected);
            if is_silent && (written.is_contradicted || !is_known) {
                return Some(format!("the text {block} has {known:?}, found {found:?}: {written:?}"));
            }
        }
        None
    }
}

#[test]
fn events_that_are_doubled_swapped_dropped_or_late_are_never_silent() {
    let responses: usize = cases(4_000);
    let wires: Vec<Wire> = wires().into_iter().filter(|wire| !wire.is_body).collect();
    let mut random = random();
    let mut parsers: Vec<[ResponseParser<Raw>; 2]> = wires
        .iter()
        .map(|wire| {
            [false, true].map(|has_tools| {
                let parser =
                    parser_of(wire.provider, TextMode::Records).with_options(ResponseOptions::call_updates);
                if has_tools { parser.with_options(|options| options.tools(Tools)) } else { parser }
            })
        })
        .collect();
    let mut faults: HashMap<String, (usize, String)> = HashMap::new();
    let mut counts: BTreeMap<Mutation, usize> = BTreeMap::new();
    let mut reported = BTreeMap::new();
    for at in 0..responses {
        let kind = at % wires.len();
        let wire = wires[kind];
        let has_tools = random(2) == 0;
        let (ops, expected) = loop {
            let (ops, end) = Draw::new(&mut random, wire).response();
            let expected = oracle::outcomes(wire, &ops, end, has_tools);
            if end == End::Clean && expected.iter().all(|(.., outcome)| outcome.is_ok()) {
                break (ops, expected);
            }
        };
        let texts = [text(&mut random), text(&mut random)];
        let original = of_response(wire, &ops, &texts, &expected, random(2) == 0);
        let ledger = Ledger::of(wire, &original);
        let records: BTreeMap<u64, Vec<String>> = ledger
            .texts
            .iter()
            .map(|(block, text)| (*block, text.records(true).0))
            .filter(|(_, records)| !records.is_empty())
            .collect();
        let mut events = original.clone();
        let mut mutations = Vec::new();
        for _ in 0..random(4) {
            let mutation = MUTATIONS[random(MUTATIONS.len())];
            if !events.is_empty() && mutation.apply(wire, &mut events, &mut random) {
                mutations.push(mutation);
                *counts.entry(mutation).or_default() += 1;
            }
        }
        let mut bytes = events.iter().flat_map(|event| event.bytes.clone()).collect::<Vec<u8>>();
        if wire.provider == Provider::Gemini && random(2) == 0 {
            bytes = writer::array(&bytes, End::Clean);
        }
        let parser = &mut parsers[kind][usize::from(has_tools)];
        let seen = decode(parser, [&bytes[..]]);
        for code in errors(&seen) {
            *reported.entry(code.as_str()).or_insert(0) += 1;
        }
        let expected_records = records;
        let case = Case {
            wire,
            events: &events,
            mutations: &mutations,
            expected: &expected,
            expected_records,
            seen: &seen,
        };
        if let Some(fault) = case.fault() {
            let text = String::from_utf8_lossy(&bytes);
            let fault =
                format!("{wire:?}, tools: {has_tools}, {mutations:?}: {fault}\n{text}\n{:?}", seen.events);
            let key = format!("{:?} {:?} {mutations:?}", wire.provider, wire.flavor);
            let (count, shortest) = faults.entry(key).or_default();
            *count += 1;
            if shortest.is_empty() || fault.len() < shortest.len() {
                *shortest = fault;
            }
        }
        check_cut(parser, &bytes, &seen, &mut random, &wire);
    }
    if !faults.is_empty() {
        let mut all: Vec<_> = faults.values().collect();
        all.sort_by_key(|(_, fault)| fault.len());
        for (count, fault) in all {
            eprintln!("{count} such as {fault}\n");
        }
        panic!("{:?}", faults.iter().map(|(wire, (count, _))| (wire, count)).collect::<Vec<_>>());
    }
    assert!(MUTATIONS.iter().all(|mutation| counts[mutation] > responses / 20), "{counts:?}");
    let codes: Vec<&str> = reported.keys().copied().collect();
    for code in ["late_fragment", "malformed_json", "stream_incomplete", "trailing_data", "truncated"] {
        assert!(codes.contains(&code), "{reported:?}");
    }
}
