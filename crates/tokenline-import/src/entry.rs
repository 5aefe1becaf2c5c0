//! A message while it is sorted: bytes whose order is that of the output.
//!
//! ```text
//! length of the id, of the key: u32 each
//! key:  id, order, tie (zero bytes escaped, two zero bytes at the end), number of the row
//! facts: flags, source, place, time, user, message, metadata
//! ```

use std::cmp::Ordering;

/// The place of a message in its conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderKey {
    /// That of the input.
    Input,
    /// In units of [`OrderKey::UNIT`].
    Number(i128),
    /// Nanoseconds since 1970.
    Time(i128),
    Text(String),
}

impl OrderKey {
    /// Numbers are compared with nine digits after the point.
    pub(crate) const UNIT: i128 = 1_000_000_000;

    pub(crate) fn number(number: i128) -> Self {
        Self::Number(number * Self::UNIT)
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Input => out.push(0),
            Self::Number(number) => {
                out.push(1);
                out.extend_from_slice(&ordered(*number));
            }
            Self::Time(time) => {
                out.push(2);
                out.extend_from_slice(&ordered(*time));
            }
            Self::Text(text) => {
                out.push(3);
                write_escaped(text.as_bytes(), out);
            }
        }
    }
}

/// Bytes in the order of the numbers.
fn ordered(number: i128) -> [u8; 16] {
    (number.cast_unsigned() ^ 1 << 127).to_be_bytes()
}

/// Bytes in the order of the texts, none of which is the start of another.
fn write_escaped(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn unescaped(escaped: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(escaped.len());
    let mut bytes = escaped[..escaped.len() - 2].iter();
    while let Some(byte) = bytes.next() {
        text.push(*byte);
        if *byte == 0 {
            bytes.next();
        }
    }
    text
}

const IS_REJECTED: u8 = 1;
const HAS_MESSAGE: u8 = 2;
const HAS_TIME: u8 = 4;
const IS_SKIPPED: u8 = 8;

const HEADER: usize = 8;

/// Writes entries, one after another, into one buffer.
#[derive(Debug, Default)]
pub(crate) struct EntryWriter {
    bytes: Vec<u8>,
    flags: u8,
    time: i128,
    user: String,
    message: Vec<u8>,
    /// The length and the JSON of each member.
    metadata: Vec<u8>,
}

/// Where a row was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The number of the source.
    pub(crate) source: u32,
    pub(crate) row: u64,
    pub(crate) line: u64,
}

impl EntryWriter {
    /// Begins an entry.
    pub(crate) fn begin(&mut self, conversation_id: &str) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&[0; HEADER]);
        write_escaped(conversation_id.as_bytes(), &mut self.bytes);
        let id_len = (self.bytes.len() - HEADER) as u32;
        self.bytes[..4].copy_from_slice(&id_len.to_le_bytes());
        self.flags = 0;
        self.time = 0;
        self.user.clear();
        self.message.clear();
        self.metadata.clear();
    }

    /// Begins another message of the same row.
    pub(crate) fn begin_next(&mut self) {
        let id_len = u32::from_le_bytes(self.bytes[..4].try_into().expect("4 bytes")) as usize;
        self.bytes.truncate(HEADER + id_len);
        self.flags &= HAS_TIME;
        self.message.clear();
        // It stands in the first entry.
        self.metadata.clear();
    }

    pub(crate) fn order(&mut self, order: &OrderKey, tie: &str) {
        order.write(&mut self.bytes);
        write_escaped(tie.as_bytes(), &mut self.bytes);
    }

    pub(crate) fn user(&mut self, user: &str) {
        self.user.clear();
        self.user.push_str(user);
    }

    pub(crate) fn time(&mut self, time: Option<i128>) {
        if let Some(time) = time {
            self.flags |= HAS_TIME;
            self.time = time;
        }
    }

    /// Takes the message as JSON.
    pub(crate) fn message(&mut self) -> &mut Vec<u8> {
        self.flags |= HAS_MESSAGE;
        &mut self.message
    }

    pub(crate) fn skip_message(&mut self) {
        self.flags = self.flags & !HAS_MESSAGE | IS_SKIPPED;
        self.message.clear();
    }

    /// Takes the next member of the metadata as JSON; nothing if there is no value.
    pub(crate) fn metadata(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.metadata.len();
        self.metadata.extend_from_slice(&[0; 4]);
        write(&mut self.metadata);
        let len = (self.metadata.len() - start - 4) as u32;
        self.metadata[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }

    /// Makes it the entry of a rejected row, which rejects its conversation.
    pub(crate) fn reject(&mut self) {
        self.begin_next();
        self.flags = IS_REJECTED;
        self.user.clear();
        self.metadata.clear();
    }

    /// Ends the entry. `number` is that of the row, in the order of the input.
    pub(crate) fn end(&mut self, number: u64, origin: Origin) -> &[u8] {
        let Self { bytes, flags, time, user, message, metadata } = self;
        bytes.extend_from_slice(&number.to_be_bytes());
        let key_len = (bytes.len() - HEADER) as u32;
        bytes[4..HEADER].copy_from_slice(&key_len.to_le_bytes());
        bytes.push(*flags);
        bytes.extend_from_slice(&origin.source.to_le_bytes());
        bytes.extend_from_slice(&origin.row.to_le_bytes());
        bytes.extend_from_slice(&origin.line.to_le_bytes());
        bytes.extend_from_slice(&time.to_le_bytes());
        bytes.extend_from_slice(&(user.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
        bytes.extend_from_slice(user.as_bytes());
        bytes.extend_from_slice(message);
        bytes.extend_from_slice(metadata);
        bytes
    }

    /// The entry that was ended last.
    pub(crate) fn last(&self) -> &[u8] {
        &self.bytes
    }
}

/// The parts of an entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    id: &'a [u8],
    key: &'a [u8],
    flags: u8,
    pub(crate) origin: Origin,
    time: i128,
    pub(crate) user: &'a [u8],
    message: &'a [u8],
    metadata: &'a [u8],
}

impl<'a> Entry<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut rest = bytes;
        let id_len = u32::from_le_bytes(take(&mut rest)) as usize;
        let key_len = u32::from_le_bytes(take(&mut rest)) as usize;
        let (key, mut rest) = rest.split_at(key_len);
        let [flags] = take(&mut rest);
        let origin = Origin {
            source: u32::from_le_bytes(take(&mut rest)),
            row: u64::from_le_bytes(take(&mut rest)),
            line: u64::from_le_bytes(take(&mut rest)),
        };
        let time = i128::from_le_bytes(take(&mut rest));
        let user_len = u32::from_le_bytes(take(&mut rest)) as usize;
        let message_len = u32::from_le_bytes(take(&mut rest)) as usize;
        let (user, rest) = rest.split_at(user_len);
        let (message, metadata) = rest.split_at(message_len);
        Self { id: &key[..id_len], key, flags, origin, time, user, message, metadata }
    }

    pub(crate) fn conversation_id(&self) -> String {
        String::from_utf8(unescaped(self.id)).expect("it was written as a text")
    }

    pub(crate) fn key(&self) -> &'a [u8] {
        self.key
    }

    /// Whether the message was left out because it has no text.
    pub(crate) fn is_skipped(&self) -> bool {
        self.flags & IS_SKIPPED != 0
    }

    pub(crate) fn message(&self) -> Option<&'a [u8]> {
        (self.flags & HAS_MESSAGE != 0).then_some(self.message)
    }

    pub(crate) fn time(&self) -> Option<i128> {
        (self.flags & HAS_TIME != 0).then_some(self.time)
    }

    /// The members of the metadata as JSON; empty ones have no value.
    pub(crate) fn metadata(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.metadata;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let len = u32::from_le_bytes(take(&mut rest)) as usize;
            let (value, after) = rest.split_at(len);
            rest = after;
            Some(value)
        })
    }
}

/// The id of an entry's conversation, as it is compared.
pub(crate) fn id(mut entry: &[u8]) -> &[u8] {
    let id_len = u32::from_le_bytes(take(&mut entry)) as usize;
    &entry[4..4 + id_len]
}

/// Whether an entry is that of a rejected row.
pub(crate) fn is_rejected(entry: &[u8]) -> bool {
    let key_len = u32::from_le_bytes(take(&mut &entry[4..])) as usize;
    entry[HEADER + key_len] & IS_REJECTED != 0
}

/// Whether bytes have the parts of an entry.
pub(crate) fn is_complete(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let lengths = || {
        let (id_len, key_len) = (number(0)?, number(4)?);
        let facts = HEADER.checked_add(key_len)?;
        // Flags, source, row, line and time.
        let user_at = facts.checked_add(1 + 4 + 8 + 8 + 16)?;
        let (user_len, message_len) = (number(user_at)?, number(user_at.checked_add(4)?)?);
        let end = user_at.checked_add(8)?.checked_add(user_len)?.checked_add(message_len)?;
        let user = bytes.get(user_at + 8..user_at + 8 + user_len)?;
        let id = bytes.get(HEADER..HEADER.checked_add(id_len)?)?;
        let is_text = std::str::from_utf8(user).is_ok() && id.ends_with(&[0, 0]) && id_len <= key_len;
        Some(is_text && end <= bytes.len())
    };
    lengths() == Some(true)
}

/// The length of an entry's message.
pub(crate) fn message_len(entry: &[u8]) -> usize {
    Entry::new(entry).message.len()
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (taken, after) = rest.split_first_chunk().expect("entries are complete");
    *rest = after;
    *taken
}

/// Compares entries by their keys.
pub(crate) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    // The number of the row is unique, so that the comparison ends within the keys.
    one[HEADER..].cmp(&other[HEADER..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_by_id_and_order() {
        let orders = [
            OrderKey::Input,
            OrderKey::number(-5),
            OrderKey::number(0),
            OrderKey::Number(1),
            OrderKey::number(7),
            OrderKey::Time(-1),
            OrderKey::Time(1),
            OrderKey::Text(String::new()),
            OrderKey::Text("a".to_owned()),
            OrderKey::Text("a\0".to_owned()),
            OrderKey::Text("ab".to_owned()),
        ];
        let mut writer = EntryWriter::default();
        let mut entries = Vec::new();
        for id in ["", "\0", "\0\0", "a", "a\0b", "ab", "é"] {
            for order in &orders {
                for number in [1, 300] {
                    writer.begin(id);
                    writer.order(order, "");
                    entries.push(writer.end(number, Origin::default()).to_vec());
                    assert_eq!(Entry::new(&entries[entries.len() - 1]).conversation_id(), id);
                }
            }
        }
        assert!(entries.is_sorted_by(|one, other| compare(one, other).is_lt()));
    }

    #[test]
    fn an_entry_keeps_its_facts() {
        let mut writer = EntryWriter::default();
        writer.begin("c\u{0}1");
        writer.user("u");
        writer.time(Some(-7));
        writer.metadata(|out| out.extend_from_slice(b"1"));
        writer.metadata(|_| {});
        writer.order(&OrderKey::Input, "tie");
        writer.message().extend_from_slice(b"{}");
        let origin = Origin { source: 2, row: 3, line: 4 };
        let bytes = writer.end(9, origin).to_vec();
        let entry = Entry::new(&bytes);
        assert_eq!((entry.origin, entry.user, entry.time()), (origin, &b"u"[..], Some(-7)));
        assert_eq!(
            (entry.message(), is_rejected(&bytes), entry.is_skipped()),
            (Some(&b"{}"[..]), false, false)
        );
        assert_eq!(entry.metadata().collect::<Vec<_>>(), [&b"1"[..], b""]);
        writer.reject();
        let bytes = writer.end(9, origin).to_vec();
        let entry = Entry::new(&bytes);
        assert_eq!(
            (entry.conversation_id().as_str(), is_rejected(&bytes), entry.time()),
            ("c\u{0}1", true, None)
        );
    }
}
