//! Rules for numbers. The comparisons are jsonschema's own.

use std::borrow::Cow;

use jsonschema_value::{JsonNumber, numeric};
use serde_json::Number as Literal;
use tokenline_core::json::Number;

use crate::number::TapeNumber;

/// The rules for a number.
#[derive(Default)]
pub(super) struct NumberRules {
    bounds: Vec<(Bound, Limit)>,
    multiple_of: Option<f64>,
}

#[derive(Clone, Copy)]
pub(super) enum Bound {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
}

/// A number of the schema, as jsonschema reads it.
#[derive(Clone, Copy)]
enum Limit {
    Positive(u64),
    Whole(i64),
    Float(f64),
}

impl NumberRules {
    /// Adds a bound; `None` for a number that serde_json cannot hold.
    pub(super) fn bound(&mut self, bound: Bound, limit: &Literal) -> Option<()> {
        let limit = if let Some(limit) = limit.as_u64() {
            Limit::Positive(limit)
        } else if let Some(limit) = limit.as_i64() {
            Limit::Whole(limit)
        } else {
            Limit::Float(limit.as_f64()?)
        };
        self.bounds.push((bound, limit));
        Some(())
    }

    /// Sets `multipleOf`; `None` for a number that serde_json cannot hold.
    pub(super) fn multiple_of(&mut self, multiple: &Literal) -> Option<()> {
        self.multiple_of = Some(multiple.as_f64()?);
        Some(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bounds.is_empty() && self.multiple_of.is_none()
    }

    pub(super) fn fits(&self, number: Number<'_>) -> bool {
        let number = Converted::new(number);
        self.bounds.iter().all(|(bound, limit)| match *limit {
            Limit::Positive(limit) => match bound {
                Bound::Minimum => numeric::ge(&number, limit),
                Bound::Maximum => numeric::le(&number, limit),
                Bound::ExclusiveMinimum => numeric::gt(&number, limit),
                Bound::ExclusiveMaximum => numeric::lt(&number, limit),
            },
            Limit::Whole(limit) => match bound {
                Bound::Minimum => numeric::ge(&number, limit),
                Bound::Maximum => numeric::le(&number, limit),
                Bound::ExclusiveMinimum => numeric::gt(&number, limit),
                Bound::ExclusiveMaximum => numeric::lt(&number, limit),
            },
            Limit::Float(limit) => match bound {
                Bound::Minimum => numeric::ge(&number, limit),
                Bound::Maximum => numeric::le(&number, limit),
                Bound::ExclusiveMinimum => numeric::gt(&number, limit),
                Bound::ExclusiveMaximum => numeric::lt(&number, limit),
            },
        }) && self.multiple_of.is_none_or(|multiple| {
            if multiple.fract() == 0.0 {
                numeric::is_multiple_of_integer(&number, multiple)
            } else {
                numeric::is_multiple_of_float(&number, multiple)
            }
        })
    }
}

/// A number that is converted once for all rules.
struct Converted<'a> {
    number: TapeNumber<'a>,
    kind: Limit,
    is_finite: bool,
}

impl<'a> Converted<'a> {
    #[inline]
    fn new(number: Number<'a>) -> Self {
        let mut is_finite = true;
        let kind = if let Some(number) = number.as_u64() {
            Limit::Positive(number)
        } else if let Some(number) = number.as_i64() {
            Limit::Whole(number)
        } else {
            let float = TapeNumber(number).as_f64();
            is_finite = float.is_some();
            Limit::Float(float.unwrap_or_default())
        };
        Self { number: TapeNumber(number), kind, is_finite }
    }
}

impl JsonNumber for Converted<'_> {
    #[inline]
    fn as_u64(&self) -> Option<u64> {
        match self.kind {
            Limit::Positive(number) => Some(number),
            Limit::Whole(_) | Limit::Float(_) => None,
        }
    }

    #[inline]
    fn as_i64(&self) -> Option<i64> {
        match self.kind {
            Limit::Positive(number) => i64::try_from(number).ok(),
            Limit::Whole(number) => Some(number),
            Limit::Float(_) => None,
        }
    }

    #[inline]
    fn as_f64(&self) -> Option<f64> {
        match self.kind {
            Limit::Positive(number) => Some(number as f64),
            Limit::Whole(number) => Some(number as f64),
            Limit::Float(number) => self.is_finite.then_some(number),
        }
    }

    fn as_str(&self) -> Cow<'_, str> {
        self.number.as_str()
    }

    fn to_number(&self) -> Cow<'_, Literal> {
        self.number.to_number()
    }
}
