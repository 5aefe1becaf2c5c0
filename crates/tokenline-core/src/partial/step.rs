//! One delta on its way to the value that it changes.

use std::any::Any;
use std::mem;

use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;

use super::PartialField;
use crate::json::{Change, DeserializeError, Key, Kind, Value, ValueDelta};

/// A delta on its way from the root of a record to the value that it changes.
///
/// Only implementations of [`Partial`](super::Partial) see it; most call only one of its methods. Methods that only
/// the derive macro calls are hidden.
pub struct PartialStep<'s, 'a> {
    delta: ValueDelta<'a>,
    frames: &'s mut Vec<Frame>,
    /// The depth of the value that it has come to.
    depth: usize,
    /// How many tagged enums around that value are at the same depth.
    tags: usize,
    pub(super) has_changed: bool,
}

/// The state of an open container.
#[derive(Default)]
pub(super) struct Frame {
    kind: Option<Kind>,
    /// The member or element that is open. [`IGNORED`] if the type has none there.
    child: u32,
    /// The required fields that are not there yet, a bit each.
    missing: u64,
    /// A partial that is not shown yet: a required field is missing.
    hidden: Option<Box<dyn Any + Send + Sync>>,
    /// The name of a map's open entry.
    name: String,
    /// The variants of the tagged enums that the object is read as, outermost first, each with its tag.
    variants: Vec<(u32, &'static str)>,
}

const IGNORED: u32 = u32::MAX;

/// A map's entry with a longer name is inserted once its value is complete: to look the name up again with every
/// delta would take time proportional to a length that the model chooses.
const MAX_NAME_BYTES: usize = 256;

impl<'s, 'a> PartialStep<'s, 'a> {
    pub(super) fn new(delta: ValueDelta<'a>, frames: &'s mut Vec<Frame>) -> Self {
        if let Change::Open(kind @ (Kind::Object | Kind::Array)) = delta.change {
            if frames.len() <= delta.depth {
                frames.resize_with(delta.depth + 1, Frame::default);
            }
            let frame = &mut frames[delta.depth];
            (frame.kind, frame.child, frame.missing, frame.hidden) = (Some(kind), IGNORED, 0, None);
            frame.variants.clear();
        }
        Self { delta, frames, depth: 0, tags: 0, has_changed: false }
    }

    /// The change to the value itself; `None` if the step is about a value inside it.
    #[inline]
    #[must_use]
    pub fn change(&self) -> Option<Change<'a>> {
        (self.delta.depth == self.depth).then_some(self.delta.change)
    }

    /// Whether the value begins with this step.
    #[inline]
    pub(super) fn begins(&self) -> bool {
        matches!(self.change(), Some(Change::Open(_) | Change::Set(_)))
    }

    /// The value, if this step completes it.
    #[inline]
    #[must_use]
    pub fn value(&self) -> Option<Value<'a>> {
        if self.delta.depth == self.depth { self.delta.value() } else { None }
    }

    /// Reads a type that appears once it is complete. What does not fit the type does not appear.
    pub fn when_complete<T: DeserializeOwned>(&mut self, slot: &mut Option<T>) {
        let Some(value) = self.value() else { return };
        let Some(members) = value.as_object().filter(|_| self.tags > 0) else {
            return self.when_complete_with(slot, T::deserialize);
        };
        // The data of a variant does not contain the tag.
        let members = members.iter().filter(|(name, _)| !self.is_tag(name));
        let members: Vec<_> = members.map(|(name, value)| (name.to_string(), value)).collect();
        let read = |_| T::deserialize(MapDeserializer::<_, DeserializeError>::new(members.into_iter()));
        self.when_complete_with(slot, read);
    }

    /// Like [`when_complete`](Self::when_complete), with a function in place of the type's `Deserialize`.
    pub fn when_complete_with<T, E>(
        &mut self,
        slot: &mut Option<T>,
        read: impl FnOnce(Value<'a>) -> Result<T, E>,
    ) {
        if let Some(value) = self.value() {
            *slot = read(value).ok();
            self.has_changed |= slot.is_some();
        }
    }

    /// Reads a string as far as it has come.
    #[inline]
    pub fn string(&mut self, slot: &mut Option<String>) {
        match (self.change(), &mut *slot) {
            (Some(Change::Append(more)), Some(text)) => text.push_str(more),
            (Some(Change::Open(Kind::String)), _) => *slot = Some(String::new()),
            _ => return,
        }
        self.has_changed = true;
    }

    /// Reads a struct of named fields.
    ///
    /// `index_of` returns the number of the field with this name, and `apply` applies the step to the field with this
    /// number and returns whether the field is there. The fields in `required`, a bit each, have to be there before
    /// the struct is.
    #[doc(hidden)]
    pub fn object<P: Default + Send + Sync + 'static>(
        &mut self,
        slot: &mut Option<P>,
        required: u64,
        index_of: impl FnOnce(&str) -> Option<u32>,
        apply: impl FnOnce(&mut P, u32, &mut Self) -> bool,
    ) {
        if let Some(change) = self.change() {
            if matches!(change, Change::Open(Kind::Object)) {
                if required == 0 {
                    *slot = Some(P::default());
                    self.has_changed = true;
                } else {
                    let frame = &mut self.frames[self.depth];
                    frame.missing = required;
                    frame.hidden = Some(Box::new(P::default()));
                }
            }
            return;
        }
        self.find_child(index_of);
        let child = self.frames[self.depth].child;
        if child == IGNORED {
            return;
        }
        if let Some(partial) = slot {
            self.inside(|step| apply(partial, child, step));
            return;
        }
        let hidden = self.frames[self.depth].hidden.take().map(Box::<dyn Any + Send + Sync>::downcast::<P>);
        let Some(Ok(mut partial)) = hidden else { return };
        let (is_there, has_changed) =
            (self.inside(|step| apply(&mut partial, child, step)), self.has_changed);
        let frame = &mut self.frames[self.depth];
        if is_there {
            frame.missing &= !1_u64.checked_shl(child).unwrap_or(0);
        }
        if frame.missing == 0 {
            *slot = Some(*partial);
        } else {
            frame.hidden = Some(partial);
        }
        self.has_changed = has_changed && slot.is_some();
    }

    /// Applies the step to a field. Returns whether there is anything of it.
    #[doc(hidden)]
    #[inline]
    pub fn field<P, F: PartialField<P>>(
        &mut self,
        field: &mut F,
        apply: impl FnOnce(&mut Option<P>, &mut Self),
    ) -> bool {
        let before = field.take();
        let was_there = before.is_some();
        let mut slot = before.filter(|_| !self.begins());
        apply(&mut slot, self);
        let is_there = slot.is_some();
        let is_complete = matches!(self.change(), Some(Change::Set(_) | Change::Close));
        // A repeated name may take a value away. Where there is a state, it may be all that changes.
        self.has_changed |= (was_there && !is_there) || (F::HAS_STATE && is_complete && is_there);
        field.put(slot, is_complete);
        is_there
    }

    /// Reads a list. `apply` applies the step to an element.
    pub fn list<P>(&mut self, slot: &mut Option<Vec<P>>, apply: impl FnOnce(&mut Option<P>, &mut Self)) {
        // A field that is a list is present and empty even if the value is not a list.
        if let Some(change) = self.change() {
            match change {
                Change::Open(Kind::Array) => {
                    *slot = Some(Vec::new());
                    self.has_changed = true;
                }
                Change::Close if self.value().is_some_and(|value| value.kind() == Kind::Array) => {}
                _ => *slot = None,
            }
            return;
        }
        let (Some(list), Some(Kind::Array)) = (slot.as_mut(), self.frames[self.depth].kind) else {
            *slot = None;
            return;
        };
        let is_pushed = self.frames[self.depth].child != IGNORED && !self.child_begins();
        let mut element = if is_pushed { list.pop() } else { None };
        self.inside(|step| apply(&mut element, step));
        self.frames[self.depth].child = element.as_ref().map_or(IGNORED, |_| 0);
        list.extend(element);
    }

    /// Reads an object as a map. `take` and `insert` move an entry's value out of the map and back.
    pub(super) fn map<M: Default, P: Send + Sync + 'static>(
        &mut self,
        slot: &mut Option<M>,
        entry: impl FnOnce(&mut M, &str, &mut dyn FnMut(&mut Option<P>)),
        apply: impl FnOnce(&mut Option<P>, &mut Self),
    ) {
        if let Some(change) = self.change() {
            if matches!(change, Change::Open(Kind::Object)) {
                *slot = Some(M::default());
                self.has_changed = true;
            }
            return;
        }
        let Some(map) = slot else { return };
        if let (true, Some(Key::Name(name))) = (self.child_begins(), self.delta.key) {
            let is_tag = self.is_tag(name);
            let frame = &mut self.frames[self.depth];
            frame.child = if is_tag { IGNORED } else { 0 };
            frame.hidden = None;
            frame.name.clear();
            frame.name.push_str(name);
        }
        let frame = &mut self.frames[self.depth];
        if frame.child == IGNORED {
            return;
        }
        let name = mem::take(&mut frame.name);
        let mut apply = Some(apply);
        if name.len() <= MAX_NAME_BYTES {
            let begins = self.child_begins();
            entry(map, &name, &mut |value| {
                let was_there = value.is_some();
                if begins {
                    *value = None;
                }
                if let Some(apply) = apply.take() {
                    self.inside(|step| apply(value, step));
                }
                self.has_changed |= was_there && value.is_none();
            });
        } else {
            let has_changed = self.has_changed;
            let hidden =
                self.frames[self.depth].hidden.take().map(Box::<dyn Any + Send + Sync>::downcast::<P>);
            let mut value = hidden.and_then(Result::ok).map(|value| *value);
            if let Some(apply) = apply.take() {
                self.inside(|step| apply(&mut value, step));
            }
            self.has_changed = has_changed;
            if self.delta.depth == self.depth + 1 && self.delta.value().is_some() {
                self.has_changed |= value.is_some();
                entry(map, &name, &mut |entry| *entry = value.take());
            } else {
                self.frames[self.depth].hidden = value.map(|value| Box::new(value) as _);
            }
        }
        self.frames[self.depth].name = name;
    }

    /// Reads an enum that is written as an object with one member, the variant's name, or as that name alone.
    ///
    /// `unit` returns the variant without data of this name, `index_of` the number of one with data, and `apply`
    /// applies the step to the variant with this number.
    #[doc(hidden)]
    pub fn externally_tagged<P>(
        &mut self,
        slot: &mut Option<P>,
        unit: impl FnOnce(&str) -> Option<P>,
        index_of: impl FnOnce(&str) -> Option<u32>,
        apply: impl FnOnce(&mut Option<P>, u32, &mut Self),
    ) {
        if self.change().is_some() {
            if let Some(name) = self.value().and_then(Value::as_str) {
                *slot = unit(&name);
                self.has_changed |= slot.is_some();
            }
            return;
        }
        if self.find_child(index_of) {
            *slot = None;
        }
        let child = self.frames[self.depth].child;
        if child != IGNORED {
            self.inside(|step| apply(slot, child, step));
        }
    }

    /// Reads an enum that is written as an object with the variant's name in the member `tag`.
    ///
    /// `index_of` returns the number of the variant with this name, and `apply` applies a step to the variant with
    /// this number: it sees all of the object but the tag, also what came before the tag.
    #[doc(hidden)]
    pub fn internally_tagged<P>(
        &mut self,
        slot: &mut Option<P>,
        tag: &'static str,
        index_of: impl FnOnce(&str) -> Option<u32>,
        mut apply: impl FnMut(&mut Option<P>, u32, &mut PartialStep<'_, '_>),
    ) {
        let tags = self.tags;
        // The tag of an enum around this one is not part of its data.
        let is_taken = self.is_tag(tag);
        match self.change() {
            Some(Change::Open(Kind::Object)) if !is_taken => {
                // What has been parsed as a whole need not be gone through again when the tag comes.
                let name = self.delta.opened().and_then(|object| object.get(tag)?.as_str());
                let Some(variant) = name.and_then(|name| index_of(&name)) else { return };
                self.frames[self.depth].variants.push((variant, tag));
                self.tags += 1;
                apply(slot, variant, self);
                self.tags = tags;
                return;
            }
            Some(Change::Close) if self.value().is_some_and(|value| value.kind() == Kind::Object) => {}
            Some(_) => return,
            None => {}
        }
        let Some(frame) = self.frames.get_mut(self.depth) else { return };
        if let Some(&(variant, _)) = frame.variants.get(tags) {
            self.tags += 1;
            apply(slot, variant, self);
            self.tags = tags;
            return;
        }
        if is_taken || self.delta.depth != self.depth + 1 || self.delta.key != Some(Key::Name(tag)) {
            return;
        }
        let Some(variant) = self.delta.value().and_then(Value::as_str).and_then(|name| index_of(&name))
        else {
            return;
        };
        // Go through the object once more, for the variant.
        let mut taken = frame.variants.clone();
        taken.push((variant, tag));
        let (mut frames, mut has_changed) = (Vec::new(), false);
        self.delta.repeat_since(self.depth, |delta| {
            let mut step = PartialStep::new(delta, &mut frames);
            if delta.depth == 0 && matches!(delta.change, Change::Open(_)) {
                step.frames[0].variants.clone_from(&taken);
            }
            step.tags = tags + 1;
            apply(slot, variant, &mut step);
            has_changed |= step.has_changed;
        });
        self.has_changed |= has_changed;
        // What is known of the object itself; the values inside it are complete.
        if let Some(first) = frames.into_iter().next() {
            let frame = &mut self.frames[self.depth];
            (frame.missing, frame.hidden, frame.variants) = (first.missing, first.hidden, first.variants);
        }
    }

    /// Applies a step to a variant's data.
    #[doc(hidden)]
    pub fn variant<P, V>(
        &mut self,
        slot: &mut Option<P>,
        unwrap: impl FnOnce(P) -> Option<V>,
        wrap: impl FnOnce(V) -> P,
        apply: impl FnOnce(&mut Option<V>, &mut Self),
    ) {
        let mut data = slot.take().and_then(unwrap);
        apply(&mut data, self);
        *slot = data.map(wrap);
    }

    /// Sets a variant without data, which is certain.
    #[doc(hidden)]
    pub fn unit_variant<P>(&mut self, slot: &mut Option<P>, variant: P) {
        if slot.is_none() {
            *slot = Some(variant);
            self.has_changed = true;
        }
    }

    /// Sets a variant without data, where its data is `null`.
    #[doc(hidden)]
    pub fn null_variant<P>(&mut self, slot: &mut Option<P>, variant: P) {
        if self.value().is_some_and(Value::is_null) {
            *slot = Some(variant);
            self.has_changed = true;
        }
    }

    /// Whether a member of this object is the tag of an enum that the object is read as.
    fn is_tag(&self, name: &str) -> bool {
        let frame = self.frames.get(self.depth).filter(|_| self.tags > 0);
        frame.is_some_and(|frame| frame.variants.iter().take(self.tags).any(|(_, tag)| *tag == name))
    }

    /// Whether the step begins a member or element of this container.
    #[inline]
    fn child_begins(&self) -> bool {
        self.delta.depth == self.depth + 1 && matches!(self.delta.change, Change::Open(_) | Change::Set(_))
    }

    /// Notes which member the steps are about, if one begins here; `true` if so.
    #[inline]
    fn find_child(&mut self, index_of: impl FnOnce(&str) -> Option<u32>) -> bool {
        let begins = self.child_begins();
        if begins {
            let index = match self.delta.key {
                Some(Key::Name(name)) if self.is_tag(name) => {
                    self.frames[self.depth].child = IGNORED;
                    return false;
                }
                Some(Key::Name(name)) => index_of(name),
                _ => None,
            };
            self.frames[self.depth].child = index.unwrap_or(IGNORED);
        }
        begins
    }

    /// Goes one level down.
    #[inline]
    fn inside<R>(&mut self, apply: impl FnOnce(&mut Self) -> R) -> R {
        let tags = mem::take(&mut self.tags);
        self.depth += 1;
        let result = apply(self);
        self.depth -= 1;
        self.tags = tags;
        result
    }
}
