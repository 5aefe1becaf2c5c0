//! The body of a request for an extraction, and the model that it names.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokenline::json::Raw;
use tokenline::llm::client::{LlmClient, StreamRequest};
use tokenline::llm::request::{ChatRequest, JsonFormat};
use tokenline::llm::{Provider, ResponseOptions, TextMode};
use tokenline::schema::{SchemaValidator, ToolSet};
use tokenline::{CallFormat, Options, RepetitionLimits};

use super::app::App;
use super::file::{self, FILE};
use super::model::Model;
use super::recorded::{self, Pace, RECORDED};
use super::rules::Refused;
use super::server_choice::ServerChoice;

/// The longest name of a model, in bytes: it is in the events.
const MAX_NAME: usize = 256;
/// The most further requests for one reject.
const MAX_REASK: u32 = 10;
/// The most further members of a request.
const MAX_SET: usize = 100;
/// Where the records of a structured output are.
const ITEMS: &str = "/items";

/// The body of a request for an extraction.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtractRequest {
    provider: String,
    #[serde(default)]
    model: String,
    prompt: Option<String>,
    prompt_id: Option<String>,
    text: Option<String>,
    system: Option<String>,
    schema: Option<Box<RawValue>>,
    #[serde(default)]
    send_schema: SendSchema,
    tools: Option<Box<RawValue>>,
    /// How calls in the text are written. Without it, the text has none: calls are native.
    call_format: Option<String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    seed: Option<u64>,
    /// Further members of the request body.
    #[serde(default)]
    set: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    reask: u32,
    #[serde(default)]
    repair: bool,
    #[serde(default)]
    stop_on_repetition: bool,
    base_url: Option<String>,
    api_key: Option<String>,
    #[serde(default)]
    recording: Pace,
    /// The text of a file.
    content: Option<String>,
    /// The format of the file: `text`, or a provider's name.
    from: Option<String>,
}

/// Where the model sees the schema.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SendSchema {
    /// Nowhere.
    #[default]
    None,
    /// As the response format.
    ResponseFormat,
    /// In the system prompt.
    Prompt,
}

/// How a response is read.
struct Rules {
    schema: Option<Arc<SchemaValidator>>,
    tools: Option<Arc<ToolSet>>,
    repair: bool,
    stop_on_repetition: bool,
}

/// A request that can be sent.
pub(super) struct Prepared {
    pub(super) client: LlmClient,
    pub(super) chat: ChatRequest,
    pub(super) stream: StreamRequest,
    /// Whether the page or the command line names the server.
    pub(super) has_base_url: bool,
    pub(super) system: String,
    pub(super) prompt: String,
    /// Where the records are in the response, if it is one document.
    pub(super) items: Option<&'static str>,
    calls_tools: bool,
}

impl ExtractRequest {
    /// The requested model; nothing is sent yet. An error is a message for the user.
    pub(super) fn into_model(self, app: &App) -> Result<Model, Refused> {
        let rules = self.rules(app)?;
        let is_validated = rules.schema.is_some() || rules.tools.is_some();
        let mut model = self.model_of(rules, app)?;
        model.is_validated = is_validated;
        Ok(model)
    }

    /// The request to a provider.
    pub(super) fn prepare(self, app: &App) -> Result<Prepared, Refused> {
        if [RECORDED, FILE].contains(&self.provider.as_str()) {
            return Err(Refused::Invalid("nothing is sent: the response is here already".to_owned()));
        }
        self.check_name()?;
        let rules = self.rules(app)?;
        Ok(self.prepare_with(rules, app)?)
    }

    fn rules(&self, app: &App) -> Result<Rules, Refused> {
        let schema = self.schema.as_ref().map(|schema| app.rules.schema(schema.get())).transpose()?;
        let tools = self.tools.as_ref().map(|tools| app.rules.tools(tools.get())).transpose()?;
        let (repair, stop_on_repetition) = (self.repair, self.stop_on_repetition);
        Ok(Rules { schema, tools, repair, stop_on_repetition })
    }

    fn model_of(self, rules: Rules, app: &App) -> Result<Model, String> {
        self.check_name()?;
        match self.provider.as_str() {
            RECORDED => {
                let name = if self.model.is_empty() { "mixed" } else { &self.model };
                let (recorded, calls_tools) = recorded::choose(name, &self.recording)
                    .ok_or_else(|| format!("model: there is no recording named {name:?}"))?;
                let text_as = if calls_tools { TextMode::ToolCalls } else { TextMode::Records };
                let options = rules.response_options(options(calls_tools), text_as);
                Ok(Model::recorded(recorded, calls_tools, options))
            }
            FILE => {
                let calls_tools = rules.tools.is_some();
                let call_format = self.call_format.as_deref().map(call_format).transpose()?;
                let call_format = calls_tools.then(|| call_format.unwrap_or_default());
                let (options, text_as) = rules.reading(call_format, None);
                let options = rules.response_options(options, text_as);
                let content = self.content.ok_or("content: choose a file")?;
                let name = if self.model.is_empty() { FILE } else { &self.model };
                let kib = u32::try_from(content.len() >> 10).unwrap_or(u32::MAX);
                let memory = Arc::clone(&app.content).try_acquire_many_owned(kib.saturating_add(1));
                let memory = memory.map_err(|_| "content: too many files are being read: try again later")?;
                let mut model = file::model(name, content, self.from.as_deref(), calls_tools, options)?;
                model.memory = Some(memory);
                Ok(model)
            }
            _ => {
                let (name, reask) = (self.model.clone(), self.reask);
                let prepared = self.prepare_with(rules, app)?;
                let Prepared { client, chat, stream, calls_tools, .. } = prepared;
                let request = stream.reask(&chat, reask);
                let mut model = Model::request(client.provider(), &name, calls_tools, request);
                model.reasks_rejects = reask > 0;
                Ok(model)
            }
        }
    }

    fn check_name(&self) -> Result<(), String> {
        match self.model.len() {
            0..=MAX_NAME => Ok(()),
            _ => Err(format!("model: the name has more than {MAX_NAME} bytes")),
        }
    }

    fn prepare_with(self, mut rules: Rules, app: &App) -> Result<Prepared, String> {
        let provider = Provider::from_name(&self.provider)
            .ok_or_else(|| format!("provider: there is no provider named {:?}", self.provider))?;
        let server = ServerChoice::new(self.base_url, self.api_key);
        let client = server.client(provider, app)?;
        let has_base_url = server.base_url(provider, app).is_some();
        if self.model.is_empty() {
            return Err("model: enter the name of a model".to_owned());
        }
        if self.reask > MAX_REASK {
            return Err(format!("reask: at most {MAX_REASK} further requests for a reject"));
        }

        if self.set.len() > MAX_SET {
            return Err(format!("set: more than {MAX_SET} members"));
        }

        let mut chat = ChatRequest::new(&self.model);
        (chat.max_tokens, chat.temperature, chat.seed) = (self.max_tokens, self.temperature, self.seed);
        for (name, value) in self.set {
            chat = chat.extra(name, value);
        }
        let mut system = self.system.unwrap_or_default();
        let prompt = match (self.prompt_id, self.prompt) {
            (Some(id), _) => {
                let terms = serde_json::json!({ "text": self.text.unwrap_or_default() });
                let rendered =
                    app.prompts.render(&id, terms).map_err(|error| format!("prompt_id: {error}"))?;
                if system.is_empty() {
                    system = rendered.system;
                }
                let validator = app.prompts.validator(&id).map_err(|error| format!("prompt_id: {error}"))?;
                rules.schema = rules.schema.or_else(|| validator.cloned().map(Arc::new));
                rendered.prompt
            }
            (None, Some(prompt)) => match self.text.filter(|text| !text.trim().is_empty()) {
                Some(text) => format!("{prompt}\n\n{text}"),
                None => prompt,
            },
            (None, None) => self.text.unwrap_or_default(),
        };
        let call_format = self.call_format.as_deref().map(call_format).transpose()?;
        if call_format.is_some() && rules.tools.is_none() {
            return Err("call_format: there are no tools".to_owned());
        }
        if prompt.trim().is_empty() {
            return Err("prompt: enter a prompt or a text".to_owned());
        }
        let items = match (self.send_schema, &self.schema) {
            (SendSchema::None, _) => None,
            (_, None) => return Err("send_schema: there is no schema".to_owned()),
            (SendSchema::ResponseFormat, Some(schema)) => {
                let schema = Raw::new(schema.get()).map_err(|error| format!("schema: {error}"))?;
                chat = chat.response_format(JsonFormat::list("answer", &schema, ITEMS));
                Some(ITEMS)
            }
            (SendSchema::Prompt, Some(schema)) => {
                system = with_schema(&system, schema.get());
                None
            }
        };
        if !system.is_empty() {
            chat = chat.system(&system);
        }
        chat = chat.user(&prompt);
        if let Some(tools) = &rules.tools {
            chat = chat.tools(tools.definitions().to_vec());
        }
        let stream = client.stream(&chat).map_err(|error| error.to_string())?;
        let calls_tools = rules.tools.is_some();
        let (options, text_as) = rules.reading(call_format, items);
        let stream = stream.with_options(|_| rules.response_options(options, text_as));
        Ok(Prepared { client, chat, stream, has_base_url, system, prompt, items, calls_tools })
    }
}

/// A system prompt that describes the records.
fn with_schema(system: &str, schema: &str) -> String {
    let gap = if system.is_empty() { "" } else { "\n\n" };
    format!(
        "{system}{gap}Write JSON Lines: one JSON object per line, and nothing else. Each object matches this JSON Schema:\n\
         {schema}"
    )
}

impl Rules {
    /// How the text of a provider's response is read.
    fn reading(&self, call_format: Option<CallFormat>, items: Option<&str>) -> (Options, TextMode) {
        let calls_tools = self.tools.is_some();
        let text_as = match (calls_tools, &call_format, &self.schema) {
            (true, None, None) => TextMode::NativeCalls,
            (false, ..) | (true, None, Some(_)) => TextMode::Records,
            (true, Some(_), None) => TextMode::ToolCalls,
            (true, Some(_), Some(_)) => TextMode::RecordsAndToolCalls,
        };
        let mut options = options(calls_tools);
        if text_as != TextMode::Records {
            options = options.calls(call_format.unwrap_or_default());
        }
        if let Some(pointer) = items {
            options = options.items(pointer).expect("a JSON Pointer");
        }
        (options, text_as)
    }

    fn response_options(self, text: Options, text_as: TextMode) -> ResponseOptions {
        let options = ResponseOptions::from(text).text_as(text_as);
        let mut options = options.text_deltas().text_and_reasoning().call_updates();
        if let Some(schema) = self.schema {
            options = options.validator(schema);
        }
        if let Some(tools) = self.tools {
            options = options.tools(tools);
        }
        if self.repair {
            options = options.repair_syntax();
        }
        if self.stop_on_repetition {
            options = options.stop_on_repetition(RepetitionLimits::default());
        }
        options
    }
}

/// Model output with the steps by which each record grows. Calls have updates of their own.
fn options(calls_tools: bool) -> Options {
    Options::lenient().partials(!calls_tools)
}

fn call_format(name: &str) -> Result<CallFormat, String> {
    CallFormat::from_name(name).ok_or_else(|| format!("call_format: there is no format named {name:?}"))
}
