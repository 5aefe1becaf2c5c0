//! The prompt manager.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures_core::TryStream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokenline_codec::JsonlStreamParser;
use tokenline_schema::SchemaValidator;

use crate::config::{self, Config, ConfigError, ConfigErrorKind, Format, Place, Within};
use crate::error::{InvokeError, PromptError, RenderError, UnknownPrompt};
use crate::prompt::{Compiled, Prompt, RenderedPrompt};
use crate::template::{Fault, Template};
use crate::terms::Terms;
use crate::{Response, ResponseType, built_in};

/// Prompts by id: renders them, asks a model, and reads the response as each prompt specifies.
///
/// Templates take their terms from the input, the prompt and the manager, in this order of precedence. The system
/// prompt is a template too, rendered with the same terms.
///
/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct PromptManager {
    system: Option<Arc<System>>,
    terms: Option<Terms>,
    /// In the order of insertion.
    prompts: Vec<(Arc<str>, Arc<Compiled>)>,
    /// Index into `prompts` by id and alias.
    by_id: BTreeMap<Arc<str>, usize>,
}

#[derive(Debug)]
struct System {
    source: String,
    template: Template,
}

/// Construction.
impl PromptManager {
    /// A manager without prompts, with an empty system prompt.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The [built-in prompts](crate#built-in-prompts), with an empty system prompt.
    #[must_use]
    pub fn built_in() -> Self {
        built_in::manager()
    }

    /// Prompts from the flat form of configuration: keys with JSON strings as values.
    ///
    /// | key | value |
    /// |---|---|
    /// | `system` | the template of the system prompt, a JSON string or plain text |
    /// | `template-index` | the ids of the prompts, a JSON array; default: all templates |
    /// | `template.<id>` | a prompt, a JSON object |
    ///
    /// A prompt has the members `prompt` (the template), `response-type` (`text`, the default, `json` or `jsonl`),
    /// `schema` (of the response, or of each object in it) and `object-schema` (takes precedence over `schema` for
    /// `jsonl`). It may also have `terms` and `aliases`. Other keys, of the map and of a prompt, are ignored.
    ///
    /// Values may also be given directly, not as JSON in a string.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use tokenline_prompt::PromptManager;
    ///
    /// let manager = PromptManager::from_config([
    ///     ("system", r#""Be helpful.""#),
    ///     ("template-index", r#"["greet"]"#),
    ///     ("template.greet", r#"{"prompt": "Greet {{ name }}.", "response-type": "text"}"#),
    /// ])?;
    /// let asked = manager.render("greet", HashMap::from([("name", "Ada")]))?;
    /// assert_eq!((asked.system.as_str(), asked.prompt.as_str()), ("Be helpful.", "Greet Ada."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the configuration is invalid; see [`ConfigErrorKind`].
    pub fn from_config<K, V>(config: impl IntoIterator<Item = (K, V)>) -> Result<Self, ConfigError>
    where
        K: Into<String>,
        V: Into<serde_json::Value>,
    {
        let entries = config.into_iter().map(|(key, value)| (key.into(), value.into()));
        Self::from_parts(config::flat(&entries.collect::<Vec<_>>())?)
    }

    /// Prompts from a configuration text:
    ///
    /// ```
    /// use tokenline_prompt::{Format, PromptManager};
    ///
    /// let manager = PromptManager::parse(r#"
    ///     system = "You write {{ style }} English."
    ///
    ///     [terms]                # of all prompts
    ///     style = "plain"
    ///
    ///     [prompts.summarize]
    ///     prompt = "In {{ words }} words: {{ text }}"
    ///     terms = { words = 50 } # unless the input says otherwise
    ///
    ///     [prompts.rate]
    ///     prompt = "Rate this from 1 to 5, as {\"stars\": <number>}: {{ text }}"
    ///     response-type = "json"
    ///     schema = { required = ["stars"], properties.stars = { enum = [1, 2, 3, 4, 5] } }
    /// "#, Format::Toml)?;
    /// assert_eq!(manager.ids().collect::<Vec<_>>(), ["summarize", "rate"]);
    ///
    /// let asked = manager.render("summarize", serde_json::json!({"text": "…", "words": 9}))?;
    /// assert_eq!(asked.system, "You write plain English.");
    /// assert_eq!(asked.prompt, "In 9 words: …");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// JSON has the same keys. A prompt may also have `object-schema` and `aliases` (an array of further ids), with the
    /// same meaning as in [the flat form](Self::from_config), which is accepted too. Unknown keys are errors.
    ///
    /// # Errors
    ///
    /// If the text is not in the given format, or is invalid; see [`ConfigErrorKind`].
    pub fn parse(text: &str, format: Format) -> Result<Self, ConfigError> {
        Self::from_parts(config::parse(text, format)?)
    }

    /// Prompts from a [file](Self::parse) of at most 16 MiB: TOML or JSON by its extension, else by its content.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is too large, or is invalid.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::from_parts(config::load(path)?).map_err(|error| error.in_file(path))
    }

    fn from_parts(config: Config) -> Result<Self, ConfigError> {
        let mut manager = Self { terms: Some(config.terms), ..Self::new() };
        if let Some(system) = config.system {
            manager = manager.with_system(system)?;
        }
        let mut meant: BTreeSet<String> = config.prompts.iter().map(|(id, _)| id.clone()).collect();
        for (id, compiled) in config.prompts {
            if let Some(alias) =
                compiled.prompt.aliases().iter().find(|alias| !meant.insert((*alias).clone()))
            {
                let reason = format!("\"{alias}\" is repeated, or is the id or alias of another prompt");
                let error = ConfigError::new(ConfigErrorKind::Alias, &compiled.key, reason);
                return Err(error.of_member("aliases"));
            }
            manager.insert(id.into(), Arc::new(compiled));
        }
        Ok(manager)
    }

    /// Sets the template of the system prompt.
    ///
    /// # Errors
    ///
    /// If it has a syntax error.
    pub fn with_system(self, template: impl Into<String>) -> Result<Self, ConfigError> {
        let source = template.into();
        let template = Template::compile(&source).map_err(|fault| {
            let place = fault.position.map(|(line, column)| Place { within: Within::Template, line, column });
            ConfigError::new(ConfigErrorKind::Template, "system", fault.reason).at(place)
        })?;
        Ok(Self { system: Some(Arc::new(System { source, template })), ..self })
    }

    /// Sets terms for all templates, a map or a struct. Terms of prompts and of the input override them.
    ///
    /// # Errors
    ///
    /// If they are not a map.
    pub fn with_terms(self, terms: impl Serialize) -> Result<Self, ConfigError> {
        let terms =
            Terms::new(terms).map_err(|reason| ConfigError::new(ConfigErrorKind::Terms, "terms", reason))?;
        let terms = self.terms.as_ref().map_or(terms.clone(), |own| terms.over(own));
        Ok(Self { terms: Some(terms), ..self })
    }

    /// Adds a prompt, replacing one with the same id.
    ///
    /// # Errors
    ///
    /// If its template has a syntax error, its schema is invalid, or its terms are not a map.
    pub fn with_prompt(mut self, id: impl Into<String>, prompt: Prompt) -> Result<Self, ConfigError> {
        let id = id.into();
        let key = format!("prompts.{id}");
        let compiled =
            Compiled::new(key.clone(), prompt).map_err(|fault| config::fault(&key, fault, None))?;
        self.insert(id.into(), Arc::new(compiled));
        Ok(self)
    }

    /// Adds another manager's prompts, terms and system prompt, which override those of this one.
    #[must_use]
    pub fn extend(mut self, other: Self) -> Self {
        self.system = other.system.or(self.system);
        self.terms = match (self.terms, other.terms) {
            (Some(own), Some(other)) => Some(other.over(&own)),
            (own, other) => other.or(own),
        };
        for (id, compiled) in other.prompts {
            self.insert(id, compiled);
        }
        self
    }

    fn insert(&mut self, id: Arc<str>, compiled: Arc<Compiled>) {
        let aliases = compiled.prompt.aliases().to_vec();
        let at = self.prompts.iter().position(|(own, _)| *own == id).unwrap_or(self.prompts.len());
        if at == self.prompts.len() {
            self.prompts.push((id.clone(), compiled));
        } else {
            self.prompts[at].1 = compiled;
        }
        self.by_id.insert(id, at);
        for alias in aliases {
            self.by_id.entry(alias.into()).or_insert(at);
        }
    }
}

/// Queries.
impl PromptManager {
    /// The ids of the prompts, in the order of the configuration, without aliases.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.prompts.iter().map(|(id, _)| &**id)
    }

    /// The prompt with this id or alias.
    #[must_use]
    pub fn prompt(&self, id: &str) -> Option<&Prompt> {
        self.find(id).ok().map(|compiled| &compiled.prompt)
    }

    /// The compiled schema for responses to a prompt; `None` if it has no schema.
    ///
    /// # Errors
    ///
    /// If there is no prompt with this id.
    pub fn validator(&self, id: &str) -> Result<Option<&SchemaValidator>, UnknownPrompt> {
        Ok(self.find(id)?.validator.as_ref())
    }

    /// The template of the system prompt; empty if there is none.
    #[must_use]
    pub fn system(&self) -> &str {
        self.system.as_ref().map_or("", |system| &system.source)
    }

    fn find(&self, id: &str) -> Result<&Compiled, UnknownPrompt> {
        match self.by_id.get(id) {
            Some(&at) => Ok(&self.prompts[at].1),
            None => Err(UnknownPrompt::new(id, self.by_id.keys().map(|id| &**id))),
        }
    }
}

/// Rendering and invocation.
impl PromptManager {
    /// Renders the system prompt and the prompt for an input: a map, a struct, or `()` for no terms.
    ///
    /// A term that a template prints or loops over must be defined. `{% if term %}` and `{{ term | default("…") }}` are
    /// for optional terms.
    ///
    /// # Errors
    ///
    /// If there is no such prompt, a term is undefined, or a template fails otherwise; the error names the template,
    /// the line, and the term.
    pub fn render(&self, id: &str, input: impl Serialize) -> Result<RenderedPrompt, PromptError> {
        let compiled = self.find(id)?;
        let input = Terms::new(input)
            .map_err(|reason| RenderError::new("input", Fault { term: None, position: None, reason }))?;
        let mut terms = input.over(&compiled.terms);
        if let Some(below) = &self.terms {
            terms = terms.over(below);
        }
        let render = |key: &str, template: &Template| {
            template.render(&terms).map_err(|fault| RenderError::new(key, fault))
        };
        let system = self.system.as_ref().map(|system| render("system", &system.template)).transpose()?;
        let prompt = render(&compiled.key, &compiled.template)?;
        Ok(RenderedPrompt { system: system.unwrap_or_default(), prompt })
    }

    /// Reads a response as the prompt specifies. [`invoke`](Self::invoke) does the same with the model's response.
    ///
    /// - `text`: the text itself.
    /// - `json`: the first complete value in a code fence, or else the first in the response, validated against the
    ///   schema. Think blocks and prose are skipped: `[1]` in a sentence is a citation, and a string, number or literal
    ///   counts only if it stands alone. A value nested in a truncated or unclosed one is never used.
    /// - `jsonl`: each complete object that matches the schema; the rest become
    ///   [warnings](crate::Objects::warnings).
    ///
    /// # Errors
    ///
    /// If there is no such prompt, or the response to a `json` prompt contains no JSON value, or one that violates the
    /// schema. The message begins with `JSON parse fail` or `Schema validation fail`. The response to a `jsonl` prompt
    /// is never an error.
    pub fn apply(&self, id: &str, response: impl Into<String>) -> Result<Response, PromptError> {
        self.apply_bytes(id, response.into())
    }

    /// Like [`apply`](Self::apply), for a response that may not be UTF-8: of a `jsonl` or `json` prompt, a line with such
    /// a byte is rejected; in a text, the byte is replaced by U+FFFD.
    ///
    /// # Errors
    ///
    /// As for [`apply`](Self::apply).
    pub fn apply_bytes(&self, id: &str, response: impl Into<Vec<u8>>) -> Result<Response, PromptError> {
        let response = Response::read(self.find(id)?, response.into())?;
        #[cfg(feature = "tracing")]
        if let Response::Jsonl(objects) = &response {
            for warning in objects.warnings().filter(|warning| !warning.is_note()) {
                tracing::warn!(prompt = id, "{warning}");
            }
        }
        Ok(response)
    }

    /// Renders a prompt, asks a model, and [reads](Self::apply) the response.
    ///
    /// The model is any async function from the rendered prompt to its text: an async closure, or a closure that
    /// returns a future.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenline_prompt::{Definition, PromptManager, RenderedPrompt};
    ///
    /// # async fn complete(system: &str, prompt: &str) -> Result<String, std::io::Error> {
    /// #     assert!(system.is_empty() && prompt.contains("DNA carries"));
    /// #     Ok("{\"entity\":\"DNA\",\"definition\":\"What carries genes\"}\n{\"entity\":\"ge".to_owned())
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = PromptManager::built_in();
    /// let llm = async |asked: RenderedPrompt| complete(&asked.system, &asked.prompt).await;
    /// let response = manager.invoke("extract-definitions", json!({"text": "DNA carries genes."}), llm).await?;
    /// let definitions = response.into_objects::<Definition>()?;
    /// assert_eq!(definitions[0].definition, "What carries genes");
    /// // The response was cut off inside the second object.
    /// assert_eq!((definitions.len(), definitions.warnings().count()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`render`](Self::render) and [`apply`](Self::apply), or the model's own.
    pub async fn invoke<R: Into<String>, E>(
        &self,
        id: &str,
        input: impl Serialize,
        llm: impl AsyncFnOnce(RenderedPrompt) -> Result<R, E>,
    ) -> Result<Response, InvokeError<E>> {
        let prompt = self.render(id, input)?;
        let response = llm(prompt).await.map_err(InvokeError::Llm)?;
        Ok(self.apply(id, response)?)
    }

    /// Renders a `jsonl` prompt, asks a model that streams its text, and yields each valid object as soon
    /// as its line is complete.
    ///
    /// The model is any async function from the rendered prompt to a stream of text, chunked anywhere. The result is a
    /// [`JsonlStreamParser`]: its [`records`](JsonlStreamParser::records) and [`values`](JsonlStreamParser::values)
    /// leave rejects in the report; as a stream itself it yields them in order. Objects and rejects are the same as
    /// from [`invoke`](Self::invoke), however the text is chunked.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenline_prompt::{Definition, PromptManager, RenderedPrompt};
    ///
    /// # async fn stream(_: RenderedPrompt) -> Result<impl futures_util::Stream<Item = Result<&'static str, std::io::Error>>, std::io::Error> {
    /// #     Ok(futures_util::stream::iter(["{\"entity\":\"DNA\",\"defin", "ition\":\"What carries genes\"}\n{\"enti", "ty\":7}\n"].map(Ok)))
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = PromptManager::built_in();
    /// let input = json!({"text": "DNA carries genes."});
    /// let mut definitions = manager.invoke_stream("extract-definitions", input, stream).await?.values();
    /// while let Some(definition) = definitions.next().await {
    ///     let definition: Definition = definition?;
    ///     println!("{}: {}", definition.entity, definition.definition);
    /// }
    /// assert_eq!((definitions.report().records(), definitions.report().rejected()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For text and JSON prompts, use [`render`](Self::render), read the stream yourself, and use
    /// [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// As for [`render`](Self::render); [`PromptError::NotStreamed`] if it is not a `jsonl` prompt; or the model's own.
    /// The model is not asked if there is an error before.
    pub async fn invoke_stream<T: DeserializeOwned, S: TryStream<Ok: AsRef<[u8]>>, E>(
        &self,
        id: &str,
        input: impl Serialize,
        llm: impl AsyncFnOnce(RenderedPrompt) -> Result<S, E>,
    ) -> Result<JsonlStreamParser<S, T>, InvokeError<E>> {
        let compiled = self.find(id).map_err(PromptError::from)?;
        let response_type = compiled.prompt.response_type();
        if response_type != ResponseType::Jsonl {
            return Err(PromptError::NotStreamed { id: id.to_owned(), response_type }.into());
        }
        let prompt = self.render(id, input)?;
        let stream = JsonlStreamParser::new(llm(prompt).await.map_err(InvokeError::Llm)?);
        Ok(match &compiled.validator {
            Some(validator) => stream.with_validator(validator.clone()),
            None => stream,
        })
    }
}
