//! The machine that continues answers, without I/O.

mod anywhere;
mod attack;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
mod extent;
mod inside;
mod long;
mod model;
mod recorded;
mod repair;
mod table;

use model::{Habit, Model, Random, Style};
use tokenline_continuation::{
    Checkpoint, ContinuationError, ContinuationFailure, ContinuationMessages, ContinuationOptions,
    ContinuationStep, RecordContinuation, ResponseEnd,
};
use tokenline_core::adapter::THINK_TAGS;
use tokenline_core::{Event, Options};

fn squeezed(record: &str) -> String {
    serde_json::from_str::<serde_json::Value>(record).expect("JSON").to_string()
}

/// The text of a request to continue.
fn asked(messages: &Option<ContinuationMessages>) -> String {
    messages.as_ref().expect("a continuation").user.clone()
}

fn options(style: Style) -> Options {
    match style {
        Style::Wrapped => Options::lenient().items("/rows").expect("a pointer"),
        _ => Options::lenient(),
    }
}

/// Feeds a text in random pieces, and takes what comes.
fn feed(machine: &mut RecordContinuation, text: &str, end: ResponseEnd, random: &mut Random) -> Vec<String> {
    let (mut rest, mut records) = (text, Vec::new());
    let size = 1 + random.below(200);
    let mut take = |machine: &mut RecordContinuation| {
        while let Some(event) = machine.next_event() {
            if let Event::Record(record) = event {
                records.push(squeezed(record.value.as_str()));
            }
        }
    };
    while !rest.is_empty() {
        let mut at = (1 + random.below(size)).min(rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        machine.push(&rest[..at]);
        take(machine);
        rest = &rest[at..];
    }
    machine.finish(end);
    take(machine);
    assert!(!matches!(machine.step(), ContinuationStep::Read), "all was taken");
    records
}

/// Lets the model answer with a limit of so many bytes until the answer is whole.
fn run(
    model: &Model,
    limit: usize,
    habits: &[Habit],
    random: &mut Random,
) -> (Vec<String>, RecordContinuation) {
    let settings = ContinuationOptions::new().max_requests(100_000).max_failures(1_000);
    let mut machine = RecordContinuation::new(settings, options(model.style));
    let (mut records, mut heard) = (Vec::new(), 0);
    let mut log = Vec::new();
    loop {
        let said = match machine.step() {
            ContinuationStep::Done | ContinuationStep::Failed(_) => break,
            ContinuationStep::Ask(messages) if messages.is_none() => model.text.clone(),
            ContinuationStep::Ask(messages) => {
                let habit = habits[random.below(habits.len())];
                log.push((habit, records.len(), heard));
                let asked = asked(&messages);
                match habit {
                    Habit::Asked => model.does(&asked, records.len(), heard),
                    Habit::AskedFenced => {
                        format!("```json\n{}\n```", model.does(&asked, records.len(), heard).trim_end())
                    }
                    habit => model.goes_on(records.len(), heard, habit),
                }
            }
            step => panic!("{step:?} after {:?}", &log[log.len().saturating_sub(5)..]),
        };
        let mut at = (limit / 2 + random.below(limit)).min(said.len());
        while !said.is_char_boundary(at) {
            at -= 1;
        }
        let is_cut = at < said.len();
        let end = match (is_cut, random.one_in(3)) {
            (false, _) => ResponseEnd::Clean,
            (true, true) => ResponseEnd::Broken,
            (true, false) => ResponseEnd::Cut,
        };
        machine.begin();
        let new = feed(&mut machine, &said[..at], end, random);
        let expected = model.records.iter().skip(records.len()).map(|record| squeezed(record));
        for (record, expected) in new.iter().zip(expected.chain(std::iter::repeat("nothing".to_owned()))) {
            assert_eq!(*record, expected, "{:?}, at {}", &log[log.len().saturating_sub(3)..], records.len());
        }
        records.extend(new);
        // What is open is the beginning of the record after them.
        let checkpoint = serde_json::to_value(machine.checkpoint()).expect("it can be saved");
        let open = checkpoint["open"].as_str().expect("a text");
        let is_wrapper = model.style == Style::Wrapped && records.is_empty();
        assert!(
            is_wrapper || model.is_open(records.len(), open),
            "{:?} {:?} {open:?}",
            model.style,
            &log[log.len().saturating_sub(3)..]
        );
        heard = model.heard(records.len(), open);
        let longest = model.records.iter().map(String::len).max().unwrap_or(0);
        assert!(machine.held_bytes() < 64 * 1024 + 8 * longest, "{} bytes are held", machine.held_bytes());
    }
    (records, machine)
}

fn all(model: &Model, limit: usize, habits: &[Habit], random: &mut Random) {
    let (records, machine) = run(model, limit, habits, random);
    let expected: Vec<String> = model.records.iter().map(|record| squeezed(record)).collect();
    assert_eq!(records, expected);
    assert_eq!(machine.records(), expected.len() as u64);
}

const STYLES: [Style; 6] =
    [Style::Lines, Style::Row, Style::Commas, Style::Array, Style::Pretty, Style::Wrapped];

#[test]
fn every_record_comes_once_whatever_the_habits() {
    for number in 0..300 {
        let mut random = Random::new(number + 1);
        let style = STYLES[random.below(STYLES.len())];
        let count = 1 + random.below(60);
        let records = (0..count).map(|number| model::record(&mut random, number)).collect();
        let model = Model::new(records, style);
        let habits = [
            Habit::Anchor,
            Habit::WhitespaceDiffers,
            Habit::NoOverlap,
            Habit::Several(1 + random.below(8)),
            Habit::Restart,
            Habit::FencedRestart,
            Habit::Prose,
            Habit::Inside(0),
            Habit::Inside(1 + random.below(30)),
            Habit::AnchorInside,
            Habit::Talk,
            Habit::Empty,
        ];
        all(&model, 700 + random.below(2000), &habits, &mut random);
    }
}

#[test]
fn each_habit_alone_comes_to_the_end() {
    for habit in [Habit::Anchor, Habit::WhitespaceDiffers, Habit::Prose, Habit::Restart, Habit::FencedRestart]
    {
        for style in STYLES {
            let mut random = Random::new(7);
            let records = (0..80).map(|number| model::record(&mut random, number)).collect();
            let limit = if matches!(habit, Habit::Restart | Habit::FencedRestart) { 40_000 } else { 4000 };
            let (records, machine) = run(&Model::new(records, style), limit, &[habit], &mut random);
            assert_eq!((records.len(), machine.failures()), (80, 0), "{habit:?}, {style:?}");
        }
    }
}

#[test]
fn the_offset_is_that_of_the_list() {
    let long = "it was the best of times, it was the worst of times, ".repeat(30);
    let mut records: Vec<String> = (0..6).map(|n| format!("{{\"n\":{n},\"s\":\"{long}{n}\"}}")).collect();
    records[0] = "{\"n\":0}".to_owned();
    for style in [Style::Lines, Style::Array, Style::Wrapped] {
        let model = Model::new(records.clone(), style);
        let mut random = Random::new(12);
        let mut machine =
            RecordContinuation::new(ContinuationOptions::new().max_requests(100), options(style));
        let (mut delivered, mut heard, mut overlaps) = (0, 0, 0);
        while let ContinuationStep::Ask(messages) = machine.step() {
            let said = match &messages {
                None => model.text.clone(),
                Some(_) => {
                    overlaps += usize::from(asked(&messages).contains("continue directly after them"));
                    model.does(&asked(&messages), delivered, heard)
                }
            };
            machine.begin();
            let end = if said.len() > 1500 { ResponseEnd::Cut } else { ResponseEnd::Clean };
            delivered += feed(&mut machine, &said[..said.len().min(1500)], end, &mut random).len();
            let checkpoint = machine.checkpoint();
            let offset = delivered.checked_sub(1).map_or(0, |last| model.spans[last].1);
            // Each of them follows a separator of at most two bytes.
            let least = offset.saturating_sub(2 * overlaps);
            assert!((least..=offset).contains(&(checkpoint.offset() as usize)), "{style:?} {offset}");
            let saved = serde_json::to_value(checkpoint).expect("it can be saved");
            heard = model.heard(delivered, saved["open"].as_str().expect("a text"));
        }
        assert_eq!((delivered, machine.step()), (6, ContinuationStep::Done), "{style:?}");
        assert!(overlaps > 0);
    }
}

#[test]
fn what_does_not_begin_as_asked_is_dropped() {
    for habit in [Habit::NoOverlap, Habit::Several(3), Habit::Inside(0), Habit::Changed] {
        for style in STYLES {
            let mut random = Random::new(7);
            let records: Vec<String> = (0..80).map(|number| model::record(&mut random, number)).collect();
            let first = 4000 / records[0].len();
            // `run` sees to it that nothing wrong is delivered.
            let (records, machine) = run(&Model::new(records, style), 4000, &[habit], &mut random);
            assert!(records.len() >= first / 4, "{habit:?}, {style:?}");
            assert!(matches!(
                machine.step(),
                ContinuationStep::Failed(ContinuationError::NoProgress {
                    last: ContinuationFailure::Diverged,
                    ..
                })
            ));
        }
    }
}

#[test]
fn equal_rows_come_in_the_right_number() {
    for number in 0..100 {
        let mut random = Random::new(number + 1000);
        let count = 2 + random.below(120);
        let model = Model::new(model::rows(&mut random, count), STYLES[random.below(STYLES.len())]);
        // Rows that are equal only show how many they are where the one that was asked for is repeated.
        let habits = [Habit::Anchor, Habit::WhitespaceDiffers, Habit::Prose, Habit::Talk];
        all(&model, 100 + random.below(300), &habits, &mut random);
    }
}

#[test]
fn a_restart_over_equal_rows_is_counted() {
    let mut random = Random::new(3);
    let model = Model::new(model::rows(&mut random, 200), Style::Lines);
    let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    machine.begin();
    let mut records = feed(&mut machine, &model.text[..900], ResponseEnd::Cut, &mut random);
    machine.begin();
    let whole = format!("Again:\n```json\n{}```\n", model.text);
    records.extend(feed(&mut machine, &whole, ResponseEnd::Clean, &mut random));
    assert_eq!(records, model.records);
    assert_eq!((machine.step(), machine.requests()), (ContinuationStep::Done, 2));
}

#[test]
fn a_restart_that_is_another_answer_delivers_nothing() {
    let mut random = Random::new(4);
    let lines: Vec<String> = (0..40).map(|n| format!("{{\"n\":{n}}}")).collect();
    for changed in [1, 5, 12, 29] {
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        machine.begin();
        let first = lines[..30].join("\n") + "\n{\"n";
        assert_eq!(feed(&mut machine, &first, ResponseEnd::Cut, &mut random).len(), 30);
        machine.begin();
        let mut other = lines.clone();
        other[changed] = "{\"n\":\"other\"}".to_owned();
        assert_eq!(feed(&mut machine, &other.join("\n"), ResponseEnd::Clean, &mut random), [""; 0]);
        assert_eq!(machine.failures(), 1);
        machine.begin();
        let rest = feed(&mut machine, &lines[29..].join("\n"), ResponseEnd::Clean, &mut random);
        assert_eq!((rest.len(), machine.step()), (10, ContinuationStep::Done));
    }
}

#[test]
fn a_model_that_gets_nowhere_is_given_up() {
    let mut random = Random::new(5);
    for (said, last) in [
        ("{\"n\":1}\n", ContinuationFailure::NothingNew),
        ("", ContinuationFailure::NothingNew),
        ("I cannot.\n", ContinuationFailure::NothingNew),
    ] {
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        machine.begin();
        feed(&mut machine, "{\"n\":0}\n{\"n\":1}\n{\"n", ResponseEnd::Cut, &mut random);
        for _ in 0..3 {
            assert!(matches!(machine.step(), ContinuationStep::Ask(_)));
            machine.begin();
            assert_eq!(feed(&mut machine, said, ResponseEnd::Clean, &mut random), [""; 0]);
        }
        let error = ContinuationError::NoProgress { failures: 3, last };
        assert_eq!(machine.step(), ContinuationStep::Failed(error));
    }
}

#[test]
fn limits_end_it() {
    let mut random = Random::new(6);
    let mut machine = RecordContinuation::new(ContinuationOptions::new().max_requests(2), Options::lenient());
    for text in ["{\"n\":0}\n{\"n", "{\"n\":0}\n{\"n\":1}\n{"] {
        machine.begin();
        feed(&mut machine, text, ResponseEnd::Cut, &mut random);
    }
    let error = ContinuationError::TooManyRequests { requests: 2 };
    assert_eq!(machine.step(), ContinuationStep::Failed(error));

    let mut machine =
        RecordContinuation::new(ContinuationOptions::new().max_output_tokens(100), Options::lenient());
    machine.begin();
    machine.count_output_tokens(120);
    feed(&mut machine, "{\"n\":0}\n{\"n", ResponseEnd::Cut, &mut random);
    assert_eq!(machine.step(), ContinuationStep::Failed(ContinuationError::TooManyTokens { tokens: 120 }));

    let mut machine = RecordContinuation::new(
        ContinuationOptions::new().continue_after_disconnect(false),
        Options::lenient(),
    );
    machine.begin();
    assert_eq!(feed(&mut machine, "{\"n\":0}\n{\"n", ResponseEnd::Broken, &mut random).len(), 1);
    assert_eq!(machine.step(), ContinuationStep::Failed(ContinuationError::Disconnected));
}

#[test]
fn the_text_itself_tells_that_it_was_cut() {
    let mut random = Random::new(7);
    for text in ["{\"n\":0}\n{\"n\":1", "[{\"n\":0},{\"n\":1}", "[{\"n\":0},", "{\"n\":0}\n{"] {
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        machine.begin();
        feed(&mut machine, text, ResponseEnd::Clean, &mut random);
        assert!(matches!(machine.step(), ContinuationStep::Ask(_)), "{text}");
    }
    for text in ["{\"n\":0}\n{\"n\":1}", "[{\"n\":0}]", "", "No."] {
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        machine.begin();
        feed(&mut machine, text, ResponseEnd::Clean, &mut random);
        assert_eq!(machine.step(), ContinuationStep::Done, "{text}");
    }
}

#[test]
fn a_seam_that_can_be_read_in_two_ways_is_not_read() {
    let mut random = Random::new(8);
    let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    machine.begin();
    feed(&mut machine, "{\"n\":0}\n{\"n\":1", ResponseEnd::Cut, &mut random);
    machine.begin();
    assert_eq!(feed(&mut machine, "1}\n{\"n\":2}\n", ResponseEnd::Clean, &mut random), [""; 0]);
    assert_eq!(machine.failures(), 1);
    machine.begin();
    let records = feed(&mut machine, "{\"n\":0}\n{\"n\":11}\n{\"n\":2}\n", ResponseEnd::Clean, &mut random);
    assert_eq!((records.len(), machine.step()), (2, ContinuationStep::Done));
}

#[test]
fn a_checkpoint_at_any_place_goes_on_there() {
    let mut random = Random::new(9);
    for style in STYLES {
        let records: Vec<String> = (0..30).map(|number| model::record(&mut random, number)).collect();
        let model = Model::new(records, style);
        for cut in (0..model.text.len()).step_by(97).filter(|cut| model.text.is_char_boundary(*cut)) {
            let mut machine = RecordContinuation::new(ContinuationOptions::new(), options(style));
            machine.begin();
            machine.push(&model.text[..cut]);
            let mut seen = Vec::new();
            while let Some(event) = machine.next_event() {
                if let Event::Record(record) = event {
                    seen.push(squeezed(record.value.as_str()));
                }
            }
            let saved = serde_json::to_string(&machine.checkpoint()).expect("it can be saved");
            drop(machine);
            let checkpoint: Checkpoint = serde_json::from_str(&saved).expect("it was saved");
            assert_eq!(checkpoint.records(), seen.len() as u64);
            let mut machine =
                RecordContinuation::new(ContinuationOptions::resume(checkpoint), options(style));
            assert!(matches!(machine.step(), ContinuationStep::Ask(Some(_))));
            machine.begin();
            let said = match seen.len() {
                0 => model.text.clone(),
                delivered => model.goes_on(delivered, 0, Habit::Anchor),
            };
            seen.extend(feed(&mut machine, &said, ResponseEnd::Clean, &mut random));
            let expected: Vec<String> = model.records.iter().map(|record| squeezed(record)).collect();
            assert_eq!(seen, expected, "{style:?} at {cut}");
            assert_eq!(machine.step(), ContinuationStep::Done, "{style:?} at {cut}");
        }
    }
}

#[test]
fn a_restart_that_is_cut_before_anything_new_is_told() {
    let mut random = Random::new(10);
    let lines: Vec<String> = (0..40).map(|n| format!("{{\"n\":{n}}}")).collect();
    let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    machine.begin();
    feed(&mut machine, &(lines.join("\n") + "\n{\"n"), ResponseEnd::Cut, &mut random);
    for failures in 1..=3 {
        let ContinuationStep::Ask(messages) = machine.step() else { panic!("it is asked again") };
        assert_eq!(asked(&messages).contains("started the answer over"), failures > 1);
        machine.begin();
        let said = lines[..20].join("\n") + "\n{";
        assert_eq!(feed(&mut machine, &said, ResponseEnd::Cut, &mut random), [""; 0]);
    }
    let ContinuationStep::Failed(error) = machine.step() else { panic!("it is given up") };
    let last = ContinuationFailure::StartedOver;
    assert_eq!(error, ContinuationError::NoProgress { failures: 3, last });
    assert!(error.to_string().contains("the response starts over"), "{error}");
}

#[test]
fn an_answer_whose_first_record_is_its_last_can_start_over() {
    let mut random = Random::new(11);
    let mut lines: Vec<String> = (0..20).map(|n| format!("{{\"n\":{n}}}")).collect();
    lines[11] = lines[0].clone();
    let text = lines.join("\n") + "\n";
    let first = lines[..12].join("\n") + "\n";
    for (said, is_whole) in [(text.clone(), true), (text[first.len() - 8..].to_owned(), false)] {
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        machine.begin();
        let mut records = feed(&mut machine, &first, ResponseEnd::Cut, &mut random);
        let ContinuationStep::Ask(messages) = machine.step() else { panic!("it is asked") };
        assert!(asked(&messages).contains("these last 2 complete lines:\n{\"n\":10}\n{\"n\":0}\n"));
        machine.begin();
        records.extend(feed(&mut machine, &said, ResponseEnd::Clean, &mut random));
        assert_eq!(records == lines, is_whole, "{said}");
    }
    // What comes round could be either.
    let lines: Vec<String> = (0..13).map(|n| format!("{{\"n\":{}}}", n % 4)).collect();
    let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    machine.begin();
    feed(&mut machine, &(lines.join("\n") + "\n"), ResponseEnd::Cut, &mut random);
    machine.begin();
    assert_eq!(feed(&mut machine, &lines.join("\n"), ResponseEnd::Cut, &mut random), [""; 0]);
    assert_eq!(machine.failures(), 1);
}

#[test]
fn a_fingerprint_stays_the_same_from_one_version_to_the_next() {
    // A checkpoint that an older version wrote is still good.
    let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
    machine.begin();
    let text = "{\"a\":1}\n{ \"a\": 1 }\n{ \"a b\" : [1,\t 2], \"\\\" c\":\"x";
    let _ = feed(&mut machine, text, ResponseEnd::Cut, &mut Random::new(1));
    let checkpoint = serde_json::to_value(machine.checkpoint()).expect("it can be saved");
    let one = "99c82172967f342fb2c9f7ec5a9c7f7e";
    assert_eq!(checkpoint["head"], serde_json::json!([one, one]));
    // White space counts in strings only.
    assert_eq!(checkpoint["recent"], serde_json::json!(["{\"a\":1}", "{\"a\":1}"]));
    for wrong in ["", "+0000000000000000000000000000000"] {
        let mut other = checkpoint.clone();
        other["chain"] = wrong.into();
        assert!(serde_json::from_value::<Checkpoint>(other).is_err(), "{wrong}");
    }
    assert_eq!(checkpoint["chain"], "8622da6cf912d7c8cc858ba7af3320d8");
}

#[test]
fn a_model_that_never_gets_on_ends_it() {
    for text in [
        "{\"n\":1}\n{\"n\"",
        "{\"n\":1}\n{\"n\":\"it was the best of times, it was the worst of ti",
        "{\"n\"",
    ] {
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        let mut records = Vec::new();
        while let ContinuationStep::Ask(_) = machine.step() {
            machine.begin();
            records.extend(feed(&mut machine, text, ResponseEnd::Cut, &mut Random::new(3)));
        }
        let ContinuationStep::Failed(ContinuationError::NoProgress { failures: 3, .. }) = machine.step()
        else {
            panic!("{text}: {:?}", machine.step());
        };
        assert_eq!((records.len(), machine.requests()), (text.matches('\n').count(), 4), "{text}");
    }
}
