//! A no-op [`Meter`], without the features `metrics` and `tracing`.

use std::marker::PhantomData;

use tokenline_core::Report;
use tokenline_core::adapter::CountAs;

/// Reads no clock.
#[derive(Clone, Copy, Debug)]
pub struct Start;

/// See the module `meter`. This one does nothing and takes no space.
#[derive(Debug)]
pub struct Meter;

const _: () = assert!(size_of::<Meter>() == 0 && size_of::<Start>() == 0);

/// See the module `meter`; this one does nothing.
#[derive(Debug)]
pub struct Metered<'a>(PhantomData<&'a mut Meter>);

#[allow(missing_docs, reason = "documented in `meter`")]
impl Start {
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        Self
    }
}

#[allow(missing_docs, reason = "documented in `meter`")]
impl Meter {
    #[inline]
    #[must_use]
    pub fn new(_source: &'static str, _start: Start) -> Self {
        Self
    }

    #[inline]
    #[must_use]
    pub fn of_model(_source: &'static str, _start: Start, _request: &super::ModelRequest) -> Self {
        Self
    }

    #[inline]
    pub fn enter(&mut self) -> Metered<'_> {
        Metered(PhantomData)
    }
}

#[allow(missing_docs, reason = "documented in `meter`")]
impl Metered<'_> {
    #[inline]
    pub fn chunk(&mut self, _chunk: &impl AsRef<[u8]>) {}

    #[inline]
    pub fn count(&mut self, _event: CountAs<'_>) {}

    #[inline]
    pub fn source_failed(&mut self) {}

    #[inline]
    pub fn gave_up(&mut self) {}

    #[inline]
    pub fn end(&mut self, _report: &Report) {}

    #[inline]
    pub fn close(&mut self) {}
}
