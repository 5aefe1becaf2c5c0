//! Draws responses: the entries of their calls.

use tokenline_llm::Provider;

use super::{Atom, End, Entry, Flavor, Kind, OBJECTS, Op, Piece, Wire};

const NAMES: [&str; 4] = ["f", "g", "get_weather", "h"];
/// Names in pieces: one tool, one tool each, or neither.
const PIECES: [&[&str]; 6] = [
    &["get", "_wea", "ther"],
    &["get_", "weather"],
    &["f", "g"],
    &["g", "f", "g"],
    &["get_", "dir"],
    &["f", "_", "g"],
];
const PLACEHOLDERS: [&str; 6] = ["{}", "{}", "{ }", "null", "\"\"", "\"{}\""];
const SPACES: [&str; 2] = [" ", "\n"];

/// Draws responses of a wire.
pub(super) struct Draw<R> {
    random: R,
    wire: Wire,
}

impl<R: FnMut(usize) -> usize> Draw<R> {
    pub(super) fn new(random: R, wire: Wire) -> Self {
        Self { random, wire }
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random)(bound)
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// The arguments of a call: placeholders, its object, as it is or in a string, again or with another.
    fn atoms(&mut self) -> Vec<Atom> {
        let own = self.pick(&OBJECTS);
        let is_encoded = self.once_in(5);
        (0..self.below(5))
            .map(|_| match self.below(12) {
                0..4 => Atom::Placeholder(self.pick(&PLACEHOLDERS)),
                4..9 if is_encoded => Atom::Encoded(own),
                4..9 => Atom::Object(own),
                9 if self.once_in(2) => Atom::Encoded(own),
                9 => Atom::Object(self.pick(&OBJECTS)),
                _ => Atom::Space(self.pick(&SPACES)),
            })
            .collect()
    }

    /// The text cut into entries, inside the atoms or between them.
    fn cut(&mut self, atoms: &[Atom]) -> Vec<Vec<Piece>> {
        let mut entries = vec![Vec::new()];
        let is_fine = self.once_in(2);
        for atom in atoms {
            let text = atom.text();
            let mut from = 0;
            for to in 1..=text.len() {
                let is_end = to == text.len();
                let is_cut = if is_end { self.once_in(2) } else { is_fine && self.once_in(6) };
                if !text.is_char_boundary(to) || !(is_cut || is_end) {
                    continue;
                }
                let piece = Piece { atom: atom.clone(), from, to };
                entries.last_mut().expect("an entry").push(piece);
                from = to;
                if is_cut {
                    entries.push(Vec::new());
                }
            }
        }
        entries
    }

    fn entry(&mut self, slot: usize, kind: Kind, pieces: Vec<Piece>) -> Entry {
        // Only a JSON value can stand for itself.
        let is_value = match &pieces[..] {
            [] => true,
            [piece] => matches!(piece.atom, Atom::Object(_)) && piece.from == 0 && piece.is_last(),
            _ => false,
        };
        let takes_values = match self.wire.provider {
            Provider::Bedrock => self.wire.is_body,
            Provider::Anthropic => kind == Kind::Start,
            _ => true,
        };
        let is_raw = is_value && takes_values && self.once_in(2);
        Entry { slot, name: None, id: None, kind, pieces, is_raw }
    }

    fn whole(&mut self, slot: usize, kind: Kind, atoms: &[Atom]) -> Entry {
        let pieces = atoms.iter().cloned().map(Piece::of).collect();
        self.entry(slot, kind, pieces)
    }

    /// The entries of one call, and its end.
    fn call(&mut self, slot: usize, end: End, is_last: bool) -> Vec<Op> {
        let Wire { provider, is_body, flavor } = self.wire;
        let mut atoms = self.atoms();
        if let Flavor::Names { .. } = flavor {
            // The name opens a call if an object follows, and other names continue one without arguments.
            while atoms.first().is_some_and(|atom| matches!(atom.text().as_bytes()[0], b' ' | b'\n' | b'n')) {
                atoms.remove(0);
            }
            if atoms.is_empty() {
                atoms.push(Atom::Object(OBJECTS[0]));
            }
        }
        let id = match (provider, flavor) {
            (_, Flavor::Names { .. }) => None,
            (_, Flavor::Ids { .. } | Flavor::Headers) => Some(format!("c{slot}")),
            _ => (!self.once_in(4)).then(|| format!("c{slot}")),
        };
        let mut ops = Vec::new();
        let has_blocks = matches!(provider, Provider::Anthropic | Provider::GeminiInteractions);
        let is_at_once =
            is_body || provider == Provider::Ollama || (provider == Provider::Gemini && self.once_in(2));
        if is_at_once {
            let has_blocks = has_blocks || matches!(provider, Provider::Cohere | Provider::Bedrock);
            let kind = if has_blocks { Kind::Start } else { Kind::Whole };
            ops.push(Op::Entry(self.whole(slot, kind, &atoms)));
        } else {
            let mut entries = self.cut(&atoms);
            if has_blocks || provider == Provider::Bedrock {
                entries.insert(0, Vec::new());
            }
            for pieces in entries {
                let entry = self.entry(slot, Kind::Fragment, pieces);
                ops.push(Op::Entry(entry));
            }
            // Now and then the last part is missing.
            if self.once_in(8) && ops.len() > 1 && (is_last || !matches!(flavor, Flavor::Names { .. })) {
                ops.pop();
            }
        }
        self.header(&mut ops, id.as_ref());
        if !is_at_once && has_blocks {
            self.block_start(&mut ops, &atoms);
        }
        if !is_at_once && provider == Provider::OpenAiResponses {
            self.repeat(slot, &mut ops, &atoms);
        }
        let has_ends = match provider {
            Provider::OpenAiChat => false,
            Provider::Ollama => true,
            Provider::Gemini => is_at_once || !self.once_in(4),
            Provider::OpenAiResponses => !self.once_in(4),
            _ if is_body => end == End::Clean || !is_last,
            _ => !self.once_in(6),
        };
        if has_ends {
            ops.push(Op::End(slot));
        } else if provider == Provider::Gemini && !is_last {
            ops.push(Op::Next(slot));
        }
        ops
    }

    /// Puts the name and the id into the first entries.
    fn header(&mut self, ops: &mut Vec<Op>, id: Option<&String>) {
        let Wire { provider, is_body, flavor } = self.wire;
        let name = self.pick(&NAMES);
        let is_chat = provider == Provider::OpenAiChat && !is_body;
        let has_pieces = is_chat && matches!(flavor, Flavor::Indexed | Flavor::Headers) && self.once_in(6);
        let names = if has_pieces { self.pick(&PIECES) } else { &[name] };
        let repeats = self.once_in(2);
        let has_ids = matches!(flavor, Flavor::Ids { .. });
        // With its id, a call may be named in each entry.
        let repeats_name = repeats && id.is_some() && is_chat && !has_pieces && (has_ids || self.once_in(2));
        let Op::Entry(first) = &ops[0] else { unreachable!("an entry") };
        let slot = first.slot;
        // The pieces of a name come before the arguments.
        for _ in 1..names.len() {
            let entry = self.entry(slot, Kind::Fragment, Vec::new());
            ops.insert(0, Op::Entry(entry));
        }
        for (at, op) in ops.iter_mut().enumerate() {
            let Op::Entry(entry) = op else { continue };
            entry.name = if repeats_name { Some(name) } else { names.get(at).copied() };
            let has_id = has_ids || repeats_name || at == 0 || (repeats && at < names.len());
            entry.id = id.cloned().filter(|_| has_id);
        }
    }

    /// The arguments at the start of a block: those that follow in fragments, others that these replace, or all.
    fn block_start(&mut self, ops: &mut Vec<Op>, atoms: &[Atom]) {
        let object = atoms.iter().find_map(|atom| match atom {
            Atom::Object(object) | Atom::Encoded(object) => Some(*object),
            Atom::Space(_) | Atom::Placeholder(_) => None,
        });
        let Op::Entry(start) = &mut ops[0] else { unreachable!("an entry") };
        start.kind = Kind::Start;
        if self.once_in(2) {
            return;
        }
        let (slot, name, id) = (start.slot, start.name, start.id.clone());
        let own = Atom::Object(object.filter(|_| !self.once_in(4)).unwrap_or(OBJECTS[0]));
        let start = self.whole(slot, Kind::Start, &[own]);
        ops[0] = Op::Entry(Entry { name, id, ..start });
        if self.once_in(2) {
            ops.truncate(1);
        }
    }

    /// All arguments again at the end of a call, as they were sent, as they were meant, or none.
    fn repeat(&mut self, slot: usize, ops: &mut Vec<Op>, atoms: &[Atom]) {
        let Op::Entry(Entry { name, id, .. }) = &ops[0] else { unreachable!("an entry") };
        let (name, id) = (*name, id.clone());
        for is_item in [false, true] {
            if self.once_in(2) {
                continue;
            }
            let objects = atoms.iter().filter(|atom| matches!(atom, Atom::Object(_) | Atom::Encoded(_)));
            let own: Vec<Atom> = match self.below(8) {
                0..3 => objects.take(1).cloned().collect(),
                3..6 => atoms.to_vec(),
                6 => vec![Atom::Placeholder(self.pick(&PLACEHOLDERS))],
                _ => vec![Atom::Object(self.pick(&OBJECTS))],
            };
            let entry = self.whole(slot, Kind::Whole, &own);
            ops.push(Op::Entry(if is_item { Entry { name, id: id.clone(), ..entry } } else { entry }));
        }
    }

    /// Late fragments after the ends of the items: more arguments, the same or none, and the ends again.
    fn late(&mut self, ops: &mut Vec<Op>, count: usize) {
        let has_ends = matches!(
            self.wire.provider,
            Provider::Anthropic
                | Provider::Bedrock
                | Provider::Cohere
                | Provider::GeminiInteractions
                | Provider::OpenAiResponses
        );
        // Of calls that have arguments and have ended.
        let has_arguments = |slot: usize| {
            let is_own = |piece: &Piece| piece.is_last() && !piece.atom.is_space();
            ops.iter().any(
                |op| matches!(op, Op::Entry(entry) if entry.slot == slot && entry.pieces.iter().any(is_own)),
            )
        };
        let ended: Vec<usize> = (0..count)
            .filter(|slot| {
                ops.iter().any(|op| matches!(op, Op::End(ended) if ended == slot)) && has_arguments(*slot)
            })
            .collect();
        // A late fragment would read the arguments at the start of a block.
        let has_held = ops.iter().any(|op| matches!(op, Op::Entry(entry) if entry.kind == Kind::Start));
        let is_open = has_held && ended.len() < count;
        if self.wire.is_body || !has_ends || ended.is_empty() || is_open {
            return;
        }
        for _ in 0..1 + self.below(3) {
            let slot = self.pick(&ended);
            if self.once_in(3) {
                ops.push(Op::End(slot));
                continue;
            }
            let atoms = match self.below(4) {
                0 => vec![],
                1 => vec![Atom::Placeholder(self.pick(&PLACEHOLDERS))],
                _ => vec![Atom::Object(self.pick(&OBJECTS))],
            };
            let pieces = atoms.into_iter().map(Piece::of).collect();
            let entry = self.entry(slot, Kind::Fragment, pieces);
            ops.push(Op::Entry(entry));
        }
    }

    /// The entries of a response in their order, and its end.
    pub(super) fn response(&mut self) -> (Vec<Op>, End) {
        let Wire { provider, is_body, flavor } = self.wire;
        let end = match self.below(8) {
            0 => End::Limit,
            1 if !is_body => End::Cut,
            _ => End::Clean,
        };
        let count = 1 + self.below(4);
        let mut calls: Vec<Vec<Op>> =
            (0..count).map(|slot| self.call(slot, end, slot + 1 == count)).collect();
        // The start of a block reads the arguments at the start of another, which may be those of its fragments too.
        let is_start =
            |op: &Op| matches!(op, Op::Entry(Entry { kind: Kind::Start, pieces, .. }) if !pieces.is_empty());
        let is_parallel = matches!(flavor, Flavor::Indexed | Flavor::Ids { .. })
            && !is_body
            && !calls.iter().flatten().any(is_start)
            && !matches!(provider, Provider::Gemini | Provider::Ollama);
        let mut ops = Vec::new();
        if is_parallel && self.once_in(2) {
            calls.iter_mut().for_each(|call| call.reverse());
            while calls.iter().any(|call| !call.is_empty()) {
                let at = self.below(count);
                ops.extend(calls[at].pop());
            }
        } else {
            ops = calls.concat();
        }
        if self.once_in(3) {
            self.late(&mut ops, count);
        }
        if end != End::Clean && !is_body && self.once_in(2) {
            ops.truncate(1 + self.below(ops.len()));
            ops.pop_if(|op| matches!(op, Op::Next(_)));
            // Such an entry is an item.
            if let (
                Provider::Gemini | Provider::Ollama,
                Some(Op::Entry(Entry { kind: Kind::Whole, slot, .. })),
            ) = (provider, ops.last())
            {
                ops.push(Op::End(*slot));
            }
        }
        (ops, end)
    }
}
