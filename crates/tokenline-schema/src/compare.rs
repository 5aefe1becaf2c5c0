//! Equality in the sense of JSON Schema (`const`, `enum`, `uniqueItems`), on the tape: numbers by value,
//! objects in any order of members.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use serde_json::Value as Expected;
use tokenline_core::json::{Array, Object, Value, View};

use crate::number::Decimal;
use crate::order::sorted;
use crate::tape::{distinct_len, distinct_members};

/// Whether a value equals one of the schema, whose numbers are read with `number`.
pub(crate) fn equals<'e>(
    value: Value<'_>,
    expected: &'e Expected,
    number: &dyn Fn(&'e Expected) -> Cow<'e, str>,
) -> bool {
    match (value.view(), expected) {
        (View::Null, Expected::Null) => true,
        (View::Bool(value), Expected::Bool(expected)) => value == *expected,
        (View::Number(value), Expected::Number(_)) => match (value.as_i64(), expected.as_i64()) {
            (Some(value), Some(expected)) => value == expected,
            _ => Decimal::new(value.as_str()) == Decimal::new(&number(expected)),
        },
        (View::String(value), Expected::String(expected)) => value == *expected,
        (View::Array(value), Expected::Array(expected)) => {
            value.len() == expected.len()
                && value.iter().zip(expected).all(|(element, expected)| equals(element, expected, number))
        }
        (View::Object(value), Expected::Object(expected)) => {
            // As many names as expected, all of them expected: so none is missing.
            distinct_len(value) == expected.len()
                && distinct_members(value)
                    .all(|(name, member)| expected.get(name).is_some_and(|it| equals(member, it, number)))
        }
        _ => false,
    }
}

/// Arrays up to this long are compared pair by pair: faster than hashing.
const PAIRWISE: usize = 15;

/// Whether no two elements are equal.
pub(crate) fn is_unique(array: Array<'_>) -> bool {
    if array.len() <= PAIRWISE {
        let mut rest = array.iter();
        while let Some(element) = rest.next() {
            if rest.clone().any(|other| same(element, other)) {
                return false;
            }
        }
        return true;
    }
    // The keys are random, so nobody can choose elements whose hashes collide.
    let keys = RandomState::new();
    let elements: Vec<_> = array.iter().collect();
    let hashed = elements.iter().map(|element| hash(*element, &keys) as usize).zip(0..).collect();
    // Equal hashes nearly always mean equal values, so the first pair of a run settles it.
    sorted(hashed).chunk_by(|(a, _), (b, _)| a == b).all(|alike| {
        let is_same = |a: usize, b: usize| same(elements[a], elements[b]);
        alike.iter().enumerate().all(|(at, (_, a))| alike[at + 1..].iter().all(|(_, b)| !is_same(*a, *b)))
    })
}

/// Whether two values are equal.
pub(crate) fn same(a: Value<'_>, b: Value<'_>) -> bool {
    match (a.view(), b.view()) {
        (View::Null, View::Null) => true,
        (View::Bool(a), View::Bool(b)) => a == b,
        (View::Number(a), View::Number(b)) => {
            a.as_str() == b.as_str() || Decimal::new(a.as_str()) == Decimal::new(b.as_str())
        }
        (View::String(a), View::String(b)) => a == b,
        (View::Array(a), View::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (View::Object(a), View::Object(b)) => same_objects(a, b),
        _ => false,
    }
}

fn same_objects(a: Object<'_>, b: Object<'_>) -> bool {
    if distinct_len(a) != distinct_len(b) {
        return false;
    }
    let (mut a, b) = (distinct_members(a), distinct_members(b));
    // The common case: the same names in the same order.
    let mut ordered = a.clone().zip(b.clone());
    if ordered.clone().all(|((a, _), (b, _))| a == b) {
        return ordered.all(|((_, a), (_, b))| same(a, b));
    }
    let (mut positions, mut members) = (HashMap::new(), Vec::new());
    for (name, member) in b {
        positions.insert(name, members.len());
        members.push(member);
    }
    a.all(|(name, member)| positions.get(name).is_some_and(|at| same(member, members[*at])))
}

fn hash(value: Value<'_>, keys: &RandomState) -> u64 {
    let mut state = keys.build_hasher();
    match value.view() {
        View::Null => 0_u8.hash(&mut state),
        View::Bool(value) => (1_u8, value).hash(&mut state),
        View::Number(value) => (2_u8, Decimal::new(value.as_str())).hash(&mut state),
        View::String(value) => (3_u8, value).hash(&mut state),
        View::Array(array) => {
            (4_u8, array.len()).hash(&mut state);
            for element in array {
                state.write_u64(hash(element, keys));
            }
        }
        View::Object(object) => {
            5_u8.hash(&mut state);
            // A sum does not depend on the order of the members.
            let members =
                distinct_members(object).map(|(name, member)| keys.hash_one((name, hash(member, keys))));
            state.write_u64(members.fold(0, u64::wrapping_add));
        }
    }
    state.finish()
}
