//! The bytes of an answer.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::stream::Stream;
use futures_util::StreamExt as _;
use reqwest::Response;

use super::error::root_cause;
use super::{ClientError, ClientErrorKind};

/// The bytes of an answer, as they come. Dropping it closes the connection.
#[must_use = "streams do nothing unless polled"]
pub struct AnswerBody(Pin<Box<dyn Stream<Item = Result<Bytes, ClientError>> + Send>>);

impl AnswerBody {
    pub(super) fn new(response: Response, read_timeout: Duration) -> Self {
        let mut received = 0;
        Self(Box::pin(response.bytes_stream().map(move |chunk| match chunk {
            Ok(chunk) => {
                received += chunk.len() as u64;
                Ok(chunk)
            }
            Err(error) => Err(broken(error, received, read_timeout)),
        })))
    }
}

fn broken(error: reqwest::Error, received: u64, read_timeout: Duration) -> ClientError {
    let (kind, message) = if error.is_timeout() {
        let message = format!("the provider was silent for {} s", read_timeout.as_secs_f64());
        (ClientErrorKind::Timeout, message)
    } else {
        (ClientErrorKind::Transport, format!("the connection broke: {}", root_cause(&error)))
    };
    ClientError::new(kind, format!("{message}, {received} bytes into the answer"))
        .with_source(error.without_url())
}

impl Stream for AnswerBody {
    type Item = Result<Bytes, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody").finish_non_exhaustive()
    }
}
