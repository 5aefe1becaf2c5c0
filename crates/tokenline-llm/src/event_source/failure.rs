//! Converts an error of the source, with the server's message.

use std::time::{Duration, SystemTime};

use reqwest::{Error as HttpError, Response};
use reqwest_eventsource::Error;
use tokio::time::{Instant, timeout_at};

use super::EventSourceError;
use crate::providers::error_of_body;
use crate::retry_after::retry_after;

/// Limits an endless body. Providers' errors are far shorter.
const MAX_BODY: usize = 64 * 1024;
/// Limits a slow body: the caller waits for the error.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// Characters shown of a message, as for an error inside a stream.
const MAX_MESSAGE: usize = 500;
/// Characters shown of a content type.
const MAX_CONTENT_TYPE: usize = 100;

/// Converts an error of the source; `None` for the normal end.
///
/// If the server responded with something other than an event stream, its message is read first.
pub(super) async fn failure(error: Error, has_responded: bool) -> Option<EventSourceError> {
    Some(match error {
        Error::StreamEnded => return None,
        Error::Transport(error) => transport(error.without_url(), has_responded),
        Error::Utf8(error) => EventSourceError::NotUtf8 { unread: error.as_bytes().len() },
        Error::InvalidStatusCode(status, response) => EventSourceError::Status {
            status: status.as_u16(),
            retry_after: retry_after(|name| response.headers().get(name)?.to_str().ok(), SystemTime::now()),
            message: message_of(&read(response).await),
        },
        Error::InvalidContentType(content_type, response) => {
            let content_type = excerpt(&String::from_utf8_lossy(content_type.as_bytes()), MAX_CONTENT_TYPE);
            // Any other body is not meant for people, or is the response itself, which may be private and slow.
            let message = if is_json(&content_type) { error_in(&read(response).await) } else { None };
            EventSourceError::ContentType { content_type, message }
        }
        // These errors contain what the server sent.
        Error::Parser(_) => EventSourceError::Failed("a line of the stream is invalid"),
        Error::InvalidLastEventId(_) => {
            EventSourceError::Failed("it had failed before, and cannot send the request again")
        }
    })
}

fn transport(error: HttpError, has_responded: bool) -> EventSourceError {
    if has_responded {
        EventSourceError::Interrupted(error)
    } else if error.is_redirect() || error.is_builder() {
        // Its sources may show the target.
        EventSourceError::Failed("the server redirects to a location that the client does not follow")
    } else if error.is_connect() {
        EventSourceError::Connect(error)
    } else {
        EventSourceError::NoResponse(error)
    }
}

/// The beginning of the body, up to the size and time limits.
async fn read(mut response: Response) -> Vec<u8> {
    let deadline = Instant::now() + MAX_WAIT;
    let mut body = Vec::new();
    while body.len() < MAX_BODY
        && let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await
    {
        let room = MAX_BODY - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    body
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// The server's message: a provider's error, or else the text itself, unless it is HTML.
fn message_of(body: &[u8]) -> Option<String> {
    error_in(body).or_else(|| {
        let text = excerpt(&String::from_utf8_lossy(body), MAX_MESSAGE);
        (!text.is_empty() && !text.starts_with('<')).then_some(text)
    })
}

fn error_in(body: &[u8]) -> Option<String> {
    error_of_body(&String::from_utf8_lossy(body)).map(|(message, _)| excerpt(&message, MAX_MESSAGE))
}

/// The text on one line, truncated, without control characters.
fn excerpt(text: &str, max_chars: usize) -> String {
    let is_space = |char: char| char.is_whitespace() || char.is_control();
    let mut excerpt = String::new();
    for (place, word) in text.split(is_space).filter(|word| !word.is_empty()).enumerate() {
        if place > 0 {
            excerpt.push(' ');
        }
        excerpt.push_str(word);
        if excerpt.len() > max_chars * 4 {
            break;
        }
    }
    if let Some((end, _)) = excerpt.char_indices().nth(max_chars) {
        excerpt.truncate(end);
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_body() {
        for (body, expected) in [
            (r#"{"error":{"message":"slow down","type":"rate_limit"}}"#, Some("slow down")),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Some("Overloaded"),
            ),
            (r#"[{"error":{"code":400,"message":"API key not valid."}}]"#, Some("API key not valid.")),
            ("{\"detail\":\r\n  \"Not Found\"}\n", Some(r#"{"detail": "Not Found"}"#)),
            ("upstream connect error\u{1b}[31m", Some("upstream connect error [31m")),
            ("\n<!DOCTYPE html><html>Bad Gateway</html>", None),
            (" \n", None),
            ("", None),
        ] {
            assert_eq!(message_of(body.as_bytes()).as_deref(), expected, "{body}");
        }
        assert_eq!(error_in(br#"{"choices":[{"message":{"content":"private"}}]}"#), None);
    }

    #[test]
    fn a_long_message_is_truncated_between_characters() {
        let long = "é".repeat(1000);
        assert_eq!(message_of(long.as_bytes()), Some("é".repeat(500) + "…"));
        assert_eq!(message_of("é ".repeat(1000).as_bytes()), Some("é ".repeat(250) + "…"));
        assert_eq!(excerpt(&"é".repeat(500), 500), "é".repeat(500));
    }

    #[test]
    fn json_content_types() {
        for (content_type, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/problem+json", true),
            ("application/x-ndjson", false),
            ("text/html", false),
            ("", false),
        ] {
            assert_eq!(is_json(content_type), expected, "{content_type}");
        }
    }
}
