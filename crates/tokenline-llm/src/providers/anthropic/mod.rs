//! Anthropic messages: <https://docs.anthropic.com/en/api/messages>.

 mod request;
mod stream;

pub use stream::AnthropicDecoder;

use crate::providers::{Endpoint, KeyHeader, ProviderApi, Setting, StreamEnd};
use crate::request::{ChatRequest, Object, RequestError};
use crate::wire::Framing;

/// The API, as its reference describes it.
pub(super) struct Api;

const ENDPOINT: Endpoint = Endpoint {
    base_url: "https://api.anthropic.com",
    base_url_variable: "ANTHROPIC_BASE_URL",
    path: "/v1/messages",
    has_free_version: false,
    query: None,
    key_variables: &["ANTHROPIC_API_KEY"],
    key_header: KeyHeader::Named("x-api-key"),
    headers: &[("anthropic-version", "2023-06-01")],
};

impl ProviderApi for Api {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn title(&self) -> &'static str {
        "Anthropic messages"
    }

    fn endpoint(&self) -> &'static Endpoint {
        &ENDPOINT
    }

    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn stream_end(&self) -> StreamEnd {
        StreamEnd { name: "`message_stop`", needs_terminator: true, is_final: false }
    }

    fn marks(&self) -> &'static [&'static [&'static str]] {
        &[&["\"message_start\""]]
    }

    fn unsupported(&self) -> &'static [Setting] {
        &[Setting::Seed, Setting::JsonFormat]
    }

    fn request_body(&self, request: &ChatRequest) -> Result<Object, RequestError> {
        request::body(request)
    }
}
