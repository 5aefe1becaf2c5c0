//! The bodies of streamed responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use tokenline::ResponseParser;
use tokenline::json::Raw;
use tokenline::llm::client::{ClientError, ClientErrorKind, ResponseBody};
use tokenline::llm::writer::{Failure, ResponseWriter};
use tokenline::llm::{DataLoss, Provider, ResponseError, ResponseOptions, TextMode};

use super::account::Account;
use super::response_events::ResponseEvents;
use crate::headers::{NO_STORE, UNBUFFERED};
use crate::stream_body::{StreamBody, ends_event};

/// The bytes after which what is written goes out, even if more can be read at once.
const CHUNK: usize = 16 * 1024;

/// A response that is written anew, as it arrives. Dropping it closes the upstream's connection.
pub(super) struct Translated {
    events: Option<ResponseEvents>,
    writer: ResponseWriter,
    account: Account,
}

impl Translated {
    pub(super) fn new(events: ResponseEvents, writer: ResponseWriter, account: Account) -> Self {
        Self { events: Some(events), writer, account }
    }

    /// The response, without its id.
    pub(super) fn into_response(self) -> Response {
        let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, NO_STORE), UNBUFFERED];
        let (ping, interval) = (self.writer.ping(), self.account.ping());
        let body = StreamBody::new(self, Some(interval)).with_comment(ping);
        (headers, Body::from_stream(body)).into_response()
    }
}

impl Stream for Translated {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { events, writer, account } = self.get_mut();
        while let Some(source) = events {
            let is_pending = match source.poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => {
                    account.count(&event);
                    writer.push(&event);
                    false
                }
                Poll::Ready(Some(Err(failure))) => {
                    writer.fail(failure);
                    false
                }
                Poll::Ready(None) => {
                    source.finish(writer);
                    false
                }
                Poll::Pending => true,
            };
            if writer.is_ended() {
                source.summarize(&mut account.summary);
                account.end(writer.failure().cloned());
                *events = None;
            }
            if is_pending && writer.ready_bytes() == 0 {
                return Poll::Pending;
            }
            if is_pending || writer.ready_bytes() >= CHUNK {
                break;
            }
        }
        let bytes = writer.take();
        if bytes.is_empty() {
            return Poll::Ready(None);
        }
        account.sent();
        Poll::Ready(Some(Ok(bytes.into())))
    }
}

/// The error of a response that broke off.
pub(super) fn failure_of(error: &ResponseError<ClientError>) -> Failure {
    let is_timeout =
        matches!(error, ResponseError::Source(error) if error.kind() == ClientErrorKind::Timeout);
    Failure::new(if is_timeout { 504 } else { 502 }, error.to_string())
}

/// A stream that goes on as it is. If it is incomplete, an error follows.
pub(super) struct Forwarded {
    source: Option<ResponseBody>,
    /// Looks on: for the counts, and for the end.
    parser: ResponseParser<Raw>,
    account: Account,
    is_between: bool,
    /// The error with which the upstream ends the response.
    error: Option<Failure>,
    /// The client's library reads the error: it has the form of its API.
    is_told: bool,
}

impl Forwarded {
    pub(super) fn new(source: ResponseBody, account: Account) -> Self {
        let options = ResponseOptions::default().text_as(TextMode::Text);
        let parser = ResponseParser::new(account.summary.client, options);
        Self { source: Some(source), parser, account, is_between: true, error: None, is_told: false }
    }

    /// The body. `ping` stands in for a comment.
    pub(super) fn into_body(self, ping: &'static str) -> Body {
        let interval = self.account.ping();
        Body::from_stream(StreamBody::new(self, Some(interval)).with_comment(ping))
    }

    fn read(&mut self) {
        while let Some(event) = self.parser.next_event() {
            self.account.count(&event);
            let failure = event.diagnostic().filter(|diagnostic| DataLoss::is_failure(diagnostic));
            if let Some(failure) = failure.filter(|_| !self.parser.is_complete() && self.source.is_some()) {
                self.error.get_or_insert_with(|| Failure::of_provider(failure));
            }
        }
    }

    /// The event of an error, after what was forwarded.
    fn failed(&mut self, failure: Failure) -> Bytes {
        let mut bytes = if self.is_between { Vec::new() } else { b"\n\n".to_vec() };
        bytes.extend(failure.to_event(self.account.summary.client));
        self.account.end(Some(failure));
        bytes.into()
    }
}

impl Stream for Forwarded {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(source) = &mut this.source else { return Poll::Ready(None) };
        match Pin::new(source).poll_next(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(mut chunk))) => {
                this.parser.push(&chunk);
                this.read();
                if this.error.is_some() {
                    this.is_told |= has_error(this.account.summary.client, &chunk);
                    chunk = this.account.mask(chunk);
                }
                if !chunk.is_empty() {
                    this.is_between = ends_event(&chunk);
                    this.account.sent();
                }
                Poll::Ready(Some(Ok(chunk)))
            }
            Poll::Ready(ended) => {
                this.source = None;
                this.parser.finish();
                this.read();
                // A connection may break behind the end of the response.
                if this.parser.is_complete() || this.is_told {
                    this.account.end(this.error.take());
                    return Poll::Ready(None);
                }
                let failure = match (this.error.take(), ended) {
                    (Some(error), _) => error,
                    (None, Some(Err(error))) => Failure::new(502, error.to_string()),
                    (None, _) => Failure::new(502, CLOSED),
                };
                Poll::Ready(Some(Ok(this.failed(failure))))
            }
        }
    }
}

const CLOSED: &str = "the upstream closed the connection before the end of the response";

/// Whether bytes of a stream contain an error in the form of its API.
fn has_error(client: Provider, bytes: &[u8]) -> bool {
    let forms: &[&str] = match client {
        Provider::OpenAiChat => &["\"error\""],
        Provider::OpenAiResponses => &["response.failed", "event: error", "event:error"],
        _ => &["event: error", "event:error"],
    };
    forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_bytes()))
}
