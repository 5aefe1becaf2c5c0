//! The traits that each provider implements.

use std::fmt::Debug;

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Parser, SyntaxError, Value};

use super::values;
use crate::Delta;
use crate::request::history::HistoryRules;
use crate::request::received::{Member, Read, Reading};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;
use crate::writer::{Failure, ResponseHead, WireWriter};

/// The place of what a reader yields.
pub(super) type Sink<'s> = dyn FnMut(Delta<'_>) + 's;

/// A provider's API.
pub(crate) trait ProviderApi: Sync {
    /// The constants of its requests and streams.
    fn info(&self) -> &'static ProviderInfo;

    /// Whether `body` is a response of this API that was not streamed, or the message in one.
    fn has_body(&self, body: Value<'_>) -> bool;
}

/// The requests of a provider's API. A trait of its own, so that a program which only reads responses does not have it.
pub(crate) trait RequestApi: Sync {
    /// The `tools` member of a request.
    fn tools(&self, tools: &[ToolDefinition]) -> Vec<Object>;

    /// The body of a request.
    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError>;

    /// Adapts a body to this host, for hosts that differ from others with the same API.
    #[cfg(feature = "client")]
    fn adapt_to_host(&self, _body: &mut Object, _host: &str) {}

    /// Completes a base URL without a scheme.
    #[cfg(feature = "client")]
    fn complete_base_url(&self, base_url: &str) -> String {
        format!("http://{base_url}")
    }
}

/// A provider's API as its clients see it: their requests are read, and their responses are written.
pub(crate) trait ClientApi: Sync {
    /// Reads a request.
    fn read_request(&self, body: &Member<'_>) -> Read<Reading>;

    /// A writer of a response.
    fn writer(&self, head: ResponseHead, is_streamed: bool) -> Box<dyn WireWriter>;

    /// The body of an error.
    fn error_body(&self, failure: &Failure, request_id: Option<&str>) -> Object;

    /// Appends the event of an error to a stream.
    fn append_error(&self, out: &mut Vec<u8>, failure: &Failure);
}

/// The constants of a provider's requests and streams.
pub(crate) struct ProviderInfo {
    /// The name, for options and messages: `openai-chat`.
    pub(crate) name: &'static str,
    /// The value of OpenTelemetry's attribute `gen_ai.provider.name`.
    pub(crate) gen_ai_name: &'static str,
    /// A short description, for help texts.
    pub(crate) title: &'static str,
    pub(crate) endpoint: Endpoint,
    /// The framing of a stream.
    pub(crate) framing: Framing,
    /// The end of a stream.
    pub(crate) stream_end: StreamEnd,
    /// Whether an event ends each call. A call that it does not end may lack its arguments.
    pub(crate) ends_items: bool,
    /// Whether whole texts follow their pieces.
    pub(crate) repeats_texts: bool,
    /// Strings at the start of a stream that identify the provider: all strings of any of these lists.
    pub(crate) markers: &'static [&'static [&'static str]],
    /// Request settings that the API does not support.
    pub(crate) unsupported: &'static [Setting],
    /// The rules for the messages of a conversation.
    pub(crate) history: HistoryRules,
}

/// The URL, key and headers of requests.
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "only the client sends requests"))]
pub(crate) struct Endpoint {
    /// The provider's own URL.
    pub(crate) base_url: &'static str,
    /// The environment variable with another URL, as in the provider's own tools.
    pub(crate) base_url_variable: &'static str,
    /// The path after the base URL; `*` stands for the model.
    pub(crate) path: &'static str,
    /// Whether gateways put the version anywhere in the path: `/v1beta/openai`, `/api/paas/v4`.
    pub(crate) has_free_version: bool,
    /// A query parameter, unless the base URL sets it.
    pub(crate) query: Option<(&'static str, &'static str)>,
    /// The environment variables with the API key, as in the provider's own tools; the first one set is used.
    pub(crate) key_variables: &'static [&'static str],
    /// The header that carries the API key.
    pub(crate) key_header: KeyHeader,
    /// Other headers.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The list of models; `None` if the server of the responses has none.
    pub(crate) models: Option<ModelList>,
}

/// Where a server lists its models.
#[cfg_attr(not(feature = "client"), allow(dead_code, reason = "only the client requests the list"))]
pub(crate) struct ModelList {
    /// The number of segments at the end of the path of requests that `path` replaces.
    pub(crate) replaced: usize,
    pub(crate) path: &'static [&'static str],
    /// The query parameter that asks for a long page.
    pub(crate) query: Option<(&'static str, &'static str)>,
    /// The member that holds the list.
    pub(crate) list: &'static str,
    /// The member of an entry that holds the name.
    pub(crate) name: &'static str,
}

impl ModelList {
    /// OpenAI's list.
    pub(crate) const fn openai(replaced: usize) -> Self {
        Self { replaced, path: &["models"], query: None, list: "data", name: "id" }
    }
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

/// The end of a stream.
pub(crate) struct StreamEnd {
    /// The proof of completeness, for messages.
    pub(crate) name: &'static str,
    /// Whether only the terminal event proves it; a finish reason does not.
    pub(crate) needs_terminator: bool,
    /// Whether nothing follows the terminal event. If something may, the rest of the source is read.
    pub(crate) is_final: bool,
}

/// A request setting that some APIs do not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Seed,
    Stop,
    ToolChoice,
    /// JSON without a schema.
    JsonFormat,
}

/// Reads the events of a provider's stream, and complete responses.
///
/// A reader keeps the state it needs from earlier events, and as little text as possible.
pub(crate) trait EventReader: Default + Debug {
    /// JSON pointers to members whose values have no effect.
    const INCIDENTAL: &'static [&'static str] = &[];

    /// Reads an event whose data is an object.
    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>);

    /// Notes reasoning in an event that is like an earlier one, and is not read again.
    fn repeated_reasoning(&mut self, _choice: u64, _text: &str) {}

    /// Reads an event whose data is not an object. Proxies append `[DONE]` to any stream.
    ///
    /// # Errors
    ///
    /// If the data may be a damaged part of the response.
    fn non_object(
        &mut self,
        json: &mut Parser,
        name: &str,
        data: &str,
        sink: &mut Sink<'_>,
    ) -> Result<(), SyntaxError> {
        match data {
            "" | "[DONE]" => Ok(()),
            _ => values::non_object(json, name, data, sink),
        }
    }

    /// Whether the event just read, which yielded one text, would yield the same with another text; even after further repeatable
    /// events.
    fn is_repeatable(&self, name: &str, event: Value<'_>) -> bool;

    /// The block of the latest event, if events may omit their block.
    fn latest_block(&mut self) -> Option<&mut u64> {
        None
    }

    /// Reads a complete response that was not streamed, or the message in one.
    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>);

    /// Ends a stream that was not cut off.
    fn finish(&mut self, _sink: &mut Sink<'_>) {}
}
