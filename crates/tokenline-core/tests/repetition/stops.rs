//! Texts that repeat themselves end at the same byte, wherever they are cut.

use tokenline_core::adapter::{Driver, Rules, SourceEnd, StreamMachine, StreamStep};
use tokenline_core::json::Raw;
use tokenline_core::{
    EarlyEnd, Event, Options, Rejected, Release, RepetitionLimit, RepetitionLimits, Report, TextEvent,
    TextParser,
};

use crate::random::{Random, VALUE_PARTS};

/// The replacement for a rejected record, if there is one.
type Answer = fn(&Rejected) -> Option<String>;

/// The events of a machine that reads these pieces, and its report. Text in several pieces is one event.
fn read<M: StreamMachine>(
    mut machine: M,
    pieces: &[&[u8]],
    answer: Answer,
    show: fn(M::Event) -> String,
    report: fn(&M) -> Report,
) -> (Vec<String>, Report) {
    let mut seen: Vec<String> = Vec::new();
    let mut add = |event: String| match seen.last_mut() {
        Some(last) if is_text(&event) && last[..TEXT.len()] == event[..TEXT.len()] => {
            last.push_str(&event[TEXT.len()..]);
        }
        _ => seen.push(event),
    };
    let mut take = |machine: &mut M, piece: &[u8]| {
        let mut at = 0;
        loop {
            let (consumed, step) = machine.step(&piece[at..]);
            at += consumed;
            match step {
                StreamStep::Event(event) => add(show(event)),
                StreamStep::NeedInput | StreamStep::Done => break,
                StreamStep::Repair(rejected) => machine.resume(answer(&rejected)),
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

/// The first bytes of shown text, and of shown reasoning.
const TEXT: &str = "text   ";
const REASONING: &str = "thought";

fn is_text(event: &str) -> bool {
    event.starts_with(TEXT) || event.starts_with(REASONING)
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
        TextEvent::Text(text) => format!("{TEXT}{text}"),
        TextEvent::Reasoning(text) => format!("{REASONING}{text}"),
        other => format!("{other:?}"),
    }
}

fn driver() -> Driver<Raw> {
    Driver::new(Options::lenient()).stop_on_repetition(RepetitionLimits::default())
}

/// Reads a text in chunks of many sizes, as a stream of records and as a stream of everything in it.
fn at_every_cut(text: &str) -> (Vec<String>, Report) {
    let cuts =
        [1, 2, 3, 7, 61, 63, 64, 65, 259, 4096, 8191].map(|size| text.as_bytes().chunks(size).collect());
    alike_in(text, &cuts, driver, |_| None)
}

/// Reads a text whole and in these pieces, with drivers of this kind and with the parsers of everything that they make.
#[track_caller]
fn alike_in(
    text: &str,
    cuts: &[Vec<&[u8]>],
    driver: impl Fn() -> Driver<Raw>,
    answer: Answer,
) -> (Vec<String>, Report) {
    let by_driver =
        |pieces: &[&[u8]]| read(driver(), pieces, answer, show_event, |driver| driver.report().clone());
    let by_parser = |pieces: &[&[u8]]| {
        let parser = TextParser::from_driver(&driver(), Rules::default().reads());
        read(parser, pieces, answer, show_text_event, |parser| parser.report().clone())
    };
    let (whole, whole_text) = (by_driver(&[text.as_bytes()]), by_parser(&[text.as_bytes()]));
    for pieces in cuts {
        let sizes = || pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>();
        assert_eq!(by_driver(pieces), whole, "in pieces of {:?}", sizes());
        assert_eq!(by_parser(pieces), whole_text, "in pieces of {:?}, with text", sizes());
    }
    let others =
        |events: &[String]| events.iter().filter(|event| !is_text(event)).cloned().collect::<Vec<_>>();
    assert_eq!(others(&whole.0), others(&whole_text.0));
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

/// A hook that is asked must not keep a text from ending.
#[test]
fn a_text_whose_rejects_are_asked_for_ends_too() {
    let text = "{\"q1z\":\"q2z\\'\"},".repeat(1000);
    let cuts = [1, 64, 65, 1000].map(|size| text.as_bytes().chunks(size).collect());
    let asking = || driver().with_repair_steps();
    let (_, report) = alike_in(&text, &cuts, asking, |_| None);
    assert_eq!(report.ended_by(), Some(EarlyEnd::Repetition));
    let (_, report) = alike_in(&text, &cuts, asking, |_| Some("{}".to_owned()));
    assert_eq!(report.ended_by(), Some(EarlyEnd::Repetition));
}

#[test]
fn random_loops_end_at_the_same_byte_however_they_are_cut_and_read() {
    let mut random = Random::new(54);
    let mut stopped = 0;
    for _ in 0..1000 {
        let text = random_loop(&mut random);
        let kind = Kind::random(&mut random);
        let cuts = [(); 3].map(|()| {
            let most = *random.pick(&[2, 20, 200, 2000]);
            random.pieces(text.as_bytes(), most)
        });
        let (_, report) = alike_in(&text, &cuts, || kind.driver(), answer);
        stopped += u64::from(report.ended_by() == Some(EarlyEnd::Repetition));
    }
    assert!((200..900).contains(&stopped), "{stopped}");
}

/// A passage, and one that is repeated, and another.
fn random_loop(random: &mut Random) -> String {
    let passage = |random: &mut Random, most: usize| -> String {
        (0..random.below(most)).map(|_| *random.pick(&VALUE_PARTS)).collect()
    };
    let (before, repeated, after) = (passage(random, 40), passage(random, 12), passage(random, 40));
    before + &repeated.repeat(random.below(200)) + &after
}

fn answer(rejected: &Rejected) -> Option<String> {
    let column = rejected.diagnostic.column;
    column.is_multiple_of(3).then(|| format!("{{\"column\":{column}}}"))
}

/// Options of a driver that stops early.
#[derive(Debug)]
struct Kind {
    options: Options,
    limits: RepetitionLimits,
    asks: Asks,
}

#[derive(Clone, Copy, Debug)]
enum Asks {
    Nobody,
    Hook,
    InSteps,
}

impl Kind {
    fn random(random: &mut Random) -> Self {
        let mut options = match random.below(4) {
            0 => Options::strict(),
            _ => Options::lenient(),
        };
        options = options
            .release(*random.pick(&[Release::Confirmed, Release::OnBalance, Release::AtFinish]))
            .repair_syntax(random.once_in(3));
        if random.once_in(5) {
            options = options.items("/a").expect("a pointer");
        }
        let small = RepetitionLimit::new(4, 512);
        let limits = match random.below(3) {
            0 => RepetitionLimits::default(),
            1 => RepetitionLimits { rows: small, without_words: small, ..RepetitionLimits::default() },
            _ => RepetitionLimits {
                rows: small,
                without_words: small,
                white_space: small,
                records: small,
                ..RepetitionLimits::default()
            },
        };
        Self { options, limits, asks: *random.pick(&[Asks::Nobody, Asks::Hook, Asks::InSteps]) }
    }

    fn driver(&self) -> Driver<Raw> {
        let driver = Driver::new(self.options.clone()).stop_on_repetition(self.limits);
        match self.asks {
            Asks::Nobody => driver,
            Asks::Hook => driver.with_repair(|rejected| answer(&rejected)),
            Asks::InSteps => driver.with_repair_steps(),
        }
    }
}
