//! Prompts: configured, compiled and rendered.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokenline_schema::{SchemaError, SchemaValidator};

use crate::template::{Fault, Template};
use crate::terms::Terms;

/// The type of a prompt's response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseType {
    /// Plain text.
    #[default]
    Text,
    /// One JSON value. A response without one is an error.
    Json,
    /// JSON Lines of objects. A line without an object is a warning.
    Jsonl,
}

impl ResponseType {
    /// The name used in configurations: `text`, `json` or `jsonl`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
        }
    }
}

impl fmt::Display for ResponseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ResponseType {
    type Err = UnknownResponseType;

    fn from_str(name: &str) -> Result<Self, UnknownResponseType> {
        match name {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "jsonl" => Ok(Self::Jsonl),
            _ => Err(UnknownResponseType(name.to_owned())),
        }
    }
}

/// The error for an unknown response type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownResponseType(String);

impl fmt::Display for UnknownResponseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown response type {:?}; use \"text\", \"json\" or \"jsonl\"", self.0)
    }
}

impl std::error::Error for UnknownResponseType {}

/// A prompt: a Jinja2 template and the type of its response.
///
/// ```
/// use serde_json::json;
/// use tokenline_prompt::{Prompt, PromptManager};
///
/// let prompt = Prompt::json("How many {{ what }} are there? {\"count\": <number>}")
///     .with_terms(json!({"what": "planets"}))
///     .with_schema(json!({"properties": {"count": {"type": "integer"}}, "required": ["count"]}));
/// let manager = PromptManager::new().with_prompt("count", prompt)?;
/// let asked = manager.render("count", ())?;
/// assert_eq!(asked.prompt, "How many planets are there? {\"count\": <number>}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prompt {
    template: String,
    response_type: ResponseType,
    terms: Result<Terms, String>,
    schema: Option<Value>,
    object_schema: Option<Value>,
    aliases: Vec<String>,
}

impl Prompt {
    /// A prompt with this type of response.
    #[must_use]
    pub fn new(template: impl Into<String>, response_type: ResponseType) -> Self {
        Self {
            template: template.into(),
            response_type,
            terms: Ok(Terms::none()),
            schema: None,
            object_schema: None,
            aliases: Vec::new(),
        }
    }

    /// A prompt with a [text](ResponseType::Text) response.
    #[must_use]
    pub fn text(template: impl Into<String>) -> Self {
        Self::new(template, ResponseType::Text)
    }

    /// A prompt with a [JSON](ResponseType::Json) response.
    #[must_use]
    pub fn json(template: impl Into<String>) -> Self {
        Self::new(template, ResponseType::Json)
    }

    /// A prompt with a [JSON Lines](ResponseType::Jsonl) response.
    #[must_use]
    pub fn jsonl(template: impl Into<String>) -> Self {
        Self::new(template, ResponseType::Jsonl)
    }

    /// Sets terms for the template that the input may override: a map, or a struct.
    #[must_use]
    pub fn with_terms(mut self, terms: impl Serialize) -> Self {
        self.terms = Terms::new(terms);
        self
    }

    /// Sets the JSON Schema of the response: of the value, or of each object of JSON Lines unless there is an [object
    /// schema](Self::with_object_schema).
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Sets the JSON Schema of each object of JSON Lines. Ignored for other responses.
    #[must_use]
    pub fn with_object_schema(mut self, schema: Value) -> Self {
        self.object_schema = Some(schema);
        self
    }

    /// Adds another id for the prompt. If it is also the id of a prompt, that prompt takes precedence.
    #[must_use]
    pub fn with_alias(mut self, id: impl Into<String>) -> Self {
        self.aliases.push(id.into());
        self
    }

    /// The template's source.
    #[must_use]
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The type of the response.
    #[must_use]
    pub fn response_type(&self) -> ResponseType {
        self.response_type
    }

    /// The schema of the response: of the value, or of each object of JSON Lines.
    #[must_use]
    pub fn schema(&self) -> Option<&Value> {
        self.used_schema().map(|(_, schema)| schema)
    }

    /// The prompt's other ids.
    #[must_use]
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// The schema in use, with its key in the configuration.
    fn used_schema(&self) -> Option<(&'static str, &Value)> {
        let schema = self.schema.as_ref().map(|schema| ("schema", schema));
        match self.response_type {
            ResponseType::Text => None,
            ResponseType::Json => schema,
            ResponseType::Jsonl => {
                self.object_schema.as_ref().map(|schema| ("object-schema", schema)).or(schema)
            }
        }
    }
}

/// A prompt ready for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RenderedPrompt {
    /// The system prompt; empty if there is none.
    pub system: String,
    /// The prompt itself.
    pub prompt: String,
}

/// A validated prompt.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) prompt: Prompt,
    pub(crate) template: Template,
    pub(crate) terms: Terms,
    pub(crate) validator: Option<SchemaValidator>,
    /// The key in the configuration, for errors.
    pub(crate) key: String,
}

/// The reason a prompt is invalid.
#[derive(Clone, Debug)]
pub(crate) enum PromptFault {
    Template(Fault),
    /// The key of the schema, and its error.
    Schema(&'static str, SchemaError),
    Terms(String),
}

impl Compiled {
    pub(crate) fn new(key: String, prompt: Prompt) -> Result<Self, PromptFault> {
        let template = Template::compile(&prompt.template).map_err(PromptFault::Template)?;
        let terms = prompt.terms.clone().map_err(PromptFault::Terms)?;
        let compile = |(key, schema)| SchemaValidator::new(schema).map_err(|error| (key, error));
        let validator = prompt.used_schema().map(compile).transpose();
        let validator = validator.map_err(|(key, error)| PromptFault::Schema(key, error))?;
        Ok(Self { prompt, template, terms, validator, key })
    }
}
