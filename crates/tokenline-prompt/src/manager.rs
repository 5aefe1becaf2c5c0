//! The prompts, and what is done with them.

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

/// Prompts by id: renders them, asks a model, and reads the response as each prompt says.
///
/// Terms for templates come from three places: the input overrides the prompt's own, and these those
/// of all prompts. The system prompt is a template too, and is rendered with the same terms.
///
/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct PromptManager {
    system: Option<Arc<System>>,
    terms: Option<Terms>,
    /// In the order they came.
    prompts: Vec<(Arc<str>, Arc<Compiled>)>,
    /// Where each is, also under its other names.
    by_id: BTreeMap<Arc<str>, usize>,
}

#[derive(Debug)]
struct System {
    source: String,
    template: Template,
}

/// Where the prompts come from.
impl PromptManager {
    /// A manager without prompts, with an empty system prompt.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The [prompts that are built in](crate#built-in-prompts), with an empty system prompt.
    #[must_use]
    pub fn built_in() -> Self {
        built_in::manager()
    }

    /// Prompts from the flat shape of configuration: values by key, each of them JSON in a string.
    ///
    /// | key | value |
    /// |---|---|
    /// | `system` | the template of the system prompt, a JSON string; what is no JSON string is the template itself |
    /// | `template-index` | the ids of the prompts, a JSON array; without it, all templates count |
    /// | `template.<id>` | a prompt, a JSON object |
    ///
    /// A prompt has `prompt`, its template; `response-type`, which is `text`, `json` or `jsonl`, and `text`
    /// unless given; `schema`, that of the response or of each object in it; `object-schema`, which goes
    /// before `schema` where the response is `jsonl`. It may have `terms` and `aliases`. Other keys, of
    /// the map and of a prompt, are ignored.
    ///
    /// Values may also be given as they are, without the string around them.
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
    /// If anything in it is at fault; see [`ConfigErrorKind`].
    pub fn from_config<K, V>(config: impl IntoIterator<Item = (K, V)>) -> Result<Self, ConfigError>
    where
        K: Into<String>,
        V: Into<serde_json::Value>,
    {
        let entries = config.into_iter().map(|(key, value)| (key.into(), value.into()));
        Self::from_parts(config::flat(&entries.collect::<Vec<_>>())?)
    }

    /// Prompts from the text of a file:
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
    /// JSON has the same keys. A prompt may also have an `object-schema`, and `aliases`, an array of
    /// its other ids; they mean what they mean in [the flat shape](Self::from_config), which a file may
    /// have as well. Keys beyond these are errors.
    ///
    /// # Errors
    ///
    /// If the text is not in the format, or anything in it is at fault; see [`ConfigErrorKind`].
    pub fn parse(text: &str, format: Format) -> Result<Self, ConfigError> {
        Self::from_parts(config::parse(text, format)?)
    }

    /// Prompts from a [file](Self::parse) of at most 16 MiB: TOML or JSON by its extension, else by what is in it.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is larger, or anything in it is at fault.
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
                let reason =
                    format!("\"{alias}\" is the id or alias of another prompt, or stands here twice");
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

    /// Sets terms for all templates, a map or a struct. Prompts' own terms and the input override them.
    ///
    /// # Errors
    ///
    /// If they are no map.
    pub fn with_terms(self, terms: impl Serialize) -> Result<Self, ConfigError> {
        let terms =
            Terms::new(terms).map_err(|reason| ConfigError::new(ConfigErrorKind::Terms, "terms", reason))?;
        let terms = self.terms.as_ref().map_or(terms.clone(), |own| terms.over(own));
        Ok(Self { terms: Some(terms), ..self })
    }

    /// Adds a prompt. It takes the place of one that has the same id.
    ///
    /// # Errors
    ///
    /// If its template has a syntax error, its schema is none, or its terms are no map.
    pub fn with_prompt(mut self, id: impl Into<String>, prompt: Prompt) -> Result<Self, ConfigError> {
        let id = id.into();
        let key = format!("prompts.{id}");
        let compiled =
            Compiled::new(key.clone(), prompt).map_err(|fault| config::fault(&key, fault, None))?;
        self.insert(id.into(), Arc::new(compiled));
        Ok(self)
    }

    /// Puts another manager's prompts on top of these: where both have a prompt, a term, or a system
    /// prompt, the other's counts.
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

/// What prompts there are.
impl PromptManager {
    /// The prompts' ids, in the order of the configuration; their aliases are not among them.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.prompts.iter().map(|(id, _)| &**id)
    }

    /// The prompt of this id or alias.
    #[must_use]
    pub fn prompt(&self, id: &str) -> Option<&Prompt> {
        self.find(id).ok().map(|compiled| &compiled.prompt)
    }

    /// What the response to a prompt is held against, compiled; `None` if it has no schema.
    ///
    /// # Errors
    ///
    /// If there is no prompt of this id.
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

/// What is done with them.
impl PromptManager {
    /// The system prompt and the prompt for an input: a map, a struct, or `()` for no terms.
    ///
    /// A term that a template prints or loops over must be there. `{% if term %}` and
    /// `{{ term | default("…") }}` are for those that need not.
    ///
    /// # Errors
    ///
    /// If there is no such prompt, a term is undefined, or something else in a template does not work
    /// out; the error names the template, the line, and the term.
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

    /// Reads a response as the prompt says: what [`invoke`](Self::invoke) does with what the model
    /// gave.
    ///
    /// - `text`: as it is.
    /// - `json`: the first whole value in a code fence, or else the first in the response. A think block holds none, nor
    ///   does prose: `[1]` in a sentence is a citation, and a string, number or literal counts if it stands alone.
    ///   Nothing inside a value that was cut, or left open, is taken for it. It is held against the schema.
    /// - `jsonl`: each object that is whole and fits the schema; the rest are
    ///   [warnings](crate::Objects::warnings).
    ///
    /// # Errors
    ///
    /// If there is no such prompt, or if the response to a `json` prompt has no JSON value, or one that
    /// breaks the schema. The message begins with `JSON parse fail` or `Schema validation fail`. The
    /// response to a `jsonl` prompt is never an error.
    pub fn apply(&self, id: &str, response: impl Into<String>) -> Result<Response, PromptError> {
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
    /// The model is any async function from the rendered prompt to its text: an async closure, a closure
    /// that returns a future.
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
    /// // The model's answer was cut off, which cost one object.
    /// assert_eq!((definitions.len(), definitions.warnings().count()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`render`](Self::render) and [`apply`](Self::apply), or the model's own.
    pub async fn invoke<R: Into<String>, E>(
        &self,
        id: &str,
        input: impl Serialize,
        llm: impl AsyncFnOnce(RenderedPrompt) -> Result<R, E>,
    ) -> Result<Response, InvokeError<E>> {
        let asked = self.render(id, input)?;
        let response = llm(asked).await.map_err(InvokeError::Llm)?;
        Ok(self.apply(id, response)?)
    }

    /// Renders a `jsonl` prompt, asks a model that streams its text, and yields each valid object as soon
    /// as its line is complete.
    ///
    /// The model is any async function from the rendered prompt to a stream of pieces of text, cut
    /// anywhere. What comes back is a [`JsonlStreamParser`]: with its
    /// [`records`](JsonlStreamParser::records) or [`values`](JsonlStreamParser::values), the rejects go to
    /// the report; as a stream itself it yields them in their places. However the pieces are cut,
    /// objects and findings are those that [`invoke`](Self::invoke) would have given.
    ///
    /// ```
    /// use futures_util::StreamExt;
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
    /// Text comes in pieces without any help, and JSON is one value at the end: for these,
    /// [`render`](Self::render), read the stream, and [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// As [`render`](Self::render); [`PromptError::NotStreamed`] if it is no `jsonl` prompt; the model's
    /// own. The model is asked only if nothing is wrong before.
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
        let asked = self.render(id, input)?;
        let stream = JsonlStreamParser::new(llm(asked).await.map_err(InvokeError::Llm)?);
        Ok(match &compiled.validator {
            Some(validator) => stream.with_validator(validator.clone()),
            None => stream,
        })
    }
}
