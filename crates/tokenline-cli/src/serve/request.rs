//! The body of a request for an extraction, and the model that it names.

use serde::Deserialize;
use serde_json::Value;
use tokenline::llm::request::ChatRequest;
use tokenline::llm::{Provider, ResponseParser, TextMode};
use tokenline::schema::{SchemaValidator, ToolSet};
use tokenline::{Options, ToolDefinition};

use super::model::Model;
use super::recorded::{self, Pace};
use super::{App, RECORDED};

/// The longest name of a model, in bytes: it is in the events.
const MAX_NAME: usize = 256;
/// The largest schema, or list of tools, in bytes: each compiles to a hundred times its size.
const MAX_RULES: usize = 256 << 10;

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
    schema: Option<Value>,
    tools: Option<Value>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    #[serde(default)]
    recording: Pace,
}

/// How a response is read.
struct Rules {
    schema: Option<SchemaValidator>,
    tools: Option<ToolSet>,
}

impl ExtractRequest {
    /// The requested model; nothing is sent yet. An error is a message for the user.
    pub(super) fn into_model(self, app: &App) -> Result<Model, String> {
        let schema = self.schema.as_ref().map(validator).transpose()?;
        let tools = self.tools.as_ref().map(tool_set).transpose()?;
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
            let configure = |parser| rules.configure(parser, calls_tools);
            return Ok(Model::recorded(recorded, calls_tools, options(calls_tools), configure));
        }
        self.of_provider(rules, app)
    }

    fn of_provider(self, mut rules: Rules, app: &App) -> Result<Model, String> {
        let provider = Provider::from_name(&self.provider)
            .ok_or_else(|| format!("provider: there is no provider named {:?}", self.provider))?;
        let client = app.clients.iter().find(|(its, _)| *its == provider).map(|(_, client)| client);
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
                rules.schema = rules.schema.or_else(|| validator.cloned());
                rendered.prompt
            }
            (None, Some(prompt)) => match self.text.filter(|text| !text.trim().is_empty()) {
                Some(text) => format!("{prompt}\n\n{text}"),
                None => prompt,
            },
            (None, None) => self.text.unwrap_or_default(),
        };
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
        let request = request
            .map_parser(|parser| rules.configure(parser.with_options(options(calls_tools)), calls_tools));
        Ok(Model::request(provider, &self.model, calls_tools, request))
    }
}

impl Rules {
    fn configure(self, parser: ResponseParser, calls_tools: bool) -> ResponseParser {
        let text_as = if calls_tools { TextMode::ToolCalls } else { TextMode::Records };
        let mut parser =
            parser.text_as(text_as).with_text_deltas().with_text_and_reasoning().with_call_updates();
        if let Some(schema) = self.schema {
            parser = parser.with_validator(schema);
        }
        if let Some(tools) = self.tools {
            parser = parser.with_tools(tools);
        }
        parser
    }
}

/// Model output with the steps by which each record grows. Calls have updates of their own.
fn options(calls_tools: bool) -> Options {
    Options::lenient().partials(!calls_tools)
}

fn validator(schema: &Value) -> Result<SchemaValidator, String> {
    if schema.to_string().len() > MAX_RULES {
        return Err(format!("schema: larger than {} KiB", MAX_RULES >> 10));
    }
    let validator = SchemaValidator::new(schema).map_err(|error| format!("schema: {error}"))?;
    Ok(validator.show_names(true))
}

fn tool_set(tools: &Value) -> Result<ToolSet, String> {
    let text = tools.to_string();
    if text.len() > MAX_RULES {
        return Err(format!("tools: larger than {} KiB", MAX_RULES >> 10));
    }
    ToolSet::from_json_str(&text)
        .map(|tools| tools.show_names(true))
        .map_err(|error| format!("tools: {error}"))
}
