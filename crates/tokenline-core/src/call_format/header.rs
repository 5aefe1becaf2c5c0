//! A tag with a name: `<function=weather>`, `<function name="weather">`.

use super::scan::MAX_NAME;

/// Reads the rest of such a tag after its word, byte by byte.
#[derive(Debug)]
pub(super) struct Header {
    at: usize,
    part: Part,
    name: (usize, usize),
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// Right after the word.
    Word,
    /// Within `name`, after so many of its characters, or before it.
    Attribute(usize),
    Equals,
    Name(Option<u8>),
    Close,
}

pub(super) enum HeaderStep<'t> {
    NeedMore,
    /// The name, and where the tag's body begins.
    Complete {
        name: &'t str,
        body: usize,
    },
    /// Not such a tag, as the byte here shows.
    None {
        at: usize,
    },
}

impl Header {
    /// A header after the tag's word, such as `<function`, which ends at `at`.
    pub(super) fn new(at: usize) -> Self {
        Self { at, part: Part::Word, name: (at, at) }
    }

    /// Reads on.
    pub(super) fn read<'t>(&mut self, text: &'t str) -> HeaderStep<'t> {
        while let Some(&byte) = text.as_bytes().get(self.at) {
            self.part = match (self.part, byte) {
                (Part::Word | Part::Equals, b'=') => self.begin_name(),
                (Part::Word, b' ' | b'\t') => Part::Attribute(0),
                (Part::Attribute(0), b' ' | b'\t') => Part::Attribute(0),
                (Part::Attribute(seen), byte) if byte == b"name"[seen] => match seen {
                    3 => Part::Equals,
                    _ => Part::Attribute(seen + 1),
                },
                (Part::Name(None), quote @ (b'"' | b'\'')) if self.at == self.name.0 => {
                    self.name = (self.at + 1, self.at + 1);
                    Part::Name(Some(quote))
                }
                (Part::Name(None), b'>') if !self.is_nameless() => return self.complete(text, self.at + 1),
                // Llama 3.1 omits the bracket before the arguments.
                (Part::Name(None), b'{') if !self.is_nameless() => return self.complete(text, self.at),
                (Part::Name(None), b' ' | b'\t') if !self.is_nameless() => Part::Close,
                (Part::Name(Some(quote)), byte) if byte == quote && !self.is_nameless() => Part::Close,
                (Part::Name(quote), byte)
                    if is_part_of_name(byte) && self.name.1 - self.name.0 < MAX_NAME =>
                {
                    self.name.1 = self.at + 1;
                    Part::Name(quote)
                }
                (Part::Close, b' ' | b'\t') => Part::Close,
                (Part::Close, b'>') => return self.complete(text, self.at + 1),
                _ => return HeaderStep::None { at: self.at },
            };
            self.at += 1;
        }
        HeaderStep::NeedMore
    }

    /// Whether no name has begun.
    pub(super) fn is_nameless(&self) -> bool {
        self.name.0 == self.name.1
    }

    fn begin_name(&mut self) -> Part {
        self.name = (self.at + 1, self.at + 1);
        Part::Name(None)
    }

    fn complete<'t>(&self, text: &'t str, body: usize) -> HeaderStep<'t> {
        HeaderStep::Complete { name: &text[self.name.0..self.name.1], body }
    }
}

/// Only a bracket or quote ends a name here: names of parameters may have any character.
fn is_part_of_name(byte: u8) -> bool {
    !byte.is_ascii_control() && !matches!(byte, b' ' | b'<' | b'>' | b'{' | b'}' | b'"' | b'\'' | b'=')
}
