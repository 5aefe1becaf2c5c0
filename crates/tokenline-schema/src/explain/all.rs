//! All rules that a value breaks, not just the first.

use std::collections::HashSet;

use tokenline_core::json::Value;

use super::subschema_validator::SubschemaValidator;
use super::walk::{BrokenRule, Step, Walk};
use crate::order::in_order;
use crate::place::{Document, Place};
use crate::pointer;

/// The first rule found that is broken at or inside a part of an open value. The part is complete; what is beside it is
/// not examined: open values break rules that they may yet keep, and a verdict may take long.
pub(crate) fn explain_inside(
    document: &Document,
    subschema_validator: &SubschemaValidator,
    value: Value<'_>,
    part: Value<'_>,
) -> Option<BrokenRule> {
    let range = part.range();
    let mut walk = Walk::new(subschema_validator, value).inside(range.clone());
    let mut open = vec![(document.root(), value, String::new())];
    while let Some((place, value, path)) = open.pop() {
        if range.contains(&value.range().start) {
            return Some(walk.down(place, value, path));
        }
        let steps = walk.steps(&place, value).ok()?;
        let broken_rules = follow(steps, (value, &path), &mut open);
        if let Some(broken) = broken_rules.into_iter().find(|broken| range.contains(&broken.offset)) {
            return Some(broken);
        }
    }
    None
}

/// A place to visit, with the value there and its path.
type Visit<'s, 'v> = (Place<'s>, Value<'v>, String);

/// Takes the steps from a value: the rules that it breaks itself. The first place to go on with is the last one of `open`.
fn follow<'s, 'v>(
    steps: Vec<Step<'s, 'v>>,
    (value, path): (Value<'v>, &str),
    open: &mut Vec<Visit<'s, 'v>>,
) -> Vec<BrokenRule> {
    let pushed_from = open.len();
    let mut broken_rules = Vec::new();
    for step in steps {
        match step {
            Step::Into(place) => open.push((place, value, path.to_owned())),
            Step::Part(place, name, part) => {
                let mut path = path.to_owned();
                pointer::push(&mut path, &name);
                open.push((place, part, path));
            }
            Step::Fault { schema_path, part, message } => {
                broken_rules.push(BrokenRule::new(path.to_owned(), value, schema_path, part, message));
            }
        }
    }
    open[pushed_from..].reverse();
    broken_rules
}

/// All broken rules of an invalid value, in the order of their places, at most `at_most`: every rule broken
/// at each place, and every part that does not fit. Ends early if the work would be too much, but always
/// returns at least one.
pub(crate) fn explain_all(
    document: &Document,
    subschema_validator: &SubschemaValidator,
    value: Value<'_>,
    at_most: usize,
) -> Vec<BrokenRule> {
    let mut walk = Walk::new(subschema_validator, value);
    let mut broken_rules = Vec::new();
    let mut seen: HashSet<Box<str>> = HashSet::new();
    let mut open = vec![(document.root(), value, String::new())];
    while let Some((place, value, path)) = open.pop()
        && broken_rules.len() < at_most
        && let Ok(steps) = walk.steps(&place, value)
    {
        let mut report = |broken: BrokenRule| {
            if broken_rules.len() < at_most
                && seen.insert(format!("{}\n{}", broken.instance_path, broken.schema_path).into())
            {
                broken_rules.push(broken);
            }
        };
        if steps.is_empty() {
            report(walk.down(place, value, path));
            continue;
        }
        follow(steps, (value, &path), &mut open).into_iter().for_each(&mut report);
    }
    if broken_rules.is_empty() {
        broken_rules.push(walk.down(document.root(), value, String::new()));
    }
    in_order(&broken_rules, |broken| broken.offset).into_iter().cloned().collect()
}
