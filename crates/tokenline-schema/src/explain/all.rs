//! All rules that a value breaks, not just the first.

use std::collections::HashSet;

use tokenline_core::json::Value;

use super::subschema_validator::SubschemaValidator;
use super::walk::{BrokenRule, Step, Walk};
use crate::place::Document;
use crate::pointer;

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
    let mut seen = HashSet::new();
    let mut open = vec![(document.root(), value, String::new())];
    while let Some((place, value, path)) = open.pop()
        && broken_rules.len() < at_most
        && let Ok(steps) = walk.steps(&place, value)
    {
        let mut report = |broken: BrokenRule| {
            if broken_rules.len() < at_most
                && seen.insert((broken.instance_path.clone(), broken.schema_path.clone()))
            {
                broken_rules.push(broken);
            }
        };
        if steps.is_empty() {
            report(walk.down(place, value, path));
            continue;
        }
        let pushed_from = open.len();
        for step in steps {
            match step {
                Step::Into(place) => open.push((place, value, path.clone())),
                Step::Part(place, name, part) => {
                    let mut path = path.clone();
                    pointer::push(&mut path, &name);
                    open.push((place, part, path));
                }
                Step::Fault { schema_path, part, message } => {
                    report(BrokenRule::new(path.clone(), value, schema_path, part, message));
                }
            }
        }
        // Visit the first part first.
        open[pushed_from..].reverse();
    }
    if broken_rules.is_empty() {
        broken_rules.push(walk.down(document.root(), value, String::new()));
    }
    broken_rules.sort_by_key(|broken| broken.offset);
    broken_rules
}
