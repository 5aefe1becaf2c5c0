//! Schemas as trees of JSON values.

use std::borrow::Cow;

use serde_json::Value;

use crate::pointer;

/// What a value is known by in its document.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The parts of a value.
pub(crate) fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(object) => object.values().collect(),
        Value::Array(array) => array.iter().collect(),
        _ => Vec::new(),
    }
}

/// The place of a value in a document.
pub(crate) struct Here<'a, 'v> {
    /// Each place is the index of the one around it, and the name there.
    places: &'a [(usize, Cow<'v, str>)],
    at: usize,
}

impl Here<'_, '_> {
    /// The pointer. Only those are built that are asked for: one long name may have much below it.
    pub(crate) fn pointer(&self) -> String {
        let (mut names, mut at) = (Vec::new(), self.at);
        while let Some((outer, name)) = self.places.get(at).filter(|_| at > 0) {
            names.push(name);
            at = *outer;
        }
        names.into_iter().rev().fold(String::new(), |path, name| pointer::join(&path, name))
    }
}

/// Visits a value and all that is in it, in the order of the document, until one is the last.
pub(crate) fn visit<'v>(root: &'v Value, is_last: &mut dyn FnMut(&'v Value, &Here<'_, 'v>) -> bool) {
    let mut places = vec![(0, Cow::Borrowed(""))];
    // Without recursion: a schema may be deep.
    let mut open = vec![(root, 0)];
    while let Some((value, at)) = open.pop() {
        if is_last(value, &Here { places: &places, at }) {
            return;
        }
        let from = open.len();
        let mut push = |name, value| {
            open.push((value, places.len()));
            places.push((at, name));
        };
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| push(Cow::Borrowed(name.as_str()), value));
            }
            Value::Array(elements) => {
                elements.iter().enumerate().for_each(|(at, value)| push(Cow::Owned(at.to_string()), value));
            }
            _ => {}
        }
        open[from..].reverse();
    }
}

/// The pointer of the value with this address in a document.
pub(crate) fn path_of(root: &Value, target: usize) -> String {
    let mut path = String::new();
    visit(root, &mut |value, here| {
        let is_target = address(value) == target;
        if is_target {
            path = here.pointer();
        }
        is_target
    });
    path
}

/// The total length of the pointers of a value's parts.
pub(crate) fn pointers(value: &Value) -> usize {
    let mut all = 0_usize;
    let mut open = vec![(value, 0)];
    while let Some((value, length)) = open.pop() {
        all = all.saturating_add(length);
        match value {
            Value::Object(object) => {
                open.extend(object.iter().map(|(name, value)| (value, length + 1 + name.len())));
            }
            // Count each element's index as long as the last one.
            Value::Array(array) => {
                let length = length + 2 + array.len().checked_ilog10().unwrap_or(0) as usize;
                open.extend(array.iter().map(|value| (value, length)));
            }
            _ => {}
        }
    }
    all
}
