//! Small answers, cut everywhere, and continued in every way: what is delivered is always the beginning of the answer.

use super::extent::stride;
use super::model::{Habit, Model, Random};
use super::*;

fn answers() -> Vec<Vec<&'static str>> {
    vec![
        vec!["{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":12}"],
        vec!["{\"a\":\"x\\\"}{é\"}", "{\"a\":\"\\u00e9\\\\\",\"b\":[1,-2.5e3]}", "{\"a\":\"漢\\n\"}"],
        vec![
            "{\"rows\":[{\"n\":1},{\"n\":2}],\"k\":1}",
            "{\"n\":1}",
            "{\"rows\":[{\"n\":1},{\"n\":2}],\"k\":2}",
        ],
        vec!["{\"n\":1}", "{\"rows\":[{\"n\":1},{\"n\":2},{\"n\":1}],\"k\":1}", "{\"n\":1}"],
        vec!["{}", "{}", "{\"a\":{}}", "{}"],
        vec!["{\"n\":1}", "{\"n\":1}", "{\"n\":1}", "{\"n\":2}", "{\"n\":1}", "{\"n\":3}"],
        vec!["{\"c\":[{\"c\":[]},{\"c\":[{\"c\":[]}]}]}", "{\"c\":[]}", "{\"c\":[{\"c\":[]}]}"],
        vec![
            "{\"s\":\"It was the best of times, it was the worst of times, it was the age\"}",
            "{\"s\":\"it was\"}",
        ],
    ]
}

pub(super) const HABITS: [Habit; 24] = [
    Habit::Asked,
    Habit::AskedFenced,
    Habit::Anchor,
    Habit::WhitespaceDiffers,
    Habit::NoOverlap,
    Habit::Several(2),
    Habit::Several(3),
    Habit::Restart,
    Habit::FencedRestart,
    Habit::Prose,
    Habit::Inside(0),
    Habit::Inside(1),
    Habit::Inside(3),
    Habit::Inside(9),
    Habit::Inside(14),
    Habit::Inside(20),
    Habit::Inside(33),
    Habit::AnchorInside,
    Habit::Talk,
    Habit::Empty,
    Habit::Fence,
    Habit::InsideFenced,
    Habit::Reopened,
    Habit::Changed,
];

/// Of equal records nobody can tell how many there are but by the last one that is repeated.
fn is_fair(model: &Model, delivered: usize, habit: Habit) -> bool {
    let next = model.records.get(delivered);
    let last = delivered.checked_sub(1).map(|last| &model.records[last]);
    match habit {
        Habit::NoOverlap | Habit::Inside(_) | Habit::InsideFenced => {
            // What is next could be taken for what was asked for, or for what it is equal to.
            let is_new = |at: &usize| !model.records[..*at].contains(&model.records[*at]);
            (0..delivered).all(|at| is_new(&at))
                && next.is_none_or(|next| !model.records[..delivered].contains(next))
        }
        Habit::Several(several) => {
            several == 1 || last != model.records.get(delivered.saturating_sub(several))
        }
        Habit::Restart | Habit::FencedRestart => last != model.records.first(),
        // All are equal so far: it does not show how many of them are repeated.
        Habit::Anchor | Habit::WhitespaceDiffers | Habit::Prose | Habit::AnchorInside | Habit::Reopened => {
            delivered < 2 || model.records[..delivered].iter().any(|record| Some(record) != last)
        }
        _ => true,
    }
}

struct Run<'a> {
    model: &'a Model,
    machine: RecordContinuation,
    records: Vec<String>,
    expected: &'a [String],
    /// The texts and the question, for messages.
    log: Vec<(String, Option<ResponseEnd>)>,
}

impl Run<'_> {
    fn says(&mut self, said: &str, end: ResponseEnd, piece: usize) {
        self.log.push((said.to_owned(), Some(end)));
        self.machine.begin();
        let mut at = 0;
        while at < said.len() {
            let mut to = (at + piece).min(said.len());
            while !said.is_char_boundary(to) {
                to += 1;
            }
            self.machine.push(&said[at..to]);
            self.take();
            at = to;
        }
        self.machine.finish(end);
        self.take();
    }

    fn take(&mut self) {
        while let Some(event) = self.machine.next_event() {
            let Event::Record(record) = event else { continue };
            self.records.push(squeezed(record.value.as_str()));
            let last = self.records.len() - 1;
            assert!(
                self.records.get(last) == self.expected.get(last),
                "{:#?}\nis not the beginning of\n{:#?}\nafter {:#?}",
                self.records,
                self.expected,
                self.log
            );
        }
    }

    fn heard(&self) -> usize {
        let checkpoint = serde_json::to_value(self.machine.checkpoint()).expect("it can be saved");
        self.model.heard(self.records.len(), checkpoint["open"].as_str().expect("a text"))
    }

    fn asked(&self) -> Option<String> {
        match self.machine.step() {
            ContinuationStep::Ask(messages) => Some(asked(&messages)),
            _ => None,
        }
    }

    /// From here on the model does what it is asked for. Where parts of elements are like elements it may be given up, but
    /// nothing wrong is delivered.
    fn comes_whole(&mut self, piece: usize, may_fail: bool) {
        for _ in 0..4 {
            let Some(asked) = self.asked() else { break };
            let said = self.model.does(&asked, self.records.len(), self.heard());
            self.log.push((asked, None));
            self.says(&said, ResponseEnd::Clean, piece);
        }
        if may_fail && matches!(self.machine.step(), ContinuationStep::Failed(_)) {
            return;
        }
        assert_eq!(self.machine.step(), ContinuationStep::Done, "{:#?}", self.log);
        assert_eq!(self.records, self.expected, "{:#?}", self.log);
    }
}

fn squeezed_start(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace()).collect()
}

pub(super) fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Cuts the answer there, and lets the model go on so, up to that cut.
fn attack(
    model: &Model,
    expected: &[String],
    cut: usize,
    habit: Habit,
    second: usize,
    end: ResponseEnd,
    piece: usize,
) {
    let machine = RecordContinuation::new(ContinuationOptions::new().max_requests(20), options(model.style));
    let mut run = Run {
        model,
        machine,
        records: Vec::new(),
        expected,
        log: vec![(format!("{:?} {habit:?}", model.style), None)],
    };
    run.says(&model.text[..cut], end, piece);
    let Some(asked) = run.asked() else { return };
    let (delivered, heard) = (run.records.len(), run.heard());
    // Before the first record the little that there is may be what is around the records, or a part of one.
    let is_early = delivered == 0 && matches!(model.style, Style::Pretty | Style::Wrapped);
    if is_early || !is_fair(model, delivered, habit) {
        return;
    }
    let said = match habit {
        Habit::Asked => model.does(&asked, delivered, heard),
        Habit::AskedFenced => format!("```json\n{}\n```", model.does(&asked, delivered, heard).trim_end()),
        habit => model.goes_on(delivered, heard, habit),
    };
    let open =
        model.spans.get(delivered).map_or("", |(start, _)| model.text.get(*start..heard).unwrap_or_default());
    // A record that was changed, and begins as the cut one, is that one.
    if habit == Habit::Changed && squeezed_start(&said).starts_with(&squeezed_start(open)) {
        return;
    }
    let second = boundary(&said, second.min(said.len()));
    let end = if second == said.len() { ResponseEnd::Clean } else { end };
    run.says(&said[..second], end, piece);
    let is_inside = matches!(habit, Habit::Inside(_) | Habit::InsideFenced | Habit::AnchorInside);
    run.comes_whole(piece, is_inside && !matches!(model.style, Style::Lines | Style::Row | Style::Commas));
}

fn models() -> impl Iterator<Item = (Model, Vec<String>)> {
    let styles = STYLES.into_iter();
    styles.flat_map(|style| {
        // Parts of elements that are like elements are not told from them in all cases.
        let is_lines = matches!(style, Style::Lines | Style::Row | Style::Commas);
        // To the scanner, `{}` on a line with more is prose.
        let is_row = matches!(style, Style::Row | Style::Commas);
        let is_fair = move |records: &Vec<&str>| {
            (is_lines || !records[0].starts_with("{\"c\"")) && !(is_row && records.contains(&"{}"))
        };
        answers().into_iter().filter(is_fair).map(move |records| {
            let expected = records.iter().map(|record| squeezed(record)).collect();
            (Model::new(records.into_iter().map(str::to_owned).collect(), style), expected)
        })
    })
}

/// Each with one of both ends, unless loops are exhaustive.
#[test]
fn every_cut_and_every_habit() {
    let ends = [ResponseEnd::Cut, ResponseEnd::Broken];
    let stride = stride(ends.len());
    for (model, expected) in models() {
        for cut in (1..model.text.len()).filter(|cut| model.text.is_char_boundary(*cut)) {
            for (number, habit) in HABITS.into_iter().enumerate() {
                for (at, end) in ends.into_iter().enumerate() {
                    if (cut + number + at).is_multiple_of(stride) {
                        attack(&model, &expected, cut, habit, usize::MAX, end, 1);
                    }
                }
            }
        }
    }
}

#[test]
fn every_cut_of_what_follows_every_odd_cut() {
    every_cut_of_what_follows(|cut| cut % 2 == 1);
}

#[test]
fn every_cut_of_what_follows_every_even_cut() {
    every_cut_of_what_follows(|cut| cut % 2 == 0);
}

/// How many cuts of what follows there are for each cut and each habit. One of them is tried, unless loops are exhaustive.
const SECOND_CUTS: usize = 12;

fn every_cut_of_what_follows(is_meant: fn(usize) -> bool) {
    let stride = stride(SECOND_CUTS);
    let mut random = Random::new(31);
    for (model, expected) in models() {
        for cut in (1..model.text.len()).filter(|cut| model.text.is_char_boundary(*cut)) {
            for (number, habit) in HABITS.into_iter().enumerate() {
                for at in 0..SECOND_CUTS {
                    let second = random.below(model.text.len() + 40);
                    let piece = [1, 7, usize::MAX / 2][random.below(3)];
                    if is_meant(cut) && (cut + number + at).is_multiple_of(stride) {
                        attack(&model, &expected, cut, habit, second, ResponseEnd::Cut, piece);
                    }
                }
            }
        }
    }
}
