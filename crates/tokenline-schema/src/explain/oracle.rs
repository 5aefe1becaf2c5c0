//! Verdicts on every part of a schema, from one compiled validator.
//!
//! The parts become the properties of one object schema, each named by its pointer. To ask whether
//! a value fits a part, the value is presented as the member of that name of an object that does
//! not exist on any tape. So all parts share what they refer to, and compiling them stays linear.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};
use jsonschema::{Draft, JsonType, Registry, Retrieve, ValidationOptions, Validator};
use serde_json::{Map, Value as Owned, json};
use tokenline_core::json::{self, Value};

use crate::number::TapeNumber;
use crate::place::{Document, Place, identifier};
use crate::pointer;
use crate::tape::{Members, StringBuffer, Tape};

/// Keywords that judge a value without subschemas, in the order in which they are reported.
pub(super) const RULES: &[&str] = &[
    "type",
    "const",
    "enum",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependencies",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "contentEncoding",
    "contentMediaType",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// Where the document is registered if it does not name itself.
const HOME: &str = "json-schema:///";

pub(crate) struct Oracle(Validator<Probe>);

/// Options for building validators of a representation.
pub(crate) type Options<'i, F> = ValidationOptions<'i, Arc<dyn Retrieve>, F>;

impl Oracle {
    /// Compiles every part of a schema that as a whole was compiled before. Nothing if that fails
    /// against expectation.
    pub(crate) fn new(document: &Document, options: Options<'static, Probe>) -> Option<Self> {
        let draft = document.draft;
        let id = identifier(&document.schema, draft).map(|id| id.trim_end_matches('#')).unwrap_or_default();
        let base = if id.contains(':') { id.to_owned() } else { format!("{HOME}{id}") };
        let resource = draft.create_resource_ref(&document.schema);
        let registry = Registry::new().draft(draft).add(base.as_str(), resource).ok()?.prepare().ok()?;
        let schema = json!({ "$schema": dialect(draft), "properties": parts(document, &base) });
        let options = options.with_draft(draft).with_base_uri("json-schema:///tokenline/oracle");
        options.with_registry(&registry).build(&schema).ok().map(Self)
    }

    /// Whether a value fits the schema at a place.
    pub(super) fn fits(&self, place: &Place<'_>, value: Value<'_>) -> bool {
        self.ask(&whole(&place.pointer), value)
    }

    /// Whether a value keeps one rule of the schema at a place.
    pub(super) fn keeps(&self, place: &Place<'_>, keyword: &str, value: Value<'_>) -> bool {
        self.ask(&rule(&place.pointer, keyword), value)
    }

    /// Whether a member's name matches a pattern of `patternProperties`.
    pub(super) fn matches(&self, regex: &str, name: Value<'_>) -> bool {
        self.ask(&pattern(regex), name)
    }

    fn ask(&self, part: &str, value: Value<'_>) -> bool {
        self.0.is_valid(ProbeNode { value, part: Some(part) })
    }
}

fn whole(pointer: &str) -> String {
    format!("#{pointer}")
}

fn rule(pointer: &str, keyword: &str) -> String {
    format!("={pointer}/{keyword}")
}

fn pattern(regex: &str) -> String {
    format!("~{regex}")
}

fn dialect(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft4 => "http://json-schema.org/draft-04/schema#",
        Draft::Draft6 => "http://json-schema.org/draft-06/schema#",
        Draft::Draft7 => "http://json-schema.org/draft-07/schema#",
        Draft::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
        _ => "https://json-schema.org/draft/2020-12/schema",
    }
}

/// The parts of a document by name, each a schema.
fn parts(document: &Document, base: &str) -> Map<String, Owned> {
    let mut parts = Map::new();
    let mut seen = HashSet::new();
    let mut open = vec![document.root()];
    while let Some(place) = open.pop() {
        if !seen.insert(place.pointer.clone()) {
            continue;
        }
        let reference = format!("{base}#{}", pointer::to_fragment(&place.pointer));
        parts.insert(whole(&place.pointer), json!({ "$ref": reference }));
        for keyword in RULES {
            if let Some(schema) = rule_alone(&place, keyword) {
                parts.insert(rule(&place.pointer, keyword), schema);
            }
        }
        for regex in place.names("patternProperties") {
            parts.insert(pattern(regex), json!({ "pattern": regex }));
        }
        open.extend(place.children());
        open.extend(place.reference());
    }
    parts
}

/// A schema of one rule, and what else that rule depends on.
fn rule_alone(place: &Place<'_>, keyword: &str) -> Option<Owned> {
    let value = place.keyword(keyword)?;
    let mut schema = Map::new();
    match keyword {
        // Only its lists of names; its schemas are places of their own.
        "dependencies" => {
            let lists = value.as_object()?.iter().filter(|(_, value)| value.is_array());
            schema
                .insert(keyword.to_owned(), lists.map(|(name, list)| (name.clone(), list.clone())).collect());
            return Some(Owned::Object(schema));
        }
        // A flag in draft 4, and no rule.
        "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return None,
        _ => schema.insert(keyword.to_owned(), value.clone()),
    };
    let companion = match keyword {
        "minimum" => "exclusiveMinimum",
        "maximum" => "exclusiveMaximum",
        "contentMediaType" => "contentEncoding",
        _ => return Some(Owned::Object(schema)),
    };
    let companion =
        place.keyword(companion).filter(|value| !value.is_number()).map(|value| (companion, value));
    schema.extend(companion.map(|(name, value)| (name.to_owned(), value.clone())));
    Some(Owned::Object(schema))
}

/// The representation of a value, or of an object that has it as its only member.
pub(crate) struct Probe;

#[derive(Clone)]
pub(crate) struct ProbeNode<'a> {
    value: Value<'a>,
    /// The name of that only member.
    part: Option<&'a str>,
}

impl<'a> From<Value<'a>> for ProbeNode<'a> {
    fn from(value: Value<'a>) -> Self {
        Self { value, part: None }
    }
}

impl<'a> ProbeNode<'a> {
    /// The value, unless it stands for an object around it.
    fn plain(&self) -> Option<Value<'a>> {
        self.part.is_none().then_some(self.value)
    }
}

impl Json for Probe {
    type Node<'a> = ProbeNode<'a>;
    type PreparedKey = <Tape as Json>::PreparedKey;
    type StringBuffer = StringBuffer;

    const KEYS_PER_LOOKUP: usize = Tape::KEYS_PER_LOOKUP;

    fn prepare_key(key: &str) -> Self::PreparedKey {
        Tape::prepare_key(key)
    }

    fn with_string_node<T>(buffer: &mut StringBuffer, string: &str, f: impl FnOnce(ProbeNode<'_>) -> T) -> T {
        buffer.with(string, |value| f(value.into()))
    }
}

impl<'a> Node<'a, Probe> for ProbeNode<'a> {
    type Object = ProbeObject<'a>;
    type Array = ProbeArray<'a>;
    type Number = TapeNumber<'a>;

    fn as_object(&self) -> Option<ProbeObject<'a>> {
        match self.part {
            Some(part) => Some(ProbeObject::Around(part, self.value)),
            None => self.value.as_object().map(ProbeObject::Plain),
        }
    }

    fn as_array(&self) -> Option<ProbeArray<'a>> {
        self.plain()?.as_array().map(ProbeArray)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.plain()?.as_str()
    }

    fn as_number(&self) -> Option<TapeNumber<'a>> {
        self.plain()?.as_number().map(TapeNumber)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.plain()?.as_bool()
    }

    fn is_null(&self) -> bool {
        self.plain().is_some_and(Value::is_null)
    }

    fn json_type(&self) -> JsonType {
        self.plain().map_or(JsonType::Object, |value| Node::<Tape>::json_type(&value))
    }

    fn string_length(&self) -> Option<u64> {
        Node::<Tape>::string_length(&self.plain()?)
    }

    fn equals_value(&self, expected: &Owned) -> bool {
        self.plain().is_some_and(|value| Node::<Tape>::equals_value(&value, expected))
    }

    fn to_value(&self) -> Cow<'a, Owned> {
        Node::<Tape>::to_value(&self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self.part {
            // Nothing refers back to it.
            Some(_) => None,
            None => Node::<Tape>::identity(&self.value),
        }
    }
}

pub(crate) enum ProbeObject<'a> {
    Plain(json::Object<'a>),
    Around(&'a str, Value<'a>),
}

impl<'a> Object<'a, Probe> for ProbeObject<'a> {
    type Node = ProbeNode<'a>;
    type MemberName = &'a str;
    type MembersIter = ProbeMembers<'a>;

    fn len(&self) -> usize {
        match self {
            Self::Plain(object) => Object::<Tape>::len(object),
            Self::Around(..) => 1,
        }
    }

    fn get(&self, key: &Box<str>) -> Option<ProbeNode<'a>> {
        match self {
            Self::Plain(object) => Object::<Tape>::get(object, key).map(Into::into),
            Self::Around(part, value) => (**key == **part).then(|| (*value).into()),
        }
    }

    fn members(&self) -> ProbeMembers<'a> {
        match self {
            Self::Plain(object) => ProbeMembers::Plain(object.members()),
            Self::Around(part, value) => ProbeMembers::Around(Some((part, *value))),
        }
    }
}

pub(crate) enum ProbeMembers<'a> {
    Plain(Members<'a>),
    Around(Option<(&'a str, Value<'a>)>),
}

impl<'a> Iterator for ProbeMembers<'a> {
    type Item = (&'a str, ProbeNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = match self {
            Self::Plain(members) => members.next()?,
            Self::Around(member) => member.take()?,
        };
        Some((name, value.into()))
    }
}

pub(crate) struct ProbeArray<'a>(json::Array<'a>);

impl<'a> Array<'a, Probe> for ProbeArray<'a> {
    type Node = ProbeNode<'a>;
    type ElementsIter = std::iter::Map<json::Elements<'a>, fn(Value<'a>) -> ProbeNode<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Self::ElementsIter {
        self.0.iter().map(ProbeNode::from)
    }

    fn is_unique(&self) -> bool {
        Array::<Tape>::is_unique(&self.0)
    }
}
