//! Python's strings, on one line or several.

use super::python::{Escape, escape};
use super::{Literals, State, Step};
use crate::Code;
use crate::json::write;

impl Literals {
    /// Reads the quotes before a string's text.
    pub(super) fn quote(&mut self, text: &str, quote: u8, is_key: bool) -> Step {
        let rest = &text.as_bytes()[self.at..];
        let quotes = rest.iter().take(3).take_while(|byte| **byte == quote).count();
        self.is_certain |= !is_key;
        if quotes == rest.len() && quotes < 3 {
            return None;
        }
        self.at += if quotes == 3 { 3 } else { 1 };
        self.comma(!self.json.trim_end().ends_with(':'));
        self.json.push('"');
        self.state = State::String { quote, is_triple: quotes == 3, is_key };
        Some(Ok(()))
    }

    pub(super) fn string(&mut self, text: &str, quote: u8, is_triple: bool, is_key: bool) -> Step {
        let bytes = text.as_bytes();
        loop {
            let found = if is_triple {
                memchr::memchr2(quote, b'\\', &bytes[self.at..])
            } else {
                memchr::memchr3(quote, b'\\', b'\n', &bytes[self.at..])
            };
            let stop = found.map_or(text.len(), |found| self.at + found);
            write::escaped(&mut self.json, &text[self.at..stop]);
            self.at = stop;
            let rest = &bytes[self.at..];
            let len = match rest.first()? {
                b'\\' => match escape(&text[self.at..], &mut self.json) {
                    Escape::Written(len) => {
                        self.at += len;
                        continue;
                    }
                    Escape::NeedMore => return None,
                    Escape::Bad(message) => return self.fault_in(quote, message),
                },
                b'\n' if !is_triple && self.ends_with_line(text) => {
                    return self.fault_in(quote, "a string ends with its line");
                }
                b'\n' if !is_triple => {
                    self.json.push_str("\\n");
                    self.at += 1;
                    continue;
                }
                _ if is_triple => {
                    let quotes = rest.iter().take(3).take_while(|byte| **byte == quote).count();
                    if quotes < 3 {
                        if quotes == rest.len() {
                            return None;
                        }
                        write::escaped(&mut self.json, &text[self.at..self.at + quotes]);
                        self.at += quotes;
                        continue;
                    }
                    3
                }
                _ => 1,
            };
            self.at += len;
            self.json.push('"');
            return self.end_token(is_key);
        }
    }

    /// Whether a string must not go on after the newline that is here.
    fn ends_with_line(&self, text: &str) -> bool {
        let line = text[..self.at].trim_end_matches([' ', '\t', '\r']);
        self.close.as_ref().is_none_or(|close| !close.is_empty() && line.ends_with(close.as_str()))
    }

    fn fault_in(&self, quote: u8, message: &'static str) -> Step {
        let fault = self
            .fault(Code::MalformedJson, message)?
            .map_err(|fault| super::Fault { quote: Some(quote), ..fault });
        Some(fault)
    }
}
