//! Limits how often one value may be validated, because references and combinators multiply: thirty `anyOf`
//! of two references each, every one to the next, lead to the last on 2³⁰ paths, and jsonschema follows all
//! of them. Such schemas are rejected.
//!
//! The paths are counted without following them: each subschema is visited once, so counting is linear in the
//! schema.

use std::collections::HashMap;

use serde_json::Value;

use super::References;
use crate::error::{SchemaError, SchemaErrorKind};
use crate::place::Document;
use crate::tree::{address, children, path_of};

/// Including parts of a value, so many times as many paths are allowed: to cause the most work, an attacker
/// needs a record as deep as the schema. The schema of Vega-Lite, 1.5 MB, has 1.2 million such paths, and 40
/// to one value.
const NESTED: u64 = 512;
/// This many paths per subschema are always allowed: a long list of alternatives does not multiply.
const PER_SUBSCHEMA: u64 = 16;

/// How many anchors of one name are considered: a dynamic reference leads to one of them.
const SAME_ANCHORS: usize = 64;

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The most steps that validating a value, including its parts, may take with each subschema, by the
/// subschema's address in its document.
#[derive(Debug, Default)]
pub(crate) struct Costs(HashMap<usize, u64>);

impl Costs {
    /// The cost of a subschema that was counted; 1 for all others.
    pub(crate) fn of(&self, schema: &Value) -> u64 {
        self.0.get(&address(schema)).copied().unwrap_or(1)
    }
}

/// Counts the paths through a schema.
///
/// # Errors
///
/// If more than `max_paths` paths lead from one subschema to others that validate the same value.
pub(crate) fn count(document: &Document, max_paths: u64) -> Result<Costs, SchemaError> {
    // A reference to nowhere is reported when the schema is compiled.
    let Some(nodes) = graph(document) else { return Ok(Costs::default()) };
    let too_costly = |node: &Node, count: u64, most: u64| {
        let count = if count == u64::MAX { "very many".to_owned() } else { count.to_string() };
        let reason = format!(
            "references and combinators multiply: one value could be validated on {count} paths, more than {most}; refer \
             to a subschema once, not from several alternatives"
        );
        SchemaError::new(SchemaErrorKind::Cost, path_of(&document.schema, node.address), reason)
    };

    let most = max_paths.max(PER_SUBSCHEMA.saturating_mul(nodes.len() as u64));
    let counts = count_paths(&nodes, |node, paths| total(&node.same, paths));
    // Report the innermost, which is the most precise.
    let worst =
        nodes.iter().zip(&counts).filter(|(_, count)| **count > most).min_by_key(|(_, count)| **count);
    if let Some((node, count)) = worst {
        return Err(too_costly(node, *count, most));
    }

    let most = most.saturating_mul(NESTED);
    let counts = count_paths(&nodes, |node, paths| {
        let deepest = node.members.iter().map(|&at| paths(at)).max().unwrap_or(0);
        total(&node.same, paths).saturating_add(total(&node.parts, paths)).saturating_add(deepest)
    });
    match (nodes.first(), counts.first()) {
        (Some(root), Some(&count)) if count > most => Err(too_costly(root, count, most)),
        _ => Ok(Costs(nodes.iter().map(|node| node.address).zip(counts).collect())),
    }
}

/// A subschema, and the graph indices of the subschemas that it applies.
struct Node {
    address: usize,
    /// Applied to the same value.
    same: Vec<usize>,
    /// Applied to parts of the value; several may apply to one part.
    parts: Vec<usize>,
    /// Applied to parts of the value, each to a different one.
    members: Vec<usize>,
}

/// The subschemas that validation can reach; the root is the first. None if no references could multiply, or
/// if they cannot be resolved.
fn graph(document: &Document) -> Option<Vec<Node>> {
    if references(&document.schema) < 2 && document.resources.is_empty() {
        return None;
    }
    let draft = document.draft;
    let references = References::new(document)?;
    let scope = references.scope()?;

    // The targets of dynamic references, by the anchor's name; those of recursive ones have an empty name.
    let mut anchors: HashMap<&str, Vec<_>> = HashMap::new();
    let mut open = vec![(&document.schema, scope.clone())];
    while let Some((value, outer)) = open.pop() {
        let own = outer.of(value, draft);
        let named = value.get("$dynamicAnchor").and_then(Value::as_str);
        let recursive = value.get("$recursiveAnchor").and_then(Value::as_bool).filter(|is| *is).map(|_| "");
        for name in named.into_iter().chain(recursive) {
            anchors.entry(name).or_default().push((value, own.clone()));
        }
        open.extend(children(value).into_iter().map(|child| (child, own.clone())));
    }

    let mut places = HashMap::from([(address(&document.schema), 0)]);
    // In the order of their indices.
    let mut queue = vec![(&document.schema, scope)];
    let mut nodes = Vec::new();
    while let Some((schema, outer)) = queue.get(nodes.len()).cloned() {
        let own = outer.of(schema, draft);
        let mut targets = Vec::new();
        for keyword in REFERENCES {
            let Some(reference) = schema.get(keyword).and_then(Value::as_str) else { continue };
            targets.extend(own.find(reference));
            if keyword != "$ref" {
                let name = reference.rsplit_once('#').map_or("", |(_, name)| name);
                targets.extend(anchors.get(name).into_iter().flatten().take(SAME_ANCHORS).cloned());
            }
        }
        let applied = Applied::by(schema);
        let mut place = |(schema, scope)| {
            *places.entry(address(schema)).or_insert_with(|| {
                queue.push((schema, scope));
                queue.len() - 1
            })
        };
        let mut same: Vec<usize> = targets.into_iter().map(&mut place).collect();
        let mut all =
            |schemas: Vec<_>| schemas.into_iter().map(|schema| place((schema, own.clone()))).collect();
        same.extend::<Vec<_>>(all(applied.same));
        let (parts, members) = (all(applied.parts), all(applied.members));
        nodes.push(Node { address: address(schema), same, parts, members });
    }
    Some(nodes)
}

/// How many references there may be in a schema.
pub(crate) fn references(schema: &Value) -> usize {
    let mut references = 0;
    walk(schema, |value| {
        references += REFERENCES.iter().filter(|keyword| value.get(keyword).is_some()).count();
    });
    references
}

/// The subschemas applied by keywords, without references, as in [`Node`]. Covers all drafts: counting
/// unknown keywords does no harm.
#[derive(Default)]
struct Applied<'s> {
    same: Vec<&'s Value>,
    parts: Vec<&'s Value>,
    members: Vec<&'s Value>,
}

impl<'s> Applied<'s> {
    fn by(schema: &'s Value) -> Self {
        let mut applied = Self::default();
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let kind = match keyword.as_str() {
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
                | "dependencies" => &mut applied.same,
                "properties" | "prefixItems" => &mut applied.members,
                "items" if value.is_array() => &mut applied.members,
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "contains"
                | "patternProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties" => &mut applied.parts,
                _ => continue,
            };
            match keyword.as_str() {
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies" => {
                    kind.extend(children(value).into_iter().filter(|child| child.is_object()));
                }
                _ if value.is_array() => kind.extend(children(value)),
                _ => kind.push(value),
            }
        }
        applied
    }
}

/// For each node, 1 plus `sum` over the counts of others. Each node is counted once.
///
/// A path that returns to a subschema it is inside ends there, but only the second time: jsonschema remembers
/// verdicts only on these, and only if they took work. Which node that is depends on the order of the paths,
/// so both orders are counted.
fn count_paths(nodes: &[Node], sum: impl Fn(&Node, &dyn Fn(usize) -> u64) -> u64) -> Vec<u64> {
    let [first, second] = [false, true].map(|reversed| {
        let once = count_paths_in_order(nodes, reversed, &vec![1; nodes.len()], &sum);
        count_paths_in_order(nodes, reversed, &once, &sum)
    });
    first.into_iter().zip(second).map(|(first, second)| first.max(second)).collect()
}

fn count_paths_in_order(
    nodes: &[Node],
    reversed: bool,
    again: &[u64],
    sum: &impl Fn(&Node, &dyn Fn(usize) -> u64) -> u64,
) -> Vec<u64> {
    let mut counts: Vec<Option<u64>> = vec![None; nodes.len()];
    let mut is_open = vec![false; nodes.len()];
    // The root reaches all others. Without recursion: a chain of references may have a million links.
    let mut open = vec![0];
    while let Some(&at) = open.last() {
        let node = &nodes[at];
        if counts[at].is_some() {
            open.pop();
        } else if is_open[at] {
            let count = |next: usize| counts[next].unwrap_or(again[next]);
            counts[at] = Some(sum(node, &count).saturating_add(1));
            open.pop();
        } else {
            is_open[at] = true;
            let pushed_from = open.len();
            let all = node.same.iter().chain(&node.parts).chain(&node.members);
            open.extend(all.filter(|&&next| !is_open[next]));
            if reversed {
                open[pushed_from..].reverse();
            }
        }
    }
    counts.into_iter().map(|count| count.unwrap_or(1)).collect()
}

fn total(places: &[usize], paths: &dyn Fn(usize) -> u64) -> u64 {
    places.iter().fold(0, |total, &at| total.saturating_add(paths(at)))
}

fn walk<'s>(value: &'s Value, mut visit: impl FnMut(&'s Value)) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        visit(value);
        open.extend(children(value));
    }
}
