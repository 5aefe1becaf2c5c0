//! Settings of a response parser: modes, early ends, repair.

use std::mem;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{QuotaUnit, Rules, SourceEnd, StopAfter, Tally};
use tokenline_core::{Options, TooManyRejected};

use super::{ResponseParser, Stage};
use crate::Provider;
use crate::providers::{EventDecoder, EventShapes};
use crate::response::event_queue::Settings;
use crate::response::state::ResponseState;
use crate::response::{ResponseOptions, TextMode};
use crate::wire::{FrameDecoder, Framing};

impl<T> ResponseParser<T> {
    /// A parser at the start of a response. The options are [`ResponseOptions`], or only the
    /// [`Options`](tokenline_core::Options) of the text.
    #[must_use]
    pub fn new(provider: Provider, options: impl Into<ResponseOptions>) -> Self {
        let ResponseOptions { settings, quota } = options.into();
        let info = provider.info();
        let limits = settings.options.limits;
        let settings =
            Settings { ends_items: info.ends_items, repeats_texts: info.repeats_texts, ..settings };
        let mut parser = Self {
            frames: FrameDecoder::new(info.framing, limits),
            provider,
            decoder: EventDecoder::new(provider, &limits),
            unread: Vec::new(),
            read: 0,
            tally: Tally::new(&limits),
            state: ResponseState::new(info.stream_end.needs_terminator, settings),
            ending: None,
            stage: Stage::Open,
            is_stopped: false,
        };
        parser.set_quota(|own| *own = quota);
        parser
    }

    /// Changes the options. Call it before the first push.
    ///
    /// ```
    /// # use tokenline_core::json::Raw;
    /// # use tokenline_llm::{ResponseParser, TextMode};
    /// # fn configured(parser: ResponseParser<Raw>) -> ResponseParser<Raw> {
    /// parser.with_options(|options| options.text_as(TextMode::ToolCalls).text_and_reasoning())
    /// # }
    /// ```
    #[must_use]
    pub fn with_options(self, change: impl FnOnce(ResponseOptions) -> ResponseOptions) -> Self {
        self.rebuilt(change)
    }

    /// Rejects records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](tokenline_codec::JsonlStreamParser::validated_with). As
    /// [`ResponseOptions::validated_with`], with the type of the records.
    #[must_use]
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_options(|options| options.validated_with(rule))
    }

    /// Deserializes the records into another type. Call it before the first push.
    #[must_use]
    pub fn typed<U>(self) -> ResponseParser<U> {
        self.rebuilt(|options| options)
    }

    fn rebuilt<U>(mut self, change: impl FnOnce(ResponseOptions) -> ResponseOptions) -> ResponseParser<U> {
        let settings = mem::take(&mut self.state.out.settings);
        // A fact about the request, whatever the options are replaced by.
        let sends_tools = settings.sends_tools;
        let mut options = change(ResponseOptions { settings, quota: self.tally.quota() });
        options.settings.sends_tools = sends_tools;
        let limits = options.settings.options.limits;
        let mut parser = ResponseParser::new(self.provider, options);
        parser.frames = self.frames.with_limits(limits);
        parser.decoder = self.decoder.with_limits(limits);
        parser.state.secrets = self.state.secrets;
        parser
    }

    /// Reads the bytes as a complete response that was not streamed, or as its message. If the provider streams
    /// server-sent events, such a body is detected by its first byte. Call it before the first push.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseEvent, ResponseParser};
    ///
    /// let body = r#"{"message":{"content":"","tool_calls":[{"function":{"name":"now","arguments":{}}}]},"done":true}"#;
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, Options::lenient()).whole_body();
    /// parser.push(body.as_bytes());
    /// parser.finish();
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::ToolCall { call, .. }) if call.name == "now"));
    /// ```
    #[must_use]
    pub fn whole_body(mut self) -> Self {
        self.frames = FrameDecoder::new(Framing::Body, self.state.out.settings.options.limits);
        self
    }

    /// Shares the common parts of events with other parsers. Many responses at the same time then take less memory, and
    /// less time per event. A [client](crate::client) does this for its responses.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::providers::EventShapes;
    /// use tokenline_llm::{Provider, ResponseParser};
    ///
    /// let shapes = EventShapes::default();
    /// let parser =
    ///     || ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient()).with_shapes(&shapes);
    /// let mut responses: Vec<_> = (0..100).map(|_| parser()).collect();
    /// # for response in &mut responses { response.push("data: [DONE]\n\n"); }
    /// ```
    #[must_use]
    pub fn with_shapes(mut self, shapes: &EventShapes) -> Self {
        self.decoder = self.decoder.with_shapes(shapes);
        self
    }

    /// Takes note that the request had tools: [`tool_calls`](crate::ResponseStream::tool_calls) then reads the text only
    /// if [`TextMode::ToolCalls`] is set.
    #[cfg(feature = "client")]
    #[must_use]
    pub(crate) fn with_tools_sent(mut self, sends_tools: bool) -> Self {
        self.state.out.settings.sends_tools = sends_tools;
        self
    }

    /// Masks secrets that the provider repeats.
    #[cfg(feature = "client")]
    #[must_use]
    pub(crate) fn with_secrets(mut self, secrets: crate::secrets::Secrets) -> Self {
        self.state.secrets = secrets;
        self
    }

    /// Asks the driver of the machine for replacements of rejects, with `StreamStep::Repair`.
    #[must_use]
    pub(crate) fn with_repair_steps(mut self) -> Self {
        self.state.out.settings.change_rules(Rules::set_repair_steps);
        self
    }

    /// Whether its driver is [asked](Self::with_repair_steps) for replacements.
    pub(crate) fn has_repair_steps(&self) -> bool {
        self.state.out.settings.asks
    }

    /// The error if there were more rejects than the [error budget](crate::ResponseOptions::error_budget) allows.
    #[must_use]
    pub fn too_many_rejected(&self) -> Option<&TooManyRejected> {
        self.tally.too_many_rejected()
    }

    /// Sets the unit of the record quota.
    pub(crate) fn set_quota_unit(&mut self, counted: QuotaUnit) {
        self.set_quota(|quota| quota.counted = counted);
    }

    fn set_quota(&mut self, set: impl FnOnce(&mut StopAfter)) {
        self.tally.set_quota(set);
        self.stop_if_over();
    }

    /// Drops what is left if a quota ends the response here.
    #[inline]
    pub(super) fn stop_if_over(&mut self) {
        if self.tally.is_over() {
            self.stop();
        }
    }

    #[cold]
    fn stop(&mut self) {
        self.state.forget();
        (self.unread, self.read) = (Vec::new(), 0);
        (self.ending, self.stage) = (Some(SourceEnd::Failed), Stage::Ended);
    }

    /// Reads the text for calls, unless it is known not to have any.
    pub(crate) fn read_calls(&mut self) {
        let settings = &mut self.state.out.settings;
        settings.set_text_as(match settings.text_as {
            TextMode::Records if settings.sends_tools => TextMode::NativeCalls,
            TextMode::Records => TextMode::ToolCalls,
            chosen @ (TextMode::ToolCalls
            | TextMode::RecordsAndToolCalls
            | TextMode::NativeCalls
            | TextMode::Text) => chosen,
        });
    }

    pub(crate) fn set_text_as(&mut self, text_as: TextMode) {
        self.state.out.settings.set_text_as(text_as);
    }

    /// Takes out what applies to the records of the text, for another parser of the text.
    pub(crate) fn take_text_settings(&mut self) -> TextSettings {
        TextSettings {
            options: self.state.out.settings.options.clone(),
            quota: self.tally.quota(),
            rules: mem::take(&mut self.state.out.settings.rules),
        }
    }

    /// Emits the text only, each text of a choice starting on a new line.
    pub(crate) fn set_text_only(&mut self) {
        let settings = &mut self.state.out.settings;
        settings.set_text_as(TextMode::Text);
        (settings.wants_text, settings.joins_texts) = (true, true);
        // Text has no quota.
        self.set_quota(|quota| quota.max_records = None);
    }
}

/// The settings for the records of a text.
pub(crate) struct TextSettings {
    pub(crate) options: Options,
    pub(crate) quota: StopAfter,
    pub(crate) rules: Arc<Rules>,
}
