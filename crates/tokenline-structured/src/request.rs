//! What a model is asked.

use std::fmt::Write as _;
use std::sync::LazyLock;

use tokenline_core::json::Raw;

use crate::RESPONSE_SCHEMA;
use crate::json::push_string;

/// The system prompt that goes with the [schema](RESPONSE_SCHEMA): what the parts of the analysis are.
pub const SYSTEM_PROMPT: &str = include_str!("system_prompt.txt");

/// The schema without white space between its tokens, its literals as they are.
pub(crate) fn compact_schema() -> &'static str {
    static SCHEMA: LazyLock<String> = LazyLock::new(|| match Raw::new(RESPONSE_SCHEMA) {
        Ok(schema) => schema.to_compact(),
        Err(error) => unreachable!("the schema is part of the program: {error}"),
    });
    &SCHEMA
}

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

/// The body of a request to Ollama's `/api/chat` whose answer has to fit the [schema](RESPONSE_SCHEMA).
///
/// The temperature is 0, and the answer is streamed unless [turned off](Self::streamed).
///
/// ```
/// use tokenline_structured::StructuredRequest;
///
/// let request = StructuredRequest::new("llama3.1").user("How much should I save for college?");
/// let body: serde_json::Value = serde_json::from_str(&request.to_body())?;
/// assert_eq!(body["messages"][1]["content"], "How much should I save for college?");
/// assert_eq!(body["format"]["required"], serde_json::json!(["response", "analysis"]));
/// assert_eq!(body["options"]["temperature"], 0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StructuredRequest {
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

impl StructuredRequest {
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

    /// The JSON to post, on one line.
    #[must_use]
    pub fn to_body(&self) -> String {
        let mut body = String::from("{\"model\":");
        push_string(&mut body, &self.model);
        body.push_str(",\"messages\":[");
        let system = (!self.system.is_empty()).then_some(("system", &self.system));
        let messages = self.messages.iter().map(|(role, text)| (role.as_str(), text));
        for (at, (role, text)) in system.into_iter().chain(messages).enumerate() {
            if at > 0 {
                body.push(',');
            }
            body.push_str("{\"role\":");
            push_string(&mut body, role);
            body.push_str(",\"content\":");
            push_string(&mut body, text);
            body.push('}');
        }
        body.push_str("],\"format\":");
        body.push_str(compact_schema());
        let _ = write!(body, ",\"stream\":{},\"options\":{{\"temperature\":0}}}}", self.is_streamed);
        body
    }
}
