//! Chooses the intended alternative of `anyOf` or `oneOf`.

use std::collections::HashSet;

use serde_json::Value as Owned;
use tokenline_core::json::{Kind, Value};

use super::walk::{OutOfFuel, Step, Walk};
use crate::compare;
use crate::literals::Literals;
use crate::messages;
use crate::place::Place;

/// The cost of examining one schema object, in bytes of values validated.
const FACET: usize = 64;

/// An alternative, and what distinguishes it from the others.
struct Branch<'s> {
    place: Place<'s>,
    /// The types it allows; `None` for all.
    types: Option<Vec<&'s str>>,
    /// The constants it allows for the value itself.
    constants: Option<Vec<&'s Owned>>,
    /// Members for which it allows only constants.
    pinned: Vec<(&'s str, Vec<&'s Owned>)>,
    required: Vec<&'s str>,
}

/// The step to the intended alternative, or the message if there is no such alternative. The value fits none
/// of them.
pub(super) fn choose_branch<'s, 'v>(
    walk: &mut Walk<'_>,
    literals: &'s Literals,
    schema_path: String,
    branches: Vec<Place<'s>>,
    value: Value<'v>,
) -> Result<Step<'s, 'v>, OutOfFuel> {
    let mut read = Vec::with_capacity(branches.len());
    for place in branches {
        read.push(Branch::new(walk, place)?);
    }
    Ok(choose(literals, schema_path, read, value))
}

fn choose<'s, 'v>(
    literals: &'s Literals,
    schema_path: String,
    branches: Vec<Branch<'s>>,
    value: Value<'v>,
) -> Step<'s, 'v> {
    let all = branches.len();
    // If every alternative is a list of constants, the union is one list.
    if branches.iter().all(|branch| branch.constants.is_some()) {
        let mut constants = Vec::new();
        branches.iter().for_each(|branch| constants.extend(branch.constants.iter().flatten()));
        return Step::fault(schema_path, messages::one_of(&constants, value, literals));
    }
    let (mut branches, other_kinds): (Vec<_>, Vec<_>) =
        branches.into_iter().partition(|branch| branch.allows_kind(value.kind()));
    if branches.is_empty() {
        let mut types = Vec::new();
        for name in other_kinds.iter().flat_map(Branch::types) {
            if let Err(at) = types.binary_search(&name) {
                types.insert(at, name);
            }
        }
        return Step::fault(schema_path, messages::wrong_kind(&types, value));
    }
    if value.kind() == Kind::Object
        && let Some(fault) = by_members(literals, &schema_path, &mut branches, value)
    {
        return fault;
    }
    if branches.len() == 1
        && let Some(branch) = branches.pop()
    {
        return Step::Into(branch.place);
    }
    Step::fault(schema_path, format!("matches none of the {all} alternatives"))
}

/// Keeps the alternatives that the object's members allow. Otherwise returns what is wrong with the members
/// that tell them apart.
fn by_members<'s, 'v>(
    literals: &'s Literals,
    schema_path: &str,
    branches: &mut Vec<Branch<'s>>,
    value: Value<'v>,
) -> Option<Step<'s, 'v>> {
    while branches.len() > 1 {
        let Some(name) = discriminator(branches, value) else { break };
        let mut constants = Vec::new();
        branches.iter().for_each(|branch| constants.extend_from_slice(branch.pins(name).unwrap_or_default()));
        let Some(member) = value.get(name) else {
            let message = messages::missing_discriminator(name, &constants, literals);
            return Some(Step::fault(schema_path.to_owned(), message));
        };
        if !branches.iter().any(|branch| branch.agrees(name, member)) {
            return Some(Step::fault_of(
                schema_path.to_owned(),
                name,
                member,
                messages::one_of(&constants, member, literals),
            ));
        }
        branches.retain(|branch| branch.agrees(name, member));
    }
    // Alternatives with constants can be ruled out by them, even if others have none. If the name of a member
    // distinguishes the alternatives, as in Rust's enums, the one with that name remains.
    let is_there = |name: &&str| value.get(name).is_some();
    narrow(branches, |branch| {
        branch.pinned.iter().all(|(name, _)| value.get(name).is_none_or(|member| branch.agrees(name, member)))
    });
    narrow(branches, |branch| branch.required.iter().all(is_there));
    let mut names = Vec::new();
    for branch in &*branches {
        let [name] = branch.required[..] else { return None };
        names.push(name);
    }
    if names.len() < 2 || names.iter().any(is_there) {
        return None;
    }
    Some(Step::fault(schema_path.to_owned(), messages::one_of_members(&names)))
}

/// Keeps the alternatives for which `keep` is true, if there are any.
fn narrow(branches: &mut Vec<Branch<'_>>, keep: impl Fn(&Branch<'_>) -> bool) {
    if branches.iter().any(&keep) {
        branches.retain(keep);
    }
}

/// A member with constants in all alternatives, not all the same, that the value has or that all alternatives
/// require. Prefers one that distinguishes all alternatives.
fn discriminator<'s>(branches: &[Branch<'s>], value: Value<'_>) -> Option<&'s str> {
    let first = branches.first()?;
    let mut found = None;
    for (name, pins) in &first.pinned {
        // A member that the value has settled no longer distinguishes the remaining alternatives.
        let is_candidate = match value.get(name) {
            Some(member) => !branches.iter().all(|branch| branch.agrees(name, member)),
            None => branches.iter().all(|branch| branch.required.contains(name)),
        };
        if !is_candidate || !branches.iter().all(|branch| branch.pins(name).is_some()) {
            continue;
        }
        let others = || branches.iter().filter_map(|branch| branch.pins(name));
        if others().all(|others| first.are_same(pins, others)) {
            continue;
        }
        let mut texts: HashSet<Box<str>> = HashSet::new();
        let literals = first.place.literals();
        if others().flatten().all(|constant| texts.insert(literals.json(constant).into())) {
            return Some(name);
        }
        found = found.or(Some(*name));
    }
    found
}

impl<'s> Branch<'s> {
    fn new(walk: &mut Walk<'_>, place: Place<'s>) -> Result<Self, OutOfFuel> {
        let facets = place.facets();
        let mut branch =
            Self { place, types: None, constants: None, pinned: Vec::new(), required: Vec::new() };
        for facet in &facets {
            walk.spend(FACET)?;
            if facet.schema.as_bool() == Some(false) {
                branch.types = Some(Vec::new());
            }
            if let Some(types) = facet.keyword("type").map(messages::names) {
                match &mut branch.types {
                    None => branch.types = Some(types),
                    Some(known) => *known = both(known, &types),
                }
            }
            branch.constants = branch.constants.take().or_else(|| constants(facet));
            let required = facet.keyword("required").and_then(Owned::as_array);
            branch.required.extend(required.into_iter().flatten().filter_map(Owned::as_str));
            for name in facet.names("properties") {
                walk.spend(0)?;
                let member = facet.named_child("properties", name).filter(may_pin);
                let facets = member.map(|member| member.facets()).unwrap_or_default();
                walk.spend(facets.len() * FACET)?;
                if let Some(constants) = facets.iter().find_map(constants) {
                    branch.pinned.push((name, constants));
                }
            }
        }
        Ok(branch)
    }

    fn allows_kind(&self, kind: Kind) -> bool {
        let by_type = self.types.as_ref().is_none_or(|types| types.iter().any(|name| is_kind(name, kind)));
        let by_constant = self
            .constants
            .as_ref()
            .is_none_or(|constants| constants.iter().any(|constant| is_kind(kind_of(constant), kind)));
        by_type && by_constant
    }

    /// The types it allows, if it names any.
    fn types(&self) -> impl Iterator<Item = &'s str> {
        let by_constant = self.constants.iter().flatten().map(|constant| kind_of(constant));
        let by_type = self.types.iter().flatten().copied();
        by_type.chain(by_constant.filter(|_| self.types.is_none()))
    }

    /// The constants it allows for a member.
    fn pins(&self, name: &str) -> Option<&[&'s Owned]> {
        self.pinned.iter().find(|(pinned, _)| *pinned == name).map(|(_, constants)| constants.as_slice())
    }

    /// Whether two lists of constants are the same.
    fn are_same(&self, one: &[&Owned], other: &[&Owned]) -> bool {
        let literals = self.place.literals();
        one.len() == other.len()
            && one.iter().zip(other).all(|(one, other)| literals.json(one) == literals.json(other))
    }

    /// Whether its constants allow this value of a member.
    fn agrees(&self, name: &str, member: Value<'_>) -> bool {
        let number = |number| self.place.literals().number(number).unwrap_or_default();
        self.pins(name).is_none_or(|constants| {
            constants.iter().any(|constant| compare::equals(member, constant, &number))
        })
    }
}

/// Whether a place may have constants; most members have none.
fn may_pin(member: &Place<'_>) -> bool {
    ["const", "enum", "$ref", "allOf"].iter().any(|keyword| member.keyword(keyword).is_some())
}

/// The only values that a schema allows, by `const` or `enum`.
fn constants<'s>(place: &Place<'s>) -> Option<Vec<&'s Owned>> {
    match (place.keyword("const"), place.keyword("enum")) {
        (Some(constant), _) => Some(vec![constant]),
        (None, Some(Owned::Array(constants))) => Some(constants.iter().collect()),
        _ => None,
    }
}

/// The types that two lists both allow.
fn both<'s>(a: &[&'s str], b: &[&'s str]) -> Vec<&'s str> {
    let allowed = |name: &&&str| b.contains(name) || (**name == "integer" && b.contains(&"number"));
    let narrowed = b.contains(&"integer") && a.contains(&"number") && !a.contains(&"integer");
    a.iter().filter(allowed).copied().chain(narrowed.then_some("integer")).collect()
}

fn is_kind(name: &str, kind: Kind) -> bool {
    name == kind.as_str() || (name == "integer" && kind == Kind::Number)
}

fn kind_of(value: &Owned) -> &'static str {
    match value {
        Owned::Null => "null",
        Owned::Bool(_) => "boolean",
        Owned::Number(_) => "number",
        Owned::String(_) => "string",
        Owned::Array(_) => "array",
        Owned::Object(_) => "object",
    }
}
