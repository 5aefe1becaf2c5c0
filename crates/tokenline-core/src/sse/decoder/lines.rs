//! Lines: their fields, and what is kept of a line that has not ended.

use std::mem;
use std::ops::Range;
use std::time::Duration;

use memchr::memchr;

use super::{OpenLine, SseDecoder};
use crate::Span;
use crate::sse::line::{digits, set_text, split_field};

impl SseDecoder {
    /// Keeps the last bytes of a chunk: a line, or a part of one.
    pub(super) fn keep_open(&mut self, bytes: &[u8]) {
        let Some(first) = bytes.first() else { return };
        if self.open_bytes == 0 {
            self.open_line = match first {
                b':' => OpenLine::Comment,
                _ => OpenLine::Kept,
            };
        }
        self.open_bytes += bytes.len() as u64;
        if matches!(self.open_line, OpenLine::Kept) {
            if self.open_bytes > self.limits.sse_line_bytes as u64 {
                self.open_line = OpenLine::TooLong;
                self.buffer.truncate(self.data.end);
            } else {
                self.buffer.extend_from_slice(bytes);
            }
        }
    }

    /// Ends a line that began in an earlier chunk, and that `bytes` completes. Returns whether it is a comment or a
    /// field of the standard.
    pub(super) fn end_open_line(&mut self, bytes: &[u8], start: u64) -> bool {
        self.keep_open(bytes);
        let len = mem::take(&mut self.open_bytes);
        self.lines += 1;
        match self.open_line {
            OpenLine::Comment => {}
            OpenLine::TooLong => self.line_too_long(start, len),
            OpenLine::Kept => {
                self.block.open(self.lines, start);
                let line = self.data.end..self.buffer.len();
                let (name, value) = split_field(&self.buffer[line.clone()]);
                let name = line.start..line.start + name;
                let value = line.start + value..line.end;
                let mut is_field = true;
                if &self.buffer[name.clone()] != b"data" {
                    let buffer = mem::take(&mut self.buffer);
                    is_field = self.set(&buffer[name.clone()], &buffer[value]);
                    if !is_field {
                        self.add_stray(&buffer[line], name.len(), start);
                    }
                    self.buffer = buffer;
                } else if self.admit(value.len()) {
                    if self.block.data_lines == 1 {
                        self.data = value;
                        return true;
                    }
                    // The field's name is longer than the newline that replaces it.
                    let end = line.start + 1 + value.len();
                    self.buffer[line.start] = b'\n';
                    self.buffer.copy_within(value, line.start + 1);
                    self.data.end = end;
                }
                self.buffer.truncate(self.data.end);
                return is_field;
            }
        }
        true
    }

    /// Ends a line that is not blank. Returns whether to go on: there is no stray object.
    #[inline]
    pub(super) fn end_any_line(
        &mut self,
        input: &[u8],
        line: Range<usize>,
        start: u64,
        here: &mut Option<Range<usize>>,
    ) -> bool {
        let is_field = match self.open_bytes {
            0 => self.end_line(input, line, start, here),
            open => self.end_open_line(&input[line], start - open),
        };
        is_field || !self.stops_at_stray(input, here)
    }

    /// Ends a line that lies in `input` and is not empty. Returns whether it is a comment or a field of the standard.
    #[inline]
    pub(super) fn end_line(
        &mut self,
        input: &[u8],
        line: Range<usize>,
        start: u64,
        here: &mut Option<Range<usize>>,
    ) -> bool {
        self.lines += 1;
        if input[line.start] == b':' {
            return true;
        }
        if line.len() > self.limits.sse_line_bytes {
            self.line_too_long(start, line.len() as u64);
            return true;
        }
        self.block.open(self.lines, start);
        let (name, value) = split_field(&input[line.clone()]);
        let name = &input[line.start..line.start + name];
        let value = line.start + value..line.end;
        if name != b"data" {
            if !self.set(name, &input[value]) {
                self.add_stray(&input[line], name.len(), start);
                return false;
            }
        } else if self.admit(value.len()) {
            if self.block.data_lines == 1 {
                *here = Some(value);
                return true;
            }
            if let Some(first) = here.take() {
                self.keep_data(&input[first]);
            }
            self.buffer.push(b'\n');
            self.buffer.extend_from_slice(&input[value]);
            self.data.end = self.buffer.len();
        }
        true
    }

    /// Keeps the data after the end of its chunk. The buffer contains nothing else yet.
    pub(super) fn keep_data(&mut self, data: &[u8]) {
        self.buffer.extend_from_slice(data);
        self.data = 0..self.buffer.len();
    }

    pub(super) fn line_too_long(&mut self, start: u64, len: u64) {
        let span = Span::new(start, start + len);
        self.block.line_too_long(self.lines, span);
        self.drop_data();
    }

    /// Stores a field other than `data`. Returns whether it is one of the standard.
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name {
            b"event" => {
                if self.is_lenient && self.block.data_lines > 0 {
                    self.keep_name();
                }
                set_text(&mut self.event, value);
            }
            b"id" if memchr(0, value).is_some() => {}
            b"id" => {
                set_text(&mut self.ids.get_or_insert_default().next, value);
                self.block.has_id = true;
            }
            b"retry" => {
                if let Some(milliseconds) = digits(value) {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
            _ => return false,
        }
        true
    }
}
