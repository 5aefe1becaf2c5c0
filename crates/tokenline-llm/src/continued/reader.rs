//! The records of one response.

use tokenline_core::json::{Parser, Raw, Step};
use tokenline_core::{Code, Diagnostic, Event, JsonlParser, Options, Record};

use super::fingerprint::{Fingerprint, squeeze};

/// What a response says.
#[derive(Debug)]
pub(super) enum Item {
    Record(Box<Read>),
    Finding(Diagnostic),
}

/// A record, as it came and as it is compared.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) record: Record<Raw>,
    /// Without white space between tokens.
    pub(super) text: String,
    pub(super) fingerprint: Fingerprint,
}

impl Read {
    pub(super) fn new(record: Record<Raw>) -> Self {
        let text = squeeze(record.value.as_str());
        Self { fingerprint: Fingerprint::of(&text), text, record }
    }
}

/// Reads the text of one response, and knows what of it is open.
#[derive(Debug)]
pub(super) struct Reader {
    parser: JsonlParser,
    elements: Option<Elements>,
    /// The text from the first byte on that may be part of an open record.
    held: String,
    /// Where that begins in the text.
    base: u64,
    /// The last byte before it that is no white space.
    before: Option<u8>,
    is_finished: bool,
    /// The place of the record that the end cut.
    open: Option<u64>,
    is_truncated: bool,
    is_over: bool,
}

impl Reader {
    /// For a text that begins as an answer does.
    pub(super) fn new(options: Options) -> Self {
        Self {
            parser: JsonlParser::new(options),
            elements: None,
            held: String::new(),
            base: 0,
            before: None,
            is_finished: false,
            open: None,
            is_truncated: false,
            is_over: false,
        }
    }

    /// For a text that begins among the elements of an array.
    pub(super) fn among_elements(options: Options) -> Self {
        Self { elements: Some(Elements::default()), ..Self::new(options) }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.held += text;
        match &mut self.elements {
            None => self.parser.push(text.as_bytes().to_vec()),
            Some(elements) => self.parser.push(elements.relined(text)),
        }
    }

    pub(super) fn next(&mut self) -> Option<Item> {
        while !self.is_over {
            match self.parser.next_event() {
                Some(Event::Record(record)) => {
                    let record = record.map(Raw::from);
                    if self.open == Some(record.span.start) {
                        // The end showed that it was whole.
                        self.open = None;
                    }
                    return Some(Item::Record(Box::new(Read::new(record))));
                }
                Some(Event::Rejected(diagnostic))
                    if self.is_finished && diagnostic.code == Code::Truncated =>
                {
                    self.is_truncated = true;
                    // Behind it the lines of what was cut would be read as records of their own.
                    self.is_over = self.open == Some(diagnostic.span.start);
                }
                Some(Event::Rejected(diagnostic) | Event::Note(diagnostic)) => {
                    return Some(Item::Finding(diagnostic));
                }
                Some(Event::Partial(_)) => {}
                None => {
                    self.let_go();
                    self.is_over = self.is_finished;
                    break;
                }
                Some(_) => {}
            }
        }
        None
    }

    /// Forgets what no open record can be part of.
    fn let_go(&mut self) {
        let decoder = self.parser.decoder();
        let end = (decoder.unsorted_from().max(self.base) - self.base) as usize;
        if self.is_finished || end == 0 || !self.held.is_char_boundary(end.min(self.held.len())) {
            return;
        }
        let end = end.min(self.held.len());
        let gone = self.held[..end].trim_ascii_end().bytes().last();
        self.before = gone.or(self.before);
        self.held.drain(..end);
        self.base += end as u64;
    }

    /// Says that there is no more; [`next`](Self::next) may still have something.
    pub(super) fn finish(&mut self) {
        if !self.is_finished {
            self.let_go();
            self.is_finished = true;
            self.open = self.parser.snapshot().map(|partial| partial.start);
            self.parser.finish();
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Whether the text ended inside a value.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// The record that is open, as far as it came.
    pub(super) fn open(&self) -> &str {
        match (self.is_finished, self.open) {
            (true, Some(open)) if self.is_over && self.is_truncated && open >= self.base => {
                self.held.get((open - self.base) as usize..).unwrap_or_default()
            }
            (true, _) => "",
            // Before the end it need not be exact: it only helps to go on.
            (false, _) => {
                let read = (self.parser.decoder().position().max(self.base) - self.base) as usize;
                let open = self.held.get(..read).unwrap_or(&self.held);
                let open = open.trim_start_matches([' ', '\t', '\r', '\n', ',', '[']);
                let is_open = open.starts_with('{') && Parser::new().resume(open) == Step::NeedMore;
                if is_open { open } else { "" }
            }
        }
    }

    /// The last byte before the open record that is no white space.
    pub(super) fn before_open(&self) -> Option<u8> {
        self.before(self.open?)
    }

    /// The last byte before that place that is no white space: of the open record, or of the last one that was read.
    pub(super) fn before(&self, place: u64) -> Option<u8> {
        let before = self.held.get(..(place.checked_sub(self.base)?) as usize)?;
        before.trim_ascii_end().bytes().last().or(self.before)
    }

    /// Bytes held, twice where the parser has them as well.
    pub(super) fn held_bytes(&self) -> usize {
        2 * self.held.len()
    }
}

/// Makes lines of the elements of an array whose beginning was in another response: what stands between elements
/// becomes line feeds, byte for byte, so that places stay what they are.
#[derive(Debug, Default)]
struct Elements {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
}

impl Elements {
    fn relined(&mut self, text: &str) -> String {
        text.chars().map(|char| self.step(char)).collect()
    }

    fn step(&mut self, char: char) -> char {
        if self.in_string {
            // No string has a raw line feed in it: one that seems to is malformed, and is not to spoil the rest.
            self.in_string = (self.is_escaped || char != '"') && char != '\n';
            self.is_escaped = char == '\\' && !self.is_escaped;
            return char;
        }
        match char {
            '"' if self.depth > 0 => (self.in_string, self.is_escaped) = (true, false),
            '{' => self.depth += 1,
            '[' if self.depth > 0 => self.depth += 1,
            '}' | ']' if self.depth > 0 => self.depth -= 1,
            '[' | ']' | '}' | ',' if self.depth == 0 => return '\n',
            _ => {}
        }
        char
    }
}

/// The name of an answer's first member, by which one that begins again is known.
#[derive(Debug, Default)]
pub(super) struct FirstMember {
    text: String,
    is_over: bool,
}

/// Longest beginning of a response that is kept in search of it, in bytes.
const LONGEST_HEAD: usize = 4096;

impl FirstMember {
    /// Takes more of the text. `None` if more is needed, `Some(None)` if it does not begin with an object.
    pub(super) fn push(&mut self, text: &str) -> Option<Option<Fingerprint>> {
        if self.is_over {
            return Some(None);
        }
        self.text += text;
        let found = self.find();
        self.is_over = found.is_some();
        found
    }

    /// All of the text so far.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn find(&self) -> Option<Option<Fingerprint>> {
        let too_long = (self.text.len() > LONGEST_HEAD).then_some(None);
        let Some(opener) = self.text.find(['{', '[']) else { return too_long };
        let Some(object) = self.text[opener..].strip_prefix('{') else { return Some(None) };
        match object.trim_ascii_start().strip_prefix('"') {
            None if object.trim_ascii_start().is_empty() => too_long,
            None => Some(None),
            Some(name) => {
                let mut is_escaped = false;
                let end = name.find(|char| {
                    let is_end = char == '"' && !is_escaped;
                    is_escaped = char == '\\' && !is_escaped;
                    is_end
                });
                end.map(|end| Some(Fingerprint::of(&name[..end]))).or(too_long)
            }
        }
    }
}
