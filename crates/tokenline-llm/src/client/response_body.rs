//! The bytes of a response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_core::stream::Stream;
use futures_util::StreamExt as _;
use reqwest::Response;

use super::error::root_cause;
use super::llm_client::Inner;
use super::{ClientError, ClientErrorKind, error_response};

/// The bytes of a response, as they arrive. Dropping it closes the connection.
#[must_use = "streams do nothing unless polled"]
pub struct ResponseBody(Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>> + Send>>);

impl ResponseBody {
    /// The body of a response, after this many attempts.
    pub(super) fn new(response: Response, client: &Inner, attempts: u32) -> Self {
        let read_timeout = client.read_timeout;
        let (status, request_id) =
            (response.status(), error_response::request_id(client, response.headers()));
        let (mut received, mut last) = (0, Instant::now());
        Self(Box::pin(response.bytes_stream().map(move |chunk| {
            match chunk {
                Ok(chunk) => {
                    received += chunk.len() as u64;
                    last = Instant::now();
                    Ok(chunk)
                }
                Err(error) => Err(body_error(error, received, last.elapsed(), read_timeout)
                    .with_status(status.as_u16())
                    .with_request_id(request_id.clone())
                    .with_attempts(attempts)),
            }
        })))
    }
}

fn body_error(
    error: reqwest::Error,
    received: u64,
    silence: Duration,
    read_timeout: Duration,
) -> ClientError {
    let (kind, message) = if error.is_timeout() {
        // The HTTP client may have a timeout of its own.
        let message = if silence < read_timeout {
            "the response took longer than the timeout of the HTTP client".to_owned()
        } else {
            format!("the provider was silent for {} s", read_timeout.as_secs_f64())
        };
        (ClientErrorKind::Timeout, message)
    } else {
        (ClientErrorKind::Transport, format!("the connection broke: {}", root_cause(&error)))
    };
    let bytes = if received == 1 { "byte" } else { "bytes" };
    ClientError::new(kind, format!("{message}, {received} {bytes} into the response"))
        .with_source(error.without_url())
}

impl Stream for ResponseBody {
    type Item = Result<Bytes, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}
