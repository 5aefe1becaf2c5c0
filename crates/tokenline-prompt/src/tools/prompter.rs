//! Writes tool prompts, and owns the caches.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, context};
use tokenline_core::{CallFormat, ToolCall, ToolDefinition};
use tokenline_schema::{SchemaError, ToolSet};

use super::cache::Cache;
use super::calling::{FunctionCallingSupport, tool_calling_support};
use super::describe::tool_descriptions;
use super::families;
use super::{CacheCounts, CacheSizes, Language, ToolCallParser, ToolCalling, ToolPromptError};
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, Message};

/// Writes prompts for tools, and creates parsers for the responses.
///
/// Costly work is cached, within bounded sizes: compiled templates and schemas, and the capabilities of clients. Clones
/// share the caches, whatever their settings; nothing is global.
///
/// ```
/// use tokenline_core::{CallFormat, ToolDefinition};
/// use tokenline_prompt::tools::{Language, ToolPrompter};
///
/// let english = ToolPrompter::new();
/// let chinese = english.clone().with_language(Language::Chinese);
/// let tools = [ToolDefinition::new("now").with_description("The time.")];
///
/// let prompt = chinese.prompt(&CallFormat::SingleJson.into(), &tools)?;
/// assert!(prompt.text().unwrap().contains("可用工具：\n- now：The time.\n"));
/// let prompt = english.prompt(&CallFormat::SingleJson.into(), &tools)?;
/// assert!(prompt.text().unwrap().contains("Available tools:\n- now: The time.\n"));
///
/// let _ = english.prompt(&CallFormat::SingleJson.into(), &tools)?;
/// let templates = english.cache_counts().templates;
/// assert_eq!((templates.hits, templates.misses, templates.entries), (1, 2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolPrompter {
    language: Language,
    provider: Option<Provider>,
    /// Custom templates, by the name of their format.
    templates: HashMap<String, Arc<str>>,
    caches: Arc<Caches>,
}

/// The caches that clones share.
#[derive(Debug)]
struct Caches {
    templates: Cache<Arc<str>, Arc<Template>>,
    tool_sets: Cache<String, Arc<ToolSet>>,
    support: Cache<String, ToolCalling>,
}

/// The description of tools for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPrompt {
    /// A text for the prompt: for a model family where its chat template has it, else for example in the system
    /// message.
    Text(String),
    /// The JSON of the request's `tools` member.
    Tools(String),
}

impl ToolPrompt {
    /// The text for the prompt, if there is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Tools(_) => None,
        }
    }

    /// The JSON for the request, if there is one.
    #[must_use]
    pub fn tools(&self) -> Option<&str> {
        match self {
            Self::Tools(json) => Some(json),
            Self::Text(_) => None,
        }
    }
}

// Settings.
impl ToolPrompter {
    /// A prompter for English, and for the tools format of OpenAI chat completions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the language of prompts for plain JSON; those of model families are in English.
    #[must_use]
    pub fn with_language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// Sets the provider for function calling; default: OpenAI chat completions.
    #[must_use]
    pub fn with_provider(self, provider: Provider) -> Self {
        Self { provider: Some(provider), ..self }
    }

    /// Sets a template for calls of this format, also for the model families that write it; required for formats
    /// without a built-in template.
    ///
    /// It is a minijinja template with the variables `format`, the name, `tool_descriptions`, the output of
    /// [`tool_descriptions`], and `tools`, a list with `name`, `description`, `parameters` (the JSON of the schema),
    /// `schema` (the same as a value) and `function` (`name`, `description` and `parameters` as a value). It must use
    /// one of the last two. For [`results`](Self::results), it has `results` instead, a list with `name` and `call_id`
    /// if they are known, `content`, `value` (the content as a value if it is JSON) and `is_error`, and `as_user`, which is
    /// true if they go into a message of the user, without markers of roles. For [`calls`](Self::calls), it has `calls`, a
    /// list with `name`, `arguments` and, if it is known, `id`. A template that writes several of them decides by `{% if
    /// tools is defined %}`. The filter `tojson`, with or without `indent`, writes JSON
    /// as chat templates do. An undefined name is an error.
    ///
    /// ```
    /// use tokenline_core::{CallFormat, ToolDefinition};
    /// use tokenline_prompt::tools::ToolPrompter;
    ///
    /// let template = "Answer with <tool_call>{...}</tool_call>.\n\
    ///     {% for tool in tools %}{{ tool.name }} {{ tool.parameters }}\n{% endfor %}";
    /// let prompter = ToolPrompter::new().with_template(&CallFormat::Hermes, template);
    /// let prompt = prompter.prompt(&CallFormat::Hermes.into(), &[ToolDefinition::new("now")])?;
    /// assert_eq!(
    ///     prompt.text(),
    ///     Some("Answer with <tool_call>{...}</tool_call>.\nnow {\"type\":\"object\"}\n")
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_template(mut self, format: &CallFormat, template: impl Into<Arc<str>>) -> Self {
        self.templates.insert(format.family().to_owned(), template.into());
        self
    }

    /// Replaces the caches by new ones of these sizes.
    #[must_use]
    pub fn with_cache_sizes(self, sizes: CacheSizes) -> Self {
        Self { caches: Arc::new(Caches::new(&sizes)), ..self }
    }
}

// Prompts and parsers.
impl ToolPrompter {
    /// The way to call tools through this client; see the function
    /// [`tool_calling_support`](super::tool_calling_support). The client is asked once per key, such as its URL with
    /// the name of the model.
    pub fn tool_calling_support(
        &self,
        key: impl Into<String>,
        client: &(impl FunctionCallingSupport + ?Sized),
    ) -> ToolCalling {
        let ask = |_: &String| Ok::<_, Infallible>(tool_calling_support(client));
        match self.caches.support.try_get(key.into(), ask) {
            Ok(calling) => calling,
            Err(never) => match never {},
        }
    }

    /// Describes these tools for a model that calls them in this way: a text for the prompt, or the JSON for the
    /// request. [The module](super#model-families) says what the text of a model family is.
    ///
    /// # Errors
    ///
    /// For text: if there is no template for the format, or it is malformed, cannot be rendered, or does not use the
    /// tools.
    pub fn prompt(
        &self,
        calling: &ToolCalling,
        tools: &[ToolDefinition],
    ) -> Result<ToolPrompt, ToolPromptError> {
        match calling {
            ToolCalling::FunctionCalling => {
                let provider = self.provider.unwrap_or(Provider::OpenAiChat);
                Ok(ToolPrompt::Tools(ChatRequest::tools_to_json(provider, tools)))
            }
            ToolCalling::Text(format) => {
                let template = self.template(format)?;
                let context = context! {
                    format => format.family(),
                    tool_descriptions => tool_descriptions(tools, self.language),
                    tools => tools.iter().map(families::tool).collect::<Vec<_>>(),
                };
                template.render(format, context).map(ToolPrompt::Text)
            }
        }
    }

    /// Whether there is a template for calls of this format, built-in or [your own](Self::with_template).
    #[must_use]
    pub fn has_template(&self, format: &CallFormat) -> bool {
        self.source(format).is_some()
    }

    /// Writes the results at the end of a conversation as the chat template of the model family does, markers of the
    /// roles included. These are the messages after the last one that is not a result; the others serve to find the
    /// names of tools by the ids of calls.
    ///
    /// ```
    /// use tokenline_core::{CallFormat, CompletedBy, ToolCall, json::Raw};
    /// use tokenline_llm::request::Message;
    /// use tokenline_prompt::tools::ToolPrompter;
    ///
    /// let qwen = CallFormat::from_name("qwen3").unwrap().into();
    /// let call = ToolCall::new("now", Raw::new("{}")?, CompletedBy::EndOfInput);
    /// let results = [Message::tool_result(&call, "12:00")];
    /// assert_eq!(
    ///     ToolPrompter::new().results(&qwen, &results)?,
    ///     "<|im_start|>user\n<tool_response>\n12:00\n</tool_response><|im_end|>\n"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no template for the format, or it is malformed, cannot be rendered or has no part for results, or
    /// if a result lacks a name or id that the template needs. JSON Lines, single objects and function calling have no
    /// such part: their results are messages of the request.
    pub fn results(&self, calling: &ToolCalling, messages: &[Message]) -> Result<String, ToolPromptError> {
        self.write_results(calling, messages, false)
    }

    /// Writes calls as the model family does: for a conversation whose calls are known only as data. JSON Lines, if the
    /// template has no part for calls.
    ///
    /// ```
    /// use tokenline_core::{CallFormat, CompletedBy, ToolCall, json::Raw};
    /// use tokenline_prompt::tools::ToolPrompter;
    ///
    /// let lfm2 = CallFormat::from_name("lfm2").unwrap().into();
    /// let call = ToolCall::new("weather", Raw::new(r#"{"city":"Paris","days":3}"#)?, CompletedBy::EndOfInput);
    /// assert_eq!(
    ///     ToolPrompter::new().calls(&lfm2, &[call])?,
    ///     r#"<|tool_call_start|>[weather(city="Paris", days=3)]<|tool_call_end|>"#
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the template is malformed or cannot be rendered.
    pub fn calls(&self, calling: &ToolCalling, calls: &[ToolCall]) -> Result<String, ToolPromptError> {
        if let ToolCalling::Text(format) = calling
            && self.has_template(format)
        {
            let template = self.template(format)?;
            if template.uses("calls") {
                let calls: Vec<Value> = calls.iter().map(families::call).collect();
                return template.render(format, context! { format => format.family(), calls });
            }
        }
        let line = |call: &ToolCall| {
            let name = serde_json::Value::from(call.name.as_str());
            format!("{{\"name\": {name}, \"parameters\": {}}}", call.parameters.to_single_line())
        };
        Ok(calls.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    /// The results, as turns or as a text of the user.
    pub(super) fn write_results(
        &self,
        calling: &ToolCalling,
        messages: &[Message],
        as_user: bool,
    ) -> Result<String, ToolPromptError> {
        let no_results = || ToolPromptError::NoResults { format: calling.as_str().to_owned() };
        let ToolCalling::Text(format) = calling else { return Err(no_results()) };
        let template = self.template(format)?;
        if !template.uses("results") {
            return Err(no_results());
        }
        let results = families::results(messages);
        let lacks = |result: &Value, member| result.get_attr(member).is_ok_and(|value| value.is_undefined());
        let has_unknown = results.iter().any(|result| lacks(result, "name") || lacks(result, "call_id"));
        let text = template.render(format, context! { format => format.family(), results, as_user });
        text.map_err(|error| match error {
            ToolPromptError::Template { format, source }
                if has_unknown && source.kind() == ErrorKind::UndefinedError =>
            {
                ToolPromptError::UnknownCall { format, source }
            }
            error => error,
        })
    }

    /// Compiles the tools, to validate calls.
    ///
    /// # Errors
    ///
    /// If two tools have the same name, or the parameters of one are not a valid schema of an object.
    pub fn tool_set(&self, tools: &[ToolDefinition]) -> Result<Arc<ToolSet>, SchemaError> {
        self.caches.tool_sets.try_get(key_of(tools), |_| ToolSet::new(tools).map(Arc::new))
    }

    /// A parser for calls made in this way, to these tools.
    ///
    /// # Errors
    ///
    /// As for [`tool_set`](Self::tool_set).
    pub fn parser(
        &self,
        calling: &ToolCalling,
        tools: &[ToolDefinition],
    ) -> Result<ToolCallParser, SchemaError> {
        Ok(ToolCallParser::new(calling.clone()).with_tools(self.tool_set(tools)?))
    }

    /// Counters of the caches, for this value and its clones.
    #[must_use]
    pub fn cache_counts(&self) -> CacheCounts {
        let Caches { templates, tool_sets, support } = &*self.caches;
        CacheCounts { templates: templates.count(), tool_sets: tool_sets.count(), support: support.count() }
    }

    /// Empties the caches, for example because a client now supports function calling. The counters continue.
    pub fn clear_caches(&self) {
        let Caches { templates, tool_sets, support } = &*self.caches;
        templates.clear();
        tool_sets.clear();
        support.clear();
    }

    fn template(&self, format: &CallFormat) -> Result<Arc<Template>, ToolPromptError> {
        let name = format.family();
        let source = self.source(format);
        let source = source.ok_or_else(|| ToolPromptError::NoTemplate { format: name.to_owned() })?;
        self.caches.templates.try_get(source, |source| Template::compile(name, source))
    }

    /// The template for calls of this format.
    fn source(&self, format: &CallFormat) -> Option<Arc<str>> {
        let own =
            self.templates.get(format.family()).or_else(|| self.templates.get(format.as_str())).cloned();
        let built_in = || self.language.template(format).or_else(|| families::find(format)).map(Arc::from);
        own.or_else(built_in)
    }
}

/// The name of the only template in an environment. Its ending enables no escaping.
const TEMPLATE: &str = "tool_prompt";

/// A compiled template.
#[derive(Debug)]
struct Template {
    environment: Environment<'static>,
    /// The names that it uses.
    names: HashSet<String>,
}

impl Template {
    fn compile(format: &str, source: &Arc<str>) -> Result<Arc<Self>, ToolPromptError> {
        let failed = |source| ToolPromptError::Template { format: format.to_owned(), source };
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_filter("tojson", families::tojson);
        environment.add_template_owned(TEMPLATE, source.to_string()).map_err(failed)?;
        let names = environment.get_template(TEMPLATE).map_err(failed)?.undeclared_variables(false);
        let template = Self { environment, names };
        if template.uses("tool_descriptions") || template.uses("tools") {
            Ok(Arc::new(template))
        } else {
            Err(ToolPromptError::NoTools { format: format.to_owned() })
        }
    }

    fn uses(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn render(&self, format: &CallFormat, context: Value) -> Result<String, ToolPromptError> {
        let template = self.environment.get_template(TEMPLATE);
        let failed = |source| ToolPromptError::Template { format: format.family().to_owned(), source };
        template.and_then(|template| template.render(context)).map_err(failed)
    }
}

/// A key for everything that a set of tools depends on; the lengths make it unambiguous.
fn key_of(tools: &[ToolDefinition]) -> String {
    let mut key = String::new();
    for tool in tools {
        let description = tool.description.as_deref();
        for text in [Some(&*tool.name), description, Some(tool.parameters.as_str())] {
            match text {
                Some(text) => {
                    key.push_str(&text.len().to_string());
                    key.push(':');
                    key.push_str(text);
                }
                None => key.push('-'),
            }
        }
    }
    key
}

impl Caches {
    fn new(sizes: &CacheSizes) -> Self {
        Self {
            templates: Cache::new(sizes.templates),
            tool_sets: Cache::new(sizes.tool_sets),
            support: Cache::new(sizes.support),
        }
    }
}

impl Default for Caches {
    fn default() -> Self {
        Self::new(&CacheSizes::default())
    }
}
