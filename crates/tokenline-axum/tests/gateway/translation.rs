//! Requests and responses in another format than the upstream's.

use std::time::Duration;

use serde_json::{Value, json};
use tokenline::json::Raw;
use tokenline::llm::{FinishReason, Provider, ResponseOptions, TextMode};
use tokenline::{CallFormat, RepetitionLimits, ResponseEvent, ResponseParser};
use tokenline_axum::gateway::Gateway;

use crate::common::{CLIENTS, Served, chat_stream, json_of, read, request, text, upstream};
use crate::server::{ScriptedServer, Step, chunk, end, events, head};

/// Calls in the texts of several families.
const TEXTS: [&str; 10] = [
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}\n</tool_call>",
    "[TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}]",
    "<|python_tag|>{\"name\": \"weather\", \"parameters\": {\"city\": \"Paris\", \"days\": \"3\"}}",
    "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n\
     </function>\n</tool_call>",
    "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n\
     <arg_value>3</arg_value>\n</tool_call>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>\
     {\"city\": \"Paris\", \"days\": 3}<|tool_call_end|><|tool_calls_section_end|>",
    "<|tool_call_start|>[weather(city=\"Paris\", days=3)]<|tool_call_end|>",
    "<function=weather>{\"city\": \"Paris\", \"days\": 3}</function>",
    "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": \"Paris\", \"days\": 3}<|call|>",
    "{\"name\": \"weather\", \"parameters\": {\"city\": \"Paris\", \"days\": 3}}",
];

#[tokio::test]
async fn calls_in_text_become_native_for_every_client() {
    for call in TEXTS {
        let pieces: Vec<String> =
            call.chars().collect::<Vec<_>>().chunks(3).map(|c| c.iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let wire = chat_stream(&pieces, "stop");
        let server = ScriptedServer::always(move || events(&wire)).await;
        for grows in [false, true] {
            let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
            let gateway = Served::new(if grows { gateway.growing_arguments() } else { gateway }).await;
            for ((client, path), is_streamed) in CLIENTS.into_iter().flat_map(|it| [(it, true), (it, false)])
            {
                let response = gateway.post(path, &request(client, is_streamed)).send().await.expect("sent");
                assert_eq!(response.status(), 200);
                assert!(response.headers().contains_key("x-request-id"));
                let body = text(response).await;
                let read = read(client, &body, is_streamed);
                let name = format!("{call} for {}, growing {grows}: {body}", client.as_str());
                let expected = json!({"city": "Paris", "days": 3});
                assert_eq!(read.calls, [("weather".to_owned(), expected)], "{name}");
                assert_eq!(read.text.trim(), "", "{name}");
                assert_eq!((read.reason, read.is_complete), (Some(FinishReason::ToolCalls), true), "{name}");
                assert!(read.ids.len() == 1 && !read.ids[0].is_empty(), "{name}");
            }
            let summaries = gateway.ended(6).await;
            for summary in summaries {
                assert_eq!((summary.tool_calls, summary.calls_in_text), (1, 1), "{summary}");
                assert!(summary.is_translated && summary.failure.is_none(), "{summary}");
                assert_eq!(summary.usage.input_tokens, Some(7), "{summary}");
            }
        }
    }
}

/// Objects that only look like calls stay text, as the model wrote them.
#[tokio::test]
async fn calls_of_undefined_tools_stay_text() {
    for written in [
        "Put this into package.json:\n```json\n{\"name\":\"my-app\",\"parameters\":{\"port\":80}}\n```\nSave it.",
        "{\"name\": \"Bob\", \"arguments\": \"none\"}\nThis is a record.",
        "In Hermes one writes <tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call> as shown.",
    ] {
        let wire = chat_stream(&[&written[..7], &written[7..]], "stop");
        let server = ScriptedServer::always(move || events(&wire)).await;
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
        let gateway = Served::new(gateway).await;
        for ((client, path), is_streamed) in CLIENTS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
            let response = gateway.post(path, &request(client, is_streamed)).send().await.expect("sent");
            let body = text(response).await;
            let read = read(client, &body, is_streamed);
            assert_eq!(
                (read.text.as_str(), read.calls.len(), read.is_complete),
                (written, 0, true),
                "{body}"
            );
        }
    }
}

/// White space between reasoning is part of the text for every client.
#[tokio::test]
async fn white_space_between_reasoning_is_kept() {
    let delta = |name: &str, text: &str| {
        let chunk = json!({"choices": [{"index": 0, "delta": {name: text}, "finish_reason": null}]});
        format!("data: {chunk}\n\n")
    };
    let (says, thinks) = (|text| delta("content", text), |text| delta("reasoning_content", text));
    let wire =
        [says("a"), thinks("r"), says("\n\n"), thinks("s"), says("  b\n"), chat_stream(&[], "stop")].concat();
    let server = ScriptedServer::always(move || events(&wire)).await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server)).repair_syntax()).await;
    for ((client, path), is_streamed) in CLIENTS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let body = text(gateway.post(path, &request(client, is_streamed)).send().await.expect("sent")).await;
        assert_eq!(read(client, &body, is_streamed).text, "a\n\n  b\n", "{body}");
    }
}

/// Without a call format, a text is a text: what a model quotes must not run.
#[tokio::test]
async fn calls_in_text_stay_text_unless_asked_for() {
    let wire = chat_stream(&[TEXTS[0]], "stop");
    let server = ScriptedServer::always(move || events(&wire)).await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
    for (client, path) in CLIENTS {
        let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
        let read = read(client, &body, true);
        assert_eq!((read.text.as_str(), read.calls.len()), (TEXTS[0], 0), "{body}");
        assert_eq!(read.reason, Some(FinishReason::Stop));
    }
}

/// A request that allows no call gets none, whatever the text quotes.
#[tokio::test]
async fn calls_in_text_stay_text_if_none_is_allowed() {
    let wire = chat_stream(&[TEXTS[0]], "stop");
    let server = ScriptedServer::always(move || events(&wire)).await;
    let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
    let gateway = Served::new(gateway).await;
    for (client, path) in CLIENTS {
        let mut request = request(client, false);
        request["tool_choice"] =
            if client == Provider::Anthropic { json!({"type": "none"}) } else { json!("none") };
        let read = read(client, &text(gateway.post(path, &request).send().await.expect("sent")).await, false);
        assert_eq!((read.text.as_str(), read.calls.len()), (TEXTS[0], 0));
        assert_eq!(read.reason, Some(FinishReason::Stop));
    }
}

/// A text in the arguments arrives while the model writes it, although the gateway converts values.
#[tokio::test]
async fn growing_arguments_arrive_piece_by_piece() {
    let arguments = json!({"city": "Paris, the capital of France", "days": 3});
    let in_text = format!("<tool_call>{{\"name\":\"weather\",\"arguments\":{arguments}}}</tool_call>");
    let pieces: Vec<String> =
        in_text.chars().collect::<Vec<_>>().chunks(3).map(|c| c.iter().collect()).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let in_text = chat_stream(&pieces, "stop");
    let native = native_stream("weather", &arguments.to_string());
    for (wire, format) in [(in_text, Some(CallFormat::Auto)), (native, None)] {
        let server = ScriptedServer::always(move || events(&wire)).await;
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).growing_arguments();
        let gateway = if let Some(format) = format { gateway.call_format(format) } else { gateway };
        let gateway = Served::new(gateway).await;
        for (client, path) in CLIENTS {
            let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
            let options = ResponseOptions::default().text_as(TextMode::Text).call_updates();
            let mut parser = ResponseParser::<Raw>::new(client, options);
            parser.push(body.as_bytes());
            parser.finish();
            let mut pieces = Vec::new();
            while let Some(event) = parser.next_event() {
                if let ResponseEvent::ToolCallArguments { text, .. } = event {
                    pieces.push(text);
                }
            }
            assert!(pieces.len() > 5, "{} {pieces:?}", client.as_str());
            assert_eq!(json_of(&pieces.concat()), arguments);
        }
    }
}

/// A native call of chat completions, its arguments in pieces of three characters.
fn native_stream(name: &str, arguments: &str) -> String {
    let mut stream = String::new();
    let mut put = |call: Value| {
        let delta =
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]});
        stream += &format!("data: {delta}\n\n");
    };
    put(json!({"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}));
    for piece in arguments.as_bytes().chunks(3) {
        let piece = std::str::from_utf8(piece).expect("ASCII");
        put(json!({"index": 0, "function": {"arguments": piece}}));
    }
    stream + &chat_stream(&[], "tool_calls")
}

/// Prose about calls, and a call without arguments that comes to nothing, leave no trace among the calls.
#[tokio::test]
async fn what_only_begins_like_a_call_is_no_call() {
    let unknown = "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>\n";
    let good = "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>\n";
    let prose = "Write <tool_call>{\"name\": \"weather\" and so on.\n";
    for before in [unknown, prose] {
        let wire = chat_stream(&[before, "\n", good], "stop");
        let server = ScriptedServer::always(move || events(&wire)).await;
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
        let gateway = Served::new(gateway.growing_arguments()).await;
        for (client, path) in CLIENTS {
            let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
            let read = read(client, &body, true);
            assert_eq!(read.calls, [("weather".to_owned(), json!({"city": "Paris"}))], "{body}");
            assert_eq!((read.reason, read.is_complete), (Some(FinishReason::ToolCalls), true), "{body}");
        }
    }
}

/// In a body that is sent at its end nothing grows: a rejected call costs only itself.
#[tokio::test]
async fn nothing_grows_in_a_whole_body() {
    let good = "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>\n";
    let bad = "<tool_call>{\"name\":\"weather\",\"arguments\":{\"days\":3}}</tool_call>\n";
    let wire = chat_stream(&[good, bad], "stop");
    let server = ScriptedServer::always(move || events(&wire)).await;
    let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
    let gateway = Served::new(gateway.growing_arguments()).await;
    for (client, path) in CLIENTS {
        let body = text(gateway.post(path, &request(client, false)).send().await.expect("sent")).await;
        assert_eq!(read(client, &body, false).calls.len(), 1, "{body}");
    }
}

/// The next turn: the call and its result reach the upstream in its own format.
#[tokio::test]
async fn results_reach_the_upstream() {
    let server = ScriptedServer::always(|| {
        events("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n\
            event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
            event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
    })
    .await;
    let gateway = Served::new(Gateway::new(upstream(Provider::Anthropic, &server))).await;
    let call = json!({"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}});
    let mut chat = request(Provider::OpenAiChat, true);
    chat["messages"].as_array_mut().expect("a list").extend([
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "21 degrees"}),
    ]);
    let mut responses = request(Provider::OpenAiResponses, true);
    responses["input"].as_array_mut().expect("a list").extend([
        json!({"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Paris\"}"}),
        json!({"type": "function_call_output", "call_id": "c1", "output": "21 degrees"}),
    ]);
    for (path, body) in [("/v1/chat/completions", chat), ("/v1/responses", responses)] {
        let mut body = body;
        body["metadata"] = json!({"a": "b"});
        let response = gateway.post(path, &body).send().await.expect("sent");
        let left_out = response.headers().get("x-tokenline-left-out").cloned();
        assert_eq!(left_out.expect("a header"), "/metadata");
        text(response).await;
    }
    for request in server.log().requests {
        let body = request.json();
        let expected = json!([
            {"role": "user", "content": [{"type": "text", "text": "Weather in Paris?"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "21 degrees"}]},
        ]);
        assert_eq!(body["messages"], expected);
        assert_eq!(body["tools"][0]["name"], "weather");
        assert_eq!(request.path, "/v1/messages");
    }
}

/// A call without its required argument: left out beside another, an error alone.
#[tokio::test]
async fn a_rejected_call_costs_only_itself() {
    let good = "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>\n";
    let bad = "<tool_call>{\"name\":\"weather\",\"arguments\":{\"days\":3}}</tool_call>\n";
    for (texts, is_error) in [([good, bad], false), ([bad, good], false), ([bad, bad], true)] {
        let wire = chat_stream(&texts, "stop");
        let server = ScriptedServer::always(move || events(&wire)).await;
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
        let gateway = Served::new(gateway).await;
        for (client, path) in CLIENTS {
            let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
            let streamed = read(client, &body, true);
            assert_eq!(streamed.calls.len(), usize::from(!is_error), "{body}");
            assert_eq!(streamed.is_complete, !is_error, "{body}");
            assert_eq!(body.contains("missing"), is_error, "{body}");
            let response = gateway.post(path, &request(client, false)).send().await.expect("sent");
            assert_eq!(response.status(), if is_error { 502 } else { 200 });
            let should_retry = response.headers().get("x-should-retry").cloned();
            assert_eq!(should_retry.is_some_and(|value| value == "false"), is_error);
            let body = text(response).await;
            assert_eq!(json_of(&body).get("error").is_some_and(|error| !error.is_null()), is_error, "{body}");
        }
        assert_eq!(server.requests(), 6, "each request is sent once");
        for summary in gateway.ended(6).await {
            let line = summary.to_string();
            assert!(line.contains(" first_reject=invalid_parameters"), "{line}");
        }
    }
}

/// Data that only another provider reads goes round through the client.
#[tokio::test]
async fn opaque_data_goes_round() {
    let signed = json!({"candidates": [{"content": {"parts": [
        {"functionCall": {"name": "weather", "args": {"city": "Paris"}}, "thoughtSignature": "c2lnbmF0dXJl"},
    ]}, "finishReason": "STOP"}]});
    let wire = format!("data: {signed}\n\n");
    let server = ScriptedServer::always(move || events(&wire)).await;
    let gateway = Served::new(Gateway::new(upstream(Provider::Gemini, &server))).await;
    for (client, path) in [CLIENTS[1], CLIENTS[2]] {
        let body = text(gateway.post(path, &request(client, false)).send().await.expect("sent")).await;
        let body = json_of(&body);
        let mut next = request(client, false);
        if client == Provider::Anthropic {
            let id = &body["content"][0]["id"];
            next["messages"].as_array_mut().expect("a list").extend([
                json!({"role": "assistant", "content": body["content"]}),
                json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": id, "content": "21 degrees"}]}),
            ]);
        } else {
            let output = body["output"].as_array().expect("items").clone();
            let id = output[0]["call_id"].clone();
            let input = next["input"].as_array_mut().expect("a list");
            input.extend(output);
            input.push(json!({"type": "function_call_output", "call_id": id, "output": "21 degrees"}));
        }
        let response = gateway.post(path, &next).send().await.expect("sent");
        assert_eq!(response.status(), 200, "{}", text(response).await);
        let sent = server.log().requests.pop().expect("a request").json();
        let said = &sent["contents"][1]["parts"];
        assert_eq!(said[0]["functionCall"]["name"], "weather", "{sent}");
        assert_eq!(said[0]["thoughtSignature"], "c2lnbmF0dXJl", "{sent}");
        assert_eq!(sent["contents"][2]["parts"][0]["functionResponse"]["name"], "weather", "{sent}");
    }
}

/// A model without function calling: the tools are in its prompt, and calls and results go round as text.
#[tokio::test]
async fn tools_go_into_the_prompt() {
    let wire = chat_stream(
        &["<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>"],
        "stop",
    );
    let server = ScriptedServer::always(move || events(&wire)).await;
    let format = CallFormat::from_name("qwen3").expect("a family");
    let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(format).tools_in_prompt();
    let gateway = Served::new(gateway).await;
    for (client, path) in [CLIENTS[0], CLIENTS[2]] {
        let mut body = request(client, true);
        let (call, result) = match client {
            Provider::Anthropic => (
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rome"}}]}),
                json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "30 degrees"}]}),
            ),
            _ => (
                json!({"role": "assistant", "content": "Let me see.", "tool_calls": [{"id": "c1", "type": "function",
                    "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}}]}),
                json!({"role": "tool", "tool_call_id": "c1", "content": "30 degrees"}),
            ),
        };
        body["messages"].as_array_mut().expect("a list").extend([call, result]);
        let read = read(client, &text(gateway.post(path, &body).send().await.expect("sent")).await, true);
        assert_eq!(read.calls, [("weather".to_owned(), json!({"city": "Paris"}))]);
        let sent = server.log().requests.pop().expect("a request").json();
        assert!(sent.get("tools").is_none(), "{sent}");
        let system = sent["messages"][0]["content"].as_str().expect("a text");
        assert!(sent["messages"][0]["role"] == "system" && system.contains(r#""name": "weather""#), "{sent}");
        let said = sent["messages"][2]["content"].as_str().expect("a text");
        let written =
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
        assert!(said.ends_with(written), "{sent}");
        let results = json!({"role": "user", "content": "<tool_response>\n30 degrees\n</tool_response>"});
        assert_eq!(sent["messages"][3], results);
    }
}

/// Members of tools and messages have no place where the tools are in the prompt: they are named, and the request is sent.
#[tokio::test]
async fn members_of_tools_are_left_out_of_the_prompt() {
    let wire = chat_stream(&["Hi"], "stop");
    let server = ScriptedServer::always(move || events(&wire)).await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server)).tools_in_prompt()).await;
    let mut body = request(Provider::OpenAiChat, true);
    body["tools"][0]["function"]["strict"] = json!(true);
    body["tools"][0]["cache_control"] = json!({"type": "ephemeral"});
    body["messages"][0]["name"] = json!("ann");
    body["parallel_tool_calls"] = json!(false);
    body["logit_bias"] = json!({"1": 2});
    let response = gateway.post("/v1/chat/completions", &body).send().await.expect("sent");
    assert_eq!(response.status(), 200, "{}", text(response).await);
    let left_out = response.headers()["x-tokenline-left-out"].to_str().expect("text").to_owned();
    for pointer in ["/tools/0/cache_control", "/messages/0/name", "/parallel_tool_calls"] {
        assert!(left_out.contains(pointer), "{left_out}");
    }
    let sent = server.log().requests.pop().expect("a request").json();
    assert_eq!(sent["logit_bias"], json!({"1": 2}));
    // Without a family, the tools are described as Hermes expects them.
    let system = sent["messages"][0]["content"].as_str().expect("a text");
    assert!(system.contains("<tools>") && system.contains("<tool_call>"), "{system}");
    assert!(
        ["tools", "tool_choice", "parallel_tool_calls"].iter().all(|name| sent.get(name).is_none()),
        "{sent}"
    );
}

/// A rejected call is asked for again, and the client gets the one that is right.
#[tokio::test]
async fn rejected_calls_are_asked_for_again() {
    let call =
        |city: &str| format!("<tool_call>{{\"name\":\"weather\",\"arguments\":{{{city}}}}}</tool_call>");
    let (bad, good) =
        (chat_stream(&[&call("\"days\":3")], "stop"), chat_stream(&[&call("\"city\":\"Rome\"")], "stop"));
    let server =
        ScriptedServer::new(move |number, _| events(if number % 2 == 0 { &bad } else { &good })).await;
    let gateway =
        Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto).reask(2);
    let gateway = Served::new(gateway).await;
    for ((client, path), is_streamed) in CLIENTS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let body = text(gateway.post(path, &request(client, is_streamed)).send().await.expect("sent")).await;
        let read = read(client, &body, is_streamed);
        assert_eq!(read.calls, [("weather".to_owned(), json!({"city": "Rome"}))], "{body}");
        assert_eq!((read.reason, read.is_complete), (Some(FinishReason::ToolCalls), true), "{body}");
        let output =
            if client == Provider::OpenAiChat { "\"completion_tokens\":10" } else { "\"output_tokens\":10" };
        assert!((client == Provider::OpenAiChat && is_streamed) || body.contains(output), "{body}");
    }
    assert_eq!(server.requests(), 12);
    for summary in gateway.ended(6).await {
        assert_eq!((summary.reasks, summary.tool_calls), (1, 1));
        // Those of both requests, as the client is told.
        assert_eq!(
            (summary.usage.input_tokens, summary.usage.output_tokens),
            (Some(14), Some(10)),
            "{summary}"
        );
    }
}

#[tokio::test]
async fn malformed_calls_are_repaired_if_asked_for() {
    let call = "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\",}}</tool_call>";
    let wire = chat_stream(&[call], "stop");
    let server = ScriptedServer::always(move || events(&wire)).await;
    for repairs in [true, false] {
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
        let gateway = Served::new(if repairs { gateway.repair_syntax() } else { gateway }).await;
        let response = gateway.post("/v1/messages", &request(Provider::Anthropic, false)).send().await;
        let response = response.expect("sent");
        assert_eq!(response.status(), if repairs { 200 } else { 502 });
        let read = read(Provider::Anthropic, &text(response).await, false);
        assert_eq!(read.calls.len(), usize::from(repairs));
    }
}

/// A model that repeats itself is stopped: the upstream's connection closes, and the response is cut off.
#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped() {
    let chunk_of =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"over and over again, \"}}]}\n\n";
    let server = ScriptedServer::always(move || {
        vec![head("text/event-stream"), Step::Repeat(chunk_bytes(chunk_of), Duration::from_millis(1))]
    })
    .await;
    let limits = RepetitionLimits::default();
    let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).stop_on_repetition(limits);
    let gateway = Served::new(gateway).await;
    for (client, path) in CLIENTS {
        let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
        let read = read(client, &body, true);
        assert!(read.text.starts_with("over and over") && read.text.len() < 100_000, "{}", read.text.len());
        assert_eq!((read.reason, read.is_complete), (Some(FinishReason::Length), true), "{client:?}");
        server.until(|log| log.open == 0).await;
    }
}

fn chunk_bytes(piece: &str) -> Vec<u8> {
    format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes()
}

/// A stream that is silent gets events without content, and goes on.
#[tokio::test]
async fn silent_streams_are_kept_open() {
    let wire = chat_stream(&["Hi"], "stop");
    let (first, rest) = wire.split_at(wire.find("\n\n").expect("an event") + 2);
    let (first, rest) = (first.to_owned(), rest.to_owned());
    let server = ScriptedServer::always(move || {
        vec![
            head("text/event-stream"),
            chunk(&first),
            Step::Pause(Duration::from_millis(400)),
            chunk(&rest),
            end(),
        ]
    })
    .await;
    let interval = Duration::from_millis(100);
    let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).ping_interval(interval);
    let gateway = Served::new(gateway).await;
    for (client, path) in CLIENTS {
        let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
        let read = read(client, &body, true);
        assert_eq!((read.text.as_str(), read.is_complete), ("Hi", true), "{body}");
        let ping = if client == Provider::Anthropic { "event: ping\n" } else { "\n: ping\n\n" };
        assert!(body.matches(ping).count() >= 2, "{body}");
    }
}
