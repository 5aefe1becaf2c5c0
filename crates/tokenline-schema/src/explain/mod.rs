//! Explains why a value breaks a schema: the one rule and the one place to report.
//!
//! jsonschema's own error texts take exponential time on recursive `anyOf`, and quote the value. So it is
//! asked only for verdicts, on ever smaller parts: [`walk`] descends the schema and the value in parallel, at
//! each place to the one part that fails; [`subschema_validator`] holds the compiled parts; [`union`] picks
//! the intended alternative; [`messages`](crate::messages) describes the broken rule. [`all`] does not stop at the first.

mod all;
mod subschema_validator;
mod union;
mod walk;

pub(crate) use all::{explain_all, explain_inside};
pub(crate) use subschema_validator::SubschemaValidator;
pub(crate) use walk::{BrokenRule, explain};
