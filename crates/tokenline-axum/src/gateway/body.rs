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
use tokenline::llm::{ResponseError, ResponseOptions, TextMode};

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
    has_error: bool,
}

impl Forwarded {
    pub(super) fn new(source: ResponseBody, account: Account) -> Self {
        let options = ResponseOptions::default().text_as(TextMode::Text);
        let parser = ResponseParser::new(account.summary.client, options);
        Self { source: Some(source), parser, account, is_between: true, has_error: false }
    }

    /// The body. `ping` stands in for a comment.
    pub(super) fn into_body(self, ping: &'static str) -> Body {
        let interval = self.account.ping();
        Body::from_stream(StreamBody::new(self, Some(interval)).with_comment(ping))
    }

    fn read(&mut self) {
        while let Some(event) = self.parser.next_event() {
            self.account.count(&event);
            let is_failure = event.diagnostic().is_some_and(tokenline::llm::DataLoss::is_failure);
            self.has_error |= is_failure && !self.parser.is_complete() && self.source.is_some();
        }
    }

    /// The event of an error, after what was forwarded.
    fn failed(&mut self, message: String) -> Bytes {
        let failure = Failure::new(502, message);
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
            Poll::Ready(Some(Ok(chunk))) => {
                this.parser.push(&chunk);
                this.read();
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
                if this.parser.is_complete() || this.has_error {
                    let message = "the upstream ended the response with an error";
                    this.account.end(this.has_error.then(|| Failure::new(502, message)));
                    return Poll::Ready(None);
                }
                let message = match ended {
                    Some(Err(error)) => error.to_string(),
                    _ => "the upstream closed the connection before the end of the response".to_owned(),
                };
                Poll::Ready(Some(Ok(this.failed(message))))
            }
        }
    }
}
