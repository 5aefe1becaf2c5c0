//! Deviations of model servers from the standard: events without a blank line between them, and errors outside events.

use std::mem;
use std::ops::Range;

use super::{OpenLine, SseDecoder};
use crate::json::Parser;
use crate::json::parser::RawStep;
use crate::sse::line::push_lossy;
use crate::{Limits, Span};

/// Where a [`StrayObject`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrayPlace {
    /// On lines without a field.
    Bare,
    /// In a field `error`.
    ErrorField,
    /// In a field whose name is `data` in capitals or indented, which the standard ignores.
    DataField,
}

/// A JSON object on lines that are not part of an event. In a [data field](StrayPlace::DataField) it may be incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrayObject {
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub place: StrayPlace,
    /// Its first line, from 1.
    pub line: u64,
    /// Its bytes on the wire.
    pub span: Span,
    /// The number of its lines.
    pub lines: u64,
}

/// The state of reading both.
#[derive(Clone, Default)]
pub(super) struct Strays {
    /// Parses the data of the open event, line by line.
    data: Parser,
    /// Whether that data begins like an object or an array, once it is examined.
    may_be_document: Option<bool>,
    /// Parses the lines outside events.
    outside: Parser,
    /// An object whose end is missing yet.
    open: Option<Box<StrayObject>>,
    /// An object that is complete.
    object: Option<Box<StrayObject>>,
    first: Option<(u64, Span)>,
    /// The name of the open event before a field that may belong to the next one.
    name: Option<String>,
    /// The name of the next event.
    next_name: Option<String>,
    limit: usize,
}

impl SseDecoder {
    /// Also accepts two deviations of model servers. An event whose data so far is a whole JSON object or array ends
    /// where another `data` line begins: the blank line is missing. And a JSON object on lines that are not fields of
    /// the standard, or in a field `error`, is a [stray object](Self::take_stray_object); so is one in a field `DATA`.
    ///
    /// ```
    /// use tokenline_core::Limits;
    /// use tokenline_core::sse::{SseDecoder, SseItem};
    ///
    /// let mut decoder = SseDecoder::new(Limits::default()).lenient();
    /// let wire = b"data: {\"n\":1}\ndata: {\"n\":2}\n\nerror: {\"message\":\"overloaded\"}\n";
    /// let (mut rest, mut found) = (&wire[..], Vec::new());
    /// while !rest.is_empty() {
    ///     let decoded = decoder.decode(rest);
    ///     rest = &rest[decoded.consumed..];
    ///     if let Some(SseItem::Event(event)) = decoded.item {
    ///         found.push(event.data.to_owned());
    ///     }
    ///     found.extend(decoder.take_stray_object().map(|object| object.text));
    /// }
    /// assert_eq!(found, [r#"{"n":1}"#, r#"{"n":2}"#, r#" {"message":"overloaded"}"#]);
    /// ```
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Takes the last JSON object outside the events, of a [lenient](Self::lenient) decoder. It is available after a
    /// step without an item.
    #[inline]
    pub fn take_stray_object(&mut self) -> Option<StrayObject> {
        if !self.has_stray_object() {
            return None;
        }
        self.strays.as_mut()?.object.take().map(|object| *object)
    }

    /// The first of the lines counted as [unknown](Self::unknown_fields), and its bytes. Of a
    /// [lenient](Self::lenient) decoder only.
    #[must_use]
    pub fn first_unknown(&self) -> Option<(u64, Span)> {
        self.strays.as_ref()?.first
    }

    /// Takes note of a line that is not a field of the standard; the name that it begins with is this long.
    #[cold]
    pub(super) fn add_stray(&mut self, line: &[u8], name: usize, start: u64) {
        self.unknown_fields += 1;
        if self.is_lenient {
            let (number, span) = (self.lines, Span::new(start, start + line.len() as u64));
            self.strays().add(number, span, &line[..name], line);
        }
    }

    #[inline]
    pub(super) fn has_stray_object(&self) -> bool {
        self.strays.as_ref().is_some_and(|strays| strays.object.is_some())
    }

    /// Whether to stop after a line that is not a field of the standard: it completes an object.
    #[cold]
    pub(super) fn stops_at_stray(&mut self, input: &[u8], here: &mut Option<Range<usize>>) -> bool {
        let stops = self.has_stray_object();
        if stops && let Some(data) = here.take() {
            self.keep_data(&input[data]);
        }
        stops
    }

    /// Whether the line that ends with this one of `input`, after what is kept of it, begins another event, because the
    /// data of the open one is whole.
    #[cold]
    pub(super) fn begins_event(
        &mut self,
        input: &[u8],
        line: &Range<usize>,
        here: &Option<Range<usize>>,
    ) -> bool {
        let open: &[u8] = match self.open_line {
            _ if self.open_bytes == 0 => &[],
            OpenLine::Kept => &self.buffer[self.data.end..],
            OpenLine::Comment | OpenLine::TooLong => return false,
        };
        if self.block.is_rejected() || !open.iter().chain(&input[line.clone()]).take(5).eq(b"data:") {
            return false;
        }
        let data = here.as_ref().map_or(&self.buffer[self.data.clone()], |data| &input[data.clone()]);
        let strays = self.strays.get_or_insert_with(|| Box::new(Strays::new(&self.limits)));
        strays.is_document(data)
    }

    /// Ends the open event where the line at this offset begins another.
    #[cold]
    pub(super) fn split_event(&mut self, end: u64) {
        self.block.end = end;
        if let Some(strays) = &mut self.strays {
            strays.split_name(&mut self.event);
        }
        if self.block.has_id {
            self.end_id();
        }
    }

    /// Keeps the name of the open event: the field that follows may be of the next one.
    #[cold]
    pub(super) fn keep_name(&mut self) {
        let name = mem::take(&mut self.event);
        self.strays().name.get_or_insert(name);
    }

    /// Ends the event that was open.
    #[cold]
    pub(super) fn end_strays(&mut self) {
        let has_data = self.block.data_lines > 0;
        if let Some(name) = self.strays().end_event(has_data) {
            self.event = name;
        }
    }

    fn strays(&mut self) -> &mut Strays {
        self.strays.get_or_insert_with(|| Box::new(Strays::new(&self.limits)))
    }
}

impl Strays {
    pub(super) fn new(limits: &Limits) -> Self {
        let parser = || Parser::new().with_limits(limits);
        Self { data: parser(), outside: parser(), limit: limits.sse_line_bytes, ..Self::default() }
    }

    /// Whether the data of the open event is a whole object or array: another line could only spoil it.
    fn is_document(&mut self, data: &[u8]) -> bool {
        let may_be_document = *self.may_be_document.get_or_insert_with(|| {
            self.data.reset();
            matches!(data.trim_ascii_start().first(), Some(b'{' | b'['))
        });
        let step = may_be_document.then(|| self.data.resume_bytes(data));
        matches!(step, Some(RawStep::Complete { end }) if data[end..].trim_ascii().is_empty())
    }

    /// Reads a line that is neither a comment nor a field of the standard.
    pub(super) fn add(&mut self, line: u64, span: Span, name: &[u8], bytes: &[u8]) {
        self.first.get_or_insert((line, span));
        let place = match name.trim_ascii() {
            name if name.eq_ignore_ascii_case(b"error") => StrayPlace::ErrorField,
            name if name.eq_ignore_ascii_case(b"data") => StrayPlace::DataField,
            _ => StrayPlace::Bare,
        };
        let is_field = place != StrayPlace::Bare;
        let value = if is_field { &bytes[(name.len() + 1).min(bytes.len())..] } else { bytes };
        let mut open = match self.open.take() {
            Some(open) if !is_field => open,
            _ if value.trim_ascii_start().first() != Some(&b'{') => return,
            _ => {
                self.outside.reset();
                Box::new(StrayObject { text: String::new(), place, line, span, lines: 0 })
            }
        };
        if open.lines > 0 {
            open.text.push('\n');
        }
        push_lossy(&mut open.text, value);
        open.lines += 1;
        open.span = Span::new(open.span.start, span.end);
        if open.text.len() > self.limit {
            return;
        }
        match self.outside.resume_bytes(open.text.as_bytes()) {
            _ if open.place == StrayPlace::DataField => self.object = Some(open),
            RawStep::NeedMore => self.open = Some(open),
            RawStep::Complete { end } if open.text[end..].trim().is_empty() => self.object = Some(open),
            RawStep::Complete { .. } | RawStep::Malformed(_) | RawStep::LineEnd(_) => {}
        }
    }

    /// Ends an event. Returns the name of the next, if it is known.
    fn end_event(&mut self, has_data: bool) -> Option<String> {
        self.may_be_document = None;
        if has_data {
            self.open = None;
        }
        self.name = None;
        self.next_name.take()
    }

    /// The name of an event that the next one ends. What may have been its name is the next one's.
    pub(super) fn split_name(&mut self, name: &mut String) {
        if let Some(own) = self.name.take() {
            self.next_name = Some(mem::replace(name, own));
        }
    }
}
