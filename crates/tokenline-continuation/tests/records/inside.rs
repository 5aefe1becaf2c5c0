//! Responses that begin inside a record, or repeat one in other words, where nothing shows it at once.

use super::*;

/// The records of these responses, and the machine after them.
fn comes(options: &Options, responses: &[(&str, ResponseEnd)]) -> (Vec<String>, RecordContinuation) {
    let mut random = Random::new(40);
    let mut machine = RecordContinuation::new(ContinuationOptions::new(), options.clone());
    let mut records = Vec::new();
    for (said, end) in responses {
        machine.begin();
        records.extend(feed(&mut machine, said, *end, &mut random));
    }
    (records, machine)
}

const CUT: ResponseEnd = ResponseEnd::Cut;
const CLEAN: ResponseEnd = ResponseEnd::Clean;

#[test]
fn an_object_within_an_element_is_no_element() {
    let lenient = Options::lenient();
    let wrapped = Options::lenient().items("/rows").expect("a pointer");
    for (options, open, close) in [(&lenient, "[", "]"), (&wrapped, "{\"ok\":true,\"rows\":[", "]}")] {
        let first = open.to_owned() + "{\"id\":1,\"of\":[{\"x\":1},{\"x\":2}],\"z\":0},";
        let last = "{\"id\":1,\"of\":[{\"x\":1},{\"x\":2}],\"z\":0},{\"id\":2,\"of\":[]}".to_owned() + close;
        for end in [CUT, CLEAN] {
            for inside in ["{\"x\":2}],\"z\":0},{\"id\":2,\"of\":[]}", "{\"x\":1},{\"x\":2}", "{\"x\":2}]"] {
                let said = inside.to_owned() + if end == CLEAN { close } else { "" };
                let (records, machine) = comes(options, &[(&first, CUT), (&said, end)]);
                assert_eq!((records.len(), machine.failures()), (1, 1), "{said}");
                let (records, machine) = comes(options, &[(&first, CUT), (&said, end), (&last, CLEAN)]);
                assert_eq!((records.len(), machine.step()), (2, ContinuationStep::Done), "{said}");
            }
        }
        // Nothing shows that nothing is left out.
        let said = "{\"id\":2,\"of\":[]},{\"id\":3,\"of\":[]}".to_owned() + close;
        let (records, machine) = comes(options, &[(&first, CUT), (&said, CLEAN)]);
        assert_eq!((records.len(), machine.failures()), (1, 1));
    }
}

#[test]
fn an_element_within_an_element_like_it_is_no_element() {
    let options = Options::lenient();
    let first = "[{\"c\":[{\"c\":[]},{\"c\":[{\"c\":[1]}]}]},";
    for (said, end) in [
        ("{\"c\":[{\"c\":[1]}]}]},{\"c\":[2]}]", CLEAN),
        ("{\"c\":[{\"c\":[1]}]}]},{\"c\":", CUT),
        ("{\"c\":[{\"c\":[1]}]}", CUT),
        ("{\"c\":[1]}]}]},{\"c\":[2]}]", CLEAN),
    ] {
        let (records, machine) = comes(&options, &[(first, CUT), (said, end)]);
        assert_eq!((records.len(), machine.failures()), (1, 1), "{said}");
    }
    // Behind the anchor it is one.
    let said = "{\"c\":[{\"c\":[]},{\"c\":[{\"c\":[1]}]}]},{\"c\":[2]},{\"c\":[3]},{";
    let (records, machine) = comes(&options, &[(first, CUT), (said, CUT)]);
    assert_eq!((records.len(), machine.failures()), (3, 0), "{said}");
}

#[test]
fn what_follows_the_array_in_its_wrapper_is_no_element() {
    let options = Options::lenient().items("/rows").expect("a pointer");
    let text =
        "{\"rows\":[{\"n\":1},{\"n\":2},{\"n\":3}],\"meta\":{\"n\":4,\"of\":[{\"n\":5}]},\"s\":\"{é}\"}";
    for cut in (10..text.find("meta").expect("it is there")).chain([text.len() - 1]) {
        let (records, machine) = comes(&options, &[(&text[..cut], CUT), (&text[cut - cut % 2..], CUT)]);
        assert!(
            ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"]
                .starts_with(&records.iter().map(|all| &**all).collect::<Vec<_>>())
        );
        let delivered = machine.records() as usize;
        if let Some(last) = delivered.checked_sub(1) {
            let anchor = text.match_indices("{\"n\"").nth(last).expect("a record").0;
            let (records, machine) = comes(
                &options,
                &[(&text[..cut], CUT), (&text[cut - cut % 2..], CUT), (&text[anchor..], CLEAN)],
            );
            assert_eq!((records.len(), machine.step()), (3, ContinuationStep::Done), "{cut}");
        }
    }
}

#[test]
fn an_object_on_a_line_of_its_own_is_no_record() {
    let options = Options::lenient();
    let record = |n: u32| {
        let value = serde_json::json!({"id": n, "of": [{"x": 1}, {"x": 2}], "z": {"y": 1}});
        serde_json::to_string_pretty(&value).expect("JSON")
    };
    let text: String = (1..5).map(|n| record(n) + "\n").collect();
    let expected: Vec<String> = (1..5).map(|n| squeezed(&record(n))).collect();
    let (records, _) = comes(&options, &[(&text, CLEAN)]);
    assert_eq!(records, expected);
    for cut in record(1).len() + 1..text.len() {
        for from in 0..cut {
            if !text[from..].trim_start().starts_with('{') {
                continue;
            }
            let (records, _) = comes(&options, &[(&text[..cut], CUT), (&text[from..], CLEAN)]);
            assert!(expected.starts_with(&records), "{cut} {from} {records:#?}");
        }
    }
}

#[test]
fn a_last_record_in_other_words_is_no_new_one() {
    let options = Options::lenient();
    for (open, between, close) in [("", "\n", "\n"), ("[", ",", "]")] {
        let first = format!("{open}{{\"id\":1,\"of\":\"a\"}}{between}{{\"id\":2,\"of\":\"b\"}}{between}");
        let changed = format!("{{\"id\":2,\"of\":\"B\"}}{between}{{\"id\":3,\"of\":\"c\"}}{close}");
        let (records, machine) = comes(&options, &[(&first, CUT), (&changed, CLEAN)]);
        assert_eq!((records.len(), machine.failures()), (2, 1));
    }
}

#[test]
fn lines_that_end_in_carriage_returns_are_lines() {
    let options = Options::lenient();
    let text = "{\"n\":1}\r\n{\"n\":2,\"x\":\"y\"}\r\n{\"n\":3}\r\n";
    let expected = ["{\"n\":1}", "{\"n\":2,\"x\":\"y\"}", "{\"n\":3}"];
    for cut in 9..text.len() {
        for from in [0, text[..cut - 1].rfind("{\"n").expect("a record")] {
            let (records, machine) = comes(&options, &[(&text[..cut], CUT), (&text[from..], CLEAN)]);
            assert!(
                expected.starts_with(&records.iter().map(|all| &**all).collect::<Vec<_>>()),
                "{cut} {from}"
            );
            if from == 0 {
                assert_eq!((records.len(), machine.step()), (3, ContinuationStep::Done), "{cut}");
            }
        }
    }
}

#[test]
fn a_checkpoint_at_any_byte_of_a_continuation_goes_on_there() {
    let lines = ["{\"n\":1,\"x\":[{\"n\":7}]}", "{\"n\":2}", "{\"n\":3,\"x\":\"some text\"}", "{\"n\":4}"];
    let expected: Vec<String> = lines.iter().map(|line| squeezed(line)).collect();
    for (open, between, close) in [("", "\n", "\n"), ("[", ",", "]")] {
        let text = open.to_owned() + &lines.join(between) + close;
        let third = text.find(lines[2]).expect("it is there");
        for cut in [third, third + 5, third + 20] {
            // The anchor, nothing repeated, from the cut on, and all of it.
            for from in [third - lines[1].len() - 1, third, cut, 0] {
                for taken in 0..text.len() - from {
                    let mut random = Random::new(41);
                    let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
                    machine.begin();
                    let mut records = feed(&mut machine, &text[..cut], CUT, &mut random);
                    machine.begin();
                    for at in from..from + taken {
                        machine.push(&text[at..=at]);
                        while let Some(event) = machine.next_event() {
                            if let Event::Record(record) = event {
                                records.push(squeezed(record.value.as_str()));
                            }
                        }
                    }
                    let saved = serde_json::to_string(&machine.checkpoint()).expect("it can be saved");
                    let checkpoint: Checkpoint = serde_json::from_str(&saved).expect("it was saved");
                    let settings = ContinuationOptions::resume(checkpoint);
                    let mut machine = RecordContinuation::new(settings, Options::lenient());
                    // Where a record may as well be a part of the open one, it is asked for once more.
                    while matches!(machine.step(), ContinuationStep::Ask(_)) && machine.failures() < 2 {
                        machine.begin();
                        let anchor = text.find(lines[records.len() - 1]).expect("it is there");
                        records.extend(feed(&mut machine, &text[anchor..], CLEAN, &mut random));
                    }
                    assert_eq!(records, expected, "{cut} {from} {taken} {saved}");
                    assert_eq!(machine.step(), ContinuationStep::Done);
                }
            }
        }
    }
}

/// The records of these responses and of continuations as requested, and the last step.
fn completed(
    options: &Options,
    text: &str,
    responses: &[(&str, ResponseEnd)],
) -> (Vec<String>, ContinuationStep) {
    let (mut records, mut machine) = comes(options, responses);
    let mut random = Random::new(42);
    while let ContinuationStep::Ask(messages) = machine.step() {
        let asked = asked(&messages);
        let said = match asked.rsplit_once("continue directly after them:\n\n") {
            Some((_, overlap)) => &text[text.rfind(overlap).expect("it is in the text")..],
            None => text,
        };
        machine.begin();
        records.extend(feed(&mut machine, said, CLEAN, &mut random));
    }
    (records, machine.step())
}

#[test]
fn what_is_around_the_records_is_no_record() {
    let options = Options::lenient().items("/rows").expect("a pointer");
    let text = "{\"rows\":[{},{}]}";
    let (records, step) = completed(&options, text, &[("{\"ro", CUT), ("{\"rows\":[{", CUT)]);
    assert_eq!((&*records, step), (&["{}".to_owned(), "{}".to_owned()][..], ContinuationStep::Done));

    let text = "{\"rows\":[{\"rows\":[1],\"z\":1},{\"z\":2}]}";
    let (records, step) = completed(&options, text, &[("{\"rows\":[{\"rows\":[", CUT)]);
    assert_eq!((records.len(), step), (2, ContinuationStep::Done));

    let text = "<think>I wrote {\"n\":1}</think>{\"rows\":[{\"a\":1},{\"a\":2}]}";
    let (records, step) = completed(&options, text, &[(&text[..text.len() - 12], CUT)]);
    assert_eq!((records.len(), step), (2, ContinuationStep::Done));
}

#[test]
fn behind_an_overlap_the_array_goes_on_or_is_over() {
    let long = "{\"s\":\"it was the best of times, it was the worst of times, 0123456789.\"}";
    let options = Options::lenient().items("/rows").expect("a pointer");
    let text = format!("{{\"rows\":[{{}},{long},{{\"rows\":[{{\"n\":0}}]}}]}}");
    let cut = text.find("6789").expect("it is there");
    let again = format!("{{}},{}", &long[..10]);
    let (records, step) = completed(&options, &text, &[(&text[..cut], CUT), (&again, CUT)]);
    let expected = ["{}", long, "{\"rows\":[{\"n\":0}]}"].map(squeezed);
    assert_eq!((&*records, step), (&expected[..], ContinuationStep::Done));

    let options = Options::lenient();
    let text =
        format!("[{{}},{long}]\n\nThe type of these is {{\"s\":\"string\"}}.\n{{\"s\":\"an example\"}}\n");
    let cut = text.find("6789").expect("it is there");
    let (records, step) = completed(&options, &text, &[(&text[..cut], CUT), (&again, CUT)]);
    assert_eq!((&*records, step), (&["{}", long].map(squeezed)[..], ContinuationStep::Done));
}

#[test]
fn a_value_behind_the_array_is_no_record() {
    let options = Options::lenient().items("/rows").expect("a pointer");
    let text = format!("{{\"rows\":[{{}}],\"end\":{{\"c\":[{}0]}},\"x\":1}}", "{\"n\":1}, ".repeat(200));
    let (records, _) = completed(&options, &text, &[(&text[..text.len() - 20], CUT)]);
    assert_eq!(records, ["{}"]);
}

#[test]
fn a_checkpoint_in_the_first_element_knows_the_array() {
    for (text, form) in [("[{\"n\":", "elements"), ("[\n  {\"n\":1", "elements"), ("{\"n\":", "lines")] {
        let mut machine = RecordContinuation::new(ContinuationOptions::new(), Options::lenient());
        machine.begin();
        machine.push(text);
        assert!(machine.next_event().is_none());
        let saved = serde_json::to_value(machine.checkpoint()).expect("it can be saved");
        assert_eq!((&saved["form"], saved["records"].as_u64()), (&form.into(), Some(0)), "{text}");
    }
}

/// With every pair of tags, before each way in which a list goes on.
#[test]
fn a_model_may_think_before_it_continues() {
    let long = "x".repeat(5000);
    let (cut, again) = (format!("{{\"text\":\"{long}"), format!("{{\"text\":\"{long}\"}}\n"));
    let lists = [
        ("{\"n\":1}\n{\"n\":2}\n{\"n".to_owned(), "{\"n\":2}\n{\"n\":3}\n".to_owned(), 3),
        ("[{\"n\":1},{\"n\":2},{\"n".to_owned(), "[{\"n\":1},{\"n\":2},{\"n\":3}]".to_owned(), 3),
        ("[{\"num\"".to_owned(), "[{\"num\":1},{\"num\":2}]".to_owned(), 2),
        (format!("{{\"n\":1}}\n{cut}"), format!("{{\"n\":1}}\n{again}"), 2),
        // The end of the record is asked for, and all of it comes.
        (cut, again, 1),
    ];
    for (opener, closer) in THINK_TAGS {
        let thought = format!("{{\"n\":2}} is the last.\n{{\"n\":9}}\n{closer}\n\n");
        // The prompt may open it.
        for (options, thought) in [
            (Options::lenient(), format!("\n{opener}{thought}")),
            (Options::lenient().in_reasoning(true), thought),
        ] {
            let is_prompted = options.begins_in_reasoning();
            if is_prompted && opener != THINK_TAGS[0].0 {
                continue;
            }
            let first_thought = if is_prompted { &*thought } else { "" };
            for ((first, second, records), piece) in lists.iter().flat_map(|list| [(list, 1), (list, 1000)]) {
                let mut machine = RecordContinuation::new(ContinuationOptions::new(), options.clone());
                let mut came = Vec::new();
                for (said, end) in
                    [(first_thought.to_owned() + first, CUT), (thought.clone() + second, CLEAN)]
                {
                    machine.begin();
                    let chars: Vec<char> = said.chars().collect();
                    for piece in chars.chunks(piece) {
                        machine.push(&piece.iter().collect::<String>());
                        came.extend(texts(&mut machine, &said));
                    }
                    machine.finish(end);
                    came.extend(texts(&mut machine, &said));
                }
                let place = format!("{opener} {is_prompted} {piece} {second:.60}");
                assert_eq!((came.len(), machine.step()), (*records, ContinuationStep::Done), "{place}");
                assert!(came.iter().all(|text| text.starts_with('{') && text.ends_with('}')), "{place}");
            }
        }
    }
}

/// The text at the place of each record that comes.
fn texts(machine: &mut RecordContinuation, said: &str) -> Vec<String> {
    let events = std::iter::from_fn(|| machine.next_event());
    events
        .filter_map(|event| match event {
            Event::Record(record) => {
                Some(said[record.span.start as usize..record.span.end as usize].to_owned())
            }
            _ => None,
        })
        .collect()
}

#[test]
fn what_stands_around_repeated_records_is_passed() {
    let lenient = Options::lenient;
    let rows = || lenient().items("/rows").expect("a pointer");
    let mut short = lenient();
    short.limits.line_bytes = 40;
    let many = (2..10).map(|n| format!("{{\"n\":{n}}}\n")).collect::<String>();
    let prose = "{\"n\":1}\nNow the second:\n{\"n\":2}\n";
    let thoughts = "<think>a</think> <think>b {\"n\":9}</think>{\"n\":2}\n{\"n\":3}\n";
    for (options, first, second, records) in [
        // On one line.
        (lenient(), "{\"n\":0},", "{\"n\":0}, {\"n\":2}\n", 2),
        (lenient(), "{\"n\":0}\n", "{\"n\":0} {\"n\":2}\n", 2),
        (lenient(), "{\"n\":1}\n{\"n\":2}\n{\"n", "{\"n\":2}{\"n\":3}\n{\"n\":4}\n", 4),
        (lenient(), "{\"n\":0}\n{\"n\":1}\n", "{\"n\":0}\n{\"n\":1}, {\"n\":2}\n{\"n\":3}\n", 4),
        // Longer than a record may be, though no record is.
        (short, "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n", &many, 10),
        // Prose and thoughts.
        (lenient(), &format!("{prose}{{\"n"), &format!("{prose}{{\"n\":3}}\n"), 3),
        (lenient(), "{\"n\":1}\n{\"n\":2}\n{\"n", thoughts, 3),
        (lenient(), "{\"n\":1}\n{\"n\":2}\n{\"n", "<thinking>{</thinking>\n{\"n\":2}\n{\"n\":3}\n", 3),
        (lenient(), "[{\"n\":1},{\"n\":2},{\"n", "[THINK]{\"n\":9}[/THINK]{\"n\":2},{\"n\":3}]", 3),
        (
            lenient().in_reasoning(true),
            "hm\n</think>\n{\"n\":1}\n{\"n\":2}\n{\"n",
            "hm {\n</think>\n{\"n\":2}\n{\"n\":3}\n",
            3,
        ),
        // What opens the array.
        (lenient(), "Here are [some] rows:\n[{\"num\"", "[{\"num\":1},{\"num\":2}]", 2),
        (rows(), "{\"tags\":[", "{\"tags\":[\"x\"],\"rows\":[{\"n\":1},{\"n\":2}]}", 2),
        (rows(), "{\"k\":\"[", "{\"k\":\"[x\",\"rows\":[{\"n\":1}]}", 1),
        (
            rows(),
            "{\"k\": \"x\",\n\"rows\":[{\"n\":1},{\"n",
            "Rows:\n{\"k\":\"x\",\"rows\":[{\"n\":1},{\"n\":2}]}",
            2,
        ),
        (rows(), "{\"k\": \"x\",\n\"rows\":[{\"n\":1},{\"n", "[{\"n\":1},{\"n\":2}]}", 2),
        // What follows it.
        (lenient(), "[{\"num\"", "[{\"num\":1},{\"num\":2}]\n\nFor example {\"n\":9}.\n{\"n\":5}\n", 2),
        (lenient().text(true), "{\"n\":1}\n{\"n", "{\"n\":1}\n{\"n\":2}\n", 2),
    ] {
        for piece in [1, 1000] {
            let mut machine = RecordContinuation::new(ContinuationOptions::new(), options.clone());
            let mut came = 0;
            for (said, end) in [(first, CUT), (second, CLEAN)] {
                machine.begin();
                for piece in said.as_bytes().chunks(piece) {
                    machine.push(std::str::from_utf8(piece).expect("ASCII"));
                    came += std::iter::from_fn(|| machine.next_event())
                        .filter(|event| matches!(event, Event::Record(_)))
                        .count();
                }
                machine.finish(end);
                came += std::iter::from_fn(|| machine.next_event())
                    .filter(|event| matches!(event, Event::Record(_)))
                    .count();
            }
            assert_eq!(
                (came, machine.step()),
                (records, ContinuationStep::Done),
                "{first:?} {second:?} {piece}"
            );
        }
    }
}
