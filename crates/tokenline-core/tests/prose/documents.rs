//! Documents of prose, alone and with records between their lines.

use tokenline_core::{CallFormat, Options, Release};

use crate::common::{Seen, at_every_split};
use crate::faults::{Faults, excerpt, guarded, records, rejects, run, shown};
use crate::pool::{Document, blocks, documents};
use crate::random::Random;
use crate::text::{is_open_at_end, lines};

fn settings() -> [(&'static str, Options); 4] {
    [
        ("lenient", Options::lenient()),
        ("on balance", Options::lenient().release(Release::OnBalance)),
        ("items", Options::lenient().items("/items").expect("a pointer")),
        ("calls", Options::lenient().calls(CallFormat::Auto)),
    ]
}

/// Checks that a text of prose yields no records or rejects.
pub(crate) fn expect_prose(faults: &mut Faults, place: &str, input: &str, seen: Result<Vec<Seen>, String>) {
    faults.checked();
    let seen = match seen {
        Ok(seen) => seen,
        Err(message) => return faults.add("panic", place, &excerpt(message.as_bytes(), 300)),
    };
    if let Some(first) = rejects(&seen).next() {
        let count = rejects(&seen).count();
        faults.add("reject", place, &format!("{count}, the first: {}", shown(first, input.as_bytes())));
    }
    if let Some(first) = records(&seen).next() {
        faults.add("invented", place, &excerpt(first.as_bytes(), 200));
    }
}

#[test]
fn prose_is_not_a_malformed_record() {
    let mut faults = Faults::default();
    for Document { name, text } in documents() {
        // One setting is enough to report.
        settings().iter().all(|(setting, options)| {
            let before = faults.count();
            expect_prose(&mut faults, &format!("{name}, {setting}"), &text, run(options, text.as_bytes()));
            faults.count() == before
        });
    }
    faults.report();
}

#[test]
fn prose_at_every_split() {
    let mut faults = Faults::default();
    for Document { name, text } in blocks() {
        let seen = guarded(|| at_every_split(Options::lenient(), text.as_bytes()));
        faults.checked();
        if let Err(message) = seen {
            faults.add("panic", &name, &excerpt(message.as_bytes(), 300));
        }
    }
    faults.report();
}

/// A record by its number.
fn record(id: usize) -> String {
    match id % 5 {
        0 => format!(r#"{{"id":{id}}}"#),
        1 => format!(r#"{{"id": {id}, "text": "a {{ b ] c, \"d\": [1"}}"#),
        2 => format!(
            r#"{{"id":{id},"nested":{{"x":[1,{{"y":null}}],"e":{{}}}},"s":"é\u00e9 \\frac{{1}}{{2}}"}}"#
        ),
        3 => format!(r#"{{"id":{id},"list":[]}}  "#),
        _ => format!(r#"{{ "id" : {id} , "empty" : {{}} }}"#),
    }
}

/// A document with records on lines of their own, and whether one of them follows an open bracket of the
/// document. The two may then form a malformed array or object.
fn with_records(seed: u64, text: &str) -> (String, Vec<String>, bool) {
    let mut random = Random::new(seed);
    let starts = lines(text).into_iter().map(|line| line.start);
    let mut places: Vec<usize> = starts.filter(|start| !is_in_fence(text, *start)).collect();
    places.push(text.len());
    let mut chosen: Vec<usize> = (0..1 + random.below(5)).map(|_| *random.pick(&places)).collect();
    chosen.sort_unstable();
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (mut out, mut records, mut is_behind_open, mut from) = (String::new(), Vec::new(), false, 0);
    for at in chosen {
        out.push_str(&text[from..at]);
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(line_end);
        }
        is_behind_open |= is_open_at_end(&text[..at]);
        let record = record(records.len());
        out.push_str(&record);
        out.push_str(line_end);
        records.push(record.trim().to_owned());
        from = at;
    }
    out.push_str(&text[from..]);
    (out, records, is_behind_open)
}

fn is_in_fence(text: &str, at: usize) -> bool {
    let is_marker = |line: &&str| ["```", "~~~"].iter().any(|marker| line.trim_start().starts_with(marker));
    text[..at].lines().filter(is_marker).count() % 2 == 1
}

#[test]
fn records_between_lines_of_prose_are_delivered() {
    let mut faults = Faults::default();
    let options = Options::lenient();
    for (index, Document { name, text }) in documents().iter().enumerate() {
        let rejected_alone = run(&options, text.as_bytes()).map_or(usize::MAX, |seen| rejects(&seen).count());
        for variant in 0..3 {
            let (input, expected, is_behind_open) = with_records((index * 3 + variant) as u64, text);
            let place = format!("{name}, variant {variant}");
            faults.checked();
            let seen = match run(&options, input.as_bytes()) {
                Ok(seen) => seen,
                Err(message) => {
                    faults.add("panic", &place, &excerpt(message.as_bytes(), 300));
                    continue;
                }
            };
            let found: Vec<&str> = records(&seen).filter(|record| !is_empty(record)).collect();
            if let Some((kind, which)) = difference(&found, &expected) {
                faults.add(kind, &place, &format!("{which} in: {}", around(&input, which)));
            }
            if !is_behind_open && rejects(&seen).count() > rejected_alone {
                let last = rejects(&seen).last().expect("one more");
                faults.add("reject", &place, &format!("one more: {}", shown(last, input.as_bytes())));
            }
        }
    }
    faults.report();
}

/// The test above covers empty objects in running text.
fn is_empty(record: &str) -> bool {
    record.trim_start_matches('{').trim() == "}"
}

/// The first record that is missing or unexpected, or a difference in order.
fn difference<'a>(found: &[&'a str], expected: &'a [String]) -> Option<(&'static str, &'a str)> {
    if found == expected {
        return None;
    }
    let lost = expected.iter().find(|record| !found.contains(&record.as_str()));
    let invented = found.iter().find(|record| !expected.iter().any(|own| own == *record));
    Some(match (lost, invented) {
        (Some(lost), _) => ("lost", lost),
        (None, Some(invented)) => ("invented", invented),
        (None, None) => ("order or number", ""),
    })
}

/// The text around the first occurrence.
fn around(input: &str, what: &str) -> String {
    let at = input.find(what).unwrap_or(0);
    let from = (0..=at.saturating_sub(80)).rfind(|from| input.is_char_boundary(*from)).unwrap_or(0);
    excerpt(&input.as_bytes()[from..], 160)
}

/// A line with balanced brackets and no unclosed string hides nothing that follows it.
#[test]
fn records_after_prose_on_its_line_are_delivered() {
    let mut faults = Faults::default();
    let expected = ["{\"id\":1}".to_owned()];
    for Document { name, text } in blocks() {
        for line in lines(&text).iter().filter(|line| !line.in_fence && is_balanced(line.text)) {
            for before_and_after in [["", " "], [" and ", "\n"], [": ", " and that is it [really].\n"]] {
                let [before, after] = before_and_after;
                let input = format!("{}{before}{{\"id\":1}}{after}", line.text);
                if line.text.trim().is_empty()
                    || line.text.ends_with(['{', '[', ':', '-', '\\']) && before.is_empty()
                {
                    continue;
                }
                faults.checked();
                match run(&Options::lenient(), input.as_bytes()) {
                    Err(message) => faults.add("panic", &name, &message),
                    Ok(seen) => {
                        let found: Vec<&str> = records(&seen).filter(|record| !is_empty(record)).collect();
                        if let Some((kind, _)) = difference(&found, &expected) {
                            faults.add(kind, &name, &excerpt(input.as_bytes(), 200));
                        }
                        if let Some(first) = rejects(&seen).next() {
                            faults.add("reject", &name, &shown(first, input.as_bytes()));
                        }
                    }
                }
            }
        }
    }
    faults.report();
}

fn is_balanced(line: &str) -> bool {
    let mut open = Vec::new();
    for char in line.chars() {
        match char {
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' if open.pop() != Some(char) => return false,
            '"' | '\'' | '\\' | '`' => return false,
            _ => {}
        }
    }
    open.is_empty()
}
