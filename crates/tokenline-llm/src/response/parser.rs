//! The push parser of a response.

mod machine;
mod settings;

use std::fmt;
use std::hint;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{CountAs, SourceEnd, Tally};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Code, Diagnostic, EarlyEnd, Origin, Record, Report, Span};

use super::choice::Choice;
use super::state::ResponseState;
use super::{LentResponseEvent, ResponseEvent};
use crate::providers::EventDecoder;
use crate::request::Message;
use crate::wire::FrameDecoder;
use crate::{Delta, FinishReason, Provider, Unknown, Usage};

/// Parses a model's response: the bytes of an HTTP body in, records and tool calls out. Does no I/O.
///
/// [`push`](Self::push) the bytes of the body as they arrive, take the events, and call [`finish`](Self::finish) when
/// the body has ended. The events do not depend on how the bytes are chunked. A record or a call is released as soon as
/// it is proven complete; see [`CompletedBy`](tokenline_core::CompletedBy).
///
/// ```
/// use tokenline_core::{Options, json::Raw};
/// use tokenline_llm::{ResponseEvent, ResponseParser, Provider};
///
/// let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
/// let mut log = Vec::new();
/// for chunk in [
///     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"a\\\":1}\\n{\\\"a\\\"\"}}]}\n\nda",
///     "ta: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\":2}\"},\"finish_reason\":\"stop\"}]}\n\n",
/// ] {
///     parser.push(chunk.as_bytes());
///     while let Some(event) = parser.next_event() {
///         match event {
///             ResponseEvent::Record { record, .. } => {
///                 log.push(format!("{} {}", record.completion.as_str(), record.value));
///             }
///             ResponseEvent::Finish { reason, .. } => log.push(reason.to_string()),
///             other => log.push(format!("{other:?}")),
///         }
///     }
/// }
/// parser.finish();
/// assert!(parser.next_event().is_none() && parser.is_complete());
/// assert_eq!(log, [r#"newline {"a":1}"#, r#"finish_reason {"a":2}"#, "stop"]);
/// ```
///
/// # How a response ends
///
/// | end | source | open record | open call |
/// |---|---|---|---|
/// | end of the block: Anthropic's `content_block_stop`, a `completed` output item, a call sent at once | open | released as `item_stop` | released as `item_stop` |
/// | a finish reason such as `stop` or `tool_calls` | complete, unless the terminator must follow | released as `finish_reason` | released as `finish_reason` |
/// | a limit, a filter, an unknown reason | as above | released as `end_of_input` | `unsealed` |
/// | the terminator without a finish reason: `[DONE]` | complete | released as `terminator` | released as `terminator` |
/// | an error of the provider | `provider_error` | released as `end_of_input` | `unsealed` |
/// | none of these | `stream_incomplete` | released as `end_of_input` | `unsealed` |
///
/// This applies to balanced records and calls; all others are `truncated`. A call without arguments is `{}` only at a
/// clean end of the response, and for providers that end each call (Anthropic, Cohere, Gemini's interactions, OpenAI's
/// Responses) only if this call has ended too. Events after the terminator are counted as unknown. Text after its choice has ended is
/// read as a new text, but if it goes on with the line of a record that was released, it is `late_fragment`, and the
/// response is not complete. So is a whole text or call at the end of an item or of the response that contradicts what
/// was delivered; one that contradicts only what is open is `trailing_data`.
///
/// OpenAI chat is complete with a finish reason or `[DONE]`, Responses with their final event, Anthropic with
/// `message_stop`, Gemini with a finish reason, Ollama with `done: true`.
///
/// Reaching the token limit is always reported: if nothing was open, as the warning `token_limit` at the end of the
/// choice's text. Other ends that fall short are warnings as well: `content_filter`, `refused`, `repetition`, and
/// `calls_missing`.
/// `stream_incomplete` and `provider_error` are placed at the last event on the wire. A JSON error in place of a stream
/// is reported as one `provider_error`, as is one among the events, on lines of its own or in a field `error`. Other lines
/// outside the events are the warning `stray_lines`.
///
/// # Text outside calls
///
/// With [`text_and_reasoning`](crate::ResponseOptions::text_and_reasoning) the text outside records and calls is emitted as it
/// arrives: without the lines of calls, the code fence around them, and malformed or truncated calls, which are in
/// their [`RejectedCall`](tokenline_core::RejectedCall). An object that is not a call is text.
///
/// ```
/// use tokenline_core::{Options, json::Raw};
/// use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};
///
/// let options =
///     ResponseOptions::from(Options::lenient()).text_as(TextMode::ToolCalls).text_and_reasoning();
/// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, options);
/// let mut log = Vec::new();
/// for chunk in [
///     r#"{"message":{"content":"I'll look.\n{\"name\":\"ls\",\"parameters\":{}}\nSoon"},"done":false}"#,
///     "\n{\"message\":{\"content\":\"...\"},\"done\":true}\n",
/// ] {
///     parser.push(chunk.as_bytes());
///     while let Some(event) = parser.next_event() {
///         match event {
///             ResponseEvent::Text { text, .. } => log.push(text),
///             ResponseEvent::ToolCall { call, .. } => log.push(format!("call {}", call.name)),
///             ResponseEvent::RejectedCall { call, .. } => eprintln!("{:?}: {call}", call.call_id),
///             _ => {}
///         }
///     }
/// }
/// assert_eq!(log, ["I'll look.\n", "call ls", "Soon", "..."]);
/// ```
///
/// # Events over a WebSocket
///
/// OpenAI's Responses also come over a WebSocket: one event a frame, as bare JSON. Push each frame as the data of a
/// server-sent event. The response is over with its final event; the connection stays open for the next, which needs a
/// parser of its own, or a [`reset`](Self::reset).
///
/// ```
/// use tokenline_core::{Options, json::Raw};
/// use tokenline_llm::{Provider, ResponseEvent, ResponseParser};
///
/// let frames = [
///     r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"{\"a\":1}\n"}"#,
///     r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
/// ];
/// let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiResponses, Options::lenient());
/// let mut records = 0;
/// for frame in frames {
///     for piece in ["data: ", frame, "\n\n"] {
///         parser.push(piece);
///     }
///     while let Some(event) = parser.next_event() {
///         records += u64::from(matches!(event, ResponseEvent::Record { .. }));
///     }
/// }
/// assert!(records == 1 && parser.is_complete());
/// ```
///
/// # Unreadable events
///
/// An event that is too large or not JSON may have held a part of any choice. It is reported, every open call is
/// rejected, and so is the current line of each choice's text.
pub struct ResponseParser<T = Raw> {
    frames: FrameDecoder,
    provider: Provider,
    decoder: EventDecoder,
    state: ResponseState<T>,
    /// Pushed bytes that wait until the events before them are taken.
    unread: Vec<u8>,
    /// The length of `unread` already read.
    read: usize,
    tally: Tally,
    ending: Option<SourceEnd>,
    stage: Stage,
    /// It was stopped for repetition; its last events may not be taken yet.
    is_stopped: bool,
}

/// How much of the end is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// The wire has ended; its last events may not be taken yet.
    Ending,
    Ended,
}

/// Events queued before reading pauses.
const MAX_READY: usize = 1024;

// Bytes in, events out.
impl<T: DeserializeOwned> ResponseParser<T> {
    /// Reads the next chunk of the response. Take the events after each chunk: they queue up, and once many are queued,
    /// further bytes stay unread. Bytes after [`finish`](Self::finish) are ignored.
    #[inline]
    pub fn push(&mut self, chunk: impl AsRef<[u8]>) {
        self.push_bytes(chunk.as_ref());
    }

    #[inline]
    fn push_bytes(&mut self, chunk: &[u8]) {
        if self.ending.is_some() {
            return;
        }
        if self.unread.is_empty() && self.frames.extend_line(chunk) {
            return;
        }
        self.prefetch();
        let used = if self.unread.is_empty() { self.decode(chunk) } else { 0 };
        if used < chunk.len() {
            self.unread.extend_from_slice(&chunk[used..]);
        }
    }

    /// Reads a piece of the response that another client has decoded. Use it instead of [`push`](Self::push), not beside it,
    /// and take the events after each piece. The provider then only says what must come before the response is
    /// [complete](Self::is_complete); [`Provider::OpenAiChat`] needs the end of each choice. Lines in diagnostics of the wire
    /// count the pieces.
    ///
    /// ```
    /// use tokenline_core::{CallDelta, Options, json::Raw};
    /// use tokenline_llm::{Delta, Provider, ResponseEvent, ResponseParser};
    ///
    /// let mut response = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let call = CallDelta { index: Some(0), name: Some("weather"), arguments: "{\"city\":", ..CallDelta::default() };
    /// let more = CallDelta { index: Some(0), arguments: "\"Oslo\"}", ..CallDelta::default() };
    /// let mut seen = Vec::new();
    /// for delta in [
    ///     Delta::text("{\"a\":1}\n"),
    ///     Delta::tool_call(call),
    ///     Delta::tool_call(more),
    ///     Delta::finish("tool_calls"),
    /// ] {
    ///     response.push_delta(delta);
    ///     while let Some(event) = response.next_event() {
    ///         match event {
    ///             ResponseEvent::Record { record, .. } => seen.push(record.value.to_string()),
    ///             ResponseEvent::ToolCall { call, .. } => seen.push(format!("{} {}", call.name, call.parameters)),
    ///             _ => {}
    ///         }
    ///     }
    /// }
    /// response.finish();
    /// assert_eq!(seen, [r#"{"a":1}"#, r#"weather {"city":"Oslo"}"#]);
    /// assert!(response.report().is_complete());
    /// ```
    pub fn push_delta(&mut self, delta: Delta<'_>) {
        while !self.unread.is_empty() && !self.state.has_backlog() && self.state.out.events.len() < MAX_READY
        {
            self.read_on();
        }
        if self.ending.is_none() {
            self.state.take_delta(delta);
            self.stops_for_repetition();
        }
    }

    /// Reads a complete body that is already parsed, and ends the response. Use it instead of [`push`](Self::push).
    pub(crate) fn read_body(&mut self, body: Value<'_>, line: u64, span: Span) {
        self.state.is_body = true;
        self.state.read_body(body, line, span, &mut self.decoder);
        self.finish();
    }

    /// The next event of the pushed bytes; `None` if more bytes are needed.
    #[inline]
    pub fn next_event(&mut self) -> Option<ResponseEvent<T>> {
        let event = if self.has_events() { self.take_event() } else { None };
        if self.is_stopped && !self.has_events() && !self.tally.is_over() {
            self.tally.report_mut().set_ended_by(EarlyEnd::Repetition);
        }
        event
    }

    fn take_event(&mut self) -> Option<ResponseEvent<T>> {
        while self.state.out.events.is_empty() && self.has_unread() && self.state.out.question.is_none() {
            self.read_on();
        }
        if self.state.out.must_ask() {
            return None;
        }
        let mut event = self.state.out.take()?;
        if let Some(diagnostic) = event.diagnostic_mut() {
            // It may contain a tool name, which can be any text from the server.
            diagnostic.messages_mut().for_each(|message| self.state.secrets.mask(message));
        }
        self.tally.count(event.count_as());
        self.stop_if_over();
        Some(event)
    }

    /// Ends the response if it repeats itself beyond its limits: the events that are queued are its last. Returns whether
    /// it does.
    #[cold]
    fn stops_for_repetition(&mut self) -> bool {
        // A body is here already, with all that it has.
        let is_watched = self.state.out.guard.is_some() && !self.state.is_body && !self.frames.is_body();
        let stops = is_watched && self.ending.is_none() && self.state.ends_for_repetition();
        if stops {
            (self.unread, self.read) = (Vec::new(), 0);
            self.ending = Some(SourceEnd::Failed);
            self.is_stopped = true;
        }
        stops
    }

    /// Signals the end of the source. If the response has not ended, that is reported.
    ///
    /// An unterminated last event counts if it is complete.
    pub fn finish(&mut self) {
        self.end(SourceEnd::Clean);
    }

    /// Signals that the source has failed: what is open is incomplete. That is recorded in the [report](Self::report)
    /// only; the caller has the source's error.
    pub fn source_failed(&mut self) {
        self.end(SourceEnd::Failed);
    }

    fn end(&mut self, ending: SourceEnd) {
        self.ending.get_or_insert(ending);
        while self.stage != Stage::Ended && !self.state.has_backlog() && self.unread.is_empty() {
            self.read_on();
        }
    }

    /// Decodes until many events are queued; returns the number of bytes consumed.
    #[inline]
    fn decode(&mut self, chunk: &[u8]) -> usize {
        let mut used = 0;
        while used < chunk.len() && !self.state.has_backlog() && self.state.out.events.len() < MAX_READY {
            used += self.state.read(&chunk[used..], &mut self.frames, &mut self.decoder);
            if self.state.out.guard.is_some() && self.stops_for_repetition() {
                // The rest is not read.
                return chunk.len();
            }
        }
        used
    }

    /// Continues with what is unread.
    fn read_on(&mut self) {
        if self.state.has_backlog() {
            self.state.resume(None);
            self.stops_for_repetition();
        } else if !self.unread.is_empty() {
            let unread = std::mem::take(&mut self.unread);
            let read = self.decode(&unread[self.read..]);
            if self.is_stopped {
                return;
            }
            self.read += read;
            if self.read < unread.len() {
                self.unread = unread;
            } else {
                self.read = 0;
            }
        } else if let Some(ending) = self.ending {
            match self.stage {
                Stage::Open => {
                    self.stage = Stage::Ending;
                    self.end_wire(ending);
                }
                Stage::Ending => {
                    if self.end_response(ending) {
                        self.stage = Stage::Ended;
                    }
                }
                Stage::Ended => {}
            }
        }
    }

    fn end_wire(&mut self, ending: SourceEnd) {
        if ending == SourceEnd::Clean {
            self.state.read_end(&mut self.frames, &mut self.decoder);
        }
    }

    /// Returns whether the response has ended; if a text asks a question, it has not.
    fn end_response(&mut self, ending: SourceEnd) -> bool {
        let how = match ending {
            SourceEnd::Clean => "the stream ended",
            SourceEnd::Failed => "the source failed",
        };
        if !self.state.close() {
            return false;
        }
        if self.is_stopped {
            // Its warning says so.
            return true;
        }
        let is_open = self.close(how);
        for diagnostic in self.stray_lines().into_iter().chain(is_open) {
            match ending {
                SourceEnd::Clean => self.state.out.push_diagnostic(None, 0, diagnostic),
                SourceEnd::Failed => self.tally.report_mut().add(diagnostic),
            }
        }
        true
    }

    /// The warning of lines that are not part of the stream of events.
    fn stray_lines(&self) -> Option<Diagnostic> {
        let (lines, (line, span)) = self.frames.unknown_lines()?;
        let lines = lines - self.state.explained_lines;
        let message = match lines {
            0 => return None,
            1 => "1 line is not part of the event stream; it was skipped".to_owned(),
            _ => format!("{lines} lines are not part of the event stream; they were skipped"),
        };
        Some(Diagnostic::new(Code::StrayLines, line, span, 1, message).with_origin(Origin::Wire))
    }

    /// Concludes the response. Returns the diagnostic if it has neither ended nor failed.
    fn close(&mut self, how: &str) -> Option<Diagnostic> {
        self.state.report_missing_calls();
        if self.state.is_complete() {
            self.tally.report_mut().set_complete();
            return None;
        }
        // A late fragment has its own diagnostic.
        if self.state.has_failed || self.state.out.has_late_fragment {
            return None;
        }
        let mut message = format!("{how} without {}", self.provider.info().stream_end.name);
        if self.frames.is_body() {
            message.push_str("; the body is JSON, but not a response");
        }
        if self.state.choices.is_empty()
            && let Some((lines, _)) = self.frames.unknown_lines()
        {
            self.state.explained_lines = lines;
            let are = if lines == 1 { "line is" } else { "lines are" };
            message.push_str(&format!("; {lines} {are} not part of an event stream"));
        }
        Some(self.state.diagnostic(Code::StreamIncomplete, message))
    }
}

impl ResponseParser<Raw> {
    /// Passes on each event that [`next_event`](Self::next_event) would return. Records are lent, where that is possible.
    pub(crate) fn lend_events(&mut self, mut take: impl FnMut(LentResponseEvent<'_>)) {
        loop {
            while !self.state.out.events.is_empty() {
                match self.take_event() {
                    Some(event) => take(LentResponseEvent::Event(event)),
                    // A question comes first.
                    None => return,
                }
            }
            if !self.has_unread() || self.state.out.question.is_some() {
                return;
            }
            if self.state.has_backlog() && !self.tally.has_quota() {
                let tally = &mut self.tally;
                self.state.resume(Some(&mut |choice, block, record: &Record<Value<'_>>| {
                    tally.count(CountAs::Record(record.recovered));
                    take(LentResponseEvent::Record { choice, block, record });
                }));
            } else {
                self.read_on();
            }
        }
    }
}

impl<T> ResponseParser<T> {
    /// Reads a word of each cache line that an event needs, before anything depends on one. With many responses in turn
    /// they have left the caches, and arrive together then, not one after the other.
    #[inline(always)]
    fn prefetch(&self) {
        self.state.prefetch();
        self.frames.prefetch();
        self.decoder.prefetch();
        hint::black_box(self.unread.len() ^ usize::from(self.ending.is_some()));
    }

    /// Whether events may follow without another push.
    fn has_unread(&self) -> bool {
        let is_ending = self.ending.is_some() && self.stage != Stage::Ended;
        self.state.has_backlog() || !self.unread.is_empty() || is_ending
    }

    /// Starts over for the next response, with the same settings.
    pub fn reset(&mut self) {
        let ResponseState { out, secrets, .. } = &mut self.state;
        let (settings, secrets) = (std::mem::take(&mut out.settings), std::mem::take(secrets));
        let events = out.take_room();
        self.tally.reset(&settings.options.limits);
        self.state = ResponseState::new(self.provider.info().stream_end.needs_terminator, settings);
        (self.state.secrets, self.state.out.events) = (secrets, events);
        self.frames.reset();
        self.decoder.reset();
        self.unread.clear();
        self.read = 0;
        (self.ending, self.stage, self.is_stopped) = (None, Stage::Open, false);
        self.stop_if_over();
    }

    pub(crate) fn provider(&self) -> Provider {
        self.provider
    }

    fn has_events(&self) -> bool {
        !self.state.out.events.is_empty() || self.has_unread()
    }
}

// State of the response in addition to its events.
impl<T> ResponseParser<T> {
    /// Whether the response is complete, as far as its events are taken: a finish reason for every choice that has
    /// begun, or the end of the provider's stream, and no error. Never if the response was [ended
    /// early](Report::ended_by).
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state.is_complete() && self.unread.is_empty() && !self.tally.is_over()
    }

    /// Whether the model was cut off: a choice ended at the token limit, by a filter, or for a reason that is not known.
    /// The response itself may be [complete](Self::is_complete).
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.state
            .choices
            .iter()
            .any(|choice| choice.reason.as_ref().is_some_and(|reason| !reason.is_clean()))
    }

    /// Counts of what was delivered and rejected, as far as the events are taken.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.tally.report()
    }

    /// The finish reason of a choice, if there is one.
    #[must_use]
    pub fn finish_reason(&self, choice: u64) -> Option<&FinishReason> {
        self.state.choices.iter().find(|open| open.index == choice)?.reason.as_ref()
    }

    /// The choice so far as an assistant message for the next request: its parts in order, with the data that the
    /// provider expects back. `None` unless messages are [kept](crate::ResponseOptions::keep_message), or if there is no such choice.
    ///
    /// It includes rejected native calls, in the form of [`Message::rejected`], so that each call can get its result.
    #[must_use]
    pub fn message(&self, choice: u64) -> Option<Message> {
        let choice = self.state.choices.iter().find(|open| open.index == choice)?;
        Some(choice.message.as_ref()?.message(self.provider))
    }

    /// The tokens so far, if the provider reported them.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.state.usage.as_deref().copied()
    }

    /// The number of pieces of text, reasoning and calls so far. Most providers send one for every token or two, which
    /// shows the progress of a response before its [`usage`](Self::usage) arrives.
    #[must_use]
    pub fn delta_count(&self) -> u64 {
        self.state.delta_count
    }

    /// The bytes kept in memory for open records and calls, and for what is not read yet.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let unread = (self.unread.len() - self.read) as u64;
        unread + self.state.choices.iter().map(Choice::held_bytes).sum::<u64>()
    }

    /// Unknown events and members of the stream.
    #[must_use]
    pub fn unknown(&self) -> &Unknown {
        &self.state.unknown
    }
}

/// Shows positions and counts only: buffered text may be private.
impl<T> fmt::Debug for ResponseParser<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseParser")
            .field("provider", &self.provider)
            .field("frames", &self.frames)
            .field("choices", &self.state.choices.len())
            .field("events", &self.state.out.events.len())
            .finish_non_exhaustive()
    }
}
