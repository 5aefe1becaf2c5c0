//! Lines that are malformed, and what takes their place.

use tokenline_core::{Recovery, Rejected};

use super::*;

fn mended(text: &str) -> Option<String> {
    text.contains("NaN").then(|| text.replace("NaN", "null"))
}

/// The records of these responses, pushed in pieces of `piece` bytes. All responses but the last one are truncated.
fn comes(responses: &[&str], piece: usize) -> (Vec<String>, RecordContinuation) {
    let machine = || RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    let at_once = taken(machine().with_repair(|rejected| mended(&rejected.text)), responses, piece);
    let later = taken(machine().with_repair_steps(), responses, piece);
    assert_eq!((&later.0, later.1.step()), (&at_once.0, at_once.1.step()));
    assert_eq!(later.1.checkpoint(), at_once.1.checkpoint());
    at_once
}

/// The records of these responses. Questions are answered when there are no more events.
fn taken(
    mut machine: RecordContinuation,
    responses: &[&str],
    piece: usize,
) -> (Vec<String>, RecordContinuation) {
    let mut records = Vec::new();
    for (number, said) in responses.iter().enumerate() {
        assert!(matches!(machine.step(), ContinuationStep::Ask(_)), "{number}");
        machine.begin();
        let mut take = |machine: &mut RecordContinuation| {
            loop {
                let Some(event) = machine.next_event() else {
                    let Some(rejected) = machine.question() else { break };
                    assert!(machine.next_event().is_none() && machine.question().is_none(), "it waits");
                    machine.answer(mended(&rejected.text));
                    continue;
                };
                if let Event::Record(record) = event {
                    let is_repaired = record.recovered.contains(Recovery::Repaired);
                    assert_eq!(is_repaired, record.value.as_str().contains("null"));
                    records.push(record.value.as_str().to_owned());
                }
            }
        };
        for piece in said.as_bytes().chunks(piece) {
            machine.push(std::str::from_utf8(piece).expect("ASCII"));
            take(&mut machine);
        }
        let is_last = number + 1 == responses.len();
        machine.finish(if is_last { ResponseEnd::Clean } else { ResponseEnd::Cut });
        take(&mut machine);
    }
    (records, machine)
}

#[test]
fn a_malformed_line_is_made_a_record_wherever_it_stands() {
    let lines = ["{\"n\":0}", "{\"n\":1,\"x\":NaN}", "{\"n\":2}", "{\"n\":3}"];
    let text = lines.join("\n") + "\n";
    let expected = lines.map(|line| line.replace("NaN", "null"));
    for piece in [1, 5, 1000] {
        let (records, machine) = comes(&[&text], piece);
        assert_eq!((records.as_slice(), machine.step()), (&expected[..], ContinuationStep::Done), "{piece}");
        for cut in 9..text.len() {
            // The last line needs no line feed, unless it is malformed.
            let is_whole =
                |line: &&str| lines.contains(line) && !(text[..cut].ends_with(*line) && line.contains("NaN"));
            let whole = text[..cut].lines().filter(is_whole).count();
            let again =
                "{\"n\":1,\"x\":null}\n".to_owned() + &text[text.find("{\"n\":2").expect("it is there")..];
            let asked = match whole {
                2 => again,
                _ => text[text.find(lines[whole - 1]).expect("it is there")..].to_owned(),
            };
            // The anchor as it was asked for and as it was written, and from the beginning.
            let as_written = text[text.find(lines[whole - 1]).expect("it is there")..].to_owned();
            for said in [asked, as_written, text.clone()] {
                let (records, machine) = comes(&[&text[..cut], &said], piece);
                assert_eq!(records, expected, "{piece} {cut} {said}");
                assert_eq!((machine.step(), machine.failures()), (ContinuationStep::Done, 0), "{cut} {said}");
            }
        }
    }
}

#[test]
fn a_malformed_element_is_made_a_record() {
    for piece in [1, 1000] {
        let (records, machine) =
            comes(&["[{\"n\":0},{\"n\":1},{\"n", "{\"n\":1},{\"n\":2,\"x\":NaN},{\"n\":3}]"], piece);
        assert_eq!(records, ["{\"n\":0}", "{\"n\":1}", "{\"n\":2,\"x\":null}", "{\"n\":3}"]);
        assert_eq!(machine.step(), ContinuationStep::Done);
    }
}

#[test]
fn an_element_that_was_replaced_is_an_anchor_as_it_was_written() {
    for (open, options) in [
        ("[", Options::lenient()),
        ("[", Options::lenient().in_reasoning(true)),
        ("{\"rows\":[\n", Options::lenient().items("/rows").expect("a pointer")),
    ] {
        let thought = if open == "[" && options != Options::lenient() { "</think>" } else { "" };
        let first = format!("{thought}{open}{{\"n\":1}},{{\"n\":NaN}},{{\"n");
        let second = format!("{thought}{{\"n\":NaN}},{{\"n\":3}}]{}", if open == "[" { "" } else { "}" });
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), options)
            .with_repair(|rejected| mended(&rejected.text));
        let mut random = Random::new(32);
        machine.begin();
        let mut records = feed(&mut machine, &first, ResponseEnd::Cut, &mut random);
        machine.begin();
        records.extend(feed(&mut machine, &second, ResponseEnd::Clean, &mut random));
        assert_eq!(records, ["{\"n\":1}", "{\"n\":null}", "{\"n\":3}"], "{first}");
    }
}

#[test]
fn what_a_cut_leaves_open_is_not_asked_about() {
    let everything = |rejected: Rejected| panic!("{:?} is not for repair", rejected.text);
    let mut random = Random::new(30);
    for (first, second) in [
        ("{\"n\":0}\n{\"n\":1,\"x\":Na", "{\"n\":0}\n{\"n\":1,\"x\":2}\n"),
        ("{\"n\":0}\n{\"n\":1,\"x\":[1,", "2]}\n{\"n\":2}\n"),
        ("{\"n\":0}\n{\"n\":1,\"x\":[{\"y\":3},", "{\"n\":0}\n4],\"z\":1}\n{\"n\":2}\n"),
    ] {
        let machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        let mut machine = machine.with_repair(everything);
        machine.begin();
        feed(&mut machine, first, ResponseEnd::Cut, &mut random);
        machine.begin();
        feed(&mut machine, second, ResponseEnd::Clean, &mut random);
        assert!(!machine.checkpoint().is_done() || machine.records() >= 2, "{first}");
    }
}

#[test]
fn a_line_is_not_asked_about_twice_and_what_was_made_of_a_part_is_no_record() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = asked.clone();
    let machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    let mut machine = machine.with_repair(move |rejected| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // It keeps what can be kept.
        let end = rejected.text.find('}')? + 1;
        Some(rejected.text[..end].replace("NaN", "null"))
    });
    let mut random = Random::new(31);
    machine.begin();
    let first = "{\"n\":0,\"rows\":[{\"n\":8},{\"n\":9}]}\n{\"n\":NaN}\n";
    assert_eq!(feed(&mut machine, first, ResponseEnd::Cut, &mut random).len(), 2);
    machine.begin();
    // From within the first one.
    let inside = "{\"n\":9}]}\n{\"n\":NaN}\n{\"n\":2}\n";
    assert_eq!(feed(&mut machine, inside, ResponseEnd::Clean, &mut random), [""; 0]);
    machine.begin();
    let rest = feed(&mut machine, "{\"n\":NaN}\n{\"n\":2}\n", ResponseEnd::Clean, &mut random);
    assert_eq!((rest, machine.step()), (vec!["{\"n\":2}".to_owned()], ContinuationStep::Done));
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
}
