//! Leaves out keywords that a plan does not cover, so that it still accepts every value that fits the whole schema.
//!
//! Without a keyword, its schema accepts more values, and so do the schemas that apply it. There are four exceptions, which
//! are left out as well: `not`, `if` and `maxContains` above such a schema, and of `oneOf` that no other alternative fits.

use serde_json::Value as Schema;

use super::compile::{Compiler, Unsupported};
use super::{NOTHING, Node, Plan, Rule};
use crate::draft::Draft;
use crate::patterns::Refusal;

/// How often a schema is compiled until nothing more is left out. Circular references take one time each.
const MOST_ROUNDS: usize = 64;

impl<'s> Compiler<'s, '_> {
    /// Compiles again and again until nothing more is left out.
    pub(super) fn in_rounds<T>(
        &mut self,
        compile: impl Fn(&mut Self) -> Result<T, Unsupported<'s>>,
    ) -> Result<T, Unsupported<'s>> {
        loop {
            let known = self.omitted.len();
            self.begin();
            let compiled = compile(self)?;
            if self.omitted.len() == known {
                return Ok(compiled);
            }
        }
    }

    /// Compiles a part, without the keywords that are not covered if those may be left out.
    pub(super) fn omitting<T>(
        &mut self,
        compile: impl Fn(&mut Self) -> Result<T, Unsupported<'s>>,
    ) -> Result<T, Unsupported<'s>> {
        loop {
            match compile(self) {
                Err(unsupported) if self.omits && self.omit(&unsupported) => {}
                result => return result,
            }
        }
    }

    /// Leaves out a keyword. Returns whether that is possible: not if the schema is wrong there.
    fn omit(&mut self, unsupported: &Unsupported<'s>) -> bool {
        let Unsupported { keyword, schema } = *unsupported;
        let is_beyond = |pattern: &str| matches!(self.patterns.get(pattern), Err(Refusal::Beyond));
        let value = schema.get(keyword);
        match keyword {
            "$id" | "id" | "$schema" => self.omitted.add_all(schema, keyword),
            "$ref" => {
                let reference = value.and_then(Schema::as_str).unwrap_or_default();
                let is_wrong = reference.starts_with('#') && self.find_target(reference).is_none();
                // Up to draft 7, its siblings have no effect.
                let hides_all = self.draft <= Draft::Draft7;
                !is_wrong
                    && if hides_all {
                        self.omitted.add_all(schema, keyword)
                    } else {
                        self.omitted.add(schema, keyword)
                    }
            }
            "pattern" => {
                value.and_then(Schema::as_str).is_some_and(is_beyond) && self.omitted.add(schema, keyword)
            }
            "patternProperties" => {
                let mut patterns =
                    value.and_then(Schema::as_object).into_iter().flatten().map(|(pattern, _)| pattern);
                let is_right =
                    patterns.all(|pattern| self.patterns.get(pattern).is_ok() || is_beyond(pattern));
                // Which members are additional depends on the patterns.
                if is_right && schema.get("additionalProperties").is_some() {
                    self.omitted.add(schema, "additionalProperties");
                }
                is_right && self.omitted.add(schema, keyword)
            }
            "$dynamicRef"
            | "$recursiveRef"
            | "contentEncoding"
            | "contentMediaType"
            | "format"
            | "unevaluatedItems"
            | "unevaluatedProperties" => self.omitted.add(schema, keyword),
            _ => false,
        }
    }

    /// Leaves out a schema that leads back to itself for the same value.
    pub(super) fn omit_circular(&mut self, circular: Unsupported<'s>) -> Result<(), Unsupported<'s>> {
        let is_possible = self.omits && self.rounds < MOST_ROUNDS;
        if is_possible && self.omitted.add_all(circular.schema, circular.keyword) {
            Ok(())
        } else {
            Err(circular)
        }
    }

    /// Leaves out the keywords that reject values because a schema accepts them, where something of that schema is left
    /// out.
    pub(super) fn omit_dependents(&mut self) {
        if !self.omits || self.omitted.len() == 0 {
            return;
        }
        let accepts_more = self.accept_more();
        for (at, node) in self.plan.nodes.iter().enumerate().skip(NOTHING as usize + 1) {
            let (schema, _) = self.queue[at - NOTHING as usize - 1];
            for rule in self.plan.rules_of(node) {
                let keyword = match *rule {
                    Rule::Not(node) if accepts_more[node as usize] => "not",
                    Rule::If { condition, .. } if accepts_more[condition as usize] => "if",
                    Rule::Union(at) => {
                        let union = &self.plan.unions[at as usize];
                        let is_unclear = union.branches.iter().any(|branch| accepts_more[*branch as usize]);
                        if !union.is_exclusive || !is_unclear {
                            continue;
                        }
                        "oneOf"
                    }
                    _ => continue,
                };
                self.omitted.add(schema, keyword);
            }
            let contains = self.plan.arrays.get(node.array as usize).and_then(|rules| rules.contains);
            if contains
                .is_some_and(|contains| contains.max < u64::MAX && accepts_more[contains.node as usize])
            {
                self.omitted.add(schema, "maxContains");
            }
        }
    }

    /// For each node whether something is left out of it, or of one that it leads to.
    fn accept_more(&self) -> Vec<bool> {
        let nodes = &self.plan.nodes;
        let mut leading_to: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            for next in self.plan.on_same_value(node).into_iter().chain(self.plan.on_parts(node)) {
                if let Some(leading) = leading_to.get_mut(next as usize) {
                    leading.push(at as u32);
                }
            }
        }
        let mut accepts_more = vec![false; nodes.len()];
        let incomplete = self
            .queue
            .iter()
            .zip(NOTHING + 1..)
            .filter(|((schema, _), _)| !self.omitted.of(schema).is_empty());
        let mut open: Vec<u32> = incomplete.map(|(_, at)| at).collect();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut accepts_more[at as usize], true) {
                open.extend(&leading_to[at as usize]);
            }
        }
        accepts_more
    }
}

impl Plan {
    /// The nodes for parts of a value of this node, and for names.
    fn on_parts(&self, node: &Node) -> Vec<u32> {
        let mut nodes = Vec::new();
        if let Some(rules) = self.arrays.get(node.array as usize) {
            nodes.extend(&rules.first);
            nodes.push(rules.rest);
            nodes.extend(rules.contains.map(|contains| contains.node));
        }
        if let Some(rules) = self.objects.get(node.object as usize) {
            nodes.extend(rules.names.entries().iter().map(|named| named.value.node));
            nodes.extend(rules.patterns.iter().map(|(_, node)| *node));
            nodes.extend([rules.additional, rules.property_names]);
        }
        nodes
    }
}
