//! The headers of a message.

use super::EventStreamEvent;

/// The headers that describe a message. All others are skipped, whatever their type.
#[derive(Default)]
pub(super) struct Headers<'a> {
    message_type: Option<&'a str>,
    event_type: Option<&'a str>,
    exception_type: Option<&'a str>,
    error_code: Option<&'a str>,
    error_message: Option<&'a str>,
}

const TOO_SHORT: &str = "has headers that end inside a header";

impl<'a> Headers<'a> {
    pub(super) fn read(mut bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut headers = Self::default();
        while !bytes.is_empty() {
            let len = take(&mut bytes, 1)?[0];
            let name = take(&mut bytes, len.into())?;
            let kind = take(&mut bytes, 1)?[0];
            let len = match kind {
                // True and false.
                0 | 1 => 0,
                // Integers of 1, 2, 4 and 8 bytes, and a timestamp.
                2 => 1,
                3 => 2,
                4 => 4,
                5 | 8 => 8,
                // Bytes and strings, prefixed with their length.
                STRING | 6 => take(&mut bytes, 2)?.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)),
                // A UUID.
                9 => 16,
                _ => return Err("has a header of an unknown type"),
            };
            let value = take(&mut bytes, len)?;
            if kind == STRING
                && let Some(header) = headers.named(name)
            {
                *header = Some(std::str::from_utf8(value).map_err(|_| "has a header that is not UTF-8")?);
            }
        }
        Ok(headers)
    }

    fn named(&mut self, name: &[u8]) -> Option<&mut Option<&'a str>> {
        Some(match name {
            b":message-type" => &mut self.message_type,
            b":event-type" => &mut self.event_type,
            b":exception-type" => &mut self.exception_type,
            b":error-code" => &mut self.error_code,
            b":error-message" => &mut self.error_message,
            _ => return None,
        })
    }

    /// The event of a message with these headers.
    pub(super) fn event(self, payload: &'a [u8]) -> EventStreamEvent<'a> {
        match self.message_type {
            Some("exception") => {
                let data = if payload.trim_ascii().is_empty() { b"{}" } else { payload };
                EventStreamEvent { name: self.exception_type.unwrap_or("error"), data: data.into() }
            }
            Some("error") => {
                let texts = [self.error_code, self.error_message].into_iter().flatten();
                let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
                let data = if texts.is_empty() { "{}".to_owned() } else { texts.join(": ") };
                EventStreamEvent { name: "error", data: data.into_bytes().into() }
            }
            other => EventStreamEvent {
                name: self.event_type.or(other).unwrap_or("message"),
                data: payload.into(),
            },
        }
    }
}

/// The header type for strings.
const STRING: u8 = 7;

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], &'static str> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or(TOO_SHORT)?;
    *bytes = rest;
    Ok(taken)
}
