//! Files of conversations and records, valid and invalid.

mod common;
mod limits;
mod line_checker;
mod line_mapper;
mod privacy;
mod reading;
mod validate;
