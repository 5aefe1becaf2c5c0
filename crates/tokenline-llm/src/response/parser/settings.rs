//! How a response is read, what ends it early, and what repairs its rejects.

use std::sync::Arc;

use tokenline_core::adapter::{QuotaUnit, SourceEnd, StopAfter, Tally};
use tokenline_core::{Options, Rejected, TooManyRejected, Validate, ValidateCall};

use super::{ResponseParser, Stage};
use crate::Provider;
use crate::providers::EventDecoder;
use crate::response::TextMode;
use crate::response::event_queue::EventQueue;
use crate::response::state::ResponseState;
use crate::wire::{FrameDecoder, Framing};

impl<T> ResponseParser<T> {
    /// A parser at the start of an answer.
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
                options,
                provider.info().stream_end.needs_terminator,
                EventQueue::default(),
            ),
            ending: None,
            stage: Stage::Open,
        }
    }

    /// Reads the bytes as a whole response that was not streamed, or the message in one. Where a stream has server-sent
    /// events, such a body is known by its first byte. To be called before the first push.
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
        self.frames = FrameDecoder::new(Framing::Body, self.state.options.limits);
        self
    }

    /// Sets what the text is read as; [`TextMode::Records`] unless it is set.
    #[must_use]
    pub fn text_as(mut self, text_as: TextMode) -> Self {
        self.state.out.text_as = text_as;
        self
    }

    /// Holds each tool call, native or not, against the definitions of tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.state.out.tools = Some(Arc::new(tools));
        self
    }

    /// Holds each record of the text against a validator.
    #[must_use]
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.state.out.validator = Some(Box::new(validator));
        self
    }

    /// Sets how to read: mode, emission and limits. To be called before the first push.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        let mut with = Self::new(self.provider, options);
        with.frames = self.frames.with_limits(with.state.options.limits);
        with.state.out = self.state.out;
        with.state.secrets = self.state.secrets;
        with.set_quota(|quota| *quota = self.tally.quota());
        with
    }

    /// Reads the records into another type. To be called before the first push.
    #[must_use]
    pub fn typed<U>(self) -> ResponseParser<U> {
        let ResponseState { options, out, secrets, .. } = self.state;
        let mut typed = ResponseParser::new(self.provider, options);
        typed.frames = self.frames;
        typed.state.out = out.typed();
        typed.state.secrets = secrets;
        typed.set_quota(|quota| *quota = self.tally.quota());
        typed
    }

    /// Masks what must not be shown where the provider repeats it.
    #[cfg(feature = "client")]
    #[must_use]
    pub(crate) fn with_secrets(mut self, secrets: crate::secrets::Secrets) -> Self {
        self.state.secrets = secrets;
        self
    }

    /// Yields reasoning as well, as it comes, and the text that is part of no record and no call.
    #[must_use]
    pub fn with_text_and_reasoning(mut self) -> Self {
        self.state.out.wants_fragments = true;
        self
    }

    /// Keeps what the response says, in order and with the data that its provider wants back, so that
    /// [`message`](Self::message) has it. It takes the memory that the response's text takes.
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
        self.state.out.keeps_message = true;
        self
    }

    /// Yields as well that a native tool call begins, and how its arguments grow, for whoever shows calls live.
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
        self.state.out.wants_call_updates = true;
        self
    }

    /// Ends the response after this many records and tool calls: no event follows the last of them, and
    /// nothing more is read. An [`ResponseStream`](crate::ResponseStream) then drops its source, so that no
    /// more tokens are paid for, and counts only what it yields: [`records`](crate::ResponseStream::records)
    /// counts records. This is not an error; see [`Report::ended_by`](tokenline_core::Report::ended_by).
    #[must_use]
    pub fn with_max_records(mut self, max_records: u64) -> Self {
        self.set_quota(|quota| quota.max_records = Some(max_records));
        self
    }

    /// Allows this many rejects. The next one is the last event; then there is the
    /// [error](Self::too_many_rejected), which an [`ResponseStream`](crate::ResponseStream) ends with.
    ///
    /// Prose is not a reject, nor is what was [repaired](Self::with_repair), nor an error of the
    /// provider, nor a response without an end: the last two are errors of their own.
    #[must_use]
    pub fn with_error_budget(mut self, rejects: u64) -> Self {
        self.set_quota(|quota| quota.error_budget = Some(rejects));
        self
    }

    /// Asks a closure for replacements of what is rejected. It gets the rejected text with the diagnostic.
    ///
    /// It is asked about records and calls that are malformed, truncated, not UTF-8, or break the schema,
    /// the type or the tools; see [`Code::is_repairable`](tokenline_core::Code::is_repairable). A
    /// replacement is one JSON object that passes the same rules. It takes the place of what it replaces,
    /// and is [marked](tokenline_core::Recovery::Repaired). Otherwise the reject stands; the closure is not
    /// asked again.
    ///
    /// Of a native call it gets the arguments as far as they came, and replaces the arguments;
    /// [`Rejected::tool`] names the tool. Only the closure knows that such a call is complete: it counts as
    /// completed by the [end of its input](tokenline_core::CompletedBy::EndOfInput).
    ///
    /// The closure is called while bytes are pushed, before the events in front of the replacement are
    /// taken.
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
        self.state.out.repair = Some(Box::new(repair));
        self
    }

    /// The error to end with, if more was rejected than the [error budget](Self::with_error_budget) allows.
    #[must_use]
    pub fn too_many_rejected(&self) -> Option<&TooManyRejected> {
        self.tally.too_many_rejected()
    }

    /// Sets what counts for the most records.
    pub(crate) fn set_counted(&mut self, counted: QuotaUnit) {
        self.set_quota(|quota| quota.counted = counted);
    }

    fn set_quota(&mut self, set: impl FnOnce(&mut StopAfter)) {
        self.tally.set_quota(set);
        self.stop_if_over();
    }

    /// Drops what is left, if the quota ends the response here.
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

    pub(crate) fn text_is_read(&self) -> bool {
        self.state.out.text_as != TextMode::Text
    }

    pub(crate) fn set_text_as(&mut self, text_as: TextMode) {
        self.state.out.text_as = text_as;
    }

    /// Sets it to yield the text as it is, each of a choice's texts from the start of a line.
    pub(crate) fn set_text_alone(&mut self) {
        let EventQueue { text_as, wants_fragments, joins_texts, .. } = &mut self.state.out;
        (*text_as, *wants_fragments, *joins_texts) = (TextMode::Text, true, true);
        // Text is not counted.
        self.set_quota(|quota| quota.max_records = None);
    }
}
