//! The wire's bytes in, the answer's events out.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::json::{Raw, SyntaxError};
use tokenline_core::sse::{SseDecoded, SseDecoder, SseEvent, SseItem};
use tokenline_core::{Code, Diagnostic, Options, Report, Validate, ValidateCall};

use super::outbox::Outbox;
use super::state::Answer;
use super::{AnswerEvent, TextAs};
use crate::{Delta, FinishReason, OpenAiChatDecoder, Unknown, Usage};

/// Who answers: which wire format a stream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI chat completions, and servers that speak the same.
    OpenAiChat,
}

/// The decoder of a provider's events.
#[derive(Debug)]
pub(super) enum Decoder {
    OpenAiChat(OpenAiChatDecoder),
}

impl Decoder {
    fn new(provider: Provider, options: &Options) -> Self {
        match provider {
            Provider::OpenAiChat => Self::OpenAiChat(OpenAiChatDecoder::new(&options.limits)),
        }
    }

    pub(super) fn decode(
        &mut self,
        event: &SseEvent<'_>,
        sink: impl FnMut(Delta<'_>),
    ) -> Result<(), SyntaxError> {
        match self {
            Self::OpenAiChat(decoder) => decoder.decode(event.event, event.data, sink),
        }
    }

    /// Whether the data of an event in which the stream ended can be all of it. If it looks like
    /// that, and is no JSON, it is not.
    pub(super) fn may_be_whole(&self, event: &SseEvent<'_>) -> bool {
        let data = event.data.trim();
        match self {
            Self::OpenAiChat(_) => data == "[DONE]" || data.starts_with('{') || event.event == "error",
        }
    }

    /// What a body that is no event stream says of an error.
    fn error_of_body(&mut self, body: &str) -> Option<String> {
        match self {
            Self::OpenAiChat(decoder) => decoder.error_of_body(body),
        }
    }

    /// What such a stream ends with, for messages.
    fn ends_with(&self) -> &'static str {
        match self {
            Self::OpenAiChat(_) => "a finish reason or `[DONE]`",
        }
    }
}

/// Records and tool calls out of a model's answer, the bytes of an HTTP body in. Sans-IO.
///
/// [`push`](Self::push) the body's bytes as they come, take the events, [`finish`](Self::finish)
/// when the body has ended. The events are the same however the bytes are cut. A record or a call
/// is there as soon as something proves it to be whole; see [`Completion`](tokenline_core::Completion).
///
/// ```
/// use tokenline_core::{Options, json::Raw};
/// use tokenline_llm::{AnswerEvent, AnswerParser, Provider};
///
/// let mut parser = AnswerParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
/// let mut log = Vec::new();
/// for chunk in [
///     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"a\\\":1}\\n{\\\"a\\\"\"}}]}\n\nda",
///     "ta: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\":2}\"},\"finish_reason\":\"stop\"}]}\n\n",
/// ] {
///     parser.push(chunk.as_bytes());
///     while let Some(event) = parser.next_event() {
///         match event {
///             AnswerEvent::Record { record, .. } => {
///                 log.push(format!("{} {}", record.completion.as_str(), record.value));
///             }
///             AnswerEvent::Finish { reason, .. } => log.push(reason.to_string()),
///             other => log.push(format!("{other:?}")),
///         }
///     }
/// }
/// parser.finish();
/// assert!(parser.next_event().is_none() && parser.is_complete());
/// assert_eq!(log, [r#"newline {"a":1}"#, r#"finish_reason {"a":2}"#, "stop"]);
/// ```
///
/// # How an answer ends
///
/// | end | source | open record | open call |
/// |---|---|---|---|
/// | `stop`, `tool_calls` and their kin | complete | released as `finish_reason` | released as `finish_reason` |
/// | a limit, a filter, a reason that is not known | complete | released as `end_of_input` | `unsealed` |
/// | `[DONE]` without a reason | complete | released as `terminator` | released as `terminator` |
/// | the provider's error | `provider_error` | released as `end_of_input` | `unsealed` |
/// | nothing of that | `stream_incomplete` | released as `end_of_input` | `unsealed` |
///
/// That is if it is balanced; else it is `truncated` in every case. What comes after `[DONE]` is
/// not looked at. Text that comes after its choice has ended is read as a text of its own.
///
/// An answer cut by its token limit is always a finding: where nothing was open, `truncated` at the
/// end of the choice's text. `stream_incomplete` and `provider_error` are placed at the last event
/// of the wire. A body that is no event stream but a JSON error, as servers answer with instead, is
/// a `provider_error` as a whole.
///
/// # Lost events
///
/// An event that is too large or is not JSON may have held a part of any choice. Besides the
/// finding about it, every open call is given up, and the line of each choice's text that goes on
/// there is rejected.
pub struct AnswerParser<T = Raw> {
    sse: SseDecoder,
    provider: Provider,
    decoder: Decoder,
    answer: Answer<T>,
    /// The first bytes of what has not shown an event yet: it may be a body that is just an error.
    beginning: Vec<u8>,
    report: Report,
    is_finished: bool,
}

/// Bytes of a body that is no event stream that are searched for an error.
const MAX_BODY: usize = 4096;

// Construction.
impl<T> AnswerParser<T> {
    /// A parser at the start of an answer.
    #[must_use]
    pub fn new(provider: Provider, options: Options) -> Self {
        let out =
            Outbox { text_as: TextAs::default(), tools: None, validator: None, events: Default::default() };
        Self {
            sse: SseDecoder::new(options.limits),
            provider,
            decoder: Decoder::new(provider, &options),
            answer: Answer::new(options, out),
            beginning: Vec::new(),
            report: Report::new(&options.limits),
            is_finished: false,
        }
    }

    /// Sets what the text is read as; [`TextAs::Records`] unless it is set.
    #[must_use]
    pub fn text_as(mut self, text_as: TextAs) -> Self {
        self.answer.out.text_as = text_as;
        self
    }

    /// Holds each tool call, native or not, against the definitions of tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.answer.out.tools = Some(Arc::new(tools));
        self
    }

    /// Holds each record of the text against a validator.
    #[must_use]
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.answer.out.validator = Some(Box::new(validator));
        self
    }

    /// Yields the fragments of text and reasoning as well, as they come.
    #[must_use]
    pub fn with_fragments(mut self) -> Self {
        self.answer.wants_fragments = true;
        self
    }
}

// Bytes in, events out.
impl<T: DeserializeOwned> AnswerParser<T> {
    /// Reads on. Take the events after each piece: they queue up until then. What comes after
    /// [`finish`](Self::finish) is not looked at.
    pub fn push(&mut self, mut chunk: &[u8]) {
        if !self.answer.has_begun {
            let room = MAX_BODY - self.beginning.len();
            self.beginning.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        while !self.is_finished {
            let SseDecoded { consumed, item } = self.sse.decode(chunk);
            chunk = &chunk[consumed..];
            match item {
                None => return,
                Some(SseItem::Event(event)) => self.answer.event(&mut self.decoder, &event, false),
                Some(SseItem::Incomplete(event)) => self.answer.event(&mut self.decoder, &event, true),
                Some(SseItem::Rejected(diagnostic)) => self.answer.lose(diagnostic),
            }
        }
    }

    /// Says that the source has ended. If the provider had not, that is a finding.
    ///
    /// An event without its blank line counts if it is whole.
    pub fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        match self.sse.finish() {
            None => {}
            Some(SseItem::Event(event) | SseItem::Incomplete(event)) => {
                self.answer.event(&mut self.decoder, &event, true);
            }
            Some(SseItem::Rejected(diagnostic)) => self.answer.lose(diagnostic),
        }
        if !self.answer.has_begun {
            let body = String::from_utf8_lossy(&self.beginning);
            if let Some(message) = self.decoder.error_of_body(&body) {
                self.answer.fail_as_a_whole(&message, self.sse.offset());
            }
        }
        self.beginning = Vec::new();
        if let Some(diagnostic) = self.end("the stream ended") {
            self.answer.out.finding(None, diagnostic);
        }
    }

    /// Says that the source has failed: no more will come, and what is open is not whole. The
    /// finding about it is left to the caller's error, and to the [report](Self::report).
    pub fn interrupt(&mut self) {
        if !self.is_finished
            && let Some(diagnostic) = self.end("the source failed")
        {
            self.report.add(diagnostic);
        }
    }

    /// Ends what is open. If the provider had not ended, and not failed, that is to be said.
    fn end(&mut self, how: &str) -> Option<Diagnostic> {
        self.is_finished = true;
        self.answer.close();
        if self.answer.is_complete() {
            self.report.set_complete();
            return None;
        }
        if self.answer.has_failed {
            return None;
        }
        let mut message = format!("{how} without {}", self.decoder.ends_with());
        let strange = self.sse.unknown_fields();
        if self.answer.choices.is_empty() && strange > 0 {
            let lines = if strange == 1 { "line of it is" } else { "lines of it are" };
            message.push_str(&format!("; {strange} {lines} not of an event stream"));
        }
        Some(self.answer.diagnostic(Code::StreamIncomplete, message))
    }
}

impl<T> AnswerParser<T> {
    /// The next event of what was pushed, or `None` if more is needed.
    pub fn next_event(&mut self) -> Option<AnswerEvent<T>> {
        let event = self.answer.out.take()?;
        match &event {
            AnswerEvent::Record { .. } => self.report.count_record(),
            AnswerEvent::ToolCall { .. } => self.report.count_tool_call(),
            AnswerEvent::Rejected { diagnostic, .. } | AnswerEvent::Note { diagnostic, .. } => {
                self.report.add(diagnostic.clone());
            }
            AnswerEvent::Text { .. }
            | AnswerEvent::Reasoning { .. }
            | AnswerEvent::Refusal { .. }
            | AnswerEvent::Finish { .. }
            | AnswerEvent::Usage(_) => {}
        }
        Some(event)
    }

    /// Forgets the answer and starts with the next. Keeps what it was set to.
    pub fn reset(&mut self) {
        let Answer { options, out, wants_fragments, .. } = &mut self.answer;
        let out = Outbox {
            text_as: out.text_as,
            tools: out.tools.take(),
            validator: out.validator.take(),
            events: Default::default(),
        };
        let wants_fragments = *wants_fragments;
        self.report = Report::new(&options.limits);
        self.answer = Answer::new(*options, out);
        self.answer.wants_fragments = wants_fragments;
        self.sse.reset();
        self.beginning.clear();
        self.is_finished = false;
    }

    pub(crate) fn text_is_read(&self) -> bool {
        self.answer.out.text_as != TextAs::Text
    }

    pub(crate) fn set_text_as(&mut self, text_as: TextAs) {
        self.answer.out.text_as = text_as;
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.answer.out.events.is_empty()
    }
}

// What is known of the answer beside its events.
impl<T> AnswerParser<T> {
    /// Whether the provider came to its own end in what was pushed so far: a reason for every
    /// choice that has begun, or the end of its stream, and no error.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.answer.is_complete()
    }

    /// What was delivered and rejected, as far as the events are taken.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Why the choice ended, if a reason was given.
    #[must_use]
    pub fn finish_reason(&self, choice: u64) -> Option<&FinishReason> {
        self.answer.choices.iter().find(|its| its.index == choice)?.reason.as_ref()
    }

    /// The tokens so far, if the provider said.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.answer.usage
    }

    /// What the stream held that is not known.
    #[must_use]
    pub fn unknown(&self) -> &Unknown {
        &self.answer.unknown
    }
}

/// Places and counts only: what is buffered may be private.
impl<T> fmt::Debug for AnswerParser<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerParser")
            .field("provider", &self.provider)
            .field("sse", &self.sse)
            .field("choices", &self.answer.choices.len())
            .field("events", &self.answer.out.events.len())
            .finish_non_exhaustive()
    }
}
