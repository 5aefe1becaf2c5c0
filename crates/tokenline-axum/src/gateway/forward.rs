//! Requests in the upstream's own format: forwarded as they are.

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION,
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST, ORIGIN,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use futures_core::Stream as _;
use tokenline::llm::ResponseError;
use tokenline::llm::client::{ForwardedRequest, ForwardedResponse, Resource, ResponseBody};
use tokenline::llm::writer::{ResponseHead, ResponseWriter};

use super::Gateway;
use super::account::Account;
use super::body::{Forwarded, failure_of};
use super::fault::Fault;
use super::incoming::{check_json, with_id};
use super::response_events::{MAX_RESPONSE, too_large};
use super::router::Answer;

/// Headers of a connection, not of a message.
const OF_CONNECTIONS: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Headers of requests that are for the gateway.
const FOR_THE_GATEWAY: [HeaderName; 6] = [ACCEPT_ENCODING, CONTENT_LENGTH, COOKIE, EXPECT, HOST, ORIGIN];

/// Headers in which clients send keys.
const KEYS: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// Headers of responses that are about the upstream's own pages.
const OF_THE_UPSTREAM: [HeaderName; 6] = [
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    SET_COOKIE,
];

/// Forwards a request, and the response.
pub(super) async fn forward(
    gateway: &Gateway,
    resource: Resource,
    parts: &Parts,
    body: Option<Bytes>,
    account: &mut Account,
) -> Result<Answer, Fault> {
    let wants_stream = match &body {
        Some(body) => check_json(body)?,
        None => false,
    };
    let mut headers = without_connection(&parts.headers);
    for name in FOR_THE_GATEWAY {
        headers.remove(name);
    }
    // The upstream gets its own key; that of the client is for the gateway.
    if gateway.token.is_some() || gateway.upstream.has_key() {
        for name in KEYS {
            headers.remove(name);
        }
    }
    let request = ForwardedRequest::new(resource).query(parts.uri.query()).headers(headers);
    let request = match body {
        Some(body) => request.body(body),
        None => request,
    };
    account.summary.was_sent = true;
    let ForwardedResponse { status, headers, body, .. } = gateway.upstream.forward(request).await?;
    if status.is_informational() || status.is_redirection() {
        let message = format!("the upstream responded {status}, which is not followed");
        return Err(Fault::new(StatusCode::BAD_GATEWAY, message));
    }
    let mut headers = without_connection(&headers);
    for name in OF_THE_UPSTREAM {
        headers.remove(name);
    }
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_stream = status == StatusCode::OK && is_event_stream(content_type, wants_stream);
    if is_stream && headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        let message = "the upstream sends a compressed stream, although none was asked for";
        return Err(Fault::new(StatusCode::BAD_GATEWAY, message));
    }
    account.summary.status = status.as_u16();
    account.summary.is_streamed = is_stream;
    let ping = is_stream.then(|| ResponseWriter::streamed(account.summary.client, ResponseHead::new("", "")));
    let ping = ping.flatten().map_or("", |writer| writer.ping());
    // hyper writes that of what is sent.
    headers.remove(CONTENT_LENGTH);
    let id = account.summary.id.clone();
    let mut respond = move |body| {
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (status, mem::take(&mut headers));
        // That of the upstream stays.
        with_id(response, &id)
    };
    if is_stream {
        return Ok(Answer::Stream(Box::new(move |account| {
            respond(Forwarded::new(body, account).into_body(ping))
        })));
    }
    // A body that breaks off is an error. Had it begun, the client could not be told.
    let body = Bytes::from(whole(body).await?);
    // A server may quote the key that it refuses, and it may be the gateway's.
    let body = if status.is_success() { body } else { account.mask(body) };
    Ok(Answer::Whole(respond(Body::from(body))))
}

/// Whether a body is a stream of events, by its content type. Some servers declare it as text, or not at all.
fn is_event_stream(content_type: &str, is_wanted: bool) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "text/event-stream" || (is_wanted && matches!(&*essence, "" | "text/plain"))
}

/// Reads a body to its end.
async fn whole(mut body: ResponseBody) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while let Some(chunk) = poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await {
        let chunk = chunk.map_err(|error| Fault::of_response(failure_of(&ResponseError::Source(error))))?;
        if bytes.len() + chunk.len() > MAX_RESPONSE {
            return Err(Fault::of_response(too_large()));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn without_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    // A connection can have headers of its own.
    for named in headers.get_all(CONNECTION) {
        for name in named.to_str().unwrap_or_default().split(',') {
            kept.remove(name.trim());
        }
    }
    for name in OF_CONNECTIONS {
        kept.remove(name);
    }
    kept
}
