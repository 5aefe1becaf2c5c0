//! The validator of tool calls.

use std::collections::HashMap;
use std::sync::Arc;

use tokenline_core::json::{Kind, Parser, Raw, Value};
use tokenline_core::{Code, Coercion, Limits, ToolDefinition, Tools, Validate, ValidateCall, Violation};

use crate::coerce::{Written, coerce, stays_text};
use crate::error::{SchemaError, SchemaErrorKind};
use crate::gemini;
use crate::ignored::IgnoredKeyword;
use crate::literals;
use crate::messages::nearest;
use crate::text::{list, quoted};
use crate::types::replace_types;
use crate::validator::{SchemaOptions, SchemaValidator, place};

/// Validates tool calls against tool definitions.
///
/// A call must name a defined tool, and its parameters must be an object that fits the tool's schema.
///
/// ```
/// use tokenline_core::{Code, ValidateCall, json::Parser};
/// use tokenline_schema::ToolSet;
///
/// let tools = ToolSet::from_json_str(
///     r#"[{"name":"weather","parameters":{"properties":{"city":{"type":"string"}},"required":["city"]}}]"#,
/// )?;
/// let mut parser = Parser::new();
/// let record = parser.parse(r#"{"name":"weather","parameters":{"city":7}}"#)?;
/// let violation = tools.validate_call("weather", record.get("parameters").unwrap()).unwrap_err();
/// assert_eq!((violation.code, violation.instance_path.as_str()), (Code::InvalidParameters, "/city"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Clones share the definitions and their compiled schemas.
#[derive(Clone, Debug, Default)]
pub struct ToolSet {
    definitions: Arc<Vec<ToolDefinition>>,
    /// Or why there is none: the schema has something that is not supported.
    validators: Arc<HashMap<String, Result<SchemaValidator, SchemaError>>>,
    options: SchemaOptions,
    coerces: bool,
    shows_names: bool,
    warnings: Vec<String>,
}

/// The members that contain lists of tools.
const LISTS: [&str; 4] = ["result", "tools", "functionDeclarations", "function_declarations"];

/// Collects the definitions of an array, or of the object that an MCP server or Gemini wraps around one.
/// Returns whether there was one.
fn list_definitions<'a>(value: Value<'a>, definitions: &mut Vec<Value<'a>>) -> bool {
    if let Some(array) = value.as_array() {
        for element in array {
            let list =
                LISTS.iter().find_map(|name| element.get(name)).filter(|list| list.kind() == Kind::Array);
            if !list.is_some_and(|list| list_definitions(list, definitions)) {
                definitions.push(element);
            }
        }
        return true;
    }
    LISTS.iter().find_map(|name| value.get(name)).is_some_and(|list| list_definitions(list, definitions))
}

impl ToolSet {
    /// Compiles the definitions.
    ///
    /// # Errors
    ///
    /// If two tools have the same name, or the parameters of one are not a schema of an object. The error names the tool.
    /// A schema that is only [not supported](Self::warnings) is not an error.
    pub fn new(definitions: &[ToolDefinition]) -> Result<Self, SchemaError> {
        Self::with_limits(definitions, &Limits::DEFAULT)
    }

    /// Compiles the definitions with [limits of matching](SchemaOptions::limits).
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn with_limits(definitions: &[ToolDefinition], limits: &Limits) -> Result<Self, SchemaError> {
        Self::with_options(definitions, SchemaOptions::new().limits(limits))
    }

    /// Compiles the definitions with these options for each schema.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub fn with_options(definitions: &[ToolDefinition], options: SchemaOptions) -> Result<Self, SchemaError> {
        let mut set = Self { options, ..Self::default() };
        for definition in definitions {
            set.add(definition.clone())?;
        }
        Ok(set)
    }

    /// Reads and compiles definitions: a JSON array of [`ToolDefinition`] forms, the result of an MCP
    /// server's `tools/list`, or Gemini's `functionDeclarations`.
    ///
    /// # Errors
    ///
    /// If the text is none of these, or as for [`new`](Self::new). The error has a line and column.
    pub fn from_json_str(text: &str) -> Result<Self, SchemaError> {
        Self::from_json_str_with_options(text, SchemaOptions::new())
    }

    /// The same with these options for each schema.
    ///
    /// # Errors
    ///
    /// As for [`from_json_str`](Self::from_json_str).
    pub fn from_json_str_with_options(text: &str, options: SchemaOptions) -> Result<Self, SchemaError> {
        let mut parser = Parser::new();
        let root = parser.parse(text)?;
        let fault = |value: Value<'_>, reason: &str| {
            place(SchemaError::new(SchemaErrorKind::Tool, "", reason), value)
        };
        let mut values = Vec::new();
        if !list_definitions(root, &mut values) {
            return Err(fault(root, "expected an array of tool definitions"));
        }
        let mut set = Self { options, ..Self::default() };
        for (at, value) in values.into_iter().enumerate() {
            if value.kind() != Kind::Object {
                return Err(fault(value, &format!("tool definition {at} is not an object")));
            }
            let mut definition = value
                .deserialize::<ToolDefinition>()
                .map_err(|error| fault(value, &format!("tool definition {at}: {error}")))?;
            if let Some(parameters) = definition.parameters.with_value(gemini::to_json_schema) {
                definition.parameters = parameters;
            }
            set.add(definition).map_err(|error| {
                let parameters = ["parameters", "input_schema", "inputSchema", "parametersJsonSchema"];
                let function = value.get("function").unwrap_or(value);
                let schema = parameters.iter().find_map(|name| function.get(name));
                place(error, schema.unwrap_or(value))
            })?;
        }
        Ok(set)
    }

    fn add(&mut self, definition: ToolDefinition) -> Result<(), SchemaError> {
        let name = &definition.name;
        let fault = |reason| SchemaError::new(SchemaErrorKind::Tool, "", reason).in_tool(name);
        if name.is_empty() {
            return Err(fault("a tool must have a name"));
        }
        if self.validators.contains_key(name) {
            return Err(fault("two tools have this name"));
        }
        let (mut parameters, exact) = definition.parameters.with_value(literals::read);
        let replaced = replace_types(&mut parameters);
        self.warnings
            .extend(replaced.into_iter().map(|what| format!("tool {}: the type {what}", quoted(name))));
        let allows_object = match parameters.get("type") {
            Some(serde_json::Value::String(name)) => name == "object" || !is_type(name),
            Some(serde_json::Value::Array(names)) => {
                names.is_empty() || names.iter().any(|name| name == "object")
            }
            _ => true,
        };
        if !allows_object {
            let reason = "parameters are always an object, but the schema does not allow one";
            return Err(SchemaError::new(SchemaErrorKind::Tool, "/type", reason).in_tool(name));
        }
        let options = self.options.clone().beside_patterns(self.pattern_bytes());
        let validator = options.build_exact(parameters, exact);
        if let Err(error) = &validator {
            if !is_unsupported(error.kind()) {
                return Err(error.clone().in_tool(name));
            }
            self.warnings.push(format!("tool {}: {error}; its calls are rejected", quoted(name)));
        }
        let ignored = validator.iter().flat_map(SchemaValidator::ignored_keywords);
        self.warnings.extend(ignored.map(|ignored| format!("tool {}: {ignored}", quoted(name))));
        Arc::make_mut(&mut self.validators).insert(name.clone(), validator);
        Arc::make_mut(&mut self.definitions).push(definition);
        Ok(())
    }

    /// Enables coercion: parameters that do not fit a tool's schema are converted to other kinds if they fit
    /// then.
    ///
    /// A string whose text is exactly the JSON of a number, boolean, null, array or object is converted if
    /// the schema's `type` asks for that kind and not for a string. A number becomes a string if only a
    /// string is allowed. This includes members and elements, as far as `properties` and `items` describe
    /// them. A call that already fits is not changed, and one that fits neither way is rejected with the
    /// violations of its original form. Every change is [recorded](tokenline_core::ToolCall::coerced).
    ///
    /// Use it for syntaxes in which all parameters are strings, such as Qwen3-Coder's, and for models that
    /// quote numbers.
    ///
    /// ```
    /// use tokenline_core::{Event, JsonlParser, Options, ToolCall};
    /// use tokenline_schema::ToolSet;
    ///
    /// let tools = ToolSet::from_json_str(
    ///     r#"[{"name":"weather","parameters":{"properties":{"days":{"type":"integer"}}}}]"#,
    /// )?;
    /// let mut parser = JsonlParser::new(Options::lenient());
    /// parser.push("{\"name\":\"weather\",\"parameters\":{\"days\":\"3\"}}\n");
    /// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
    /// assert!(ToolCall::from_record(&record, Some(&tools)).is_err());
    ///
    /// let tools = tools.with_coercion();
    /// let call = ToolCall::from_record(&record, Some(&tools))?;
    /// assert_eq!(call.parameters, r#"{"days":3}"#);
    /// assert_eq!(call.coerced[0].instance_path, "/days");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_coercion(self) -> Self {
        Self { coerces: true, ..self }
    }

    /// Whether paths show the names of all members, like [`SchemaValidator::show_names`]. By default, a
    /// parameter that the tool's schema does not name is `*`.
    #[must_use]
    pub fn show_names(mut self, yes: bool) -> Self {
        for validator in Arc::make_mut(&mut self.validators).values_mut().flatten() {
            *validator = validator.clone().show_names(yes);
        }
        self.shows_names = yes;
        self
    }

    /// Looks for all rules that the parameters of a rejected call break, like [`SchemaValidator::all_violations`].
    #[must_use]
    pub fn all_violations(mut self, at_most: usize) -> Self {
        for validator in Arc::make_mut(&mut self.validators).values_mut().flatten() {
            *validator = validator.clone().all_violations(at_most);
        }
        self
    }

    /// The definitions, in the order given.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.definitions
    }

    /// The oddities of the definitions: types that JSON Schema does not know, such as `int` or `dict`, and
    /// what they are read as; tools whose schema has something that is not supported, and keywords that are
    /// [not checked](SchemaOptions::ignore_unsupported). A call of an unsupported tool is rejected, other tools work.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The tools whose schema has something that is not supported, and what it is. Their calls are rejected.
    pub fn unsupported(&self) -> impl Iterator<Item = (&str, &SchemaError)> {
        self.definitions.iter().filter_map(|tool| {
            let error = self.validators.get(&tool.name)?.as_ref().err()?;
            Some((tool.name.as_str(), error))
        })
    }

    /// The keywords that are [not checked](SchemaOptions::ignore_unsupported), each with its tool.
    pub fn ignored_keywords(&self) -> impl Iterator<Item = (&str, &IgnoredKeyword)> {
        self.definitions.iter().flat_map(|tool| {
            let ignored = self.validator(&tool.name).map_or(&[][..], SchemaValidator::ignored_keywords);
            ignored.iter().map(|ignored| (tool.name.as_str(), ignored))
        })
    }

    /// About how much memory the compiled patterns of all tools take, in bytes: at most 64 MiB. See
    /// [`SchemaValidator::pattern_bytes`].
    #[must_use]
    pub fn pattern_bytes(&self) -> usize {
        self.validators.values().flatten().map(SchemaValidator::pattern_bytes).sum()
    }

    #[cold]
    fn unknown(&self, name: &str, parameters: Value<'_>) -> Box<Violation> {
        let names = || self.definitions.iter().map(|tool| &*tool.name);
        let defined = || list(&mut names().map(quoted));
        let message = match nearest(name, &mut names()) {
            _ if names().len() == 0 => "no such tool: no tools are defined".to_owned(),
            Some(near) => {
                format!("no such tool; did you mean {}? Defined tools: {}", quoted(near), defined())
            }
            None => format!("no such tool; defined tools: {}", defined()),
        };
        Box::new(Violation::new(Code::UnknownTool, parameters.range().start, message))
    }

    fn validator(&self, name: &str) -> Option<&SchemaValidator> {
        self.validators.get(name)?.as_ref().ok()
    }
}

/// The definitions for a request, and this set as the validator of their calls.
///
/// ```
/// use tokenline_core::{ToolDefinition, Tools};
/// use tokenline_schema::ToolSet;
///
/// let tools = ToolSet::new(&[ToolDefinition::new("now")])?;
/// let tools = Tools::from(&tools);
/// assert!(tools.definitions.len() == 1 && tools.validator.is_some());
/// # Ok::<(), tokenline_schema::SchemaError>(())
/// ```
impl From<ToolSet> for Tools {
    fn from(set: ToolSet) -> Self {
        Self::from(set.definitions()).validated_by(set)
    }
}

/// As from a clone, which shares the compiled schemas.
impl From<&ToolSet> for Tools {
    fn from(set: &ToolSet) -> Self {
        set.clone().into()
    }
}

impl ValidateCall for ToolSet {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        let Some(validator) = self.validators.get(name) else { return Err(self.unknown(name, parameters)) };
        if parameters.kind() != Kind::Object {
            let message = format!("parameters must be an object, found {}", parameters.kind().as_str());
            return Err(Box::new(Violation::new(Code::InvalidParameters, parameters.range().start, message)));
        }
        let validator = validator.as_ref().map_err(|error| unsupported(name, error, parameters))?;
        validator.validate(parameters).map_err(|mut violation| {
            as_parameters(&mut violation);
            violation.further.iter_mut().for_each(as_parameters);
            violation
        })
    }

    fn has_tool(&self, name: &str) -> bool {
        self.validators.contains_key(name)
    }

    fn coerce(&self, name: &str, parameters: Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
        let validator = self.validator(name).filter(|_| self.coerces)?;
        coerce(validator.compiled_schema(), parameters, Written::AsJson)
    }

    fn coerces(&self) -> bool {
        self.coerces
    }

    fn shows_names(&self) -> bool {
        self.shows_names
    }

    fn type_text(&self, name: &str, parameters: Value<'_>) -> Option<Raw> {
        let (typed, _) = coerce(self.validator(name)?.compiled_schema(), parameters, Written::AsText)?;
        Some(typed)
    }

    fn is_text(&self, name: &str, parameter: &str) -> bool {
        self.validator(name).is_some_and(|validator| stays_text(validator.compiled_schema(), parameter))
    }
}

fn as_parameters(violation: &mut Violation) {
    if violation.code == Code::SchemaViolation {
        violation.code = Code::InvalidParameters;
    }
}

/// Whether a schema may be right, but has something that is not supported.
fn is_unsupported(kind: SchemaErrorKind) -> bool {
    use SchemaErrorKind::{Draft, Pattern, Reference, Unsupported};
    matches!(kind, Draft | Pattern | Reference | Unsupported)
}

#[cold]
fn unsupported(name: &str, error: &SchemaError, parameters: Value<'_>) -> Box<Violation> {
    let message = format!("the schema of tool {} is not supported: {error}", quoted(name));
    let violation = Violation::new(Code::InvalidParameters, parameters.range().start, message);
    Box::new(violation.with_schema_path(error.path()))
}

fn is_type(name: &str) -> bool {
    matches!(name, "array" | "boolean" | "integer" | "null" | "number" | "string")
}
