//! The built-in prompts, configured like any others.

mod manager;

pub(crate) use manager::manager;
