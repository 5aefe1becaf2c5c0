//! The standard again, as simply as possible: all of the input at once, and a copy of everything.

use std::time::Duration;

use tokenline_core::{Code, Diagnostic, Limits, Origin, Span};

use crate::{Decoded, Item, Owned};

pub(crate) fn reference(input: &[u8], limits: Limits) -> Decoded {
    let mut decoded = Decoded::default();
    let mut id = String::new();
    let mut block: Vec<Line<'_>> = Vec::new();
    for line in lines(input) {
        if line.bytes.is_empty() {
            decoded.items.extend(interpret(&block, line.start, &mut id, limits, &mut decoded.retry));
            decoded.last_id.clone_from(&id);
            block.clear();
        } else if line.bytes[0] != b':' {
            decoded.unknown_fields += u64::from(line.is_unknown(limits));
            block.push(line);
        }
    }
    if !block.is_empty() {
        let end = input.len() as u64;
        let item = interpret(&block, end, &mut id, limits, &mut decoded.retry);
        decoded.items.push(match item {
            Some(Item::Event(event)) => Item::Incomplete(event),
            Some(item) => item,
            None => Item::Incomplete(Owned {
                event: event_of(&block),
                data: String::new(),
                id,
                line: block[0].number,
                span: Span::new(block[0].start, end),
                lossy: false,
            }),
        });
    }
    decoded
}

struct Line<'i> {
    number: u64,
    start: u64,
    bytes: &'i [u8],
}

impl<'i> Line<'i> {
    fn field(&self) -> (&'i [u8], &'i [u8]) {
        match self.bytes.iter().position(|&byte| byte == b':') {
            None => (self.bytes, b""),
            Some(colon) => {
                let value = &self.bytes[colon + 1..];
                (&self.bytes[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
        }
    }

    fn is_unknown(&self, limits: Limits) -> bool {
        let known: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];
        !known.contains(&self.field().0) && self.bytes.len() <= limits.sse_line_bytes
    }
}

fn lines(input: &[u8]) -> Vec<Line<'_>> {
    let mut rest = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let len = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        lines.push(Line {
            number: lines.len() as u64 + 1,
            start: (input.len() - rest.len()) as u64,
            bytes: &rest[..len],
        });
        rest = match &rest[len..] {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => &[],
        };
    }
    lines
}

fn event_of(block: &[Line<'_>]) -> String {
    let mut event = String::new();
    for (name, value) in block.iter().map(Line::field) {
        if name == b"event" {
            event = String::from_utf8_lossy(value).into_owned();
        }
    }
    if event.is_empty() {
        event.push_str("message");
    }
    event
}

fn interpret(
    block: &[Line<'_>],
    end: u64,
    id: &mut String,
    limits: Limits,
    retry: &mut Option<Duration>,
) -> Option<Item> {
    let mut data: Option<Vec<u8>> = None;
    let mut fault = None;
    let first = block.first()?;
    for line in block {
        if line.bytes.len() > limits.sse_line_bytes {
            let span = Span::new(line.start, line.start + line.bytes.len() as u64);
            fault = fault.or(Some((Code::LineTooLong, line.number, span)));
            continue;
        }
        let (name, value) = line.field();
        match name {
            b"data" => {
                let joined = match data.take() {
                    None => value.to_vec(),
                    Some(data) => [&data, &b"\n"[..], value].concat(),
                };
                if joined.len() > limits.sse_event_bytes {
                    let span = Span::new(first.start, end);
                    fault = fault.or(Some((Code::RecordTooLarge, first.number, span)));
                }
                data = Some(joined);
            }
            b"id" if !value.contains(&0) => *id = String::from_utf8_lossy(value).into_owned(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let number = String::from_utf8_lossy(value).parse().unwrap_or(u64::MAX);
                *retry = Some(Duration::from_millis(number));
            }
            _ => {}
        }
    }
    if let Some((code, line, span)) = fault {
        let (column, message) = match code {
            Code::LineTooLong => (
                limits.sse_line_bytes as u64 + 1,
                format!(
                    "a line of {} bytes is longer than the limit of {} bytes; its server-sent \
                     event was dropped",
                    span.len(),
                    limits.sse_line_bytes
                ),
            ),
            _ => (
                1,
                format!(
                    "a server-sent event of {} bytes has more data than the limit of {} bytes; \
                     it was dropped",
                    span.len(),
                    limits.sse_event_bytes
                ),
            ),
        };
        let diagnostic = Diagnostic::new(code, line, span, column, message).with_origin(Origin::Wire);
        return Some(Item::Rejected(diagnostic));
    }
    let data = data?;
    Some(Item::Event(Owned {
        event: event_of(block),
        data: String::from_utf8_lossy(&data).into_owned(),
        id: id.clone(),
        line: first.number,
        span: Span::new(first.start, end),
        lossy: std::str::from_utf8(&data).is_err(),
    }))
}
