//! What there is to write for a provider.

use tokenline_core::json::{SyntaxError, Value};
use tokenline_core::{Limits, ToolDefinition};

use crate::Delta;
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;

/// A provider's API.
pub(crate) trait ProviderApi: Sync {
    /// The name, for people and options: `openai-chat`.
    fn name(&self) -> &'static str;

    /// The value of OpenTelemetry's attribute `gen_ai.provider.name`.
    fn gen_ai_name(&self) -> &'static str {
        self.name()
    }

    /// The API in a few words, for help texts.
    fn title(&self) -> &'static str;

    /// Where requests go, and how they say who sends them.
    fn endpoint(&self) -> &'static Endpoint;

    /// How a stream is framed.
    fn framing(&self) -> Framing;

    /// How a stream ends.
    fn stream_end(&self) -> StreamEnd;

    /// What the beginning of a stream holds, and no other provider's does: all strings of any of these lists.
    fn marks(&self) -> &'static [&'static [&'static str]];

    /// Request settings that the API does not have.
    fn unsupported(&self) -> &'static [Setting] {
        &[]
    }

    /// Whether this is a response of the API that was not streamed, or the message in one.
    fn has_body(&self, body: Value<'_>) -> bool;

    /// The `tools` of a request.
    fn tools(&self, tools: &[ToolDefinition]) -> Vec<Object>;

    /// The body of a request.
    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError>;

    /// Changes a body that goes to this host, where one host of many differs.
    #[cfg(feature = "client")]
    fn adapt_to_host(&self, _body: &mut Object, _host: &str) {}

    /// Completes a base URL without a scheme.
    #[cfg(feature = "client")]
    fn complete_base_url(&self, base_url: &str) -> String {
        format!("http://{base_url}")
    }
}

/// Where requests go.
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "only the client sends requests"))]
pub(crate) struct Endpoint {
    /// The provider's own address.
    pub(crate) base_url: &'static str,
    /// The variable with another address, as the provider's own tools name it.
    pub(crate) base_url_variable: &'static str,
    /// The path behind the base URL; `*` stands for the model.
    pub(crate) path: &'static str,
    /// Whether gateways put the version of the path anywhere: `/v1beta/openai`, `/api/paas/v4`.
    pub(crate) has_free_version: bool,
    /// A query parameter, unless the base URL sets it.
    pub(crate) query: Option<(&'static str, &'static str)>,
    /// The variables with the API key, as the provider's own tools name them; the first that is set counts.
    pub(crate) key_variables: &'static [&'static str],
    /// The header that carries the API key.
    pub(crate) key_header: KeyHeader,
    /// Other headers.
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

/// The header that carries an API key.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "only the client sends keys"))]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `NAME: KEY`.
    Named(&'static str),
}

#[cfg(feature = "client")]
impl KeyHeader {
    pub(crate) const AUTHORIZATION: &str = "authorization";

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bearer => Self::AUTHORIZATION,
            Self::Named(name) => name,
        }
    }
}

/// How a stream ends.
pub(crate) struct StreamEnd {
    /// What proves that it is complete, for messages.
    pub(crate) name: &'static str,
    /// Whether only the terminal event proves it; a finish reason does not.
    pub(crate) needs_terminator: bool,
    /// Whether nothing follows the terminal event. Where something may, the rest of the source is read.
    pub(crate) is_final: bool,
}

/// A request setting that not every API has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Seed,
    Stop,
    ToolChoice,
    /// JSON without a schema.
    JsonFormat,
}

/// Decodes the events of a provider's stream.
///
/// A decoder of [`Provider`](crate::Provider)'s list keeps what it has to know of earlier events, and no text.
pub trait EventDecoder {
    /// A decoder at the start of a stream. Of the limits it uses the depth.
    fn new(limits: &Limits) -> Self
    where
        Self: Sized;

    /// Decodes one event and hands over its deltas. `event` and `data` are as [`SseEvent`](tokenline_core::sse::SseEvent)
    /// has them; a line or an array element has the name `message`.
    ///
    /// # Errors
    ///
    /// If the data looks like an object, but is not JSON: a part of the response may be lost. Other data that is not
    /// JSON is [`Delta::Unknown`], or [`Delta::Error`] if the event is named `error`.
    fn decode(&mut self, event: &str, data: &str, sink: impl FnMut(Delta<'_>)) -> Result<(), SyntaxError>;

    /// Decodes a whole response that was not streamed, or the message in one. That it is whole is proof enough where no
    /// finish reason says otherwise.
    ///
    /// # Errors
    ///
    /// If it is not JSON.
    fn decode_body(&mut self, body: &str, sink: impl FnMut(Delta<'_>)) -> Result<(), SyntaxError>;

    /// Ends a stream that was not cut off: hands over what only its end shows.
    fn finish(&mut self, _sink: impl FnMut(Delta<'_>)) {}

    /// Starts with the next stream.
    fn reset(&mut self) {}
}
