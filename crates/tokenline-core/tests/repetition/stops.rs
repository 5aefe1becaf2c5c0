//! Texts that repeat themselves end at the same byte, wherever they are cut.

use tokenline_core::adapter::{Driver, Rules, SourceEnd, StreamMachine, StreamStep};
use tokenline_core::json::Raw;
use tokenline_core::{EarlyEnd, Event, Options, RepetitionLimits, Report, TextEvent, TextParser};

/// The events of a machine that reads these pieces, and its report.
fn read<M: StreamMachine>(
    mut machine: M,
    pieces: &[&[u8]],
    show: fn(M::Event) -> String,
    report: fn(&M) -> Report,
) -> (Vec<String>, Report) {
    let mut seen = Vec::new();
    let mut take = |machine: &mut M, piece: &[u8]| {
        let mut at = 0;
        loop {
            let (consumed, step) = machine.step(&piece[at..]);
            at += consumed;
            match step {
                StreamStep::Event(event) => seen.push(show(event)),
                StreamStep::NeedInput | StreamStep::Done => break,
                StreamStep::Repair(_) => unreachable!("there is no hook"),
            }
        }
    };
    for piece in pieces {
        take(&mut machine, piece);
    }
    machine.finish(SourceEnd::Clean);
    take(&mut machine, b"");
    (seen, report(&machine))
}

fn show_event(event: Event<Raw>) -> String {
    match event {
        Event::Record(record) => format!("record {} {}", record.span.start, record.value),
        Event::Rejected(diagnostic) => format!("rejected {diagnostic}"),
        Event::Note(diagnostic) => format!("note {} {diagnostic}", diagnostic.span.start),
        other => format!("{other:?}"),
    }
}

fn show_text_event(event: TextEvent<Raw>) -> String {
    match event {
        TextEvent::Record(record) => format!("record {} {}", record.span.start, record.value),
        TextEvent::Rejected(diagnostic) => format!("rejected {diagnostic}"),
        TextEvent::Note(diagnostic) => format!("note {} {diagnostic}", diagnostic.span.start),
        // Pieces of text depend on the cut.
        TextEvent::Text(_) | TextEvent::Reasoning(_) => String::new(),
        other => format!("{other:?}"),
    }
}

fn driver() -> Driver<Raw> {
    Driver::new(Options::lenient()).stop_on_repetition(RepetitionLimits::default())
}

fn text_parser() -> TextParser<Raw> {
    TextParser::from_driver(&driver(), Rules::default().reads())
}

/// Reads a text in chunks of many sizes, as a stream of records and as a stream of everything in it.
fn at_every_cut(text: &str) -> (Vec<String>, Report) {
    let by_driver = |pieces: &[&[u8]]| read(driver(), pieces, show_event, |driver| driver.report().clone());
    let by_parser = |pieces: &[&[u8]]| {
        let (mut seen, report) =
            read(text_parser(), pieces, show_text_event, |parser| parser.report().clone());
        seen.retain(|event| !event.is_empty());
        (seen, report)
    };
    let (whole, whole_text) = (by_driver(&[text.as_bytes()]), by_parser(&[text.as_bytes()]));
    for size in [1, 2, 3, 7, 61, 63, 64, 65, 259, 4096, 8191] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        assert_eq!(by_driver(&pieces), whole, "in pieces of {size}");
        assert_eq!(by_parser(&pieces), whole_text, "in pieces of {size}, with text");
    }
    let records = |events: &[String]| {
        events.iter().filter(|event| event.starts_with("record")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(records(&whole.0), records(&whole_text.0));
    assert_eq!(whole.1.ended_by(), whole_text.1.ended_by());
    whole
}

#[test]
fn a_text_ends_at_the_same_byte_however_it_is_cut() {
    let sentence = "So it goes. ".repeat(100) + "\n{\"a\":1}\n";
    let (seen, report) = at_every_cut(&sentence);
    assert_eq!(report.ended_by(), Some(EarlyEnd::Repetition));
    assert_eq!(
        seen.last().expect("a warning"),
        "note 512 1:1: repetition: the text repeats 12 bytes 42 times; the text was stopped"
    );
    assert_eq!(report.records(), 0);

    let record = format!("{{\"name\":\"{}\"}}\n", "x".repeat(120));
    let (seen, report) = at_every_cut(&record.repeat(1000));
    assert_eq!((report.records(), report.ended_by()), (64, Some(EarlyEnd::Repetition)));
    assert!(seen.last().expect("a warning").contains("the same record 64 times"), "{:?}", seen.last());
}

#[test]
fn what_is_open_is_told_before_the_warning() {
    let (seen, report) = at_every_cut(&("{\"a\":1}\n{\"a\":\"".to_owned() + &"never mind, ".repeat(200)));
    assert_eq!(report.ended_by(), Some(EarlyEnd::Repetition));
    assert_eq!((seen.len(), report.records(), report.rejected()), (3, 1, 1), "{seen:?}");
    assert!(seen[1].contains("truncated") && seen[2].contains("repetition"), "{seen:?}");
    // A record that only waits for its line feed.
    let (seen, report) = at_every_cut(&("{\"a\":1}".to_owned() + &" ".repeat(9000) + "\n{\"a\":2}\n"));
    assert_eq!((report.records(), report.ended_by()), (1, Some(EarlyEnd::Repetition)), "{seen:?}");
}

#[test]
fn rows_of_one_shape_and_text_before_each_record_are_read_to_the_end() {
    let rows: String =
        (0..400).map(|n| format!("Here is the next one:\n{{\"id\":{n},\"ok\":true}}\n")).collect();
    let (_, report) = at_every_cut(&rows);
    assert_eq!((report.records(), report.ended_by()), (400, None));
    assert!(report.is_complete());
}
