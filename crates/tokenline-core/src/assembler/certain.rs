//! Arguments that grow although tools convert values.

use crate::ValidateCall;
use crate::json::Parser;

/// Finds the part of a call's growing arguments that stays as it is although its tool [converts](ValidateCall::coerces)
/// values: texts piece by piece, other values once they are complete. The first value that is converted, and what follows
/// it, is certain only when the call is. Looks at each byte once, and at complete values once more.
#[derive(Debug, Default)]
pub struct CertainArguments {
    /// The bytes that were looked at.
    read: usize,
    /// The bytes that stay as they are.
    certain: usize,
    place: Place,
    /// Where the name of the open member begins.
    name: usize,
    /// Where it ends.
    name_end: usize,
    /// The containers that are open inside the member's value.
    depth: usize,
    is_escaped: bool,
}

/// The place in an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    BeforeName,
    InName,
    BeforeValue,
    /// In the member's value, which is a string.
    InText {
        start: usize,
        stays: Stays,
    },
    /// In a member's value of another kind.
    InValue,
    /// In a string in it.
    InValueString,
    AfterValue,
    /// Behind the object, or at a value that is converted.
    End,
}

/// Whether a string stays the text that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stays {
    Yes,
    /// Not if it is the text of a number or of a literal, as it seems so far.
    Unknown,
    /// This is known at its end.
    AtEnd,
}

impl CertainArguments {
    /// The number of bytes of the arguments that are certain. `arguments` is the beginning of a JSON object, and of it what
    /// the last call had and more.
    pub fn advance(&mut self, arguments: &str, tool: &str, tools: &dyn ValidateCall) -> usize {
        let bytes = arguments.as_bytes();
        if self.read == 0 && bytes.first() == Some(&b'{') {
            self.read = 1;
        }
        while self.read > 0
            && self.place != Place::End
            && let Some(&byte) = bytes.get(self.read)
        {
            let at = self.read;
            self.read += 1;
            self.step(at, byte, arguments, tool, tools);
        }
        if let Place::InText { stays: Stays::Yes, .. } = self.place {
            self.certain = self.read;
        }
        self.certain
    }

    fn step(&mut self, at: usize, byte: u8, arguments: &str, tool: &str, tools: &dyn ValidateCall) {
        match self.place {
            Place::BeforeName | Place::AfterValue => match byte {
                b'"' => (self.place, self.name) = (Place::InName, at),
                b'}' => (self.place, self.certain) = (Place::End, at + 1),
                _ => {}
            },
            Place::InName => {
                if self.ends_string(byte) {
                    (self.place, self.name_end) = (Place::BeforeValue, at + 1);
                }
            }
            Place::BeforeValue => match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b':' => {}
                b'"' => {
                    let name = string(&arguments[self.name..self.name_end]);
                    let is_text = name.is_some_and(|name| tools.is_text(tool, &name));
                    let stays = if is_text { Stays::Yes } else { Stays::Unknown };
                    self.place = Place::InText { start: at + 1, stays };
                }
                _ => {
                    self.depth = usize::from(matches!(byte, b'{' | b'['));
                    self.place = Place::InValue;
                }
            },
            Place::InText { start, stays } => {
                if self.ends_string(byte) {
                    let is_same = stays == Stays::Yes || self.is_unchanged(at + 1, arguments, tool, tools);
                    return self.end_value(at + 1, is_same);
                }
                if stays == Stays::Unknown {
                    let stays = stays_text(&arguments.as_bytes()[start..=at]);
                    self.place = Place::InText { start, stays };
                }
            }
            Place::InValue => match byte {
                b'"' => self.place = Place::InValueString,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        let is_same = self.is_unchanged(at + 1, arguments, tool, tools);
                        self.end_value(at + 1, is_same);
                    }
                }
                // A number and a literal end with what follows them.
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b'}' if self.depth == 0 => {
                    let is_same = self.is_unchanged(at, arguments, tool, tools);
                    self.end_value(at, is_same);
                    if is_same {
                        self.step(at, byte, arguments, tool, tools);
                    }
                }
                _ => {}
            },
            Place::InValueString => {
                if self.ends_string(byte) {
                    self.place = Place::InValue;
                }
            }
            Place::End => {}
        }
    }

    /// Whether this byte of a string is the quotation mark at its end.
    fn ends_string(&mut self, byte: u8) -> bool {
        let is_end = byte == b'"' && !self.is_escaped;
        self.is_escaped = byte == b'\\' && !self.is_escaped;
        is_end
    }

    /// Whether the member whose value ends here is not converted.
    fn is_unchanged(&self, end: usize, arguments: &str, tool: &str, tools: &dyn ValidateCall) -> bool {
        let member = format!("{{{}}}", &arguments[self.name..end]);
        Parser::new().parse(&member).is_ok_and(|member| tools.coerce(tool, member).is_none())
    }

    fn end_value(&mut self, end: usize, is_same: bool) {
        if is_same {
            self.certain = end;
        }
        self.place = if is_same { Place::AfterValue } else { Place::End };
    }
}

fn string(json: &str) -> Option<String> {
    Some(Parser::new().parse(json).ok()?.as_str()?.into_owned())
}

/// Whether a string that begins with these bytes is no number and no literal. Decided at each byte, until it is known.
fn stays_text(text: &[u8]) -> Stays {
    const LITERALS: [&[u8]; 3] = [b"true", b"false", b"null"];
    match (text.first(), text.last()) {
        (Some(b'{' | b'[' | b' '), _) | (_, Some(b'\\')) => Stays::AtEnd,
        (Some(b'-' | b'0'..=b'9'), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9' | b' ')) => {
            Stays::Unknown
        }
        _ => {
            let starts =
                |literal: &[u8]| literal.get(..text.len()).is_some_and(|it| it.eq_ignore_ascii_case(text));
            if LITERALS.into_iter().any(starts) { Stays::Unknown } else { Stays::Yes }
        }
    }
}
