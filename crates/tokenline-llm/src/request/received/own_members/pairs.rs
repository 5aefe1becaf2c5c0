//! Elements of received arrays, and their counterparts in written ones. Writers omit and merge elements, but keep their
//! order.

use std::borrow::Cow;

use tokenline_core::json::{Array, Value};

/// An element with its index, and its counterpart with that one's index.
pub(super) type Pair<'v> = (usize, Value<'v>, Option<(usize, Value<'v>)>);

/// The written elements that a search skips. Limits the time for an element that was omitted.
const MAX_SKIPPED: usize = 16;

pub(super) fn pairs<'v>(
    received: Array<'v>,
    written: Array<'v>,
    is_replaced: impl Fn(usize) -> bool,
) -> Vec<Pair<'v>> {
    let written: Vec<_> = written.iter().collect();
    let mut next = 0;
    let received = received.iter().enumerate().filter(|(index, _)| !is_replaced(*index));
    let pairs = received.map(|(index, value)| {
        let place = search(value, &written, &mut next, |written| Some(*written));
        (index, value, place.map(|place| (place, written[place])))
    });
    pairs.collect()
}

/// The place of the counterpart, from `next` on. An element with the same id comes first, even if it has become another
/// type. Ids may be adapted, so one with another id is the counterpart if there is no such element.
fn search<'v, T>(
    value: Value<'_>,
    written: &[T],
    next: &mut usize,
    candidate: impl Fn(&T) -> Option<Value<'v>>,
) -> Option<usize> {
    let window = &written[*next..written.len().min(*next + MAX_SKIPPED)];
    let candidates = || (*next..).zip(window).filter_map(|(place, one)| Some((place, candidate(one)?)));
    let own_id = id(value);
    let same = candidates().find(|(_, written)| own_id.is_some() && id(*written) == own_id);
    let (place, found) =
        same.or_else(|| candidates().find(|(_, written)| is_counterpart(value, *written)))?;
    *next = place + 1;
    is_counterpart(value, found).then_some(place)
}

fn id(value: Value<'_>) -> Option<Cow<'_, str>> {
    ["id", "call_id", "tool_call_id", "tool_use_id"].into_iter().find_map(|name| value.get(name)?.as_str())
}

/// The place of a block in the written turns.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) turn: usize,
    pub(super) block: usize,
}

impl Place {
    pub(super) fn pointer(self) -> String {
        format!("/messages/{}/content/{}", self.turn, self.block)
    }
}

/// The blocks of all turns, of which the first ones have their counterparts.
pub(super) struct Written<'v> {
    blocks: Vec<(Place, &'v str, Value<'v>)>,
    next: usize,
}

impl<'v> Written<'v> {
    pub(super) fn of(turns: Array<'v>) -> Self {
        let blocks = turns.iter().enumerate().flat_map(|(turn, message)| {
            let role = message.get("role").map(Value::raw).unwrap_or_default();
            let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
            blocks.enumerate().map(move |(block, value)| (Place { turn, block }, role, value))
        });
        Self { blocks: blocks.collect(), next: 0 }
    }

    /// The counterpart of the next block.
    pub(super) fn next(&mut self, role: &str, block: Value<'_>) -> Option<(Place, Value<'v>)> {
        let of_role = |(_, of, written): &(Place, &str, Value<'v>)| (*of == role).then_some(*written);
        let (place, _, written) = self.blocks[search(block, &self.blocks, &mut self.next, of_role)?];
        Some((place, written))
    }
}

/// Whether an element was written for another one, as far as type, role and text tell.
fn is_counterpart(received: Value<'_>, written: Value<'_>) -> bool {
    if received.as_object().is_none() || written.as_object().is_none() {
        return received.raw() == written.raw()
            || (received.as_str().is_some() && received.as_str() == text_of(written));
    }
    let is_alike = |name| match (received.get(name), written.get(name)) {
        (Some(one), Some(other)) => one.as_str().zip(other.as_str()).is_none_or(|(one, other)| one == other),
        _ => true,
    };
    kind(received) == kind(written)
        && role(received) == role(written)
        && is_alike("text")
        && is_alike("content")
}

fn kind(value: Value<'_>) -> Cow<'_, str> {
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if kind.ends_with("text") => "text".into(),
        Some(kind) if matches!(&*kind, "custom" | "message") => "".into(),
        kind => kind.unwrap_or_default(),
    }
}

fn role(value: Value<'_>) -> Cow<'_, str> {
    match value.get("role").and_then(Value::as_str) {
        Some(role) if role == "developer" => "system".into(),
        Some(role) if role == "function" => "tool".into(),
        role => role.unwrap_or_default(),
    }
}

/// The text of a string or of a part.
pub(super) fn text_of(value: Value<'_>) -> Option<Cow<'_, str>> {
    value.as_str().or_else(|| value.get(if is_refusal(value) { "refusal" } else { "text" })?.as_str())
}

pub(super) fn is_text(value: Value<'_>) -> bool {
    is_refusal(value) || kind(value) == "text"
}

fn is_refusal(value: Value<'_>) -> bool {
    kind(value) == "refusal"
}

/// Whether a part or a message has nothing to say.
pub(super) fn is_blank(value: Value<'_>) -> bool {
    let is_empty = |(name, value): (&str, Value<'_>)| match name {
        "type" | "role" => true,
        "text" | "content" => {
            says_nothing(value) || value.as_str().is_some_and(|text| text.trim().is_empty())
        }
        _ => says_nothing(value),
    };
    let is_kind = value.get("role").is_some() || is_text(value);
    is_kind && value.as_object().is_some_and(|members| members.into_iter().all(is_empty))
}

/// Whether a value is null or empty.
pub(super) fn says_nothing(value: Value<'_>) -> bool {
    value.is_null()
        || value.as_str().is_some_and(|text| text.is_empty())
        || value.as_array().is_some_and(Array::is_empty)
        || value.as_object().is_some_and(tokenline_core::json::Object::is_empty)
}
