//! Bodies that are broken, wrong or huge.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokenline_llm::Provider::{self, Anthropic, Gemini, OpenAiChat, OpenAiResponses};
use tokenline_llm::request::ReceivedRequest;

use super::{anthropic, chat, responses, sent};

fn all() -> impl Iterator<Item = (Provider, Value)> {
    let of = |provider, bodies: Vec<Value>| bodies.into_iter().map(move |body| (provider, body));
    of(OpenAiChat, chat::bodies())
        .chain(of(OpenAiResponses, responses::bodies()))
        .chain(of(Anthropic, anthropic::bodies()))
}

/// Reads a body, and writes what was read for two providers.
fn read(provider: Provider, body: &[u8]) {
    if let Ok(received) = ReceivedRequest::from_json(provider, body) {
        for upstream in [provider, Anthropic, Provider::Ollama] {
            let (request, _) = received.clone().into_request_for(upstream);
            if let Err(error) = request.to_body(upstream) {
                assert!(!error.to_string().contains("additional member"), "{error}");
            }
        }
    }
}

#[test]
fn every_prefix_is_refused() {
    for (provider, body) in all() {
        let body = body.to_string();
        for end in 0..body.len() {
            assert!(ReceivedRequest::from_json(provider, &body.as_bytes()[..end]).is_err());
        }
    }
}

fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let members = value.as_object().into_iter().flatten();
    members.for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), all));
    let elements = value.as_array().into_iter().flatten().enumerate();
    elements.for_each(|(index, value)| pointers(value, &format!("{at}/{index}"), all));
}

#[test]
fn a_value_of_any_other_type_does_no_harm() {
    for (provider, body) in all() {
        let mut places = Vec::new();
        pointers(&body, "", &mut places);
        for place in places.iter().filter(|place| !place.contains("$schema")) {
            for value in [json!(null), json!(7), json!("x"), json!([]), json!({})] {
                let mut body = body.clone();
                *body.pointer_mut(place).unwrap() = value;
                read(provider, body.to_string().as_bytes());
            }
        }
    }
}

/// Elements that are missing or come twice move what follows.
#[test]
fn other_elements_do_no_harm() {
    for (provider, body) in all() {
        let mut places = Vec::new();
        pointers(&body, "", &mut places);
        for place in places {
            let Some(elements) = body.pointer(&place).and_then(Value::as_array) else { continue };
            for at in 0..elements.len() {
                let mut changed = body.clone();
                let elements = changed.pointer_mut(&place).and_then(Value::as_array_mut).expect("an array");
                let element = elements.remove(at);
                read(provider, changed.to_string().as_bytes());
                let elements = changed.pointer_mut(&place).and_then(Value::as_array_mut).expect("an array");
                elements.splice(at..at, [element.clone(), element]);
                read(provider, changed.to_string().as_bytes());
            }
        }
    }
}

#[test]
fn an_error_names_the_place() {
    let user = json!([{"role": "user", "content": "a"}]);
    let cases = [
        (OpenAiChat, json!([]), "must be an object"),
        (OpenAiChat, json!({"messages": user}), "/model: must not be missing"),
        (OpenAiChat, json!({"model": "m"}), "/messages: must not be missing"),
        (OpenAiChat, json!({"model": "m", "messages": {}}), "/messages: must be an array"),
        (OpenAiChat, json!({"model": "m", "messages": [7]}), "/messages/0: must be an object"),
        (
            OpenAiChat,
            json!({"model": "m", "messages": [{"role": "x"}]}),
            "/messages/0/role: unknown role \"x\"",
        ),
        (
            OpenAiChat,
            json!({"model": "m", "messages": [{"role": "user"}]}),
            "/messages/0/content: must not be missing",
        ),
        (
            OpenAiChat,
            json!({"model": "m", "messages": [{"role": "user", "content": 7}]}),
            "/messages/0/content: must be a string or a list of parts",
        ),
        (
            OpenAiChat,
            json!({"model": "m", "messages": user, "tools": [{"type": "function", "function": {}}]}),
            "/tools/0/function/name: must not be missing",
        ),
        (
            OpenAiChat,
            json!({"model": "m", "messages": user, "max_tokens": 1.5}),
            "/max_tokens: must be a whole number up to 4294967295",
        ),
        (
            OpenAiResponses,
            json!({"model": "m", "input": [{"content": "a"}]}),
            "/input/0: must be an object with a type or a role",
        ),
        (
            Anthropic,
            json!({"model": "m", "messages": [{"role": "user", "content": [7]}]}),
            "/messages/0/content/0: must be an object with a type",
        ),
        (Gemini, json!({}), "requests to gemini are not read"),
    ];
    for (provider, body, expected) in cases {
        let error = ReceivedRequest::from_json(provider, body.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = ReceivedRequest::from_json(OpenAiChat, b"{\"model\":").unwrap_err();
    assert!(error.to_string().starts_with("the body is not JSON: "), "{error}");
    assert!(ReceivedRequest::from_json(OpenAiChat, b"\xff").is_err());
    let twice = br#"{"model":"m","model":"n","messages":[{"role":"user","content":"a"}]}"#;
    assert!(ReceivedRequest::from_json(OpenAiChat, twice).is_err());
}

#[test]
fn many_unknown_members_are_refused() {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
    body.as_object_mut().unwrap().extend((0..200_000).map(|number| (format!("m{number}"), json!(1))));
    let error = ReceivedRequest::from_json(OpenAiChat, body.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "has more than 1000 unknown members");
}

#[test]
fn a_long_conversation_takes_linear_time() {
    let turns = 10_000;
    let user = |number| json!({"role": "user", "content": format!("question {number}"), "name": "ada"});
    let answer = |number| json!({"role": "assistant", "content": [{"type": "text", "text": format!("answer {number}"), "cache_control": {}}]});
    let messages: Vec<_> = (0..turns).flat_map(|number| [user(number), answer(number)]).collect();
    for (provider, list) in [(OpenAiChat, "messages"), (OpenAiResponses, "input"), (Anthropic, "messages")] {
        let body = json!({"model": "m", list: messages}).to_string();
        let start = Instant::now();
        let received = ReceivedRequest::from_json(provider, body.as_bytes()).unwrap();
        let spent = start.elapsed();
        assert!(spent < Duration::from_secs(3), "{spent:?}");
        assert_eq!(received.into_request_for(provider).1, [""; 0]);
    }
    let opening: Vec<_> = (0..2 * turns).map(|_| json!({"role": "developer", "content": "a"})).collect();
    let mut body = json!({"model": "m", "input": opening});
    body["input"].as_array_mut().unwrap().push(user(1));
    assert_eq!(sent(OpenAiResponses, &body).0["input"].as_array().unwrap().len(), 2 * turns + 1);
    // A merged turn, whose elements have other positions.
    let body = json!({"model": "m", "messages": vec![user(1); 2 * turns]});
    assert_eq!(sent(Anthropic, &body).0["messages"][0]["content"].as_array().unwrap().len(), 2 * turns);
}
