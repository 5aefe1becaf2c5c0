//! Random texts under random options: each word is in text, reasoning, a record, a call or a reject; and the events, as well
//! as the questions to a repair hook, are the same however the text is cut.

use std::sync::Arc;

use tokenline_core::adapter::{Driver, Rules, SourceEnd, StreamMachine, StreamStep};
use tokenline_core::json::Raw;
use tokenline_core::{CallFormat, Options, Reads, Rejected, Release, Span, TextEvent, TextParser};

use crate::common::extent;
use crate::conserved::{Tool, random_pieces, random_text};
use crate::random::Random;

/// A limit for lines that some of the texts exceed.
const SHORT: usize = 48;

#[derive(Clone, Debug)]
struct Setup {
    options: Options,
    reads: Reads,
    has_tools: bool,
    repair: Repair,
    max_records: Option<u64>,
    end: SourceEnd,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Repair {
    None,
    AtOnce,
    Later,
}

impl Setup {
    fn generate(random: &mut Random) -> Self {
        let reads = *random.pick(&[Reads::Records, Reads::ToolCalls, Reads::RecordsAndToolCalls]);
        let mut options = Options::lenient();
        options.release = *random.pick(&[Release::Confirmed, Release::OnBalance, Release::AtFinish]);
        options.partials = random.once_in(4);
        options = options.in_reasoning(random.once_in(8));
        if random.once_in(8) {
            options = options.items("/a").expect("a pointer");
        }
        if reads == Reads::Records && random.once_in(8) {
            options = options.whole_values(true);
        }
        if reads != Reads::Records && random.once_in(3) {
            let formats = ["auto", "hermes", "jsonl", "mistral", "pythonic", "qwen3-coder"];
            options = options.calls(CallFormat::from_name(random.pick::<&str>(&formats)).expect("a format"));
        }
        if random.once_in(8) {
            options.limits.line_bytes = SHORT;
        }
        if random.once_in(8) {
            options.limits.depth = 2;
        }
        Self {
            options,
            reads,
            has_tools: random.once_in(2),
            repair: *random.pick(&[Repair::None, Repair::None, Repair::AtOnce, Repair::Later]),
            max_records: random.once_in(8).then_some(1),
            end: if random.once_in(4) { SourceEnd::Failed } else { SourceEnd::Clean },
        }
    }

    fn parser(&self) -> TextParser<Raw> {
        let mut rules = Rules::default();
        rules.set_reads(self.reads);
        if self.has_tools {
            rules.set_tools(Arc::new(Tool));
        }
        match self.repair {
            Repair::None => {}
            Repair::AtOnce => rules.set_repair(Box::new(|rejected| replacement(&rejected.text))),
            Repair::Later => rules.set_repair_steps(),
        }
        let parser = TextParser::new(self.options.clone(), rules);
        match self.max_records {
            Some(max) => parser.with_quota(|quota| quota.max_records = Some(max)),
            None => parser,
        }
    }
}

fn replacement(text: &str) -> Option<String> {
    text.len().is_multiple_of(2).then(|| "{\"name\":\"f\",\"parameters\":{\"x\":1}}".to_owned())
}

/// Passes the events of these pieces on. A question gets its replacement.
fn run<M: StreamMachine>(
    machine: &mut M,
    pieces: &[&str],
    end: SourceEnd,
    mut take: impl FnMut(Result<M::Event, Rejected>),
) {
    let mut step = |machine: &mut M, mut rest: &[u8]| {
        loop {
            let (consumed, step) = machine.step(rest);
            rest = &rest[consumed..];
            match step {
                StreamStep::Event(event) => take(Ok(event)),
                StreamStep::Repair(rejected) => {
                    machine.resume(replacement(&rejected.text));
                    take(Err(*rejected));
                }
                StreamStep::NeedInput | StreamStep::Done => break,
            }
        }
    };
    for piece in pieces {
        step(machine, piece.as_bytes());
    }
    machine.finish(end);
    step(machine, b"");
    assert!(machine.is_done());
}

/// The events in these pieces; consecutive texts are joined.
fn read(setup: &Setup, pieces: &[&str]) -> Vec<TextEvent<Raw>> {
    let mut events: Vec<TextEvent<Raw>> = Vec::new();
    run(&mut setup.parser(), pieces, setup.end, |event| match (events.last_mut(), event) {
        (_, Err(_)) => {}
        (Some(TextEvent::Text(text)), Ok(TextEvent::Text(more)))
        | (Some(TextEvent::Reasoning(text)), Ok(TextEvent::Reasoning(more))) => text.push_str(&more),
        (_, Ok(event)) => events.push(event),
    });
    events
}

/// The texts that a driver asks about.
fn asked(setup: &Setup, pieces: &[&str]) -> Vec<String> {
    let driver = Driver::<Raw>::new(setup.options.clone()).with_repair_steps();
    let mut asked = Vec::new();
    let mut ask =
        |rejected: Rejected| asked.push(format!("{:?} {}", rejected.diagnostic.span, rejected.text));
    if setup.reads == Reads::Records {
        run(&mut { driver }, pieces, setup.end, |event| _ = event.map_err(&mut ask));
    } else {
        run(&mut driver.tool_calls(), pieces, setup.end, |event| _ = event.map_err(&mut ask));
    }
    asked
}

/// The words that are in no event.
fn untold<'t>(text: &'t str, events: &[TextEvent<Raw>]) -> Vec<&'t str> {
    let mut told = String::new();
    let mut spans: Vec<Span> = Vec::new();
    for event in events {
        match event {
            TextEvent::Text(text) | TextEvent::Reasoning(text) => told += text,
            TextEvent::Record(record) => spans.push(record.span),
            TextEvent::ToolCall { record, .. } => spans.push(record.span),
            TextEvent::RejectedCall(call) => spans.push(call.diagnostic.span),
            TextEvent::Rejected(diagnostic) => spans.push(diagnostic.span),
            _ => {}
        }
    }
    let is_in = |at: usize, span: &Span| span.start <= at as u64 && (at as u64) < span.end;
    let words = text.match_indices('q').map(|(at, _)| {
        let end = text[at..].find('z').map_or(text.len(), |end| at + end + 1);
        (at, &text[at..end])
    });
    words
        .filter(|(at, word)| !told.contains(*word) && !spans.iter().any(|span| is_in(*at, span)))
        .map(|(_, word)| word)
        .collect()
}

/// Checks random texts; fails with the shortest one that has a fault.
fn check(fault: impl Fn(&Setup, &str, &mut Random) -> Option<String>) {
    let cases = extent::cases(5_000);
    let (mut faults, mut shortest) = (0, None::<(String, String)>);
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let setup = Setup::generate(&mut random);
        let text = random_text(&mut |below| random.below(below));
        if let Some(fault) = fault(&setup, &text, &mut random) {
            faults += 1;
            if shortest.as_ref().is_none_or(|(other, _)| text.len() < other.len()) {
                shortest = Some((text.clone(), format!("seed {seed} {setup:?} {fault}")));
            }
        }
    }
    if let Some((text, fault)) = shortest {
        panic!("{faults} of {cases} texts, such as {text:?}: {fault}");
    }
}

/// How the text reads otherwise in pieces. Beyond the limit of a line, a reject has its text only if that came in one piece.
fn differing<T: PartialEq + std::fmt::Debug>(
    setup: &Setup,
    text: &str,
    random: &mut Random,
    read: fn(&Setup, &[&str]) -> T,
) -> Option<String> {
    let whole = read(setup, &[text]);
    let lengths: &[usize] = if setup.options.limits.line_bytes == SHORT { &[] } else { &[1, 8] };
    lengths.iter().find_map(|most| {
        let pieces = random_pieces(text, &mut |below| random.below(below), *most);
        let cut = read(setup, &pieces);
        (cut != whole).then(|| format!("cut {pieces:?}: {cut:#?}\nwhole: {whole:#?}"))
    })
}

#[test]
fn each_word_is_in_an_event() {
    check(|setup, text, random| {
        let whole = read(setup, &[text]);
        // The surroundings of items are skipped, and nothing after the last record is read.
        if !setup.options.looks_for_items() && setup.max_records.is_none() {
            let untold = untold(text, &whole);
            if !untold.is_empty() {
                return Some(format!("untold {untold:?}: {whole:#?}"));
            }
        }
        differing(setup, text, random, read)
    });
}

#[test]
fn a_driver_asks_about_the_same_texts_however_they_are_cut() {
    check(|setup, text, random| differing(setup, text, random, asked));
}
