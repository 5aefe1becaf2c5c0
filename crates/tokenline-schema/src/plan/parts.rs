//! Plans for the parts of a schema, and for each of their rules, which are asked for the reason of a verdict.

use std::collections::HashMap;

use tokenline_core::json::Value;

use super::Plan;
use super::compile::{Compiler, Outside, Unsupported, with_compiler};
use crate::fallback;
use crate::patterns::Undecided;
use crate::place::Document;
use crate::rules::RULES;

/// A plan for each part of a schema alone.
pub(crate) struct Parts {
    plan: Plan,
    nodes: PartNodes,
}

/// The nodes of the parts.
#[derive(Default)]
struct PartNodes {
    /// The positions of the parts, by their pointers.
    positions: HashMap<Box<str>, u32>,
    parts: Vec<Part>,
}

/// The nodes of a part.
#[derive(Default)]
struct Part {
    /// That of the schema; `None` if the schemas have no plans.
    schema: Option<u32>,
    /// Those of its rules, each after the keyword.
    rules: Vec<(&'static str, u32)>,
}

impl PartNodes {
    fn get(&self, pointer: &str) -> Option<&Part> {
        self.parts.get(*self.positions.get(pointer)? as usize)
    }
}

impl Parts {
    /// Whether a value fits the schema with this pointer; `None` if the schemas have no plans.
    pub(crate) fn fits(&self, pointer: &str, value: Value<'_>) -> Option<Result<bool, Box<Undecided>>> {
        let node = self.nodes.get(pointer)?.schema?;
        Some(self.plan.fits_node(node, value))
    }

    /// Whether a value keeps a rule of the schema with this pointer.
    pub(crate) fn keeps(
        &self,
        pointer: &str,
        keyword: &str,
        value: Value<'_>,
    ) -> Result<bool, Box<Undecided>> {
        let rules = self.nodes.get(pointer).map_or(&[][..], |part| &part.rules);
        match rules.iter().find(|(known, _)| *known == keyword) {
            Some((_, node)) => self.plan.fits_node(*node, value),
            None => Ok(true),
        }
    }
}

/// Compiles these rules of each part of a schema, and the parts themselves if they have plans.
///
/// # Errors
///
/// If a part has no plan, as for [`compile`].
pub(crate) fn compile_parts(
    document: &Document,
    have_plans: bool,
    assert_formats: bool,
) -> Result<Parts, Outside> {
    let mut nodes = PartNodes::default();
    let plan = with_compiler(document, assert_formats, &mut |compiler, document| {
        compiler.omitted = document.ignored.omitted(&document.schema);
        // The plan of the whole covers all parts but those without effect.
        compiler.omits = fallback::IS_MISSING;
        nodes = compiler.in_rounds(|compiler| compiler.compile_parts(document, have_plans))?;
        Ok(())
    })?;
    Ok(Parts { plan, nodes })
}

impl<'s> Compiler<'s, '_> {
    fn compile_parts(
        &mut self,
        document: &'s Document,
        have_plans: bool,
    ) -> Result<PartNodes, Unsupported<'s>> {
        const CONTENT: &[&str] = &["contentMediaType", "contentEncoding"];
        let mut nodes = PartNodes::default();
        for place in document.places() {
            let mut part = Part::default();
            if have_plans {
                let root = self.root;
                part.schema = Some(self.omitting(|compiler| compiler.place(place.schema, "", root))?);
            }
            let keywords = RULES.iter().map(|rule| &rule.name);
            for keyword in keywords.filter(|keyword| place.keyword(keyword).is_some()) {
                let only = if *keyword == CONTENT[0] { CONTENT } else { std::slice::from_ref(keyword) };
                part.rules.push((*keyword, self.enqueue(place.schema, Some(only))));
            }
            nodes.positions.insert(place.pointer.into(), nodes.parts.len() as u32);
            nodes.parts.push(part);
        }
        self.finish()?;
        Ok(nodes)
    }
}
