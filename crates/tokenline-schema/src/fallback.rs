//! The keywords that plans do not support. With the feature `jsonschema`, the crate of that name validates them ([`full`]);
//! without it, a schema that has them is refused ([`none`]). Both modules have the same items.

#[cfg(feature = "jsonschema")]
mod full;
#[cfg(not(feature = "jsonschema"))]
mod none;

#[cfg(feature = "jsonschema")]
use full as chosen;
#[cfg(not(feature = "jsonschema"))]
use none as chosen;

pub(crate) use chosen::{
    Costs, Delegate, IS_MISSING, Parts, References, Resources, Whole, check_schema, count, has_format, judge,
};
