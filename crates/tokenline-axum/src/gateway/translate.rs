//! Requests in another format than the upstream's, or whose responses are changed.

use std::mem;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use tokenline::json::{Parser, Raw, Value};
use tokenline::llm::Provider;
use tokenline::llm::client::ReaskOptions;
use tokenline::llm::request::{ChatRequest, ReceivedRequest, ToolChoice};
use tokenline::llm::writer::{ResponseHead, ResponseWriter};
use tokenline::{CallFormat, LlmClient};

use super::Gateway;
use super::account::Account;
use super::body::Translated;
use super::fault::Fault;
use super::incoming::{seconds_now, with_id};
use super::response_events::{Continuation, ResponseEvents};
use super::router::{Answer, json_response};
use super::schema::{self, JsonText, Shape};

/// Names the members of the request that the upstream cannot receive.
const LEFT_OUT: HeaderName = HeaderName::from_static("x-tokenline-left-out");
/// The most bytes of it.
const MAX_LEFT_OUT: usize = 2048;

/// The family whose prompt describes tools if none is named: most models know it.
const PROMPTED: &str = "hermes";

/// Sends a request in the upstream's format, and writes the response in the client's.
pub(super) async fn translate(
    gateway: &Gateway,
    headers: &HeaderMap,
    body: &Bytes,
    account: &mut Account,
) -> Result<Answer, Fault> {
    let (client, id) = (account.summary.client, account.summary.id.clone());
    account.summary.is_translated = true;
    let members = members(client, body);
    let is_stored = gateway.upstream.provider() == Provider::OpenAiResponses;
    let reference = members.iter().find_map(|(name, value)| stored(name, value));
    if let Some(name) = reference.filter(|_| !is_stored) {
        let message = format!(
            "the upstream keeps no responses: send the whole conversation as `input`, without `{name}` (the AI SDK does with \
             the provider option `store: false`)"
        );
        return Err(Fault::new(StatusCode::BAD_REQUEST, message));
    }
    let received = ReceivedRequest::from_json(client, body)
        .map_err(|error| Fault::new(StatusCode::BAD_REQUEST, error))?;
    let is_streamed = received.request.stream;
    let head = ResponseHead::new(&id, &received.request.model)
        .created(seconds_now())
        .include_usage(received.include_usage)
        .upstream(gateway.upstream.provider())
        .request_members(members);
    account.summary.model.clone_from(&received.request.model);
    account.summary.is_streamed = is_streamed;

    let (request, left_out) = received.into_request_for(gateway.upstream.provider());
    account.summary.left_out = left_out;
    let mut request = with_tools(gateway, request.streamed(true))?;
    let upstream = gateway.upstream_for(headers)?;
    // Where no tool may be called, a call in the text is a quotation.
    let may_call = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    let has_tools = !request.tools.is_empty();
    let mut request = match gateway.call_format.as_ref().filter(|_| gateway.prompts_tools) {
        Some(format) => {
            forget_tools(&mut request, &mut account.summary.left_out);
            let family = match format {
                CallFormat::Auto => CallFormat::from_name(PROMPTED).unwrap_or_default(),
                format => format.clone(),
            };
            let prompted = gateway.prompter.tools_in_prompt(&family.into(), request);
            prompted.map_err(|error| {
                let message = format!("the tools cannot be described in the prompt: {error}");
                Fault::new(StatusCode::BAD_REQUEST, message)
            })?
        }
        None => request,
    };
    let text = match gateway.call_format.clone().filter(|_| may_call) {
        Some(format) => TextContent::Calls(format),
        None => schema::validate(&mut request).map_or(TextContent::Text, TextContent::Json),
    };
    let reading = Reading { text, client, is_streamed, has_tools };
    let events = send(gateway, &upstream, request, reading, &mut account.summary.was_sent).await?;

    let writer = if is_streamed { ResponseWriter::streamed } else { ResponseWriter::whole };
    let writer = writer(client, head).ok_or_else(|| {
        Fault::new(StatusCode::NOT_FOUND, "the gateway does not write responses of this API")
    })?;
    let left_out = shown(&account.summary.left_out);
    if is_streamed {
        return Ok(Answer::Stream(Box::new(move |account| {
            let response = Translated::new(events, writer, account).into_response();
            with_headers(response, &id, left_out)
        })));
    }
    let body = whole(events, writer, account).await?;
    Ok(Answer::Whole(with_headers(json_response(body), &id, left_out)))
}

/// How a response is read.
pub(super) struct Reading {
    pub(super) text: TextContent,
    pub(super) client: Provider,
    pub(super) is_streamed: bool,
    has_tools: bool,
}

/// The content that is read in the text of a response.
pub(super) enum TextContent {
    Text,
    Calls(CallFormat),
    Json(Shape),
}

/// Sends a request, and makes its events those that the client gets.
async fn send(
    gateway: &Gateway,
    upstream: &LlmClient,
    request: ChatRequest,
    reading: Reading,
    was_sent: &mut bool,
) -> Result<ResponseEvents, Fault> {
    let is_json = matches!(reading.text, TextContent::Json(_));
    let max_continuations = gateway.max_continuations.filter(|_| is_json && !reading.has_tools);
    let reask = gateway.reask.clone().unwrap_or_else(|| ReaskOptions::new(0));
    let reask = if is_json { reask } else { reask.tool_calls_only() };
    // What is cut off is continued, or else asked for again.
    let first_reask =
        if max_continuations.is_some() { reask.clone().skip_truncated() } else { reask.clone() };
    let stream = upstream.stream(&request)?;
    *was_sent = true;
    let stream = stream.with_options(|options| gateway.response_options(options, &reading));
    let extraction = stream.reask(&request, first_reask).send().await?;
    let changes_json = gateway.repairs || gateway.reask.is_some() || max_continuations.is_some();
    let json = match reading.text {
        TextContent::Json(shape) if changes_json => Some(JsonText::of_records(shape)),
        TextContent::Json(_) => Some(JsonText::AsReceived),
        TextContent::Text | TextContent::Calls(_) => None,
    };
    let continuation = max_continuations.map(|max_continuations| {
        let (upstream, repetition) = (upstream.clone(), gateway.repetition);
        Continuation { upstream, request, max_continuations, reask, repetition }
    });
    Ok(ResponseEvents::new(extraction, json, continuation))
}

/// Reads a response to its end.
async fn whole(
    mut events: ResponseEvents,
    mut writer: ResponseWriter,
    account: &mut Account,
) -> Result<String, Fault> {
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                account.count(&event);
                writer.push(&event);
            }
            Err(failure) => writer.fail(failure),
        }
        if writer.is_ended() {
            break;
        }
    }
    events.finish(&mut writer);
    events.summarize(&mut account.summary);
    writer.into_body().map_err(Fault::of_response)
}

/// The request, with the validator of its tools.
fn with_tools(gateway: &Gateway, mut request: ChatRequest) -> Result<ChatRequest, Fault> {
    let definitions = mem::take(&mut request.tools);
    if definitions.is_empty() {
        return Ok(request);
    }
    let tools = gateway
        .tools
        .compile(&definitions)
        .map_err(|error| Fault::new(StatusCode::BAD_REQUEST, format!("the tools of the request: {error}")))?;
    Ok(request.tools(&tools))
}

/// Removes the members of the body that are about tools, or that have a place in tools and messages: in the prompt, there are
/// none, and messages are others.
fn forget_tools(request: &mut ChatRequest, left_out: &mut Vec<String>) {
    left_out.extend(mem::take(&mut request.extra_at).into_iter().map(|(pointer, _)| pointer));
    for name in ["tools", "tool_choice", "parallel_tool_calls"] {
        left_out.extend(request.extra.remove(name).map(|_| format!("/{name}")));
    }
}

/// The members of a request to OpenAI's Responses that a response may repeat, and those that refer to OpenAI's store.
fn members(client: Provider, body: &Bytes) -> Vec<(String, Raw)> {
    let Some(text) = std::str::from_utf8(body).ok().filter(|_| client == Provider::OpenAiResponses) else {
        return Vec::new();
    };
    let mut json = Parser::new();
    let Ok(body) = json.parse(text) else { return Vec::new() };
    let is_reference =
        |item: &Value<'_>| item.get("type").and_then(Value::as_str).as_deref() == Some(ITEM_REFERENCE);
    let input = body.get("input").and_then(Value::as_array);
    let reference = input.into_iter().flatten().find(is_reference);
    let reference = reference.map(|item| (ITEM_REFERENCE, item));
    let members = body.as_object().into_iter().flatten().filter(|(name, _)| *name != "input");
    members
        .chain(reference)
        .filter_map(|(name, value)| Some((name.to_owned(), Raw::new(value.raw()).ok()?)))
        .collect()
}

const ITEM_REFERENCE: &str = "item_reference";

/// The name of a member that refers to OpenAI's store, which no other server has. Without it, the model would answer a
/// part of the conversation.
fn stored<'m>(name: &'m str, value: &Raw) -> Option<&'m str> {
    let refers = matches!(name, "previous_response_id" | "conversation" | "prompt" | ITEM_REFERENCE);
    (refers && value.as_str() != "null").then_some(name)
}

/// The value of the header that lists the omitted members.
fn shown(left_out: &[String]) -> Option<HeaderValue> {
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    let names: String = left_out.join(", ").chars().map(|c| if c == ' ' { c } else { visible(c) }).collect();
    HeaderValue::from_str(names.get(..MAX_LEFT_OUT).unwrap_or(&names)).ok().filter(|_| !names.is_empty())
}

fn with_headers(mut response: Response, id: &str, left_out: Option<HeaderValue>) -> Response {
    if let Some(left_out) = left_out {
        response.headers_mut().insert(LEFT_OUT, left_out);
    }
    with_id(response, id)
}
