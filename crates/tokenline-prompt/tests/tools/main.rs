//! Tool prompts, and the responses to them.

mod caches;
mod common;
#[path = "../../../tokenline-core/tests/common/mod.rs"]
mod core_common;
mod derive;
mod families;
mod native;
mod prompts;
mod responses;
mod strict;
mod text;
