//! What there is to write for a provider.

use std::fmt::Debug;

use tokenline_core::ToolDefinition;
use tokenline_core::json::{Parser, SyntaxError, Value};

use super::values;
use crate::Delta;
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;

/// A provider's API.
pub(crate) trait ProviderApi: Sync {
    /// What holds for all its requests and streams.
    fn info(&self) -> &'static ProviderInfo;

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

/// What holds for all requests and streams of a provider.
pub(crate) struct ProviderInfo {
    /// The name, for people and options: `openai-chat`.
    pub(crate) name: &'static str,
    /// The value of OpenTelemetry's attribute `gen_ai.provider.name`.
    pub(crate) gen_ai_name: &'static str,
    /// The API in a few words, for help texts.
    pub(crate) title: &'static str,
    pub(crate) endpoint: Endpoint,
    /// How a stream is framed.
    pub(crate) framing: Framing,
    /// How a stream ends.
    pub(crate) stream_end: StreamEnd,
    /// What the beginning of a stream holds, and no other provider's does: all strings of any of these lists.
    pub(crate) marks: &'static [&'static [&'static str]],
    /// Request settings that the API does not have.
    pub(crate) unsupported: &'static [Setting],
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

/// Reads the events of a provider's stream, and whole responses.
///
/// A reader keeps what it has to know of earlier events, and no text.
pub(crate) trait EventReader: Default + Debug {
    /// Members whose values nothing depends on, as JSON pointers.
    const INCIDENTAL: &'static [&'static str] = &[];

    /// Reads an event, which is an object.
    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut impl FnMut(Delta<'_>));

    /// Reads an event's data that is no object. Proxies append `[DONE]` to whatever they pass on.
    ///
    /// # Errors
    ///
    /// If such data may be a damaged part of the response.
    fn no_object(
        &mut self,
        json: &mut Parser,
        name: &str,
        data: &str,
        sink: &mut impl FnMut(Delta<'_>),
    ) -> Result<(), SyntaxError> {
        if !matches!(data, "" | "[DONE]") {
            values::no_object(json, name, data, sink);
        }
        Ok(())
    }

    /// Whether the event, from which one text was read, would be read the same with another text; also after others of
    /// which this is true.
    fn is_repeatable(name: &str, event: Value<'_>) -> bool;

    /// The block of the latest event, if an event may leave it out.
    fn latest_block(&mut self) -> Option<&mut u64> {
        None
    }

    /// Reads a whole response that was not streamed, or the message in one.
    fn body(&mut self, body: Value<'_>, sink: &mut impl FnMut(Delta<'_>));

    /// Ends a stream that was not cut off.
    fn finish(&mut self, _sink: &mut impl FnMut(Delta<'_>)) {}
}
