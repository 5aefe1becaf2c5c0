//! Requests for responses with an analysis.

use tokenline_core::json::Raw;
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, Message, RequestError, ResponseFormat};

use crate::RESPONSE_SCHEMA;

/// The system prompt for the [schema](RESPONSE_SCHEMA): it explains the parts of the analysis.
pub const SYSTEM_PROMPT: &str = include_str!("system_prompt.txt");

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name in a request: `user` or `assistant`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A request for a response that matches the [schema](RESPONSE_SCHEMA).
///
/// The temperature is 0, and the response is streamed unless [turned off](Self::streamed).
///
/// ```
/// use tokenline_chat_analysis::AnalysisRequest;
///
/// let request = AnalysisRequest::new("llama3.1").user("How much should I save for college?");
/// let body: serde_json::Value = serde_json::from_str(&request.to_body()?)?;
/// assert_eq!(body["messages"][1]["content"], "How much should I save for college?");
/// assert_eq!(body["format"]["required"], serde_json::json!(["response", "analysis"]));
/// assert_eq!(body["options"]["temperature"], 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnalysisRequest {
    /// The model's name in Ollama.
    pub model: String,
    /// The system prompt; default: [`SYSTEM_PROMPT`]. If empty, there is no system message.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<(Role, String)>,
    /// Whether the response is streamed.
    pub is_streamed: bool,
}

impl AnalysisRequest {
    /// A request with the system prompt only.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            system: SYSTEM_PROMPT.to_owned(),
            messages: Vec::new(),
            is_streamed: true,
        }
    }

    /// Replaces the system prompt.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        Self { system: text.into(), ..self }
    }

    /// Adds a user message.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, text)
    }

    /// Adds an earlier reply of the model: its [`response`](crate::LlmResponse::response), not the analysis.
    #[must_use]
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Role::Assistant, text)
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, role: Role, text: impl Into<String>) -> Self {
        self.messages.push((role, text.into()));
        self
    }

    /// Sets whether the response is streamed.
    #[must_use]
    pub fn streamed(self, is_streamed: bool) -> Self {
        Self { is_streamed, ..self }
    }

    /// The provider-independent request, for example to set a token limit or a seed.
    #[must_use]
    pub fn to_chat_request(&self) -> ChatRequest {
        let compact = Raw::new(RESPONSE_SCHEMA).and_then(|schema| Raw::new(&schema.to_compact()));
        let schema = match compact {
            Ok(schema) => schema,
            Err(error) => unreachable!("the schema is built in: {error}"),
        };
        let mut request = ChatRequest::new(&self.model)
            .temperature(0.0)
            .response_format(ResponseFormat::json_schema("llm_response", schema))
            .streamed(self.is_streamed);
        if !self.system.is_empty() {
            request = request.system(&self.system);
        }
        request.messages(self.messages.iter().map(|(role, text)| match role {
            Role::User => Message::user(text),
            Role::Assistant => Message::assistant(text, []),
        }))
    }

    /// The one-line JSON body for Ollama's `/api/chat`.
    ///
    /// # Errors
    ///
    /// If there are no messages.
    pub fn to_body(&self) -> Result<String, RequestError> {
        self.to_chat_request().to_body(Provider::Ollama)
    }
}
