//! The records of one response.

use tokenline_core::json::{Parser, Raw, Step};
use tokenline_core::{
    Code, CompletedBy, Diagnostic, Event, JsonlParser, Options, Record, Recovered, Rejected,
};

use super::among::Among;
use super::fingerprint::{Fingerprint, squeeze};
use super::progress::Form;
use super::repair::Repair;
use super::shape;

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
    /// Where it is among records, if it begins there.
    among: Option<Among>,
    /// The text from the first byte on that may be part of an open record.
    held: String,
    /// Where that begins in the text.
    base: u64,
    /// The last byte before it that is no white space.
    before: Option<u8>,
    /// Whether lines are kept that something may be said of, up to so many bytes.
    kept_lines: Option<usize>,
    is_finished: bool,
    is_cut: bool,
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
            among: None,
            held: String::new(),
            base: 0,
            before: None,
            kept_lines: None,
            is_finished: false,
            is_cut: false,
            open: None,
            is_truncated: false,
            is_over: false,
        }
    }

    /// For a text that begins among records. `has_wrapper`: the array of them is inside another value.
    pub(super) fn among(options: Options, form: Form, has_wrapper: bool) -> Self {
        Self { among: Some(Among::new(form, has_wrapper)), ..Self::new(options) }
    }

    /// Where it is among records. `None` if it begins as an answer does.
    pub(super) fn place(&self) -> Option<&Among> {
        self.among.as_ref()
    }

    pub(super) fn push(&mut self, text: &str) {
        self.held += text;
        match &mut self.among {
            None => self.parser.push(text.as_bytes().to_vec()),
            Some(among) => self.parser.push(among.relined(text)),
        }
    }

    /// What is next. `is_open`: a record was cut off before, and what is not like one is not asked about, as it may be
    /// more of that.
    pub(super) fn next(&mut self, repair: &mut Repair, is_open: bool) -> Option<Item> {
        self.kept_lines = repair.line_bytes();
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
                    // After it, the lines of what was cut would be read as records of their own.
                    self.is_over = self.open == Some(diagnostic.span.start);
                }
                Some(Event::Rejected(diagnostic)) => {
                    return Some(match self.repaired(&diagnostic, repair, is_open) {
                        Some(record) => Item::Record(Box::new(Read::new(record))),
                        None => Item::Finding(diagnostic),
                    });
                }
                Some(Event::Note(diagnostic)) => {
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

    /// What takes the place of what was rejected, unless more of it would have come.
    fn repaired(&self, diagnostic: &Diagnostic, repair: &mut Repair, is_open: bool) -> Option<Record<Raw>> {
        let span = diagnostic.span;
        if self.kept_lines.is_none() || !diagnostic.code.is_repairable() || span.start == span.end {
            return None;
        }
        let (start, end) = (span.start.checked_sub(self.base)?, span.end.checked_sub(self.base)?);
        let text = self.held.get(start as usize..end as usize)?;
        let is_last = self.is_finished && self.held[end as usize..].trim_ascii().is_empty();
        if (is_last && self.is_cut) || (is_open && !text.trim_ascii_start().starts_with('{')) {
            return None;
        }
        let before = &self.held[..start as usize];
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let completion = if is_last { CompletedBy::EndOfInput } else { CompletedBy::Newline };
        let (column, recovered) = ((before.len() - line) as u64 + 1, Recovered::default());
        let place = Record { value: (), line: diagnostic.line, column, span, completion, recovered };
        repair.line(Rejected::new(text, diagnostic.clone()), place)
    }

    /// Forgets what no open record can be part of.
    fn let_go(&mut self) {
        let decoder = self.parser.decoder();
        let mut from = decoder.open_from();
        if let Some(most) = self.kept_lines {
            let line = decoder.undecided_from().min(from);
            if decoder.position() - line <= most as u64 {
                from = line;
            }
        }
        let end = (from.max(self.base) - self.base) as usize;
        if self.is_finished || end == 0 || !self.held.is_char_boundary(end.min(self.held.len())) {
            return;
        }
        let end = end.min(self.held.len());
        let gone = self.held[..end].trim_ascii_end().bytes().last();
        self.before = gone.or(self.before);
        self.held.drain(..end);
        self.base += end as u64;
    }

    /// Says that there is no more; [`next`](Self::next) may still have something. `is_cut`: by a limit.
    pub(super) fn finish(&mut self, is_cut: bool) {
        if !self.is_finished {
            self.let_go();
            self.is_cut = is_cut;
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
                let at = |place: u64| (place.max(self.base) - self.base) as usize;
                let decoder = self.parser.decoder();
                let read = at(decoder.open_from())..at(decoder.position());
                let open = self.held.get(read).unwrap_or(&self.held);
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
        let object = &self.text[opener..];
        if let Some(name) = shape::first_name(object) {
            return Some(Some(Fingerprint::of(name)));
        }
        let is_open = object.strip_prefix('{').map(str::trim_ascii_start);
        if is_open.is_some_and(|rest| rest.is_empty() || rest.starts_with('"')) {
            too_long
        } else {
            Some(None)
        }
    }
}
