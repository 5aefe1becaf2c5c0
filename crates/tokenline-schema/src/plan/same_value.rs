//! Subschemas that validate the same value as the one that has them.

use super::compile::{Compiler, Unsupported};
use super::{NOTHING, Node, Plan, Rule};

/// The longest chain of subschemas that validate the same value: the stack must hold one for each level of the
/// value.
const LONGEST_CHAIN: u32 = 64;

impl<'s> Compiler<'s, '_> {
    /// Checks that no chain of subschemas that validate the same value leads back to itself: then the verdict depends
    /// on where jsonschema ends the circle. Then marks the nodes that may be reached more than once for one value.
    pub(super) fn check_same_value(&mut self) -> Result<(), Unsupported<'s>> {
        let mut lengths = vec![Length::Unknown; self.plan.nodes.len()];
        let mut open: Vec<u32> = Vec::new();
        for root in 0..self.plan.nodes.len() as u32 {
            open.push(root);
            // Without recursion: a chain may have a million links.
            while let Some(&at) = open.last() {
                let next = self.plan.on_same_value(&self.plan.nodes[at as usize]);
                match lengths[at as usize] {
                    Length::Known(_) => {
                        open.pop();
                    }
                    Length::Unknown => {
                        lengths[at as usize] = Length::Open;
                        for next in next {
                            match lengths[next as usize] {
                                Length::Open => return Err(self.applicator_of(at)),
                                Length::Unknown => open.push(next),
                                Length::Known(_) => {}
                            }
                        }
                    }
                    Length::Open => {
                        let below = next.into_iter().map(|next| match lengths[next as usize] {
                            Length::Known(length) => length,
                            Length::Unknown | Length::Open => LONGEST_CHAIN,
                        });
                        let length = 1 + below.max().unwrap_or(0);
                        if length > LONGEST_CHAIN {
                            return Err(self.applicator_of(at));
                        }
                        lengths[at as usize] = Length::Known(length);
                        open.pop();
                    }
                }
            }
        }
        for (node, uses) in self.plan.nodes.iter_mut().zip(&self.uses) {
            let is_leaf =
                node.rules.0 == node.rules.1 && node.array == super::NONE && node.object == super::NONE;
            node.is_shared = *uses > 1 && !is_leaf;
        }
        Ok(())
    }

    /// The keyword with which a node leads to others that validate the same value.
    fn applicator_of(&self, at: u32) -> Unsupported<'s> {
        const APPLICATORS: [&str; 8] =
            ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies"];
        let (schema, _) = self.queue[at as usize - NOTHING as usize - 1];
        let keyword = APPLICATORS.into_iter().find(|keyword| schema.get(keyword).is_some());
        Unsupported { keyword: keyword.unwrap_or("$ref"), schema }
    }
}

#[derive(Clone, Copy)]
enum Length {
    Unknown,
    Open,
    Known(u32),
}

impl Plan {
    pub(super) fn on_same_value(&self, node: &Node) -> Vec<u32> {
        let mut nodes = Vec::new();
        for rule in self.rules_of(node) {
            match *rule {
                Rule::All(node) | Rule::Not(node) => nodes.push(node),
                Rule::Union(at) => nodes.extend(&self.unions[at as usize].branches),
                Rule::If { condition, then, otherwise } => nodes.extend([condition, then, otherwise]),
            }
        }
        if let Some(rules) = self.objects.get(node.object as usize) {
            nodes.extend(rules.dependents.iter().map(|dependent| dependent.schema));
        }
        nodes
    }
}
