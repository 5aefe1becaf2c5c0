//! Compiles the keywords of one subschema to the rules of its node.

use std::collections::HashMap;

use serde_json::{Map, Value as Schema};
use tokenline_core::json::{Kind, KindSet};

use super::array::{ArrayRules, Contains};
use super::compile::{Compiler, Only, Unsupported};
use super::constant::Constants;
use super::format::Format;
use super::names::Names;
use super::number::{Bound, NumberRules};
use super::object::{Dependent, MOST_TRACKED, Member, MemberSet, ObjectRules, UNLISTED};
use super::string::StringRules;
use super::union::Union;
use super::{ANY, Applies, NONE, NOTHING, Node, Rule};
use crate::draft::Draft;
use crate::fallback::has_format;
use crate::ignored::KeywordSet;
use crate::literals::Literals;
use crate::number::Decimal;
use crate::rules::introduced;

/// A subschema while it is compiled.
#[derive(Clone, Copy)]
struct Keywords<'s> {
    schema: &'s Schema,
    members: &'s Map<String, Schema>,
    draft: Draft,
    only: Only,
    /// Those that are left out.
    omitted: KeywordSet,
    literals: &'s Literals,
}

impl<'s> Keywords<'s> {
    /// The value of a keyword, if the draft has it.
    fn get(self, keyword: &str) -> Option<&'s Schema> {
        let value = self.members.get(keyword)?;
        let has = introduced(keyword).is_some_and(|introduced| introduced <= self.draft)
            && !self.omitted.hides(keyword)
            && self.only.is_none_or(|only| only.contains(&keyword));
        has.then_some(value)
    }

    fn unsupported(self, keyword: &'s str) -> Unsupported<'s> {
        Unsupported { keyword, schema: self.schema }
    }

    /// The value of a keyword of one JSON type.
    fn read<T>(
        self,
        keyword: &'s str,
        mut read: impl FnMut(&'s Schema) -> Option<T>,
    ) -> Result<Option<T>, Unsupported<'s>> {
        let Some(value) = self.get(keyword) else { return Ok(None) };
        read(value).map(Some).ok_or(self.unsupported(keyword))
    }

    /// A number of elements, members or characters.
    fn size(self, keyword: &'s str) -> Result<Option<u64>, Unsupported<'s>> {
        self.read(keyword, |value| self.to_size(value))
    }

    fn to_size(self, value: &Schema) -> Option<u64> {
        value.as_u64().or_else(|| {
            let size = Decimal::new(&self.literals.number(value)?).to_size()?;
            (size == u64::MAX || self.draft > Draft::Draft4).then_some(size)
        })
    }
}

/// The members that a schema names.
#[derive(Default)]
struct Members<'s> {
    listed: Vec<(&'s str, u32)>,
    /// Those of which it matters whether they are there.
    tracked: Vec<&'s str>,
    /// The positions of the tracked members.
    positions: HashMap<&'s str, usize>,
}

impl<'s> Members<'s> {
    /// The position among the tracked members.
    fn track(&mut self, name: &'s str) -> usize {
        let at = *self.positions.entry(name).or_insert(self.tracked.len());
        if at == self.tracked.len() {
            self.tracked.push(name);
        }
        at
    }

    fn bits(&mut self, names: &'s Schema) -> Option<MemberSet> {
        let mut set = MemberSet::default();
        for name in names.as_array()? {
            set.insert(self.track(name.as_str()?));
            if self.tracked.len() > MOST_TRACKED {
                return None;
            }
        }
        Some(set)
    }

    fn names(&self) -> Names<Member> {
        // Which kinds are plain is known when all nodes are.
        let untracked = |node| Member { node, plain: KindSet::NONE, word: 0, bit: 0 };
        let tracked = |at: usize, node| {
            let (word, bit) = MemberSet::bit(at);
            Member { word, bit, ..untracked(node) }
        };
        let listed = self.listed.iter().map(|(name, node)| {
            let at = self.positions.get(name);
            (*name, at.map_or(untracked(*node), |at| tracked(*at, *node)))
        });
        let others = self.tracked.iter().enumerate().map(|(at, name)| (*name, tracked(at, UNLISTED)));
        Names::new(listed.chain(others))
    }
}

impl<'s> Compiler<'s, '_> {
    /// Whether a keyword has an effect on verdicts by itself.
    pub(super) fn has_effect(&self, keyword: &str) -> bool {
        match keyword {
            "format" => self.assert_formats,
            // Since 2019-09 these are annotations.
            "contentEncoding" | "contentMediaType" => {
                matches!(self.draft, Draft::Draft6 | Draft::Draft7)
            }
            "$recursiveRef" => self.draft == Draft::Draft201909,
            _ => introduced(keyword).is_some_and(|introduced| introduced <= self.draft),
        }
    }

    /// The node of a subschema.
    pub(super) fn node(
        &mut self,
        schema: &'s Schema,
        members: &'s Map<String, Schema>,
        only: Only,
    ) -> Result<Node, Unsupported<'s>> {
        let (omitted, literals) = (self.omitted.of(schema), self.literals);
        let keywords = Keywords { schema, members, draft: self.draft, only, omitted, literals };
        for keyword in ["$recursiveRef", "$dynamicRef", "unevaluatedItems", "unevaluatedProperties"] {
            let has = only.is_none() && members.contains_key(keyword) && self.has_effect(keyword);
            if has && !keywords.omitted.contains(keyword) {
                return Err(keywords.unsupported(keyword));
            }
        }
        let (kinds, integers_only) = kinds(keywords)?;
        let numbers = self.numbers(keywords)?;
        let strings = self.strings(keywords)?;
        let arrays = self.arrays(keywords)?;
        let objects = self.objects(keywords)?;
        let constants = self.constants(keywords)?;
        let rules = self.rules(keywords)?;
        let plan = &mut self.plan;
        Ok(Node {
            kinds,
            plain: KindSet::NONE,
            integers_only,
            is_shared: false,
            applies: Applies::All,
            number: push_if(!numbers.is_empty(), &mut plan.numbers, numbers),
            string: push_if(!strings.is_empty(), &mut plan.strings, strings),
            array: push_if(!arrays.is_empty(), &mut plan.arrays, arrays),
            object: push_if(!objects.is_empty(), &mut plan.objects, objects),
            constants,
            rules,
        })
    }

    fn numbers(&self, keywords: Keywords<'s>) -> Result<NumberRules, Unsupported<'s>> {
        let mut rules = NumberRules::default();
        for (keyword, bound) in bounds(keywords) {
            if let Some(limit) = keywords.read(keyword, |limit| self.literals.number(limit))? {
                rules.bound(bound, &limit);
            }
        }
        let multiple = |value| rules.multiple_of(&self.literals.number(value)?);
        keywords.read("multipleOf", multiple)?;
        Ok(rules)
    }

    fn constants(&mut self, keywords: Keywords<'s>) -> Result<(u32, u32), Unsupported<'s>> {
        let literals = self.literals;
        let constant = keywords.get("const").map(|constant| Constants::new([constant], literals));
        let values = keywords.read("enum", Schema::as_array)?.map(|values| Constants::new(values, literals));
        let first = self.plan.constants.len() as u32;
        self.plan.constants.extend(constant.into_iter().chain(values));
        Ok((first, self.plan.constants.len() as u32))
    }

    fn strings(&mut self, keywords: Keywords<'s>) -> Result<StringRules, Unsupported<'s>> {
        let mut rules = StringRules::default();
        rules.min_length = keywords.size("minLength")?.unwrap_or(rules.min_length);
        rules.max_length = keywords.size("maxLength")?.unwrap_or(rules.max_length);
        rules.pattern = keywords.read("pattern", |value| self.patterns.get(value.as_str()?).ok())?;
        if let Some(format) = keywords.get("format").filter(|_| self.assert_formats) {
            let name = format.as_str().unwrap_or_default();
            rules.format = match Format::own(name, self.draft) {
                None if has_format(name, self.draft) => {
                    Some(Format::Delegated(self.delegate(&[("format", format)], keywords.schema)?))
                }
                own => own,
            };
        }
        let content = ["contentEncoding", "contentMediaType"].into_iter();
        let content = content.filter(|keyword| self.has_effect(keyword));
        let content: Vec<_> = content.filter_map(|keyword| Some((keyword, keywords.get(keyword)?))).collect();
        if !content.is_empty() {
            rules.content = Some(self.delegate(&content, keywords.schema)?);
        }
        Ok(rules)
    }

    fn arrays(&mut self, keywords: Keywords<'s>) -> Result<ArrayRules, Unsupported<'s>> {
        let mut rules = ArrayRules::default();
        rules.min_items = keywords.size("minItems")?.unwrap_or(rules.min_items);
        rules.max_items = keywords.size("maxItems")?.unwrap_or(rules.max_items);
        rules.is_unique = keywords.get("uniqueItems").and_then(Schema::as_bool) == Some(true);
        let items = keywords.get("items");
        if let Some(Schema::Array(first)) = items {
            if self.draft == Draft::Draft202012 {
                return Err(keywords.unsupported("items"));
            }
            rules.first = self.list(first, "items", keywords)?;
            rules.rest = self.child("additionalItems", keywords)?;
        } else {
            if let Some(first) = keywords.read("prefixItems", Schema::as_array)? {
                rules.first = self.list(first, "prefixItems", keywords)?;
            }
            rules.rest = self.child("items", keywords)?;
        }
        if keywords.get("contains").is_some() {
            let node = self.child("contains", keywords)?;
            let has_limits = self.draft >= Draft::Draft201909;
            let limit = |keyword| match keywords.members.get(keyword) {
                Some(value) if has_limits && !keywords.omitted.contains(keyword) => {
                    keywords.to_size(value).map(Some).ok_or(keywords.unsupported(keyword))
                }
                _ => Ok(None),
            };
            let min = limit("minContains")?.unwrap_or(1);
            rules.contains = Some(Contains { node, min, max: limit("maxContains")?.unwrap_or(u64::MAX) });
        }
        Ok(rules)
    }

    fn objects(&mut self, keywords: Keywords<'s>) -> Result<ObjectRules, Unsupported<'s>> {
        let mut members = Members::default();
        for (name, value) in keywords.read("properties", Schema::as_object)?.into_iter().flatten() {
            members.listed.push((name, self.place(value, "properties", keywords.schema)?));
        }
        let required = keywords.read("required", Schema::as_array)?.and(keywords.get("required"));
        let required = match required {
            Some(required) => members.bits(required).ok_or(keywords.unsupported("required"))?,
            None => MemberSet::default(),
        };
        let mut dependents = Vec::new();
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            for (name, value) in keywords.read(keyword, Schema::as_object)?.into_iter().flatten() {
                let is_list = keyword == "dependentRequired" || keyword == "dependencies" && value.is_array();
                if !is_list && keywords.only.is_some() {
                    continue;
                }
                let (required, schema) = if is_list {
                    (members.bits(value).ok_or(keywords.unsupported(keyword))?, ANY)
                } else {
                    (MemberSet::default(), self.place(value, keyword, keywords.schema)?)
                };
                let mut trigger = MemberSet::default();
                trigger.insert(members.track(name));
                if members.tracked.len() > MOST_TRACKED {
                    return Err(keywords.unsupported(keyword));
                }
                dependents.push(Dependent { trigger, required, schema });
            }
        }
        let mut patterns = Vec::new();
        for (pattern, value) in keywords.read("patternProperties", Schema::as_object)?.into_iter().flatten() {
            let node = self.place(value, "patternProperties", keywords.schema)?;
            let pattern =
                self.patterns.get(pattern).map_err(|_| keywords.unsupported("patternProperties"))?;
            patterns.push((pattern, node));
        }
        let mut rules = ObjectRules {
            names: members.names(),
            is_simple: false,
            begins_with_tag: false,
            tracked_words: members.tracked.len().div_ceil(64),
            required,
            dependents,
            patterns,
            additional: self.child("additionalProperties", keywords)?,
            additional_plain: KindSet::NONE,
            property_names: self.child("propertyNames", keywords)?,
            min_properties: keywords.size("minProperties")?.unwrap_or(0),
            max_properties: keywords.size("maxProperties")?.unwrap_or(u64::MAX),
        };
        rules.is_simple = rules.tracked_words <= 1
            && !rules.checks_names()
            && rules.min_properties == 0
            && rules.max_properties == u64::MAX;
        Ok(rules)
    }

    /// The rules for any value, cheap ones first.
    fn rules(&mut self, keywords: Keywords<'s>) -> Result<(u32, u32), Unsupported<'s>> {
        let mut rules = Vec::new();
        if let Some(reference) = keywords.get("$ref") {
            let target = self.target(reference, keywords.schema)?;
            rules.push(Rule::All(self.place(target, "$ref", keywords.schema)?));
        }
        if let Some(all) = keywords.read("allOf", Schema::as_array)? {
            rules.extend(self.list(all, "allOf", keywords)?.into_iter().map(Rule::All));
        }
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            if let Some(branches) = keywords.read(keyword, Schema::as_array)? {
                let branches = self.list(branches, keyword, keywords)?;
                let is_exclusive = is_exclusive && !keywords.omitted.contains(keyword);
                let union = Union { branches, is_exclusive, discriminator: None };
                rules.push(Rule::Union(push(&mut self.plan.unions, union)));
            }
        }
        if keywords.get("not").is_some() {
            rules.push(Rule::Not(self.child("not", keywords)?));
        }
        if let Some(condition) = keywords.get("if")
            && ["then", "else"].iter().any(|keyword| keywords.members.contains_key(*keyword))
        {
            let mut branch = |keyword| match keywords.members.get(keyword) {
                Some(branch) => self.place(branch, keyword, keywords.schema),
                None => Ok(ANY),
            };
            let (then, otherwise) = (branch("then")?, branch("else")?);
            let condition = self.place(condition, "if", keywords.schema)?;
            rules.push(Rule::If { condition, then, otherwise });
        }
        rules.retain(|rule| !matches!(rule, Rule::All(ANY) | Rule::Not(NOTHING)));
        let first = self.plan.rules.len() as u32;
        self.plan.rules.append(&mut rules);
        Ok((first, self.plan.rules.len() as u32))
    }

    /// The node of the subschema under a keyword; [`ANY`] if there is none.
    fn child(&mut self, keyword: &'s str, keywords: Keywords<'s>) -> Result<u32, Unsupported<'s>> {
        match keywords.get(keyword) {
            Some(value) => self.place(value, keyword, keywords.schema),
            None => Ok(ANY),
        }
    }

    fn list(
        &mut self,
        schemas: &'s [Schema],
        keyword: &'s str,
        keywords: Keywords<'s>,
    ) -> Result<Vec<u32>, Unsupported<'s>> {
        let mut nodes = Vec::with_capacity(schemas.len());
        for schema in schemas {
            nodes.push(self.place(schema, keyword, keywords.schema)?);
        }
        Ok(nodes)
    }
}

/// The kinds that `type` allows, and whether numbers must be integers.
fn kinds(keywords: Keywords<'_>) -> Result<(KindSet, bool), Unsupported<'_>> {
    let one = |name: &Schema| {
        Some(match name.as_str()? {
            "null" => Kind::Null,
            "boolean" => Kind::Bool,
            "integer" | "number" => Kind::Number,
            "string" => Kind::String,
            "array" => Kind::Array,
            "object" => Kind::Object,
            _ => return None,
        })
    };
    let is_number = |name: &Schema| *name == "number";
    let kinds = keywords.read("type", |types| match types {
        Schema::Array(types) => {
            let add = |kinds: KindSet, name| Some(kinds.with(one(name)?));
            Some((types.iter().try_fold(KindSet::NONE, add)?, !types.iter().any(is_number)))
        }
        name => Some((KindSet::of(one(name)?), !is_number(name))),
    })?;
    Ok(kinds.unwrap_or((KindSet::ALL, false)))
}

/// The keywords of bounds.
fn bounds(keywords: Keywords<'_>) -> [(&'static str, Bound); 4] {
    // In draft 4, a flag beside the limit makes it exclusive.
    let is_exclusive = |flag| {
        keywords.draft == Draft::Draft4 && keywords.members.get(flag).and_then(Schema::as_bool) == Some(true)
    };
    [
        ("minimum", if is_exclusive("exclusiveMinimum") { Bound::ExclusiveMinimum } else { Bound::Minimum }),
        ("maximum", if is_exclusive("exclusiveMaximum") { Bound::ExclusiveMaximum } else { Bound::Maximum }),
        ("exclusiveMinimum", Bound::ExclusiveMinimum),
        ("exclusiveMaximum", Bound::ExclusiveMaximum),
    ]
}

fn push<T>(table: &mut Vec<T>, rules: T) -> u32 {
    table.push(rules);
    table.len() as u32 - 1
}

fn push_if<T>(is_needed: bool, table: &mut Vec<T>, rules: T) -> u32 {
    if is_needed { push(table, rules) } else { NONE }
}
