//! Continuations that a real model wrote; see `fixtures/recordings`.

use serde_json::Value;
use tokenline_core::JsonlParser;

use super::*;

const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recordings");

#[derive(Default)]
struct Row {
    recordings: usize,
    used: usize,
    refused: usize,
    wrong: usize,
}

fn records_of(text: &str) -> Vec<String> {
    let mut parser = JsonlParser::new(Options::lenient());
    parser.push(text.as_bytes().to_vec());
    parser.finish();
    let mut records = Vec::new();
    while let Some(event) = parser.next_event() {
        if let Event::Record(record) = event {
            records.push(squeezed(record.value.raw()));
        }
    }
    records
}

/// Whether a response begins with the last record, with the end of the base, or with all records: checked by other means
/// than the machine's.
fn is_proven(base: &str, response: &str, delivered: &[String]) -> bool {
    let repeated = records_of(response);
    let anchor = delivered.last().is_some_and(|last| repeated.first() == Some(last));
    let restart = repeated.starts_with(delivered);
    let end: String = base.chars().rev().take(16).collect::<Vec<_>>().into_iter().rev().collect();
    anchor || restart || response.contains(&end)
}

fn evaluate(way: &str) -> Row {
    let text = std::fs::read_to_string(format!("{RECORDINGS}/{way}.jsonl")).expect("the recordings");
    let mut row = Row::default();
    for line in text.lines() {
        let recording: Value = serde_json::from_str(line).expect("JSON");
        let text = |name: &str| recording[name].as_str().expect("a text");
        let (base, response) = (text("base"), text("response"));
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        let mut random = Random::new(1);
        machine.begin();
        let delivered = feed(&mut machine, base, ResponseEnd::Cut, &mut random);
        let open = |machine: &RecordContinuation| {
            let checkpoint = serde_json::to_value(machine.checkpoint()).expect("it can be saved");
            checkpoint["open"].as_str().expect("a text").len()
        };
        let open_len = open(&machine);
        machine.begin();
        let end = if text("finish") == "stop" { ResponseEnd::Clean } else { ResponseEnd::Cut };
        let new = feed(&mut machine, response, end, &mut random);
        row.recordings += 1;
        let is_used = !new.is_empty() || open(&machine) > open_len;
        row.used += usize::from(is_used);
        row.refused += usize::from(!is_used);
        if is_used && !is_proven(base, response, &delivered) {
            row.wrong += 1;
            println!("{}: {:?} ...{:?}", text("task"), &base[base.len().saturating_sub(40)..], response);
        }
    }
    row
}

#[test]
fn only_what_proves_its_place_is_used() {
    println!("| asked for | recordings | used | refused | used without proof |");
    println!("|---|--:|--:|--:|--:|");
    for (way, name, least) in [("anchor", "the last record", 18), ("inside", "an overlap", 0)] {
        let Row { recordings, used, refused, wrong } = evaluate(way);
        println!("| {name} | {recordings} | {used} | {refused} | {wrong} |");
        assert!(recordings >= 80 && used >= least, "{name}");
        assert_eq!(wrong, 0, "{name}");
    }
}
