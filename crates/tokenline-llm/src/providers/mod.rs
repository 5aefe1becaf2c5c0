//! The providers: a folder each, with everything the library knows about one.
//!
//! The decoders here read the events of a stream whatever brought them; [`ResponseParser`](crate::ResponseParser) has one
//! behind it for each [`Provider`].
//
// A folder implements `ProviderApi` (endpoint, request body, how a stream ends) and `EventDecoder` (what the events of a
// stream say), and is named by one line of the list below.

mod api;
mod blocks;
mod shape_cache;
mod values;

pub use api::EventDecoder;
pub(crate) use api::{Endpoint, KeyHeader, ProviderApi, Setting, StreamEnd};
#[cfg(any(feature = "client", feature = "reqwest-eventsource"))]
pub(crate) use values::error_of_body;
pub(crate) use values::{error_message, text_of};

#[doc(hidden)]
pub use crate::wire::{EventStreamDecoder, EventStreamEvent, EventStreamMessage};

/// Declares the providers: the variant, and the folder with its decoder.
macro_rules! providers {
    ($($(#[$doc:meta])* $name:ident = $folder:ident :: $decoder:ident;)*) => {
        $(mod $folder;)*
        $(pub use $folder::$decoder;)*

        /// Whose wire format a stream has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Provider {
            $($(#[$doc])* $name,)*
        }

        impl Provider {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub(crate) fn api(self) -> &'static dyn ProviderApi {
                match self {
                    $(Self::$name => &$folder::Api,)*
                }
            }
        }

        /// The decoder of a provider's events.
        #[derive(Debug)]
        pub(crate) enum Decoder {
            $($name($decoder),)*
        }

        impl Decoder {
            pub(crate) fn new(provider: Provider, limits: &Limits) -> Self {
                match provider {
                    $(Provider::$name => Self::$name($decoder::new(limits)),)*
                }
            }

            pub(crate) fn decode(
                &mut self,
                event: &str,
                data: &str,
                sink: impl FnMut(Delta<'_>),
            ) -> Result<(), SyntaxError> {
                match self {
                    $(Self::$name(decoder) => decoder.decode(event, data, sink),)*
                }
            }

            pub(crate) fn decode_body(
                &mut self,
                body: &str,
                sink: impl FnMut(Delta<'_>),
            ) -> Result<(), SyntaxError> {
                match self {
                    $(Self::$name(decoder) => decoder.decode_body(body, sink),)*
                }
            }

            pub(crate) fn finish(&mut self, sink: impl FnMut(Delta<'_>)) {
                match self {
                    $(Self::$name(decoder) => decoder.finish(sink),)*
                }
            }

            pub(crate) fn reset(&mut self) {
                match self {
                    $(Self::$name(decoder) => decoder.reset(),)*
                }
            }
        }
    };
}

use tokenline_core::Limits;
use tokenline_core::json::{Parser, SyntaxError, Value};

use crate::Delta;

providers! {
    /// OpenAI chat completions, and servers that implement the same API.
    OpenAiChat = openai_chat::OpenAiChatDecoder;
    /// OpenAI Responses, and servers that implement the same API.
    OpenAiResponses = openai_responses::OpenAiResponsesDecoder;
    /// Anthropic messages.
    Anthropic = anthropic::AnthropicDecoder;
    /// Gemini `streamGenerateContent`, as server-sent events (`alt=sse`) or as the JSON array that it is without that.
    Gemini = gemini::GeminiDecoder;
    /// Gemini's Interactions API.
    GeminiInteractions = gemini_interactions::GeminiInteractionsDecoder;
    /// Cohere chat, version 2.
    Cohere = cohere::CohereDecoder;
    /// Amazon Bedrock's ConverseStream.
    Bedrock = bedrock::BedrockDecoder;
    /// Ollama `/api/chat`: one JSON object a line.
    Ollama = ollama::OllamaDecoder;
}

impl Provider {
    /// The name, as the program's `--from` takes it: `openai-chat`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.api().name()
    }

    /// The API in a few words, for help texts: `OpenAI Responses`.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.api().title()
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

    /// The path of requests; `*` stands for the model, where the path names it.
    #[must_use]
    pub fn path(self) -> &'static str {
        self.api().endpoint().path
    }

    /// The provider of a whole response that was not streamed, or of the message in one, by its members.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    ///
    /// let body = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"now","args":{}}}]}}]}"#;
    /// assert_eq!(Provider::of_body(body), Some(Provider::Gemini));
    /// assert_eq!(Provider::of_body("It is late."), None);
    /// ```
    #[must_use]
    pub fn of_body(body: &str) -> Option<Self> {
        let mut json = Parser::new();
        json.parse(body).ok().and_then(Self::of_value)
    }

    pub(crate) fn of_value(body: Value<'_>) -> Option<Self> {
        Self::ALL.iter().copied().find(|provider| provider.api().has_body(body))
    }

    /// The provider whose stream begins like this. For hints: it looks at 2 KiB, and decodes nothing.
    #[must_use]
    pub fn detect(beginning: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(&beginning[..beginning.len().min(Self::DETECT_BYTES)]);
        let text = text.trim_start();
        if !["{", "[", "data:", "event:", ":"].iter().any(|start| text.starts_with(start)) {
            return None;
        }
        let has = |marks: &&[&str]| marks.iter().all(|mark| text.contains(mark));
        Self::ALL.iter().copied().find(|provider| provider.api().marks().iter().any(has))
    }

    /// Bytes that [`detect`](Self::detect) looks at.
    pub const DETECT_BYTES: usize = 2048;
}
