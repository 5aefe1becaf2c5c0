//! The validator of records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, PatternOptions, Validator};
use tokenline_core::json::{Parser, Raw, Value};
use tokenline_core::{Code, Validate, ValidateOpen, Violation};

use crate::cost;
use crate::error::{SchemaError, SchemaErrorKind};
use crate::explain::{self, BrokenRule, SubschemaValidator};
use crate::names;
use crate::open::Open;
use crate::place::Document;
use crate::plan::{self, Outside, PATTERN_SIZE, Plan, ValidationPlan};
use crate::resources::Resources;
use crate::tape::Tape;
use crate::unsupported_schema;

/// Options for compiling schemas and validating records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaOptions {
    assert_formats: bool,
    allow_duplicate_keys: bool,
    max_paths: u64,
    /// By their URIs as given.
    resources: Vec<(String, serde_json::Value)>,
    unreadable: Option<SchemaError>,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl SchemaOptions {
    /// Formats are asserted, records with duplicate keys are rejected.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            assert_formats: true,
            allow_duplicate_keys: false,
            max_paths: 4096,
            resources: Vec::new(),
            unreadable: None,
        }
    }

    /// Whether a string that does not match its `format` breaks the schema; on by default. The drafts
    /// disagree: up to draft 7 it does, from 2019-09 on a format is only an annotation. Formats that no draft
    /// defines are ignored.
    #[must_use]
    pub const fn assert_formats(mut self, yes: bool) -> Self {
        self.assert_formats = yes;
        self
    }

    /// Whether a record in which an object names a member twice may pass. The last one counts.
    #[must_use]
    pub const fn allow_duplicate_keys(mut self, yes: bool) -> Self {
        self.allow_duplicate_keys = yes;
        self
    }

    /// The most paths on which references, combinators (such as `anyOf`) and conditions may lead from one
    /// subschema to others that validate the same value; 4096 by default. Including the subschemas of the
    /// value's parts, 512 times as many. A small schema can have billions, because they multiply, and a
    /// verdict may follow all of them. 16 per subschema are always allowed.
    #[must_use]
    pub const fn max_paths(mut self, paths: u64) -> Self {
        self.max_paths = paths;
        self
    }

    /// Adds a schema that others may refer to by this URI, or by the absolute `$id` that it declares. A relative URI is
    /// resolved against the `$id` of the schema that is compiled. A schema to which nothing refers has no effect.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenline_core::json::Parser;
    /// use tokenline_schema::SchemaOptions;
    ///
    /// let validator = SchemaOptions::new()
    ///     .resource("city.json", &json!({"type":"string","minLength":1}))
    ///     .build(&json!({"properties":{"from":{"$ref":"city.json"},"to":{"$ref":"city.json"}}}))?;
    /// let mut parser = Parser::new();
    /// let violations = validator.violations(parser.parse(r#"{"from":"Oslo","to":""}"#)?, 10);
    /// assert_eq!((violations.len(), &*violations[0].instance_path), (1, "/to"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>, schema: &impl AsSchema) -> Self {
        match schema.as_schema() {
            Ok(schema) => self.resources.push((uri.into(), schema.into_owned())),
            Err(error) => self.unreadable = Some(error),
        }
        self
    }

    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// If it is not a valid schema of its draft, refers to something that is neither in it nor a
    /// [resource](Self::resource), has a pattern that
    /// cannot be matched in linear time, could validate one value on more than [`max_paths`](Self::max_paths)
    /// paths, or its pointers take more than 128 MiB in all.
    pub fn build(self, schema: &impl AsSchema) -> Result<SchemaValidator, SchemaError> {
        if let Some(error) = self.unreadable {
            return Err(error);
        }
        let schema = &*schema.as_schema()?;
        // A resource may define a dialect of its own, which is read by the rules of the latest draft.
        let draft = match Draft::default().detect(schema) {
            Draft::Unknown => Draft::default(),
            draft => draft,
        };
        let mut document = Document::new(schema.clone(), draft);
        document.resources = Resources::new(&self.resources, &document.base_uri());
        // Before compiling it, which may also follow all paths.
        document.costs = cost::count(&document, self.max_paths)?;
        let plan = plan::compile(&document, self.assert_formats, &|rule| {
            self.for_tape(&document).with_draft(document.draft).build(rule).ok()
        });
        let validator = if plan.is_ok() && !document.has_inner_dialect() {
            // A plan has found all references and compiled all patterns, so only the draft's rules can be broken.
            jsonschema::meta::validate(schema).map(|()| OnceLock::new())
        } else {
            self.for_tape(&document).build(schema).map(OnceLock::from)
        };
        let validator = validator.map_err(|error| unsupported_schema::explain(&document, &error))?;
        let subschema_validator = OnceLock::new();
        let names = OnceLock::new();
        let inner = Inner { plan, validator, document, options: self, subschema_validator, names };
        Ok(SchemaValidator { inner: Arc::new(inner), shows_names: false })
    }

    /// Compiles a schema from its text.
    ///
    /// # Errors
    ///
    /// If the text is not JSON, or as for [`build`](Self::build). The error has a line and column.
    pub fn build_str(self, text: &str) -> Result<SchemaValidator, SchemaError> {
        let mut parser = Parser::new();
        let value = parser.parse(text)?;
        self.build(&to_schema(value)?).map_err(|error| place(error, value))
    }

    fn for_tape(&self, document: &Document) -> explain::Options<'static> {
        let patterns = PatternOptions::regex().size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE);
        jsonschema::options_for::<Tape>()
            .with_retriever(document.resources.clone())
            .with_base_uri(document.base_uri())
            .with_pattern_options(patterns)
            .should_validate_formats(self.assert_formats)
    }
}

/// A value that is a JSON Schema: [`serde_json::Value`], a [`Raw`], or with the feature `schemars` a
/// [`schemars::Schema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a JSON Schema value",
    note = "pass a `serde_json::Value` or a `schemars::Schema`, or read text with `SchemaOptions::build_str`"
)]
pub trait AsSchema {
    /// The schema as serde_json reads it.
    ///
    /// # Errors
    ///
    /// If it contains a number that serde_json cannot hold.
    fn as_schema(&self) -> Result<Cow<'_, serde_json::Value>, SchemaError>;
}

impl AsSchema for serde_json::Value {
    fn as_schema(&self) -> Result<Cow<'_, Self>, SchemaError> {
        Ok(Cow::Borrowed(self))
    }
}

impl AsSchema for Raw {
    fn as_schema(&self) -> Result<Cow<'_, serde_json::Value>, SchemaError> {
        self.with_value(to_schema).map(Cow::Owned)
    }
}

#[cfg(feature = "schemars")]
impl AsSchema for schemars::Schema {
    fn as_schema(&self) -> Result<Cow<'_, serde_json::Value>, SchemaError> {
        Ok(Cow::Borrowed(self.as_value()))
    }
}

/// A schema or tool definitions as serde_json reads them.
pub(crate) fn to_schema(value: Value<'_>) -> Result<serde_json::Value, SchemaError> {
    value.to_value().map_err(|error| SchemaError::new(SchemaErrorKind::Syntax, "", error.to_string()))
}

/// The error with its line and column in the text.
pub(crate) fn place(error: SchemaError, schema: Value<'_>) -> SchemaError {
    let Some(value) = schema.pointer(error.path()) else { return error };
    let before = &schema.document()[..value.range().start];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    error.at(1 + before.matches('\n').count(), 1 + before.len() - line_start)
}

/// Validates records against a JSON Schema. Cheap to clone.
///
/// Supports drafts 4, 6, 7, 2019-09 and 2020-12, selected by `$schema`; the default is 2020-12. Nothing
/// outside the schema and its [resources](SchemaOptions::resource) is ever read, neither files nor URLs. Patterns are matched in linear time, so
/// look-around and back-references are rejected.
#[derive(Clone)]
pub struct SchemaValidator {
    inner: Arc<Inner>,
    shows_names: bool,
}

struct Inner {
    plan: Result<Plan, Outside>,
    /// Created for the first verdict that no plan gives.
    validator: OnceLock<Validator<Tape>>,
    document: Document,
    options: SchemaOptions,
    /// Created for the first invalid record.
    subschema_validator: OnceLock<Option<SubschemaValidator>>,
    /// The member names in the schema; created for the first path that is shown.
    names: OnceLock<HashSet<String>>,
}

impl Inner {
    /// Whether a value fits the schema, whatever its names.
    #[inline]
    fn fits(&self, value: Value<'_>) -> bool {
        let planned = self.plan.as_ref().ok().and_then(|plan| plan.is_valid(value));
        planned.unwrap_or_else(|| self.validator().is_valid(value.into()))
    }

    #[cold]
    fn compile_validator(&self) -> Validator<Tape> {
        let built = self.options.for_tape(&self.document).build(&self.document.schema);
        built.unwrap_or_else(|error| unreachable!("jsonschema compiles what a plan covers: {error}"))
    }

    fn validator(&self) -> &Validator<Tape> {
        self.validator.get_or_init(|| self.compile_validator())
    }
}

impl SchemaValidator {
    /// Compiles a schema with the default options.
    ///
    /// # Errors
    ///
    /// As for [`SchemaOptions::build`].
    pub fn new(schema: &impl AsSchema) -> Result<Self, SchemaError> {
        SchemaOptions::new().build(schema)
    }

    /// Compiles the schema that schemars derives from a type, as it is deserialized.
    ///
    /// ```
    /// use tokenline_core::{Validate, json::Parser};
    /// use tokenline_schema::SchemaValidator;
    ///
    /// #[derive(schemars::JsonSchema)]
    /// struct Definition {
    ///     entity: String,
    ///     confidence: Option<f64>,
    /// }
    ///
    /// let validator = SchemaValidator::for_type::<Definition>()?;
    /// let mut parser = Parser::new();
    /// let violation = validator.validate(parser.parse(r#"{"confidence":1}"#)?).unwrap_err();
    /// assert_eq!(violation.message, "missing required member `entity`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`SchemaOptions::build`]. Only a schema that was written or changed by hand can have these
    /// faults.
    #[cfg(feature = "schemars")]
    pub fn for_type<T: schemars::JsonSchema>() -> Result<Self, SchemaError> {
        Self::new(&schemars::schema_for!(T))
    }

    /// Whether [instance paths](Violation::instance_path) show the names of all members. By default, a member
    /// that the schema does not name is `*`: in a map from e-mail addresses the names are private data.
    ///
    /// ```
    /// use tokenline_core::{Validate, json::Parser};
    /// use tokenline_schema::SchemaValidator;
    ///
    /// let validator: SchemaValidator =
    ///     r#"{"properties":{"scores":{"additionalProperties":{"type":"integer"}}}}"#.parse()?;
    /// let mut parser = Parser::new();
    /// let record = parser.parse(r#"{"scores":{"ada@example.com":"high"}}"#)?;
    /// assert_eq!(validator.validate(record).unwrap_err().instance_path, "/scores/*");
    /// let validator = validator.show_names(true);
    /// assert_eq!(validator.validate(record).unwrap_err().instance_path, "/scores/ada@example.com");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn show_names(mut self, yes: bool) -> Self {
        self.shows_names = yes;
        self
    }

    /// The schema as given.
    #[must_use]
    pub fn schema(&self) -> &serde_json::Value {
        &self.inner.document.schema
    }

    /// How values are validated: with a plan that was compiled from the schema, or with jsonschema if the schema has
    /// something that plans do not support: `unevaluatedItems`, `unevaluatedProperties`, `$dynamicRef`,
    /// `$recursiveRef`, a reference into another document or back to itself for the same value, or a subschema with a
    /// `$schema` or `$id` of its own. The verdicts are the same.
    ///
    /// ```
    /// use tokenline_schema::{SchemaValidator, ValidationPlan};
    ///
    /// let validator: SchemaValidator =
    ///     r#"{"properties":{"age":{"minimum":0},"email":{"type":"string"}},"additionalProperties":false}"#.parse()?;
    /// assert!(validator.plan().is_compiled());
    /// assert_eq!(validator.plan().to_string(), "compiled: 3 subschemas");
    ///
    /// let validator: SchemaValidator =
    ///     r#"{"allOf":[{"required":["age"]},{"unevaluatedProperties":false}]}"#.parse()?;
    /// let plan = validator.plan();
    /// let ValidationPlan::Jsonschema { keyword, path } = &plan else { panic!() };
    /// assert_eq!((keyword.as_str(), path.as_str()), ("unevaluatedProperties", "/allOf/1/unevaluatedProperties"));
    /// assert_eq!(plan.to_string(), "jsonschema, because of `unevaluatedProperties` at /allOf/1/unevaluatedProperties");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn plan(&self) -> ValidationPlan {
        ValidationPlan::of(&self.inner.plan)
    }

    /// Whether a value fits the schema, without a reason. Duplicate keys count as in
    /// [`validate`](Validate::validate).
    #[must_use]
    pub fn is_valid(&self, value: Value<'_>) -> bool {
        (self.inner.options.allow_duplicate_keys || value.repeated_name().is_none()) && self.inner.fits(value)
    }

    /// All violations of a value, in the order of their places, after the first duplicate key: at most
    /// `at_most`, and fewer if broken them takes too much work, but at least one for an invalid value. If
    /// all alternatives (such as those of `anyOf`) fail, one violation of the intended alternative. Rules
    /// that depend on others (`contains`, `unevaluatedProperties`) are reported only if nothing else is
    /// wrong.
    ///
    /// ```
    /// use tokenline_core::json::Parser;
    /// use tokenline_schema::SchemaValidator;
    ///
    /// let validator: SchemaValidator =
    ///     r#"{"required":["name"],"properties":{"age":{"minimum":0},"email":{"type":"string"}}}"#.parse()?;
    /// let mut parser = Parser::new();
    /// let violations = validator.violations(parser.parse(r#"{"age":-1,"email":7}"#)?, 100);
    /// let rules: Vec<&str> = violations.iter().map(|its| its.schema_path.as_str()).collect();
    /// assert_eq!(rules, ["/required", "/properties/age/minimum", "/properties/email/type"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn violations(&self, value: Value<'_>, at_most: usize) -> Vec<Violation> {
        let mut violations = Vec::new();
        if !self.inner.options.allow_duplicate_keys {
            violations.extend(Violation::duplicate_key(value).map(|its| *its));
        }
        if !self.inner.fits(value) {
            violations.extend(match self.subschema_validator() {
                Some(subschema_validator) => {
                    explain::explain_all(&self.inner.document, subschema_validator, value, at_most)
                        .into_iter()
                        .map(to_violation)
                        .collect()
                }
                None => vec![unexplained(value)],
            });
        }
        violations.truncate(at_most);
        violations.into_iter().map(|violation| self.with_shown_names(violation, value)).collect()
    }

    #[cold]
    pub(crate) fn with_shown_names(&self, violation: Violation, value: Value<'_>) -> Violation {
        if self.shows_names {
            return violation;
        }
        let names = self.inner.names.get_or_init(|| names::names(self.inner.document.schemas()));
        let path = names::shown(&violation.instance_path, value, names);
        violation.with_instance_path(path)
    }

    #[cold]
    fn violation(&self, value: Value<'_>) -> Box<Violation> {
        let violation = match self.subschema_validator() {
            Some(subschema_validator) => {
                to_violation(explain::explain(&self.inner.document, subschema_validator, value))
            }
            None => unexplained(value),
        };
        Box::new(self.with_shown_names(violation, value))
    }

    /// The plan, if a value can be validated with it in parts: with repeated names allowed, the last of them counts.
    pub(crate) fn compiled(&self) -> Option<&Plan> {
        let is_final = !self.inner.options.allow_duplicate_keys;
        self.inner.plan.as_ref().ok().filter(|_| is_final)
    }

    /// What is wrong inside a value of a snapshot that does not fit.
    #[cold]
    pub(crate) fn violation_inside(&self, snapshot: Value<'_>, value: Value<'_>) -> Box<Violation> {
        let range = value.range();
        // Open values break rules that they may yet keep.
        let is_inside = |broken: &BrokenRule| range.contains(&broken.offset);
        let broken = self.subschema_validator().and_then(|subschema_validator| {
            let all = explain::explain_all(&self.inner.document, subschema_validator, snapshot, MOST_OPEN);
            all.into_iter().find(is_inside)
        });
        Box::new(match broken {
            Some(broken) => to_violation(broken),
            None => unexplained(value).with_instance_path(snapshot.pointer_at(range.start)),
        })
    }

    fn subschema_validator(&self) -> Option<&SubschemaValidator> {
        let Inner { document, options, subschema_validator, .. } = &*self.inner;
        subschema_validator
            .get_or_init(|| SubschemaValidator::new(document, options.for_tape(document)))
            .as_ref()
    }
}

/// How many violations of open values are passed to find that of a complete one.
const MOST_OPEN: usize = 256;

fn to_violation(broken: BrokenRule) -> Violation {
    Violation::new(Code::SchemaViolation, broken.offset, broken.message)
        .with_instance_path(broken.instance_path)
        .with_schema_path(broken.schema_path)
}

fn unexplained(value: Value<'_>) -> Violation {
    Violation::new(Code::SchemaViolation, value.range().start, "does not match the schema")
}

impl Validate for SchemaValidator {
    /// Validates a record, or a value inside one. The verdict comes first and builds nothing. Only for an
    /// invalid value is the broken rule searched for, within a budget proportional to the record's size.
    /// Beyond the budget, the message says only that a value does not match.
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        if value.repeated_name().is_some()
            && !self.inner.options.allow_duplicate_keys
            && let Some(violation) = Violation::duplicate_key(value)
        {
            return Err(Box::new(self.with_shown_names(*violation, value)));
        }
        if self.inner.fits(value) { Ok(()) } else { Err(self.violation(value)) }
    }

    /// With a [compiled](Self::plan) schema, unless repeated names are allowed.
    fn open(&self) -> Option<Box<dyn ValidateOpen + Send + Sync>> {
        self.compiled().is_some().then(|| Box::new(Open::new(self.clone())) as _)
    }
}

impl FromStr for SchemaValidator {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Self, SchemaError> {
        SchemaOptions::new().build_str(text)
    }
}

impl fmt::Debug for SchemaValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaValidator")
            .field("schema", self.schema())
            .field("options", &self.inner.options)
            .finish()
    }
}
