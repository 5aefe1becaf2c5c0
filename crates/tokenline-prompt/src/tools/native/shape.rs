//! Which provider's JSON it is.

use std::fmt;

use tokenline_core::json::{Kind, Parser, Value};

/// The shape of native function calling: how tools stand in a request, and calls in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NativeShape {
    /// OpenAI chat completions, and servers that speak the same.
    #[default]
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama `/api/chat`.
    Ollama,
}

impl NativeShape {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// The name, such as `openai-chat`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The shape of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|shape| shape.as_str() == name)
    }

    /// The shape of a response, by the members that it has: a whole response, or the message in it.
    ///
    /// ```
    /// use tokenline_prompt::tools::NativeShape;
    ///
    /// let body = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"now","args":{}}}]}}]}"#;
    /// assert_eq!(NativeShape::of(body), Some(NativeShape::Gemini));
    /// assert_eq!(NativeShape::of("It is late."), None);
    /// ```
    #[must_use]
    pub fn of(response: &str) -> Option<Self> {
        Parser::new().parse(response).ok().and_then(Self::find)
    }

    pub(super) fn find(response: Value<'_>) -> Option<Self> {
        if let Some(elements) = response.as_array() {
            return elements.iter().next().and_then(Self::of_element);
        }
        let has = |name, kind| response.get(name).is_some_and(|value| value.kind() == kind);
        let has_blocks = || {
            let blocks = response.get("content").and_then(Value::as_array);
            let is_message = response.get("type").and_then(Value::as_str).as_deref() == Some("message");
            is_message || blocks.is_some_and(|blocks| blocks.iter().any(is_tool_use))
        };
        if has("choices", Kind::Array) {
            Some(Self::OpenAiChat)
        } else if has("output", Kind::Array) {
            Some(Self::OpenAiResponses)
        } else if has("candidates", Kind::Array)
            || has("parts", Kind::Array)
            || has("promptFeedback", Kind::Object)
            || response.get("response").is_some_and(|inner| Self::find(inner) == Some(Self::Gemini))
        {
            Some(Self::Gemini)
        } else if has("message", Kind::Object) || (has("response", Kind::String) && has("done", Kind::Bool)) {
            Some(Self::Ollama)
        } else if has("content", Kind::Array) && has_blocks() {
            Some(Self::Anthropic)
        } else if has("tool_calls", Kind::Array)
            || (has("role", Kind::String) && response.get("content").is_some())
        {
            Some(Self::OpenAiChat)
        } else {
            None
        }
    }

    /// What stands in a response as a list: chunks, items, blocks.
    fn of_element(element: Value<'_>) -> Option<Self> {
        if element.get("candidates").is_some() {
            return Some(Self::Gemini);
        }
        match element.get("type").and_then(Value::as_str)?.as_ref() {
            "function_call" | "custom_tool_call" | "message" | "reasoning" => Some(Self::OpenAiResponses),
            "tool_use" | "text" | "thinking" => Some(Self::Anthropic),
            _ => None,
        }
    }
}

fn is_tool_use(block: Value<'_>) -> bool {
    block.get("type").and_then(Value::as_str).as_deref() == Some("tool_use")
}

impl fmt::Display for NativeShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
