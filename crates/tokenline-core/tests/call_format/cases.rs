//! Cases of every syntax from a file, if `TOKENLINE_CALL_CASES` names one: JSON Lines with `id`, `input`, `calls`,
//! `text`, `reasoning` and `disputed`.

use serde_json::Value;
use tokenline_core::{CallFormat, Event, Options, RecordDecoder, ToolCall};

/// The result of reading a text.
#[derive(Debug, Default, PartialEq)]
struct Read {
    calls: Vec<(String, Value)>,
    text: String,
    reasoning: String,
}

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut decoder = RecordDecoder::new(Options::lenient().calls(CallFormat::Auto).text(true));
    let mut read = Read::default();
    let mut markup = String::new();
    let mut take = |decoder: &RecordDecoder, event: Event<Option<ToolCall>, ()>| match event {
        Event::Record(record) => {
            if let Some(call) = record.value {
                let parameters = serde_json::from_str(call.parameters.as_str()).expect("JSON");
                read.calls.push((call.name, parameters));
            }
        }
        Event::Text(span) => read.text.push_str(decoder.text(span)),
        Event::Reasoning(span) => read.reasoning.push_str(decoder.text(span)),
        Event::Markup(span) => markup.push_str(decoder.text(span)),
        _ => {}
    };
    let own = |event: tokenline_core::LentEvent<'_>| match event {
        Event::Record(record) => {
            let call = ToolCall::from_record(&record, None).ok();
            Event::Record(record.map(|_| call))
        }
        Event::Text(span) => Event::Text(span),
        Event::Reasoning(span) => Event::Reasoning(span),
        Event::Markup(span) => Event::Markup(span),
        Event::Rejected(diagnostic) | Event::Note(diagnostic) => Event::Note(diagnostic),
        other => panic!("not asked for: {other:?}"),
    };
    for chunk in chunks {
        let mut rest = chunk;
        loop {
            let decoded = decoder.decode(rest);
            rest = &rest[decoded.consumed..];
            let Some(event) = decoded.event.map(own) else { break };
            take(&decoder, event);
        }
    }
    while let Some(event) = decoder.finish().map(own) {
        take(&decoder, event);
    }
    read
}

#[test]
fn what_is_no_call_is_text_or_reasoning_without_markup() {
    for (input, text, reasoning) in [
        ("Llama ends a turn with <|eot_id|>.", "Llama ends a turn with <|eot_id|>.", ""),
        ("<|message_model|><|content_text|>Hello.<|end_message|>", "Hello.", ""),
        ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello.", "Hm."),
        ("<think>Hm.</think>Hello.", "Hello.", "Hm."),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
            "Hello.",
            "Hm.",
        ),
        (" to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Hello.<|eot|>", "Hello.", "Hm."),
        ("<|channel>thought\nHm.<channel|>Hello.", "Hello.", "Hm."),
    ] {
        let whole = read([input.as_bytes()]);
        assert_eq!((whole.text.trim(), whole.reasoning.trim()), (text, reasoning), "{input}");
        assert_eq!(read(input.as_bytes().chunks(1)), whole, "byte by byte: {input}");
    }
}

/// Where only the end of reasoning is marked, it is text here.
fn is_opened_in_the_prompt(case: &Value) -> bool {
    let input = case["input"].as_str().expect("an input");
    let markers =
        ["</think", "<channel|>", "<|END_THINKING|>", "<|close|>think", "<|plamo:end_think", "[/THINK]"];
    case["reasoning"].as_str().is_some_and(|it| !it.is_empty()) && markers.iter().any(|it| input.contains(it))
}

#[test]
#[ignore = "needs the file of cases, TOKENLINE_CALL_CASES"]
fn recorded_cases_of_every_syntax() {
    let path = std::env::var_os("TOKENLINE_CALL_CASES").expect("the path of the file");
    let cases = std::fs::read_to_string(path).expect("the file of cases");
    let without_space = |text: &str| text.split_whitespace().collect::<String>();
    let mut differing = Vec::new();
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("a case");
        let input = case["input"].as_str().expect("an input");
        let whole = read([input.as_bytes()]);
        assert_eq!(read(input.as_bytes().chunks(1)), whole, "byte by byte: {input}");
        // Those that were made, not taken from elsewhere, say what is text for certain.
        let is_made = case["source"].as_str().is_some_and(|source| source.starts_with("gen:"));
        let is_cut = case["note"].as_str().is_some_and(|note| note.contains("truncated"));
        // Some calls are found only where tools are defined.
        let is_read = case["calls"].as_array().is_some_and(|calls| calls.len() == whole.calls.len());
        let is_sure = is_made && is_read && !is_cut && case["disputed"].as_bool() != Some(true);
        let expected = case["text"].as_str().map(without_space);
        if is_sure
            && !is_opened_in_the_prompt(&case)
            && expected.is_some_and(|it| it != without_space(&whole.text))
        {
            differing.push((case["id"].clone(), whole.text, case["text"].clone()));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
