//! Applies a list of wire events in order: the arguments of each call and the text of each block, without the
//! rules that decide when something is complete.

use std::collections::BTreeMap;

use serde_json::{Deserializer, Value};
use tokenline_core::{CompletedBy, Event as TextEvent, LentEvent, Options, RecordDecoder};
use tokenline_llm::Provider;

use super::events::{Content, Event, block_of};
use super::{Entry, Flavor, Kind, Wire};

/// Identifies the entries of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Slot(usize),
    Id(String),
    /// A call without an index or an id: the number of its header.
    Header(usize),
    /// Arguments before any header.
    Orphans,
}

/// The arguments that the entries of a key spell.
#[derive(Clone, Debug, Default)]
pub(super) struct Spelled {
    pub(super) ids: Vec<String>,
    /// The complete objects with members, and whether each must be delivered or reported.
    pub(super) objects: Vec<(Value, bool)>,
    /// How many came before the response began anew.
    begun_at: usize,
    pub(super) has_placeholder: bool,
    pub(super) has_end: bool,
    /// The names that came, or the pieces of one.
    names: Vec<&'static str>,
    /// A call that begins after the end of the response has taken its place.
    is_left: bool,
    /// The arguments at the start of a block, which complete those that have only begun.
    held: String,
    /// The text of a value that is not complete.
    open: String,
    /// A `null` lacks a part, which complete arguments settle.
    is_doubtful: bool,
    /// Something contradicts what came before, or is not an object.
    is_contradicted: bool,
}

impl Spelled {
    /// Whether something is left that no call can deliver.
    pub(super) fn has_fault(&self) -> bool {
        let open = self.open.trim();
        self.is_contradicted || self.is_doubtful || !(open.is_empty() || self.held.trim().starts_with(open))
    }

    pub(super) fn is_blank(&self) -> bool {
        self.objects.is_empty() && !self.has_placeholder && !self.has_fault()
    }

    /// Whether the entry has another name, or a piece of one.
    fn renames(&self, entry: &Entry) -> bool {
        entry.name.is_some_and(|name| self.names[..] != [name])
    }

    /// Nothing more replaces the arguments at the start of the block.
    fn settle(&mut self) {
        let is_placeholder = self.open.chars().all(|char| " \n{}\"nul".contains(char));
        if is_placeholder && !self.has_fault() {
            self.open.clear();
        }
    }

    fn feed(&mut self, text: &str) {
        self.open.push_str(text);
        let text = std::mem::take(&mut self.open);
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            // Without white space after it.
            if let Some(after) = rest.strip_prefix("null") {
                self.has_placeholder = true;
                rest = after.trim_start();
                continue;
            }
            let mut values = Deserializer::from_str(rest).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => self.add(value),
                Some(Err(error)) if error.is_eof() => break,
                Some(Err(_)) | None => {
                    let is_cut_null = rest.starts_with('n');
                    self.is_doubtful |= is_cut_null;
                    self.is_contradicted |= !is_cut_null;
                    return;
                }
            }
            rest = rest[values.byte_offset()..].trim_start();
        }
        rest.clone_into(&mut self.open);
    }

    fn add(&mut self, value: Value) {
        match value {
            Value::Object(members) if members.is_empty() => self.has_placeholder = true,
            Value::Null => self.has_placeholder = true,
            Value::Object(_) => {
                self.objects.push((value, true));
            }
            Value::String(text) if text.trim().is_empty() => self.has_placeholder = true,
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(value @ (Value::Object(_) | Value::Null)) => self.add(value),
                _ => self.is_contradicted = true,
            },
            _ => self.is_contradicted = true,
        }
    }

    /// All of the arguments, whatever came before.
    fn whole(&mut self, text: &str) {
        let open = std::mem::take(&mut self.open);
        let mut whole = Self::default();
        whole.feed(text);
        let last = self.objects[self.begun_at..].last();
        let is_known = |(object, _): &(Value, bool)| last.is_some_and(|(last, _)| last == object);
        let has_arguments = last.is_some() || self.has_placeholder;
        if has_arguments && !whole.has_fault() && whole.objects.iter().all(is_known) {
            // It settles what came again in part.
            self.has_placeholder |= whole.has_placeholder;
            self.is_doubtful = false;
            return;
        }
        self.is_contradicted |= !text.trim().starts_with(open.trim());
        self.feed(text);
    }
}

/// The text of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// The text, split where the response began anew, and at each start of the block.
    parts: Vec<(Start, String)>,
    /// A complete text differs from the pieces, or a piece continues a record that the response's end confirmed.
    pub(super) is_contradicted: bool,
    /// A text after the end of the response is another one.
    is_left: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Response,
    Block,
}

impl Written {
    fn latest(&mut self) -> &mut String {
        if self.parts.is_empty() {
            self.begin(Start::Response);
        }
        &mut self.parts.last_mut().expect("it has begun").1
    }

    /// Text after the end of the response.
    fn after_end(&mut self, text: &str) {
        let first = text.trim_start_matches([' ', '\t', ',']).chars().next();
        if first.is_some() && !std::mem::replace(&mut self.is_left, true) {
            self.is_contradicted |= goes_on(self.latest(), text);
        }
    }

    fn begin(&mut self, start: Start) {
        self.is_left = false;
        self.parts.push((start, String::new()));
    }

    fn whole(&mut self, text: &str) {
        self.latest();
        let first = self.parts.iter().rposition(|(start, _)| *start == Start::Response).unwrap_or_default();
        let new = text.trim();
        // Since the response began, or since the block did.
        for at in [first, self.parts.len() - 1] {
            let known: String = self.parts[at..].iter().map(|(_, text)| &**text).collect();
            let known = known.trim();
            if new.starts_with(known) || known == new {
                if known.len() < new.len() {
                    self.parts.truncate(at + 1);
                    text.clone_into(self.latest());
                }
                return;
            }
        }
        self.is_contradicted = true;
    }

    /// All the text.
    pub(super) fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| &**text).collect()
    }

    /// The records, with the block's starts or without, and whether something is rejected.
    pub(super) fn records(&self, splits: bool) -> (Vec<String>, bool) {
        let mut texts: Vec<String> = Vec::new();
        for (start, text) in &self.parts {
            match texts.last_mut() {
                Some(last) if *start == Start::Block && !splits => last.push_str(text),
                _ => texts.push(text.clone()),
            }
        }
        let (mut all, mut is_rejected) = (Vec::new(), false);
        for text in texts {
            is_rejected |= records_of(&text, &mut all);
        }
        (all, is_rejected)
    }
}

/// The records of a complete text. Returns whether something is rejected.
fn records_of(text: &str, records: &mut Vec<String>) -> bool {
    let mut decoder = RecordDecoder::new(Options::lenient());
    let mut is_rejected = false;
    let mut take = |event: LentEvent<'_>| match event {
        TextEvent::Record(record) => records.push(record.value.raw().to_owned()),
        TextEvent::Rejected(_) => is_rejected = true,
        _ => {}
    };
    let mut at = 0;
    loop {
        let decoded = decoder.decode_str(&text[at..]);
        at += decoded.consumed;
        match decoded.event {
            Some(event) => take(event),
            None => break,
        }
    }
    while let Some(event) = decoder.finish_with(CompletedBy::FinishReason) {
        take(event);
    }
    is_rejected
}

/// The content of a list of events.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) calls: BTreeMap<Key, Spelled>,
    /// By the block of the response's events.
    pub(super) texts: BTreeMap<u64, Written>,
    pub(super) has_finish: bool,
    pub(super) has_terminator: bool,
    /// Since the response began.
    has_stopped: bool,
    has_metadata: bool,
    /// The response has ended, and nothing new is read.
    is_over: bool,
    /// Of the latest entry.
    latest: Option<Key>,
    /// The latest that has begun.
    opened: Option<Key>,
    headers: usize,
}

impl Ledger {
    pub(super) fn of(wire: Wire, events: &[Event]) -> Self {
        let mut ledger = Self::default();
        for (at, event) in events.iter().enumerate() {
            for content in &event.contents {
                ledger.apply(wire, content, &events[at + 1..]);
            }
        }
        ledger
    }

    fn apply(&mut self, wire: Wire, content: &Content, rest: &[Event]) {
        let ends_start = match content {
            Content::Entry(entry) => entry.name.is_some(),
            Content::Text(..) | Content::Whole(..) => false,
            _ => true,
        };
        if ends_start {
            self.calls.values_mut().for_each(Spelled::settle);
        }
        match content {
            Content::Begin => self.begin(),
            Content::Entry(entry) => self.entry(wire, entry, rest),
            Content::End(slot) => {
                if let Some(spelled) = self.calls.get_mut(&Key::Slot(*slot)) {
                    spelled.has_end = true;
                }
            }
            Content::TextBegin(block) if !self.is_over => {
                self.texts.entry(block_of(wire, *block)).or_default().begin(Start::Block);
            }
            Content::TextBegin(block) => {
                self.texts.entry(block_of(wire, *block)).or_default().is_left = true;
            }
            Content::Text(block, text) => {
                let written = self.texts.entry(block_of(wire, *block)).or_default();
                if self.is_over {
                    written.after_end(text);
                } else {
                    written.latest().push_str(text);
                }
            }
            Content::Whole(block, text) => {
                let written = self.texts.entry(block_of(wire, *block)).or_default();
                let before = written.parts.clone();
                written.whole(text);
                if self.is_over {
                    written.parts = before;
                }
            }
            Content::Finish => {
                self.has_finish = true;
                self.has_stopped = true;
                self.is_over |= self.has_metadata;
            }
            Content::Metadata => {
                self.has_metadata = true;
                self.is_over |= self.has_stopped;
            }
            Content::Terminator => (self.has_terminator, self.is_over) = (true, true),
        }
    }

    /// The response begins, or begins anew.
    fn begin(&mut self) {
        for spelled in self.calls.values_mut() {
            spelled.is_left = false;
            spelled.begun_at = spelled.objects.len();
            spelled.is_contradicted |= spelled.has_fault();
            spelled.open.clear();
        }
        for written in self.texts.values_mut() {
            written.begin(Start::Response);
        }
        (self.is_over, self.latest) = (false, None);
        (self.has_stopped, self.has_metadata) = (false, false);
    }

    fn entry(&mut self, wire: Wire, entry: &Entry, rest: &[Event]) {
        let is_blank = entry.name.is_none() && entry.id.is_none() && entry.text().trim().is_empty();
        if is_blank && self.latest.is_none() {
            return;
        }
        let key = self.key(wire, entry);
        // After the end, nothing begins.
        let known = self.calls.get_mut(&key);
        let is_new = known
            .as_ref()
            .is_none_or(|known| known.names.is_empty() || known.is_left || known.renames(entry))
            || (entry.name.is_some() && entry.id.is_none() && entry.kind != Kind::Whole);
        if self.is_over && is_new {
            known.into_iter().for_each(|known| known.is_left = true);
            return;
        }
        let spelled = self.calls.entry(key.clone()).or_default();
        if let Some(name) = entry.name {
            // It begins another call than one that is rejected.
            if spelled.names.is_empty() && spelled.is_contradicted {
                spelled.open.clear();
            }
            if !spelled.names.contains(&name) {
                spelled.names.push(name);
            }
        }
        let is_new =
            |id: &String| !spelled.ids.contains(id) && (entry.name.is_some() || spelled.ids.is_empty());
        spelled.ids.extend(entry.id.clone().filter(is_new));
        if entry.kind != Kind::Start {
            let text = entry.text();
            match entry.kind {
                Kind::Whole => spelled.whole(&text),
                _ => spelled.feed(&text),
            }
            return;
        }
        // Arguments that follow replace those of the header.
        let follows = |content: &Content| match content {
            Content::Entry(other) => {
                let is_own = other.kind == Kind::Fragment && other.slot == entry.slot;
                is_own && other.pieces.iter().any(|piece| !piece.atom.is_space())
            }
            _ => false,
        };
        let is_needed = !rest.iter().flat_map(|event| &event.contents).any(follows);
        let mut start = Spelled::default();
        start.feed(&entry.text());
        spelled.held = entry.text();
        spelled.has_placeholder |= start.has_placeholder;
        spelled.objects.extend(start.objects.into_iter().map(|(object, _)| (object, is_needed)));
    }

    /// Whether a header takes the arguments before it.
    fn takes_orphans(&self) -> bool {
        let is_open = |call: &Spelled| call.names.is_empty() && !call.is_contradicted;
        self.latest == Some(Key::Orphans) && self.calls.get(&Key::Orphans).is_some_and(is_open)
    }

    /// The call that has the id of an entry.
    fn known(&self, entry: &Entry) -> Option<Key> {
        let id = entry.id.as_ref()?;
        let mut known = self.calls.iter().filter(|(_, call)| call.ids.contains(id));
        known.next().map(|(key, _)| key.clone())
    }

    fn key(&mut self, wire: Wire, entry: &Entry) -> Key {
        let header = |ledger: &mut Self| {
            ledger.headers += 1;
            // Arguments before it may be its.
            if ledger.takes_orphans() { Key::Orphans } else { Key::Header(ledger.headers) }
        };
        let latest = self.latest.clone().unwrap_or(Key::Orphans);
        let key = match (wire.provider, wire.flavor) {
            (Provider::Gemini | Provider::Ollama, _) => match (&entry.id, entry.name) {
                (Some(id), Some(_)) => Key::Id(id.clone()),
                (None, Some(_)) => header(self),
                _ => latest,
            },
            // Matched by its id.
            (Provider::GeminiInteractions, _) if entry.kind == Kind::Whole => {
                let id = entry.id.clone();
                let is_known = |id: &String| self.calls.iter().find(|(_, call)| call.ids.contains(id));
                let known = id.as_ref().and_then(is_known).map(|(key, _)| key.clone());
                known.or(id.map(Key::Id)).unwrap_or(Key::Slot(entry.slot))
            }
            (_, Flavor::Indexed) => Key::Slot(entry.slot),
            (_, Flavor::Names { .. }) if entry.name.is_some() => header(self),
            (_, Flavor::Names { .. }) => latest,
            (_, Flavor::Headers) if entry.id.is_some() && self.takes_orphans() => latest,
            (_, Flavor::Headers | Flavor::Ids { has_index: true }) if self.known(entry).is_some() => {
                self.known(entry).expect("it is known")
            }
            // Some servers make up an id for every fragment.
            (_, Flavor::Ids { has_index: true }) if entry.name.is_none() => {
                self.opened.clone().unwrap_or(latest)
            }
            (_, Flavor::Ids { .. } | Flavor::Headers) => match &entry.id {
                Some(id) => Key::Id(id.clone()),
                None => self.opened.clone().unwrap_or(latest),
            },
        };
        self.latest = Some(key.clone());
        if entry.name.is_some() && self.calls.get(&key).is_none_or(|call| call.renames(entry)) {
            self.opened = Some(key.clone());
        }
        key
    }
}

/// Whether a text goes on with the record that ends the text before it.
fn goes_on(before: &str, text: &str) -> bool {
    let mut records = Vec::new();
    let last = before.lines().last().unwrap_or_default();
    let ends_in_record =
        !records_of(last, &mut records) && records.last().is_some_and(|it| last.ends_with(it.as_str()));
    let first = text.trim_start_matches([' ', '\t', ',']).chars().next();
    ends_in_record && !before.ends_with('\n') && first.is_some_and(|first| !"\n\r{[<`".contains(first))
}
