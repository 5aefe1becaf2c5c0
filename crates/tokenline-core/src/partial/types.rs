//! The partials of the standard library's types.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{Partial, PartialStep};
use crate::json::{Change, Kind};

macro_rules! strings {
    ($($type:ty),*) => {$(
        impl Partial for $type {
            type Partial = String;
            type Field = Option<String>;

            #[inline]
            fn apply(slot: &mut Option<String>, step: &mut PartialStep<'_, '_>) {
                step.string(slot);
            }
        }
    )*};
}

strings!(String, Box<str>, Rc<str>, Arc<str>, Cow<'_, str>);

macro_rules! when_complete {
    ($($type:ty),* $(,)?) => {$(
        impl Partial for $type {
            type Partial = Self;
            type Field = Option<Self>;

            #[inline]
            fn apply(slot: &mut Option<Self>, step: &mut PartialStep<'_, '_>) {
                step.when_complete(slot);
            }
        }
    )*};
}

when_complete!(
    bool,
    char,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    (),
    std::num::NonZeroI8,
    std::num::NonZeroI16,
    std::num::NonZeroI32,
    std::num::NonZeroI64,
    std::num::NonZeroIsize,
    std::num::NonZeroU8,
    std::num::NonZeroU16,
    std::num::NonZeroU32,
    std::num::NonZeroU64,
    std::num::NonZeroUsize,
    std::net::IpAddr,
    std::net::Ipv4Addr,
    std::net::Ipv6Addr,
    std::net::SocketAddr,
    std::path::PathBuf,
    std::time::Duration,
    crate::json::Raw,
    serde_json::Number,
);

/// Grows as it is written, for values without a type of their own.
impl Partial for serde_json::Value {
    type Partial = Self;
    type Field = Option<Self>;

    fn apply(slot: &mut Option<Self>, step: &mut PartialStep<'_, '_>) {
        match step.change() {
            Some(Change::Open(kind)) => {
                *slot = Some(match kind {
                    Kind::Object => Self::Object(serde_json::Map::new()),
                    Kind::Array => Self::Array(Vec::new()),
                    _ => Self::String(String::new()),
                });
                step.has_changed = true;
            }
            Some(Change::Append(more)) => {
                if let Some(Self::String(text)) = slot {
                    text.push_str(more);
                    step.has_changed = true;
                }
            }
            Some(Change::Set(_)) => step.when_complete(slot),
            Some(Change::Close) => {}
            None => match slot.take() {
                Some(Self::Object(members)) => {
                    let mut members = Some(members);
                    step.map(&mut members, change_member, Self::apply);
                    *slot = members.map(Self::Object);
                }
                Some(Self::Array(elements)) => {
                    let mut elements = Some(elements);
                    step.list(&mut elements, Self::apply);
                    *slot = elements.map(Self::Array);
                }
                other => *slot = other,
            },
        }
    }
}

/// Changes a member where it stands: the order of members may count.
fn change_member(
    members: &mut serde_json::Map<String, serde_json::Value>,
    name: &str,
    change: &mut dyn FnMut(&mut Option<serde_json::Value>),
) {
    let mut value = members.get_mut(name).map(serde_json::Value::take);
    change(&mut value);
    match (value, members.get_mut(name)) {
        (Some(value), Some(member)) => *member = value,
        (Some(value), None) => drop(members.insert(name.to_owned(), value)),
        (None, Some(_)) => drop(members.remove(name)),
        (None, None) => {}
    }
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => {$(
        impl<$($name: DeserializeOwned + Send + Sync + 'static),*> Partial for ($($name,)*) {
            type Partial = Self;
            type Field = Option<Self>;

            fn apply(slot: &mut Option<Self>, step: &mut PartialStep<'_, '_>) {
                step.when_complete(slot);
            }
        }
    )*};
}

tuples! { (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }

impl<T: Send + Sync + 'static, const N: usize> Partial for [T; N]
where
    Self: DeserializeOwned,
{
    type Partial = Self;
    type Field = Option<Self>;

    fn apply(slot: &mut Option<Self>, step: &mut PartialStep<'_, '_>) {
        step.when_complete(slot);
    }
}

/// `null` is there once it is complete.
impl<T: Partial> Partial for Option<T> {
    type Partial = Option<T::Partial>;
    type Field = Option<T::Partial>;

    fn apply(slot: &mut Option<Self::Partial>, step: &mut PartialStep<'_, '_>) {
        if step.value().is_some_and(crate::json::Value::is_null) {
            *slot = Some(None);
            step.has_changed = true;
            return;
        }
        let mut value = slot.take().flatten();
        T::apply(&mut value, step);
        *slot = value.map(Some);
    }
}

impl<T: Partial> Partial for Box<T> {
    type Partial = Box<T::Partial>;
    type Field = Option<Box<T::Partial>>;

    fn apply(slot: &mut Option<Self::Partial>, step: &mut PartialStep<'_, '_>) {
        let mut value = slot.take().map(|value| *value);
        T::apply(&mut value, step);
        *slot = value.map(Box::new);
    }
}

macro_rules! lists {
    ($($type:ty where [$($bounds:tt)*]),* $(,)?) => {$(
        impl<T: Partial, $($bounds)*> Partial for $type {
            type Partial = Vec<T::Partial>;
            type Field = Vec<T::Partial>;

            #[inline]
            fn apply(slot: &mut Option<Self::Partial>, step: &mut PartialStep<'_, '_>) {
                step.list(slot, T::apply);
            }
        }
    )*};
}

lists!(Vec<T> where [], VecDeque<T> where [], Box<[T]> where [], BTreeSet<T> where [], HashSet<T, S> where [S]);

macro_rules! maps {
    ($($map:ident where [$($bounds:tt)*] $(, $hasher:ident: $($hasher_bounds:ident)+)?;)*) => {$(
        impl<K: From<String> + $($bounds)* + Send + Sync + 'static, V: Partial $(, $hasher)?> Partial
            for $map<K, V $(, $hasher)?>
        $(where $hasher: $($hasher_bounds +)+ Send + Sync + 'static)?
        {
            type Partial = $map<K, V::Partial $(, $hasher)?>;
            type Field = Option<Self::Partial>;

            fn apply(slot: &mut Option<Self::Partial>, step: &mut PartialStep<'_, '_>) {
                let entry = |map: &mut Self::Partial, name: &str, change: &mut dyn FnMut(&mut Option<V::Partial>)| {
                    let (key, value) = match map.remove_entry(name) {
                        Some((key, value)) => (Some(key), Some(value)),
                        None => (None, None),
                    };
                    let mut value = value;
                    change(&mut value);
                    if let Some(value) = value {
                        map.insert(key.unwrap_or_else(|| name.to_owned().into()), value);
                    }
                };
                step.map(slot, entry, V::apply);
            }
        }
    )*};
}

maps! {
    BTreeMap where [std::borrow::Borrow<str> + Ord];
    HashMap where [std::borrow::Borrow<str> + Eq + Hash], S: BuildHasher Default;
}
