//! The validator of records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use tokenline_core::json::{Parser, Raw, Value};
use tokenline_core::{Code, Limits, Validate, ValidateOpen, Violation};

use crate::draft::Draft;
use crate::error::SchemaError;
use crate::explain::{self, BrokenRule, SubschemaValidator};
use crate::fallback::{self, Resources};
use crate::ignored::IgnoredKeyword;
use crate::literals;
use crate::names;
use crate::open::Open;
use crate::patterns::{self, PatternLimits, Undecided};
use crate::place::Document;
use crate::plan::{self, Outside, Plan, ValidationPlan};
use crate::pointer;
use crate::unknown_keywords::{UnknownKeyword, unknown_keywords};

/// Options for compiling schemas and validating records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaOptions {
    assert_formats: bool,
    allow_duplicate_keys: bool,
    ignore_unsupported: bool,
    max_paths: u64,
    patterns: PatternLimits,
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
            ignore_unsupported: false,
            max_paths: 4096,
            patterns: PatternLimits::new(&Limits::DEFAULT),
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

    /// Whether a schema may have keywords that need the feature `jsonschema` where that is off: then they are not checked,
    /// and [`SchemaValidator::ignored_keywords`] lists them. For callers that validate the complete value themselves
    /// afterwards: a value that fits the schema is never rejected. By default such a schema is
    /// [unsupported](crate::SchemaErrorKind::Unsupported). With the feature, no keyword is.
    ///
    /// A keyword that would reject values because another one below it is not checked is not checked either: `not`, `if`
    /// and `maxContains`. Of a `oneOf` above such a keyword, at least one alternative must fit.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenline_core::json::Parser;
    /// use tokenline_schema::SchemaOptions;
    ///
    /// let schema = json!({"required": ["to"], "properties": {"to": {"not": {"format": "email"}}}});
    /// let validator = SchemaOptions::new().ignore_unsupported(true).build(&schema)?;
    /// let ignored: Vec<String> = validator.ignored_keywords().iter().map(ToString::to_string).collect();
    /// if cfg!(feature = "jsonschema") {
    ///     assert!(ignored.is_empty());
    /// } else {
    ///     assert_eq!(ignored, [
    ///         "/properties/to/not: the keyword `not` is not checked",
    ///         "/properties/to/not/format: the keyword `format` is not checked",
    ///     ]);
    /// }
    /// assert!(!validator.is_valid(Parser::new().parse("{}")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn ignore_unsupported(mut self, yes: bool) -> Self {
        self.ignore_unsupported = yes;
        self
    }

    /// The most paths on which references, combinators (such as `anyOf`) and conditions may lead from one
    /// subschema to others that validate the same value; 4096 by default. Including the subschemas of the
    /// value's parts, 512 times as many. A small schema can have billions, because they multiply, and a
    /// verdict may follow all of them. 16 per subschema are always allowed. No limit without the feature `jsonschema`: a
    /// plan follows none of them twice.
    #[must_use]
    pub const fn max_paths(mut self, paths: u64) -> Self {
        self.max_paths = paths;
        self
    }

    /// The limits of matching: the [steps](Limits::pattern_steps) of the search for a pattern. The other limits are those
    /// of a decoder, and have no effect here.
    #[must_use]
    pub const fn limits(mut self, limits: &Limits) -> Self {
        self.patterns = PatternLimits::new(limits);
        self
    }

    /// Patterns beside others that take so many bytes.
    pub(crate) fn beside_patterns(mut self, bytes: usize) -> Self {
        self.patterns = self.patterns.beside(bytes);
        self
    }

    /// Adds a schema that others may refer to by this URI, or by the absolute `$id` that it declares. A relative URI is
    /// resolved against the `$id` of the schema that is compiled. A schema to which nothing refers has no effect. Without
    /// the feature `jsonschema`, a reference to it is [unsupported](crate::SchemaErrorKind::Unsupported).
    ///
    /// ```
    /// # #[cfg(feature = "jsonschema")] {
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
    /// # }
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
    /// [resource](Self::resource), has a malformed pattern, patterns that take more than 64 MiB, could validate one value on
    /// more than [`max_paths`](Self::max_paths) paths, or its pointers take more than 128 MiB in all. Without the feature
    /// `jsonschema` also if it has an [unsupported](crate::SchemaErrorKind::Unsupported) keyword.
    pub fn build(self, schema: &impl AsSchema) -> Result<SchemaValidator, SchemaError> {
        let exact = schema.exact_numbers();
        let schema = schema.as_schema()?.into_owned();
        #[cfg(not(feature = "jsonschema"))]
        let exact = literals::complete(&schema, exact);
        self.build_exact(schema, exact)
    }

    /// Compiles a schema, of which some numbers are not what serde_json can hold.
    pub(crate) fn build_exact(
        self,
        schema: serde_json::Value,
        exact: Vec<(String, String)>,
    ) -> Result<SchemaValidator, SchemaError> {
        self.build_if(schema, exact, fallback::check_schema)
    }

    /// The same for a schema that keeps the rules of its draft.
    #[cfg(not(feature = "jsonschema"))]
    pub(crate) fn build_unchecked(self, schema: serde_json::Value) -> Result<SchemaValidator, SchemaError> {
        self.build_if(schema, Vec::new(), |_| Ok(()))
    }

    fn build_if(
        self,
        schema: serde_json::Value,
        exact: Vec<(String, String)>,
        check: impl FnOnce(&Document) -> Result<(), SchemaError>,
    ) -> Result<SchemaValidator, SchemaError> {
        if let Some(error) = self.unreadable {
            return Err(error);
        }
        // A resource may define a dialect of its own, which is read by the rules of the latest draft.
        let draft = Draft::of(&schema).unwrap_or_default();
        let mut document = Document::new(schema, draft, exact, self.patterns);
        document.resources = Resources::new(&self.resources, &document.base_uri());
        // Before compiling it, which may also follow all paths.
        document.check_pointers()?;
        document.costs = fallback::count(&document, self.max_paths)?;
        check(&document)?;
        let omits = self.ignore_unsupported && fallback::IS_MISSING;
        let plan = plan::compile(&document, self.assert_formats, omits).map(|(plan, ignored)| {
            document.ignored = ignored;
            plan
        });
        let judge = fallback::judge(&document, self.assert_formats, plan)?;
        let subschema_validator = OnceLock::new();
        let inner = Inner {
            judge,
            document,
            options: self,
            subschema_validator,
            names: OnceLock::new(),
            #[cfg(not(feature = "jsonschema"))]
            shown: OnceLock::new(),
        };
        Ok(SchemaValidator { inner: Arc::new(inner), shows_names: false, further: None })
    }

    /// Compiles a schema from its text.
    ///
    /// # Errors
    ///
    /// If the text is not JSON, or as for [`build`](Self::build). The error has a line and column.
    pub fn build_str(self, text: &str) -> Result<SchemaValidator, SchemaError> {
        let mut parser = Parser::new();
        let value = parser.parse(text)?;
        let (schema, exact) = literals::read(value);
        self.build_exact(schema, exact).map_err(|error| place(error, value))
    }
}

/// A value that is a JSON Schema: [`serde_json::Value`], a [`Raw`], or with the feature `schemars` a
/// [`schemars::Schema`](https://docs.rs/schemars/1/schemars/struct.Schema.html).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a JSON Schema value",
    note = "pass a `serde_json::Value` or a `schemars::Schema`, or read text with `SchemaOptions::build_str`"
)]
pub trait AsSchema {
    /// The schema as serde_json reads it.
    ///
    /// # Errors
    ///
    /// If it cannot be one.
    fn as_schema(&self) -> Result<Cow<'_, serde_json::Value>, SchemaError>;

    /// The numbers that serde_json cannot hold exactly, as they are written, each after its JSON Pointer. By default none:
    /// then a number is what serde_json prints.
    fn exact_numbers(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

impl AsSchema for serde_json::Value {
    fn as_schema(&self) -> Result<Cow<'_, Self>, SchemaError> {
        Ok(Cow::Borrowed(self))
    }
}

impl AsSchema for Raw {
    fn as_schema(&self) -> Result<Cow<'_, serde_json::Value>, SchemaError> {
        Ok(Cow::Owned(self.with_value(literals::read).0))
    }

    fn exact_numbers(&self) -> Vec<(String, String)> {
        self.with_value(literals::read).1
    }
}

#[cfg(feature = "schemars")]
impl AsSchema for schemars::Schema {
    fn as_schema(&self) -> Result<Cow<'_, serde_json::Value>, SchemaError> {
        Ok(Cow::Borrowed(self.as_value()))
    }
}

/// The error with its line and column in the text.
pub(crate) fn place(error: SchemaError, schema: Value<'_>) -> SchemaError {
    let value = error.path().split('/').skip(1).try_fold(schema, pointer::step_on_tape);
    let Some(value) = value else { return error };
    let (mut line, mut column) = (1, 1);
    for byte in &schema.document().as_bytes()[..value.range().start] {
        (line, column) = if *byte == b'\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    error.at(line, column)
}

/// Validates records against a JSON Schema. Cheap to clone.
///
/// Supports drafts 4, 6, 7, 2019-09 and 2020-12, selected by `$schema`; the default is 2020-12. Nothing
/// outside the schema and its [resources](SchemaOptions::resource) is ever read, neither files nor URLs. Patterns are matched in
/// linear time, those with look-around or back-references within [`Limits::pattern_steps`].
#[derive(Clone)]
pub struct SchemaValidator {
    inner: Arc<Inner>,
    shows_names: bool,
    /// Finds more than one violation of a record. Not called directly: a WebAssembly module that never asks for it does not
    /// have its code.
    further: Option<Further>,
}

/// The search for all violations, at most so many.
#[derive(Clone, Copy)]
struct Further {
    at_most: usize,
    find: fn(&SchemaValidator, Value<'_>, usize) -> Vec<Violation>,
}

struct Inner {
    judge: Judge,
    document: Document,
    options: SchemaOptions,
    /// Created for the first invalid record.
    subschema_validator: OnceLock<Option<SubschemaValidator>>,
    /// The member names in the schema; created for the first path that is shown.
    names: OnceLock<HashSet<Box<str>>>,
    /// The schema for those who ask for it.
    #[cfg(not(feature = "jsonschema"))]
    shown: OnceLock<serde_json::Value>,
}

pub(crate) enum Judge {
    Plan(Plan),
    /// And what no plan covers.
    #[cfg_attr(not(feature = "jsonschema"), expect(dead_code, reason = "there is none"))]
    Whole(fallback::Whole, Outside),
}

impl Inner {
    /// Whether a value fits the schema, whatever its names. There may be no verdict.
    #[inline]
    fn fits(&self, value: Value<'_>) -> Result<bool, Box<Undecided>> {
        patterns::begin_record();
        match &self.judge {
            Judge::Plan(plan) => plan.is_valid(value),
            Judge::Whole(whole, _) => whole.fits(value),
        }
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

    /// Looks for all rules that an invalid record breaks, at most so many: [`Violation::further`] has the others, and a report
    /// keeps them with each diagnostic. By default for one. See [`violations`](Self::violations).
    ///
    /// ```
    /// use tokenline_core::{Event, JsonlParser, Options};
    /// use tokenline_schema::SchemaValidator;
    ///
    /// let validator: SchemaValidator =
    ///     r#"{"required":["name"],"properties":{"age":{"minimum":0},"email":{"type":"string"}}}"#.parse()?;
    /// let validator = validator.all_violations(100);
    /// let mut parser = JsonlParser::new(Options::lenient());
    /// parser.push("{\"age\":-1,\"email\":7}\n");
    /// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
    /// let diagnostic = record.validate(&validator).unwrap_err();
    /// assert_eq!(diagnostic.message, "missing required member `name`");
    /// let further: Vec<String> = diagnostic.further().iter().map(ToString::to_string).collect();
    /// assert_eq!(further, [
    ///     "1:8: schema_violation: less than the minimum 0 (at /age)",
    ///     "1:19: schema_violation: expected type string, found a number (at /email)",
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn all_violations(mut self, at_most: usize) -> Self {
        let find = |validator: &Self, value: Value<'_>, at_most: usize| validator.violations(value, at_most);
        self.further = (at_most > 1).then_some(Further { at_most, find });
        self
    }

    /// The schema as given.
    #[must_use]
    pub fn schema(&self) -> &serde_json::Value {
        #[cfg(feature = "jsonschema")]
        return self.compiled_schema();
        #[cfg(not(feature = "jsonschema"))]
        self.inner
            .shown
            .get_or_init(|| literals::restore(self.compiled_schema(), &self.inner.document.literals))
    }

    /// The same, in which only the literals of numbers count.
    pub(crate) fn compiled_schema(&self) -> &serde_json::Value {
        &self.inner.document.schema
    }

    /// How values are validated: with a plan that was compiled from the schema, or with jsonschema if the schema has
    /// something that plans do not support: `unevaluatedItems`, `unevaluatedProperties`, `$dynamicRef`,
    /// `$recursiveRef`, a reference into another document or back to itself for the same value, or a subschema with a
    /// `$schema` or `$id` of its own. The verdicts are the same. Without the feature `jsonschema`, always with a plan.
    ///
    /// ```
    /// use tokenline_schema::{SchemaValidator, ValidationPlan};
    ///
    /// let validator: SchemaValidator =
    ///     r#"{"properties":{"age":{"minimum":0},"email":{"type":"string"}},"additionalProperties":false}"#.parse()?;
    /// assert!(validator.plan().is_compiled());
    /// assert_eq!(validator.plan().to_string(), "compiled: 3 subschemas");
    ///
    /// # #[cfg(feature = "jsonschema")] {
    /// let validator: SchemaValidator =
    ///     r#"{"allOf":[{"required":["age"]},{"unevaluatedProperties":false}]}"#.parse()?;
    /// let plan = validator.plan();
    /// let ValidationPlan::Jsonschema { keyword, path } = &plan else { panic!() };
    /// assert_eq!((keyword.as_str(), path.as_str()), ("unevaluatedProperties", "/allOf/1/unevaluatedProperties"));
    /// assert_eq!(plan.to_string(), "jsonschema, because of `unevaluatedProperties` at /allOf/1/unevaluatedProperties");
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn plan(&self) -> ValidationPlan {
        match &self.inner.judge {
            Judge::Plan(plan) => ValidationPlan::of(Ok(plan)),
            Judge::Whole(_, outside) => ValidationPlan::of(Err(outside)),
        }
    }

    /// The keywords of the schema that have no effect, because they are misspelled, stand in the wrong place, or belong to
    /// a later draft. JSON Schema ignores them, so the schema accepts more than was meant. Annotations such as `title`,
    /// and members whose names begin with `x-`, are known. Its resources are not examined.
    ///
    /// ```
    /// use tokenline_schema::SchemaValidator;
    ///
    /// let validator: SchemaValidator = r#"{"properties":{"age":{"minimun":0}},"requird":["age"]}"#.parse()?;
    /// let unknown: Vec<_> = validator.unknown_keywords().iter().map(ToString::to_string).collect();
    /// assert_eq!(unknown, [
    ///     "/properties/age/minimun: unknown keyword `minimun`; did you mean `minimum`?",
    ///     "/requird: unknown keyword `requird`; did you mean `required`?",
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unknown_keywords(&self) -> Vec<UnknownKeyword> {
        unknown_keywords(&self.inner.document)
    }

    /// The keywords that are not checked, those of a schema before those of the schemas in it: none, unless the schema was compiled with
    /// [`SchemaOptions::ignore_unsupported`].
    #[must_use]
    pub fn ignored_keywords(&self) -> &[IgnoredKeyword] {
        self.inner.document.ignored.keywords()
    }

    /// About how much memory the compiled patterns take, in bytes, with the tables that matching fills: at most 64 MiB.
    #[must_use]
    pub fn pattern_bytes(&self) -> usize {
        self.inner.document.patterns.bytes()
    }

    /// Whether a value fits the schema, without a reason. Duplicate keys count as in
    /// [`validate`](Validate::validate).
    #[must_use]
    pub fn is_valid(&self, value: Value<'_>) -> bool {
        (self.inner.options.allow_duplicate_keys || value.repeated_name().is_none())
            && self.inner.fits(value) == Ok(true)
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
    /// let rules: Vec<&str> = violations.iter().map(|violation| violation.schema_path.as_str()).collect();
    /// assert_eq!(rules, ["/required", "/properties/age/minimum", "/properties/email/type"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn violations(&self, value: Value<'_>, at_most: usize) -> Vec<Violation> {
        let mut violations = Vec::new();
        if !self.inner.options.allow_duplicate_keys {
            violations.extend(Violation::duplicate_key(value).map(|violation| *violation));
        }
        match (self.inner.fits(value), self.subschema_validator()) {
            (Ok(true), _) => {}
            (Err(undecided), _) => violations.push(self.without_verdict(value, &undecided)),
            (Ok(false), None) => violations.push(unexplained(value)),
            (Ok(false), Some(subschema_validator)) => {
                let all = explain::explain_all(&self.inner.document, subschema_validator, value, at_most);
                violations.extend(all.into_iter().map(to_violation));
            }
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
        self.with_others(self.with_shown_names(violation, value), value)
    }

    /// The same violation with the others of the value, if they are looked for.
    #[cold]
    fn with_others(&self, first: Violation, value: Value<'_>) -> Box<Violation> {
        let Some(Further { at_most, find }) = self.further else { return Box::new(first) };
        let mut further = find(self, value, at_most);
        further.retain(|other| *other != first);
        further.truncate(at_most - 1);
        Box::new(first.with_further(further))
    }

    /// The violation of a value on which there is no verdict.
    #[cold]
    pub(crate) fn without_verdict(&self, value: Value<'_>, undecided: &Undecided) -> Violation {
        let offset = undecided.offset.unwrap_or(value.range().start);
        let path = self.inner.document.pattern_path(&undecided.pattern).unwrap_or_default();
        Violation::new(Code::SchemaViolation, offset, undecided.message())
            .with_instance_path(value.pointer_at(offset))
            .with_schema_path(path)
    }

    /// The plan, if a value can be validated with it in parts: with repeated names allowed, the last of them counts.
    pub(crate) fn compiled(&self) -> Option<&Plan> {
        let is_final = !self.inner.options.allow_duplicate_keys;
        match &self.inner.judge {
            Judge::Plan(plan) if is_final => Some(plan),
            _ => None,
        }
    }

    /// The violation inside a value of a snapshot that is invalid.
    #[cold]
    pub(crate) fn violation_inside(&self, snapshot: Value<'_>, value: Value<'_>) -> Box<Violation> {
        let broken = self.subschema_validator().and_then(|subschema_validator| {
            explain::explain_inside(&self.inner.document, subschema_validator, snapshot, value)
        });
        Box::new(match broken {
            Some(broken) => to_violation(broken),
            None => unexplained(value).with_instance_path(snapshot.pointer_at(value.range().start)),
        })
    }

    fn subschema_validator(&self) -> Option<&SubschemaValidator> {
        let Inner { document, options, subschema_validator, judge, .. } = &*self.inner;
        let has_plan = matches!(judge, Judge::Plan(_));
        let new = || SubschemaValidator::new(document, has_plan, options.assert_formats);
        subschema_validator.get_or_init(new).as_ref()
    }
}

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
            return Err(self.with_others(self.with_shown_names(*violation, value), value));
        }
        match self.inner.fits(value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.violation(value)),
            Err(undecided) => {
                let violation = self.without_verdict(value, &undecided);
                Err(self.with_others(self.with_shown_names(violation, value), value))
            }
        }
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
