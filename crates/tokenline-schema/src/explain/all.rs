//! Everything that breaks a schema, not just what is reported first.

use std::collections::HashSet;

use tokenline_core::json::Value;

use super::subschema_validator::SubschemaValidator;
use super::walk::{Finding, Step, Walk};
use crate::place::Document;
use crate::pointer;

/// Finds all that there is to report of a value that breaks a schema, in the order of the places, at most so much: at
/// each place every rule that is broken, and of the parts every one that does not fit. Ends early where the work
/// would be too much, but never without a finding.
pub(crate) fn explain_all(
    document: &Document,
    subschema_validator: &SubschemaValidator,
    value: Value<'_>,
    at_most: usize,
) -> Vec<Finding> {
    let mut walk = Walk::new(subschema_validator, value);
    let mut findings = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![(document.root(), value, String::new())];
    while let Some((place, value, path)) = open.pop()
        && findings.len() < at_most
        && let Ok(steps) = walk.steps(&place, value)
    {
        let mut report = |finding: Finding| {
            if findings.len() < at_most
                && seen.insert((finding.instance_path.clone(), finding.schema_path.clone()))
            {
                findings.push(finding);
            }
        };
        if steps.is_empty() {
            report(walk.down(place, value, path));
            continue;
        }
        let further = open.len();
        for step in steps {
            match step {
                Step::Into(place) => open.push((place, value, path.clone())),
                Step::Part(place, name, part) => {
                    let mut path = path.clone();
                    pointer::push(&mut path, &name);
                    open.push((place, part, path));
                }
                Step::Fault { schema_path, part, message } => {
                    report(Finding::new(path.clone(), value, schema_path, part, message));
                }
            }
        }
        // The first part is looked at first.
        open[further..].reverse();
    }
    if findings.is_empty() {
        findings.push(walk.down(document.root(), value, String::new()));
    }
    findings.sort_by_key(|finding| finding.offset);
    findings
}
