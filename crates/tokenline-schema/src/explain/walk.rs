//! Walks down to the broken rule.

use std::ops::Range;

use tokenline_core::json::{Kind, Value};

use super::subschema_validator::SubschemaValidator;
use super::union;
use crate::draft::Draft;
use crate::messages::{self, member_names};
use crate::patterns::{self, Undecided};
use crate::place::{Document, Place};
use crate::pointer;
use crate::rules::{Broken, RULES};
use crate::tape::{StringBuffer, distinct_members};

/// A broken rule, and the place where it is broken.
#[derive(Clone, Debug)]
pub(crate) struct BrokenRule {
    /// JSON Pointer from the validated value.
    pub(crate) instance_path: String,
    /// JSON Pointer from the schema's root.
    pub(crate) schema_path: String,
    pub(crate) message: String,
    /// Bytes from the start of the document.
    pub(crate) offset: usize,
}

/// Work allowed for an explanation per byte of the record, in bytes of values validated. A hostile schema and
/// record could otherwise make each of hundreds of steps validate all of it.
const FUEL_PER_BYTE: usize = 16;
/// The same, for any record.
const FUEL: usize = 256 * 1024;
/// The fixed cost of a verdict.
const VERDICT: usize = 16;
/// How many steps of a verdict cost as much as a byte of the value.
const STEPS_PER_BYTE: u64 = 32;
/// The most steps of a walk. Ends circular references.
const STEPS: usize = 512;

const NO_MATCH: &str = "does not match the schema";

/// A step of the walk.
pub(super) enum Step<'s, 'v> {
    /// The fault is further down, in a subschema that validates the same value.
    Into(Place<'s>),
    /// The fault is further down, in a subschema that validates the part with this name.
    Part(Place<'s>, String, Value<'v>),
    /// The fault is here: the rule at this pointer, broken by this value or by the part with this name.
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
        if forbids(schema) {
            let message = "the schema does not allow anything here";
            return Self::fault_of(schema.pointer.clone(), name, value, message);
        }
        Self::Part(schema.clone(), name.to_owned(), value)
    }
}

/// Whether the schema there is `false`.
fn forbids(place: &Place<'_>) -> bool {
    place.schema.as_bool() == Some(false)
}

/// The budget is used up.
pub(super) struct OutOfFuel;

/// The state of the walk.
pub(super) struct Walk<'o> {
    subschema_validator: &'o SubschemaValidator,
    fuel: usize,
    buffer: StringBuffer,
    /// Where the fault is, if that is known: parts beside it are left out.
    range: Option<Range<usize>>,
}

/// Finds the rule to report for an invalid value.
pub(crate) fn explain(
    document: &Document,
    subschema_validator: &SubschemaValidator,
    value: Value<'_>,
) -> BrokenRule {
    Walk::new(subschema_validator, value).down(document.root(), value, String::new())
}

impl BrokenRule {
    pub(super) fn new(
        mut instance_path: String,
        value: Value<'_>,
        schema_path: String,
        part: Option<(String, Value<'_>)>,
        message: String,
    ) -> Self {
        let mut offset = value.range().start;
        if let Some((name, part)) = part {
            pointer::push(&mut instance_path, &name);
            offset = part.range().start;
        }
        Self { instance_path, schema_path, message, offset }
    }
}

/// The steps found by a search.
pub(super) struct Steps<'s, 'v> {
    /// Whether the first step is enough.
    first_only: bool,
    steps: Vec<Step<'s, 'v>>,
}

impl<'s, 'v> Steps<'s, 'v> {
    /// Adds a step. Returns whether the search is over.
    fn add(&mut self, step: Step<'s, 'v>) -> bool {
        self.steps.push(step);
        self.first_only
    }
}

/// A search adds no step if the fault is elsewhere.
type Search<'o> =
    for<'s, 'v> fn(&mut Walk<'o>, &Place<'s>, Value<'v>, &mut Steps<'s, 'v>) -> Result<(), OutOfFuel>;

impl<'o> Walk<'o> {
    /// In this order: faults of the value itself, of its parts, of the alternatives that it should match.
    const SEARCHES: [Search<'o>; 7] = [
        Self::broken_rules,
        Self::joined,
        Self::elements,
        Self::members,
        Self::alternative,
        Self::conditional,
        Self::negated,
    ];

    pub(super) fn new(subschema_validator: &'o SubschemaValidator, value: Value<'_>) -> Self {
        patterns::begin_record();
        let fuel = FUEL + value.range().len().saturating_mul(FUEL_PER_BYTE);
        Self { subschema_validator, fuel, buffer: StringBuffer::default(), range: None }
    }

    /// Examines only parts that overlap a range, which is not empty.
    pub(super) fn inside(self, range: Range<usize>) -> Self {
        Self { range: Some(range), ..self }
    }

    fn is_beside(&self, part: Value<'_>) -> bool {
        let part = part.range();
        self.range.as_ref().is_some_and(|range| part.end <= range.start || range.end <= part.start)
    }

    /// Walks down from a place whose schema the value breaks to the one rule to report.
    pub(super) fn down(
        &mut self,
        place: Place<'_>,
        value: Value<'_>,
        mut instance_path: String,
    ) -> BrokenRule {
        let mut here = (place, value);
        for _ in 0..STEPS {
            let (place, value) = &here;
            match self.step(place, *value) {
                Ok(Some(Step::Into(place))) => here.0 = place,
                Ok(Some(Step::Part(place, name, part))) => {
                    pointer::push(&mut instance_path, &name);
                    here = (place, part);
                }
                Ok(Some(Step::Fault { schema_path, part, message })) => {
                    return BrokenRule::new(instance_path, *value, schema_path, part, message);
                }
                Ok(None) | Err(OutOfFuel) => break,
            }
        }
        let (place, value) = here;
        BrokenRule::new(instance_path, value, place.pointer, None, NO_MATCH.to_owned())
    }

    /// The next step from a place whose schema the value breaks. `None` if no search finds the fault.
    fn step<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
    ) -> Result<Option<Step<'s, 'v>>, OutOfFuel> {
        let mut steps = Steps { first_only: true, steps: Vec::new() };
        // Rules that depend on others come last, when only they are left.
        for search in Self::SEARCHES.into_iter().chain([Self::rules_in_context as Search<'o>]) {
            search(self, place, value, &mut steps)?;
            if let Some(step) = steps.steps.pop() {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// All steps from a place whose schema the value breaks, without rules that depend on others.
    pub(super) fn steps<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
    ) -> Result<Vec<Step<'s, 'v>>, OutOfFuel> {
        self.spend(0)?;
        let mut steps = Steps { first_only: false, steps: Vec::new() };
        for search in Self::SEARCHES {
            search(self, place, value, &mut steps)?;
        }
        Ok(steps.steps)
    }

    /// Whether a value fits the schema at a place.
    pub(super) fn fits(&mut self, place: &Place<'_>, value: Value<'_>) -> Result<bool, OutOfFuel> {
        let steps = usize::try_from(place.cost() / STEPS_PER_BYTE).unwrap_or(usize::MAX);
        self.spend(steps.saturating_add(value.range().len()))?;
        let verdict = self.subschema_validator.fits(place, value);
        self.decided(verdict)
    }

    /// The verdict. Without one, ends the walk: the search for it took too long.
    fn decided(&mut self, verdict: Result<bool, Box<Undecided>>) -> Result<bool, OutOfFuel> {
        verdict.map_err(|_| {
            self.fuel = 0;
            OutOfFuel
        })
    }

    /// Pays for examining so many bytes of a value, or of the schema.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), OutOfFuel> {
        self.fuel = self.fuel.checked_sub(bytes.saturating_add(VERDICT)).ok_or(OutOfFuel)?;
        Ok(())
    }

    fn broken_rules<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
        if forbids(place) {
            steps.add(Step::fault(place.pointer.clone(), "the schema does not allow anything here"));
            return Ok(());
        }
        for rule in RULES {
            let Some(demand) = place.keyword(rule.name) else { continue };
            let size = value.range().len();
            let is_read = rule.is_deep || value.kind() == Kind::String;
            self.spend(if is_read { size } else { size.min(VERDICT) })?;
            let verdict = self.subschema_validator.keeps(place, rule.name, value);
            if !self.decided(verdict)? {
                let broken = Broken { demand, literals: place.literals(), beside: place.object(), value };
                let fault = Step::fault(place.keyword_pointer(rule.name), rule.message(&broken));
                if steps.add(fault) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// `$ref` and `allOf`: schemas that must all match the same value.
    fn joined<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
        for joined in place.reference().into_iter().chain(place.list("allOf")) {
            if !self.fits(&joined, value)? && steps.add(Step::Into(joined)) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn elements<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
        let Some(array) = value.as_array() else { return Ok(()) };
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
            if self.is_beside(element) {
                continue;
            }
            if at >= first.len() && forbids(schema) {
                let message = messages::too_many_elements(first.len());
                steps.add(Step::fault_of(schema.pointer.clone(), &at.to_string(), element, message));
                // The others are the same fault.
                return Ok(());
            }
            if !self.fits(schema, element)? && steps.add(Step::part(schema, &at.to_string(), element)) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn members<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
        let Some(object) = value.as_object() else { return Ok(()) };
        let patterns: Vec<_> = place.names("patternProperties").collect();
        let names = place.child("propertyNames");
        let rest = place.child("additionalProperties");
        for (name, member) in distinct_members(object) {
            if self.is_beside(member) {
                continue;
            }
            self.spend(name.len())?;
            if let Some(names) = &names {
                let verdict = self.buffer.with(name, |name| self.subschema_validator.fits(names, name));
                let message = "the member's name breaks the rules for names";
                if !self.decided(verdict)?
                    && steps.add(Step::fault_of(names.pointer.clone(), name, member, message))
                {
                    return Ok(());
                }
            }
            let mut schemas: Vec<_> = place.named_child("properties", name).into_iter().collect();
            for regex in &patterns {
                self.spend(name.len())?;
                let verdict = self.subschema_validator.matches(regex, name);
                if self.decided(verdict)? {
                    schemas.extend(place.named_child("patternProperties", regex));
                }
            }
            if schemas.is_empty() {
                if let Some(rest) = rest.as_ref().filter(|rest| forbids(rest)) {
                    self.spend(name.len().saturating_mul(place.names("properties").count()))?;
                    let message = messages::unknown_member(name, &mut place.names("properties"));
                    if steps.add(Step::fault_of(rest.pointer.clone(), name, member, message)) {
                        return Ok(());
                    }
                    continue;
                }
                schemas.extend(rest.clone());
            }
            for schema in &schemas {
                if !self.fits(schema, member)? && steps.add(Step::part(schema, name, member)) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn alternative<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
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
                0 => {
                    let path = place.keyword_pointer(keyword);
                    let step = union::choose_branch(self, place.literals(), path, branches, value)?;
                    if steps.add(step) {
                        return Ok(());
                    }
                }
                2.. if keyword == "oneOf" && !place.ignores(keyword) => {
                    let (all, several) = (branches.len(), fitting.len());
                    let message =
                        format!("matches {several} of {all} alternatives, but must match exactly one");
                    if steps.add(Step::fault(place.keyword_pointer(keyword), message)) {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `if`, `dependentSchemas`, and `dependencies` with schemas.
    fn conditional<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
        let mut applied = Vec::new();
        if let Some(condition) = place.child("if") {
            let consequence = if self.fits(&condition, value)? { "then" } else { "else" };
            applied.extend(place.child(consequence));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            if place.keyword(keyword).is_some() {
                let members = member_names(value);
                let present = place.names(keyword).filter(|name| members.contains(name));
                applied.extend(present.filter_map(|name| place.named_child(keyword, name)));
            }
        }
        for schema in applied {
            if !self.fits(&schema, value)? && steps.add(Step::Into(schema)) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn negated<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
        if let Some(schema) = place.child("not")
            && self.fits(&schema, value)?
        {
            steps.add(Step::fault(schema.pointer, "matches what `not` forbids"));
        }
        Ok(())
    }

    /// Rules that depend on others, if everything else matches.
    fn rules_in_context<'s, 'v>(
        &mut self,
        place: &Place<'s>,
        value: Value<'v>,
        steps: &mut Steps<'s, 'v>,
    ) -> Result<(), OutOfFuel> {
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
        if let Some((keyword, _, message)) = suspect {
            steps.add(Step::fault(place.keyword_pointer(keyword), message));
        }
        Ok(())
    }
}
