//! Records that grow: exactly one event ends each, wherever the deltas are cut.

use std::iter;

use crate::common::random;
use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::{Delta, Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

const TEXTS: &[&str] = &[
    "{\"a\":1}\n{\"a\":\"two\"}\n",
    "Use {braces} like {\"a\" in code}: {\"a\": fine.\n\nThat is {all}.\n",
    "{\"a\":[1,2,{\"b\":NaN}]}\n{\"a\":3}\n",
    "[{\"a\":1},{\"a\":{\"b\":[]}}]\nDone {\"sure\":",
    "<think>{\"a\":1} maybe</think>\n{\"a\":2}\nSo {x: 1} it is {\"a\":1} and so on.\n",
    "{\"name\":\"ls\",\"parameters\":{\"path\":\"/\"}}\nor {\"name\":\"ls\",\"par\n\n```rust\nfn f() { {\"a\": }\n```\n",
    "{\"name\":\"Bob\" and so on\nLook at {\"name\":\"Bob\" and so on\n[{\"a\":NaN},{\"a\":1}]\n",
    "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call> {\"a\":1} {\"a\":\"\n\nnot a record",
];

/// Reads the text in these pieces. Panics unless each growing record has one end.
fn read(options: &ResponseOptions, has_updates: bool, pieces: &[&str]) -> Vec<String> {
    let mut response = ResponseParser::<Raw>::new(Provider::OpenAiChat, options.clone());
    let (mut growing, mut discarded, mut seen) = (None, Vec::new(), Vec::new());
    let ends = [Delta::finish("stop")];
    for delta in pieces.iter().map(|piece| Delta::text(piece)).chain(ends) {
        response.push_delta(delta);
        for event in iter::from_fn(|| response.next_event()) {
            let delivered = match event {
                ResponseEvent::Partial { delta, .. } => {
                    assert!(growing.is_none_or(|start| start == delta.start), "{pieces:?}: two grow");
                    growing = Some(delta.start);
                    continue;
                }
                ResponseEvent::PartialDiscarded { .. } => {
                    discarded.push(growing.take().expect("something had grown"));
                    continue;
                }
                ResponseEvent::Record { record, .. } => (record.value.to_string(), record.span, true),
                ResponseEvent::ToolCall { call, record: Some(record), .. } => {
                    (call.to_json(), record.span, !has_updates)
                }
                ResponseEvent::RejectedCall { call, .. } => {
                    (call.diagnostic.code.to_string(), call.diagnostic.span, !has_updates)
                }
                ResponseEvent::Rejected { diagnostic, .. } => {
                    (diagnostic.code.to_string(), diagnostic.span, true)
                }
                _ => continue,
            };
            let (text, span, ends_record) = delivered;
            if let Some(start) = growing.take() {
                assert!(start >= span.start, "{pieces:?}: {text} ends another");
            }
            let is_discarded = discarded.iter().any(|start| (span.start..span.end).contains(start));
            assert!(!(is_discarded && ends_record), "{pieces:?}: {text} had ended");
            seen.push(text);
        }
    }
    assert_eq!(growing, None, "{pieces:?}: what has grown has no end");
    seen
}

#[test]
fn each_record_that_grows_has_one_end() {
    let mut random = random();
    let modes = [TextMode::Records, TextMode::ToolCalls, TextMode::RecordsAndToolCalls];
    for (text_as, wants_text, updates) in
        modes.into_iter().flat_map(|mode| [(mode, false, false), (mode, true, false), (mode, true, true)])
    {
        let mut options = ResponseOptions::from(Options::lenient().partials(true)).text_as(text_as);
        if wants_text {
            options = options.text_and_reasoning();
        }
        if updates {
            options = options.call_updates();
        }
        for text in TEXTS {
            let whole = read(&options, updates, &[text]);
            let bytes: Vec<&str> = text.split_inclusive(|_| true).collect();
            assert_eq!(read(&options, updates, &bytes), whole);
            for _ in 0..20 {
                let (mut pieces, mut rest) = (Vec::new(), *text);
                while !rest.is_empty() {
                    let at = (1 + random(9)).min(rest.len());
                    let (piece, more) = rest.split_at(at);
                    pieces.push(piece);
                    rest = more;
                }
                assert_eq!(read(&options, updates, &pieces), whole, "{pieces:?}");
            }
        }
    }
}
