//! Rules for arrays.

use tokenline_core::json::{Array, Value};

use super::run::Run;
use super::{ANY, Plan};
use crate::compare;

/// The rules for an array.
pub(super) struct ArrayRules {
    pub(super) min_items: u64,
    pub(super) max_items: u64,
    /// The nodes of the first elements.
    pub(super) first: Vec<u32>,
    /// The node of the others.
    pub(super) rest: u32,
    pub(super) is_unique: bool,
    pub(super) contains: Option<Contains>,
}

/// `contains` with its limits.
#[derive(Clone, Copy)]
pub(super) struct Contains {
    pub(super) node: u32,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Default for ArrayRules {
    fn default() -> Self {
        Self {
            min_items: 0,
            max_items: u64::MAX,
            first: Vec::new(),
            rest: ANY,
            is_unique: false,
            contains: None,
        }
    }
}

impl ArrayRules {
    pub(super) fn is_empty(&self) -> bool {
        self.min_items == 0
            && self.max_items == u64::MAX
            && self.first.is_empty()
            && self.rest == ANY
            && !self.is_unique
            && self.contains.is_none()
    }

    #[inline]
    pub(super) fn len_fits(&self, array: Array<'_>) -> bool {
        let is_limited = self.min_items > 0 || self.max_items < u64::MAX;
        !is_limited || (self.min_items..=self.max_items).contains(&(array.len() as u64))
    }
}

impl Plan {
    #[inline(never)]
    pub(super) fn array_fits(&self, rules: &ArrayRules, value: Value<'_>, run: &mut Run) -> bool {
        let Some(array) = value.as_array() else { return true };
        if !rules.len_fits(array) {
            return false;
        }
        let mut elements = array.iter();
        for &node in &rules.first {
            let Some(element) = elements.next() else { break };
            if node != ANY && !self.fits(node, element, run) {
                return false;
            }
        }
        (rules.rest == ANY || elements.all(|element| self.fits(rules.rest, element, run)))
            && self.elements_fit_together(rules, array, run)
    }

    /// The rules that no single element can break.
    pub(super) fn elements_fit_together(&self, rules: &ArrayRules, array: Array<'_>, run: &mut Run) -> bool {
        (!rules.is_unique || compare::is_unique(array))
            && rules.contains.is_none_or(|contains| self.contains(contains, array, run))
    }

    #[inline(never)]
    fn contains(&self, contains: Contains, array: Array<'_>, run: &mut Run) -> bool {
        let mut count = 0;
        for element in array {
            if self.fits(contains.node, element, run) {
                count += 1;
                if count > contains.max {
                    return false;
                }
                if count >= contains.min && contains.max == u64::MAX {
                    return true;
                }
            }
        }
        count >= contains.min
    }
}
