//! Prose is not a malformed record, and malformed text swallows no record: articles, derivations, code and
//! logs, alone and with records between their lines; and records among lines of garbage.

#[path = "../common/mod.rs"]
mod common;

mod documents;
mod faults;
mod garbage;
mod pool;
#[path = "../common/random.rs"]
mod random;
mod reasoning;
mod recorded;
mod regions;
mod text;
