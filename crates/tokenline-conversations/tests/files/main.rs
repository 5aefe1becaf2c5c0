//! Files of conversations and records, good and bad.

mod common;
mod limits;
mod privacy;
mod reading;
mod validate;
