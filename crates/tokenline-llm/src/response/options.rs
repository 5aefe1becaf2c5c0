//! How a response is read: its text, rules, quotas, and the events that are wanted.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{OwnRule, StopAfter};
use tokenline_core::{Limits, Options, Rejected, RepetitionLimits, Validate, ValidateCall};

use super::TextMode;
use super::event_queue::Settings;

/// How a response is read: the options of its text, rules for its records and calls, quotas, and the events that are
/// wanted. A [`ResponseParser`](crate::ResponseParser), a [`ResponseStream`](crate::ResponseStream), a
/// [`BatchReader`](crate::batch::BatchReader) and a [client's request](crate::client) take the same ones, with
/// `with_options`. A request also brings what it has itself: its tools and the format of its response.
///
/// ```
/// use tokenline_core::{Limits, Options, json::Raw};
/// use tokenline_llm::{Provider, ResponseOptions, ResponseParser, TextMode};
///
/// let options = ResponseOptions::from(Options::lenient())
///     .text_as(TextMode::RecordsAndToolCalls)
///     .text_and_reasoning()
///     .error_budget(3);
/// let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, options);
/// // Later ones add to them.
/// let parser = parser.with_options(|options| options.max_records(10));
/// ```
///
/// Cloned options share their [repair](Self::repair) closure.
#[derive(Clone, Default)]
pub struct ResponseOptions {
    pub(super) settings: Settings,
    pub(super) quota: StopAfter,
}

/// How the text is parsed; everything else has its default.
impl From<Options> for ResponseOptions {
    fn from(options: Options) -> Self {
        Self { settings: Settings { options, ..Settings::default() }, quota: StopAfter::default() }
    }
}

impl ResponseOptions {
    /// Sets how the text is parsed: mode, release, limits. A client's request parses it leniently, and has the path to
    /// the records of its response format.
    #[must_use]
    pub fn parse_text(mut self, options: Options) -> Self {
        self.settings.options = options;
        self
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.options.limits
    }

    /// Sets how the text is read; the default is [`TextMode::Records`].
    #[must_use]
    pub fn text_as(mut self, text_as: TextMode) -> Self {
        self.settings.set_text_as(text_as);
        self
    }

    /// Validates each record in the text. With several validators, a record must pass all of them.
    #[must_use]
    pub fn validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.settings.change_rules(|rules| rules.add_validator(Arc::new(validator)));
        self
    }

    /// Rejects records that a rule of your own finds invalid, after the validators before it; see
    /// [`JsonlStreamParser::validated_with`](tokenline_codec::JsonlStreamParser::validated_with).
    ///
    /// ```
    /// use serde::Deserialize;
    /// use tokenline_core::Options;
    /// use tokenline_llm::{Provider, ResponseOptions, ResponseParser};
    ///
    /// #[derive(Deserialize)]
    /// struct Invoice {
    ///     net: u64,
    ///     total: u64,
    /// }
    ///
    /// let options = ResponseOptions::from(Options::lenient()).validated_with(|invoice: &Invoice| {
    ///     if invoice.net <= invoice.total { Ok(()) } else { Err("the net amount exceeds the total".to_owned()) }
    /// });
    /// let parser = ResponseParser::<Invoice>::new(Provider::OpenAiChat, options);
    /// ```
    #[must_use]
    pub fn validated_with<T>(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.validator(OwnRule::new(rule))
    }

    /// Validates each tool call, native or not, against tool definitions. A client's request does this if its
    /// [tools](crate::request::ChatRequest::tools) were given with their validator.
    #[must_use]
    pub fn tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.settings.change_rules(|rules| rules.set_tools(Arc::new(tools)));
        self
    }

    /// Ends the response after this many records and tool calls: no event follows the last of them, and nothing more is
    /// read. A [`ResponseStream`](crate::ResponseStream) then drops its source, so that you pay for no more tokens, and
    /// counts only what it yields: [`records`](crate::ResponseStream::records) counts records. This is not an error;
    /// see [`Report::ended_by`](tokenline_core::Report::ended_by).
    #[must_use]
    pub fn max_records(mut self, max_records: u64) -> Self {
        self.quota.max_records = Some(max_records);
        self
    }

    /// Allows this many rejects. The next one is the last event; after it comes the [error](crate::ResponseParser::too_many_rejected),
    /// with which a [`ResponseStream`](crate::ResponseStream) ends.
    ///
    /// Not counted are prose, [repaired](Self::repair) rejects, provider errors and incomplete responses: the last
    /// two are errors of their own.
    #[must_use]
    pub fn error_budget(mut self, rejects: u64) -> Self {
        self.quota.error_budget = Some(rejects);
        self
    }

    /// Repairs the syntax of malformed records and calls where the text proves the edit:
    /// [`Options::repair_syntax`](tokenline_core::Options::repair_syntax). A native call with malformed arguments is then
    /// delivered or rejected when it ends, instead of at the fault.
    #[must_use]
    pub fn repair_syntax(mut self) -> Self {
        self.settings.options = self.settings.options.repair_syntax(true);
        self
    }

    /// Stops a response that repeats itself: with its [finish reason](crate::FinishReason::Repetition), the warning
    /// [`Code::Repetition`](tokenline_core::Code::Repetition) and
    /// [`Report::ended_by`](tokenline_core::Report::ended_by), so that you pay for no more tokens. A
    /// [`ResponseStream`](crate::ResponseStream) drops its source, which closes the connection. Only exact copies count;
    /// [`RepetitionLimits`] has the rules.
    ///
    /// ```
    /// use tokenline_core::{EarlyEnd, Options, RepetitionLimits, json::Raw};
    /// use tokenline_llm::{Delta, Provider, ResponseOptions, ResponseParser};
    ///
    /// let options = ResponseOptions::from(Options::lenient()).stop_on_repetition(RepetitionLimits::default());
    /// let mut response = ResponseParser::<Raw>::new(Provider::OpenAiChat, options);
    /// for _ in 0..1000 {
    ///     response.push_delta(Delta::reasoning("Wait, let me check that again. "));
    /// }
    /// while let Some(event) = response.next_event() {
    ///     println!("{event:?}");
    /// }
    /// assert_eq!(response.finish_reason(0).unwrap().as_str(), "repetition");
    /// assert_eq!(response.report().ended_by(), Some(EarlyEnd::Repetition));
    /// assert!(response.delta_count() < 20);
    /// ```
    #[must_use]
    pub fn stop_on_repetition(mut self, limits: impl Into<Option<RepetitionLimits>>) -> Self {
        self.settings.repetition = limits.into();
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
    /// use tokenline_core::{Limits, Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser};
    ///
    /// let options = ResponseOptions::from(Options::lenient())
    ///     .repair(|rejected| Some(rejected.text.replace("NaN", "null")));
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, options);
    /// parser.push(b"{\"message\":{\"content\":\"{\\\"a\\\":NaN}\\n\"},\"done\":true}\n");
    /// let Some(ResponseEvent::Record { record, .. }) = parser.next_event() else { panic!() };
    /// assert_eq!(record.value, r#"{"a":null}"#);
    /// assert!(!record.recovered.is_empty());
    /// ```
    #[must_use]
    pub fn repair(mut self, repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static) -> Self {
        self.settings.change_rules(|rules| rules.set_repair(Box::new(repair)));
        self
    }

    /// A call of an undefined tool in a text stays text, instead of being rejected: without it, an example in JSON or a
    /// quoted call would be lost. Without [tools](crate::ResponseOptions::tools), every call stays text.
    #[must_use]
    pub fn undefined_calls_as_text(mut self) -> Self {
        self.settings.leaves_undefined_calls = true;
        self
    }

    /// Emits reasoning, and the text outside records and calls, as they arrive.
    #[must_use]
    pub fn text_and_reasoning(mut self) -> Self {
        self.settings.wants_text = true;
        self
    }

    /// Emits all text as it arrives, before it is read: to show a response beside its records.
    ///
    /// ```
    /// use tokenline_core::{Limits, Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, ResponseOptions::from(Options::lenient()).text_deltas());
    /// parser.push(b"{\"message\":{\"content\":\"{\\\"a\\\":\"}}\n");
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::TextDelta { text, .. }) if text == "{\"a\":"));
    /// assert_eq!(parser.held_bytes(), 5);
    /// parser.push(b"{\"message\":{\"content\":\"1}\"},\"done\":true}\n");
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::TextDelta { text, .. }) if text == "1}"));
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::Record { .. })));
    /// ```
    #[must_use]
    pub fn text_deltas(mut self) -> Self {
        self.settings.wants_deltas = true;
        self
    }

    /// Emits each step by which an open record of the text grows, as [`ResponseEvent::Partial`](crate::ResponseEvent::Partial):
    /// [`Options::partials`](tokenline_core::Options::partials) of the text.
    #[must_use]
    pub fn partials(mut self) -> Self {
        self.settings.options.partials = true;
        self
    }

    /// Emits the start of each tool call and its arguments as they arrive, to show calls live. Calls in a text are
    /// updated in the same way if the [text is read](Self::text_as) for calls, in whichever syntax they are written.
    ///
    /// ```
    /// use tokenline_core::{Limits, Options, json::Raw};
    /// use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, ResponseOptions::from(Options::lenient()).call_updates());
    /// parser.push(concat!(
    ///     r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{\"p"}}]}}]}"#,
    ///     "\n\n"
    /// ).as_bytes());
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::ToolCallBegan { name, .. }) if name == "ls"));
    /// assert!(matches!(parser.next_event(), Some(ResponseEvent::ToolCallArguments { text, .. }) if text == "{\"p"));
    /// ```
    #[must_use]
    pub fn call_updates(mut self) -> Self {
        self.settings.wants_call_updates = true;
        self
    }

    /// Keeps the response's content in order, with the data that its provider expects back, for
    /// [`ResponseParser::message`](crate::ResponseParser::message). This takes as much memory as the response's text.
    ///
    /// ```
    /// use tokenline_core::{Limits, Options, json::Raw};
    /// use tokenline_llm::request::{AssistantPart, ChatRequest};
    /// use tokenline_llm::{Provider, ResponseOptions, ResponseParser};
    ///
    /// let mut parser = ResponseParser::<Raw>::new(Provider::Gemini, ResponseOptions::from(Options::lenient()).keep_message());
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
    pub fn keep_message(mut self) -> Self {
        self.settings.keeps_message = true;
        self
    }
}

/// Hides what may hold the user's data.
impl fmt::Debug for ResponseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseOptions")
            .field("text_as", &self.settings.text_as)
            .field("options", &self.settings.options)
            .finish_non_exhaustive()
    }
}
