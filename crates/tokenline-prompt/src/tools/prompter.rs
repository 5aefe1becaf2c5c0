//! Writes tool prompts, and owns the caches.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior, context};
use tokenline_core::{CallFormat, ToolDefinition};
use tokenline_schema::{SchemaError, ToolSet};

use super::cache::Cache;
use super::calling::{FunctionCallingSupport, tool_calling_support};
use super::describe::tool_descriptions;
use super::parser::ResponseKey;
use super::{CacheCounts, CacheSizes, Language, ParsedCalls, ToolCallParser, ToolCalling, ToolPromptError};
use tokenline_llm::Provider;
use tokenline_llm::request::ChatRequest;

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
pub(super) struct Caches {
    templates: Cache<Arc<str>, Arc<Environment<'static>>>,
    tool_sets: Cache<String, Arc<ToolSet>>,
    support: Cache<String, ToolCalling>,
    pub(super) responses: Cache<ResponseKey, Arc<ParsedCalls>>,
}

/// The description of tools for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPrompt {
    /// A text for the prompt, for example in the system message.
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

    /// Sets the language.
    #[must_use]
    pub fn with_language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// Sets the provider for function calling; default: OpenAI chat completions.
    #[must_use]
    pub fn with_provider(self, provider: Provider) -> Self {
        Self { provider: Some(provider), ..self }
    }

    /// Sets a template for calls of this format; required for formats without a built-in template.
    ///
    /// It is a minijinja template with the variables `tool_descriptions`, the output of [`tool_descriptions`], and
    /// `tools`, a list with `name`, `description` and `parameters` (the JSON of the schema). It must use one of them.
    /// An undefined name is an error.
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
        self.templates.insert(format.as_str().to_owned(), template.into());
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
    /// request.
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
            ToolCalling::Text(format) => self.render(format, tools).map(ToolPrompt::Text),
        }
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
        let parser = ToolCallParser::new(calling.clone()).with_tools(self.tool_set(tools)?);
        Ok(parser.with_caches(Arc::clone(&self.caches)))
    }

    /// Counters of the caches, for this value and its clones.
    #[must_use]
    pub fn cache_counts(&self) -> CacheCounts {
        let Caches { templates, tool_sets, support, responses } = &*self.caches;
        CacheCounts {
            templates: templates.count(),
            tool_sets: tool_sets.count(),
            support: support.count(),
            responses: responses.count(),
        }
    }

    /// Empties the caches, for example because a client now supports function calling. The counters continue.
    pub fn clear_caches(&self) {
        let Caches { templates, tool_sets, support, responses } = &*self.caches;
        templates.clear();
        tool_sets.clear();
        support.clear();
        responses.clear();
    }

    fn render(&self, format: &CallFormat, tools: &[ToolDefinition]) -> Result<String, ToolPromptError> {
        let name = format.as_str();
        let built_in = || self.language.template(format).map(Arc::from);
        let source = self.templates.get(name).cloned().or_else(built_in);
        let source = source.ok_or_else(|| ToolPromptError::NoTemplate { format: name.to_owned() })?;
        let failed = |source| ToolPromptError::Template { format: name.to_owned(), source };
        let template = self.caches.templates.try_get(source, |source| compile(name, source))?;
        let template = template.get_template(TEMPLATE).map_err(failed)?;
        let tool = |tool: &ToolDefinition| {
            context! {
                name => tool.name.clone(),
                description => tool.description.clone().unwrap_or_default(),
                parameters => tool.parameters.to_compact(),
            }
        };
        let context = context! {
            tool_descriptions => tool_descriptions(tools, self.language),
            tools => tools.iter().map(tool).collect::<Vec<_>>(),
        };
        template.render(context).map_err(failed)
    }
}

/// The name of the only template in an environment. Its ending enables no escaping.
const TEMPLATE: &str = "tool_prompt";

fn compile(format: &str, source: &Arc<str>) -> Result<Arc<Environment<'static>>, ToolPromptError> {
    let format = || format.to_owned();
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
        .add_template_owned(TEMPLATE, source.to_string())
        .map_err(|source| ToolPromptError::Template { format: format(), source })?;
    let template = environment.get_template(TEMPLATE);
    let names = template.map(|template| template.undeclared_variables(false)).unwrap_or_default();
    match names.contains("tool_descriptions") || names.contains("tools") {
        true => Ok(Arc::new(environment)),
        false => Err(ToolPromptError::NoTools { format: format() }),
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
            responses: Cache::new(sizes.responses),
        }
    }
}

impl Default for Caches {
    fn default() -> Self {
        Self::new(&CacheSizes::default())
    }
}
