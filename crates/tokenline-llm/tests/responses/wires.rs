//! Native calls over all wires: random entries, and what the rules make of them.

mod draw;
mod events;
mod late;
mod ledger;
mod mutation;
mod oracle;
mod writer;

use std::collections::{BTreeMap, HashMap};

use tokenline_core::json::{Raw, Value};
use tokenline_core::{Code, ValidateCall, Violation};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

use crate::common::extent::cases;
use crate::common::{Seen, decode, parser_of, random};
use draw::Draw;
use oracle::Outcome;

/// A part of the arguments' text.
#[derive(Clone, Debug)]
enum Atom {
    Space(&'static str),
    Placeholder(&'static str),
    Object(&'static str),
    /// An object in a string.
    Encoded(&'static str),
}

impl Atom {
    fn text(&self) -> String {
        match self {
            Self::Space(text) | Self::Placeholder(text) | Self::Object(text) => (*text).to_owned(),
            Self::Encoded(object) => serde_json::Value::from(*object).to_string(),
        }
    }

    fn is_space(&self) -> bool {
        matches!(self, Self::Space(_))
    }
}

/// A part of an atom: bytes of its text.
#[derive(Clone, Debug)]
struct Piece {
    atom: Atom,
    from: usize,
    to: usize,
}

impl Piece {
    fn of(atom: Atom) -> Self {
        let to = atom.text().len();
        Self { atom, from: 0, to }
    }

    fn text(&self) -> String {
        self.atom.text()[self.from..self.to].to_owned()
    }

    fn is_last(&self) -> bool {
        self.to == self.atom.text().len()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// More of the arguments.
    Fragment,
    /// All of them, whatever came before.
    Whole,
    /// All of them at the start of a block, unless fragments follow.
    Start,
}

/// An entry of a call.
#[derive(Clone, Debug)]
struct Entry {
    /// The call that it is meant for.
    slot: usize,
    name: Option<&'static str>,
    id: Option<String>,
    kind: Kind,
    pieces: Vec<Piece>,
    /// The arguments are JSON, and not a text that holds it.
    is_raw: bool,
}

impl Entry {
    fn text(&self) -> String {
        self.pieces.iter().map(Piece::text).collect()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Entry(Entry),
    /// The end of an item.
    End(usize),
    /// The end of an item that the next one implies.
    Next(usize),
}

/// How the response ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Clean,
    Limit,
    Cut,
}

/// How the entries of a call are known to be its.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flavor {
    /// By their index.
    Indexed,
    /// By their id.
    Ids { has_index: bool },
    /// They follow the entry with its id. All have one index.
    Headers,
    /// They follow the entry with the name.
    Names { has_index: bool },
}

#[derive(Clone, Copy, Debug)]
struct Wire {
    provider: Provider,
    is_body: bool,
    flavor: Flavor,
}

const TOOLS: [&str; 3] = ["f", "g", "get_weather"];
/// All of one length: a call that was delivered is compared by a digest of so many bytes.
const OBJECTS: [&str; 4] = ["{\"a\":1.5}", "{ \"a\": 1}", "{\"b\":[0]}", "{\"é\":10}"];

/// The calls and rejects of a response. Checks the updates on them.
fn outcomes(seen: &Seen) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut begun: HashMap<u64, (&str, String)> = HashMap::new();
    for event in &seen.events {
        match event {
            ResponseEvent::ToolCallBegan { number, name, .. } => {
                let before = begun.insert(*number, (name, String::new()));
                assert!(before.is_none(), "call {number} began twice");
            }
            ResponseEvent::ToolCallArguments { number, text, .. } => {
                begun.get_mut(number).expect("it has begun").1.push_str(text);
            }
            ResponseEvent::ToolCall { number, call, .. } => {
                let number = number.expect("a number");
                let (name, joined) = &begun[&number];
                let arguments = call.parameters.as_str();
                assert_eq!((*name, &**joined), (&*call.name, arguments), "call {number}");
                let id = call.call_id.clone().filter(|_| !call.is_synthetic_id);
                outcomes.push((number, call.name.clone(), id, Ok(arguments.to_owned())));
            }
            ResponseEvent::RejectedCall { number, call, .. } => {
                let id = call.call_id.clone().filter(|_| !call.is_synthetic_id);
                let name = call.name.clone().unwrap_or_default();
                outcomes.push((number.expect("a number"), name, id, Err(call.diagnostic.code)));
            }
            _ => {}
        }
    }
    outcomes
}

struct Tools;

impl ValidateCall for Tools {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        if TOOLS.contains(&name) {
            Ok(())
        } else {
            Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, "no such tool")))
        }
    }
}

fn wires() -> Vec<Wire> {
    let mut wires = Vec::new();
    for &provider in Provider::ALL {
        for is_body in [false, true] {
            wires.push(Wire { provider, is_body, flavor: Flavor::Indexed });
        }
    }
    for flavor in [
        Flavor::Ids { has_index: false },
        Flavor::Ids { has_index: true },
        Flavor::Headers,
        Flavor::Names { has_index: false },
        Flavor::Names { has_index: true },
    ] {
        wires.push(Wire { provider: Provider::OpenAiChat, is_body: false, flavor });
    }
    wires
}

fn reader(wire: Wire, has_tools: bool) -> ResponseParser<Raw> {
    let parser = parser_of(wire.provider, TextMode::Text).with_options(ResponseOptions::call_updates);
    // Where a body is not recognized by its first byte.
    let is_hidden = matches!(wire.provider, Provider::Bedrock | Provider::Ollama);
    let parser = if wire.is_body && is_hidden { parser.whole_body() } else { parser };
    if has_tools { parser.with_options(|options| options.tools(Tools)) } else { parser }
}

/// Checks that a response has the same events if it is cut at random places.
fn check_cut(
    parser: &mut ResponseParser<Raw>,
    bytes: &[u8],
    seen: &Seen,
    random: &mut impl FnMut(usize) -> usize,
    wire: &Wire,
) {
    let mut cuts: Vec<usize> = (0..random(6)).map(|_| random(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let cut = decode(parser, cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]));
    assert_eq!(cut, *seen, "{wire:?} cut at {cuts:?}: {}", String::from_utf8_lossy(bytes));
}

#[test]
fn the_calls_of_all_wires_follow_the_rules() {
    let responses: usize = cases(4_000);
    let wires = wires();
    let mut random = random();
    let mut parsers: Vec<[ResponseParser<Raw>; 2]> =
        wires.iter().map(|wire| [false, true].map(|has_tools| reader(*wire, has_tools))).collect();
    let mut faults: HashMap<String, (usize, String)> = HashMap::new();
    let (mut delivered, mut rejected) = (0, BTreeMap::new());
    for at in 0..responses {
        let kind = at % wires.len();
        let wire = wires[kind];
        let has_tools = random(2) == 0;
        let (ops, end) = Draw::new(&mut random, wire).response();
        let expected = oracle::outcomes(wire, &ops, end, has_tools);
        let bytes = writer::write(wire, &ops, end);
        let parser = &mut parsers[kind][usize::from(has_tools)];
        let seen = decode(parser, [&bytes[..]]);
        let found = outcomes(&seen);
        for (.., outcome) in &found {
            match outcome {
                Ok(_) => delivered += 1,
                Err(code) => *rejected.entry(code.as_str()).or_insert(0) += 1,
            }
        }
        if found != expected {
            let text = String::from_utf8_lossy(&bytes);
            let fault =
                format!("{wire:?}, tools: {has_tools}\n{text}\nexpected {expected:?}\nfound    {found:?}");
            let (count, shortest) = faults.entry(format!("{wire:?}")).or_default();
            *count += 1;
            if shortest.is_empty() || fault.len() < shortest.len() {
                *shortest = fault;
            }
        }
        let is_late = found.iter().any(|(.., outcome)| *outcome == Err(Code::LateFragment));
        let is_whole = end != End::Cut && !is_late;
        assert_eq!(seen.is_complete, is_whole, "{wire:?} {}", String::from_utf8_lossy(&bytes));
        check_cut(parser, &bytes, &seen, &mut random, &wire);
    }
    if !faults.is_empty() {
        for (count, fault) in faults.values() {
            eprintln!("{count} such as {fault}\n");
        }
        panic!("{:?}", faults.iter().map(|(wire, (count, _))| (wire, count)).collect::<Vec<_>>());
    }
    assert!(delivered > responses, "{delivered}");
    let codes: Vec<&str> = rejected.keys().copied().collect();
    assert_eq!(codes, ["late_fragment", "trailing_data", "truncated", "unknown_tool", "unsealed"]);
    assert!(rejected.values().all(|count| *count > responses / 200), "{rejected:?}");
}
