//! Language model providers for tokenline.
//!
//! With the feature `replay`, the module of that name serves recorded model streams over real HTTP: for tests, for the
//! program's `demo` and `replay`, and wherever a model that always says the same is wanted.

#[cfg(feature = "replay")]
pub mod replay;
