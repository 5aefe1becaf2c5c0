//! One event, and its encoding.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

/// A server-sent event.
///
/// ```
/// use tokenline_axum::sse::{ServerSentEvent, FieldValue};
///
/// const RECORD: FieldValue = FieldValue::from_static("record");
///
/// let event = ServerSentEvent::json(&[1, 2])?.with_id(7).with_name(RECORD);
/// assert_eq!(event.to_string(), "id: 7\nevent: record\ndata: [1,2]\n\n");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSentEvent {
    id: Option<FieldValue>,
    name: Option<FieldValue>,
    retry: Option<Duration>,
    data: String,
}

impl ServerSentEvent {
    /// An event with this data.
    ///
    /// Each line of the data becomes a `data:` line. The format knows one line ending: the reader receives CR and CRLF
    /// as LF.
    pub fn new(data: impl Into<String>) -> Self {
        Self { id: None, name: None, retry: None, data: data.into() }
    }

    /// An event with a value as JSON.
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON, such as a map whose keys are not strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self::new)
    }

    /// Sets the id. A browser sends the last one it received as `Last-Event-ID` when it reconnects.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<FieldValue>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the name, which selects the listeners: `addEventListener("record", ...)`. Without a name, or with an empty
    /// one, it is `message`.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<FieldValue>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how long a browser waits before it reconnects, in whole milliseconds.
    #[must_use]
    pub fn with_retry(mut self, wait: Duration) -> Self {
        self.retry = Some(wait);
        self
    }

    /// Appends the encoded event to a buffer, for several events in one chunk.
    pub fn append_to(&self, buffer: &mut Vec<u8>) {
        let fields = [("id: ", &self.id), ("event: ", &self.name)];
        buffer.reserve(self.data.len() + 64);
        for (field, value) in fields {
            if let Some(value) = value {
                for part in [field, value.as_str(), "\n"] {
                    buffer.extend_from_slice(part.as_bytes());
                }
            }
        }
        if let Some(wait) = self.retry {
            buffer.extend_from_slice(format!("retry: {}\n", wait.as_millis()).as_bytes());
        }
        let mut rest = self.data.as_bytes();
        loop {
            let end = memchr::memchr2(b'\n', b'\r', rest);
            buffer.extend_from_slice(b"data: ");
            buffer.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            buffer.push(b'\n');
            let Some(end) = end else { break };
            let is_crlf = rest[end..].starts_with(b"\r\n");
            rest = &rest[end + 1 + usize::from(is_crlf)..];
        }
        buffer.push(b'\n');
    }
}

/// The encoded event, with the empty line that ends it.
impl fmt::Display for ServerSentEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        self.append_to(&mut bytes);
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

/// The encoded event.
impl From<ServerSentEvent> for Bytes {
    fn from(event: ServerSentEvent) -> Self {
        let mut bytes = Vec::new();
        event.append_to(&mut bytes);
        bytes.into()
    }
}

/// The name or id of an event: text without CR, LF and NUL.
///
/// A line break would end the field, so that a part of the value could pose as another field. Browsers ignore an id
/// with NUL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue(Cow<'static, str>);

impl FieldValue {
    /// The value of a static text. In a `const`, it is checked at compile time.
    ///
    /// # Panics
    ///
    /// If the text contains CR, LF or NUL.
    #[must_use]
    pub const fn from_static(text: &'static str) -> Self {
        assert!(is_valid(text), "a name or id of an event contains CR, LF or NUL");
        Self(Cow::Borrowed(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const fn is_valid(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if matches!(bytes[at], b'\r' | b'\n' | 0) {
            return false;
        }
        at += 1;
    }
    true
}

impl From<u64> for FieldValue {
    fn from(number: u64) -> Self {
        Self(number.to_string().into())
    }
}

impl TryFrom<String> for FieldValue {
    type Error = InvalidFieldValue;

    fn try_from(text: String) -> Result<Self, InvalidFieldValue> {
        if is_valid(&text) { Ok(Self(text.into())) } else { Err(InvalidFieldValue(())) }
    }
}

impl TryFrom<&str> for FieldValue {
    type Error = InvalidFieldValue;

    fn try_from(text: &str) -> Result<Self, InvalidFieldValue> {
        Self::try_from(text.to_owned())
    }
}

/// The text contains CR, LF or NUL, so it cannot be a [`FieldValue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFieldValue(());

impl fmt::Display for InvalidFieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name or id of an event cannot contain CR, LF or NUL")
    }
}

impl Error for InvalidFieldValue {}

#[cfg(test)]
mod tests {
    use tokenline::Limits;
    use tokenline::sse::{SseDecoder, SseItem};

    use super::*;

    #[test]
    fn each_line_of_the_data_is_a_data_line() {
        for (data, encoded) in [
            ("", "data: \n\n"),
            (" a", "data:  a\n\n"),
            ("a\nb", "data: a\ndata: b\n\n"),
            ("a\r\nb\rc\n", "data: a\ndata: b\ndata: c\ndata: \n\n"),
            ("\n\r\n\r", "data: \ndata: \ndata: \ndata: \n\n"),
            ("a\u{2028}b\u{85}c", "data: a\u{2028}b\u{85}c\n\n"),
            ("a\nevent: forged", "data: a\ndata: event: forged\n\n"),
        ] {
            assert_eq!(ServerSentEvent::new(data).to_string(), encoded, "{data:?}");
        }
    }

    #[test]
    fn fields_come_in_the_same_order() {
        let name = FieldValue::from_static("record");
        let event = ServerSentEvent::new("x")
            .with_retry(Duration::from_millis(1500))
            .with_name(name)
            .with_id(u64::MAX);
        let encoded = "id: 18446744073709551615\nevent: record\nretry: 1500\ndata: x\n\n";
        assert_eq!(event.to_string(), encoded);
        assert_eq!(Bytes::from(event), encoded);
    }

    #[test]
    fn names_and_ids_cannot_break_out() {
        for text in ["a\nb", "a\r", "\0", "\r\n"] {
            assert_eq!(FieldValue::try_from(text), Err(InvalidFieldValue(())), "{text:?}");
        }
        assert_eq!(
            FieldValue::try_from("a: b").map(|value| value.as_str().to_owned()),
            Ok("a: b".to_owned())
        );
    }

    /// At any cut.
    #[test]
    fn the_decoder_reads_back_what_was_written() {
        let name = FieldValue::from_static("record");
        let mut bytes = Vec::new();
        ServerSentEvent::new("{\"a\":\n1}\n").with_name(name).with_id(7).append_to(&mut bytes);
        ServerSentEvent::new("").append_to(&mut bytes);
        for cut in 0..=bytes.len() {
            let mut decoder = SseDecoder::new(Limits::default());
            let mut events = Vec::new();
            let (before, after) = bytes.split_at(cut);
            for mut chunk in [before, after] {
                while !chunk.is_empty() {
                    let decoded = decoder.decode(chunk);
                    if let Some(SseItem::Event(event)) = decoded.item {
                        events.push([event.id, event.event, event.data].map(str::to_owned));
                    }
                    chunk = &chunk[decoded.consumed..];
                }
            }
            assert_eq!(events, [["7", "record", "{\"a\":\n1}\n"], ["7", "message", ""]], "cut at {cut}");
        }
    }
}
