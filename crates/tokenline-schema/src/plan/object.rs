//! Rules for objects: one pass over the members.

use std::sync::Arc;

use tokenline_core::json::{KindSet, Object, Value};

use super::names::Names;
use super::run::Run;
use super::{ANY, Plan};
use crate::patterns::Pattern;
use crate::tape::{distinct_len, distinct_members};

/// The rules for an object.
#[derive(Clone)]
pub(super) struct ObjectRules {
    /// The members that the rules name.
    pub(super) names: Names<Member>,
    /// Whether only `properties`, `required` of few members and `additionalProperties` apply.
    pub(super) is_simple: bool,
    /// Whether the first member is the tag that selects the alternative with these rules, and nothing else is to be checked
    /// if an object begins with it.
    pub(super) begins_with_tag: bool,
    /// Of how many members it matters whether they are there, in words of a [`MemberSet`].
    pub(super) tracked_words: usize,
    /// The required members.
    pub(super) required: MemberSet,
    pub(super) dependents: Vec<Dependent>,
    pub(super) patterns: Vec<(Arc<Pattern>, u32)>,
    /// The node for members that are in neither `properties` nor `patternProperties`.
    pub(super) additional: u32,
    pub(super) additional_plain: KindSet,
    pub(super) property_names: u32,
    pub(super) min_properties: u64,
    pub(super) max_properties: u64,
}

/// A member with a name of the schema.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Its node under `properties`; [`UNLISTED`] if it is not there, unless the rules are simple and the node for
    /// additional members applies.
    pub(super) node: u32,
    /// The kinds of values for which the node needs no visit.
    pub(super) plain: KindSet,
    /// Its bit in a [`MemberSet`]: the word, and the bit in it. No bit if it does not matter whether it is there.
    pub(super) word: u16,
    pub(super) bit: u64,
}

pub(super) const UNLISTED: u32 = u32::MAX;

/// The most members of which it matters whether they are there.
pub(super) const MOST_TRACKED: usize = 64 << 16;

/// Up to so many words are kept on the stack.
const FEW_WORDS: usize = 16;

/// A set of members, by their bits: the words that are not zero, with their positions.
#[derive(Clone, Default)]
pub(super) struct MemberSet(Vec<(u16, u64)>);

impl MemberSet {
    /// The word and the bit of the tracked member at a position.
    pub(super) fn bit(at: usize) -> (u16, u64) {
        ((at / 64) as u16, 1 << (at % 64))
    }

    pub(super) fn insert(&mut self, at: usize) {
        let (word, bit) = Self::bit(at);
        match self.0.last_mut() {
            Some((last, bits)) if *last == word => *bits |= bit,
            _ => self.0.push((word, bit)),
        }
    }

    #[inline(always)]
    fn is_in(&self, seen: &[u64]) -> bool {
        self.0.iter().all(|&(word, bits)| bits & !seen[usize::from(word)] == 0)
    }
}

/// `dependentRequired`, `dependentSchemas` and `dependencies` for one member.
#[derive(Clone)]
pub(super) struct Dependent {
    /// The member alone.
    pub(super) trigger: MemberSet,
    pub(super) required: MemberSet,
    pub(super) schema: u32,
}

impl ObjectRules {
    pub(super) fn is_empty(&self) -> bool {
        self.ignores_members() && self.min_properties == 0 && self.max_properties == u64::MAX
    }

    /// Whether rules apply to names, or to members by patterns of their names.
    pub(super) fn checks_names(&self) -> bool {
        !self.patterns.is_empty() || self.property_names != ANY
    }

    pub(super) fn len_fits(&self, object: Object<'_>) -> bool {
        let is_limited = self.min_properties > 0 || self.max_properties < u64::MAX;
        !is_limited || (self.min_properties..=self.max_properties).contains(&(distinct_len(object) as u64))
    }

    /// Whether any member that no rule names fits, if the rules are [simple](Self::is_simple).
    fn allows_others(&self) -> bool {
        self.additional_plain == KindSet::ALL
    }

    fn ignores_members(&self) -> bool {
        self.names.is_empty() && self.additional == ANY && !self.checks_names()
    }
}

impl Plan {
    /// Whether an object fits; `after_tag` is the position after its first member if that is known to fit.
    #[inline(never)]
    pub(super) fn object_fits(
        &self,
        rules: &ObjectRules,
        object: Object<'_>,
        after_tag: Option<u32>,
        run: &mut Run,
    ) -> bool {
        if !rules.is_simple || object.has_repeated_name() {
            return self.any_object_fits(rules, object, run);
        }
        let names = rules.names.entries();
        let mut members = object.iter_from(after_tag);
        // Members are often in the order of the schema.
        let mut expected = usize::from(after_tag.is_some());
        while let Some(named) = names.get(expected)
            && members.skip_if(&named.name, named.value.plain)
        {
            expected += 1;
        }
        expected == names.len() && (members.is_done() || rules.allows_others()) && rules.dependents.is_empty()
            || self.simple_object_fits(rules, object, expected, members.position(), run)
    }

    /// Whether an object fits simple rules, of which the first members have the first names and fit.
    #[inline(never)]
    fn simple_object_fits(
        &self,
        rules: &ObjectRules,
        object: Object<'_>,
        skipped: usize,
        position: u32,
        run: &mut Run,
    ) -> bool {
        let mut missing = rules.names.entries().len() - skipped;
        let (skipped, mut expected) = rules.names.entries().split_at(skipped);
        let mut members = object.iter_from(Some(position));
        let mut seen = [0];
        for named in skipped {
            seen[0] |= named.value.bit;
        }
        // No name is there twice: once all are found, the other members are additional.
        while missing > 0 || !rules.allows_others() {
            if let [named, rest @ ..] = expected
                && let Some(member) = members.next_if(&named.name)
            {
                missing -= 1;
                expected = rest;
                seen[0] |= named.value.bit;
                if !member.is_one_of(named.value.plain) && !self.fits(named.value.node, member, run) {
                    return false;
                }
            } else {
                let Some((name, member)) = members.next() else { break };
                let (mut node, mut plain) = (rules.additional, rules.additional_plain);
                if let Some((at, named)) = rules.names.find(name.as_bytes()) {
                    missing -= 1;
                    (node, plain) = (named.node, named.plain);
                    expected = &rules.names.entries()[at + 1..];
                    seen[0] |= named.bit;
                }
                if !member.is_one_of(plain) && !self.fits(node, member, run) {
                    return false;
                }
            }
            while let [named, rest @ ..] = expected
                && members.skip_if(&named.name, named.value.plain)
            {
                missing -= 1;
                expected = rest;
                seen[0] |= named.value.bit;
            }
        }
        self.members_fit_together(rules, object, &seen, run)
    }

    /// The same as [`object_fits`](Self::object_fits) for all rules and objects.
    #[inline(never)]
    fn any_object_fits(&self, rules: &ObjectRules, object: Object<'_>, run: &mut Run) -> bool {
        if !rules.len_fits(object) {
            return false;
        }
        if rules.ignores_members() {
            return true;
        }
        let (mut few, mut many) = ([0; FEW_WORDS], Vec::new());
        let seen = if rules.tracked_words <= FEW_WORDS {
            &mut few[..]
        } else {
            many.resize(rules.tracked_words, 0);
            &mut many[..]
        };
        for (name, member) in distinct_members(object) {
            let fits = self.each_node(rules, name, seen, run, |node, run| self.fits(node, member, run));
            if !fits {
                run.undecided_at(member);
                return false;
            }
        }
        self.members_fit_together(rules, object, seen, run)
    }

    /// The rules that no single member can break, but those for their number.
    #[inline(always)]
    pub(super) fn members_fit_together(
        &self,
        rules: &ObjectRules,
        object: Object<'_>,
        seen: &[u64],
        run: &mut Run,
    ) -> bool {
        rules.required.is_in(seen)
            && (rules.dependents.is_empty() || self.dependents_fit(rules, object.value(), seen, run))
    }

    #[inline(never)]
    fn dependents_fit(&self, rules: &ObjectRules, value: Value<'_>, seen: &[u64], run: &mut Run) -> bool {
        rules.dependents.iter().all(|dependent| {
            !dependent.trigger.is_in(seen)
                || dependent.required.is_in(seen)
                    && (dependent.schema == ANY || self.fits(dependent.schema, value, run))
        })
    }

    /// Validates a member: its name, and with `fits` each node that it must fit. Notes in `seen` that it is there.
    #[inline(always)]
    pub(super) fn each_node(
        &self,
        rules: &ObjectRules,
        name: &str,
        seen: &mut [u64],
        run: &mut Run,
        mut fits: impl FnMut(u32, &mut Run) -> bool,
    ) -> bool {
        let mut node = UNLISTED;
        if let Some(named) = rules.names.get(name.as_bytes()) {
            node = named.node;
            seen[usize::from(named.word)] |= named.bit;
        }
        if rules.property_names != ANY && !self.name_fits(rules.property_names, name, run) {
            return false;
        }
        for (pattern, pattern_node) in &rules.patterns {
            if run.matches(pattern, name) {
                if *pattern_node != ANY && !fits(*pattern_node, run) {
                    return false;
                }
                if node == UNLISTED {
                    // Not an additional member.
                    node = ANY;
                }
            }
        }
        // Which rules apply is not known if a pattern gave no verdict.
        !run.is_undecided() && fits(if node == UNLISTED { rules.additional } else { node }, run)
    }
}
