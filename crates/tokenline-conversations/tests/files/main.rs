//! Files of conversations and records, valid and invalid.

mod common;
mod limits;
mod privacy;
mod reading;
mod validate;
