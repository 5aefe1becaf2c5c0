//! The members of a received body that the request does not have: the difference between the body and what is written for
//! the same provider. Whatever a format gains is found without a list of its members.

mod pairs;

use serde_json::Value as Json;
use tokenline_core::json::{Array, Object, Value, View};

use super::read::{Read, Reading};
use super::{InvalidRequest, equivalents};
use crate::Provider;
use pairs::{is_blank, is_text, pairs, says_nothing, text_of};

/// Members of one object that the request does not have. More are an attack: each is searched for when they are written.
const MAX_OWN_MEMBERS: usize = 1000;

/// Members with JSON that is kept byte for byte.
const VERBATIM: [&str; 4] = ["parameters", "input_schema", "schema", "input"];

/// Members of messages that are changed if the provider refuses them.
const ADAPTED: [&str; 5] = ["id", "call_id", "tool_call_id", "tool_use_id", "name"];

/// Members that the readers read, although they may be written in another way.
const UNDERSTOOD: [&str; 9] =
    ["type", "role", "strict", "arguments", "parameters", "input_schema", "schema", "file_data", "text"];

/// The members that only one provider understands.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnMembers {
    /// Their places in the body that is written for this provider, and their values.
    pub(super) placed: Vec<(String, Json)>,
    /// Pointers to those without a place.
    pub(super) unplaced: Vec<String>,
    /// Pointers to members that other providers do not receive.
    pub(super) foreign: Vec<String>,
}

/// Where members belong in the written body.
#[derive(Clone, Debug)]
enum Target {
    At(String),
    /// In a value that was placed whole.
    Carried,
    Nowhere,
}

impl Target {
    fn child(&self, key: &str) -> Self {
        match self {
            Self::At(place) => Self::At(child(place, key)),
            Self::Carried => Self::Carried,
            Self::Nowhere => Self::Nowhere,
        }
    }
}

/// The pointer to a member.
fn child(pointer: &str, key: &str) -> String {
    if key.contains(['~', '/']) {
        return format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
    }
    format!("{pointer}/{key}")
}

/// The keys of a pointer.
pub(super) fn keys(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}

/// The name in a pointer to a member of the body itself, unless it has escapes.
pub(super) fn name_of_top(pointer: &str) -> Option<&str> {
    pointer.strip_prefix('/').filter(|name| !name.contains(['/', '~']))
}

pub(super) struct Comparison<'r> {
    reading: &'r Reading,
    provider: Provider,
    own: OwnMembers,
}

impl<'r> Comparison<'r> {
    pub(super) fn new(reading: &'r Reading, provider: Provider) -> Self {
        let (placed, foreign) = (reading.placed.clone(), reading.foreign.clone());
        Self { reading, provider, own: OwnMembers { placed, unplaced: Vec::new(), foreign } }
    }

    pub(super) fn of(mut self, received: Value<'_>, written: Value<'_>) -> Read<OwnMembers> {
        self.object(received, written, "", &Target::At(String::new()))?;
        Ok(self.own)
    }

    fn object(&mut self, received: Value<'_>, written: Value<'_>, at: &str, to: &Target) -> Read<()> {
        let Some(members) = received.as_object() else { return Ok(()) };
        check(members, at)?;
        let mut count = 0;
        for (name, value) in members {
            let pointer = child(at, name);
            if self.reading.replaced.contains(&pointer) {
                continue;
            }
            let target = to.child(name);
            match written.get(name) {
                Some(written) => self.member(name, (value, written), &pointer, &target)?,
                None => {
                    count += 1;
                    self.own(value, &pointer, &target);
                }
            }
            if count > MAX_OWN_MEMBERS {
                return Err(too_many(at));
            }
        }
        Ok(())
    }

    fn member(
        &mut self,
        name: &str,
        (received, written): (Value<'_>, Value<'_>),
        at: &str,
        to: &Target,
    ) -> Read<()> {
        if received.raw() == written.raw() {
            return Ok(());
        }
        let is_object = received.as_object().is_some();
        if is_object && VERBATIM.contains(&name) {
            if received.to_value().ok() != written.to_value().ok() {
                self.place(received, to);
            }
            return Ok(());
        }
        match (received.view(), written.view()) {
            (View::Object(_), View::Object(_)) => self.object(received, written, at, to),
            (View::Array(messages), View::Array(turns))
                if at == "/messages" && self.provider == Provider::Anthropic =>
            {
                self.turns(messages, turns)
            }
            (View::Array(_), View::Array(_)) => self.elements(received, written, at, to),
            (View::Array(parts), View::String(text)) => self.parts(received, parts, &text, at, to),
            (View::String(text), View::Array(list)) => {
                let only = list.iter().next().filter(|_| list.len() == 1);
                if only.and_then(text_of).as_deref() != Some(&*text) {
                    self.place(received, to);
                }
                Ok(())
            }
            (View::String(_), View::String(_)) if ADAPTED.contains(&name) && is_in_message(at) => Ok(()),
            (View::String(one), View::String(other)) if one.trim() == other.trim() => Ok(()),
            (View::Number(one), View::Number(other)) if one.as_f64() == other.as_f64() => Ok(()),
            _ => {
                self.own(received, at, to);
                Ok(())
            }
        }
    }

    /// Elements of an array. One without a counterpart is kept by writing the complete array as received, but the messages
    /// themselves remain those of the request.
    fn elements(&mut self, received: Value<'_>, written: Value<'_>, at: &str, to: &Target) -> Read<()> {
        let (Some(ours), Some(theirs)) = (received.as_array(), written.as_array()) else { return Ok(()) };
        let is_replaced = |index: usize| self.reading.replaced.contains(&format!("{at}/{index}"));
        let pairs = pairs(ours, theirs, is_replaced);
        let is_lost = |(_, value, pair): &&(usize, Value<'_>, Option<_>)| pair.is_none() && !is_blank(*value);
        let mut to = to.clone();
        if pairs.iter().any(|pair| is_lost(&pair)) {
            let may_replace = !matches!(at, "/messages" | "/input") && !has_adapted(&pairs);
            to = if may_replace { self.place(received, &to) } else { to };
        }
        for (index, value, pair) in pairs {
            let pointer = format!("{at}/{index}");
            match pair {
                Some((place, written)) => {
                    self.element(value, written, &pointer, &to.child(&place.to_string()))?;
                }
                None if is_blank(value) => {}
                None => {
                    let is_carried = matches!(to, Target::Carried);
                    self.own(value, &pointer, if is_carried { &to } else { &Target::Nowhere });
                }
            }
        }
        Ok(())
    }

    fn element(&mut self, received: Value<'_>, written: Value<'_>, at: &str, to: &Target) -> Read<()> {
        if received.raw() == written.raw() { Ok(()) } else { self.object(received, written, at, to) }
    }

    /// Parts whose texts are written as one.
    fn parts(
        &mut self,
        received: Value<'_>,
        parts: Array<'_>,
        text: &str,
        at: &str,
        to: &Target,
    ) -> Read<()> {
        let only = parts.iter().next().filter(|_| parts.len() == 1);
        let is_same = only.and_then(text_of).is_some_and(|only| only == text);
        let to = if is_same { to.clone() } else { self.place(received, to) };
        for (index, part) in parts.iter().enumerate() {
            let (pointer, target) = (format!("{at}/{index}"), to.child(&index.to_string()));
            match part.as_object().filter(|_| is_text(part)) {
                Some(members) => self.part_members(members, &pointer, &target)?,
                None => self.own(part, &pointer, &target),
            }
        }
        Ok(())
    }

    /// The members of a text part beside its text.
    fn part_members(&mut self, members: Object<'_>, at: &str, to: &Target) -> Read<()> {
        check(members, at)?;
        if members.len() > MAX_OWN_MEMBERS {
            return Err(too_many(at));
        }
        for (name, value) in members.iter().filter(|(name, _)| !matches!(*name, "type" | "text" | "refusal"))
        {
            self.own(value, &child(at, name), &to.child(name));
        }
        Ok(())
    }

    /// Anthropic's messages, of which consecutive ones are merged.
    fn turns(&mut self, messages: Array<'_>, turns: Array<'_>) -> Read<()> {
        let replaced = &self.reading.replaced;
        let messages = messages.iter().enumerate();
        let messages: Vec<_> =
            messages.filter(|(index, _)| !replaced.contains(&format!("/messages/{index}"))).collect();
        let role = |message: Value<'_>| message.get("role").map(Value::raw).unwrap_or_default().to_owned();
        let is_same = messages.len() == turns.len()
            && messages.iter().zip(turns).all(|((_, message), turn)| role(*message) == role(turn));
        if !is_same {
            return self.blocks(&messages, turns);
        }
        for (place, ((index, message), turn)) in messages.into_iter().zip(turns).enumerate() {
            let target = Target::At(format!("/messages/{place}"));
            self.element(message, turn, &format!("/messages/{index}"), &target)?;
        }
        Ok(())
    }

    /// The blocks of messages that are not turns one by one.
    fn blocks(&mut self, messages: &[(usize, Value<'_>)], turns: Array<'_>) -> Read<()> {
        let mut written = pairs::Written::of(turns);
        for (index, message) in messages {
            let at = format!("/messages/{index}");
            let content =
                message.get("content").filter(|_| !self.reading.replaced.contains(&child(&at, "content")));
            let role = message.get("role").map(Value::raw).unwrap_or_default();
            let blocks = content.and_then(Value::as_array).into_iter().flatten().enumerate();
            let mut first = None;
            if let Some(text) = content.filter(|content| content.as_str().is_some()) {
                first = written.next(role, text).map(|(place, _)| place);
            }
            for (number, block) in blocks {
                let pointer = format!("{at}/content/{number}");
                match written.next(role, block) {
                    Some((place, written)) => {
                        self.element(block, written, &pointer, &Target::At(place.pointer()))?;
                        first = first.or(Some(place));
                    }
                    None if is_blank(block) || self.reading.replaced.contains(&pointer) => {}
                    None => self.own(block, &pointer, &Target::Nowhere),
                }
            }
            let target = match first {
                Some(place) if place.block == 0 => Target::At(format!("/messages/{}", place.turn)),
                _ => Target::Nowhere,
            };
            let members = message.as_object().into_iter().flatten();
            for (name, value) in members.filter(|(name, _)| !matches!(*name, "role" | "content")) {
                self.own(value, &child(&at, name), &target.child(name));
            }
        }
        Ok(())
    }

    /// A value that the request does not have.
    fn own(&mut self, value: Value<'_>, pointer: &str, to: &Target) {
        if matches!(self.place(value, to), Target::Nowhere) && !says_nothing(value) {
            self.own.unplaced.push(pointer.to_owned());
        }
        self.report(value, pointer);
    }

    /// Reports the members that other providers do not receive.
    fn report(&mut self, value: Value<'_>, pointer: &str) {
        let name = pointer.rsplit('/').next().unwrap_or_default();
        let understood = &self.reading.understood;
        let is_read = UNDERSTOOD.contains(&name) && name_of_top(pointer).is_none();
        if says_nothing(value) || is_read || understood.iter().any(|known| known == pointer) {
            return;
        }
        let is_inside = |known: &str| known.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'));
        let has_known = equivalents::pointers(self.provider).any(is_inside)
            || understood.iter().any(|known| is_inside(known));
        match value.as_object().filter(|_| has_known) {
            Some(members) => {
                for (name, value) in members {
                    self.report(value, &child(pointer, name));
                }
            }
            None => self.own.foreign.push(pointer.to_owned()),
        }
    }

    /// Places a value, and returns the target of its members.
    fn place(&mut self, value: Value<'_>, to: &Target) -> Target {
        match (to, value.to_value()) {
            (Target::At(place), Ok(value)) => {
                self.own.placed.push((place.clone(), value));
                Target::Carried
            }
            (Target::Carried, _) => Target::Carried,
            (Target::At(_) | Target::Nowhere, _) => Target::Nowhere,
        }
    }
}

fn is_in_message(pointer: &str) -> bool {
    pointer.starts_with("/messages/") || pointer.starts_with("/input/")
}

/// Whether an id or a name of these elements is written in another form, which the others refer to.
fn has_adapted(pairs: &[pairs::Pair<'_>]) -> bool {
    let differs = |received: Value<'_>, written: Value<'_>, name: &str| {
        let both = received.get(name).zip(written.get(name));
        both.is_some_and(|(one, other)| one.as_str() != other.as_str())
    };
    pairs.iter().any(|(_, received, pair)| {
        pair.is_some_and(|(_, written)| ADAPTED.iter().any(|name| differs(*received, written, name)))
    })
}

/// An object in which a name stands for two values has no single meaning.
fn check(members: Object<'_>, at: &str) -> Read<()> {
    if members.has_repeated_name() {
        return Err(InvalidRequest::new(at, "must not name a member twice"));
    }
    Ok(())
}

fn too_many(at: &str) -> InvalidRequest {
    InvalidRequest::new(at, format!("has more than {MAX_OWN_MEMBERS} unknown members"))
}
