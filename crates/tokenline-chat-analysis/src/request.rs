//! What a model is asked.

use tokenline_core::json::Raw;
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, Message, RequestError, ResponseFormat};

use crate::RESPONSE_SCHEMA;

/// The system prompt that goes with the [schema](RESPONSE_SCHEMA): what the parts of the analysis are.
pub const SYSTEM_PROMPT: &str = include_str!("system_prompt.txt");

/// Who says a message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The one who asks.
    User,
    /// The model, before.
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

/// A request whose response has to fit the [schema](RESPONSE_SCHEMA).
///
/// The temperature is 0, and the answer is streamed unless [turned off](Self::streamed).
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
    /// The model, by Ollama's name for it.
    pub model: String,
    /// What the model is to keep to: the [`SYSTEM_PROMPT`], unless set otherwise. If it is empty there is
    /// no system message.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<(Role, String)>,
    /// Whether the answer comes in pieces, as it is written.
    pub is_streamed: bool,
}

impl AnalysisRequest {
    /// A request without messages but the system prompt.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            system: SYSTEM_PROMPT.to_owned(),
            messages: Vec::new(),
            is_streamed: true,
        }
    }

    /// Sets what the model is to keep to, instead of the [`SYSTEM_PROMPT`].
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        Self { system: text.into(), ..self }
    }

    /// Adds what the user says.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, text)
    }

    /// Adds what the model has said before: the [response](crate::LlmResponse::response), not the analysis.
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

    /// Sets whether the answer comes in pieces, as it is written, or at once.
    #[must_use]
    pub fn streamed(self, is_streamed: bool) -> Self {
        Self { is_streamed, ..self }
    }

    /// The request in the form that is the same for every provider, to be added to: a limit of tokens, a seed.
    #[must_use]
    pub fn to_chat_request(&self) -> ChatRequest {
        let compact = Raw::new(RESPONSE_SCHEMA).and_then(|schema| Raw::new(&schema.to_compact()));
        let schema = match compact {
            Ok(schema) => schema,
            Err(error) => unreachable!("the schema is part of the program: {error}"),
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

    /// The JSON to post to Ollama's `/api/chat`, on one line.
    ///
    /// # Errors
    ///
    /// If there is no message for the model to answer.
    pub fn to_body(&self) -> Result<String, RequestError> {
        self.to_chat_request().to_body(Provider::Ollama)
    }
}
