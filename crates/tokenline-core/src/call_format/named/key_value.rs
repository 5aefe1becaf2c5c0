//! `{city:<|"|>Paris<|"|>,days:3}`: keys without quotes, and strings between delimiters, without escapes.

use super::notation::{Fault, Notation};
use crate::call_format::scan::{char_start, next_byte, peek_byte};
use crate::call_format::write;
use crate::json::Parser;
use crate::{Code, Limits};

/// Reads such an object as JSON.
#[derive(Debug)]
pub(super) struct KeyValues {
    delimiter: String,
    depth_limit: usize,
    at: usize,
    /// Up to where a string or a word has been searched for its end.
    searched: usize,
    state: State,
    /// The closing brackets of the open objects and lists.
    closers: Vec<u8>,
    json: String,
    /// The length of its part with the complete members.
    complete: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before a key, or the end of the object.
    Key,
    /// Before a value, or the end of the list.
    Value,
    /// In a string that ends with the delimiter.
    String {
        from: usize,
        is_key: bool,
    },
    /// In a string that ends with this quote.
    Quoted {
        from: usize,
        quote: u8,
        is_key: bool,
    },
    Word {
        from: usize,
        is_key: bool,
    },
    Colon,
    AfterValue,
}

impl Notation for KeyValues {
    fn begin(&mut self, at: usize) {
        (self.at, self.searched) = (at + 1, at + 1);
        self.state = State::Key;
        self.closers.clear();
        self.closers.push(b'}');
        self.json.clear();
        self.json.push('{');
        self.complete = 1;
    }

    fn complete_members(&self) -> &str {
        &self.json[..self.complete]
    }

    fn json(&mut self) -> &mut String {
        &mut self.json
    }

    fn read(&mut self, text: &str, is_end: bool, _: &str) -> Option<Result<usize, Fault>> {
        loop {
            let step = match self.state {
                State::String { from, is_key } => self.string(text, from, is_key),
                State::Quoted { from, quote, is_key } => self.quoted(text, from, quote, is_key, is_end),
                State::Word { from, is_key } => self.word(text, from, is_key),
                State::Key | State::Value | State::Colon | State::AfterValue => self.token(text, is_end),
            };
            match step? {
                Ok(()) if self.closers.is_empty() => return Some(Ok(self.at)),
                Ok(()) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
    }

    fn end_before(&mut self, text: &str, close: &str) -> bool {
        let State::String { from, is_key: false } = self.state else { return false };
        let Some(mut value) = text[from..].trim_end().strip_suffix(close).filter(|_| !close.is_empty())
        else {
            return false;
        };
        for closer in &self.closers {
            match value.trim_end().strip_suffix(char::from(*closer)) {
                Some(rest) => value = rest,
                None => return false,
            }
        }
        write::string(&mut self.json, value);
        self.json.extend(self.closers.drain(..).rev().map(char::from));
        true
    }
}

impl KeyValues {
    pub(super) fn new(delimiter: &str, limits: &Limits) -> Self {
        Self {
            delimiter: delimiter.to_owned(),
            depth_limit: (limits.effective_depth() as usize).saturating_sub(1),
            at: 0,
            searched: 0,
            state: State::Key,
            closers: Vec::new(),
            json: String::new(),
            complete: 0,
        }
    }

    fn token(&mut self, text: &str, is_end: bool) -> Option<Result<(), Fault>> {
        let byte = next_byte(text, &mut self.at)?;
        if matches!(self.state, State::Colon) {
            if byte != b':' {
                return Some(Err((self.at, Code::MalformedJson, "expected `:` after a key")));
            }
            self.at += 1;
            self.json.push(':');
            self.state = State::Value;
            return Some(Ok(()));
        }
        if Some(&byte) == self.closers.last() && !self.json.ends_with(':') {
            self.at += 1;
            self.json.push(char::from(byte));
            self.closers.pop();
            self.state = State::AfterValue;
            return Some(Ok(()));
        }
        let is_in_list = self.closers.last() == Some(&b']');
        if matches!(self.state, State::AfterValue) {
            if self.closers.len() == 1 {
                self.complete = self.json.len();
            }
            if byte != b',' {
                return Some(Err((self.at, Code::MalformedJson, "expected `,` or the end after a value")));
            }
            self.at += 1;
            self.state = if is_in_list { State::Value } else { State::Key };
            return Some(Ok(()));
        }
        let is_key = matches!(self.state, State::Key);
        if (is_key || is_in_list) && !self.json.ends_with(['{', '[']) {
            self.json.push(',');
        }
        let rest = &text[self.at..];
        if rest.starts_with(self.delimiter.as_str()) {
            let from = self.at + self.delimiter.len();
            (self.at, self.searched) = (from, from);
            self.state = State::String { from, is_key };
            return Some(Ok(()));
        }
        if self.delimiter.starts_with(rest) && !is_end {
            self.take_comma_back(is_key || is_in_list);
            return None;
        }
        match byte {
            b'"' | b'\'' => {
                let from = self.at + 1;
                self.searched = from;
                self.state = State::Quoted { from, quote: byte, is_key };
            }
            b'{' | b'[' if !is_key => {
                if self.closers.len() >= self.depth_limit {
                    return Some(Err((
                        self.at,
                        Code::TooDeep,
                        "expected less nesting: the depth limit is reached",
                    )));
                }
                self.at += 1;
                self.json.push(char::from(byte));
                self.closers.push(if byte == b'{' { b'}' } else { b']' });
                self.state = if byte == b'{' { State::Key } else { State::Value };
            }
            b',' | b':' | b'{' | b'}' | b'[' | b']' => {
                return Some(Err((
                    self.at,
                    Code::MalformedJson,
                    if is_key { "expected a key" } else { "expected a value" },
                )));
            }
            _ => {
                self.searched = self.at;
                self.state = State::Word { from: self.at, is_key };
            }
        }
        Some(Ok(()))
    }

    /// A comma that was written before it was known what follows.
    fn take_comma_back(&mut self, may_be_comma: bool) {
        if may_be_comma && self.json.ends_with(',') {
            self.json.pop();
        }
    }

    fn string(&mut self, text: &str, from: usize, is_key: bool) -> Option<Result<(), Fault>> {
        let rest = &text.as_bytes()[self.searched..];
        let Some(found) = memchr::memmem::find(rest, self.delimiter.as_bytes()) else {
            // The delimiter may have begun.
            self.searched = char_start(text, text.len().saturating_sub(self.delimiter.len() - 1)).max(from);
            return None;
        };
        let end = self.searched + found;
        write::string(&mut self.json, &text[from..end]);
        self.at = end + self.delimiter.len();
        self.end_token(is_key);
        Some(Ok(()))
    }

    /// A string in quotes: the quote counts where the grammar goes on after it.
    fn quoted(
        &mut self,
        text: &str,
        from: usize,
        quote: u8,
        is_key: bool,
        is_end: bool,
    ) -> Option<Result<(), Fault>> {
        let bytes = text.as_bytes();
        loop {
            let Some(found) = memchr::memchr(quote, &bytes[self.searched..]) else {
                self.searched = text.len();
                return None;
            };
            let at = self.searched + found;
            match peek_byte(text, at + 1) {
                Ok(None) if !is_end => {
                    self.searched = at;
                    return None;
                }
                Ok(Some(b':')) if is_key => {}
                Ok(Some(b',' | b'}' | b']')) if !is_key => {}
                _ => {
                    self.searched = at + 1;
                    continue;
                }
            }
            let value = &text[from..at];
            let as_json = &text[from - 1..=at];
            // With JSON's quotes, escapes are JSON's.
            match Parser::new().parse(as_json) {
                Ok(value) if quote == b'"' => self.json.push_str(&value.to_single_line()),
                _ => write::string(&mut self.json, value),
            }
            self.at = at + 1;
            self.end_token(is_key);
            return Some(Ok(()));
        }
    }

    fn word(&mut self, text: &str, from: usize, is_key: bool) -> Option<Result<(), Fault>> {
        let is_end = |byte: &u8| match is_key {
            true => matches!(byte, b':' | b',' | b'{' | b'}' | b'[' | b']' | b'\n'),
            false => matches!(byte, b',' | b'}' | b']' | b'\n'),
        };
        let Some(found) = text.as_bytes()[self.searched..].iter().position(is_end) else {
            self.searched = text.len();
            return None;
        };
        self.at = self.searched + found;
        let word = text[from..self.at].trim();
        match Parser::new().parse(word) {
            Ok(value) if !is_key => self.json.push_str(value.raw()),
            _ => write::string(&mut self.json, word),
        }
        self.end_token(is_key);
        Some(Ok(()))
    }

    fn end_token(&mut self, is_key: bool) {
        self.state = if is_key { State::Colon } else { State::AfterValue };
    }
}
