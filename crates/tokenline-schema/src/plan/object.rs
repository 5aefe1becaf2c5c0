//! Rules for objects: one pass over the members.

use tokenline_core::json::{Object, Value};

use super::names::Names;
use super::run::Run;
use super::string::Pattern;
use super::{ANY, Plan, Types};
use crate::tape::{distinct_len, distinct_members};

/// The rules for an object.
pub(super) struct ObjectRules {
    /// The members that the rules name.
    pub(super) names: Names<Member>,
    /// Whether only `properties`, `required` of few members and `additionalProperties` apply.
    pub(super) is_simple: bool,
    /// The required members.
    pub(super) required: MemberSet,
    pub(super) dependents: Vec<Dependent>,
    pub(super) patterns: Vec<(Pattern, u32)>,
    /// The node for members that are in neither `properties` nor `patternProperties`.
    pub(super) additional: u32,
    pub(super) additional_plain: Types,
    pub(super) property_names: u32,
    pub(super) min_properties: u64,
    pub(super) max_properties: u64,
}

/// A member with a name of the schema.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Its node under `properties`; [`UNLISTED`] if it is not there, unless the node for additional members applies.
    pub(super) node: u32,
    /// The types of values for which the node needs no visit.
    pub(super) plain: Types,
    /// Its bit in a [`MemberSet`]: the word, and the bit in it. No bit if it does not matter whether it is there.
    pub(super) word: u8,
    pub(super) bit: u64,
}

pub(super) const UNLISTED: u32 = u32::MAX;

/// The most members of which it matters whether they are there.
pub(super) const MOST_TRACKED: usize = 1024;
const MOST_WORDS: usize = MOST_TRACKED / 64;

/// A set of members, by their bits.
#[derive(Clone, Default)]
pub(super) struct MemberSet(Vec<u64>);

impl MemberSet {
    pub(super) fn insert(&mut self, bit: u32) {
        let word = bit as usize / 64;
        self.0.resize(self.0.len().max(word + 1), 0);
        self.0[word] |= 1 << (bit % 64);
    }

    #[inline(always)]
    fn is_in(&self, seen: &[u64]) -> bool {
        self.0.iter().zip(seen).all(|(own, seen)| own & !seen == 0)
    }
}

/// `dependentRequired`, `dependentSchemas` and `dependencies` for one member.
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

    /// Whether a member is in `properties`.
    fn is_listed(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|named| named.node != UNLISTED)
    }

    /// Whether rules apply to names, or to members by patterns of their names.
    pub(super) fn checks_names(&self) -> bool {
        !self.patterns.is_empty() || self.property_names != ANY
    }

    fn ignores_members(&self) -> bool {
        self.names.is_empty() && self.additional == ANY && !self.checks_names()
    }
}

impl Plan {
    #[inline(always)]
    pub(super) fn object_fits(
        &self,
        rules: &ObjectRules,
        value: Value<'_>,
        object: Object<'_>,
        run: &mut Run,
    ) -> bool {
        if rules.is_simple && !object.has_repeated_name() {
            self.members_fit::<1, false>(rules, value, object.iter(), run)
        } else {
            self.any_object_fits(rules, value, object, run)
        }
    }

    #[inline(never)]
    fn any_object_fits(
        &self,
        rules: &ObjectRules,
        value: Value<'_>,
        object: Object<'_>,
        run: &mut Run,
    ) -> bool {
        if rules.min_properties > 0 || rules.max_properties < u64::MAX {
            let len = distinct_len(object) as u64;
            if !(rules.min_properties..=rules.max_properties).contains(&len) {
                return false;
            }
        }
        rules.ignores_members()
            || self.members_fit::<MOST_WORDS, true>(rules, value, distinct_members(object), run)
    }

    #[inline(always)]
    fn members_fit<'v, const WORDS: usize, const CHECKS_NAMES: bool>(
        &self,
        rules: &ObjectRules,
        value: Value<'v>,
        members: impl Iterator<Item = (&'v str, Value<'v>)>,
        run: &mut Run,
    ) -> bool {
        let mut seen = [0_u64; WORDS];
        for (name, member) in members {
            let (mut node, mut plain) = (rules.additional, rules.additional_plain);
            if let Some(named) = rules.names.get(name) {
                (node, plain) = (named.node, named.plain);
                seen[named.word as usize % WORDS] |= named.bit;
            }
            if CHECKS_NAMES && rules.checks_names() {
                match self.name_fits_rules(rules, name, member, run) {
                    None => return false,
                    // Not an additional member.
                    Some(true) if !rules.is_listed(name) => continue,
                    Some(_) if node == UNLISTED => (node, plain) = (rules.additional, rules.additional_plain),
                    Some(_) => {}
                }
            }
            if !plain.has(Types::of(member.kind())) && !self.fits(node, member, run) {
                return false;
            }
        }
        rules.required.is_in(&seen)
            && (rules.dependents.is_empty() || self.dependents_fit(rules, value, &seen, run))
    }

    #[inline(never)]
    fn dependents_fit(&self, rules: &ObjectRules, value: Value<'_>, seen: &[u64], run: &mut Run) -> bool {
        rules.dependents.iter().all(|dependent| {
            !dependent.trigger.is_in(seen)
                || dependent.required.is_in(seen)
                    && (dependent.schema == ANY || self.fits(dependent.schema, value, run))
        })
    }

    /// `propertyNames` and `patternProperties` for a member: whether a pattern matches its name; `None` if it
    /// breaks a rule.
    #[inline(never)]
    fn name_fits_rules(
        &self,
        rules: &ObjectRules,
        name: &str,
        member: Value<'_>,
        run: &mut Run,
    ) -> Option<bool> {
        if rules.property_names != ANY && !self.name_fits(rules.property_names, name, run) {
            return None;
        }
        let mut is_matched = false;
        for (pattern, node) in &rules.patterns {
            if pattern.matches(name, run) {
                is_matched = true;
                if *node != ANY && !self.fits(*node, member, run) {
                    return None;
                }
            }
        }
        Some(is_matched)
    }
}
