//! Records that are longer than what a response brings.

use super::extent::cases;
use super::model::{self, Habit, Model, Random};
use super::*;

#[test]
fn a_record_of_many_responses_comes_whole() {
    for style in STYLES {
        let mut random = Random::new(20);
        let mut records = vec![model::record(&mut random, 0), model::long_record(&mut random, 100_000)];
        records.push(model::record(&mut random, 2));
        let model = Model::new(records, style);
        let (records, machine) = run(&model, 4096, &[Habit::Asked], &mut random);
        let expected: Vec<String> = model.records.iter().map(|record| squeezed(record)).collect();
        assert!(records == expected, "{style:?}");
        // Half of a response is in the mean what is new at least, and none is asked in vain but to write it again.
        assert!(machine.failures() <= 1, "{style:?}: {} failures", machine.failures());
        assert!((machine.requests() as usize) < model.text.len() / 2500, "{} requests", machine.requests());
    }
}

#[test]
fn one_large_value_comes_whole() {
    let mut random = Random::new(21);
    for style in STYLES {
        let model = Model::new(vec![model::long_record(&mut random, 60_000)], style);
        for habit in [Habit::Asked, Habit::AskedFenced] {
            all(&model, 4096, &[habit], &mut random);
        }
    }
}

#[test]
fn a_long_record_is_never_changed_whatever_the_habits() {
    let mut whole = 0;
    let count = cases(60);
    for number in 0..count {
        let mut random = Random::new(number + 3000);
        let style = STYLES[random.below(STYLES.len())];
        let mut records = Vec::new();
        for number in 0..1 + random.below(6) {
            let bytes = 1000 + random.below(9000);
            records.push(if random.one_in(2) {
                model::long_record(&mut random, bytes)
            } else {
                model::record(&mut random, number)
            });
        }
        // That it is over cannot be told where the last record is too long to be repeated.
        records.push(model::record(&mut random, 7));
        let model = Model::new(records, style);
        let habits = [
            Habit::Asked,
            Habit::Asked,
            Habit::AskedFenced,
            Habit::Anchor,
            Habit::WhitespaceDiffers,
            Habit::NoOverlap,
            Habit::Restart,
            Habit::FencedRestart,
            Habit::Prose,
            Habit::Inside(0),
            Habit::AnchorInside,
            Habit::Talk,
            Habit::Fence,
            Habit::Empty,
        ];
        let (records, _) = run(&model, 300 + random.below(2000), &habits, &mut random);
        whole += usize::from(records.len() == model.records.len());
    }
    // An error is fine if the records before it are right, which `run` checks.
    assert!(whole as u64 * 200 >= count * 195, "{whole} of {count}");
}

#[test]
fn a_record_of_ten_megabytes_takes_time_in_proportion() {
    let mut random = Random::new(22);
    let mut seconds = Vec::new();
    for bytes in [1_000_000, 10_000_000] {
        let model = Model::new(vec![model::long_record(&mut random, bytes)], Style::Lines);
        let settings = ContinuationOptions::new().max_requests(100_000);
        let mut options = Options::lenient();
        options.limits.line_bytes = 64 << 20;
        let mut machine = RecordContinuation::new(settings, options);
        let (mut heard, mut record) = (0, None);
        let began = std::time::Instant::now();
        while let ContinuationStep::Ask(messages) = machine.step() {
            let asked = if messages.is_none() { String::new() } else { asked(&messages) };
            // What is new in each response is known without a look at the whole of it.
            let overlap =
                asked.rsplit_once("continue directly after them:\n\n").map_or("", |(_, overlap)| overlap);
            let mut end = (heard + 4096).min(model.text.len());
            while !model.text.is_char_boundary(end) {
                end -= 1;
            }
            machine.begin();
            machine.push(overlap);
            let new = &model.text[heard..end];
            for piece in new.as_bytes().chunks(1) {
                let at = piece.as_ptr() as usize - new.as_ptr() as usize;
                if new.is_char_boundary(at) {
                    let mut to = at + 1;
                    while !new.is_char_boundary(to) {
                        to += 1;
                    }
                    machine.push(&new[at..to]);
                }
            }
            heard = end;
            machine.finish(if end == model.text.len() { ResponseEnd::Clean } else { ResponseEnd::Cut });
            while let Some(event) = machine.next_event() {
                if let Event::Record(new) = event {
                    assert!(record.replace(new.value.as_str().to_owned()).is_none());
                }
            }
        }
        seconds.push(began.elapsed().as_secs_f64());
        assert_eq!(machine.step(), ContinuationStep::Done);
        assert!(record.as_deref() == Some(&*model.records[0]));
    }
    println!("{seconds:?} seconds");
    assert!(seconds[1] < 30.0 * seconds[0].max(0.05), "{seconds:?}");
}

#[test]
fn a_record_longer_than_allowed_is_an_error() {
    let mut random = Random::new(23);
    let model = Model::new(vec![model::long_record(&mut random, 20_000)], Style::Lines);
    let mut options = Options::lenient();
    options.limits.line_bytes = 8192;
    let mut machine = RecordContinuation::new(ContinuationOptions::new().max_requests(100), options);
    let mut heard = 0;
    let error = loop {
        match machine.step() {
            ContinuationStep::Ask(messages) => {
                let said = if messages.is_none() {
                    model.text.clone()
                } else {
                    model.does(&asked(&messages), 0, heard)
                };
                machine.begin();
                let mut at = 3000;
                while !said.is_char_boundary(at) {
                    at -= 1;
                }
                assert_eq!(feed(&mut machine, &said[..at], ResponseEnd::Cut, &mut random), [""; 0]);
                let checkpoint = serde_json::to_value(machine.checkpoint()).expect("it can be saved");
                heard = model.heard(0, checkpoint["open"].as_str().expect("a text"));
            }
            ContinuationStep::Failed(error) => break error,
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(error, ContinuationError::TooLarge { limit: 8192 });
}
