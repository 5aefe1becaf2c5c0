//! The settings of a gateway.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokenline::llm::client::ReaskOptions;
use tokenline::llm::{Provider, TextMode};
use tokenline::prompt::tools::ToolPrompter;
use tokenline::{CallFormat, LlmClient, Options, RepetitionLimits, ResponseOptions};

use super::RequestSummary;
use super::metrics::Metrics;
use super::router;
use super::tools::ToolCache;
use super::translate::{Reading, TextContent};

/// A gateway in front of one upstream. See [the module](super).
#[must_use = "a gateway does nothing until it is mounted"]
pub struct Gateway {
    pub(super) upstream: LlmClient,
    pub(super) call_format: Option<CallFormat>,
    pub(super) prompts_tools: bool,
    pub(super) prompter: ToolPrompter,
    pub(super) grows: bool,
    pub(super) repairs: bool,
    pub(super) repetition: Option<RepetitionLimits>,
    pub(super) reask: Option<ReaskOptions>,
    pub(super) max_continuations: Option<u32>,
    pub(super) token: Option<String>,
    pub(super) origins: Vec<String>,
    pub(super) host_names: Vec<String>,
    pub(super) ping: Duration,
    pub(super) observer: Option<Arc<Observer>>,
    pub(super) metrics: Metrics,
    pub(super) tools: ToolCache,
}

type Observer = dyn Fn(&RequestSummary) + Send + Sync;

/// Proxies close a silent connection after a minute, and some clients warn after 20 seconds.
const PING: Duration = Duration::from_secs(10);

impl Gateway {
    /// A gateway in front of this server. Build the client without retries: the clients of the gateway retry themselves.
    pub fn new(upstream: LlmClient) -> Self {
        Self {
            upstream,
            call_format: None,
            prompts_tools: false,
            prompter: ToolPrompter::new(),
            grows: false,
            repairs: false,
            repetition: None,
            reask: None,
            max_continuations: None,
            token: None,
            origins: Vec::new(),
            host_names: Vec::new(),
            ping: PING,
            observer: None,
            metrics: Metrics::default(),
            tools: ToolCache::default(),
        }
    }

    /// Reads tool calls that the model writes in its text, in this syntax or family, and makes them native, if the request
    /// has tools.
    pub fn call_format(self, format: CallFormat) -> Self {
        Self { call_format: Some(format), ..self }
    }

    /// For a model without function calling: describes the tools of a request in its system prompt, as the family of the
    /// [call format](Self::call_format) expects them (without one, as Hermes does), and writes earlier calls and results as text.
    /// Calls are then read in the text.
    pub fn tools_in_prompt(self) -> Self {
        let call_format = self.call_format.or(Some(CallFormat::Auto));
        Self { prompts_tools: true, call_format, ..self }
    }

    /// Sends the arguments of a call as they arrive, in streams: texts piece by piece, other values once they are complete, and
    /// from the first one on that has another type than the tool declares, all of them at the end of the call. A call that is
    /// rejected then ends the response with an error. Not with [`reask`](Self::reask): a call that has begun cannot be asked for again.
    pub fn growing_arguments(self) -> Self {
        Self { grows: true, ..self }
    }

    /// Repairs malformed calls where the text proves the edit; see
    /// [`Options::repair_syntax`](tokenline::Options::repair_syntax).
    pub fn repair_syntax(self) -> Self {
        Self { repairs: true, ..self }
    }

    /// Stops a model that repeats itself; see
    /// [`ResponseOptions::stop_on_repetition`](tokenline::ResponseOptions::stop_on_repetition).
    pub fn stop_on_repetition(self, limits: impl Into<Option<RepetitionLimits>>) -> Self {
        Self { repetition: limits.into(), ..self }
    }

    /// Asks the model again for calls that were rejected, and for [items](crate::gateway#json) of responses with a schema; see
    /// [`Extraction`](tokenline::llm::client::Extraction).
    pub fn reask(self, reask: impl Into<ReaskOptions>) -> Self {
        Self { reask: Some(reask.into()), ..self }
    }

    /// Requests the rest of a [response with a schema](crate::gateway#json) that is cut off at its limit of tokens, at most so
    /// many times. If it is still incomplete then, it ends as cut off. A response that may call tools is not continued.
    pub fn max_continuations(self, max_continuations: u32) -> Self {
        Self { max_continuations: Some(max_continuations), ..self }
    }

    /// Demands this token of each request, in the header of its key. The key of the upstream must then be its client's.
    pub fn token(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// The web pages that may use the gateway, by their origin: `https://app.example.com`. None by default.
    pub fn origins(self, origins: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { origins: origins.into_iter().map(Into::into).collect(), ..self }
    }

    /// Names by which clients may reach the gateway, in addition to `localhost` and addresses.
    pub fn host_names(self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { host_names: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the time of silence after which a stream gets an event without content; 10 seconds by default.
    pub fn ping_interval(self, interval: Duration) -> Self {
        Self { ping: interval, ..self }
    }

    /// Calls a closure at the end of each request, with what the gateway did. It must not block.
    pub fn on_request(self, observer: impl Fn(&RequestSummary) + Send + Sync + 'static) -> Self {
        Self { observer: Some(Arc::new(observer)), ..self }
    }

    /// The router, to serve or to mount.
    pub fn into_router(self) -> Router {
        router::of(self)
    }

    /// Whether a response of the upstream's own format must be read and written anew.
    pub(super) fn changes_responses(&self) -> bool {
        self.call_format.is_some()
            || self.grows
            || self.repairs
            || self.repetition.is_some()
            || self.reask.is_some()
            || self.max_continuations.is_some()
    }

    /// How a response is read.
    pub(super) fn response_options(&self, options: ResponseOptions, reading: &Reading) -> ResponseOptions {
        let text = Options::lenient().repair_syntax(self.repairs);
        let options = match (&reading.text, self.repairs) {
            (TextContent::Calls(format), _) => {
                let options = options.parse_text(text.calls(format.clone())).text_as(TextMode::ToolCalls);
                // The model is told of a tool that does not exist only if it is asked again.
                if self.reask.is_none() { options.undefined_calls_as_text() } else { options }
            }
            (TextContent::Json(_), true) => options.text_deltas().repair_syntax(),
            (TextContent::Json(_), false) => options.text_deltas(),
            (TextContent::Text, _) => options.parse_text(text).text_as(TextMode::Text),
        };
        let options = options.text_and_reasoning().stop_on_repetition(self.repetition);
        // Clients of chat completions send back only what servers of chat completions know.
        let upstream = self.upstream.provider();
        let keeps = reading.client != Provider::OpenAiChat || upstream == Provider::OpenAiChat;
        let options = if keeps { options.keep_message() } else { options };
        // Nothing grows in a body that is sent at its end, and a call that has begun cannot be asked for again.
        let grows = self.grows && reading.is_streamed && self.reask.is_none();
        if grows { options.call_updates() } else { options }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
