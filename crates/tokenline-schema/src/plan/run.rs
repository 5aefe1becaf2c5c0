//! Verdicts of a plan.

use std::collections::HashMap;

use tokenline_core::json::{Kind, Number, Value};

use super::string::StringRules;
use super::{ANY, Applies, Node, Plan, Rule};
use crate::number::Decimal;
use crate::patterns::{Pattern, Undecided};
use crate::tape::StringBuffer;

/// The state of one verdict.
#[derive(Default)]
pub(super) struct Run {
    /// Visits to shared nodes so far.
    visits: u32,
    /// Verdicts of shared nodes on values, by their positions.
    known: Option<HashMap<u64, bool>>,
    /// A pattern that gave no verdict. The whole run then gives no verdict.
    undecided: Option<Box<Undecided>>,
}

/// A verdict is remembered if it took so many visits to shared nodes. Cheaper ones cost less to give again.
const REMEMBERED: u32 = 64;

impl Run {
    /// Whether a text matches a pattern. After one pattern without a verdict, none is tried.
    pub(super) fn matches(&mut self, pattern: &Pattern, text: &str) -> bool {
        if self.is_undecided() {
            return false;
        }
        pattern.matches(text).unwrap_or_else(|undecided| {
            self.undecided = Some(undecided);
            false
        })
    }

    pub(super) fn is_undecided(&self) -> bool {
        self.undecided.is_some()
    }

    /// Notes the place of the text without a verdict, if there is one and its place is not known.
    pub(super) fn undecided_at(&mut self, value: Value<'_>) {
        if let Some(undecided) = &mut self.undecided {
            undecided.offset.get_or_insert(value.range().start);
        }
    }

    /// The verdict, or the reason why there is no verdict.
    #[inline(always)]
    pub(super) fn finish(self, fits: bool) -> Result<bool, Box<Undecided>> {
        match self.undecided {
            None => Ok(fits),
            Some(undecided) => Err(undecided),
        }
    }
}

impl Plan {
    /// Whether a value fits the schema.
    #[inline(always)]
    pub(crate) fn is_valid(&self, value: Value<'_>) -> Result<bool, Box<Undecided>> {
        self.fits_node(self.root, value)
    }

    /// Whether a value fits a node.
    #[inline(always)]
    pub(crate) fn fits_node(&self, at: u32, value: Value<'_>) -> Result<bool, Box<Undecided>> {
        let mut run = Run::default();
        let fits = self.fits(at, value, &mut run);
        run.finish(fits)
    }

    /// The same during a verdict.
    #[inline(always)]
    pub(super) fn fits(&self, at: u32, value: Value<'_>, run: &mut Run) -> bool {
        let node = &self.nodes[at as usize];
        if value.is_one_of(node.plain) {
            true
        } else if node.is_shared {
            self.shared_fits(at, node, value, run)
        } else {
            self.node_fits(node, value, run)
        }
    }

    /// The same for a node that may be reached more than once for one value. Remembers verdicts that took much work,
    /// so that a subschema to which 2³⁰ paths lead is visited a few times.
    #[inline(never)]
    fn shared_fits(&self, at: u32, node: &Node, value: Value<'_>, run: &mut Run) -> bool {
        let place = u64::from(at) << 32 | u64::from(value.identity().1);
        if let Some(known) = run.known.as_ref().and_then(|known| known.get(&place)) {
            return *known;
        }
        let before = run.visits;
        run.visits = before.wrapping_add(1);
        let fits = self.node_fits(node, value, run);
        if run.visits.wrapping_sub(before) >= REMEMBERED {
            run.known.get_or_insert_default().insert(place, fits);
        }
        fits
    }

    #[inline(never)]
    fn node_fits(&self, node: &Node, value: Value<'_>, run: &mut Run) -> bool {
        match node.applies {
            Applies::OfKind => value.is_one_of(node.kinds) && self.kind_fits(node, value, run),
            Applies::Union(at) => self.union_fits(&self.unions[at as usize], value, run),
            Applies::All => self.all_fits(node, value, run),
        }
    }

    #[inline(never)]
    fn all_fits(&self, node: &Node, value: Value<'_>, run: &mut Run) -> bool {
        value.is_one_of(node.kinds)
            && self.constants_of(node).iter().all(|constants| constants.fits(value))
            && self.kind_fits(node, value, run)
            && self.rules_of(node).iter().all(|rule| self.rule_fits(*rule, value, run))
    }

    /// Whether a value fits the rules for its kind.
    #[inline(always)]
    fn kind_fits(&self, node: &Node, value: Value<'_>, run: &mut Run) -> bool {
        if let Some(object) = value.as_object() {
            let rules = self.objects.get(node.object as usize);
            return rules.is_none_or(|rules| self.object_fits(rules, object, None, run));
        }
        match value.kind() {
            Kind::Null | Kind::Bool | Kind::Object => true,
            Kind::Number => self.number_fits(node, value),
            Kind::String => match self.strings.get(node.string as usize) {
                Some(rules) => self.string_fits(rules, value, run),
                None => true,
            },
            Kind::Array => match self.arrays.get(node.array as usize) {
                Some(rules) => self.array_fits(rules, value, run),
                None => true,
            },
        }
    }

    #[inline]
    pub(super) fn rule_fits(&self, rule: Rule, value: Value<'_>, run: &mut Run) -> bool {
        match rule {
            Rule::All(node) => self.fits(node, value, run),
            Rule::Union(at) => self.union_fits(&self.unions[at as usize], value, run),
            Rule::Not(node) => !self.fits(node, value, run),
            Rule::If { condition, then, otherwise } => {
                let node = if self.fits(condition, value, run) { then } else { otherwise };
                node == ANY || self.fits(node, value, run)
            }
        }
    }

    #[inline(never)]
    fn number_fits(&self, node: &Node, value: Value<'_>) -> bool {
        let Some(number) = value.as_number() else { return true };
        (!node.integers_only || self.is_integer(number))
            && self.numbers.get(node.number as usize).is_none_or(|rules| rules.fits(number))
    }

    #[inline]
    fn is_integer(&self, number: Number<'_>) -> bool {
        // Whatever has neither a fraction nor an exponent is whole.
        number.is_written_as_integer()
            || !self.integers_as_written && Decimal::new(number.as_str()).is_whole()
    }

    #[inline(never)]
    fn string_fits(&self, rules: &StringRules, value: Value<'_>, run: &mut Run) -> bool {
        rules.length_fits(value)
            && (!rules.reads_text()
                || value.as_str().is_some_and(|text| {
                    let fits = |at| self.delegates[at as usize].is_valid(value);
                    let matches = rules.matches(&text, run);
                    if !matches {
                        run.undecided_at(value);
                    }
                    matches && rules.delegates().all(fits)
                }))
    }

    /// Whether a member's name fits a node of `propertyNames`.
    pub(super) fn name_fits(&self, at: u32, name: &str, run: &mut Run) -> bool {
        let node = &self.nodes[at as usize];
        let strings = self.strings.get(node.string as usize);
        node.kinds.contains(Kind::String)
            && strings.is_none_or(|rules| {
                rules.name_length_fits(name)
                    && rules.matches(name, run)
                    && rules.delegates().all(|at| self.name_fits_delegate(at, name))
            })
            && self.constants_of(node).iter().all(|constants| constants.fits_text(name))
            && self.rules_of(node).iter().all(|rule| match *rule {
                Rule::All(node) => self.name_fits(node, name, run),
                Rule::Union(at) => self.name_fits_union(&self.unions[at as usize], name, run),
                Rule::Not(node) => !self.name_fits(node, name, run),
                Rule::If { condition, then, otherwise } => {
                    let node = if self.name_fits(condition, name, run) { then } else { otherwise };
                    self.name_fits(node, name, run)
                }
            })
    }

    #[cold]
    fn name_fits_delegate(&self, at: u32, name: &str) -> bool {
        StringBuffer::default().with(name, |value| self.delegates[at as usize].is_valid(value))
    }
}
