//! The request after a response: it keeps the rules of every provider, and loses nothing.

mod draw;
mod rules;

use serde_json::{Value, json};
use tokenline_llm::Provider;
use tokenline_llm::request::{AssistantPart, ChatRequest, Message};

use crate::common::extent::cases;
use crate::common::{chunk, random};
use draw::{NAMES, Random, anthropic, gemini, openai_chat, pick, read};
use rules::{check, strings};

#[test]
fn second_turns_keep_the_rules_of_every_provider() {
    let mut random = random();
    let random: Random<'_> = &mut random;
    let (mut calls, mut secrets, mut blank) = (0, 0, 0);
    let turns: usize = cases(3_000);
    for round in 0..turns {
        let (provider, wire) = match round % 3 {
            0 => (Provider::OpenAiChat, openai_chat(random)),
            1 => (Provider::Anthropic, anthropic(random)),
            _ => (Provider::Gemini, gemini(random)),
        };
        let (message, answers) = read(random, provider, &wire);
        let Message::Assistant(parts) = &message else { panic!("{message:?}") };
        calls += answers.len();
        blank += usize::from(answers.is_empty() && message.text().trim().is_empty());
        let request = ChatRequest::new("m").user("?").message(message.clone()).messages(answers.clone());
        let request = if random(2) == 0 || answers.is_empty() { request.user("And?") } else { request };
        for other in Provider::ALL {
            let body =
                request.to_body(*other).unwrap_or_else(|error| panic!("{error} for {other:?}: {wire}"));
            let body: Value = serde_json::from_str(&body).expect("JSON");
            if let Err(reason) = check(*other, &body) {
                panic!("{reason}\n{wire}\n{body}");
            }
            let mut sent = Vec::new();
            strings(&body, &mut sent);
            let has = |text: &str| sent.iter().any(|sent| sent.contains(text));
            let texts = parts.iter().filter_map(|part| match part {
                AssistantPart::Text { text, .. } => Some(text.as_str()),
                // The details hold the text too.
                AssistantPart::Reasoning { text, opaque: Some(opaque) }
                    if opaque.provider == *other && !opaque.data.as_str().contains("reasoning_details") =>
                {
                    Some(text)
                }
                _ => None,
            });
            for text in texts.filter(|text| !text.trim().is_empty()) {
                assert!(has(text), "{text:?} is lost: {wire}\n{body}");
            }
            for answer in answers.iter().map(Message::text) {
                let is_sent = has(&answer) || answer.starts_with('{') || answer.trim().is_empty();
                assert!(is_sent, "{answer:?} is lost: {wire}\n{body}");
            }
            for secret in (0..6).map(|at| format!("secret{at}")).filter(|_| *other == provider) {
                secrets += usize::from(wire.contains(&secret));
                let is_of_call = wire.contains("functionCall");
                assert!(
                    !wire.contains(&secret) || has(&secret) || is_of_call && answers.is_empty(),
                    "{secret} is lost: {wire}\n{body}"
                );
            }
        }
    }
    assert!(calls * 2 > turns && secrets * 10 > turns && blank * 20 > turns, "{calls} {secrets} {blank}");
}

/// Ids repeat across the responses of a conversation: synthetic ones, and those of servers that count in each response.
#[test]
fn later_turns_keep_the_rules_of_every_provider() {
    let mut random = random();
    let random: Random<'_> = &mut random;
    let (mut calls, mut repeated) = (0, 0);
    let conversations: usize = cases(600);
    for _ in 0..conversations {
        let mut request = ChatRequest::new("m");
        let mut ids = std::collections::HashSet::new();
        for _ in 0..2 + random(3) {
            let (provider, wire) = match random(3) {
                0 => (Provider::OpenAiChat, openai_chat(random)),
                1 => (Provider::Anthropic, anthropic(random)),
                _ => (Provider::Gemini, gemini(random)),
            };
            let (message, answers) = read(random, provider, &wire);
            for call in message.tool_calls() {
                calls += 1;
                repeated += usize::from(!ids.insert(call.call_id.clone()));
            }
            request = request.user("?").message(message).messages(answers);
        }
        for provider in Provider::ALL {
            let body = body(*provider, &request);
            if let Err(reason) = check(*provider, &body) {
                panic!("{reason}\n{body}");
            }
        }
    }
    assert!(calls * 2 > conversations * 5 && repeated * 4 > conversations, "{calls} {repeated}");
}

/// The id of the innermost object that has one and holds a marked text.
fn id_of<'v>(value: &'v Value, marker: &str) -> Option<&'v str> {
    let inner = match value {
        Value::Object(members) => members.values().find_map(|value| id_of(value, marker)),
        Value::Array(values) => values.iter().find_map(|value| id_of(value, marker)),
        _ => None,
    };
    inner.or_else(|| {
        let names = ["id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"];
        let id = names.iter().find_map(|name| value.get(name)?.as_str())?;
        holds(value, marker).then_some(id)
    })
}

fn holds(value: &Value, marker: &str) -> bool {
    match value {
        Value::Object(members) => members.values().any(|value| holds(value, marker)),
        Value::Array(values) => values.iter().any(|value| holds(value, marker)),
        Value::String(text) => text.contains(marker),
        _ => false,
    }
}

#[test]
fn results_stay_with_their_calls() {
    let mut random = random();
    let random: Random<'_> = &mut random;
    let long = "x".repeat(64);
    let ids = ["synthetic_1", "synthetic_1_2", "synthetic_2", "c", "\u{fc}", &long];
    for _ in 0..cases(600) {
        let (mut request, mut count, mut first_ids) = (ChatRequest::new("m"), 0, Vec::new());
        for _ in 0..2 + random(4) {
            let calls: Vec<_> = (0..random(4))
                .map(|_| {
                    count += 1;
                    let id = pick(random, &ids);
                    let mut call = crate::requests::call(&id, "f", &format!(r#"{{"a":"call {count}."}}"#));
                    call.is_synthetic_id = id.starts_with("synthetic");
                    call
                })
                .collect();
            let first = count - calls.len() + 1;
            let results = calls.iter().zip(first..).map(|(call, at)| {
                let text = format!("result {at}.");
                if random(2) == 0 {
                    Message::tool_error(call, text)
                } else {
                    Message::tool_result(call, text)
                }
            });
            let results: Vec<_> = results.collect();
            request = request.user("?").message(Message::assistant("Hm.", calls)).messages(results);
            // What is sent for a call does not change when the conversation goes on.
            let body = body(Provider::Anthropic, &request);
            let sent: Vec<_> =
                (1..=count).map(|at| id_of(&body, &format!("call {at}.")).map(str::to_owned)).collect();
            assert_eq!(first_ids, sent[..first_ids.len()]);
            first_ids = sent;
        }
        for provider in Provider::ALL {
            let body = body(*provider, &request);
            if !matches!(provider, Provider::Gemini | Provider::Ollama) {
                for at in 1..=count {
                    let call = id_of(&body, &format!("call {at}."));
                    let result = id_of(&body, &format!("result {at}."));
                    assert!(call.is_some() && call == result, "{provider:?}: {call:?} {result:?} {body}");
                }
            }
            if let Err(reason) = check(*provider, &body) {
                panic!("{reason}\n{body}");
            }
        }
    }
}

fn body(provider: Provider, request: &ChatRequest) -> Value {
    serde_json::from_str(&request.to_body(provider).expect("a body")).expect("JSON")
}

#[test]
fn a_blank_message_is_omitted_or_an_error() {
    let blank = Message::assistant("\n\n", []);
    let request = ChatRequest::new("m").user("a").message(blank.clone()).user("b");
    let turn = json!([{"role": "user", "content": [{"text": "a"}, {"text": "b"}]}]);
    assert_eq!(body(Provider::Bedrock, &request)["messages"], turn);
    assert_eq!(body(Provider::OpenAiChat, &request)["messages"][1]["content"], "\n\n");
    let nothing = ChatRequest::new("m").system("s").message(blank);
    for (provider, request, expected) in [
        (Provider::Anthropic, nothing, "the conversation has no user, assistant or tool message"),
        (
            Provider::Anthropic,
            ChatRequest::new("m").user("a").message(Message::assistant("b", [])).user(" "),
            "message 2: the message is blank",
        ),
        (Provider::Gemini, ChatRequest::new("m").user(""), "message 0: the message is blank"),
    ] {
        assert_eq!(request.to_body(provider).expect_err(expected).to_string(), expected);
    }
}

#[test]
fn names_that_an_api_refuses_are_made_valid() {
    let sent = |provider: Provider, name: &str| {
        let call = crate::requests::call("functions.search:0", name, "{}");
        let request = ChatRequest::new("m").user("?").message(Message::assistant("", [call.clone()]));
        let request = request.message(Message::tool_error(&call, "not run"));
        let tools = [tokenline_core::ToolDefinition::new("defined.here")];
        body(provider, &request.tools(tools))["messages"][1].clone()
    };
    let name = |name: &str| sent(Provider::OpenAiChat, name)["tool_calls"][0]["function"]["name"].clone();
    assert_eq!(NAMES.map(name)[..5], ["search", "functions_search", "__", &NAMES[3][..64], "search_"]);
    assert_eq!(name(""), "_");
    // The server has accepted it.
    assert_eq!(name("defined.here"), "defined.here");
    let block = sent(Provider::Anthropic, "search")["content"][0].clone();
    assert_eq!(block["id"], "id_138225679c3fa4e6");
    // An id that the API does not restrict stays.
    assert_eq!(sent(Provider::OpenAiChat, "search")["tool_calls"][0]["id"], "functions.search:0");
}

#[test]
fn reasoning_under_two_names_is_not_doubled() {
    let message = |deltas: &[Value]| {
        let wire: String = deltas.iter().map(|delta| chunk(&delta.to_string(), "")).collect();
        let wire = wire + &chunk(r#"{"content":"4"}"#, "stop");
        let (message, _) = read(&mut |_| 0, Provider::OpenAiChat, &wire);
        body(Provider::OpenAiChat, &ChatRequest::new("m").user("?").message(message))["messages"][1].clone()
    };
    let (a, b) = (|text: &str| json!({"reasoning": text}), |text: &str| json!({"reasoning_content": text}));
    let content = |deltas: &[Value]| message(deltas)["reasoning_content"].clone();
    // In turn, late, in other pieces, in one chunk.
    assert_eq!(content(&[a("2"), b("2"), a("+"), b("+"), a("2"), b("2")]), "2+2");
    assert_eq!(content(&[a("2"), a("+"), a("2"), b("2"), b("+"), b("2")]), "2+2");
    assert_eq!(content(&[b("2+"), a("2+2"), b("2")]), "2+2");
    assert_eq!(content(&[json!({"reasoning": "2+", "reasoning_content": "2+"}), a("2"), b("2")]), "2+2");
    // A server that changes the name goes on.
    assert_eq!(content(&[a("2"), a("+"), b("3")]), "2+3");
    // The details stay, whatever follows them, and those of several parts are joined.
    let details = |at: u64| json!({"reasoning_details": [{"data": at}]});
    let both = message(&[details(1), b("Hm"), json!({"content": "x"}), details(2)]);
    assert_eq!(both["reasoning_details"], json!([{"data": 1}, {"data": 2}]));
    assert_eq!(content(&[b("Hm. "), json!({"content": "x"}), b("So.")]), "Hm. So.");
}
