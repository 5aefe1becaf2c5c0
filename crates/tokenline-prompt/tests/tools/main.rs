//! Tool prompts, and what comes back.

mod caches;
mod common;
#[cfg(feature = "schemars")]
mod derive;
mod native;
mod prompts;
mod responses;
mod strict;
mod text;
