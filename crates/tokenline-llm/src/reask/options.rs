//! Bounds on further requests, and what they send.

use crate::client::LlmClient;

/// How a model is asked again for what was rejected: how often, with what, and in which order the result is delivered.
///
/// A number is the further requests for each item; everything else has its default.
///
/// ```
/// use tokenline_llm::client::ReaskOptions;
///
/// let reask = ReaskOptions::new(2).max_requests(20).max_output_tokens(10_000).in_place();
/// ```
#[derive(Clone, Debug)]
pub struct ReaskOptions {
    pub(crate) attempts: u32,
    pub(super) max_requests: u64,
    pub(super) max_in_flight: usize,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) is_in_place: bool,
    pub(super) is_item_only: bool,
    pub(super) skips_truncated: bool,
    pub(super) client: Option<LlmClient>,
    pub(super) model: Option<String>,
    pub(super) only: Option<Kind>,
}

/// A kind of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Records,
    ToolCalls,
}

impl ReaskOptions {
    /// At most this many further requests for each rejected record or call. With 0 nothing is asked again.
    #[must_use]
    pub fn new(attempts: u32) -> Self {
        Self {
            attempts,
            max_requests: 100,
            max_in_flight: 4,
            max_output_tokens: None,
            is_in_place: false,
            is_item_only: false,
            skips_truncated: false,
            client: None,
            model: None,
            only: None,
        }
    }

    /// At most this many further requests for the whole response. Default: 100.
    #[must_use]
    pub fn max_requests(self, max_requests: u64) -> Self {
        Self { max_requests, ..self }
    }

    /// At most this many further requests at a time, at least 1. Default: 4.
    #[must_use]
    pub fn max_in_flight(self, max_in_flight: usize) -> Self {
        Self { max_in_flight: max_in_flight.max(1), ..self }
    }

    /// No further request begins once those before it had this many output tokens: those that the provider reports, or else the
    /// pieces of the response. Default: no limit.
    #[must_use]
    pub fn max_output_tokens(self, max_output_tokens: u64) -> Self {
        Self { max_output_tokens: Some(max_output_tokens), ..self }
    }

    /// Delivers records in their original order: later ones wait for an item that is requested again. By default that item is
    /// delivered as it comes, and nothing waits for it.
    #[must_use]
    pub fn in_place(self) -> Self {
        Self { is_in_place: true, ..self }
    }

    /// Sends the rejected item with the system prompt, the response format and the tools of the request, without the rest of
    /// the conversation: fewer tokens, but the model cannot look up what it left out. By default the conversation is sent
    /// again.
    #[must_use]
    pub fn item_only(self) -> Self {
        Self { is_item_only: true, ..self }
    }

    /// Does not ask for what the end of the response cut off: for a response that is continued.
    #[must_use]
    pub fn skip_truncated(self) -> Self {
        Self { skips_truncated: true, ..self }
    }

    /// Asks for records only, and not for tool calls: for a reader of all events that uses no calls.
    #[must_use]
    pub fn records_only(self) -> Self {
        Self { only: Some(Kind::Records), ..self }
    }

    /// Asks for tool calls only, and not for records.
    #[must_use]
    pub fn tool_calls_only(self) -> Self {
        Self { only: Some(Kind::ToolCalls), ..self }
    }

    /// Asks another model of the same provider, such as a larger one.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..self }
    }

    /// Asks with another client, such as that of another provider. Set its [`model`](Self::model), too.
    #[must_use]
    pub fn client(self, client: LlmClient) -> Self {
        Self { client: Some(client), ..self }
    }
}

impl From<u32> for ReaskOptions {
    fn from(attempts: u32) -> Self {
        Self::new(attempts)
    }
}
