//! Outcomes of documents whose model has one habit, or all of them. `cargo test --release -p tokenline-continuation
//! --test documents table -- --nocapture` prints the table of the guide; `LISTS` is how many there are of each kind.

use serde_json::{Value, json};
use tokenline_continuation::{ContinuationOptions, Decision, DocumentContinuation, ResponseEnd};

use crate::common::{boundary, compact, pretty};
use crate::model::solid;
use crate::random::Random;

/// The way in which a model continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Asked,
    Fenced,
    AfterProse,
    WhitespaceDiffers,
    Restart,
    RestartSpaced,
    NoOverlap,
    /// Begins so many bytes too early or too late.
    WrongOverlap,
    /// The rest of another document.
    Other,
    /// From any byte of the document.
    Anywhere,
}

const ALL: [Habit; 10] = [
    Habit::Asked,
    Habit::Fenced,
    Habit::AfterProse,
    Habit::WhitespaceDiffers,
    Habit::Restart,
    Habit::RestartSpaced,
    Habit::NoOverlap,
    Habit::WrongOverlap,
    Habit::Other,
    Habit::Anywhere,
];

/// Rows that are all different, within a few members.
fn document(random: &mut Random) -> String {
    let text = |random: &mut Random| -> String {
        let words = ["best ", "worst ", "of times, ", "\"", "é", "\\", "\n", "{[", "age "];
        (0..2 + random.below(12)).map(|_| *random.pick(&words)).collect()
    };
    let rows: Vec<Value> = (0..8 + random.below(30))
        .map(|id| json!({"id": id, "text": text(random), "tags": [random.below(9), {"n": random.below(99)}]}))
        .collect();
    let value = json!({"title": text(random), "data": {"count": rows.len(), "rows": rows}, "end": true});
    let all = value.to_string();
    if random.once_in(2) { pretty(&all) } else { all }
}

/// The model's continuation of `held`, which ends at `at` in the text. The overlap is requested.
fn says(
    habit: Habit,
    text: &str,
    other: &str,
    (held, at, overlap): (&str, usize, &str),
    random: &mut Random,
) -> String {
    let spaced = |text: &str| if text.contains('\n') { compact(text) } else { pretty(text) };
    let asked = overlap.to_owned() + &text[at..];
    match habit {
        Habit::Asked => asked,
        Habit::Fenced => format!("```json\n{asked}\n```"),
        Habit::AfterProse => format!("Here is the rest:\n\n{asked}"),
        Habit::WhitespaceDiffers => {
            // From the byte that follows as many solid bytes as the first requested one.
            let other = spaced(text);
            let before = solid(held).take_while(|at| *at < held.len() - overlap.len()).count();
            solid(&other).nth(before).map_or_else(String::new, |at| other[at..].to_owned())
        }
        Habit::Restart => text.to_owned(),
        Habit::RestartSpaced => spaced(text),
        Habit::NoOverlap => text[at..].to_owned(),
        Habit::WrongOverlap => {
            let from = (at + random.below(400)).saturating_sub(200).min(text.len());
            text[boundary(text, from)..].to_owned()
        }
        Habit::Other => other[boundary(other, at.min(other.len()))..].to_owned(),
        Habit::Anywhere => text[boundary(text, random.below(text.len()))..].to_owned(),
    }
}

#[derive(Default)]
struct Row {
    complete: usize,
    requests: usize,
    fewest: usize,
    refused: usize,
    wrong: usize,
}

fn documents(count: usize, habits: &[Habit], overlap_bytes: usize) -> Row {
    let mut row = Row::default();
    for number in 0..count {
        let mut random = Random::new(number as u64 + 70_000);
        let (text, other) = (document(&mut random), document(&mut random));
        // A model that starts over must be able to write more than it has.
        let is_restart = habits.iter().all(|habit| matches!(habit, Habit::Restart | Habit::RestartSpaced));
        let limit = if is_restart { text.len() / 2 } else { 400 } + random.below(400);
        let options =
            ContinuationOptions::new().context_bytes(1000).overlap_bytes(overlap_bytes).max_requests(200);
        let mut machine = DocumentContinuation::new("", options);
        let end = loop {
            let held = machine.document().text().to_owned();
            let at = text_place(&text, &held).expect("it is a beginning");
            let requested = machine.next_request().expect("it has not ended").requested_overlap;
            let said = match requested {
                None => text.clone(),
                Some(overlap) => {
                    let overlap = &held[held.len() - overlap..];
                    says(*random.pick(habits), &text, &other, (&held, at, overlap), &mut random)
                }
            };
            let to = boundary(&said, (limit / 2 + random.below(limit)).min(said.len()));
            let decision = machine.receive(&said[..to], ResponseEnd::Cut);
            if text_place(&text, machine.document().text()).is_none() {
                row.wrong += 1;
                println!("{habits:?} {number}: {held:?}\n+ {:?}", &said[..to]);
                break None;
            }
            match decision {
                Decision::Continue(_) => {}
                Decision::Complete => break Some(Ok(())),
                Decision::Failed(error) => break Some(Err(error)),
            }
        };
        match end {
            Some(Ok(())) => {
                row.complete += 1;
                row.requests += machine.requests() as usize;
                row.fewest += text.len().div_ceil(limit);
            }
            Some(Err(_)) => {
                assert!(machine.document().complete_part().is_some());
                row.refused += 1;
            }
            None => {}
        }
    }
    row
}

/// Where in the text what is held ends, which is a beginning of it, white space apart.
fn text_place(text: &str, held: &str) -> Option<usize> {
    if text.starts_with(held) {
        return Some(held.len());
    }
    let mut places = solid(text);
    for at in solid(held) {
        let place = places.next()?;
        if held[at..].chars().next() != text[place..].chars().next() {
            return None;
        }
    }
    Some(places.next().unwrap_or(text.len()))
}

#[test]
fn nothing_wrong_is_merged() {
    let count = std::env::var("LISTS").map_or(60, |lists| lists.parse().expect("a number"));
    println!("| the model | documents | complete | requests / minimum | refused | wrong |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, habits) in [
        ("does as asked", &[Habit::Asked][..]),
        ("as asked, in a code fence", &[Habit::Fenced]),
        ("as asked, after prose", &[Habit::AfterProse]),
        ("as asked, with other white space", &[Habit::WhitespaceDiffers]),
        ("starts over", &[Habit::Restart]),
        ("starts over, with other white space", &[Habit::RestartSpaced]),
        ("repeats nothing", &[Habit::NoOverlap]),
        ("repeats too much or too little", &[Habit::WrongOverlap]),
        ("continues another document", &[Habit::Other]),
        ("begins anywhere", &[Habit::Anywhere]),
        ("does all of these", &ALL),
        ("does all of these, with the least overlap", &ALL),
    ] {
        let overlap_bytes = if name.contains("least") { 0 } else { 200 };
        let row = documents(count, habits, overlap_bytes);
        let requests = match row.fewest {
            0 => "-".to_owned(),
            fewest => format!("{:.2}", row.requests as f64 / fewest as f64),
        };
        println!("| {name} | {count} | {} | {requests} | {} | {} |", row.complete, row.refused, row.wrong);
        assert_eq!(row.wrong, 0, "{name}");
        assert!(habits != [Habit::Asked] || row.complete == count, "{} of {count}", row.complete);
    }
}
