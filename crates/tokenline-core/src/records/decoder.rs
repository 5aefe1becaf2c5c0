//! The decoder: which bytes the machine reads, and lending what it finds.

use std::sync::Arc;

use super::carry::{Carry, incomplete_suffix};
use super::partial::Partials;
use super::phase::{Found, Machine};
use super::window::Window;
use crate::{Completion, Diagnostic, Event, LentEvent, Options, Span, ValidateCall};

/// What [`RecordDecoder::decode`] made of its input.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// How many bytes of the input are done with. After an event, call again with the rest.
    pub consumed: usize,
    /// An event, or `None` if the input is used up and more is needed.
    pub event: Option<LentEvent<'a>>,
}

/// Records out of text that arrives in pieces: the machine under
/// [`JsonlParser`](crate::JsonlParser), for who owns the bytes.
///
/// [`decode`](Self::decode) never keeps a borrow of its input: what of it belongs to an open record
/// is copied, once. A record that lies within one piece is lent from there, without a copy.
///
/// ```
/// use tokenline_core::{Event, Options, RecordDecoder};
///
/// let mut decoder = RecordDecoder::new(Options::lenient());
/// let mut entities = Vec::new();
/// for piece in ["Sure!\n{\"entity\":\"D", "NA\"}\n{\"entity\":\"RNA\"}\n"] {
///     let mut rest = piece.as_bytes();
///     loop {
///         let decoded = decoder.decode(rest);
///         rest = &rest[decoded.consumed..];
///         match decoded.event {
///             Some(Event::Record(record)) => entities.push(record.value.get("entity").unwrap().raw().to_owned()),
///             Some(_) => {}
///             None => break,
///         }
///     }
/// }
/// assert!(decoder.finish().is_none(), "nothing is left over");
/// assert_eq!(entities, ["\"DNA\"", "\"RNA\""]);
/// ```
#[derive(Debug)]
pub struct RecordDecoder {
    pub(super) machine: Machine,
    pub(super) carry: Carry,
    /// If they are asked for.
    pub(super) partials: Option<Box<Partials>>,
    /// Offset in the stream of the first byte of input not yet taken.
    position: u64,
    /// Bytes looked at to find the end of a carried line.
    scanned: u64,
}

/// What was found: a diagnostic, or the machine's record and where the text of that is.
pub(crate) enum Plain<'i> {
    InInput(&'i str),
    InCarry,
    /// A call that was not written as JSON.
    Call,
    Diagnostic(Box<Diagnostic>),
}

impl RecordDecoder {
    /// A decoder at the start of a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            partials: options.partials.then(Box::default),
            machine: Machine::new(options),
            carry: Carry::default(),
            position: 0,
            scanned: 0,
        }
    }

    /// The same with the tools that are defined: they help to tell calls from other text, where
    /// [calls](Options::calls) are looked for.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<dyn ValidateCall + Send + Sync>) -> Self {
        self.machine.set_tools(tools);
        self
    }

    /// Forgets everything and starts with the next text. Keeps its memory.
    pub fn reset(&mut self) {
        self.machine.reset();
        self.carry.clear();
        if let Some(partials) = &mut self.partials {
            partials.clear();
        }
        self.position = 0;
    }

    /// Reads on, up to the next event or the end of the input.
    ///
    /// Terminates with `event: None` once all of `input` is consumed. Never fails: what is wrong
    /// with the text is an event.
    pub fn decode<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        if self.partials.is_some() {
            return self.decode_with_partials(input);
        }
        let (consumed, plain) = self.step(input);
        let event = plain.map(|plain| self.lend(plain));
        Decoded { consumed, event }
    }

    /// Says that the input has ended. Call it until it returns `None`: a last line without a line
    /// feed may hold several events.
    pub fn finish(&mut self) -> Option<LentEvent<'_>> {
        self.finish_with(Completion::EndOfInput)
    }

    /// As [`finish`](Self::finish), where more than the mere end of the input proves that a record
    /// at the end is whole.
    pub fn finish_with(&mut self, completion: Completion) -> Option<LentEvent<'_>> {
        if self.partials.is_some() {
            return self.finish_with_partials(completion);
        }
        let plain = self.finish_step(completion)?;
        Some(self.lend(plain))
    }

    /// Offset in the stream of the next byte to be decoded.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The number of the line that this byte is on, counted from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.machine.line()
    }

    /// Offset in the stream of the first byte that an event to come may be about. Who wants the text of
    /// what is rejected keeps what comes from there on.
    #[must_use]
    pub fn undecided_from(&self) -> u64 {
        self.machine.undecided_from().min(self.position)
    }

    /// Keeps account of what is neither records nor text; see [`decode_with`](Self::decode_with).
    #[must_use]
    pub fn with_markup(mut self) -> Self {
        self.machine.tell_markup();
        self
    }

    /// As [`decode`](Self::decode), for who shows the text beside records: tells before the event what
    /// stands before it and is neither for people nor a record. That is the brackets and commas around the
    /// elements of an array, and the tags around calls. Asked for by [`with_markup`](Self::with_markup).
    pub fn decode_with<'a>(&'a mut self, input: &'a [u8], markup: impl FnMut(Span)) -> Decoded<'a> {
        let (consumed, plain) = self.step(input);
        std::iter::from_fn(|| self.machine.next_markup()).for_each(markup);
        let event = plain.map(|plain| self.lend(plain));
        Decoded { consumed, event }
    }

    /// As [`decode_with`](Self::decode_with), at the [end](Self::finish_with) of the input.
    pub fn finish_and(&mut self, completion: Completion, markup: impl FnMut(Span)) -> Option<LentEvent<'_>> {
        let plain = self.finish_step(completion);
        std::iter::from_fn(|| self.machine.next_markup()).for_each(markup);
        Some(self.lend(plain?))
    }

    /// Offset in the stream of the first byte of which it is not known yet whether it is text or part of a
    /// record.
    #[must_use]
    pub fn unsorted_from(&self) -> u64 {
        self.machine.unsorted_from().map_or(self.position, |from| from.min(self.position))
    }

    /// How many bytes were looked at, by the parser and by the search for lines and openers, since
    /// the decoder was made; the UTF-8 check apart. At most twice the input, three times where much
    /// of it is malformed, and once more behind a tag for thinking that nothing closes; with [partials](Options::partials) what is new is looked at once more.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.machine.examined() + self.scanned
    }

    /// As [`decode`](Self::decode), before lending.
    // Always: it has a second caller, for partials, and is left alone otherwise.
    #[inline(always)]
    pub(crate) fn step<'i>(&mut self, input: &'i [u8]) -> (usize, Option<Plain<'i>>) {
        if input.len() <= TOKEN_BYTES && self.carry.is_all_read() {
            // Most tokens of a model are a few plain characters inside a string: nothing to decide.
            if let Some(is_plain) = self.carry.extend_token(input) {
                self.scanned += input.len() as u64;
                self.position += input.len() as u64;
                if is_plain && self.machine.continue_string(input.len(), self.position) {
                    self.carry.at = self.carry.text.len();
                    return (input.len(), None);
                }
                return (input.len(), self.read_carry());
            }
        }
        let mut consumed = 0;
        loop {
            if !self.carry.is_active() {
                let (used, plain) = self.read_input(&input[consumed..]);
                consumed += used;
                if plain.is_some() || consumed == input.len() {
                    return (consumed, plain);
                }
                // What may be a call is read in the carry.
                continue;
            }
            if let Some(plain) = self.read_carry() {
                return (consumed, Some(plain));
            }
            if self.carry.is_active() {
                if consumed == input.len() {
                    return (consumed, None);
                }
                let taken = self.carry.extend(&input[consumed..]);
                self.scanned += taken as u64;
                self.position += taken as u64;
                consumed += taken;
            }
        }
    }

    pub(crate) fn finish_step(&mut self, completion: Completion) -> Option<Plain<'static>> {
        if self.carry.is_active()
            && let Some(plain) = self.read_carry()
        {
            return Some(plain);
        }
        loop {
            let text = std::mem::take(&mut self.carry.text);
            let base = if self.carry.is_active() { self.carry.base } else { self.position };
            let window =
                Window { bytes: text.as_bytes(), text: &text, base, is_checked: true, ends_bad: false };
            let mut at = text.len();
            let cut = self.carry.cut_character();
            let found = self.machine.finish(&window, &mut at, completion, cut).map(carried);
            self.carry.text = text;
            // Of a value on several lines that the end cut the lines are read once more.
            self.carry.at = at;
            if let Some(plain) = found {
                return plain;
            }
            if let Some(plain) = self.read_carry() {
                return Some(plain);
            }
        }
    }

    #[inline]
    pub(crate) fn lend<'a>(&'a self, plain: Plain<'a>) -> LentEvent<'a> {
        match plain {
            Plain::Diagnostic(diagnostic) => Event::from_diagnostic(*diagnostic),
            Plain::InInput(text) => Event::Record(self.machine.lend(text)),
            Plain::InCarry => {
                let text = self.carry.text_of(self.machine.record().span);
                Event::Record(self.machine.lend(text))
            }
            Plain::Call => Event::Record(self.machine.lend(self.machine.call_text())),
        }
    }

    /// Reads on in the input itself; nothing is carried.
    // Always: what it gives back is not worth a copy, a hundred bytes of text later.
    #[inline(always)]
    fn read_input<'i>(&mut self, input: &'i [u8]) -> (usize, Option<Plain<'i>>) {
        let (whole, cut) = input.split_at(input.len() - incomplete_suffix(input));
        let window =
            Window { bytes: whole, text: "", base: self.position, is_checked: false, ends_bad: false };
        let mut at = 0;
        match self.machine.advance(&window, &mut at) {
            Found::Record { text } => {
                self.position += at as u64;
                // The window is not checked, so the machine did.
                (at, text.map(Plain::InInput))
            }
            Found::Diagnostic(diagnostic) => {
                // What is open is seen once more, from its first byte.
                if let Some(start) = self.machine.open_start() {
                    at = at.min((start - self.position) as usize);
                } else if let Some(start) = self.machine.held_from() {
                    let held = &whole[(start - self.position) as usize..at];
                    let held = simdutf8::basic::from_utf8(held).expect("it was read");
                    self.carry.start(held, start, &[]);
                }
                self.position += at as u64;
                (at, Some(Plain::Diagnostic(diagnostic)))
            }
            Found::Call => unreachable!("calls are found in the carry"),
            Found::Nothing if self.machine.wants_carry() => {
                self.position += at as u64;
                self.carry.start("", self.position, &[]);
                (at, None)
            }
            Found::Nothing => {
                if !cut.is_empty() {
                    self.machine.pass_cut();
                }
                let open = self.machine.held_from().map(|start| (start - self.position) as usize);
                let open = open.unwrap_or(whole.len());
                if open < whole.len() || !(cut.is_empty() || self.machine.is_discarding()) {
                    // Checked by the machine when it came to the end of the window.
                    let text = simdutf8::basic::from_utf8(&whole[open..]).unwrap_or_default();
                    self.carry.start(text, self.position + open as u64, cut);
                }
                self.position += input.len() as u64;
                (input.len(), None)
            }
        }
    }

    /// Reads on in the carry; leaves it once nothing in it is open any more.
    fn read_carry(&mut self) -> Option<Plain<'static>> {
        if self.carry.is_all_read() && self.machine.held_from().is_some() {
            return None;
        }
        let text = std::mem::take(&mut self.carry.text);
        let window = Window {
            bytes: text.as_bytes(),
            text: &text,
            base: self.carry.base,
            is_checked: true,
            ends_bad: self.carry.ends_bad,
        };
        let plain = carried(self.machine.advance(&window, &mut self.carry.at));
        self.carry.text = text;
        if plain.is_none() {
            match self.machine.held_from() {
                Some(start) => self.carry.drop_before(start),
                None if self.carry.cut_character() > 0 && !self.machine.is_discarding() => {
                    self.carry.drop_before(self.carry.end());
                }
                None => self.carry.clear(),
            }
        }
        plain
    }
}

/// Pieces up to this length are taken for tokens.
const TOKEN_BYTES: usize = 16;

fn carried(found: Found<'_>) -> Option<Plain<'static>> {
    match found {
        Found::Record { .. } => Some(Plain::InCarry),
        Found::Call => Some(Plain::Call),
        Found::Diagnostic(diagnostic) => Some(Plain::Diagnostic(diagnostic)),
        Found::Nothing => None,
    }
}
