//! Outcomes of lists whose model has one habit, or all of them. `cargo test --release -p tokenline-continuation --test
//! records table -- --nocapture` prints the table of the guide; `LISTS` is how many there are of each kind.

use super::*;

struct Row {
    lists: usize,
    complete: usize,
    requests: usize,
    fewest: usize,
    refused: usize,
    wrong: usize,
}

/// Lists of a model with these habits, cut every few records, and what was delivered of them.
fn lists(count: usize, habits: &[Habit]) -> Row {
    let mut row = Row { lists: count, complete: 0, requests: 0, fewest: 0, refused: 0, wrong: 0 };
    for number in 0..count {
        let mut random = Random::new(number as u64 + 50_000);
        let style = STYLES[number % STYLES.len()];
        let records: Vec<String> =
            (0..8 + random.below(30)).map(|number| model::record(&mut random, number)).collect();
        let model = Model::new(records, style);
        // A model that starts over must be able to write more than it has.
        let least = if habits.iter().all(|habit| matches!(habit, Habit::Restart | Habit::FencedRestart)) {
            model.text.len() / 2
        } else {
            400
        };
        let limit = least + random.below(400);
        let settings = ContinuationOptions::new().max_requests(200);
        let mut machine = RecordContinuation::new(settings, options(style));
        let (mut delivered, mut heard, mut is_right) = (Vec::new(), 0, true);
        while let ContinuationStep::Ask(messages) = machine.step() {
            let said = match &messages {
                None => model.text.clone(),
                Some(_) => match habits[random.below(habits.len())] {
                    Habit::Asked => model.does(&asked(&messages), delivered.len(), heard),
                    Habit::AskedFenced => {
                        format!(
                            "```json\n{}\n```",
                            model.does(&asked(&messages), delivered.len(), heard).trim_end()
                        )
                    }
                    habit => model.goes_on(delivered.len(), heard, habit),
                },
            };
            let mut at = (limit / 2 + random.below(limit)).min(said.len());
            while !said.is_char_boundary(at) {
                at -= 1;
            }
            let end = if at < said.len() { ResponseEnd::Cut } else { ResponseEnd::Clean };
            machine.begin();
            delivered.extend(feed(&mut machine, &said[..at], end, &mut random));
            let is_prefix = |record: (&String, &String)| *record.0 == squeezed(record.1);
            is_right &=
                delivered.len() <= model.records.len() && delivered.iter().zip(&model.records).all(is_prefix);
            if !is_right {
                break;
            }
            let checkpoint = serde_json::to_value(machine.checkpoint()).expect("it can be saved");
            heard = model.heard(delivered.len(), checkpoint["open"].as_str().expect("a text"));
        }
        row.wrong += usize::from(!is_right);
        let is_complete = machine.step() == ContinuationStep::Done;
        row.wrong += usize::from(is_right && is_complete && delivered.len() < model.records.len());
        if is_right && is_complete {
            row.complete += 1;
            row.requests += machine.requests() as usize;
            row.fewest += model.text.len().div_ceil(limit);
        }
        row.refused += usize::from(is_right && !is_complete);
    }
    row
}

#[test]
fn nothing_wrong_is_delivered() {
    let count = std::env::var("LISTS").map_or(40, |lists| lists.parse().expect("a number"));
    println!("| the model | lists | complete | requests / minimum | refused | wrong |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, habits) in [
        ("does as asked", &[Habit::Asked][..]),
        ("as asked, in a code fence", &[Habit::AskedFenced]),
        ("repeats the last record after prose", &[Habit::Prose]),
        ("repeats it with other white space", &[Habit::WhitespaceDiffers]),
        ("opens the array again", &[Habit::Reopened]),
        ("starts over", &[Habit::Restart]),
        ("repeats nothing", &[Habit::NoOverlap]),
        ("continues inside the cut record", &[Habit::Inside(0)]),
        ("repeats something else", &[Habit::Several(3)]),
        ("changes what it repeats", &[Habit::Changed]),
        ("does all of these, and worse", &attack::HABITS),
    ] {
        let row = lists(count, habits);
        let requests = match row.fewest {
            0 => "-".to_owned(),
            fewest => format!("{:.2}", row.requests as f64 / fewest as f64),
        };
        println!(
            "| {name} | {} | {} | {requests} | {} | {} |",
            row.lists, row.complete, row.refused, row.wrong
        );
        assert_eq!(row.wrong, 0, "{name}");
        // A model that does as it is asked comes to the end, unless its responses are too short.
        assert!(habits != [Habit::Asked] || row.complete * 100 >= count * 95, "{} of {count}", row.complete);
    }
}
