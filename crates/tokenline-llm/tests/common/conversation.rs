//! Providers that reject the next turn without the data they attached to the previous one.

use super::Provider;

/// The turns with parallel calls; the turn after them is text only.
pub const TURNS: usize = 3;

/// Opaque data in the turn with this number: even its escapes must not change.
fn opaque(turn: usize, which: usize) -> String {
    format!(r"EqQB{turn}{which}\/+w\u003d\u003d")
}

fn sse(payloads: &[String]) -> String {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect()
}

/// A turn with reasoning and two parallel calls; the third turn is text only.
fn anthropic(turn: usize) -> String {
    let mut payloads =
        vec![r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#.to_owned()];
    let block = |index: usize, start: &str, delta: &str| {
        [
            format!(r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#),
            format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#),
        ]
    };
    let stop = |index: usize| format!(r#"{{"type":"content_block_stop","index":{index}}}"#);
    payloads.extend(block(
        0,
        r#"{"type":"thinking","thinking":"","signature":""}"#,
        r#"{"type":"thinking_delta","thinking":"I look "}"#,
    ));
    payloads.push(format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"signature_delta","signature":"{}"}}}}"#,
        opaque(turn, 0)
    ));
    payloads.push(stop(0));
    payloads.push(format!(
        r#"{{"type":"content_block_start","index":1,"content_block":{{"type":"redacted_thinking","data":"{}"}}}}"#,
        opaque(turn, 1)
    ));
    payloads.push(stop(1));
    for index in [2, 3] {
        let start =
            format!(r#"{{"type":"tool_use","id":"call_{turn}{index}","name":"search","input":{{}}}}"#);
        payloads.extend(block(
            index,
            &start,
            r#"{"type":"input_json_delta","partial_json":"{\"query\": \"a b\"}"}"#,
        ));
        payloads.push(stop(index));
    }
    payloads.push(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.to_owned());
    payloads.push(r#"{"type":"message_stop"}"#.to_owned());
    sse(&payloads)
}

fn gemini(turn: usize) -> String {
    let call = r#"{"functionCall":{"name":"search","args":{"query": "a b"}}"#;
    sse(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"I look.","thought":true}]},"index":0}]}"#.to_owned(),
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{call},"thoughtSignature":"{}"}},{call}}}]}},"index":0}}]}}"#,
            opaque(turn, 0)
        ),
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"","thoughtSignature":"{}"}}]}},"finishReason":"STOP","index":0}}]}}"#,
            opaque(turn, 1)
        ),
    ])
}

fn responses(turn: usize) -> String {
    let item = |index: usize, item: &str| {
        [
            format!(r#"{{"type":"response.output_item.added","output_index":{index},"item":{item}}}"#),
            format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#),
        ]
    };
    let mut payloads = vec![r#"{"type":"response.created","response":{}}"#.to_owned()];
    payloads.extend(item(0, &reasoning_item(turn)));
    for index in [1, 2] {
        let call = format!(
            r#"{{"id":"fc_{turn}{index}","type":"function_call","call_id":"call_{turn}{index}","name":"search","arguments":"{{\"query\": \"a b\"}}","status":"completed"}}"#
        );
        payloads.extend(item(index, &call));
    }
    payloads.push(r#"{"type":"response.completed","response":{"status":"completed"}}"#.to_owned());
    sse(&payloads)
}

fn reasoning_item(turn: usize) -> String {
    let (id, content) = (opaque(turn, 1), opaque(turn, 0));
    format!(
        r#"{{"id":"{id}","type":"reasoning","summary":[{{"type":"summary_text","text":"I look."}}],"encrypted_content":"{content}"}}"#
    )
}

/// The strings that the request after the turn must contain, in this order.
fn wanted(provider: Provider, turn: usize) -> Vec<String> {
    let (first, second) = (opaque(turn, 0), opaque(turn, 1));
    match provider {
        Provider::Anthropic => vec![
            format!(r#"{{"type":"thinking","thinking":"I look ","signature":"{first}"}}"#),
            format!(r#"{{"type":"redacted_thinking","data":"{second}"}}"#),
            format!(r#""id":"call_{turn}2""#),
            format!(r#""id":"call_{turn}3""#),
        ],
        Provider::Gemini => vec![
            format!(
                r#"{{"functionCall":{{"name":"search","args":{{"query": "a b"}}}},"thoughtSignature":"{first}"}}"#
            ),
            r#"{"functionCall":{"name":"search","args":{"query": "a b"}}}"#.to_owned(),
            format!(r#"{{"text":"","thoughtSignature":"{second}"}}"#),
        ],
        _ => vec![
            reasoning_item(turn),
            format!(r#""call_id":"call_{turn}1""#),
            format!(r#""call_id":"call_{turn}2""#),
        ],
    }
}

/// The response of this turn, counted from 0.
pub fn response(provider: Provider, turn: usize) -> String {
    match provider {
        Provider::Anthropic if turn >= TURNS => sse(&[
            r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#.to_owned(),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Nothing."}}"#
                .to_owned(),
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned(),
            r#"{"type":"message_stop"}"#.to_owned(),
        ]),
        Provider::Gemini if turn >= TURNS => {
            sse(&[r#"{"candidates":[{"content":{"parts":[{"text":"Nothing."}]},"finishReason":"STOP"}]}"#
                .to_owned()])
        }
        _ if turn >= TURNS => sse(&[
            r#"{"type":"response.output_text.delta","output_index":0,"delta":"Nothing."}"#.to_owned(),
            r#"{"type":"response.completed","response":{"status":"completed"}}"#.to_owned(),
        ]),
        Provider::Anthropic => anthropic(turn),
        Provider::Gemini => gemini(turn),
        _ => responses(turn),
    }
}

/// The first required string that the request of this turn lacks.
pub fn missing(provider: Provider, turn: usize, request: &str) -> Option<String> {
    let mut rest = request;
    for wanted in (0..turn.min(TURNS)).flat_map(|turn| wanted(provider, turn)) {
        let Some(at) = rest.find(&wanted) else { return Some(wanted) };
        rest = &rest[at + wanted.len()..];
    }
    None
}
