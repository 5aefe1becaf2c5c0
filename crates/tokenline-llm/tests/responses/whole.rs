//! Texts and calls that come again as a whole, and content that comes after the end.

use serde_json::{Value, json};
use tokenline_core::Code;
use tokenline_llm::{Provider, ResponseEvent, TextMode};

use crate::common::extent::cases;
use crate::common::{Seen, at_every_cut, call, chunk, decode, delivered, parser, parser_of, random, text};
use crate::{DONE, codes};

fn event(data: &Value) -> String {
    let name = data["type"].as_str().expect("a type");
    format!("event: {name}\ndata: {data}\n\n")
}

/// A response of OpenAI Responses: its events, and the output of the last one.
fn seen(text_as: TextMode, events: &[Value], output: &Value) -> Seen {
    let start = json!({"type": "response.created", "response": {}});
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let wire: String = [&start].into_iter().chain(events).chain([&end]).map(event).collect();
    at_every_cut(parser_of(Provider::OpenAiResponses, text_as), wire.as_bytes())
}

fn call_item(arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": arguments, "status": "completed"})
}

fn added(arguments: &str) -> Value {
    json!({"type": "response.output_item.added", "output_index": 0, "item": call_item(arguments)})
}

fn arguments(delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": delta})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "status": "completed", "content": [{"type": "output_text", "text": text}]})
}

fn text_delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text})
}

fn text_done(text: &str) -> Value {
    json!({"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": text})
}

fn done(item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": 0, "item": item})
}

#[test]
fn the_final_response_completes_a_call() {
    let whole = r#"{"city":"P"}"#;
    let finals = [
        (vec![], json!([call_item(whole)])),
        (
            vec![
                json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": whole}),
            ],
            json!([]),
        ),
        (vec![done(&call_item(whole))], json!([])),
        (vec![done(&call_item(whole)), done(&call_item(whole))], json!([call_item(whole)])),
        // Its reasoning is not in the stream, so the position differs.
        (vec![], json!([{"type": "reasoning", "summary": []}, call_item(whole)])),
    ];
    for begun in [
        vec![added("")],
        vec![added("{}")],
        vec![added("null")],
        vec![added(""), arguments("{\"ci")],
        vec![added(""), arguments("{\"ci"), arguments("ty\":\"P\"}")],
    ] {
        for (end, output) in &finals {
            let events = [begun.clone(), end.clone()].concat();
            let seen = seen(TextMode::Records, &events, output);
            assert_eq!(delivered(&seen), [r#"0 f {"city":"P"} Some("c")"#], "{events:?} {output}");
            assert!(seen.is_complete && codes(&seen).is_empty(), "{events:?} {output}");
        }
    }
}

#[test]
fn a_final_response_that_contradicts_a_call_is_reported() {
    let other = json!([call_item(r#"{"city":"Q"}"#)]);
    let open = seen(TextMode::Records, &[added(""), arguments("{\"city\":\"P")], &other);
    assert_eq!((delivered(&open).len(), codes(&open), open.is_complete), (0, vec![Code::TrailingData], true));
    let item = call_item(r#"{"city":"P"}"#);
    let ended = seen(TextMode::Records, &[added(""), done(&item)], &other);
    assert_eq!(
        (delivered(&ended).len(), codes(&ended), ended.is_complete),
        (1, vec![Code::LateFragment], false)
    );
}

#[test]
fn calls_of_the_final_response_that_were_not_streamed_are_new() {
    let second = json!({"type": "function_call", "call_id": "d", "name": "g", "arguments": "{}", "status": "completed"});
    let output = json!([call_item("{}"), second]);
    let seen = seen(TextMode::Records, &[added(""), arguments("{}")], &output);
    assert_eq!(delivered(&seen), [r#"0 f {} Some("c")"#, r#"0 g {} Some("d")"#]);
}

#[test]
fn a_whole_text_completes_what_has_arrived() {
    let whole = "Here:\n{\"a\":1}\n{\"b\":\"é 😀\"}\nand {\"c\":3}\n{\"d\":4}";
    let records = [r#"0 0 {"a":1}"#, r#"0 0 {"b":"é 😀"}"#, r#"0 0 {"c":3}"#, r#"0 0 {"d":4}"#];
    for at in (0..=whole.len()).filter(|at| whole.is_char_boundary(*at)) {
        let middle = (0..=at / 2).rfind(|middle| whole.is_char_boundary(*middle)).unwrap_or_default();
        let cut = [text_delta(&whole[..middle]), text_delta(&whole[middle..at])];
        for (end, output) in [
            (vec![text_done(whole)], json!([])),
            (vec![done(&message(whole))], json!([])),
            (vec![], json!([message(whole)])),
            (vec![text_done(whole), done(&message(whole))], json!([message(whole)])),
        ] {
            let events = [cut.to_vec(), end].concat();
            let mut parser = parser_of(Provider::OpenAiResponses, TextMode::Records);
            let start = json!({"type": "response.created", "response": {}});
            let last =
                json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
            let wire: String = [&start].into_iter().chain(&events).chain([&last]).map(event).collect();
            let seen = decode(&mut parser, [wire.as_bytes()]);
            assert_eq!(delivered(&seen), records, "{wire}");
            assert!(seen.is_complete && seen.report.rejected() == 0, "{wire}");
        }
    }
}

#[test]
fn a_whole_text_may_be_trimmed() {
    let texts = [text_delta("\n {\"a\":1}\n{\"b\":2}\n\n"), text_done("{\"a\":1}\n{\"b\":2}")];
    let seen = seen(TextMode::Records, &texts, &json!([message("{\"a\":1}\n{\"b\":2}")]));
    assert_eq!((delivered(&seen).len(), seen.is_complete, seen.report.rejected()), (2, true, 0));
}

#[test]
fn a_whole_text_that_contradicts_is_reported() {
    for (streamed, whole, records, code) in [
        // What was delivered is another.
        ("{\"a\":1}\n{\"b\":2", "{\"a\":2}\n{\"b\":2}", 1, Code::LateFragment),
        // What is open is another.
        ("{\"a\":1}\n{\"b\":2", "{\"a\":1}\n{\"c\":2}", 1, Code::TrailingData),
        ("{\"a\":1}\n{\"b\":2}", "{\"a\":1}\n{\"b\":3}", 1, Code::TrailingData),
        ("{\"a\":1", "{\"b\":1}", 0, Code::TrailingData),
        ("{\"a\":1}\n{\"b\":2}", "{\"a\":1}", 1, Code::TrailingData),
    ] {
        let finals = [
            (vec![text_done(whole)], json!([])),
            (vec![done(&message(whole))], json!([])),
            (vec![], json!([message(whole)])),
        ];
        for (end, output) in finals {
            let events = [vec![text_delta(streamed)], end].concat();
            let seen = seen(TextMode::Records, &events, &output);
            let codes = codes(&seen);
            assert_eq!(delivered(&seen).len(), records, "{streamed} {whole}: {:?}", seen.events);
            assert!(codes.contains(&code), "{streamed} {whole}: {codes:?}");
            assert_eq!(seen.is_complete, code == Code::TrailingData, "{streamed} {whole}");
        }
    }
}

#[test]
fn each_part_has_a_whole_text() {
    let part = |number: u64, of_type: &str, member: &str, text: &str| json!({"type": format!("response.output_text.{of_type}"), "output_index": 0, "content_index": number, member: text});
    let content = |texts: [&str; 2]| {
        let parts = texts.map(|text| json!({"type": "output_text", "text": text}));
        json!({"type": "message", "status": "completed", "content": parts})
    };
    let output = json!([content(["{\"a\":1}\n", "{\"b\":2}\n{\"c\":3}\n"])]);
    let events = [
        part(0, "delta", "delta", "{\"a\""),
        part(0, "delta", "delta", ":1}\n"),
        part(0, "done", "text", "{\"a\":1}\n"),
        part(1, "delta", "delta", "{\"b\":"),
        part(1, "delta", "delta", "2}\n"),
    ];
    let seen = seen(TextMode::Records, &events, &output);
    assert_eq!(delivered(&seen), [r#"0 0 {"a":1}"#, r#"0 0 {"b":2}"#, r#"0 0 {"c":3}"#]);
    assert!(seen.is_complete && seen.report.rejected() == 0);
}

/// The codes of a response of OpenAI chat that goes on with `late` after its finish reason, and whether it is complete.
fn after_the_end(first: &str, late: &[&str]) -> (usize, Vec<Code>, bool) {
    let late: String = late.iter().map(|late| text(late)).collect();
    let wire = text(first) + &chunk("{}", "stop") + &late + &chunk("{}", "stop") + DONE;
    let seen = at_every_cut(parser(TextMode::Records), wire.as_bytes());
    let is_record = |event: &&ResponseEvent<_>| matches!(event, ResponseEvent::Record { .. });
    (seen.events.iter().filter(is_record).count(), codes(&seen), seen.is_complete)
}

#[test]
fn text_that_goes_on_with_a_released_record_is_late() {
    let record = "{\"x\":1}";
    for late in [&[",\"limit\":10}"][..], &["", " ", ",", "\"limit\":10}"], &["}"], &[" and so on"], &["0"]] {
        assert_eq!(after_the_end(record, late), (1, vec![Code::LateFragment], false), "{late:?}");
    }
    // A new line, nothing, another value.
    for (late, records) in [
        (&["\n{\"y\":2}"][..], 2),
        (&["", "\n", "{\"y\":2}"], 2),
        (&["\r\n{\"y\":2}"], 2),
        (&["{\"y\":2}"], 2),
        (&[" "], 1),
        (&[""], 1),
        (&[","], 1),
        (&["\nand so on"], 1),
    ] {
        assert_eq!(after_the_end(record, late), (records, vec![], true), "{late:?}");
    }
    // The record's line has ended, or there is none.
    assert_eq!(after_the_end("{\"x\":1}\n", &["and so on"]), (1, vec![], true));
    assert_eq!(after_the_end("Well", &[", yes"]), (0, vec![], true));
}

#[test]
fn late_text_of_a_block_is_late_unless_the_block_begins_anew() {
    let event = |data: Value| event(&data);
    let start = |index: u64| {
        event(
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        )
    };
    let delta = |index: u64, text: &str| {
        event(
            json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        )
    };
    let stop = |index: u64| event(json!({"type": "content_block_stop", "index": index}));
    let end = event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}))
        + &event(json!({"type": "message_stop"}));
    let begin = event(json!({"type": "message_start", "message": {"content": []}}))
        + &start(0)
        + &delta(0, "{\"x\":1}")
        + &stop(0);
    for (late, records, codes) in [
        (
            start(1) + &delta(1, "{\"y\":2}") + &delta(0, ",\"limit\":10}") + &stop(1),
            2,
            vec![Code::LateFragment],
        ),
        (start(0) + &delta(0, ", that is all") + &stop(0), 1, vec![]),
        (start(1) + &delta(1, ", that is all") + &stop(1), 1, vec![]),
    ] {
        let wire = begin.clone() + &late + &end;
        let seen = at_every_cut(parser_of(Provider::Anthropic, TextMode::Records), wire.as_bytes());
        assert_eq!(delivered(&seen).len(), records, "{wire}");
        assert_eq!(crate::codes(&seen), codes, "{wire}");
        assert_eq!(seen.is_complete, codes.is_empty(), "{wire}");
    }
}

#[test]
fn arguments_of_a_delivered_call_are_late() {
    let finish = chunk("{}", "tool_calls");
    for (late, is_late) in [
        (call("a", "f", ",\"y\":2}"), true),
        (call("a", "f", "{\"x\":2}"), true),
        (call("a", "f", "{\"x\":1}"), false),
        (call("a", "f", ""), false),
        (call("b", "f", "{\"x\":2}"), false),
    ] {
        let wire = call("a", "f", "{\"x\":1}") + &finish + &late + &finish + DONE;
        let seen = at_every_cut(parser(TextMode::Records), wire.as_bytes());
        let expected = if is_late { vec![Code::LateFragment] } else { vec![] };
        assert_eq!((codes(&seen), seen.is_complete), (expected, !is_late), "{late}");
    }
}

#[test]
fn a_complete_interaction_completes_its_steps() {
    let event = |kind: &str, mut data: Value| {
        data["event_type"] = kind.into();
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let text_step = |text: &str| json!({"type": "model_output", "content": [{"type": "text", "text": text}]});
    let call_step =
        |arguments: Value| json!({"type": "function_call", "id": "c", "name": "f", "arguments": arguments});
    let wire = |steps: Value| {
        let delta = |index: u64, delta: Value| event("step.delta", json!({"index": index, "delta": delta}));
        event("interaction.created", json!({"interaction": {}}))
            + &event("step.start", json!({"index": 1, "step": {"type": "model_output"}}))
            + &delta(1, json!({"type": "text", "text": "{\"a\":1}\n{\"b\""}))
            + &event("step.start", json!({"index": 2, "step": call_step(json!({}))}))
            + &delta(2, json!({"type": "arguments_delta", "arguments": "{\"city\":"}))
            + &event("interaction.completed", json!({"interaction": {"status": "completed", "steps": steps}}))
    };
    let seen = |steps| {
        let parser = parser_of(Provider::GeminiInteractions, TextMode::Records);
        at_every_cut(parser, wire(steps).as_bytes())
    };
    let call = call_step(json!({"city": "P"}));
    let whole = seen(json!([text_step("{\"a\":1}\n{\"b\":2}"), call]));
    let expected = [r#"0 1 {"a":1}"#, r#"0 1 {"b":2}"#, r#"0 f {"city":"P"} Some("c")"#];
    let mut found = delivered(&whole);
    found.sort();
    assert_eq!(
        (found, codes(&whole), whole.is_complete),
        (expected.map(str::to_owned).to_vec(), vec![], true)
    );
    let other = seen(json!([text_step("{\"a\":3}\n{\"b\":2}"), call]));
    assert!(codes(&other).contains(&Code::LateFragment) && !other.is_complete);
}

const LINES: [&str; 6] = ["{\"a\":1}", "{\"a\":2}", "{\"bé\":[10]}", "", "Some text", "{\"a\":\"😀\"}"];

/// The records of the lines that have ended, and the length of the text up to the last of them.
fn released(text: &str) -> (Vec<String>, usize) {
    let (mut records, mut at, mut end) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if let Some(record) = line.strip_suffix('\n').filter(|line| line.starts_with('{')) {
            records.push(format!("0 0 {record}"));
            end = at + record.len();
        }
        at += line.len();
    }
    (records, end)
}

#[test]
fn random_whole_texts_follow_the_rules() {
    let mut random = random();
    let mut parser = parser_of(Provider::OpenAiResponses, TextMode::Records);
    let mut counts = [0; 3];
    let is_strange = |line: &str| match line.strip_suffix('\n') {
        Some(line) => !LINES.contains(&line),
        None => !LINES.iter().any(|known| known.starts_with(line)),
    };
    let texts: usize = cases(4_000);
    for _ in 0..texts {
        let mut lines: Vec<&str> = (0..1 + random(4)).map(|_| LINES[random(LINES.len())]).collect();
        let whole = lines.join("\n");
        // Now and then another text is streamed.
        if random(3) == 0 {
            let at = random(lines.len());
            lines[at] = LINES[random(LINES.len())];
        }
        let chars: Vec<char> = lines.join("\n").chars().collect();
        let (mut events, mut streamed) = (Vec::new(), String::new());
        // The deltas, some dropped or doubled; they may stop halfway.
        for piece in chars[..random(chars.len() + 1)].chunks(1 + random(12)) {
            let piece: String = piece.iter().collect();
            for _ in 0..[1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2][random(11)] {
                events.push(text_delta(&piece));
                streamed.push_str(&piece);
            }
        }
        let (mut records, end) = released(&streamed);
        let is_news = !whole.trim().is_empty();
        let is_start = |start: &str| whole.trim_start().starts_with(start.trim_start());
        let expected = match () {
            () if streamed.trim().is_empty()
                || !is_news
                || is_start(&streamed)
                || whole.trim() == streamed.trim() =>
            {
                None
            }
            () if is_start(&streamed[..end]) => Some(Code::TrailingData),
            () => Some(Code::LateFragment),
        };
        // All say the same.
        let finals = 1 + random(7);
        if finals & 1 > 0 {
            events.extend(vec![text_done(&whole); 1 + random(2)]);
        }
        if finals & 2 > 0 {
            events.extend(vec![done(&message(&whole)); 1 + random(2)]);
        }
        let output = if finals & 4 > 0 { json!([message(&whole)]) } else { json!([]) };
        let start = json!({"type": "response.created", "response": {}});
        let last =
            json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
        let wire: String = [&start].into_iter().chain(&events).chain([&last]).map(event).collect();
        let seen = decode(&mut parser, [wire.as_bytes()]);
        let codes = codes(&seen);
        match expected {
            None if is_news => {
                records =
                    released(&format!("{}\n", if streamed.len() > whole.len() { &streamed } else { &whole }))
                        .0;
                counts[0] += 1;
                assert_eq!((delivered(&seen), codes, seen.is_complete), (records, vec![], true), "{wire}");
            }
            None => {}
            // A delta that came twice made another line.
            Some(_) if streamed.split_inclusive('\n').any(is_strange) => {
                assert!(!codes.is_empty(), "{wire}");
            }
            Some(code) => {
                counts[if code == Code::LateFragment { 1 } else { 2 }] += 1;
                assert_eq!(delivered(&seen), records, "{code} {wire}");
                assert!(codes.contains(&code), "{code} {codes:?} {wire}");
                assert_eq!(seen.is_complete, code != Code::LateFragment, "{codes:?} {wire}");
            }
        }
    }
    assert!(counts.iter().all(|count| *count > texts / 50), "{counts:?}");
}
