//! The tokens of JSON text that the parser has accepted, for looking at a part of it again.

use memchr::memchr2;

use crate::text::is_space;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its first byte.
    pub(crate) first: u8,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The tokens from `at` on, which is not inside one.
pub(crate) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        Self { bytes: text.as_bytes(), at }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let rest = self.bytes.get(self.at..)?;
        let start = self.at + rest.iter().position(|&byte| !is_space(byte))?;
        let first = self.bytes[start];
        self.at = match first {
            b'"' => string_end(self.bytes, start + 1),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => start + 1,
            _ => {
                let ends = |&byte: &u8| {
                    is_space(byte) || matches!(byte, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"')
                };
                self.bytes[start + 1..].iter().position(ends).map_or(self.bytes.len(), |len| start + 1 + len)
            }
        };
        Some(Token { first, start, end: self.at })
    }
}

/// Behind the closing quote of the string that `at` is in; the end of the bytes if there is none.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> usize {
    closing_quote(bytes, at).map_or(bytes.len(), |quote| quote + 1)
}

fn closing_quote(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The name of the first member of an object, as it is written; `""` if there is none.
pub(crate) fn first_name(object: &str) -> Option<&str> {
    let name = object.strip_prefix('{')?.trim_ascii_start();
    if name.starts_with('}') {
        return Some("");
    }
    let name = name.strip_prefix('"')?;
    Some(&name[..closing_quote(name.as_bytes(), 0)?])
}

/// Where members and elements begin, of the containers that are open at `to`, the innermost last; as far
/// as they are seen between `from`, where a token begins, and `to`.
pub(crate) fn members(text: &str, from: usize, to: usize) -> Vec<Vec<usize>> {
    let mut levels = vec![Vec::new()];
    let mut is_member = from == 0;
    // What begins at `to` may be a string as long as the document.
    for token in Tokens::new(&text[..to], from) {
        match token.first {
            b',' => is_member = true,
            b':' => is_member = false,
            b'}' | b']' => {
                levels.pop();
                if levels.is_empty() {
                    levels.push(Vec::new());
                }
                is_member = false;
            }
            first => {
                if let (true, Some(level)) = (is_member, levels.last_mut()) {
                    level.push(token.start);
                }
                is_member = matches!(first, b'{' | b'[');
                if is_member {
                    levels.push(Vec::new());
                }
            }
        }
    }
    levels
}
