//! A request, the same for every provider.

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokenline_core::ToolDefinition;
use tokenline_core::json::Raw;
#[cfg(feature = "client")]
use tokenline_core::{InvalidPointer, Options};

#[cfg(feature = "client")]
use super::JsonFormat;
use super::json::{Node, Object};
use super::{AssistantPart, Message, Opaque, RequestError, ResponseFormat};
use crate::Provider;
use crate::providers::Setting;

/// A request to a model.
///
/// See [the module](super) for what becomes of it at each provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The model, by the provider's name for it.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether it has to.
    pub tool_choice: ToolChoice,
    /// What its text is to be.
    pub response_format: ResponseFormat,
    /// The most tokens that the answer may have.
    pub max_tokens: Option<u32>,
    /// How much chance there is in the answer; mostly 0 to 1 or 2.
    pub temperature: Option<f64>,
    /// The share of likely tokens that are chosen from.
    pub top_p: Option<f64>,
    /// Texts at which the answer ends.
    pub stop: Vec<String>,
    /// Where chance begins, for answers that can be repeated.
    pub seed: Option<u64>,
    /// Whether OpenAI chat completions are asked to tell the tokens used, which a few servers that
    /// speak the same refuse. The other providers always tell.
    pub include_usage: bool,
    /// Whether the response is streamed; the client always streams. Gemini's is by the path of the request.
    pub stream: bool,
    /// Members of the body beside those above, or instead of them: objects are merged, anything else
    /// is replaced. For what one provider or server has alone, such as `reasoning_effort`, or llama.cpp's
    /// `grammar`.
    pub extra: serde_json::Map<String, Value>,
}

/// Whether a model is to call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one or more.
    Required,
    /// It must call this one.
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
        }
    }

    /// Adds what the model is to keep to.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Message::system(text))
    }

    /// Adds what the user says.
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

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item: Borrow<ToolDefinition>>) -> Self {
        self.tools.extend(tools.into_iter().map(|tool| tool.borrow().clone()));
        self
    }

    /// Sets whether the model has to call tools.
    #[must_use]
    pub fn tool_choice(self, tool_choice: ToolChoice) -> Self {
        Self { tool_choice, ..self }
    }

    /// Sets what the text is to be.
    #[must_use]
    pub fn response_format(self, response_format: ResponseFormat) -> Self {
        Self { response_format, ..self }
    }

    /// Sets the most tokens that the answer may have.
    #[must_use]
    pub fn max_tokens(self, max_tokens: u32) -> Self {
        Self { max_tokens: Some(max_tokens), ..self }
    }

    /// Sets how much chance there is in the answer.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Self {
        Self { temperature: Some(temperature), ..self }
    }

    /// Sets the share of likely tokens that are chosen from.
    #[must_use]
    pub fn top_p(self, top_p: f64) -> Self {
        Self { top_p: Some(top_p), ..self }
    }

    /// Adds texts at which the answer ends.
    #[must_use]
    pub fn stop<S: Into<String>>(mut self, texts: impl IntoIterator<Item = S>) -> Self {
        self.stop.extend(texts.into_iter().map(S::into));
        self
    }

    /// Sets where chance begins.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Sets whether the response is streamed.
    #[must_use]
    pub fn streamed(self, stream: bool) -> Self {
        Self { stream, ..self }
    }

    /// Sets a member of the body; see [`extra`](Self#structfield.extra).
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// The parts of assistants' messages that this provider is not sent, because only the provider that sent them can
    /// read them: the index of the message, and what is left out. Reasoning that no provider takes back is not among them.
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
    /// assert_eq!(request.left_out(Provider::Anthropic).count(), 0);
    /// assert_eq!(request.left_out(Provider::Gemini).count(), 1);
    /// # Ok::<(), tokenline_core::json::SyntaxError>(())
    /// ```
    pub fn left_out(&self, provider: Provider) -> impl Iterator<Item = (usize, &Opaque)> {
        let parts = self.messages.iter().enumerate().flat_map(|(index, message)| match message {
            Message::Assistant(parts) => parts.iter().map(|part| (index, part)).collect(),
            _ => Vec::new(),
        });
        parts
            .filter_map(|(index, part)| Some((index, part.opaque()?)))
            .filter(move |(_, opaque)| opaque.provider != provider)
    }

    /// The body of the request, JSON.
    ///
    /// # Errors
    ///
    /// If the provider cannot be asked that.
    pub fn to_body(&self, provider: Provider) -> Result<String, RequestError> {
        self.to_object(provider).map(|body| body.to_string())
    }

    /// The JSON of a request's member `tools`, an array: descriptions and schemas as they were given, on one line, the
    /// order of their members kept. For requests that are written elsewhere.
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
        let json = Node::from(provider.api().tools(tools)).to_string();
        Raw::new(&json).map_or(json, |json| json.to_compact())
    }

    pub(crate) fn to_object(&self, provider: Provider) -> Result<Object, RequestError> {
        self.check(provider)?;
        let mut body = provider.api().request_body(self)?;
        body.merge(&self.extra);
        Ok(body)
    }

    fn check(&self, provider: Provider) -> Result<(), RequestError> {
        let finite = |number: Option<f64>| number.is_none_or(f64::is_finite);
        if !finite(self.temperature) || !finite(self.top_p) {
            return Err(RequestError::Setting("temperature and top_p must be finite numbers"));
        }
        if self.messages.iter().all(|message| matches!(message, Message::System(_))) {
            return Err(RequestError::Setting("there is no message for the model to answer"));
        }
        let is_empty = |message: &Message| matches!(message, Message::Assistant(parts) if parts.iter().all(AssistantPart::is_empty));
        if let Some(index) = self.messages.iter().position(is_empty) {
            let reason = "the assistant says nothing and calls nothing".to_owned();
            return Err(RequestError::Message { index, reason });
        }
        if self.extra.contains_key("stream") {
            return Err(RequestError::Setting("`stream` is a member of the request, not an extra one"));
        }
        if !self.has_tools() && !matches!(self.tool_choice, ToolChoice::Auto | ToolChoice::None) {
            return Err(RequestError::Setting("a tool call is required, but there are no tools"));
        }
        let asked = [
            (self.seed.is_some(), Setting::Seed, "seed"),
            (!self.stop.is_empty(), Setting::Stop, "stop texts"),
            (*self.told_choice() != ToolChoice::Auto, Setting::ToolChoice, "tool choice"),
            (
                self.response_format == ResponseFormat::Json,
                Setting::JsonFormat,
                "JSON format without a schema",
            ),
        ];
        let unsupported = provider.info().unsupported;
        match asked.iter().find(|(is_asked, setting, _)| *is_asked && unsupported.contains(setting)) {
            Some((_, _, what)) => Err(RequestError::Unsupported { provider, what }),
            None => Ok(()),
        }
    }

    /// How the response is read: where its records are, if the format says so.
    #[cfg(feature = "client")]
    pub(crate) fn reading_options(&self) -> Result<Options, InvalidPointer> {
        match &self.response_format {
            ResponseFormat::JsonSchema(JsonFormat { items: Some(pointer), .. }) => {
                Options::lenient().items(pointer)
            }
            _ => Ok(Options::lenient()),
        }
    }

    fn has_tools(&self) -> bool {
        // A provider's own tools may be among the extra members.
        !self.tools.is_empty() || self.extra.contains_key("tools")
    }

    /// The choice between the tools. Where there are none providers refuse to hear of it.
    pub(crate) fn told_choice(&self) -> &ToolChoice {
        if self.has_tools() { &self.tool_choice } else { &ToolChoice::Auto }
    }

    /// What is told before anything else: the system messages that open the conversation, as one text.
    pub(crate) fn instructions(&self) -> Option<String> {
        let texts = self.messages.iter().map_while(|message| match message {
            Message::System(text) => Some(text.as_str()),
            _ => None,
        });
        let texts: Vec<&str> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}
