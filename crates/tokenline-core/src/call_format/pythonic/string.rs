//! Strings on one line or several.

use super::literal::{Escape, escape};
use super::{Flow, Pythonic, State};
use crate::call_format::write;

impl Pythonic {
    /// Reads the quotes before a string's text.
    pub(super) fn quote(&mut self, text: &str, is_end: bool, is_name: bool) -> Flow {
        let rest = &text.as_bytes()[self.at..];
        let quote = rest[0];
        let quotes = rest.iter().take(3).take_while(|byte| **byte == quote).count();
        if quotes == rest.len() && quotes < 3 {
            return self.out_of_text(text, is_end);
        }
        self.at += if quotes == 3 { 3 } else { 1 };
        self.parameters.push('"');
        self.enter(State::String { quote, is_triple: quotes == 3, is_name })
    }

    pub(super) fn string(
        &mut self,
        text: &str,
        is_end: bool,
        quote: u8,
        is_triple: bool,
        is_name: bool,
    ) -> Flow {
        let bytes = text.as_bytes();
        loop {
            let found = match is_triple {
                true => memchr::memchr2(quote, b'\\', &bytes[self.at..]),
                false => memchr::memchr3(quote, b'\\', b'\n', &bytes[self.at..]),
            };
            // Do not split a character except at the end of the text.
            let stop = found.map_or(text.len(), |found| self.at + found);
            write::escaped(&mut self.parameters, &text[self.at..stop]);
            self.at = stop;
            match bytes.get(self.at) {
                None => return self.out_of_text(text, is_end),
                Some(b'\\') => match escape(&text[self.at..], &mut self.parameters) {
                    Escape::Written(len) => self.at += len,
                    Escape::NeedMore => return self.out_of_text(text, is_end),
                    Escape::Bad(message) => return self.fault_in(message, Some(quote)),
                },
                Some(b'\n') if !is_triple => {
                    return self.fault_in("a string ends with its line", Some(quote));
                }
                Some(_) if is_triple => {
                    let rest = &bytes[self.at..];
                    let quotes = rest.iter().take(3).take_while(|byte| **byte == quote).count();
                    match quotes {
                        3 => {
                            self.at += 3;
                            return self.end_string(is_name);
                        }
                        _ if quotes == rest.len() => return self.out_of_text(text, is_end),
                        _ => {
                            write::escaped(&mut self.parameters, &text[self.at..self.at + quotes]);
                            self.at += quotes;
                        }
                    }
                }
                Some(_) => {
                    self.at += 1;
                    return self.end_string(is_name);
                }
            }
        }
    }

    fn end_string(&mut self, is_name: bool) -> Flow {
        self.parameters.push('"');
        self.enter(if is_name { State::Colon } else { State::AfterValue })
    }
}
