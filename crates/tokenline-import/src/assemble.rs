//! Messages of one conversation to its line.

use std::collections::HashSet;
use std::ops::Range;

use siphasher::sip128::{Hasher128 as _, SipHasher13};
use std::hash::Hasher as _;
use tokenline_core::Limits;

use crate::cell::write_string;
use crate::entry::{self, Entry, Origin};
use crate::plan::Plan;
use crate::report::Totals;
use crate::{ImportCode, SeveralUsers, time};

/// Collects the messages of a conversation, and writes its line.
#[derive(Debug)]
pub(crate) struct Assembler {
    /// The entries of the open conversation, one after another.
    bytes: Vec<u8>,
    entries: Vec<Range<usize>>,
    is_rejected: bool,
    /// The bytes of the messages so far.
    message_bytes: usize,
    /// Hashes of the ids so far, each 16 bytes.
    seen: HashSet<u128>,
    line: Vec<u8>,
    pub(crate) totals: Totals,
}

/// A conversation that is not written.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: ImportCode,
    pub(crate) message: String,
    pub(crate) origin: Origin,
    pub(crate) conversation_id: String,
}

/// A conversation that has ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    /// The hash of its id, if it is grouped and the first with it.
    pub(crate) new_id: Option<u128>,
    /// Its line; `None` if there is no conversation, or one of its rows was rejected.
    pub(crate) line: Result<Option<&'a [u8]>, Box<Refused>>,
}

/// The length of a line that validators read by default.
const MAX_LINE: usize = Limits::DEFAULT.line_bytes;

impl Assembler {
    pub(crate) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            entries: Vec::new(),
            is_rejected: false,
            message_bytes: 0,
            seen: HashSet::new(),
            line: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Whether the entry belongs to the open conversation, or there is none.
    pub(crate) fn continues(&self, entry: &[u8]) -> bool {
        let open = self.entries.first().map(|first| entry::id(&self.bytes[first.clone()]));
        open.is_none_or(|open| open == entry::id(entry))
    }

    /// Adds a message to the open conversation.
    pub(crate) fn push(&mut self, entry: &[u8]) {
        self.is_rejected |= entry::is_rejected(entry);
        self.message_bytes += entry::message_len(entry);
        if (self.is_rejected || self.is_too_long()) && !self.entries.is_empty() {
            // It will not be written: the first entry names it.
            self.entries.truncate(1);
            self.bytes.truncate(self.entries[0].end);
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry);
        self.entries.push(start..self.bytes.len());
    }

    /// Notes the id of a conversation of an earlier run.
    pub(crate) fn note_id(&mut self, id: u128) {
        self.seen.insert(id);
    }

    /// Whether no line can hold the messages; or they have so much metadata that they should not be held.
    fn is_too_long(&self) -> bool {
        self.message_bytes > MAX_LINE || self.bytes.len() > 16 * MAX_LINE
    }

    /// Ends the open conversation. Only if its rows were grouped can it have appeared before.
    pub(crate) fn finish(&mut self, plan: &Plan, is_grouped: bool) -> Ended<'_> {
        if self.entries.is_empty() {
            return Ended { new_id: None, line: Ok(None) };
        }
        let id = hash(Entry::new(&self.bytes[self.entries[0].clone()]).conversation_id().as_bytes());
        let is_new = !is_grouped || self.seen.insert(id);
        let new_id = (is_grouped && is_new).then_some(id);
        Ended { new_id, line: self.line(plan, is_new) }
    }

    fn line(&mut self, plan: &Plan, is_new: bool) -> Result<Option<&[u8]>, Box<Refused>> {
        let written = if self.is_rejected { Ok(None) } else { self.write(plan, is_new).map(Some) };
        self.bytes.clear();
        self.entries.clear();
        (self.is_rejected, self.message_bytes) = (false, 0);
        // The buffers of one long conversation are not kept.
        self.bytes.shrink_to(1 << 20);
        match &written {
            Ok(Some(facts)) => self.totals.add(facts),
            _ => self.totals.rejected_conversation_count += 1,
        }
        written.map(|facts| facts.map(|_| &*self.line))
    }

    fn write(&mut self, plan: &Plan, is_new: bool) -> Result<Facts, Box<Refused>> {
        let is_too_long = self.is_too_long();
        let Self { bytes, entries, line, .. } = self;
        let mut entries: Vec<_> = entries.iter().map(|entry| Entry::new(&bytes[entry.clone()])).collect();
        if !entries.is_sorted_by_key(Entry::key) {
            entries.sort_by(|one, other| one.key().cmp(other.key()));
        }
        let first = entries[0];
        let refused = |code, message: &str| {
            let conversation_id = first.conversation_id();
            Err(Box::new(Refused {
                code,
                message: message.to_owned(),
                origin: first.origin,
                conversation_id,
            }))
        };
        let too_long =
            || refused(ImportCode::TooLong, &format!("the conversation is longer than {MAX_LINE} bytes"));
        if !is_new {
            return refused(ImportCode::RepeatedConversation, "an earlier conversation has this id");
        }
        if is_too_long {
            return too_long();
        }
        let mut users = entries.iter().map(|entry| entry.user).filter(|user| !user.is_empty());
        let user = users.next();
        if plan.several_users == SeveralUsers::Reject && users.any(|other| Some(other) != user) {
            return refused(ImportCode::SeveralUsers, "the rows of the conversation name several users");
        }
        let user = user.map(|user| str::from_utf8(user).expect("it was written as a text"));
        let Some(user) = user.or(plan.default_user_id.as_deref()) else {
            return refused(ImportCode::MissingUserId, "no row of the conversation names its user");
        };
        let earliest = entries.iter().filter_map(Entry::time).min();
        let Some(time) = earliest.or(plan.default_timestamp).and_then(time::format) else {
            return refused(ImportCode::MissingTimestamp, "no row of the conversation has a time");
        };
        line.clear();
        line.extend_from_slice(b"{\"conversation_id\":");
        write_string(&first.conversation_id(), line);
        line.extend_from_slice(b",\"user_id\":");
        write_string(user, line);
        line.extend_from_slice(b",\"timestamp\":\"");
        line.extend_from_slice(time.as_bytes());
        line.extend_from_slice(b"\",\"messages\":[");
        let mut facts = Facts::default();
        for entry in &entries {
            if let Some(message) = entry.message() {
                if facts.messages > 0 {
                    line.push(b',');
                }
                line.extend_from_slice(message);
                facts.messages += 1;
            }
            facts.skipped += u64::from(entry.is_skipped());
        }
        if facts.messages == 0 {
            return refused(ImportCode::NoMessages, "no message of the conversation has a text");
        }
        line.extend_from_slice(b"],\"metadata\":{");
        let mut is_first = true;
        for (at_member, name) in plan.metadata_names.iter().enumerate() {
            let mut values = entries.iter().filter_map(|entry| entry.metadata().nth(at_member));
            if let Some(value) = values.find(|value| !value.is_empty()) {
                if !is_first {
                    line.push(b',');
                }
                is_first = false;
                line.extend_from_slice(name.as_bytes());
                line.extend_from_slice(value);
            }
        }
        line.extend_from_slice(b"}}");
        if line.len() > MAX_LINE {
            return too_long();
        }
        line.push(b'\n');
        Ok(facts)
    }
}

/// Counts of a written conversation.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) messages: u64,
    pub(crate) skipped: u64,
}

fn hash(id: &[u8]) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write(id);
    hasher.finish128().as_u128()
}
