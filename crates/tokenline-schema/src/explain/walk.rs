//! The way down to the rule that is broken.

use jsonschema::Draft;
use tokenline_core::json::{Kind, Value};

use super::oracle::{Oracle, RULES};
use super::{union, words};
use crate::place::{Document, Place};
use crate::pointer;
use crate::tape::{StringBuffer, distinct_members};

/// What to report: a rule, and the place where it is broken.
#[derive(Debug)]
pub(crate) struct Finding {
    /// JSON Pointer from the value that was judged.
    pub(crate) instance_path: String,
    /// JSON Pointer from the schema's root.
    pub(crate) schema_path: String,
    pub(crate) message: String,
    /// Bytes from the start of the document.
    pub(crate) offset: usize,
}

/// Work allowed for an explanation, in bytes of values judged, for each byte of the record. A
/// hostile schema and record could otherwise make each of hundreds of steps judge all of it.
const FUEL_PER_BYTE: usize = 16;
/// The same for any record.
const FUEL: usize = 256 * 1024;
/// What a verdict costs besides.
const VERDICT: usize = 16;
/// How many steps the way may have. References that go in circles end here.
const STEPS: usize = 512;

const PLAIN: &str = "does not match the schema";

/// One step on the way.
pub(super) enum Step<'s, 'v> {
    /// The fault is further down, in a subschema that judges the same value.
    Into(Place<'s>),
    /// The fault is further down, in a subschema that judges the part of this name.
    Part(Place<'s>, String, Value<'v>),
    /// This is the fault: the rule at this pointer, broken here or by the part of this name.
    Fault { schema_path: String, part: Option<(String, Value<'v>)>, message: String },
}

impl<'s, 'v> Step<'s, 'v> {
    pub(super) fn fault(schema_path: String, message: impl Into<String>) -> Self {
        Self::Fault { schema_path, part: None, message: message.into() }
    }

    pub(super) fn fault_of(
        schema_path: String,
        part: &str,
        value: Value<'v>,
        message: impl Into<String>,
    ) -> Self {
        Self::Fault { schema_path, part: Some((part.to_owned(), value)), message: message.into() }
    }

    /// The step to a part that does not fit its schema.
    fn part(schema: &Place<'s>, name: &str, value: Value<'v>) -> Self {
        if schema.schema.as_bool() == Some(false) {
            let message = "the schema does not allow anything here";
            return Self::fault_of(schema.pointer.clone(), name, value, message);
        }
        Self::Part(schema.clone(), name.to_owned(), value)
    }
}

/// The fuel is spent.
pub(super) struct Spent;

/// What is known of the way so far.
pub(super) struct Walk<'o> {
    oracle: &'o Oracle,
    fuel: usize,
    buffer: StringBuffer,
}

/// Finds what to report of a value that breaks a schema.
pub(crate) fn explain(document: &Document, oracle: &Oracle, value: Value<'_>) -> Finding {
    let fuel = FUEL + value.range().len().saturating_mul(FUEL_PER_BYTE);
    let mut walk = Walk { oracle, fuel, buffer: StringBuffer::default() };
    let mut here = (document.root(), value);
    let mut instance_path = String::new();
    for _ in 0..STEPS {
        let (place, value) = &here;
        match walk.step(place, *value) {
            Ok(Some(Step::Into(place))) => here.0 = place,
            Ok(Some(Step::Part(place, name, part))) => {
                pointer::push(&mut instance_path, &name);
                here = (place, part);
            }
            Ok(Some(Step::Fault { schema_path, part, message })) => {
                let mut offset = value.range().start;
                if let Some((name, part)) = part {
                    pointer::push(&mut instance_path, &name);
                    offset = part.range().start;
                }
                return Finding { instance_path, schema_path, message, offset };
            }
            Ok(None) | Err(Spent) => break,
        }
    }
    let (place, value) = here;
    let offset = value.range().start;
    Finding { instance_path, schema_path: place.pointer, message: PLAIN.to_owned(), offset }
}

/// None if this is not where the fault is.
type Found<'s, 'v> = Result<Option<Step<'s, 'v>>, Spent>;
type Search<'o> = for<'s, 'v> fn(&mut Walk<'o>, &Place<'s>, Value<'v>) -> Found<'s, 'v>;

impl<'o> Walk<'o> {
    /// The next step from a place whose schema the value breaks. None if its fault shows nowhere.
    fn step<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        if place.schema.as_bool() == Some(false) {
            return Ok(Some(Step::fault(place.pointer.clone(), "the schema does not allow anything here")));
        }
        // In this order: what is wrong with the value itself, with its parts, with what it is one
        // of. What cannot be asked alone comes last, when it is the only one left.
        let searches: [Search<'o>; 8] = [
            Self::broken_rule,
            Self::joined,
            Self::element,
            Self::member,
            Self::alternative,
            Self::conditional,
            Self::negated,
            Self::left_over,
        ];
        for search in searches {
            if let Some(step) = search(self, place, value)? {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Whether a value fits the schema at a place.
    pub(super) fn fits(&mut self, place: &Place<'_>, value: Value<'_>) -> Result<bool, Spent> {
        self.spend(value.range().len())?;
        Ok(self.oracle.fits(place, value))
    }

    /// Pays for a look at so many bytes of a value, or of the schema.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Spent> {
        self.fuel = self.fuel.checked_sub(VERDICT + bytes).ok_or(Spent)?;
        Ok(())
    }

    fn broken_rule<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        for keyword in RULES {
            let Some(demand) = place.keyword(keyword) else { continue };
            // These look at all of the value, the others at its surface.
            let deep = matches!(*keyword, "const" | "enum" | "uniqueItems");
            let size = value.range().len();
            self.spend(if deep || value.kind() == Kind::String { size } else { size.min(VERDICT) })?;
            if !self.oracle.keeps(place, keyword, value) {
                // A flag beside the limit makes it exclusive in draft 4.
                let flag =
                    |name: &'static str| place.keyword(name).is_some_and(|flag| flag == true).then_some(name);
                let exclusive = match *keyword {
                    "minimum" => flag("exclusiveMinimum"),
                    "maximum" => flag("exclusiveMaximum"),
                    _ => None,
                };
                let message = words::rule(exclusive.unwrap_or(keyword), demand, value);
                return Ok(Some(Step::fault(place.keyword_pointer(keyword), message)));
            }
        }
        Ok(None)
    }

    /// `$ref` and `allOf`: schemas of the same value that must all hold.
    fn joined<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        for joined in place.reference().into_iter().chain(place.list("allOf")) {
            if !self.fits(&joined, value)? {
                return Ok(Some(Step::Into(joined)));
            }
        }
        Ok(None)
    }

    fn element<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        let Some(array) = value.as_array() else { return Ok(None) };
        // A list of schemas for the first elements, and one for the rest.
        let (first, rest) = if place.draft() >= Draft::Draft202012 {
            (place.list("prefixItems"), place.child("items"))
        } else if place.keyword("items").is_some_and(serde_json::Value::is_array) {
            (place.list("items"), place.child("additionalItems"))
        } else {
            (Vec::new(), place.child("items"))
        };
        for (at, element) in array.iter().enumerate() {
            let Some(schema) = first.get(at).or(rest.as_ref()) else { break };
            if !self.fits(schema, element)? {
                return Ok(Some(Step::part(schema, &at.to_string(), element)));
            }
        }
        Ok(None)
    }

    fn member<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        let Some(object) = value.as_object() else { return Ok(None) };
        let patterns: Vec<_> = place.names("patternProperties").collect();
        let names = place.child("propertyNames");
        let rest = place.child("additionalProperties");
        for (name, member) in distinct_members(object) {
            self.spend(name.len())?;
            if let Some(names) = &names
                && !self.buffer.with(name, |name| self.oracle.fits(names, name))
            {
                let message = "the member's name breaks the rules for names";
                return Ok(Some(Step::fault_of(names.pointer.clone(), name, member, message)));
            }
            let mut schemas: Vec<_> = place.named_child("properties", name).into_iter().collect();
            for regex in &patterns {
                self.spend(name.len())?;
                if self.buffer.with(name, |name| self.oracle.matches(regex, name)) {
                    schemas.extend(place.named_child("patternProperties", regex));
                }
            }
            if schemas.is_empty() {
                schemas.extend(rest.clone());
            }
            for schema in &schemas {
                if !self.fits(schema, member)? {
                    return Ok(Some(Step::part(schema, name, member)));
                }
            }
        }
        Ok(None)
    }

    fn alternative<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        for keyword in ["anyOf", "oneOf"] {
            let branches = place.list(keyword);
            if branches.is_empty() {
                continue;
            }
            let mut fitting = Vec::new();
            for (at, branch) in branches.iter().enumerate() {
                if self.fits(branch, value)? {
                    fitting.push(at);
                }
            }
            match fitting.len() {
                0 => return union::meant(self, place.keyword_pointer(keyword), branches, value).map(Some),
                2.. if keyword == "oneOf" => {
                    let (all, several) = (branches.len(), fitting.len());
                    let message =
                        format!("matches {several} of {all} alternatives, but must match exactly one");
                    return Ok(Some(Step::fault(place.keyword_pointer(keyword), message)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// `if`, `dependentSchemas`, and `dependencies` with schemas.
    fn conditional<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        let mut applied = Vec::new();
        if let Some(condition) = place.child("if") {
            let consequence = if self.fits(&condition, value)? { "then" } else { "else" };
            applied.extend(place.child(consequence));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let present = place.names(keyword).filter(|name| value.get(name).is_some());
            applied.extend(present.filter_map(|name| place.named_child(keyword, name)));
        }
        for schema in applied {
            if !self.fits(&schema, value)? {
                return Ok(Some(Step::Into(schema)));
            }
        }
        Ok(None)
    }

    fn negated<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        match place.child("not") {
            Some(schema) if self.fits(&schema, value)? => {
                Ok(Some(Step::fault(schema.pointer, "matches what `not` forbids")))
            }
            _ => Ok(None),
        }
    }

    /// What only has a meaning together with the rest, when everything else holds.
    fn left_over<'s, 'v>(&mut self, place: &Place<'s>, value: Value<'v>) -> Found<'s, 'v> {
        let suspects = [
            ("contains", value.as_array().is_some(), "the number of elements that match `contains` is wrong"),
            (
                "unevaluatedItems",
                value.as_array().is_some(),
                "has elements that no part of the schema allows",
            ),
            (
                "unevaluatedProperties",
                value.as_object().is_some(),
                "has members that no part of the schema allows",
            ),
            ("$ref", place.reference().is_none(), "does not match the schema referred to"),
            ("$dynamicRef", true, "does not match the schema referred to"),
            ("$recursiveRef", true, "does not match the schema referred to"),
        ];
        let suspect =
            suspects.into_iter().find(|(keyword, applies, _)| *applies && place.keyword(keyword).is_some());
        Ok(suspect.map(|(keyword, _, message)| Step::fault(place.keyword_pointer(keyword), message)))
    }
}
