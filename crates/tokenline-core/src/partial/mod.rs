//! Typed partials: a record in its own type while the model is still writing it.
//!
//! [`PartialBuilder`] applies the [deltas](crate::json::ValueDelta) of an open record to a value of the type's
//! [`Partial`], each in time proportional to the delta and to how deep its value is nested. Reading never fails:
//!
//! | value | in the partial |
//! |---|---|
//! | string | from its opening quote, as far as it has come |
//! | list, map, struct | from its opening bracket; its items and members follow these rules |
//! | number, `true`, `false`, unit variant of an enum | once it is complete |
//! | enum with data | once its variant is certain, then it grows |
//! | anything that does not fit the type | never |
//!
//! A partial only grows, unless the model repeats a member's name: then the last one counts.
//!
//! Derive [`Partial`] with the crate `tokenline-derive`, the feature `derive` of `tokenline`; [its page](Partial) has
//! the attributes.

mod builder;
mod event;
mod pieces;
mod state;
mod step;
mod traits;
mod types;

pub use builder::PartialBuilder;
pub use event::PartialEvent;
pub use pieces::PartialText;
pub use state::{FieldState, PartialField};
pub use step::PartialStep;
pub use traits::Partial;
