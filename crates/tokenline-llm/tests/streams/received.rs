//! Requests as clients send them: what is read, what goes on to the same provider, and what to another one.

mod anthropic;
mod chat;
mod foreign;
mod hostile;
mod responses;
mod written;

use serde_json::Value;
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, ReceivedRequest};

/// Members that are written although the client did not send them: their defaults.
const DEFAULTS: [&str; 5] = ["stream", "strict", "type", "include", "parameters"];

fn received(provider: Provider, body: &Value) -> ReceivedRequest {
    ReceivedRequest::from_json(provider, body.to_string().as_bytes())
        .unwrap_or_else(|error| panic!("{error}\n{body}"))
}

fn read(provider: Provider, body: &Value) -> ChatRequest {
    received(provider, body).request
}

/// The body for the same provider, and the pointers to what it lacks.
fn sent(provider: Provider, body: &Value) -> (Value, Vec<String>) {
    let (request, left_out) = received(provider, body).into_request_for(provider);
    let written = request.to_body(provider).unwrap_or_else(|error| panic!("{error}\n{body}"));
    (serde_json::from_str(&written).expect("JSON"), left_out)
}

/// Asserts that the same provider receives the body as the client sent it.
fn assert_passes(provider: Provider, body: &Value) {
    let (written, left_out) = sent(provider, body);
    assert_eq!(left_out, [""; 0], "{body}");
    assert_same(body, &written, "");
}

/// Asserts that nothing is lost. A text may be a list of one text, and defaults may be written.
fn assert_same(received: &Value, written: &Value, at: &str) {
    match (received, written) {
        (Value::Object(received), Value::Object(written)) => {
            for (name, value) in received {
                let found = written.get(name).unwrap_or_else(|| panic!("{at}/{name} is lost"));
                assert_same(value, found, &format!("{at}/{name}"));
            }
            for name in written.keys().filter(|name| !received.contains_key(*name)) {
                assert!(DEFAULTS.contains(&name.as_str()), "{at}/{name} is new");
            }
        }
        (Value::Array(received), Value::Array(written)) => {
            assert_eq!(received.len(), written.len(), "{at}: {received:?} and {written:?}");
            for (index, (one, other)) in received.iter().zip(written).enumerate() {
                assert_same(one, other, &format!("{at}/{index}"));
            }
        }
        (Value::Number(one), Value::Number(other)) => assert_eq!(one.as_f64(), other.as_f64(), "{at}"),
        (Value::String(text), Value::Array(list)) | (Value::Array(list), Value::String(text)) => {
            assert_eq!(list.len(), 1, "{at}");
            let only = list[0].get("text").or_else(|| list[0].get("content")).unwrap_or(&list[0]);
            assert_eq!(only.as_str(), Some(text.as_str()), "{at}");
        }
        _ => assert_eq!(received, written, "{at}"),
    }
}
