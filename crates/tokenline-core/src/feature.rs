//! Parts of a machine that a cargo feature leaves out, without `cfg` where they are used.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The feature `calls`.
pub type CallsFeature = Feature<{ cfg!(feature = "calls") }>;
/// The feature `repair`.
pub type RepairFeature = Feature<{ cfg!(feature = "repair") }>;
/// The feature `repetition`.
pub type RepetitionFeature = Feature<{ cfg!(feature = "repetition") }>;

/// A boxed part of a machine that belongs to a feature. If the feature is off, it is a type without values, so that the
/// compiler leaves out all code that needs one.
///
/// For authors of stream adapters. [`RepairFeature::boxed`](Feature::boxed) makes one.
pub type Boxed<F, T> = <F as Switch>::Boxed<T>;

/// A cargo feature that is on or off.
#[derive(Debug)]
pub struct Feature<const IS_ON: bool>;

/// The type of a feature's parts; see [`Boxed`].
pub trait Switch {
    /// A box, or a type without values.
    type Boxed<T>: DerefMut<Target = T>;
}

impl Switch for Feature<true> {
    type Boxed<T> = Box<T>;
}

impl Switch for Feature<false> {
    type Boxed<T> = Absent<T>;
}

impl Feature<true> {
    /// A part, unless the feature is off.
    #[inline]
    pub fn boxed<T>(part: impl FnOnce() -> T) -> Option<Box<T>> {
        Some(Box::new(part()))
    }

    /// Takes a part out of its box.
    #[expect(clippy::boxed_local, reason = "without the feature, there is no box")]
    pub fn unboxed<T>(part: Box<T>) -> T {
        *part
    }
}

impl Feature<false> {
    /// A part, unless the feature is off.
    #[inline]
    pub fn boxed<T>(_: impl FnOnce() -> T) -> Option<Absent<T>> {
        None
    }

    /// Takes a part out of its box.
    #[must_use]
    pub fn unboxed<T>(Absent(never, _): Absent<T>) -> T {
        match never {}
    }
}

/// A part of a machine whose feature is off: a type without values.
#[derive(Clone)]
pub struct Absent<T>(Infallible, PhantomData<T>);

impl<T> Deref for Absent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self.0 {}
    }
}

impl<T> DerefMut for Absent<T> {
    fn deref_mut(&mut self) -> &mut T {
        match self.0 {}
    }
}

impl<T> fmt::Debug for Absent<T> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}
