//! The provider-independent request.

use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "client")]
use tokenline_core::Options;
#[cfg(feature = "client")]
use tokenline_core::json::InvalidPointer;
use tokenline_core::json::Raw;
use tokenline_core::{ToolDefinition, Tools};

use super::call_validators::CallValidators;
use super::json::{Node, Object};
use super::{Message, Opaque, RequestError, ResponseFormat};
use crate::Provider;
#[cfg(feature = "client")]
use crate::ResponseOptions;
use crate::providers::Setting;

/// A request to a model.
///
/// [The module](super) shows how each provider receives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The model's name at the provider.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether, and which, tool must be called.
    pub tool_choice: ToolChoice,
    /// The format of the response's text.
    pub response_format: ResponseFormat,
    /// The maximum number of tokens in the response.
    pub max_tokens: Option<u32>,
    /// Sampling temperature, usually 0 to 1 or 2.
    pub temperature: Option<f64>,
    /// Nucleus sampling (`top_p`), 0 to 1.
    pub top_p: Option<f64>,
    /// Stop sequences: texts at which the response ends.
    pub stop: Vec<String>,
    /// Sampling seed, for repeatable responses.
    pub seed: Option<u64>,
    /// Whether to ask OpenAI chat completions for token usage, which a few compatible servers reject. The other
    /// providers always report it.
    pub include_usage: bool,
    /// Whether the response is streamed; the client always streams. Gemini decides by the path of the request.
    pub stream: bool,
    /// Additional members of the body, which also override those above: objects are merged, other values replaced. For
    /// what only one provider or server has, such as `reasoning_effort` or llama.cpp's `grammar`.
    pub extra: serde_json::Map<String, Value>,
    /// Additional members inside the body, by JSON Pointer; see [`extra_at`](Self::extra_at).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_at: Vec<(String, Value)>,
    /// They are not sent, and do not make requests differ.
    #[serde(skip)]
    call_validators: CallValidators,
}

/// Whether the model calls tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// It must not call tools.
    None,
    /// It must call at least one tool.
    Required,
    /// It must call this tool.
    Tool(String),
}

impl ChatRequest {
    /// A request without messages.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            response_format: ResponseFormat::Text,
            max_tokens: None,
            temperature: None,
            top_p: None,
            stop: Vec::new(),
            seed: None,
            include_usage: true,
            stream: true,
            extra: serde_json::Map::new(),
            extra_at: Vec::new(),
            call_validators: CallValidators::default(),
        }
    }

    /// Adds a system prompt.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Message::system(text))
    }

    /// Adds a user message.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::user(text))
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds messages.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.messages.extend(messages);
        self
    }

    /// Adds tools: definitions, or definitions with the validator of their calls, such as a `ToolSet`. A
    /// [client](crate::client) then validates the calls of the response, native or not.
    ///
    /// ```
    /// use tokenline_core::{ToolDefinition, Tools, ValidateCall};
    /// use tokenline_llm::request::ChatRequest;
    ///
    /// let now = ToolDefinition::new("now").with_description("The time.");
    /// let request = ChatRequest::new("m").user("What time is it?").tools([&now]);
    /// # fn validated(now: ToolDefinition, validator: impl ValidateCall + Send + Sync + 'static) -> ChatRequest {
    /// // With a validator of your own:
    /// # let request = ChatRequest::new("m").user("What time is it?");
    /// let request = request.tools(Tools::from([now]).validated_by(validator));
    /// # request }
    /// ```
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Tools>) -> Self {
        let Tools { definitions, validator, .. } = tools.into();
        self.call_validators.add(&definitions, validator);
        self.tools.extend(definitions);
        self
    }

    /// Sets whether, and which, tool must be called.
    #[must_use]
    pub fn tool_choice(self, tool_choice: ToolChoice) -> Self {
        Self { tool_choice, ..self }
    }

    /// Sets the format of the response's text.
    #[must_use]
    pub fn response_format(self, response_format: impl Into<ResponseFormat>) -> Self {
        Self { response_format: response_format.into(), ..self }
    }

    /// Sets the maximum number of tokens in the response.
    #[must_use]
    pub fn max_tokens(self, max_tokens: u32) -> Self {
        Self { max_tokens: Some(max_tokens), ..self }
    }

    /// Sets the sampling temperature, usually 0 to 1 or 2.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Self {
        Self { temperature: Some(temperature), ..self }
    }

    /// Sets nucleus sampling (`top_p`), 0 to 1.
    #[must_use]
    pub fn top_p(self, top_p: f64) -> Self {
        Self { top_p: Some(top_p), ..self }
    }

    /// Adds stop sequences.
    #[must_use]
    pub fn stop<S: Into<String>>(mut self, texts: impl IntoIterator<Item = S>) -> Self {
        self.stop.extend(texts.into_iter().map(S::into));
        self
    }

    /// Sets the sampling seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Sets whether the response is streamed.
    #[must_use]
    pub fn streamed(self, stream: bool) -> Self {
        Self { stream, ..self }
    }

    /// Sets an additional member of the body; see [`extra`](Self#structfield.extra).
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Sets an additional member inside the body, at a JSON Pointer (RFC 6901): of a tool, a message, a block. An index
    /// `-` is the last element. The text of a message or of `system` becomes a list of one block if the pointer leads into
    /// it. For what only one provider has, such as Anthropic's `cache_control`; applied last, in order.
    ///
    /// If the path to the member does not exist, [`to_body`](Self::to_body) fails.
    ///
    /// ```
    /// use serde_json::json;
    /// use tokenline_core::ToolDefinition;
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::request::ChatRequest;
    ///
    /// let request = ChatRequest::new("claude-sonnet-4-5")
    ///     .system("A long manual.")
    ///     .user("Why does it blink?")
    ///     .tools([ToolDefinition::new("reset")])
    ///     .extra_at("/system/-/cache_control", json!({"type": "ephemeral"}))
    ///     .extra_at("/tools/0/eager_input_streaming", true);
    /// let body: serde_json::Value = serde_json::from_str(&request.to_body(Provider::Anthropic)?)?;
    /// let system = json!([{"type": "text", "text": "A long manual.", "cache_control": {"type": "ephemeral"}}]);
    /// assert_eq!(body["system"], system);
    /// assert_eq!(body["tools"][0]["eager_input_streaming"], true);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn extra_at(mut self, pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra_at.push((pointer.into(), value.into()));
        self
    }

    /// The opaque data that is not sent to this provider because another one sent it, with the index of its message.
    /// Reasoning that no provider takes back is not included.
    ///
    /// ```
    /// use tokenline_core::json::Raw;
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::request::{AssistantPart, ChatRequest, Message, Opaque};
    ///
    /// let data = Raw::new(r#"{"signature":"EqQB"}"#)?;
    /// let opaque = Some(Opaque { provider: Provider::Anthropic, data });
    /// let thought = AssistantPart::Reasoning { text: "Hm.".to_owned(), opaque };
    /// let request = ChatRequest::new("m").user("Why?").message(Message::Assistant(vec![thought])).user("So?");
    /// assert_eq!(request.omitted_opaque(Provider::Anthropic).count(), 0);
    /// assert_eq!(request.omitted_opaque(Provider::Gemini).count(), 1);
    /// # Ok::<(), tokenline_core::json::SyntaxError>(())
    /// ```
    pub fn omitted_opaque(&self, provider: Provider) -> impl Iterator<Item = (usize, &Opaque)> {
        let parts = self.messages.iter().enumerate().flat_map(|(index, message)| match message {
            Message::Assistant(parts) => parts.iter().map(|part| (index, part)).collect(),
            _ => Vec::new(),
        });
        parts
            .filter_map(|(index, part)| Some((index, part.opaque()?)))
            .filter(move |(_, opaque)| opaque.provider != provider)
    }

    /// The JSON body of the request.
    ///
    /// # Errors
    ///
    /// If the provider cannot express the request.
    pub fn to_body(&self, provider: Provider) -> Result<String, RequestError> {
        self.to_object(provider).map(|body| body.to_string())
    }

    /// The JSON of a request's `tools` member, an array on one line: descriptions and schemas as given, members in
    /// their order. For requests that are written elsewhere.
    ///
    /// ```
    /// use tokenline_core::ToolDefinition;
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::request::ChatRequest;
    ///
    /// let now = ToolDefinition::new("now").with_description("The time.");
    /// assert_eq!(
    ///     ChatRequest::tools_to_json(Provider::Anthropic, &[now]),
    ///     r#"[{"name":"now","description":"The time.","input_schema":{"type":"object"}}]"#
    /// );
    /// ```
    #[must_use]
    pub fn tools_to_json(provider: Provider, tools: &[ToolDefinition]) -> String {
        let json = Node::from(provider.requests().tools(tools)).to_string();
        Raw::new(&json).map_or(json, |json| json.to_compact())
    }

    pub(crate) fn to_object(&self, provider: Provider) -> Result<Object, RequestError> {
        let request = self.adapted(provider);
        request.check(provider)?;
        let mut body = provider.requests().request_body(&request)?;
        body.merge(&self.extra);
        let text_block = if provider == Provider::OpenAiResponses { "input_text" } else { "text" };
        for (pointer, value) in &self.extra_at {
            let keys = pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~"));
            let keys: Vec<_> = keys.collect();
            if !pointer.starts_with('/') || !body.set_at(&keys, value.clone().into(), text_block) {
                return Err(RequestError::ExtraMember { pointer: pointer.clone() });
            }
        }
        Ok(body)
    }

    fn check(&self, provider: Provider) -> Result<(), RequestError> {
        let finite = |number: Option<f64>| number.is_none_or(f64::is_finite);
        if !finite(self.temperature) || !finite(self.top_p) {
            return Err(RequestError::Setting("temperature and top_p must be finite numbers"));
        }
        if self.sent_messages().all(|(_, message)| matches!(message, Message::System(_))) {
            return Err(RequestError::Setting("the conversation has no user, assistant or tool message"));
        }
        if self.has_extra("stream") {
            return Err(RequestError::Setting("set `stream` with `streamed`, not as an extra member"));
        }
        if !self.has_tools() && !matches!(self.tool_choice, ToolChoice::Auto | ToolChoice::None) {
            return Err(RequestError::Setting("a tool call is required, but there are no tools"));
        }
        let settings = [
            (self.seed.is_some(), Setting::Seed, "seed"),
            (!self.stop.is_empty(), Setting::Stop, "stop sequences"),
            (*self.effective_tool_choice() != ToolChoice::Auto, Setting::ToolChoice, "tool choice"),
            (
                self.response_format == ResponseFormat::Json,
                Setting::JsonFormat,
                "JSON format without a schema",
            ),
        ];
        let unsupported = provider.info().unsupported;
        match settings.iter().find(|(is_used, setting, _)| *is_used && unsupported.contains(setting)) {
            Some((_, _, setting)) => Err(RequestError::Unsupported { provider, setting }),
            None => Ok(()),
        }
    }

    /// How its response is read: the path to the records if the format has one, the validators of the format and the
    /// tools.
    #[cfg(feature = "client")]
    pub(crate) fn response_options(&self) -> Result<ResponseOptions, InvalidPointer> {
        let options = match self.response_format.items() {
            Some(pointer) => Options::lenient().items(pointer)?,
            None => Options::lenient(),
        };
        let mut options = ResponseOptions::from(options);
        if let Some(validator) = self.response_format.validator() {
            options = options.validator(validator);
        }
        if let Some(validator) = self.call_validators.validator() {
            options = options.tools(validator);
        }
        Ok(options)
    }

    fn has_tools(&self) -> bool {
        // The provider's own tools may be among the extra members.
        !self.tools.is_empty() || self.has_extra("tools")
    }

    /// Whether the additional members set this member of the body.
    fn has_extra(&self, name: &str) -> bool {
        self.extra.contains_key(name)
            || self.extra_at.iter().any(|(at, _)| at.strip_prefix('/') == Some(name))
    }

    /// The tool choice to send. Providers reject one without tools.
    pub(crate) fn effective_tool_choice(&self) -> &ToolChoice {
        if self.has_tools() { &self.tool_choice } else { &ToolChoice::Auto }
    }

    /// The system prompt: the system messages that open the conversation, joined. `None` if the provider refuses it as
    /// blank.
    pub(crate) fn instructions(&self, provider: Provider) -> Option<String> {
        let texts = self.messages.iter().map_while(|message| match message {
            Message::System(text) => Some(text.as_str()),
            _ => None,
        });
        let texts: Vec<&str> = texts.collect();
        Some(texts.join("\n\n")).filter(|text| !provider.is_blank(text))
    }
}
