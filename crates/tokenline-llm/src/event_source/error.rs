//! What may fail about an event source.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use reqwest_0_12::{Error as HttpError, StatusCode};

/// Why there is no answer, or not all of it. What came before was delivered before.
///
/// After [`Connect`](Self::Connect) the request may be sent again, and after a [`Status`](Self::Status) of 429 or 5xx
/// when the server's pause is over. After any other the model may have been at work already.
///
/// No error shows the URL, in which there may be a key.
#[derive(Debug)]
#[non_exhaustive]
pub enum EventSourceError {
    /// No connection could be made, so that nothing was sent: the name is not known, nothing listens there.
    Connect(HttpError),
    /// The connection failed, or the client's timeout passed, before the server answered. It may have received the
    /// request.
    Unanswered(HttpError),
    /// The connection failed, or the client's timeout passed, before the answer was over.
    Broken(HttpError),
    /// The server answered with a status other than 200.
    Status {
        /// The status: 429.
        status: u16,
        /// What the server said, at most 500 characters of it.
        message: Option<String>,
        /// How long the server asks to wait: `retry-after` in seconds, or `retry-after-ms`.
        retry_after: Option<Duration>,
    },
    /// The server answered with something else than an event stream: a page of HTML, JSON in one piece.
    ContentType {
        /// The header `content-type`; empty if there is none.
        content_type: String,
        /// The error in the body, where that is JSON; at most 500 characters of it.
        message: Option<String>,
    },
    /// The answer had a byte that is not UTF-8, `\xFF`, or ended within a character.
    NotUtf8 {
        /// Bytes of the answer from there on, none of which was read.
        unread: usize,
    },
    /// The event source failed in another way, and this is what can be said of it.
    Failed(&'static str),
}

impl fmt::Display for EventSourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match self {
            Self::Connect(_) => {
                return f.write_str("no connection to the server could be made; nothing was sent");
            }
            Self::Unanswered(error) => {
                f.write_str(match error.is_timeout() {
                    true => "the client's timeout passed before the server answered",
                    false => "the connection failed before the server answered",
                })?;
                return f.write_str("; the server may have received the request");
            }
            Self::Broken(error) => {
                return f.write_str(match error.is_timeout() {
                    true => {
                        "the client's timeout passed before the answer was over \
                         (`timeout` is for the whole answer, `read_timeout` for each wait)"
                    }
                    false => "the connection broke before the answer was over",
                });
            }
            Self::NotUtf8 { unread } => {
                return write!(
                    f,
                    "the answer is not UTF-8 from some byte on; the {unread} bytes from there to its end were not read"
                );
            }
            Self::Failed(what) => return write!(f, "the event source failed: {what}"),
            Self::Status { status, message, .. } => {
                write!(f, "the server answered with status {status}")?;
                if let Some(reason) =
                    StatusCode::from_u16(*status).ok().and_then(|its| its.canonical_reason())
                {
                    write!(f, " {reason}")?;
                }
                message
            }
            Self::ContentType { content_type, message } => {
                match content_type.as_str() {
                    "" => f.write_str("the server answered without a content type")?,
                    its => write!(f, "the server answered with `{its}`")?,
                }
                f.write_str(" instead of an event stream")?;
                if message.is_none() {
                    f.write_str("; was a stream asked for?")?;
                }
                message
            }
        };
        if let Some(message) = message {
            write!(f, ": {message}")?;
        }
        match self {
            Self::Status { retry_after: Some(pause), .. } => write!(f, " (it asks to wait {pause:?})"),
            _ => Ok(()),
        }
    }
}

impl StdError for EventSourceError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Connect(error) | Self::Unanswered(error) | Self::Broken(error) => Some(error),
            Self::Status { .. } | Self::ContentType { .. } | Self::NotUtf8 { .. } | Self::Failed(_) => None,
        }
    }
}
