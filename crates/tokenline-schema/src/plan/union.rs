//! `anyOf` and `oneOf`. If a member has another constant in each alternative, the alternative is looked up by it.

use std::collections::{HashMap, HashSet};

use tokenline_core::json::{Kind, KindSet, KnownString, Object, Value};

use super::names::Names;
use super::run::Run;
use super::{ANY, Applies, NONE, Node, Plan, Rule};

/// Alternatives for one value.
pub(super) struct Union {
    pub(super) branches: Vec<u32>,
    /// For `oneOf`: more than one is not allowed either.
    pub(super) is_exclusive: bool,
    pub(super) discriminator: Option<Discriminator>,
}

/// A member whose value selects the alternative, such as `type` in serde's tagged enums. At least two alternatives allow
/// only certain strings for it.
pub(super) struct Discriminator {
    pub(super) name: KnownString,
    /// The position in `lists` of the alternatives for a string.
    strings: Names<u32>,
    lists: Vec<Vec<u32>>,
    /// The alternatives for other strings.
    others: Vec<u32>,
}

impl Discriminator {
    /// The alternatives for an object that has the member, with a string; and the position after it if it is the first.
    #[inline(always)]
    fn branches(&self, object: Object<'_>) -> Option<(&[u32], Option<u32>)> {
        let mut members = object.iter();
        match members.next_if(&self.name) {
            Some(member) if !object.has_repeated_name() => {
                Some((self.branches_for(member)?, Some(members.position())))
            }
            _ => Some((self.branches_for(object.get(self.name.as_str())?)?, None)),
        }
    }

    /// The alternatives for objects of which this is the member; `None` if it is not a string.
    #[inline(always)]
    pub(super) fn branches_for(&self, member: Value<'_>) -> Option<&[u32]> {
        if member.kind() != Kind::String {
            return None;
        }
        let list = self.strings.find_value(member).and_then(|at| self.lists.get(*at as usize));
        Some(list.unwrap_or(&self.others))
    }
}

/// How many nodes that validate the same value are searched for the constants of an alternative.
const MOST_FACETS: usize = 64;
/// How many members and strings are looked at to find discriminators, for the whole schema. Many unions may have the same
/// large alternatives.
const FUEL: usize = 1 << 20;
/// The most entries in all lists together.
const MOST_LISTED: usize = 1 << 16;

impl Plan {
    #[inline(never)]
    pub(super) fn union_fits(&self, union: &Union, value: Value<'_>, run: &mut Run) -> bool {
        let mut branches = union.branches.as_slice();
        if let Some(discriminator) = &union.discriminator
            && let Some(object) = value.as_object()
            && let Some((selected, after_tag)) = discriminator.branches(object)
        {
            if let [branch] = selected {
                let rules = self.objects.get(self.nodes[*branch as usize].object as usize);
                return match rules {
                    Some(rules) if after_tag.is_some() && rules.begins_with_tag => {
                        self.object_fits(rules, object, after_tag, run)
                    }
                    _ => self.fits(*branch, value, run),
                };
            }
            branches = selected;
        }
        fits(branches, union.is_exclusive, |branch| self.fits(branch, value, run))
    }

    pub(super) fn name_fits_union(&self, union: &Union, name: &str, run: &mut Run) -> bool {
        fits(&union.branches, union.is_exclusive, |branch| self.name_fits(branch, name, run))
    }

    pub(super) fn find_discriminators(&mut self) {
        let mut fuel = FUEL;
        for at in 0..self.unions.len() {
            let found = self.discriminator(&self.unions[at].branches, &mut fuel);
            let Some(mut discriminator) = found else { continue };
            // In WebAssembly, this is not worth its code.
            if !cfg!(target_family = "wasm") {
                let mut known = HashMap::new();
                for branch in discriminator.lists.iter_mut().flatten() {
                    let original = *branch;
                    *branch = *known.entry(original).or_insert_with(|| {
                        self.without_member(original, discriminator.name.as_str(), &mut fuel)
                    });
                }
            }
            self.unions[at].discriminator = Some(discriminator);
        }
    }

    /// An alternative for values of which a member is known to be one of its strings: the same node if there is more to
    /// the member.
    fn without_member(&mut self, branch: u32, name: &str, fuel: &mut usize) -> u32 {
        let node = self.nodes[branch as usize];
        let Some(rules) = self.objects.get(node.object as usize).filter(|rules| rules.is_simple) else {
            return branch;
        };
        let Some(member) =
            rules.names.get(name.as_bytes()).and_then(|member| self.nodes.get(member.node as usize))
        else {
            return branch;
        };
        let is_alone = member.constants.1 - member.constants.0 == 1 && !member.has_rules();
        if !is_alone || member.string != NONE || !member.kinds.contains(Kind::String) {
            return branch;
        }
        let Some(left) = fuel.checked_sub(rules.names.len()) else { return branch };
        *fuel = left;
        let mut rules = rules.clone();
        if let Some(member) = rules.names.value_mut(name.as_bytes()) {
            (member.node, member.plain) = (ANY, KindSet::ALL);
        }
        rules.begins_with_tag = matches!(node.applies, Applies::OfKind)
            && node.kinds.contains(Kind::Object)
            && !node.is_shared
            && rules.names.entries().first().is_some_and(|first| first.name.as_str() == name);
        let node = Node { object: self.objects.len() as u32, ..node };
        self.objects.push(rules);
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The member whose strings most alternatives restrict.
    fn discriminator(&self, branches: &[u32], fuel: &mut usize) -> Option<Discriminator> {
        let mut allowed = Vec::with_capacity(branches.len());
        for &branch in branches {
            allowed.push(self.string_members(branch, fuel));
        }
        let mut names: Vec<(&str, usize)> = Vec::new();
        let mut positions = HashMap::new();
        for (name, _) in allowed.iter().flatten() {
            let at = *positions.entry(*name).or_insert(names.len());
            if at == names.len() {
                names.push((name, 0));
            }
            names[at].1 += 1;
        }
        // Of equals, the first.
        let (name, count) = names.into_iter().rev().max_by_key(|(_, count)| *count)?;
        if count < 2 {
            return None;
        }
        positions.clear();
        let (mut of_name, mut others, mut strings) = (Vec::new(), Vec::new(), Vec::new());
        for (members, &branch) in allowed.iter().zip(branches) {
            let member = members.iter().find(|(other, _)| *other == name);
            if member.is_none() {
                others.push(branch);
            }
            for &string in member.map(|(_, strings)| strings).into_iter().flatten() {
                let at = *positions.entry(string).or_insert(strings.len());
                if at == strings.len() {
                    strings.push(string);
                }
            }
            of_name.push(member.map(|(_, strings)| strings));
        }
        if strings.len().saturating_mul(others.len() + 1) > MOST_LISTED {
            return None;
        }
        let mut lists = vec![Vec::new(); strings.len()];
        // The last branch in each list.
        let mut last = vec![None; strings.len()];
        for (at, (&branch, allowed)) in branches.iter().zip(of_name).enumerate() {
            let Some(allowed) = allowed else {
                lists.iter_mut().for_each(|list| list.push(branch));
                continue;
            };
            for string in allowed {
                let list = positions[string];
                if last[list].replace(at) != Some(at) {
                    lists[list].push(branch);
                }
            }
        }
        let strings = Names::new(strings.iter().enumerate().map(|(at, string)| (*string, at as u32)));
        Some(Discriminator { name: KnownString::new(name), strings, lists, others })
    }

    /// The members for which an alternative allows only some strings, of all strings.
    fn string_members(&self, branch: u32, fuel: &mut usize) -> Vec<(&str, Vec<&str>)> {
        let mut members: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut seen = HashSet::new();
        for facet in self.facets(branch) {
            let Some(rules) = self.objects.get(facet.object as usize) else { continue };
            for member in rules.names.entries() {
                let name = member.name.as_str();
                let strings = self.allowed_strings(member.value.node).filter(|_| !seen.contains(name));
                let cost = 1 + strings.as_ref().map_or(0, Vec::len);
                let Some(left) = fuel.checked_sub(cost) else { return members };
                *fuel = left;
                if let Some(strings) = strings {
                    seen.insert(name);
                    members.push((name, strings));
                }
            }
        }
        members
    }

    /// The strings that a node allows, if it does not allow all.
    fn allowed_strings(&self, node: u32) -> Option<Vec<&str>> {
        let constants = self.facets(node).into_iter().find_map(|facet| self.constants_of(facet).first());
        constants.map(|constants| constants.strings().collect())
    }

    /// A node, and those that must fit the same value with it.
    fn facets(&self, node: u32) -> Vec<&Node> {
        let mut facets: Vec<&Node> = Vec::new();
        let mut open = vec![node];
        while let Some(at) = open.pop()
            && facets.len() < MOST_FACETS
        {
            let Some(node) = self.nodes.get(at as usize) else { continue };
            facets.push(node);
            open.extend(self.rules_of(node).iter().filter_map(|rule| match rule {
                Rule::All(node) => Some(*node),
                _ => None,
            }));
        }
        facets
    }
}

#[inline]
fn fits(branches: &[u32], is_exclusive: bool, mut fits: impl FnMut(u32) -> bool) -> bool {
    let mut branches = branches.iter();
    // The first that fits, then no other.
    branches.any(|&branch| fits(branch)) && !(is_exclusive && branches.any(|&branch| fits(branch)))
}
