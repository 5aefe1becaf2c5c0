//! The tools and the format of a request bring their validators to its response.

use std::slice;

use tokenline_core::json::{Raw, Value};
use tokenline_core::{ToolDefinition, Tools, ValidateCall, Violation};
use tokenline_llm::request::{ChatRequest, JsonFormat, ToolChoice};
use tokenline_llm::{ContinuationOptions, Provider, ResponseEvent};
use tokenline_schema::{SchemaValidator, ToolSet};

use crate::common::{chunk, text};
use crate::server::{ScriptedServer, events};
use crate::{client, soon};

/// The calls, records and rejects of a response to this request.
async fn outcome(request: &ChatRequest, wire: String) -> Vec<String> {
    let server = ScriptedServer::always(move || events(&wire)).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let mut response = soon(client.stream(request).expect("a request").send()).await.expect("a response");
    let mut outcome = Vec::new();
    while let Some(event) = soon(response.next()).await {
        outcome.push(match event.expect("a complete response") {
            ResponseEvent::ToolCall { call, .. } => call.name,
            ResponseEvent::RejectedCall { call, .. } => call.diagnostic.code.to_string(),
            ResponseEvent::Rejected { diagnostic, .. } => diagnostic.code.to_string(),
            ResponseEvent::Record { record, .. } => record.value.as_str().to_owned(),
            _ => continue,
        });
    }
    outcome
}

struct Anything;

impl ValidateCall for Anything {
    fn validate_call(&self, _: &str, _: Value<'_>) -> Result<(), Box<Violation>> {
        Ok(())
    }
}

fn tool(name: &str, schema: &str) -> ToolDefinition {
    ToolDefinition::new(name).with_parameters(Raw::new(schema).expect("JSON"))
}

/// Calls of `weather` with a city and without, of `now`, and of a tool that nobody defined.
fn calls() -> String {
    let calls =
        [("weather", "{\\\"city\\\":\\\"Oslo\\\"}"), ("weather", "{}"), ("now", "{}"), ("sleep", "{}")];
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        format!(
            r#"{{"index":{index},"id":"c{index}","function":{{"name":"{name}","arguments":"{arguments}"}}}}"#
        )
    });
    let calls: Vec<_> = calls.collect();
    chunk(&format!(r#"{{"tool_calls":[{}]}}"#, calls.join(",")), "tool_calls")
}

#[tokio::test]
async fn calls_are_validated_by_the_tools_of_the_request() {
    let weather = tool("weather", r#"{"type":"object","required":["city"]}"#);
    let now = tool("now", r#"{"type":"object"}"#);
    let request = ChatRequest::new("m").user("?");
    let set = |tools: &[ToolDefinition]| ToolSet::new(tools).expect("tools");

    let validated = request.clone().tools(set(&[weather.clone(), now.clone()]));
    let one_set = ["weather", "invalid_parameters", "now", "unknown_tool"];
    assert_eq!(outcome(&validated, calls()).await, one_set);
    // Equal requests: what they send is the same.
    assert_eq!(validated, request.clone().tools([&weather, &now]));
    assert_eq!(validated.tools, [weather.clone(), now.clone()]);

    let two_sets = request.clone().tools(set(slice::from_ref(&weather))).tools(set(slice::from_ref(&now)));
    assert_eq!(outcome(&two_sets, calls()).await, one_set);
    // `now` has no validator, but it is a tool of the request.
    let mixed = request.clone().tools(set(slice::from_ref(&weather))).tools([&now]);
    assert_eq!(outcome(&mixed, calls()).await, one_set);
    // One of one's own that accepts everything is not asked about the tools of others.
    let own = request
        .clone()
        .tools(Tools::from([&now]).validated_by(Anything))
        .tools(set(slice::from_ref(&weather)));
    assert_eq!(outcome(&own, calls()).await, ["weather", "invalid_parameters", "now", "sleep"]);
    let by_hand =
        request.clone().tools(Tools::from([&weather, &now]).validated_by(set(slice::from_ref(&weather))));
    assert_eq!(
        outcome(&by_hand, calls()).await,
        ["weather", "invalid_parameters", "unknown_tool", "unknown_tool"]
    );
    let definitions = request.clone().tools([weather.clone(), now]).tool_choice(ToolChoice::Required);
    assert_eq!(outcome(&definitions, calls()).await, ["weather", "weather", "now", "sleep"]);
    // What is read back from JSON has the definitions alone.
    let json = serde_json::to_string(&validated).expect("JSON");
    let read: ChatRequest = serde_json::from_str(&json).expect("a request");
    assert_eq!(outcome(&read, calls()).await, ["weather", "weather", "now", "sleep"]);
}

#[tokio::test]
async fn options_come_after_those_of_the_request() {
    let weather = tool("weather", r#"{"type":"object","required":["city"]}"#);
    let request = ChatRequest::new("m").user("?").tools(ToolSet::new(&[weather]).expect("tools"));
    let server = ScriptedServer::always(move || events(&calls())).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let request = client.stream(&request).expect("a request");
    let anything = ToolSet::new(&["weather", "now", "sleep"].map(ToolDefinition::new)).expect("tools");
    let request = request.with_options(|options| options.tools(anything).max_records(3));
    let mut calls = soon(request.send()).await.expect("a response").tool_calls();
    let mut names = Vec::new();
    while let Some(call) = soon(calls.next()).await {
        names.push(call.expect("a call").name);
    }
    assert_eq!(names, ["weather", "weather", "now"]);
}

#[tokio::test]
async fn records_are_validated_by_the_format_of_the_request() {
    let item = Raw::new(r#"{"type":"object","required":["a"]}"#).expect("JSON");
    let validator: SchemaValidator = item.as_str().parse().expect("a schema");
    let format = JsonFormat::list("rows", &item, "/rows");
    let wire = [
        text("{\"rows\":[{\"a\":1},{\"b\":2},{\"a\":3}]}"),
        chunk("{}", "stop"),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let request = ChatRequest::new("m").user("?");
    let validated = request.clone().response_format(format.clone().validated_by(validator));
    assert_eq!(outcome(&validated, wire.clone()).await, ["{\"a\":1}", "schema_violation", "{\"a\":3}"]);
    let server = ScriptedServer::always({
        let wire = wire.clone();
        move || events(&wire)
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let continued = client.continued(&validated, ContinuationOptions::default()).expect("a request");
    let mut records = continued.records();
    let mut found = Vec::new();
    while let Some(record) = soon(records.next()).await {
        found.push(record.expect("a record").value.as_str().to_owned());
    }
    assert_eq!(found, ["{\"a\":1}", "{\"a\":3}"]);
    let continued = client.continued(&validated, ContinuationOptions::default()).expect("a request");
    assert!(soon(continued.document().into_future()).await.is_ok());

    let request = request.response_format(format);
    assert_eq!(outcome(&request, wire).await, ["{\"a\":1}", "{\"b\":2}", "{\"a\":3}"]);
    assert_eq!(validated, request);
}
