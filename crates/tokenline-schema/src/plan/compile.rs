//! Compiles a schema to a plan.

use std::collections::HashMap;

use serde_json::{Map, Value as Schema};
use tokenline_core::json::{Kind, KindSet};

use super::object::UNLISTED;
use super::{ANY, Applies, NONE, NOTHING, Node, Plan, Rule};
use crate::draft::Draft;
use crate::fallback::{Delegate, References};
use crate::ignored::{Ignored, Omitted};
use crate::literals::Literals;
use crate::patterns::Patterns;
use crate::place::Document;
use crate::pointer;
use crate::tree::{address, path_of};

/// The first keyword found that no plan covers.
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

/// Compiles a schema. If it `omits`, the plan leaves out what it does not cover, as far as it then accepts more values.
///
/// # Errors
///
/// If a plan does not cover all of it. This includes whatever is malformed: others find the words for it.
pub(crate) fn compile(
    document: &Document,
    assert_formats: bool,
    omits: bool,
) -> Result<(Plan, Ignored), Outside> {
    let mut ignored = Ignored::default();
    let plan = with_compiler(document, assert_formats, &mut |compiler, document| {
        compiler.omits = omits;
        compiler.in_rounds(Compiler::compile_root)?;
        ignored = Ignored::new(&document.schema, &compiler.omitted);
        Ok(())
    })?;
    Ok((plan, ignored))
}

/// What to do with a compiler.
type Compile<'c> =
    &'c mut dyn for<'s> FnMut(&mut Compiler<'s, '_>, &'s Document) -> Result<(), Unsupported<'s>>;

pub(super) fn with_compiler(
    document: &Document,
    assert_formats: bool,
    compile: Compile<'_>,
) -> Result<Plan, Outside> {
    let root = &document.schema;
    let outside = |keyword: &str, schema| Outside {
        keyword: keyword.to_owned(),
        path: pointer::join(&path_of(root, address(schema)), keyword),
    };
    if Draft::of(root).is_none() {
        return Err(outside("$schema", root));
    }
    let references = References::new(document);
    let scope = references.as_ref().and_then(References::scope);
    let Some(scope) = scope else { return Err(outside("$ref", root)) };
    let find = |reference: &str| {
        let (target, inside) = scope.find(reference)?;
        Some((target, inside.is_same(&scope)))
    };
    let mut compiler = Compiler {
        document,
        draft: document.draft,
        root,
        assert_formats,
        find: &find,
        patterns: &document.patterns,
        literals: &document.literals,
        positions: HashMap::new(),
        targets: HashMap::new(),
        delegates: Vec::new(),
        queue: Vec::new(),
        uses: Vec::new(),
        plan: Plan::empty(false),
        omits: false,
        omitted: Omitted::default(),
        rounds: 0,
    };
    let compiled = compile(&mut compiler, document);
    compiled.map_err(|unsupported| outside(unsupported.keyword, unsupported.schema))?;
    Ok(compiler.plan)
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
    document: &'s Document,
    pub(super) draft: Draft,
    pub(super) root: &'s Schema,
    pub(super) assert_formats: bool,
    /// The target of a reference, and whether it is in this document, and not below an identifier: there, references mean
    /// something else.
    find: &'c dyn Fn(&str) -> Option<(&'s Schema, bool)>,
    pub(super) patterns: &'c Patterns,
    pub(super) literals: &'s Literals,
    /// The nodes of subschemas, by their addresses.
    positions: HashMap<usize, u32>,
    /// The targets of references.
    targets: HashMap<&'s str, &'s Schema>,
    /// The keywords of the delegates, and their values.
    delegates: Vec<String>,
    /// The subschemas of the nodes, in their order, after the first two.
    pub(super) queue: Vec<(&'s Schema, Only)>,
    /// How many places refer to each node.
    pub(super) uses: Vec<u32>,
    pub(super) plan: Plan,
    /// Whether what is not covered is left out.
    pub(super) omits: bool,
    pub(super) omitted: Omitted,
    /// How often the schema was compiled.
    pub(super) rounds: usize,
}

/// The keywords that count in a subschema, if not all do.
pub(super) type Only = Option<&'static [&'static str]>;

/// The longest chain of references. Ends circular ones.
const LONGEST_CHAIN: usize = 4096;

impl<'s> Compiler<'s, '_> {
    /// Forgets what is compiled.
    pub(super) fn begin(&mut self) {
        self.rounds += 1;
        self.positions.clear();
        self.delegates.clear();
        self.queue.clear();
        self.uses = vec![0; NOTHING as usize + 1];
        self.plan = Plan::empty(self.draft == Draft::Draft4);
    }

    pub(super) fn compile_root(&mut self) -> Result<(), Unsupported<'s>> {
        let root = self.root;
        self.plan.root = self.omitting(|compiler| compiler.place(root, "", root))?;
        self.finish()
    }

    pub(super) fn enqueue(&mut self, schema: &'s Schema, only: Only) -> u32 {
        self.queue.push((schema, only));
        self.uses.push(0);
        self.uses.len() as u32 - 1
    }

    /// Compiles the subschemas in the queue, and those that they lead to.
    pub(super) fn finish(&mut self) -> Result<(), Unsupported<'s>> {
        let mut at = 0;
        while let Some(&(schema, only)) = self.queue.get(at) {
            if let Schema::Object(members) = schema {
                let node = match self.omitting(|compiler| compiler.node(schema, members, only)) {
                    // A rule that breaks the draft's own rules is never broken.
                    Err(_) if only.is_some() => Node::of_kinds(KindSet::ALL),
                    node => node?,
                };
                self.plan.nodes.push(node);
            }
            at += 1;
        }
        if let Err(circular) = self.check_same_value() {
            return self.omit_circular(circular);
        }
        self.omit_dependents();
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
            if let Some(&at) = self.positions.get(&address(here)) {
                break at;
            }
            let members = match here {
                Schema::Bool(true) => break ANY,
                Schema::Bool(false) => break NOTHING,
                Schema::Object(members) => members,
                _ => return Err(Unsupported { keyword, schema }),
            };
            passed.push(address(here));
            let omitted = self.omitted.of(here);
            if omitted.has_all() {
                break self.enqueue(here, Some(&[]));
            }
            self.check_identity(here, members)?;
            let mut effective = members.keys().filter(|keyword| self.has_effect(keyword));
            let Some(first) = effective.next() else { break ANY };
            let is_alone = effective.next().is_none() || self.draft <= Draft::Draft7;
            match members.get("$ref") {
                Some(reference)
                    if is_alone
                        && !omitted.contains("$ref")
                        && (first == "$ref" || self.draft <= Draft::Draft7) =>
                {
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
        let (target, _) = self.find_target(reference).filter(|(_, is_here)| *is_here).ok_or(outside)?;
        self.targets.insert(reference, target);
        Ok(target)
    }

    pub(super) fn find_target(&self, reference: &str) -> Option<(&'s Schema, bool)> {
        if reference.is_empty() { None } else { (self.find)(reference) }
    }

    /// Checks that a subschema has no dialect and no base URI of its own.
    fn check_identity(
        &self,
        schema: &'s Schema,
        members: &'s Map<String, Schema>,
    ) -> Result<(), Unsupported<'s>> {
        if address(schema) == address(self.root) {
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

    /// The position of a validator for these keywords of `schema`.
    pub(super) fn delegate(
        &mut self,
        keywords: &[(&'static str, &'s Schema)],
        schema: &'s Schema,
    ) -> Result<u32, Unsupported<'s>> {
        let mut key = String::new();
        for (keyword, value) in keywords {
            key.push_str(keyword);
            key.push_str(&self.literals.json(value));
        }
        if let Some(at) = self.delegates.iter().position(|known| *known == key) {
            return Ok(at as u32);
        }
        let validator = Delegate::new(self.document, self.assert_formats, keywords);
        let validator = validator.ok_or(Unsupported { keyword: keywords[0].0, schema })?;
        let at = self.plan.delegates.len() as u32;
        self.plan.delegates.push(validator);
        self.delegates.push(key);
        Ok(at)
    }
}
