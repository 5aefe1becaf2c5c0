//! Why a value breaks a schema: the one rule and the one place to report.
//!
//! jsonschema's own error texts cost exponential time on recursive `anyOf` and embed the value. So
//! only verdicts are asked of it, of ever smaller parts: [`walk`] goes down the schema and the
//! value side by side, at each place to the one part that fails; [`subschema_validator`] has the parts compiled;
//! [`union`] picks the alternative that was meant; [`words`] says what the rule demands. [`all`] does not
//! stop at the first.

mod all;
mod subschema_validator;
mod union;
mod walk;
mod words;

pub(crate) use all::explain_all;
pub(crate) use subschema_validator::{Options, SubschemaValidator};
pub(crate) use walk::{Finding, explain};
