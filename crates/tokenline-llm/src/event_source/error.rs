//! Errors of an event source.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use reqwest::{Error as HttpError, StatusCode};

/// The reason there is no response, or only a part of it. Everything received before was delivered.
///
/// The request may be sent again after [`Connect`](Self::Connect), and after a [`Status`](Self::Status) of 429 or 5xx
/// once the server's pause is over. After any other error the model may already have been running.
///
/// No error shows the URL, which may contain a key.
#[derive(Debug)]
#[non_exhaustive]
pub enum EventSourceError {
    /// No connection, so nothing was sent: unknown host, or nothing listens there.
    Connect(HttpError),
    /// The connection failed, or the client's timeout passed, before the server responded. The server may have received
    /// the request.
    NoResponse(HttpError),
    /// The connection failed, or the client's timeout passed, before the response ended.
    Interrupted(HttpError),
    /// The server responded with a status other than 200.
    Status {
        /// The status: 429.
        status: u16,
        /// The server's message, truncated to 500 characters.
        message: Option<String>,
        /// The pause the server asks for: `retry-after` in seconds, or `retry-after-ms`.
        retry_after: Option<Duration>,
    },
    /// The server responded with something other than an event stream: an HTML page, a JSON document.
    ContentType {
        /// The header `content-type`; empty if missing.
        content_type: String,
        /// The error in a JSON body, truncated to 500 characters.
        message: Option<String>,
    },
    /// The response had a byte that is not UTF-8, or ended within a character.
    NotUtf8 {
        /// The number of unread bytes of the response, starting at that byte.
        unread: usize,
    },
    /// The event source failed for this other reason.
    Failed(&'static str),
}

impl fmt::Display for EventSourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match self {
            Self::Connect(_) => {
                return f.write_str("cannot connect to the server; nothing was sent");
            }
            Self::NoResponse(error) => {
                f.write_str(if error.is_timeout() {
                    "the client's timeout passed before the server responded"
                } else {
                    "the connection failed before the server responded"
                })?;
                return f.write_str("; the server may have received the request");
            }
            Self::Interrupted(error) => {
                return f.write_str(if error.is_timeout() {
                    "the client's timeout passed before the response ended \
                     (`timeout` covers the whole response, `read_timeout` each read)"
                } else {
                    "the connection broke before the response ended"
                });
            }
            Self::NotUtf8 { unread } => {
                return write!(
                    f,
                    "the response contains invalid UTF-8; the {unread} bytes from there on were not read"
                );
            }
            Self::Failed(what) => return write!(f, "the event source failed: {what}"),
            Self::Status { status, message, .. } => {
                write!(f, "the server responded with status {status}")?;
                if let Some(reason) =
                    StatusCode::from_u16(*status).ok().and_then(|status| status.canonical_reason())
                {
                    write!(f, " {reason}")?;
                }
                message
            }
            Self::ContentType { content_type, message } => {
                match content_type.as_str() {
                    "" => f.write_str("the server responded without a content type")?,
                    content_type => write!(f, "the server responded with `{content_type}`")?,
                }
                f.write_str(" instead of an event stream")?;
                if message.is_none() {
                    f.write_str("; check that the request asks for a stream")?;
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
            Self::Connect(error) | Self::NoResponse(error) | Self::Interrupted(error) => Some(error),
            Self::Status { .. } | Self::ContentType { .. } | Self::NotUtf8 { .. } | Self::Failed(_) => None,
        }
    }
}
