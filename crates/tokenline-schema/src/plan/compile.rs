//! Compiles a schema to a plan.

use std::collections::HashMap;

use jsonschema::{Draft, Validator, uri};
use serde_json::{Map, Value as Schema};
use tokenline_core::json::{Kind, KindSet, Value};

use super::object::UNLISTED;
use super::{ANY, Applies, NONE, NOTHING, Node, Plan, Rule};
use crate::cost;
use crate::literals::Literals;
use crate::patterns::{Patterns, Undecided};
use crate::place::Document;
use crate::pointer;
use crate::rules::RULES;
use crate::tape::Tape;

/// The first keyword found that no plan covers, so that jsonschema validates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    pub(crate) keyword: String,
    /// JSON Pointer to it from the schema's root.
    pub(crate) path: String,
}

/// A keyword that no plan covers, and the schema object that has it.
pub(super) struct Unsupported<'s> {
    pub(super) keyword: &'s str,
    pub(super) schema: &'s Schema,
}

/// Builds a validator of jsonschema for a schema of one rule.
pub(crate) type Delegate<'d> = &'d dyn Fn(&Schema) -> Option<Validator<Tape>>;

/// Compiles a schema.
///
/// # Errors
///
/// If a plan does not cover all of it. This includes whatever is malformed: jsonschema finds the words for it.
pub(crate) fn compile(
    document: &Document,
    assert_formats: bool,
    delegate: Delegate<'_>,
) -> Result<Plan, Outside> {
    with_compiler(document, assert_formats, delegate, |compiler, _| compiler.compile()).map(|(plan, ())| plan)
}

/// A plan for each part of a schema alone.
pub(crate) struct Parts {
    plan: Plan,
    nodes: PartNodes,
}

/// The nodes of the parts.
#[derive(Default)]
struct PartNodes {
    /// By their pointers.
    schemas: HashMap<String, u32>,
    /// By the pointer of their schema and their keyword.
    rules: HashMap<String, HashMap<&'static str, u32>>,
}

impl Parts {
    /// Whether a value fits the schema with this pointer; `None` if the schemas have no plans.
    pub(crate) fn fits(&self, pointer: &str, value: Value<'_>) -> Option<Result<bool, Box<Undecided>>> {
        let node = *self.nodes.schemas.get(pointer)?;
        Some(self.plan.fits_node(node, value))
    }

    /// Whether a value keeps a rule of the schema with this pointer.
    pub(crate) fn keeps(
        &self,
        pointer: &str,
        keyword: &str,
        value: Value<'_>,
    ) -> Result<bool, Box<Undecided>> {
        match self.nodes.rules.get(pointer).and_then(|rules| rules.get(keyword)) {
            Some(node) => self.plan.fits_node(*node, value),
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
    delegate: Delegate<'_>,
) -> Result<Parts, Outside> {
    let (plan, nodes) = with_compiler(document, assert_formats, delegate, |compiler, document| {
        compiler.compile_parts(document, have_plans)
    })?;
    Ok(Parts { plan, nodes })
}

fn with_compiler<T>(
    document: &Document,
    assert_formats: bool,
    delegate: Delegate<'_>,
    compile: impl for<'s> FnOnce(&mut Compiler<'s, '_>, &'s Document) -> Result<T, Unsupported<'s>>,
) -> Result<(Plan, T), Outside> {
    let outside = |keyword: &str, schema| Outside {
        keyword: keyword.to_owned(),
        path: pointer::join(&cost::path_of(document, cost::address(schema)), keyword),
    };
    let root = &document.schema;
    if Draft::default().detect(root) == Draft::Unknown {
        return Err(outside("$schema", root));
    }
    // Resolves the references of the whole document, also of parts that nothing refers to.
    let registry = document.registry().zip(uri::from_str(&document.base_uri()).ok());
    let Some((registry, base)) = &registry else { return Err(outside("$ref", root)) };
    let resolver = registry.resolver(base.clone());
    let find = |reference: &str| {
        let target = resolver.lookup(reference).ok()?;
        // A target in another document, or below an identifier, resolves its own references differently.
        (target.resolver().base_uri() == resolver.base_uri()).then(|| target.contents())
    };
    let mut compiler = Compiler {
        draft: document.draft,
        root,
        assert_formats,
        find: &find,
        delegate,
        patterns: &document.patterns,
        literals: &document.literals,
        positions: HashMap::new(),
        targets: HashMap::new(),
        delegates: HashMap::new(),
        queue: Vec::new(),
        uses: vec![0; NOTHING as usize + 1],
        plan: Plan::empty(document.draft == Draft::Draft4),
    };
    let compiled = compile(&mut compiler, document);
    let compiled = compiled.map_err(|unsupported| outside(unsupported.keyword, unsupported.schema))?;
    Ok((compiler.plan, compiled))
}

impl Plan {
    /// Finds the kinds of values that need no visit of their node.
    fn find_plain_kinds(&mut self) {
        for node in &mut self.nodes {
            let is_ruled = [
                (Kind::Number, node.number != NONE || node.integers_only),
                (Kind::String, node.string != NONE),
                (Kind::Array, node.array != NONE),
                (Kind::Object, node.object != NONE),
            ];
            let any_is_ruled = node.has_constants() || node.has_rules();
            let plain = if any_is_ruled { KindSet::NONE } else { node.kinds };
            let ruled = is_ruled.into_iter().filter(|(_, is_ruled)| *is_ruled);
            node.plain = ruled.fold(plain, |plain, (kind, _)| plain.without(kind));
            let has_kinds = node.kinds != KindSet::ALL || is_ruled.iter().any(|(_, is_ruled)| *is_ruled);
            node.applies = match self.rules[node.rules.0 as usize..node.rules.1 as usize] {
                _ if node.has_constants() => Applies::All,
                [] => Applies::OfKind,
                [Rule::Union(at)] if !has_kinds => Applies::Union(at),
                _ => Applies::All,
            };
        }
        for rules in &mut self.objects {
            let plain = |node: u32| self.nodes.get(node as usize).map_or(KindSet::NONE, |node| node.plain);
            rules.additional_plain = plain(rules.additional);
            for member in rules.names.values_mut() {
                // If patterns apply, whether a member is additional depends on its name.
                if member.node == UNLISTED && rules.is_simple {
                    member.node = rules.additional;
                }
                member.plain = plain(member.node);
            }
        }
    }

    fn empty(integers_as_written: bool) -> Self {
        Self {
            nodes: vec![Node::of_kinds(KindSet::ALL), Node::of_kinds(KindSet::NONE)],
            root: ANY,
            subschemas: 0,
            rules: Vec::new(),
            numbers: Vec::new(),
            strings: Vec::new(),
            arrays: Vec::new(),
            objects: Vec::new(),
            constants: Vec::new(),
            unions: Vec::new(),
            delegates: Vec::new(),
            integers_as_written,
        }
    }
}

pub(super) struct Compiler<'s, 'c> {
    pub(super) draft: Draft,
    root: &'s Schema,
    pub(super) assert_formats: bool,
    /// The target of a reference, if it is in this document.
    find: &'c dyn Fn(&str) -> Option<&'s Schema>,
    delegate: Delegate<'c>,
    pub(super) patterns: &'c Patterns,
    pub(super) literals: &'c Literals,
    /// The nodes of subschemas, by their addresses.
    positions: HashMap<usize, u32>,
    /// The targets of references.
    targets: HashMap<&'s str, &'s Schema>,
    /// The validators of jsonschema, by their schemas.
    delegates: HashMap<String, u32>,
    /// The subschemas of the nodes, in their order, after the first two.
    pub(super) queue: Vec<(&'s Schema, Only)>,
    /// How many places refer to each node.
    pub(super) uses: Vec<u32>,
    pub(super) plan: Plan,
}

/// The keywords that count in a subschema, if not all do.
pub(super) type Only = Option<&'static [&'static str]>;

/// The longest chain of references. Ends circular ones.
const LONGEST_CHAIN: usize = 4096;

impl<'s> Compiler<'s, '_> {
    fn compile(&mut self) -> Result<(), Unsupported<'s>> {
        self.plan.root = self.place(self.root, "", self.root)?;
        self.finish()
    }

    fn compile_parts(
        &mut self,
        document: &'s Document,
        have_plans: bool,
    ) -> Result<PartNodes, Unsupported<'s>> {
        const CONTENT: &[&str] = &["contentMediaType", "contentEncoding"];
        let mut nodes = PartNodes::default();
        for place in document.places() {
            if have_plans {
                nodes.schemas.insert(place.pointer.clone(), self.place(place.schema, "", self.root)?);
            }
            let mut own = HashMap::new();
            let keywords = RULES.iter().map(|rule| &rule.name);
            for keyword in keywords.filter(|keyword| place.keyword(keyword).is_some()) {
                let only = if *keyword == CONTENT[0] { CONTENT } else { std::slice::from_ref(keyword) };
                own.insert(*keyword, self.enqueue(place.schema, Some(only)));
            }
            if !own.is_empty() {
                nodes.rules.insert(place.pointer, own);
            }
        }
        self.finish()?;
        Ok(nodes)
    }

    fn enqueue(&mut self, schema: &'s Schema, only: Only) -> u32 {
        self.queue.push((schema, only));
        self.uses.push(0);
        self.uses.len() as u32 - 1
    }

    /// Compiles the subschemas in the queue, and those that they lead to.
    fn finish(&mut self) -> Result<(), Unsupported<'s>> {
        let mut at = 0;
        while let Some(&(schema, only)) = self.queue.get(at) {
            if let Schema::Object(members) = schema {
                let node = match self.node(schema, members, only) {
                    // A rule that breaks the draft's own rules is never broken.
                    Err(_) if only.is_some() => Node::of_kinds(KindSet::ALL),
                    node => node?,
                };
                self.plan.nodes.push(node);
            }
            at += 1;
        }
        self.check_same_value()?;
        self.plan.subschemas = self.queue.len();
        self.plan.find_plain_kinds();
        self.plan.find_discriminators();
        Ok(())
    }

    /// The node of the subschema `value` of `keyword` in `schema`.
    pub(super) fn place(
        &mut self,
        value: &'s Schema,
        keyword: &'s str,
        schema: &'s Schema,
    ) -> Result<u32, Unsupported<'s>> {
        let mut passed = Vec::new();
        let mut here = value;
        let at = loop {
            if passed.len() > LONGEST_CHAIN {
                return Err(Unsupported { keyword: "$ref", schema: value });
            }
            if let Some(&at) = self.positions.get(&cost::address(here)) {
                break at;
            }
            let members = match here {
                Schema::Bool(true) => break ANY,
                Schema::Bool(false) => break NOTHING,
                Schema::Object(members) => members,
                _ => return Err(Unsupported { keyword, schema }),
            };
            passed.push(cost::address(here));
            self.check_identity(here, members)?;
            let mut effective = members.keys().filter(|keyword| self.has_effect(keyword));
            let Some(first) = effective.next() else { break ANY };
            let is_alone = effective.next().is_none() || self.draft <= Draft::Draft7;
            match members.get("$ref") {
                Some(reference) if is_alone && (first == "$ref" || self.draft <= Draft::Draft7) => {
                    here = self.target(reference, here)?;
                }
                _ => {
                    break self.enqueue(here, None);
                }
            }
        };
        self.positions.extend(passed.into_iter().map(|address| (address, at)));
        self.uses[at as usize] += 1;
        Ok(at)
    }

    /// The target of a reference in `schema`.
    pub(super) fn target(
        &mut self,
        reference: &'s Schema,
        schema: &'s Schema,
    ) -> Result<&'s Schema, Unsupported<'s>> {
        let outside = Unsupported { keyword: "$ref", schema };
        let Some(reference) = reference.as_str() else { return Err(outside) };
        if let Some(target) = self.targets.get(reference) {
            return Ok(target);
        }
        let target = if reference.is_empty() { None } else { (self.find)(reference) };
        let target = target.ok_or(outside)?;
        self.targets.insert(reference, target);
        Ok(target)
    }

    /// Checks that a subschema has no dialect and no base URI of its own.
    fn check_identity(
        &self,
        schema: &'s Schema,
        members: &'s Map<String, Schema>,
    ) -> Result<(), Unsupported<'s>> {
        if cost::address(schema) == cost::address(self.root) {
            return Ok(());
        }
        let id = self.draft.id_keyword();
        let is_anchor =
            |id: &Schema| self.draft <= Draft::Draft7 && id.as_str().is_some_and(|id| id.starts_with('#'));
        match members.get(id) {
            _ if members.contains_key("$schema") => Err(Unsupported { keyword: "$schema", schema }),
            Some(value) if !is_anchor(value) => Err(Unsupported { keyword: id, schema }),
            _ => Ok(()),
        }
    }

    /// The position of a validator of jsonschema for `rules`, which are of `schema`.
    pub(super) fn delegate(
        &mut self,
        rules: Map<String, Schema>,
        keyword: &'s str,
        schema: &'s Schema,
    ) -> Result<u32, Unsupported<'s>> {
        let rules = Schema::Object(rules);
        let key = rules.to_string();
        if let Some(&at) = self.delegates.get(&key) {
            return Ok(at);
        }
        let validator = (self.delegate)(&rules).ok_or(Unsupported { keyword, schema })?;
        let at = self.plan.delegates.len() as u32;
        self.plan.delegates.push(validator);
        self.delegates.insert(key, at);
        Ok(at)
    }
}
