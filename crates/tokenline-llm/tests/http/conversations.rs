//! Conversations with providers that refuse the next turn without what they attached to the one before.

use futures_util::StreamExt;
use serde_json::json;
use tokenline_llm::request::{ChatRequest, Message};
use tokenline_llm::{Provider, ResponseEvent};

use crate::server::{Request, ScriptedServer, Step, events};
use crate::{client, soon};

/// What only the provider can read, in the turn of this number: not even its escapes may change.
fn opaque(turn: usize, which: usize) -> String {
    format!(r"EqQB{turn}{which}\/+w\u003d\u003d")
}

fn sse(payloads: &[String]) -> String {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect()
}

/// A turn with reasoning and two parallel calls; the third is text alone.
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
        let start = format!(r#"{{"type":"tool_use","id":"call_{turn}{index}","name":"look","input":{{}}}}"#);
        payloads.extend(block(index, &start, r#"{"type":"input_json_delta","partial_json":"{\"at\": 1}"}"#));
        payloads.push(stop(index));
    }
    payloads.push(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.to_owned());
    payloads.push(r#"{"type":"message_stop"}"#.to_owned());
    sse(&payloads)
}

fn gemini(turn: usize) -> String {
    let call = r#"{"functionCall":{"name":"look","args":{"at": 1}}"#;
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
            r#"{{"id":"fc_{turn}{index}","type":"function_call","call_id":"call_{turn}{index}","name":"look","arguments":"{{\"at\": 1}}","status":"completed"}}"#
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

/// What the request after the turn has to have, in this order.
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
                r#"{{"functionCall":{{"name":"look","args":{{"at": 1}}}},"thoughtSignature":"{first}"}}"#
            ),
            r#"{"functionCall":{"name":"look","args":{"at": 1}}}"#.to_owned(),
            format!(r#"{{"text":"","thoughtSignature":"{second}"}}"#),
        ],
        _ => vec![
            reasoning_item(turn),
            format!(r#""call_id":"call_{turn}1""#),
            format!(r#""call_id":"call_{turn}2""#),
        ],
    }
}

fn answer(provider: Provider, turn: usize, request: &Request) -> Vec<Step> {
    let mut rest = request.body.as_str();
    for wanted in (0..turn).flat_map(|turn| wanted(provider, turn)) {
        let Some(at) = rest.find(&wanted) else {
            let body = json!({"error": {"message": format!("turn {turn}: {wanted} is missing in {rest}")}})
                .to_string();
            let head = format!(
                "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            return vec![Step::Write((head + &body).into_bytes())];
        };
        rest = &rest[at + wanted.len()..];
    }
    events(&match provider {
        Provider::Anthropic => anthropic(turn),
        Provider::Gemini => gemini(turn),
        _ => responses(turn),
    })
}

#[tokio::test]
async fn three_turns_with_parallel_calls_get_back_what_was_attached() {
    for provider in [Provider::Anthropic, Provider::Gemini, Provider::OpenAiResponses] {
        for is_stored in [false, true] {
            let server = ScriptedServer::new(move |turn, request| answer(provider, turn, request)).await;
            let client = client(provider, &server.url()).build().expect("a client");
            let mut request = ChatRequest::new("m").user("Look twice.");
            for turn in 0..4 {
                let asked = client.stream(&request).expect("a request").with_message();
                let mut response = soon(asked.send()).await.expect("the turn is complete");
                let mut results = Vec::new();
                while let Some(event) = soon(response.next()).await {
                    if let ResponseEvent::ToolCall { call, .. } = event.expect("an event") {
                        results.push(Message::tool_result(&call, "nothing"));
                    }
                }
                assert_eq!(results.len(), 2, "{provider:?} turn {turn}");
                let message = response.into_message().expect("it is kept");
                assert_eq!(message.tool_calls().count(), 2);
                request = request.message(message).messages(results);
                if is_stored {
                    let stored = serde_json::to_string(&request).expect("JSON");
                    let read: ChatRequest = serde_json::from_str(&stored).expect("a request");
                    assert_eq!(serde_json::to_string(&read).expect("JSON"), stored);
                    request = read;
                }
            }
            assert_eq!(server.requests(), 4);
            // Another provider is not sent it, and the request says so.
            let other = if provider == Provider::Gemini { Provider::Anthropic } else { Provider::Gemini };
            assert!(request.left_out(other).count() >= 4 && request.left_out(provider).count() == 0);
            let body = request.to_body(if other == Provider::Gemini { other } else { Provider::OpenAiChat });
            assert!(body.is_err() || !body.expect("a body").contains("EqQB"));
        }
    }
}
