//! Arguments: their names, and their lists, dictionaries and literals.

use super::literal as python;
use super::{Container, Flow, Pythonic, State};
use crate::Code;
use crate::call_format::write;

impl Pythonic {
    pub(super) fn argument(&mut self, text: &str, byte: u8, from: usize, to: usize) -> Flow {
        let name = &text[from..to];
        if byte != b'=' {
            self.at = from;
            // In ordinary text, the name may be a variable.
            self.is_call |= python::word(name).is_some();
            return self.fault(Code::InvalidParameters, "an argument has no name");
        }
        if !self.names.insert(name.to_owned()) {
            self.at = from;
            return self.fault(Code::MalformedJson, "an argument is given twice");
        }
        self.comma();
        write::string(&mut self.parameters, name);
        self.parameters.push(':');
        self.go(State::Value)
    }

    pub(super) fn value(&mut self, text: &str, byte: u8) -> Flow {
        let container = match byte {
            b'"' | b'\'' => {
                self.is_call = true;
                return self.enter(State::Quote { is_name: false });
            }
            b'0'..=b'9' | b'-' | b'+' | b'.' => {
                // Three dots are not a number, nor is a sign before a word.
                self.is_call |= byte.is_ascii_digit();
                let from = self.at;
                return self.go(State::Number { from });
            }
            _ if byte.is_ascii_alphabetic() => return self.enter(State::Word { from: self.at }),
            b'[' => Container::List,
            b'{' => Container::Dict,
            _ => return self.unexpected(text, "a literal"),
        };
        self.is_call = true;
        if self.containers.len() >= self.depth_limit {
            return self.fault(Code::TooDeep, "expected less nesting: the depth limit is reached");
        }
        self.containers.push(container);
        self.parameters.push(char::from(byte));
        self.go(State::Element)
    }

    pub(super) fn element(&mut self, text: &str, byte: u8) -> Flow {
        match (self.containers.last(), byte) {
            (Some(Container::List), b']') | (Some(Container::Dict), b'}') => self.close_container(byte),
            (Some(Container::Dict), b'"' | b'\'') => {
                self.comma();
                self.enter(State::Quote { is_name: true })
            }
            (Some(Container::Dict), _) => self.unexpected(text, "a string or `}`"),
            _ => {
                self.comma();
                self.enter(State::Value)
            }
        }
    }

    pub(super) fn after_value(&mut self, text: &str, byte: u8) -> Flow {
        match (self.containers.last(), byte) {
            (None, b',') => self.go(State::Argument),
            (None, b')') => self.close_call(),
            (None, _) => self.unexpected(text, "`,` or `)`"),
            (Some(_), b',') => self.go(State::Element),
            (Some(Container::List), b']') | (Some(Container::Dict), b'}') => self.close_container(byte),
            (Some(Container::List), _) => self.unexpected(text, "`,` or `]`"),
            (Some(Container::Dict), _) => self.unexpected(text, "`,` or `}`"),
        }
    }

    fn close_container(&mut self, byte: u8) -> Flow {
        self.containers.pop();
        self.parameters.push(char::from(byte));
        if self.is_dict && self.containers.is_empty() {
            let end = self.at + 1;
            return self.go(State::AfterCall { end });
        }
        self.go(State::AfterValue)
    }

    /// Writes a comma before the next member or element.
    fn comma(&mut self) {
        // A string ends with a quote, so a bracket here was just opened.
        if !self.parameters.ends_with(['{', '[']) {
            self.parameters.push(',');
        }
    }
}
