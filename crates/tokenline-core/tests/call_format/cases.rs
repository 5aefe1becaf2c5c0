//! Cases of every syntax from a file, if `TOKENLINE_CALL_CASES` names one: JSON Lines with `id`, `input`, `calls`,
//! `text`, `reasoning` and `disputed`.

use serde_json::Value;
use tokenline_core::{CallFormat, Event, Options, RecordDecoder, ToolCall};

/// What a text was read as.
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
fn cases_of_every_syntax() {
    let Some(path) = std::env::var_os("TOKENLINE_CALL_CASES") else { return };
    let cases = std::fs::read_to_string(path).expect("the file of cases");
    let (mut texts, mut reasonings, mut markers) = (0, 0, Vec::new());
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("a case");
        let input = case["input"].as_str().expect("an input");
        let whole = read([input.as_bytes()]);
        assert_eq!(read(input.as_bytes().chunks(1)), whole, "byte by byte: {input}");
        let without_space = |text: &str| text.split_whitespace().collect::<String>();
        let is = |read: &str, expected: &Value| {
            expected.as_str().is_none_or(|it| without_space(it) == without_space(read))
        };
        texts += usize::from(is(&whole.text, &case["text"]));
        reasonings += usize::from(is(&whole.reasoning, &case["reasoning"]));
        if whole.text.contains(['|', '<']) && case["disputed"].as_bool() != Some(true) {
            markers.push((case["id"].clone(), whole.text, case["text"].clone()));
        }
    }
    for (id, text, expected) in &markers {
        eprintln!("{id} {text:?} {expected}");
    }
    eprintln!("text {texts}, reasoning {reasonings}, text with markers {}", markers.len());
}
