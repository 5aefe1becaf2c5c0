//! Responses with a schema: validated, asked for again, continued.

use serde_json::{Value, json};
use tokenline::llm::client::ReaskOptions;
use tokenline::llm::{FinishReason, Provider};
use tokenline_axum::gateway::Gateway;

use crate::common::{CLIENTS, Read, Served, chat_stream, json_of, read, request, text, upstream};
use crate::random::Random;
use crate::server::{ScriptedServer, events};

/// A request of a client's format, with a schema for the text.
fn request_with(client: Provider, schema: &Value, is_streamed: bool) -> Value {
    let mut request = request(client, is_streamed);
    request.as_object_mut().expect("an object").remove("tools");
    match client {
        Provider::Anthropic => {
            request["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        }
        Provider::OpenAiResponses => {
            request["text"] = json!({"format": {"type": "json_schema", "name": "rivers", "schema": schema}});
        }
        _ => {
            let format = json!({"name": "rivers", "schema": schema});
            request["response_format"] = json!({"type": "json_schema", "json_schema": format});
        }
    }
    request
}

/// An object that has only a list, whose items are defined elsewhere, as generators write it.
fn list_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"rivers": {"type": "array", "items": {"$ref": "#/$defs/River"}}},
        "required": ["rivers"],
        "additionalProperties": false,
        "$defs": {"River": river_schema()},
    })
}

fn river_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "km": {"type": "integer"}},
        "required": ["name", "km"],
        "additionalProperties": false,
    })
}

const RIVERS: &str =
    r#"{"rivers": [{"name": "Aare", "km": 288}, {"name": "Inn", "km": "long"}, {"name": "Po", "km": 652}]}"#;

/// A stream of chat completions with a text, in pieces of a few characters.
fn stream_of(text: &str, reason: &str) -> String {
    in_pieces(text, 7, reason)
}

fn in_pieces(text: &str, size: usize, reason: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(size).map(|piece| piece.iter().collect()).collect();
    chat_stream(&pieces.iter().map(String::as_str).collect::<Vec<_>>(), reason)
}

/// A server of chat completions with one answer for each request, and for those that follow.
async fn answering(answers: impl Fn(usize) -> String + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::new(move |number, _| events(&answers(number))).await
}

async fn ask(
    gateway: &Served,
    client: Provider,
    path: &str,
    schema: &Value,
    is_streamed: bool,
) -> (u16, Read) {
    ask_with(gateway, client, path, &request_with(client, schema, is_streamed)).await
}

async fn ask_with(gateway: &Served, client: Provider, path: &str, request: &Value) -> (u16, Read) {
    let response = gateway.post(path, request).send().await.expect("sent");
    let status = response.status().as_u16();
    let body = text(response).await;
    if status != 200 {
        return (status, Read { text: body, ..Read::default() });
    }
    (status, read(client, &body, request["stream"] == true))
}

fn every_client() -> impl Iterator<Item = (Provider, &'static str, bool)> {
    CLIENTS.into_iter().flat_map(|(client, path)| [(client, path, true), (client, path, false)])
}

/// Without an option, the text goes on as it is, and its items are counted.
#[tokio::test]
async fn items_are_validated_as_they_pass() {
    let ollama =
        json!({"message": {"role": "assistant", "content": RIVERS}, "done": true, "done_reason": "stop"});
    let ollama = format!("{ollama}\n");
    let server = ScriptedServer::always(move || {
        vec![crate::server::response(200, &[("content-type", "application/x-ndjson")], &ollama)]
    })
    .await;
    let gateway = Served::new(Gateway::new(upstream(Provider::Ollama, &server))).await;
    for (client, path, is_streamed) in every_client() {
        let (status, read) = ask(&gateway, client, path, &list_schema(), is_streamed).await;
        assert_eq!((status, read.text.as_str(), read.is_complete), (200, RIVERS, true));
    }
    for summary in gateway.ended(6).await {
        assert_eq!((summary.records, summary.rejected_records, summary.reasks), (2, 1, 0));
    }
    let metrics = text(gateway.get("/metrics").send().await.expect("sent")).await;
    assert!(metrics.contains("\ntokenline_gateway_records_total 12\n"), "{metrics}");
    assert!(metrics.contains("\ntokenline_gateway_rejected_records_total 6\n"), "{metrics}");
}

/// A rejected item is asked for again, and comes in its place.
#[tokio::test]
async fn rejected_items_are_asked_for_again() {
    let server = answering(|number| match number % 2 {
        0 => stream_of(RIVERS, "stop"),
        _ => stream_of(r#"{"rivers": [{"name": "Inn", "km": 518}]}"#, "stop"),
    })
    .await;
    let gateway =
        Gateway::new(upstream(Provider::OpenAiChat, &server)).reask(ReaskOptions::new(2).in_place());
    let gateway = Served::new(gateway).await;
    for (client, path, is_streamed) in every_client() {
        let (status, read) = ask(&gateway, client, path, &list_schema(), is_streamed).await;
        assert_eq!(status, 200, "{read:?}");
        let rivers = json_of(&RIVERS.replace("\"long\"", "518"));
        assert_eq!((json_of(&read.text), read.reason), (rivers, Some(FinishReason::Stop)));
    }
    for summary in gateway.ended(6).await {
        assert_eq!((summary.records, summary.rejected_records, summary.reasks), (3, 0, 1));
    }
    // The further request names what is wrong.
    assert!(server.log().requests[1].body.contains("/km"), "{}", server.log().requests[1].body);
}

/// An item that is rejected again is left out; if nothing is left, the response is an error.
#[tokio::test]
async fn what_stays_rejected_is_left_out() {
    let bad = r#"{"rivers": [{"name": "Inn", "km": "long"}]}"#;
    for (answer, left) in
        [(RIVERS, Some(2)), (r#"{"rivers":[{"name":1}]}"#, None), (r#"{"rivers":[]}"#, Some(0))]
    {
        let server = answering(move |number| stream_of(if number == 0 { answer } else { bad }, "stop")).await;
        let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server)).reask(1)).await;
        let (status, read) = ask(&gateway, Provider::Anthropic, "/v1/messages", &list_schema(), false).await;
        match left {
            Some(left) => {
                let rivers = json_of(&read.text)["rivers"].as_array().expect("a list").len();
                assert_eq!((status, rivers), (200, left));
            }
            None => {
                assert_eq!(status, 502, "{read:?}");
                assert!(read.text.contains("the model's JSON was rejected"), "{read:?}");
            }
        }
    }
}

/// An object as a whole, a list without an object, and what is not JSON at all.
#[tokio::test]
async fn objects_lists_and_prose() {
    let list = json!({"type": "array", "items": river_schema()});
    let mut open = list_schema();
    open.as_object_mut().expect("an object").remove("additionalProperties");
    let by_reference = json!({"$ref": "#/definitions/River", "definitions": {"River": river_schema()}});
    let (river, rivers) =
        (r#"{"name": "Po", "km": 652}"#, r#"[{"name": "Po", "km": 652}, {"name": "Inn", "km": 518}]"#);
    for (schema, answer) in [
        (river_schema(), river),
        (by_reference, river),
        (list, rivers),
        // It allows other members, which must not be lost.
        (open, r#"{"note": "long", "rivers": [{"name": "Po", "km": 652}]}"#),
        (list_schema(), "I cannot do that."),
        (river_schema(), "I cannot do that."),
        (json!({"type": "string"}), "\"Po\""),
    ] {
        let server = answering(move |_| stream_of(answer, "stop")).await;
        let plain = || Gateway::new(upstream(Provider::OpenAiChat, &server));
        let kinds = [plain(), plain().reask(2), plain().max_continuations(3), plain().repair_syntax()];
        for (number, gateway) in kinds.into_iter().enumerate() {
            let gateway = Served::new(gateway).await;
            for is_streamed in [true, false] {
                let (status, read) =
                    ask(&gateway, Provider::OpenAiResponses, "/v1/responses", &schema, is_streamed).await;
                assert_eq!(status, 200, "{read:?}");
                let (got, expected) = (read.text.replace(' ', ""), answer.replace(' ', ""));
                assert_eq!((got, read.is_complete), (expected, true), "{number}: {schema}");
            }
            let counts = gateway.ended(2).await;
            let records = if answer.starts_with('[') { 2 } else { u64::from(answer.starts_with('{')) };
            assert!(counts.iter().all(|it| (it.records, it.rejected_records) == (records, 0)), "{counts:?}");
        }
    }
}

/// A list of random items, whole and cut off, in prose and without: the text does not depend on the pieces of the stream, and
/// every valid item is in it once, in order.
#[tokio::test]
async fn the_text_does_not_depend_on_the_pieces() {
    let items = [
        r#"{"name": "Aare", "km": 288}"#,
        r#"{"name": "Po, {\"km\": 1}", "km": 652}"#,
        r#"{"km": 518, "name": "\u00cen"}"#,
        r#"{"name": "Inn", "km": "long"}"#,
        r#"{"name": "Rhine"}"#,
        r#"{"name": "Rh\u00f4ne", "km": 812,}"#,
        "7",
    ];
    let mut random = Random::new(5);
    for _ in 0..40 {
        let chosen: Vec<usize> = (0..random.below(5)).map(|_| random.below(items.len())).collect();
        let listed: Vec<&str> = chosen.iter().map(|&at| items[at]).collect();
        let before = *random.pick(&["", "", "Here it is:\n", "```json\n"]);
        let mut answer = format!("{before}{{\"rivers\": [{}]}}", listed.join(", "));
        if before.starts_with('`') {
            answer += "\n```";
        }
        let reason = *random.pick(&["stop", "stop", "length"]);
        if reason == "length" {
            answer.truncate(random.below(answer.len()));
        }
        for kind in 0..4 {
            let mut seen: Option<Vec<(u16, String)>> = None;
            for size in [1, 5, 4_096] {
                let first = in_pieces(&answer, size, reason);
                let server = answering(move |number| match number {
                    0 => first.clone(),
                    // Of no use, and no reject.
                    _ => stream_of("No.", "stop"),
                });
                let server = server.await;
                let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server));
                let gateway = Served::new(match kind {
                    0 => gateway,
                    1 => gateway.repair_syntax(),
                    2 => gateway.reask(ReaskOptions::new(1).in_place()),
                    _ => gateway.max_continuations(1),
                })
                .await;
                let (client, path) = CLIENTS[1 + kind % 2];
                let (status, read) = ask(&gateway, client, path, &list_schema(), size != 5).await;
                let summary = gateway.ended(1).await.remove(0);
                let counts = format!("{} {}", summary.records, summary.rejected_records);
                let text = if status == 200 && read.is_complete { read.text } else { String::new() };
                let now = vec![(u16::from(text.is_empty()), text), (0, counts)];
                assert!(
                    seen.as_ref().is_none_or(|seen| *seen == now),
                    "{kind} {size}: {answer}\n{seen:?}\n{now:?}"
                );
                seen = Some(now);
            }
            let text = &seen.expect("it was asked for")[0].1;
            if kind == 0 {
                assert_eq!(*text, answer);
            } else if reason == "stop" && !text.is_empty() {
                let valid = |at: &&usize| **at < 3 || (kind == 1 && **at == 5);
                let expected: Vec<Value> =
                    chosen.iter().filter(valid).map(|&at| json_of(&items[at].replace(",}", "}"))).collect();
                let got = text.find('{').map(|at| json_of(text[at..].trim_end_matches("\n```")));
                assert_eq!(got.expect("a list")["rivers"], Value::from(expected), "{kind}: {answer}");
            }
        }
    }
}

/// Cut off at every byte, a list is continued: every item once.
#[tokio::test]
async fn a_list_that_is_cut_off_is_continued() {
    let whole = RIVERS.replace("\"long\"", "518");
    let items: Vec<(usize, &str)> =
        [r#"{"name": "Aare", "km": 288}"#, r#"{"name": "Inn", "km": 518}"#, r#"{"name": "Po", "km": 652}"#]
            .into_iter()
            .map(|item| (whole.find(item).expect("an item") + item.len(), item))
            .collect();
    let first_byte = whole.find('{').expect("a brace") + 1;
    for cut in first_byte..whole.len() - 1 {
        // As it is asked to, the model begins with the last complete item.
        let known = items.iter().filter(|(end, _)| *end <= cut).count();
        let rest: Vec<&str> = items[known.saturating_sub(1)..].iter().map(|(_, item)| *item).collect();
        let rest = format!("{{\"rivers\": [{}]}}", rest.join(", "));
        let part = whole[..cut].to_owned();
        let server = answering(move |number| match number {
            0 => stream_of(&part, "length"),
            _ => stream_of(&rest, "stop"),
        })
        .await;
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).max_continuations(2).reask(1);
        let gateway = Served::new(gateway).await;
        let (status, read) =
            ask(&gateway, Provider::OpenAiChat, "/v1/chat/completions", &list_schema(), cut % 2 == 0).await;
        assert_eq!((status, json_of(&read.text)), (200, json_of(&whole)), "at {cut}");
        assert_eq!((read.reason, read.is_complete), (Some(FinishReason::Stop), true));
        let summary = &gateway.ended(1).await[0];
        // An answer that has no item, or could be inside the one that is open, is asked for once more.
        let (continuations, requests) = (summary.continuations, server.requests() as u64);
        assert!((1..=2).contains(&continuations) && requests == continuations + 1, "{requests} at {cut}");
        assert_eq!((summary.records, summary.reasks), (3, 0));
        assert_eq!(summary.usage.input_tokens, Some(7));
        // An answer of no use is not read to its end.
        assert!(summary.usage.output_tokens >= Some(10), "{summary:?}");
    }
}

/// Cut off at every byte, an object is continued.
#[tokio::test]
async fn an_object_that_is_cut_off_is_continued() {
    let whole = r#"{"name": "Po", "km": 652}"#;
    for cut in 1..whole.len() {
        // The model repeats the document.
        let server = answering(move |number| match number {
            0 => stream_of(&whole[..cut], "length"),
            _ => stream_of(whole, "stop"),
        })
        .await;
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).max_continuations(1);
        let gateway = Served::new(gateway).await;
        let (client, path) = CLIENTS[cut % 3];
        let mut schema = river_schema();
        if cut % 2 == 0 {
            // The strict mode of our own requests cannot express it.
            schema["required"] = json!(["name"]);
        }
        let mut body = request_with(client, &schema, cut % 2 == 0);
        // Asks for the provider's strict mode.
        match client {
            Provider::OpenAiChat => body["response_format"]["json_schema"]["strict"] = json!(true),
            Provider::OpenAiResponses => body["text"]["format"]["strict"] = json!(true),
            _ => {}
        }
        let (status, read) = ask_with(&gateway, client, path, &body).await;
        assert_eq!((status, read.text.as_str()), (200, whole), "at {cut} by {}", client.as_str());
        assert_eq!(read.reason, Some(FinishReason::Stop));
        let summary = &gateway.ended(1).await[0];
        assert_eq!((summary.records, summary.continuations), (1, 1));
    }
}

/// A text that is incomplete after all requests is cut off: its beginning stands, and is not closed.
#[tokio::test]
async fn what_stays_incomplete_is_cut_off() {
    let (list, object) = (r#"{"rivers": [{"name": "Aare", "km": 288}, {"na"#, r#"{"name": "Po", "k"#);
    for (schema, part, expected) in [
        (list_schema(), list, r#"{"rivers":[{"name": "Aare", "km": 288}"#),
        (river_schema(), object, object),
        (list_schema(), "I can", "I can"),
        (river_schema(), "I can", "I can"),
    ] {
        for refused in [false, true] {
            let server = ScriptedServer::new(move |_, request| {
                if refused && request.body.contains("cut off") {
                    return vec![crate::server::error_response(
                        500,
                        &[],
                        &json!({"error": {"message": "no"}}),
                    )];
                }
                events(&stream_of(part, "length"))
            })
            .await;
            let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).max_continuations(2);
            let gateway = Served::new(gateway).await;
            for is_streamed in [true, false] {
                let (status, read) =
                    ask(&gateway, Provider::OpenAiChat, "/v1/chat/completions", &schema, is_streamed).await;
                assert_eq!((status, read.text.as_str()), (200, expected), "{part}, {refused}");
                assert_eq!(read.reason, Some(FinishReason::Length));
            }
        }
    }
}
