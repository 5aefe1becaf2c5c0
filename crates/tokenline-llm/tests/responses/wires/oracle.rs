//! The rules applied to the entries of a response, one by one.

use tokenline_core::Code;
use tokenline_llm::Provider;

use super::{Atom, End, Entry, Kind, Op, Piece, TOOLS, Wire};

/// A call or a reject: its number, its tool, its id, and its arguments.
pub(super) type Outcome = (u64, String, Option<String>, Result<String, Code>);

#[derive(Clone, Copy, PartialEq)]
enum State {
    Waiting,
    Released,
    Rejected,
}

struct Call {
    /// The pieces of its name.
    names: Vec<&'static str>,
    /// The id that came with the pieces after the first.
    piece_id: Option<String>,
    id: Option<String>,
    /// The first object with members, and as it was written.
    object: Option<(String, String)>,
    placeholder: Option<&'static str>,
    /// The part of an atom that is not complete.
    partial: Option<(Atom, String)>,
    /// Its item ended before its arguments began.
    is_item_ended: bool,
    /// It is the part of another object.
    differs: bool,
    state: State,
}

struct Oracle {
    has_tools: bool,
    /// The server ends each item.
    ends_items: bool,
    calls: Vec<Call>,
    /// The call that takes the arguments of a slot.
    of_slot: [Option<usize>; 4],
    /// Arguments at the start of a block, which are read when a block starts or ends.
    held: Option<(usize, Vec<Piece>)>,
    outcomes: Vec<Outcome>,
}

impl Call {
    fn name(&self) -> String {
        self.names.concat()
    }

    fn is_blank(&self) -> bool {
        self.object.is_none() && self.placeholder.is_none() && self.partial.is_none()
    }

    /// Whether its arguments have begun, and are not balanced.
    fn is_open(&self) -> bool {
        let replaces = |text: &str| self.placeholder.is_none() || !text.starts_with('n');
        self.object.is_none() && self.partial.as_ref().is_some_and(|(_, text)| replaces(text))
    }
}

/// The outcomes of a response.
pub(super) fn outcomes(wire: Wire, ops: &[Op], end: End, has_tools: bool) -> Vec<Outcome> {
    let ends_items = matches!(
        wire.provider,
        Provider::Anthropic | Provider::OpenAiResponses | Provider::Cohere | Provider::GeminiInteractions
    );
    let mut oracle = Oracle {
        has_tools,
        ends_items,
        calls: Vec::new(),
        of_slot: [None; 4],
        held: None,
        outcomes: Vec::new(),
    };
    for op in ops {
        match op {
            Op::Entry(entry) => oracle.entry(entry),
            Op::End(slot) => {
                oracle.read_held();
                oracle.end_item(*slot, true);
            }
            Op::Next(slot) => oracle.end_item(*slot, false),
        }
    }
    if end != End::Cut {
        oracle.read_held();
    }
    for at in 0..oracle.calls.len() {
        oracle.settle(at);
    }
    for at in 0..oracle.calls.len() {
        match end {
            End::Clean => oracle.finish(at, true),
            End::Limit | End::Cut => oracle.abort(at),
        }
    }
    oracle.outcomes
}

impl Oracle {
    fn entry(&mut self, entry: &Entry) {
        match self.of_slot[entry.slot] {
            None => {
                self.read_held();
                let name = entry.name.expect("the first entry names the tool");
                self.of_slot[entry.slot] = Some(self.open(name, entry.id.clone()));
            }
            Some(at) => {
                let call = &mut self.calls[at];
                if let Some(name) = entry.name.filter(|name| *name != call.name()) {
                    call.names.push(name);
                    call.piece_id.clone_from(&entry.id);
                }
            }
        }
        let at = self.of_slot[entry.slot].expect("it is open");
        match entry.kind {
            Kind::Start if entry.pieces.is_empty() => {}
            Kind::Start => self.held = Some((entry.slot, entry.pieces.clone())),
            Kind::Whole => self.whole(at, &entry.pieces),
            Kind::Fragment => {
                let text = entry.text();
                let is_placeholder = text.chars().all(|char| " \n{}\"nul".contains(char));
                self.held.take_if(|(slot, _)| *slot == entry.slot && !is_placeholder);
                self.feed(at, &entry.pieces);
            }
        }
    }

    /// A call begins, which confirms those before it that have arguments.
    fn open(&mut self, name: &'static str, id: Option<String>) -> usize {
        for at in 0..self.calls.len() {
            if self.calls[at].state == State::Waiting && self.calls[at].object.is_some() {
                self.release(at);
            }
        }
        let (object, placeholder, partial, state) = (None, None, None, State::Waiting);
        let (piece_id, differs, is_item_ended) = (None, false, false);
        self.calls.push(Call {
            names: vec![name],
            piece_id,
            id,
            object,
            placeholder,
            partial,
            is_item_ended,
            differs,
            state,
        });
        self.calls.len() - 1
    }

    fn read_held(&mut self) {
        if let Some((slot, pieces)) = self.held.take() {
            self.whole(self.of_slot[slot].expect("it is open"), &pieces);
        }
    }

    /// Complete arguments, whatever came before.
    fn whole(&mut self, at: usize, pieces: &[Piece]) {
        let atoms: Vec<&Atom> =
            pieces.iter().map(|piece| &piece.atom).filter(|atom| !atom.is_space()).collect();
        let text = pieces.iter().map(Piece::text).collect::<String>();
        let call = &mut self.calls[at];
        if atoms.is_empty() || call.state == State::Rejected {
            return;
        }
        let is_open = call.is_open();
        let partial = call.partial.take().filter(|_| is_open);
        if partial.is_some_and(|(_, partial)| !text.trim().starts_with(&partial)) {
            return self.reject(at, Code::TrailingData);
        }
        match atoms[..] {
            // As the provider repeats it.
            [Atom::Placeholder("{}" | "{ }")] if !is_open && self.calls[at].placeholder.is_some() => {}
            // A string alone is what it holds.
            [Atom::Encoded(object)] if self.calls[at].object.is_some() => {
                self.feed(at, &[Piece::of(Atom::Object(object))]);
            }
            _ => self.feed(at, pieces),
        }
    }

    fn feed(&mut self, mut at: usize, pieces: &[Piece]) {
        for piece in pieces.iter().filter(|piece| !piece.atom.is_space()) {
            match self.settle(at) {
                Some(settled) => at = settled,
                None => return,
            }
            let call = &mut self.calls[at];
            if call.state == State::Rejected {
                return;
            }
            if piece.is_last() {
                call.partial = None;
                self.complete(at, &piece.atom);
                continue;
            }
            let text = piece.atom.text()[..piece.to].to_owned();
            if let (Some((object, _)), Atom::Object(_)) = (&call.object, &piece.atom) {
                // The bytes of a delivered call are no longer known.
                call.differs |= call.state == State::Waiting && !object.starts_with(&text);
            }
            // A brace and white space may be a placeholder.
            let differs = call.differs && !text[1..].trim_start().is_empty();
            call.partial = Some((piece.atom.clone(), text));
            if differs {
                self.contradict(at);
            }
        }
    }

    fn complete(&mut self, at: usize, atom: &Atom) {
        let call = &mut self.calls[at];
        call.differs = false;
        let is_first = call.object.is_none() && call.state == State::Waiting;
        let object = match atom {
            Atom::Space(_) => return,
            Atom::Placeholder(text) => {
                let written = if *text == "{ }" { text } else { "{}" };
                call.placeholder = Some(if call.placeholder.is_none() { written } else { "{}" });
                return;
            }
            Atom::Object(object) | Atom::Encoded(object) => (*object).to_owned(),
        };
        match &call.object {
            None if is_first => call.object = Some((object, atom.text())),
            Some((own, written)) if atom.text() == *own || atom.text() == *written => {}
            _ => self.contradict(at),
        }
    }

    fn contradict(&mut self, at: usize) {
        let is_late = self.calls[at].state == State::Released;
        self.reject(at, if is_late { Code::LateFragment } else { Code::TrailingData });
    }

    /// Decides what the pieces of a name are. Returns the call that takes the arguments.
    fn settle(&mut self, at: usize) -> Option<usize> {
        let Call { names, piece_id, .. } = &self.calls[at];
        let is_tool = |name: &str| self.has_tools && TOOLS.contains(&name);
        if names.len() == 1 || is_tool(&names.concat()) {
            return Some(at);
        }
        if !names.iter().all(|name| is_tool(name)) {
            if self.calls[at].state == State::Waiting {
                self.reject(at, Code::UnknownTool);
            }
            return None;
        }
        let (names, id) = (names.clone(), piece_id.clone());
        self.calls[at].names.truncate(1);
        let last = names[1..].iter().map(|name| self.open(name, id.clone())).last().expect("two names");
        for slot in self.of_slot.iter_mut().filter(|slot| **slot == Some(at)) {
            *slot = Some(last);
        }
        Some(last)
    }

    /// An item ends, by itself or because the next one begins.
    fn end_item(&mut self, slot: usize, is_own: bool) {
        let at = self.of_slot[slot].expect("it is open");
        let call = &mut self.calls[at];
        call.is_item_ended |= call.is_blank();
        let is_placeholder = call.object.is_none() && call.placeholder.is_some() && call.partial.is_none();
        // Whether arguments are missing is decided at the end of the response.
        if !call.is_blank() && (is_own || !is_placeholder) {
            self.finish(at, false);
        }
    }

    fn finish(&mut self, at: usize, is_response: bool) {
        let call = &self.calls[at];
        match call.state {
            State::Rejected => {}
            State::Waiting if call.is_open() => self.reject(at, Code::Truncated),
            _ if call.partial.is_some() => self.contradict(at),
            State::Released => {}
            State::Waiting if call.is_blank() && !is_response => {}
            State::Waiting if call.is_blank() && self.ends_items && !call.is_item_ended => {
                self.reject(at, Code::Truncated);
            }
            State::Waiting => self.release(at),
        }
    }

    fn abort(&mut self, at: usize) {
        let call = &self.calls[at];
        if call.state == State::Waiting {
            let is_open = call.is_blank() || call.is_open();
            self.reject(at, if is_open { Code::Truncated } else { Code::Unsealed });
        }
    }

    fn release(&mut self, at: usize) {
        let call = &mut self.calls[at];
        if self.has_tools && !TOOLS.contains(&&*call.name()) {
            return self.reject(at, Code::UnknownTool);
        }
        call.state = State::Released;
        let object = call.object.as_ref().map(|(object, _)| object.clone());
        let arguments = object.unwrap_or_else(|| call.placeholder.unwrap_or("{}").to_owned());
        self.outcomes.push((at as u64 + 1, call.name(), call.id.clone(), Ok(arguments)));
    }

    fn reject(&mut self, at: usize, code: Code) {
        let call = &mut self.calls[at];
        call.state = State::Rejected;
        self.outcomes.push((at as u64 + 1, call.name(), call.id.clone(), Err(code)));
    }
}
