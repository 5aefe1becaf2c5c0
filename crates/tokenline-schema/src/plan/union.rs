//! `anyOf` and `oneOf`. Alternatives that a constant member tells apart are chosen by it.

use tokenline_core::json::{Kind, Value};

use super::names::Names;
use super::run::Run;
use super::{Node, Plan, Rule};

/// Alternatives for one value.
pub(super) struct Union {
    pub(super) branches: Vec<u32>,
    /// For `oneOf`: more than one is not allowed either.
    pub(super) is_exclusive: bool,
    pub(super) discriminator: Option<Discriminator>,
}

/// A member that tells alternatives apart: each of some requires one of its strings.
pub(super) struct Discriminator {
    name: Box<str>,
    /// The position in `lists` of the alternatives for a string.
    strings: Names<u32>,
    lists: Vec<Vec<u32>>,
    /// The alternatives for other strings.
    others: Vec<u32>,
}

/// How many nodes that validate the same value are searched for the constants of an alternative.
const MOST_FACETS: usize = 64;
/// The most entries in all lists together.
const MOST_LISTED: usize = 1 << 16;

impl Plan {
    pub(super) fn union_fits(&self, union: &Union, value: Value<'_>, run: &mut Run) -> bool {
        if let Some(discriminator) = &union.discriminator
            && let Some(member) = value.get(&discriminator.name)
            && member.kind() == Kind::String
            && let Some(text) = member.as_str()
        {
            let list = discriminator.strings.get(&text).map(|at| &discriminator.lists[at as usize]);
            let branches = list.unwrap_or(&discriminator.others);
            return fits(branches, union.is_exclusive, |branch| self.fits(branch, value, run));
        }
        fits(&union.branches, union.is_exclusive, |branch| self.fits(branch, value, run))
    }

    pub(super) fn name_fits_union(&self, union: &Union, name: &str, run: &mut Run) -> bool {
        fits(&union.branches, union.is_exclusive, |branch| self.name_fits(branch, name, run))
    }

    /// The member that tells the most alternatives apart.
    pub(super) fn discriminator(&self, branches: &[u32]) -> Option<Discriminator> {
        let allowed: Vec<_> = branches.iter().map(|&branch| self.string_members(branch)).collect();
        let mut names: Vec<(&str, usize)> = Vec::new();
        for (name, _) in allowed.iter().flatten() {
            match names.iter_mut().find(|(other, _)| other == name) {
                Some((_, count)) => *count += 1,
                None => names.push((name, 1)),
            }
        }
        // Of equals, the first.
        let (name, count) = names.into_iter().rev().max_by_key(|(_, count)| *count)?;
        if count < 2 {
            return None;
        }
        let mut of_name = Vec::new();
        for members in &allowed {
            let member = members.iter().find(|(other, _)| *other == name);
            of_name.push(member.map(|(_, strings)| strings.as_slice()));
        }
        let allowed = of_name;
        let others: Vec<u32> = branches
            .iter()
            .zip(&allowed)
            .filter(|(_, allowed)| allowed.is_none())
            .map(|(&branch, _)| branch)
            .collect();
        let mut strings: Vec<&str> = allowed.iter().flatten().copied().flatten().copied().collect();
        strings.sort_unstable();
        strings.dedup();
        if strings.len().saturating_mul(others.len() + 1) > MOST_LISTED {
            return None;
        }
        let positions = Names::new(strings.iter().enumerate().map(|(at, string)| (*string, at as u32)));
        let mut lists = vec![Vec::new(); strings.len()];
        for (&branch, allowed) in branches.iter().zip(&allowed) {
            match allowed {
                None => lists.iter_mut().for_each(|list| list.push(branch)),
                Some(allowed) => {
                    let mut at: Vec<_> = allowed.iter().filter_map(|string| positions.get(string)).collect();
                    at.sort_unstable();
                    at.dedup();
                    at.into_iter().for_each(|at| lists[at as usize].push(branch));
                }
            }
        }
        Some(Discriminator { name: name.into(), strings: positions, lists, others })
    }

    /// The members for which an alternative allows only some strings, of all strings.
    fn string_members(&self, branch: u32) -> Vec<(&str, Vec<&str>)> {
        let mut members: Vec<(&str, Vec<&str>)> = Vec::new();
        for facet in self.facets(branch) {
            let Some(rules) = self.objects.get(facet.object as usize) else { continue };
            for (name, member) in rules.names.iter() {
                if members.iter().any(|(other, _)| *other == name) {
                    continue;
                }
                if let Some(strings) = self.allowed_strings(member.node) {
                    members.push((name, strings));
                }
            }
        }
        members
    }

    /// The strings that a node allows, if it does not allow all.
    fn allowed_strings(&self, node: u32) -> Option<Vec<&str>> {
        self.facets(node).iter().flat_map(|facet| self.rules_of(facet)).find_map(|rule| match rule {
            Rule::Constants(at) => Some(self.constants[*at as usize].strings().collect()),
            _ => None,
        })
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
    if let [branch] = branches {
        return fits(*branch);
    }
    let mut branches = branches.iter();
    // The first that fits, then no other.
    branches.any(|&branch| fits(branch)) && !(is_exclusive && branches.any(|&branch| fits(branch)))
}
