//! Which wire format an answer has, and who decodes it.

use tokenline_core::Options;
use tokenline_core::json::SyntaxError;
use tokenline_core::sse::SseEvent;

use crate::{
    AnthropicDecoder, Delta, GeminiDecoder, OllamaDecoder, OpenAiChatDecoder, OpenAiResponsesDecoder,
};

/// Who answers: which wire format a stream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI chat completions, and servers that speak the same.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `streamGenerateContent`, as server-sent events (`alt=sse`) or as the JSON array that it
    /// is without that.
    Gemini,
    /// Ollama `/api/chat`: a JSON object a line.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// The name, as the program's `--from` has it: `openai-chat`.
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

    /// The provider of this name.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// assert_eq!(Provider::from_name("anthropic"), Some(Provider::Anthropic));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|provider| provider.as_str() == name)
    }

    /// The path at which it is asked for an answer; `*` stands for the model, where the path names it.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenAiChat => "/v1/chat/completions",
            Self::OpenAiResponses => "/v1/responses",
            Self::Anthropic => "/v1/messages",
            Self::Gemini => "/v1beta/models/*:streamGenerateContent",
            Self::Ollama => "/api/chat",
        }
    }

    /// What such a stream ends with, for messages.
    pub(super) const fn ends_with(self) -> &'static str {
        match self {
            Self::OpenAiChat => "a finish reason or `[DONE]`",
            Self::OpenAiResponses => "`response.completed`, or another final event",
            Self::Anthropic => "`message_stop`",
            Self::Gemini => "a `finishReason`",
            Self::Ollama => "`done: true`",
        }
    }

    /// Whether only the last event of the stream tells that it is complete, and no finish reason.
    pub(super) const fn needs_terminator(self) -> bool {
        match self {
            Self::OpenAiResponses | Self::Anthropic | Self::Ollama => true,
            Self::OpenAiChat | Self::Gemini => false,
        }
    }
}

/// The decoder of a provider's events.
#[derive(Debug)]
pub(super) enum Decoder {
    OpenAiChat(OpenAiChatDecoder),
    OpenAiResponses(OpenAiResponsesDecoder),
    Anthropic(AnthropicDecoder),
    Gemini(GeminiDecoder),
    Ollama(OllamaDecoder),
}

impl Decoder {
    pub(super) fn new(provider: Provider, options: &Options) -> Self {
        let limits = &options.limits;
        match provider {
            Provider::OpenAiChat => Self::OpenAiChat(OpenAiChatDecoder::new(limits)),
            Provider::OpenAiResponses => Self::OpenAiResponses(OpenAiResponsesDecoder::new(limits)),
            Provider::Anthropic => Self::Anthropic(AnthropicDecoder::new(limits)),
            Provider::Gemini => Self::Gemini(GeminiDecoder::new(limits)),
            Provider::Ollama => Self::Ollama(OllamaDecoder::new(limits)),
        }
    }

    /// Decodes the data of an event.
    pub(super) fn decode(
        &mut self,
        event: &str,
        data: &str,
        sink: impl FnMut(Delta<'_>),
    ) -> Result<(), SyntaxError> {
        match self {
            Self::OpenAiChat(decoder) => decoder.decode(event, data, sink),
            Self::OpenAiResponses(decoder) => decoder.decode(event, data, sink),
            Self::Anthropic(decoder) => decoder.decode(event, data, sink),
            Self::Gemini(decoder) => decoder.decode(event, data, sink),
            Self::Ollama(decoder) => decoder.decode(data, sink),
        }
    }

    /// Says that the stream has ended by itself: what was kept back until then comes.
    pub(super) fn finish(&mut self, sink: impl FnMut(Delta<'_>)) {
        match self {
            Self::Gemini(decoder) => decoder.finish(sink),
            Self::OpenAiChat(_) | Self::OpenAiResponses(_) | Self::Anthropic(_) | Self::Ollama(_) => {}
        }
    }

    /// Starts with the next answer.
    pub(super) fn reset(&mut self) {
        match self {
            Self::OpenAiChat(_) => {}
            Self::OpenAiResponses(decoder) => decoder.reset(),
            Self::Anthropic(decoder) => decoder.reset(),
            Self::Gemini(decoder) => decoder.reset(),
            Self::Ollama(decoder) => decoder.reset(),
        }
    }
}

/// Whether the data of an event in which the stream ended can be all of it. If it looks like that,
/// and is no JSON, it is not.
pub(super) fn may_be_whole(event: &SseEvent<'_>) -> bool {
    let data = event.data.trim();
    data == "[DONE]" || data.starts_with('{') || event.event == "error"
}
