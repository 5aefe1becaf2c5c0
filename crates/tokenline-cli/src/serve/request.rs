//! The body of a request for an extraction, and the model that it names.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokenline::llm::request::ChatRequest;
use tokenline::llm::{Provider, ResponseOptions, TextMode};
use tokenline::schema::{SchemaValidator, ToolSet};
use tokenline::{CallFormat, Options, ToolDefinition};

use super::app::App;
use super::model::Model;
use super::recorded::{self, Pace, RECORDED};
use super::rules::Refused;

/// The longest name of a model, in bytes: it is in the events.
const MAX_NAME: usize = 256;

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
    tools: Option<Box<RawValue>>,
    /// How calls in the text are written. Without it, the text has none: calls are native.
    call_format: Option<String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    #[serde(default)]
    recording: Pace,
}

/// How a response is read.
struct Rules {
    schema: Option<Arc<SchemaValidator>>,
    tools: Option<Arc<ToolSet>>,
}

impl ExtractRequest {
    /// The requested model; nothing is sent yet. An error is a message for the user.
    pub(super) fn into_model(self, app: &App) -> Result<Model, Refused> {
        let schema = self.schema.as_ref().map(|schema| app.rules.schema(schema.get())).transpose()?;
        let tools = self.tools.as_ref().map(|tools| app.rules.tools(tools.get())).transpose()?;
        let is_validated = schema.is_some() || tools.is_some();
        let mut model = self.model_of(Rules { schema, tools }, app)?;
        model.is_validated = is_validated;
        Ok(model)
    }

    fn model_of(self, rules: Rules, app: &App) -> Result<Model, String> {
        if self.provider == RECORDED {
            let name = if self.model.is_empty() { "mixed" } else { &self.model };
            let (recorded, calls_tools) = recorded::choose(name, &self.recording)
                .ok_or_else(|| format!("model: there is no recording named {name:?}"))?;
            let text_as = if calls_tools { TextMode::ToolCalls } else { TextMode::Records };
            let options = rules.response_options(options(calls_tools), text_as);
            return Ok(Model::recorded(recorded, calls_tools, options));
        }
        self.of_provider(rules, app)
    }

    fn of_provider(self, mut rules: Rules, app: &App) -> Result<Model, String> {
        let provider = Provider::from_name(&self.provider)
            .ok_or_else(|| format!("provider: there is no provider named {:?}", self.provider))?;
        let client =
            app.clients.iter().find(|(configured, _)| *configured == provider).map(|(_, client)| client);
        let client = client.ok_or("provider: not configured")?.as_ref().map_err(Clone::clone)?;
        if self.model.is_empty() {
            return Err("model: enter the name of a model".to_owned());
        }
        if self.model.len() > MAX_NAME {
            return Err(format!("model: the name has more than {MAX_NAME} bytes"));
        }

        let mut request = ChatRequest::new(&self.model);
        (request.max_tokens, request.temperature) = (self.max_tokens, self.temperature);
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
        if !system.is_empty() {
            request = request.system(system);
        }
        request = request.user(prompt);
        let calls_tools = rules.tools.is_some();
        if let Some(tools) = &rules.tools {
            let definitions: Vec<ToolDefinition> = tools.definitions().to_vec();
            request = request.tools(definitions);
        }
        let request = client.stream(&request).map_err(|error| error.to_string())?;
        let text_as = match (calls_tools, &call_format, &rules.schema) {
            (true, None, None) => TextMode::NativeCalls,
            (false, ..) | (true, None, Some(_)) => TextMode::Records,
            (true, Some(_), None) => TextMode::ToolCalls,
            (true, Some(_), Some(_)) => TextMode::RecordsAndToolCalls,
        };
        let options = options(calls_tools);
        let options = if text_as == TextMode::Records {
            options
        } else {
            options.calls(call_format.unwrap_or_default())
        };
        let request = request.with_options(|_| rules.response_options(options, text_as));
        Ok(Model::request(provider, &self.model, calls_tools, request))
    }
}

impl Rules {
    fn response_options(self, text: Options, text_as: TextMode) -> ResponseOptions {
        let options = ResponseOptions::from(text).text_as(text_as);
        let mut options = options.text_deltas().text_and_reasoning().call_updates();
        if let Some(schema) = self.schema {
            options = options.validator(schema);
        }
        if let Some(tools) = self.tools {
            options = options.tools(tools);
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
