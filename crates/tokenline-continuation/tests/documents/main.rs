//! Documents that are cut anywhere, and how they go on.

mod beginnings;
mod common;
mod contexts;
mod continuation;
mod cuts;
mod disturbed;
mod found;
#[path = "../records/model.rs"]
mod model;
#[path = "../../../tokenline-core/tests/common/random.rs"]
#[allow(dead_code, reason = "a part is enough here")]
mod random;
mod recorded;
mod table;
