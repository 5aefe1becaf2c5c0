//! Mutations of a response: events that come twice, in another order, late, or not at all.

use tokenline_llm::Provider;

use super::events::{self, Content, Event};
use super::{Atom, Entry, Flavor, Kind, OBJECTS, Piece, Wire};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mutation {
    /// An event comes twice in a row.
    Double,
    /// An event that repeats what is known comes again, anywhere later.
    Repeat,
    /// A delta without content.
    Empty,
    Swap,
    Drop,
    /// An event comes after the finish reason.
    Late,
    /// All events from one on come again.
    Tail,
    /// Delivered content goes on, or comes again and differs, after the finish reason.
    Contradict,
}

pub(super) const MUTATIONS: [Mutation; 8] = [
    Mutation::Double,
    Mutation::Repeat,
    Mutation::Empty,
    Mutation::Swap,
    Mutation::Drop,
    Mutation::Late,
    Mutation::Tail,
    Mutation::Contradict,
];

impl Mutation {
    /// Whether the response says the same.
    pub(super) fn is_harmless(self) -> bool {
        matches!(self, Self::Repeat | Self::Empty)
    }

    /// Mutates the events, if it applies to them.
    pub(super) fn apply(
        self,
        wire: Wire,
        events: &mut Vec<Event>,
        random: &mut impl FnMut(usize) -> usize,
    ) -> bool {
        let finish = events.iter().position(Event::finishes);
        let at = random(events.len());
        match self {
            Self::Double => events.insert(at, events[at].clone()),
            Self::Repeat => {
                let known: Vec<usize> = (0..events.len()).filter(|at| events[*at].is_repeatable).collect();
                if known.is_empty() {
                    return false;
                }
                let at = known[random(known.len())];
                events.insert(at + 1 + random(events.len() - at), events[at].clone());
            }
            Self::Empty => {
                let Some(event) = empty(wire, &events[..at]) else { return false };
                events.insert(at, event);
            }
            Self::Swap => {
                let other = random(events.len());
                events.swap(at, other);
            }
            Self::Drop => drop(events.remove(at)),
            Self::Late => {
                let Some(finish) = finish.filter(|finish| at < *finish) else { return false };
                let event = events.remove(at);
                events.insert(finish + random(events.len() + 1 - finish), event);
            }
            Self::Tail => events.extend_from_within(at..),
            Self::Contradict => {
                let Some(finish) = finish else { return false };
                let known = contradictions(wire, &events[..finish]);
                if known.is_empty() {
                    return false;
                }
                let event = known[random(known.len())].clone();
                events.insert(finish + 1 + random(events.len() - finish), event);
            }
        }
        true
    }
}

/// A delta without content for the text or the call of the latest event.
fn empty(wire: Wire, before: &[Event]) -> Option<Event> {
    before.iter().rev().flat_map(|event| event.contents.iter().rev()).find_map(|content| match content {
        Content::Text(block, _) => Some(events::text(wire, *block, "")),
        Content::Entry(entry) if entry.kind != Kind::Whole && wire.provider != Provider::Gemini => {
            let id = entry.id.clone().filter(|_| matches!(wire.flavor, Flavor::Ids { .. }));
            let (name, kind, pieces) = (None, Kind::Fragment, Vec::new());
            Some(events::entry(wire, Entry { slot: entry.slot, name, id, kind, pieces, is_raw: false }))
        }
        _ => None,
    })
}

/// Events that contradict what these have delivered once the response ends.
fn contradictions(wire: Wire, before: &[Event]) -> Vec<Event> {
    let mut found = Vec::new();
    let contents = || before.iter().flat_map(|event| &event.contents);
    let mut blocks: Vec<u64> = contents()
        .filter_map(|content| match content {
            Content::Text(block, _) => Some(*block),
            _ => None,
        })
        .collect();
    blocks.dedup();
    for block in blocks {
        let texts = contents().filter_map(|content| match content {
            Content::Text(of, text) if events::block_of(wire, *of) == events::block_of(wire, block) => {
                Some(&**text)
            }
            _ => None,
        });
        let text: String = texts.collect();
        if text.lines().last().is_some_and(|line| line.starts_with('{')) && text.ends_with('}') {
            found.extend([",\"limit\":10}", "}"].map(|more| events::text(wire, block, more)));
        }
    }
    // A call is addressed by its index or its id; else the latest one goes on.
    let headers: Vec<&Entry> = contents()
        .filter_map(|content| match content {
            Content::Entry(entry) if entry.name.is_some() => Some(entry),
            _ => None,
        })
        .collect();
    let is_indexed = matches!(wire.flavor, Flavor::Indexed);
    for (at, header) in headers.iter().enumerate() {
        let is_own = |content: &&Content| match content {
            Content::Entry(entry) if is_indexed || entry.id.is_some() => entry.slot == header.slot,
            _ => false,
        };
        let is_latest = at + 1 == headers.len();
        let (provider, flavor) = (wire.provider, wire.flavor);
        let is_whole = matches!(provider, Provider::Gemini | Provider::Ollama);
        let pieces = contents().filter(is_own).flat_map(|content| match content {
            Content::Entry(entry) => &entry.pieces[..],
            _ => &[],
        });
        let own: Vec<&str> = pieces
            .filter_map(|piece| match piece.atom {
                Atom::Object(object) | Atom::Encoded(object) => Some(object),
                _ => None,
            })
            .collect();
        let other = OBJECTS.into_iter().find(|object| !own.contains(object));
        let Some(other) = other.filter(|_| !own.is_empty()) else { continue };
        let (name, id, kind) = match flavor {
            _ if is_whole && header.id.is_some() && header.kind == Kind::Whole => {
                (header.name, header.id.clone(), Kind::Whole)
            }
            _ if is_whole => continue,
            Flavor::Indexed => (None, None, Kind::Fragment),
            Flavor::Ids { .. } | Flavor::Headers => (None, header.id.clone(), Kind::Fragment),
            Flavor::Names { .. } if is_latest => (None, None, Kind::Fragment),
            Flavor::Names { .. } => continue,
        };
        let pieces = vec![Piece::of(Atom::Object(other))];
        found.push(events::entry(wire, Entry { slot: header.slot, name, id, kind, pieces, is_raw: false }));
    }
    found
}
