//! The complete response at the end of a stream, which completes what was streamed.

use tokenline_core::json::Value;

use super::{MAX_PARTS, PartKind, Reader};
use crate::delta::Delta;
use crate::providers::api::Sink;

/// An item that has begun.
#[derive(Debug)]
pub(super) struct KnownItem {
    index: u64,
    kind: ItemKind,
    /// The id of a call.
    id: Option<String>,
    name: Option<String>,
    is_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemKind {
    Message,
    Call,
    Other,
}

impl ItemKind {
    fn of(item: Value<'_>) -> Self {
        match item.get("type").and_then(Value::as_str).as_deref() {
            Some("message") => Self::Message,
            Some("function_call" | "custom_tool_call") => Self::Call,
            _ => Self::Other,
        }
    }
}

impl Reader {
    /// Takes note of an item that begins or ends. A message with the index of one that has ended is another one.
    pub(super) fn know(&mut self, index: u64, item: Value<'_>, is_done: bool, sink: &mut Sink<'_>) {
        let kind = ItemKind::of(item);
        let text = |name| item.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (id, name) = (text("call_id"), text("name"));
        let is_same = |known: &&mut KnownItem| {
            known.index == index
                && known.kind == kind
                && (kind != ItemKind::Call
                    || (known.name.as_deref() == name.as_deref()
                        && (is_done || known.id.as_deref() == id.as_deref())))
        };
        let known = self.items.iter_mut().rev().find(is_same);
        match known {
            Some(known) if known.is_done && !is_done && kind == ItemKind::Message => {
                known.is_done = false;
                self.lacks_indexes = true;
                // Its text may still come again.
                self.begun.retain(|part| part.item != index || part.kind == PartKind::Text);
                sink(Delta::BlockStart { choice: 0, block: index });
            }
            Some(known) => known.is_done |= is_done,
            None => {
                if self.items.len() == MAX_PARTS {
                    self.items.pop_front();
                }
                let (id, name) = (id.map(Into::into), name.map(Into::into));
                self.items.push_back(KnownItem { index, kind, id, name, is_done });
            }
        }
    }

    /// Completes the streamed calls and messages. What was not streamed is new.
    pub(super) fn complete(&mut self, items: Vec<Value<'_>>, sink: &mut Sink<'_>) {
        // Unknown members were counted when the item came.
        let sink = &mut |delta: Delta<'_>| {
            if !matches!(delta, Delta::Unknown { .. }) {
                sink(delta);
            }
        };
        let messages = items.iter().filter(|item| ItemKind::of(**item) == ItemKind::Message).count();
        let mut message = 0;
        let mut taken = Vec::new();
        for (position, item) in (0..).zip(items) {
            let index = match ItemKind::of(item) {
                ItemKind::Call => self.index_of_call(position, item, &taken),
                ItemKind::Message => {
                    message += 1;
                    self.index_of_message(position, message - 1, messages)
                }
                ItemKind::Other => None,
            };
            if let Some(index) = index {
                taken.push(index);
                self.item(index, item, true, sink);
            }
        }
    }

    /// The index of a call: of the one with its id, else of an unclaimed one of its tool at its position, else an unused
    /// one. `None` if its input is not known.
    fn index_of_call(&self, position: u64, item: Value<'_>, taken: &[u64]) -> Option<u64> {
        let text = |name| item.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (id, name) = (text("call_id"), text("name"));
        let calls = || self.items.iter().filter(|known| known.kind == ItemKind::Call);
        let is_named = |known: &&KnownItem| known.name.is_none() || known.name.as_deref() == name.as_deref();
        let of_id = id.as_deref().and_then(|id| calls().find(|known| known.id.as_deref() == Some(id)));
        let known = of_id.or_else(|| {
            calls().filter(is_named).find(|known| known.index == position && !taken.contains(&position))
        });
        let is_input = item.get("type").and_then(Value::as_str).as_deref() == Some("custom_tool_call");
        match known {
            Some(known) if is_input && known.is_done && text("input").is_none() => None,
            Some(known) => Some(known.index),
            None => Some(self.unused_index(position, taken)),
        }
    }

    /// The block of a message: the one at its place among the messages, else at its position, else an unused one. `None`
    /// if that is uncertain.
    fn index_of_message(&self, position: u64, place: usize, count: usize) -> Option<u64> {
        let mut known: Vec<u64> = Vec::new();
        let begun = self.begun.iter().filter(|part| matches!(part.kind, PartKind::Text | PartKind::Refusal));
        let items = self.items.iter().filter(|known| known.kind == ItemKind::Message);
        for index in begun.map(|part| part.item).chain(items.map(|known| known.index)) {
            if let Err(at) = known.binary_search(&index) {
                known.insert(at, index);
            }
        }
        match known.len() {
            len if len == count && (count == 1 || !self.lacks_indexes) => Some(known[place]),
            _ if self.lacks_indexes => None,
            _ if known.contains(&position) => Some(position),
            _ => Some(self.unused_index(position, &known)),
        }
    }

    /// The position, or if an item has it as its index, the next unused index.
    fn unused_index(&self, position: u64, taken: &[u64]) -> u64 {
        let has_index = |index: &u64| {
            taken.contains(index)
                || self.items.iter().any(|known| known.index == *index)
                || self.begun.iter().any(|part| part.item == *index)
        };
        (position..).find(|index| !has_index(index)).expect("there are fewer items")
    }
}
