//! Keys without quotes, and strings between delimiters.

use super::{Dialect, Literals, State, Step};
use crate::Code;
use crate::call_format::scan::{char_start, peek_byte};
use crate::json::Parser;
use crate::json::write;

impl Literals {
    pub(super) fn delimiter(&self) -> &str {
        match &self.dialect {
            Dialect::Delimited(delimiter) => delimiter,
            Dialect::Python { .. } => "\"",
        }
    }

    /// The beginning of a key or of a value.
    pub(super) fn delimited_token(&mut self, text: &str, is_end: bool, byte: u8, is_key: bool) -> Step {
        let (rest, delimiter) = (&text[self.at..], self.delimiter());
        let state = if rest.starts_with(delimiter) {
            self.at += delimiter.len();
            State::Delimited { from: self.at, is_key }
        } else if delimiter.starts_with(rest) && !is_end {
            return None;
        } else {
            match byte {
                b'"' | b'\'' => {
                    self.at += 1;
                    State::Quoted { from: self.at, quote: byte, is_key }
                }
                b',' | b':' | b'{' | b'}' | b'[' | b']' => {
                    let message = if is_key { "expected a key" } else { "expected a value" };
                    return self.fault(Code::MalformedJson, message);
                }
                _ => State::Word { from: self.at, is_key },
            }
        };
        self.comma(!self.json.trim_end().ends_with(':'));
        self.searched = self.at;
        self.state = state;
        Some(Ok(()))
    }

    pub(super) fn delimited(&mut self, text: &str, from: usize, is_key: bool) -> Step {
        let rest = &text.as_bytes()[self.searched..];
        let len = self.delimiter().len();
        let Some(found) = memchr::memmem::find(rest, self.delimiter().as_bytes()) else {
            // The delimiter may have begun.
            self.searched = char_start(text, text.len().saturating_sub(len - 1)).max(from);
            return None;
        };
        let end = self.searched + found;
        self.push_string(&text[from..end]);
        self.at = end + len;
        self.end_token(is_key)
    }

    /// A string in quotes: the quote counts where the grammar goes on after it, unless a backslash stands before it.
    pub(super) fn quoted(&mut self, text: &str, is_end: bool, from: usize, quote: u8, is_key: bool) -> Step {
        loop {
            let Some(found) = memchr::memchr(quote, &text.as_bytes()[self.searched..]) else {
                self.searched = text.len();
                return None;
            };
            let at = self.searched + found;
            let backslashes =
                text.as_bytes()[from..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if quote == b'"' && backslashes % 2 == 1 {
                self.searched = at + 1;
                continue;
            }
            match peek_byte(text, at + 1) {
                Ok(None) if !is_end => {
                    self.searched = at;
                    return None;
                }
                Ok(Some(b':' | b'=')) if is_key => {}
                Ok(Some(b',' | b'}' | b']')) if !is_key => {}
                _ => {
                    self.searched = at + 1;
                    continue;
                }
            }
            // With JSON's quotes, escapes are JSON's.
            match Parser::new().parse(&text[from - 1..=at]) {
                Ok(value) if quote == b'"' => self.json.push_str(&value.to_single_line()),
                _ => self.push_string(&text[from..at]),
            }
            self.at = at + 1;
            return self.end_token(is_key);
        }
    }

    pub(super) fn delimited_word(&mut self, text: &str, from: usize, is_key: bool) -> Step {
        let is_end = |byte: &u8| {
            if is_key {
                matches!(byte, b':' | b'=' | b',' | b'{' | b'}' | b'[' | b']' | b'\n')
            } else {
                matches!(byte, b',' | b'}' | b']' | b'\n')
            }
        };
        let Some(found) = text.as_bytes()[self.searched..].iter().position(is_end) else {
            self.searched = text.len();
            return None;
        };
        self.at = self.searched + found;
        let word = text[from..self.at].trim();
        match Parser::new().parse(word) {
            Ok(value) if !is_key => self.json.push_str(value.raw()),
            _ => self.push_string(word),
        }
        self.end_token(is_key)
    }

    /// At the end of the text, ends a string without its delimiter that the end of the call follows.
    pub(in crate::call_format) fn end_before(&mut self, text: &str, close: &str) -> bool {
        let State::Delimited { from, is_key: false } = self.state else { return false };
        let Some(mut value) = text[from..].trim_end().strip_suffix(close).filter(|_| !close.is_empty())
        else {
            return false;
        };
        // From the outermost bracket, which ends the text.
        for container in &self.open {
            match value.trim_end().strip_suffix(char::from(container.close())) {
                Some(rest) => value = rest,
                None => return false,
            }
        }
        write::string(&mut self.json, value);
        self.json.extend(self.open.drain(..).rev().map(|container| char::from(container.close())));
        true
    }
}
