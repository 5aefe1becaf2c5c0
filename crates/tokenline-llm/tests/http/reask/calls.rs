//! Tool calls that are requested again.

use serde_json::{Value, json};
use tokenline_llm::client::extract;
use tokenline_llm::{ResponseEvent, ResponseOptions, TextMode};

use super::{Item, ONE_WRONG, client_of, list, request, server, sse};
use crate::server::{ScriptedServer, events};
use crate::soon;

/// The wire of native calls: an id, a tool, and its arguments.
fn calls(calls: &[(&str, &str, &str)]) -> String {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (id, name, arguments))| {
            json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } })
        })
        .collect();
    sse(&json!({ "tool_calls": calls }), "tool_calls")
}

/// The events of a response as short texts.
pub(super) async fn seen(
    server: &ScriptedServer,
    of_calls: bool,
    options: fn(ResponseOptions) -> ResponseOptions,
) -> Vec<String> {
    let extraction = extract::<Item>(&client_of(server), request(of_calls)).with_options(options).reask(1);
    let mut events = soon(extraction.send()).await.expect("a response");
    let mut seen = Vec::new();
    while let Some(event) = soon(events.next()).await {
        seen.push(match event.expect("no error") {
            ResponseEvent::Record { record, .. } => format!("record {}", record.value.id),
            ResponseEvent::ToolCall { call, number, .. } => {
                format!("call {} {} {number:?}", call.call_id.unwrap_or_default(), call.parameters)
            }
            ResponseEvent::ToolCallDiscarded { number, .. } => format!("discarded {number}"),
            ResponseEvent::PartialDiscarded { .. } => "discarded".to_owned(),
            ResponseEvent::Rejected { diagnostic, .. } => format!("rejected {}", diagnostic.code),
            ResponseEvent::RejectedCall { call, .. } => format!("rejected {}", call.diagnostic.code),
            _ => continue,
        });
    }
    seen
}

#[tokio::test]
async fn a_call_keeps_its_id_and_is_shown_as_text() {
    let wrong = "{\"id\":2,\"n\":\"x\"}";
    let first = calls(&[("c1", "put", "{\"id\":1,\"n\":1}"), ("c2", "put", wrong)]);
    let again = |_| events(&calls(&[("c1", "put", "{\"id\":2,\"n\":2}")]));
    let server = self::server(first, again).await;
    let seen = seen(&server, true, ResponseOptions::call_updates).await;
    assert_eq!(
        seen,
        ["call c1 {\"id\":1,\"n\":1} Some(1)", "discarded 2", "call c2 {\"id\":2,\"n\":2} None"]
    );
    let body = server.log().requests[1].json();
    let messages = body["messages"].as_array().expect("messages");
    assert_eq!(messages.last().expect("one")["role"], "user", "no call without what its provider wants back");
    let content = messages.last().expect("one")["content"].to_string();
    assert!(
        content.contains("What is in a cell?") && content.contains(&wrong.replace('"', "\\\"")),
        "{content}"
    );
    assert!(content.contains("expected type integer, found a string (at /parameters/n)"), "{content}");
    assert!(!content.contains("call 2"), "{content}");
    // A call in the text, which has no id.
    let text = |n: &str| format!("{{\"name\":\"put\",\"parameters\":{{\"id\":2,\"n\":{n}}}}}\n");
    let again = text("2");
    let server = self::server(list(&text("\"x\"")), move |_| events(&list(&again))).await;
    let options = |options: ResponseOptions| options.text_as(TextMode::ToolCalls);
    assert_eq!(self::seen(&server, true, options).await, ["call  {\"id\":2,\"n\":2} None"]);
}

#[tokio::test]
async fn only_what_is_wanted_is_asked_for() {
    let both = sse(
        &json!({
            "content": ONE_WRONG,
            "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "put", "arguments": "{}" } }],
        }),
        "stop",
    );
    let again = |_| events(&list("{\"id\":1,\"n\":2}"));
    let server = self::server(both.clone(), again).await;
    let extracted = soon(extract::<Item>(&client_of(&server), request(true)).reask(1).list()).await;
    let report = extracted.expect("a response").report;
    assert_eq!((report.records(), report.rejected(), report.reasks().requests), (4, 1, 1));
    let server = self::server(both, |_| events(&calls(&[("d", "put", "{\"id\":1,\"n\":2}")]))).await;
    let extraction = extract::<Item>(&client_of(&server), request(true)).reask(1);
    let mut calls = soon(extraction.send()).await.expect("a response").tool_calls();
    assert_eq!(soon(calls.next()).await.expect("a call").expect("a call").call_id.as_deref(), Some("c"));
    assert!(soon(calls.next()).await.is_none());
    assert_eq!((calls.report().reasks().requests, calls.report().rejected()), (1, 1));
}

#[tokio::test]
async fn equal_arguments_of_two_tools_are_two_calls() {
    let first = calls(&[("a", "put", "{}"), ("b", "take", "{}")]);
    let server = self::server(first, |_| events(&calls(&[("c", "put", "{\"id\":1,\"n\":2}")]))).await;
    let seen = seen(&server, true, |options| options).await;
    assert_eq!((seen.len(), server.requests()), (2, 3), "{seen:?}");
}
