//! Responses that repeat themselves are stopped, wherever the wire is cut.

use std::iter;

use serde_json::json;
use tokenline_core::json::Raw;
use tokenline_core::{EarlyEnd, Options, RepetitionLimits};
use tokenline_llm::{
    Delta, FinishReason, Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode,
};

fn parser(text_as: TextMode) -> ResponseParser<Raw> {
    let options = ResponseOptions::from(Options::lenient()).text_as(text_as);
    ResponseParser::new(Provider::OpenAiChat, options.stop_on_repetition(RepetitionLimits::default()))
}

/// Pushes the deltas until the response is stopped. Returns how many were read, and what was delivered.
fn read<'a>(
    text_as: TextMode,
    deltas: impl IntoIterator<Item = Delta<'a>>,
) -> (usize, Vec<String>, Option<EarlyEnd>) {
    let mut response = parser(text_as);
    let (mut count, mut seen) = (0, Vec::new());
    for delta in deltas {
        response.push_delta(delta);
        count += 1;
        for event in iter::from_fn(|| response.next_event()) {
            seen.push(match event {
                ResponseEvent::Record { record, .. } => record.value.to_string(),
                ResponseEvent::ToolCall { call, .. } => call.name,
                ResponseEvent::Rejected { diagnostic, .. } => diagnostic.code.to_string(),
                ResponseEvent::RejectedCall { call, .. } => call.diagnostic.code.to_string(),
                ResponseEvent::Note { diagnostic, .. } => {
                    format!("{}: {}", diagnostic.code, diagnostic.message)
                }
                ResponseEvent::Finish { reason, .. } => format!("finish {reason}"),
                other => format!("{other:?}"),
            });
        }
        if response.report().ended_by().is_some() {
            break;
        }
    }
    response.finish();
    let rest = iter::from_fn(|| response.next_event()).count();
    let is_stopped = response.report().ended_by().is_some();
    assert!(!response.is_complete() && (rest == 0 || !is_stopped), "nothing follows");
    assert_eq!(response.is_cut_off(), response.report().ended_by().is_some());
    (count, seen, response.report().ended_by())
}

const STOPPED: Option<EarlyEnd> = Some(EarlyEnd::Repetition);

#[test]
fn text_reasoning_and_arguments_are_watched() {
    let sentence = "I will look at the file again. ";
    for mode in [TextMode::Records, TextMode::ToolCalls, TextMode::RecordsAndToolCalls, TextMode::Text] {
        let (count, seen, ended) = read(mode, iter::repeat_n(Delta::text(sentence), 1000));
        assert_eq!((count, ended), (17, STOPPED), "{mode:?}");
        let message = "repetition: the text repeats 31 bytes 16 times; the response was stopped";
        assert_eq!(seen[seen.len() - 2..], [message, "finish repetition"], "{mode:?}: {seen:?}");
        let (count, _, ended) = read(mode, iter::repeat_n(Delta::reasoning(sentence), 1000));
        assert_eq!((count, ended), (17, STOPPED), "{mode:?}");
    }
    // Inside a record that never ends, after one that is delivered.
    let open = [Delta::text("{\"a\":1}\n{\"a\":\"")];
    let (count, seen, _) =
        read(TextMode::Records, open.into_iter().chain(iter::repeat_n(Delta::text(sentence), 1000)));
    assert!(count <= 19, "{count}");
    assert_eq!((&*seen[0], &*seen[1]), ("{\"a\":1}", "truncated"), "{seen:?}");
    // In the arguments of a call.
    let call =
        |arguments| tokenline_core::CallDelta { index: Some(0), name: None, arguments, ..Default::default() };
    let begin = tokenline_core::CallDelta { name: Some("write"), ..call("{\"text\":\"") };
    let deltas =
        [Delta::tool_call(begin)].into_iter().chain(iter::repeat_n(Delta::tool_call(call(sentence)), 1000));
    let (count, seen, _) = read(TextMode::Records, deltas);
    assert!(count <= 19, "{count}");
    assert_eq!(seen[0], "truncated", "{seen:?}");
}

#[test]
fn equal_records_and_calls_are_watched_and_rows_of_one_shape_are_not() {
    let pad = "x".repeat(120);
    let same = format!("{{\"name\":\"{pad}\"}}\n");
    let (count, seen, ended) = read(TextMode::Records, iter::repeat_n(Delta::text(&same), 1000));
    assert_eq!((count, ended), (64, STOPPED));
    assert!(seen[64].starts_with("repetition: the same record 64 times"), "{seen:?}");
    // All at once.
    let all = same.repeat(1000);
    let (_, seen, ended) = read(TextMode::Records, [Delta::text(&all)]);
    assert_eq!(ended, STOPPED);
    assert!(seen.iter().any(|line| line.starts_with("repetition: the same record")), "{seen:?}");

    let rows: Vec<String> =
        (0..400).map(|at| format!("Here is the next:\n{{\"id\":{at},\"ok\":true}}\n")).collect();
    let (_, seen, ended) = read(TextMode::Records, rows.iter().map(|row| Delta::text(row)));
    assert_eq!((seen.iter().filter(|line| line.starts_with('{')).count(), ended), (400, None));

    let arguments = json!({"path": pad}).to_string();
    let calls: Vec<_> = (0..1000)
        .map(|at| {
            let call = tokenline_core::CallDelta {
                index: Some(at),
                id: None,
                name: Some("read"),
                arguments: &arguments,
                is_whole: true,
                lossy: false,
            };
            Delta::tool_call(call)
        })
        .collect();
    let ends = (0..1000).map(|block| Delta::BlockStop {
        choice: 0,
        block,
        completion: Some(tokenline_core::CompletedBy::ItemStop),
    });
    let (count, seen, ended) =
        read(TextMode::Records, calls.into_iter().zip(ends).flat_map(|(call, end)| [call, end]));
    assert_eq!(ended, STOPPED);
    assert!((128..=132).contains(&count), "{count}: {seen:?}");
    assert!(seen.iter().any(|line| line.starts_with("repetition: the same tool call 64 times")), "{seen:?}");
}

#[test]
fn it_is_off_by_default_and_a_servers_own_end_is_the_same_reason() {
    let mut response = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    for _ in 0..1000 {
        response.push_delta(Delta::text("again and again "));
    }
    response.push_delta(Delta::finish("repetition"));
    response.finish();
    let events: Vec<_> = iter::from_fn(|| response.next_event()).collect();
    assert!(
        matches!(events.last(), Some(ResponseEvent::Finish { reason, .. }) if reason.as_str() == "repetition")
    );
    let notes = events.iter().filter_map(ResponseEvent::diagnostic).map(|note| note.message.as_str());
    assert!(notes.clone().any(|note| note == "the model repeats itself; the server ended the response"));
    assert!(response.is_complete() && response.is_cut_off());
}

#[test]
fn the_wire_may_be_cut_anywhere() {
    let event =
        |text: &str| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    let mut wire = event("{\"a\":1}\nSo: ");
    for _ in 0..100 {
        wire += &event("no, wait. ");
    }
    let read = |size: usize| {
        let mut response = parser(TextMode::Records);
        let mut events = Vec::new();
        for chunk in wire.as_bytes().chunks(size) {
            response.push(chunk);
            events.extend(iter::from_fn(|| response.next_event()));
        }
        response.finish();
        events.extend(iter::from_fn(|| response.next_event()));
        (events, response.report().clone())
    };
    let whole = read(wire.len());
    assert_eq!(whole.1.ended_by(), STOPPED);
    for size in [1, 2, 7, 61, 259] {
        assert_eq!(read(size), whole, "in pieces of {size}");
    }
}

#[test]
fn long_wires_stop_at_the_same_event() {
    let event =
        |text: &str| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    let rows = |from: usize| (from..from + 400).map(|n| format!("{{\"id\":{n}}}\n")).collect::<String>();
    let small: String = (0..3000).map(|n| event(&format!("{{\"n\":{n}}}\n"))).collect();
    for wire in [
        event(&rows(0)) + &event(&rows(1000)) + &event(&"Never mind. ".repeat(80)) + &event(&rows(2000)),
        small + &event("Well, then. ").repeat(80) + &event(&rows(5000)),
    ] {
        let read = |size: usize| {
            let mut response = parser(TextMode::Records);
            let mut events = Vec::new();
            for chunk in wire.as_bytes().chunks(size) {
                response.push(chunk);
                events.extend(iter::from_fn(|| response.next_event()));
            }
            response.finish();
            events.extend(iter::from_fn(|| response.next_event()));
            (events, response.report().clone())
        };
        let whole = read(wire.len());
        assert_eq!(whole.1.ended_by(), STOPPED);
        assert!(matches!(whole.0.last(), Some(ResponseEvent::Finish { .. })), "{:?}", whole.0.last());
        for size in [16, 1000, 30_000] {
            assert!(read(size) == whole, "in pieces of {size}");
        }
    }
}

#[test]
fn the_same_words_before_each_of_many_calls_are_no_loop() {
    let mut deltas = Vec::new();
    let arguments: Vec<String> = (0..40).map(|n| json!({"path": n}).to_string()).collect();
    for (at, arguments) in (0..).zip(&arguments) {
        deltas.push(Delta::reasoning("Now the next one. Let me see. "));
        deltas.push(Delta::text("I will read the next file.\n"));
        let call = tokenline_core::CallDelta {
            index: Some(at),
            id: None,
            name: Some("read"),
            arguments,
            is_whole: true,
            lossy: false,
        };
        deltas.push(Delta::tool_call(call));
        let completion = Some(tokenline_core::CompletedBy::ItemStop);
        deltas.push(Delta::BlockStop { choice: 0, block: at, completion });
    }
    let (_, seen, ended) = read(TextMode::Text, deltas);
    assert_eq!((seen.iter().filter(|event| *event == "read").count(), ended), (40, None));
}

#[test]
fn what_has_ended_and_what_is_here_already_is_not_stopped() {
    // The event that ends the choice.
    let content = "Never mind. ".repeat(80);
    let chunk = json!({"choices": [{"delta": {"content": content}, "finish_reason": "stop"}]});
    let body = json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]});
    for wire in [format!("data: {chunk}\n\ndata: [DONE]\n\n"), body.to_string()] {
        let mut response = parser(TextMode::Records);
        response.push(&wire);
        response.finish();
        while response.next_event().is_some() {}
        assert!(response.is_complete(), "{wire}");
        assert_eq!(response.report().ended_by(), None);
    }
    // A quota came first.
    let same = format!("{{\"name\":\"{}\"}}\n", "x".repeat(120)).repeat(100);
    let mut response = parser(TextMode::Records).with_options(|options| options.max_records(64));
    response.push_delta(Delta::text(&same));
    while response.next_event().is_some() {}
    assert_eq!(response.report().ended_by(), Some(EarlyEnd::MaxRecords));
    // Choices beyond the limit cost nothing, and stop nothing.
    let mut response = parser(TextMode::Records);
    for choice in 0..1000 {
        response.push_delta(Delta::Reasoning { choice, text: "x" });
    }
    for _ in 0..100 {
        response.push_delta(Delta::Reasoning { choice: 999, text: "Wait, let me think. " });
        response.push_delta(Delta::Reasoning { choice: 1, text: "Wait, let me think. " });
    }
    while response.next_event().is_some() {}
    assert_eq!(response.finish_reason(1).map(FinishReason::as_str), Some("repetition"));
}

#[test]
fn calls_and_choices_are_told_apart() {
    // A server that numbers all calls alike: the ids differ. Equal calls have a limit of their own.
    let call = |id, arguments| tokenline_core::CallDelta {
        index: Some(0),
        id: Some(id),
        name: Some("write"),
        arguments,
        ..Default::default()
    };
    let text: String = (0..300).map(|n| format!("line {n}; ")).collect();
    let arguments = json!({ "text": text }).to_string();
    let ids: Vec<String> = (0..20).map(|id| format!("c{id}")).collect();
    let (count, seen, ended) =
        read(TextMode::Records, ids.iter().map(|id| Delta::tool_call(call(id, &arguments))));
    assert_eq!((count, ended), (20, None), "{seen:?}");
    // Two calls that grow in turn, one of which loops.
    let part = |index, arguments| tokenline_core::CallDelta {
        index: Some(index),
        name: None,
        arguments,
        ..Default::default()
    };
    let begin = |index| {
        Delta::tool_call(tokenline_core::CallDelta { name: Some("write"), ..part(index, "{\"text\":\"") })
    };
    let lines: Vec<String> = (0..200).map(|n| format!("This is line {n} of the file. ")).collect();
    let turns = lines.iter().flat_map(|line| {
        [Delta::tool_call(part(0, "I will try it again. ")), Delta::tool_call(part(1, line))]
    });
    let (count, _, ended) = read(TextMode::Records, [begin(0), begin(1)].into_iter().chain(turns));
    assert_eq!(ended, STOPPED);
    assert!(count < 80, "{count}");
    // The same words before each of many records.
    let records: Vec<String> = (0..200).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let deltas =
        records.iter().flat_map(|record| [Delta::reasoning("On to the next one. "), Delta::text(record)]);
    let (_, seen, ended) = read(TextMode::Records, deltas);
    assert_eq!((seen.iter().filter(|event| event.starts_with('{')).count(), ended), (200, None));
}

#[test]
fn a_choice_that_ended_in_time_hides_no_other() {
    let chunk = |index: u64, reasoning: &str, reason: Option<&str>| {
        let choice = json!({
            "index": index,
            "delta": { "reasoning_content": reasoning },
            "finish_reason": reason,
        });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let loops = "I will look at the file again. ".repeat(40);
    let mut response = parser(TextMode::Records);
    response.push(chunk(0, &loops, Some("stop")).as_bytes());
    assert!(iter::from_fn(|| response.next_event()).count() > 0);
    assert_eq!(response.report().ended_by(), None);
    response.push(chunk(1, &loops, None).as_bytes());
    let last = iter::from_fn(|| response.next_event()).last();
    assert!(matches!(last, Some(ResponseEvent::Finish { reason: FinishReason::Repetition, .. })), "{last:?}");
    assert_eq!(response.report().ended_by(), STOPPED);
}

#[test]
fn the_values_of_streamed_arguments_are_told_apart() {
    let part = |n: usize| {
        let part = json!({ "jsonPath": format!("$.labels[{n}]"), "stringValue": "spam" });
        let call = if n == 0 {
            json!({ "name": "label", "partialArgs": [part], "willContinue": true })
        } else {
            json!({ "partialArgs": [part], "willContinue": true })
        };
        let candidate = json!({ "content": { "parts": [{ "functionCall": call }] } });
        format!("data: {}\n\n", json!({ "candidates": [candidate] }))
    };
    let stopped_at = |most: usize| {
        let options = ResponseOptions::from(Options::lenient());
        let mut response = ResponseParser::<Raw>::new(
            Provider::Gemini,
            options.stop_on_repetition(RepetitionLimits::default()),
        );
        (0..most).find(|n| {
            response.push(part(*n).as_bytes());
            iter::from_fn(|| response.next_event()).for_each(drop);
            response.report().ended_by().is_some()
        })
    };
    let at = stopped_at(2000).expect("a loop");
    assert!((8192 / 7..=8192 / 7 + 12).contains(&at), "{at}");
}
