//! Rules for numbers.

use std::cmp::Ordering;

use tokenline_core::json::Number;

use crate::number::{Limit, Multiple, Prepared};

/// The rules for a number.
#[derive(Default)]
pub(crate) struct NumberRules {
    bounds: Vec<(Bound, Limit)>,
    multiple_of: Option<Multiple>,
}

#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
}

impl Bound {
    /// Whether numbers may compare with the limit like this.
    #[inline]
    fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Minimum => order.is_ge(),
            Self::Maximum => order.is_le(),
            Self::ExclusiveMinimum => order.is_gt(),
            Self::ExclusiveMaximum => order.is_lt(),
        }
    }
}

impl NumberRules {
    pub(crate) fn bound(&mut self, bound: Bound, literal: &str) {
        self.bounds.push((bound, Limit::new(literal)));
    }

    /// Sets `multipleOf`; `None` for a number with too many digits or too large an exponent.
    pub(crate) fn multiple_of(&mut self, literal: &str) -> Option<()> {
        self.multiple_of = Some(Multiple::new(literal)?);
        Some(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bounds.is_empty() && self.multiple_of.is_none()
    }

    pub(crate) fn fits(&self, number: Number<'_>) -> bool {
        let number = Prepared::new(number);
        self.bounds.iter().all(|(bound, limit)| bound.allows(limit.compare(&number)))
            && self.multiple_of.as_ref().is_none_or(|multiple| multiple.divides(&number) == Some(true))
    }
}
