//! Settings of a response parser: modes, early ends, repair.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{OwnRule, QuotaUnit, Rules, SourceEnd, StopAfter, Tally};
use tokenline_core::{Options, Rejected, TooManyRejected, Validate, ValidateCall};

use super::{ResponseParser, Stage};
use crate::Provider;
use crate::providers::{EventDecoder, EventShapes};
use crate::response::TextMode;
use crate::response::event_queue::{EventQueue, Settings};
use crate::response::state::ResponseState;
use crate::wire::{FrameDecoder, Framing};

impl<T> ResponseParser<T> {
    /// A parser at the start of a response.
    #[must_use]
    pub fn new(provider: Provider, options: Options) -> Self {
        Self {
            frames: FrameDecoder::new(provider.info().framing, options.limits),
            provider,
            decoder: EventDecoder::new(provider, &options.limits),
            unread: Vec::new(),
            read: 0,
            tally: Tally::new(&options.limits),
            state: ResponseState::new(
                provider.info().stream_end.needs_terminator,
                Settings {
                    options,
                    ends_items: provider.info().ends_items,
                    repeats_texts: provider.info().repeats_texts,
                    ..Settings::default()
                },
            ),
            ending: None,
            stage: Stage::Open,
        }
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

    /// Sets how the text is read; the default is [`TextMode::Records`].
    #[must_use]
    pub fn text_as(mut self, text_as: TextMode) -> Self {
        self.state.out.settings.set_text_as(text_as);
        self
    }

    /// Validates each tool call, native or not, against tool definitions.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.state.out.settings.change_rules(|rules| rules.set_tools(Arc::new(tools)));
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

    /// Validates each record in the text. With several validators, a record must pass all of them.
    #[must_use]
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.state.out.settings.change_rules(|rules| rules.add_validator(Arc::new(validator)));
        self
    }

    /// Rejects records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](tokenline_codec::JsonlStreamParser::validated_with).
    #[must_use]
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_validator(OwnRule::new(rule))
    }

    /// Sets mode, emission and limits. Call it before the first push.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        let mut with = Self::new(self.provider, options);
        let options = std::mem::take(&mut with.state.out.settings.options);
        let limits = options.limits;
        with.frames = self.frames.with_limits(limits);
        with.decoder = self.decoder.with_limits(limits);
        with.state.out = EventQueue::from(Settings { options, ..self.state.out.settings });
        with.state.secrets = self.state.secrets;
        with.set_quota(|quota| *quota = self.tally.quota());
        with
    }

    /// Deserializes the records into another type. Call it before the first push.
    #[must_use]
    pub fn typed<U>(self) -> ResponseParser<U> {
        let ResponseState { out, secrets, .. } = self.state;
        let mut typed = ResponseParser::new(self.provider, out.settings.options.clone());
        (typed.frames, typed.decoder) = (self.frames, self.decoder);
        typed.state.out = EventQueue::from(out.settings);
        typed.state.secrets = secrets;
        typed.set_quota(|quota| *quota = self.tally.quota());
        typed
    }

    /// Masks secrets that the provider repeats.
    #[cfg(feature = "client")]
    #[must_use]
    pub(crate) fn with_secrets(mut self, secrets: crate::secrets::Secrets) -> Self {
        self.state.secrets = secrets;
        self
    }

    /// Emits reasoning, and the text outside records and calls, as they arrive.
    #[must_use]
    pub fn with_text_and_reasoning(mut self) -> Self {
        self.state.out.settings.wants_text = true;
        self
    }

    /// Emits all text as it arrives, before it is read: to show a response beside its records.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseEvent, ResponseParser};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, Options::lenient()).with_text_deltas();
    /// parser.push(b"{\"message\":{\"content\":\"{\\\"a\\\":\"}}\n");
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::TextDelta { text, .. }) if text == "{\"a\":"));
    /// assert_eq!(parser.held_bytes(), 5);
    /// parser.push(b"{\"message\":{\"content\":\"1}\"},\"done\":true}\n");
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::TextDelta { text, .. }) if text == "1}"));
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::Record { .. })));
    /// ```
    #[must_use]
    pub fn with_text_deltas(mut self) -> Self {
        self.state.out.settings.wants_deltas = true;
        self
    }

    /// Keeps the response's content in order, with the data that its provider expects back, for
    /// [`message`](Self::message). This takes as much memory as the response's text.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::request::{AssistantPart, ChatRequest};
    /// use tokenline_llm::{Provider, ResponseParser};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Gemini, Options::lenient()).with_message();
    /// parser.push(concat!(
    ///     r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"now","args":{}},"thoughtSignature":"EqQB"}]},"#,
    ///     r#""finishReason":"STOP"}]}"#,
    ///     "\n\n"
    /// ).as_bytes());
    /// parser.finish();
    /// while parser.next_event().is_some() {}
    /// let message = parser.message(0).unwrap();
    /// let request = ChatRequest::new("gemini-3").user("What time is it?").message(message).user("...");
    /// assert!(request.to_body(Provider::Gemini)?.contains(r#""thoughtSignature":"EqQB""#));
    /// # Ok::<(), tokenline_llm::request::RequestError>(())
    /// ```
    #[must_use]
    pub fn with_message(mut self) -> Self {
        self.state.out.settings.keeps_message = true;
        self
    }

    /// Emits the start of each tool call and its arguments as they arrive, to show calls live. Calls in a text are
    /// updated in the same way if the [text is read](Self::text_as) for calls, in whichever syntax they are written.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseEvent, ResponseParser};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient()).with_call_updates();
    /// parser.push(concat!(
    ///     r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{\"p"}}]}}]}"#,
    ///     "\n\n"
    /// ).as_bytes());
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::ToolCallBegan { name, .. }) if name == "ls"));
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::ToolCallArguments { text, .. }) if text == "{\"p"));
    /// ```
    #[must_use]
    pub fn with_call_updates(mut self) -> Self {
        self.state.out.settings.wants_call_updates = true;
        self
    }

    /// Ends the response after this many records and tool calls: no event follows the last of them, and nothing more is
    /// read. A [`ResponseStream`](crate::ResponseStream) then drops its source, so that you pay for no more tokens, and
    /// counts only what it yields: [`records`](crate::ResponseStream::records) counts records. This is not an error;
    /// see [`Report::ended_by`](tokenline_core::Report::ended_by).
    #[must_use]
    pub fn with_max_records(mut self, max_records: u64) -> Self {
        self.set_quota(|quota| quota.max_records = Some(max_records));
        self
    }

    /// Allows this many rejects. The next one is the last event; after it comes the [error](Self::too_many_rejected),
    /// with which a [`ResponseStream`](crate::ResponseStream) ends.
    ///
    /// Not counted are prose, [repaired](Self::with_repair) rejects, provider errors and incomplete responses: the last
    /// two are errors of their own.
    #[must_use]
    pub fn with_error_budget(mut self, rejects: u64) -> Self {
        self.set_quota(|quota| quota.error_budget = Some(rejects));
        self
    }

    /// Sets a closure that may replace rejected text. It receives the text with its diagnostic.
    ///
    /// It is called for records and calls that are malformed, truncated, not UTF-8, or that violate the schema, the
    /// type or the tools; see [`Code::is_repairable`](tokenline_core::Code::is_repairable). A replacement is one JSON
    /// object that passes the same rules. It takes the place of the original, and is
    /// [marked](tokenline_core::Recovery::Repaired). Otherwise the reject stands; the closure is not called again.
    ///
    /// For a native call it receives the arguments as far as they arrived, and replaces the arguments;
    /// [`Rejected::tool`] names the tool. Only the closure knows that such a call is complete: it counts as completed
    /// by the [end of its input](tokenline_core::CompletedBy::EndOfInput).
    ///
    /// The closure runs while bytes are pushed, before the events in front of the replacement are taken.
    ///
    /// ```
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::{ResponseEvent, ResponseParser, Provider};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, Options::lenient())
    ///     .with_repair(|rejected| Some(rejected.text.replace("NaN", "null")));
    /// parser.push(b"{\"message\":{\"content\":\"{\\\"a\\\":NaN}\\n\"},\"done\":true}\n");
    /// let Some(ResponseEvent::Record { record, .. }) = parser.next_event() else { panic!() };
    /// assert_eq!(record.value, r#"{"a":null}"#);
    /// assert!(!record.recovered.is_empty());
    /// ```
    #[must_use]
    pub fn with_repair(
        mut self,
        repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.state.out.settings.change_rules(|rules| rules.set_repair(Box::new(repair)));
        self
    }

    /// Asks the driver of the machine for replacements of rejects, with `StreamStep::Repair`.
    #[must_use]
    pub(crate) fn with_repair_steps(mut self) -> Self {
        self.state.out.settings.change_rules(Rules::set_repair_steps);
        self
    }

    /// The error if there were more rejects than the [error budget](Self::with_error_budget) allows.
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
            rules: std::mem::take(&mut self.state.out.settings.rules),
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
