//! The list of providers.

use tokenline_core::json::{Parser, SyntaxError, Value};

use super::api::{ClientApi, EventReader, ProviderApi, ProviderInfo, RequestApi, Sink};
use super::{anthropic, bedrock, cohere, gemini, gemini_interactions, ollama, openai_chat, openai_responses};

/// Declares the providers: variant and module.
macro_rules! providers {
    ($($(#[$doc:meta])* $name:ident = $folder:ident;)*) => {
        /// A provider, by its wire format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Provider {
            $($(#[$doc])* $name,)*
        }

        impl Provider {
            /// All providers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub(crate) fn info(self) -> &'static ProviderInfo {
                self.api().info()
            }

            fn api(self) -> &'static dyn ProviderApi {
                match self {
                    $(Self::$name => &$folder::Api,)*
                }
            }

            pub(crate) fn requests(self) -> &'static dyn RequestApi {
                match self {
                    $(Self::$name => &$folder::Api,)*
                }
            }
        }

        /// The reader of a provider's events.
        #[derive(Debug)]
        pub(super) enum Reader {
            $($name($folder::Reader),)*
        }

        impl Reader {
            pub(super) fn new(provider: Provider) -> Self {
                match provider {
                    $(Provider::$name => Self::$name($folder::Reader::default()),)*
                }
            }

            pub(super) fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
                match self {
                    $(Self::$name(reader) => reader.event(name, event, sink),)*
                }
            }

            pub(super) fn non_object(
                &mut self,
                json: &mut Parser,
                name: &str,
                data: &str,
                sink: &mut Sink<'_>,
            ) -> Result<(), SyntaxError> {
                match self {
                    $(Self::$name(reader) => reader.non_object(json, name, data, sink),)*
                }
            }

            pub(super) fn is_repeatable(&self, name: &str, event: Value<'_>) -> bool {
                match self {
                    $(Self::$name(reader) => reader.is_repeatable(name, event),)*
                }
            }

            pub(super) fn incidental(&self) -> &'static [&'static str] {
                match self {
                    $(Self::$name(_) => $folder::Reader::INCIDENTAL,)*
                }
            }

            pub(super) fn repeated_reasoning(&mut self, choice: u64, text: &str) {
                match self {
                    $(Self::$name(reader) => reader.repeated_reasoning(choice, text),)*
                }
            }

            pub(super) fn latest_block(&mut self) -> Option<&mut u64> {
                match self {
                    $(Self::$name(reader) => reader.latest_block(),)*
                }
            }

            pub(super) fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
                match self {
                    $(Self::$name(reader) => reader.body(body, sink),)*
                }
            }

            pub(super) fn finish(&mut self, sink: &mut Sink<'_>) {
                match self {
                    $(Self::$name(reader) => reader.finish(sink),)*
                }
            }

            pub(super) fn reset(&mut self) {
                match self {
                    $(Self::$name(reader) => *reader = $folder::Reader::default(),)*
                }
            }
        }
    };
}

providers! {
    /// OpenAI chat completions, and servers that implement the same API.
    OpenAiChat = openai_chat;
    /// OpenAI Responses, and servers that implement the same API.
    OpenAiResponses = openai_responses;
    /// Anthropic messages.
    Anthropic = anthropic;
    /// Gemini `streamGenerateContent`, as server-sent events (`alt=sse`) or as a JSON array (the default).
    Gemini = gemini;
    /// Gemini's Interactions API.
    GeminiInteractions = gemini_interactions;
    /// Cohere chat, version 2.
    Cohere = cohere;
    /// Amazon Bedrock's ConverseStream.
    Bedrock = bedrock;
    /// Ollama `/api/chat`: one JSON object per line.
    Ollama = ollama;
}

impl Provider {
    /// The API as its clients see it, where a gateway can take its place; `None` if it cannot.
    pub(crate) fn for_clients(self) -> Option<&'static dyn ClientApi> {
        match self {
            Self::OpenAiChat => Some(&openai_chat::Api),
            Self::OpenAiResponses => Some(&openai_responses::Api),
            Self::Anthropic => Some(&anthropic::Api),
            Self::Gemini | Self::GeminiInteractions | Self::Cohere | Self::Bedrock | Self::Ollama => None,
        }
    }

    /// The name, as the program's `--from` accepts it: `openai-chat`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.info().name
    }

    /// A short description, for help texts: `OpenAI Responses`.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.info().title
    }

    /// Looks up a provider by its name.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// assert_eq!(Provider::from_name("anthropic"), Some(Provider::Anthropic));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|provider| provider.as_str() == name)
    }

    /// The path of requests; `*` stands for the model, if the path contains it.
    #[must_use]
    pub fn path(self) -> &'static str {
        self.info().endpoint.path
    }

    /// The environment variables with the API key, as in the provider's own tools; the first one that is set is used.
    #[must_use]
    pub fn key_variables(self) -> &'static [&'static str] {
        self.info().endpoint.key_variables
    }

    /// Detects the provider of a complete response that was not streamed, or of the message in one, by its members.
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

    /// Detects the provider by the start of a stream. For hints only: it searches 2 KiB, and decodes nothing.
    #[must_use]
    pub fn detect(beginning: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(&beginning[..beginning.len().min(Self::DETECT_BYTES)]);
        let text = text.trim_start();
        // A binary message begins with its length.
        if !["{", "[", "data:", "event:", ":", "\0"].iter().any(|start| text.starts_with(start)) {
            return None;
        }
        let has = |markers: &&[&str]| markers.iter().all(|marker| text.contains(marker));
        Self::ALL.iter().copied().find(|provider| provider.info().markers.iter().any(has))
    }

    /// The number of bytes that [`detect`](Self::detect) searches.
    pub const DETECT_BYTES: usize = 2048;
}
