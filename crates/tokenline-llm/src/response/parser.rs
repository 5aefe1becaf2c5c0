//! The wire's bytes in, the answer's events out.

mod machine;
mod settings;

use std::fmt;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{SourceEnd, Tally};
use tokenline_core::json::Raw;
use tokenline_core::{Code, Diagnostic, Report};

use super::ResponseEvent;
use super::event_queue::EventQueue;
use super::state::ResponseState;
use crate::providers::EventDecoder;
use crate::request::Message;
use crate::wire::FrameDecoder;
use crate::{FinishReason, Provider, Unknown, Usage};

/// Records and tool calls out of a model's answer, the bytes of an HTTP body in. Sans-IO.
///
/// [`push`](Self::push) the body's bytes as they come, take the events, [`finish`](Self::finish)
/// when the body has ended. The events are the same however the bytes are cut. A record or a call
/// is there as soon as something proves it to be whole; see [`CompletedBy`](tokenline_core::CompletedBy).
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
/// # How an answer ends
///
/// | end | source | open record | open call |
/// |---|---|---|---|
/// | the block's own: Anthropic's `content_block_stop`, an output item that is `completed`, a call that was sent whole | goes on | released as `item_stop` | released as `item_stop` |
/// | `stop`, `tool_calls` and their kin | complete, or the terminator is to follow | released as `finish_reason` | released as `finish_reason` |
/// | a limit, a filter, a reason that is not known | as before | released as `end_of_input` | `unsealed` |
/// | the provider's terminator without a reason: `[DONE]` | complete | released as `terminator` | released as `terminator` |
/// | the provider's error | `provider_error` | released as `end_of_input` | `unsealed` |
/// | nothing of that | `stream_incomplete` | released as `end_of_input` | `unsealed` |
///
/// That is if it is balanced; else it is `truncated` in every case. A call without arguments is `{}`
/// only at a clean end of the answer. What comes after the terminator is counted as unknown. Text
/// that comes after its choice has ended is read as a text of its own.
///
/// OpenAI chat is complete with a reason or `[DONE]`, Responses with their final event, Anthropic with
/// `message_stop`, Gemini with a reason, Ollama with `done: true`.
///
/// An answer cut by its token limit is always a finding: where nothing was open, `truncated` at the
/// end of the choice's text. `stream_incomplete` and `provider_error` are placed at the last event
/// of the wire. A body that is no stream but a JSON error, as servers answer with instead, is a
/// `provider_error` as a whole.
///
/// # Text beside calls
///
/// With [`with_text_and_reasoning`](Self::with_text_and_reasoning) the text comes too, as it arrives, without what is
/// part of a record or a call: lines of calls are not in it, nor the fence around them, nor a call
/// that was cut off or malformed; that is in its [`RejectedCall`](tokenline_core::RejectedCall). An
/// object that is no call is text.
///
/// ```
/// use tokenline_core::{Options, json::Raw};
/// use tokenline_llm::{ResponseEvent, ResponseParser, Provider, TextMode};
///
/// let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, Options::lenient())
///     .text_as(TextMode::ToolCalls)
///     .with_text_and_reasoning();
/// let mut log = Vec::new();
/// for chunk in [
///     r#"{"message":{"content":"I'll look.\n{\"name\":\"ls\",\"parameters\":{}}\nWait"},"done":false}"#,
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
/// assert_eq!(log, ["I'll look.\n", "call ls", "Wait", "..."]);
/// ```
///
/// # Lost events
///
/// An event that is too large or is not JSON may have held a part of any choice. Besides the
/// finding about it, every open call is given up, and the line of each choice's text that goes on
/// there is rejected.
pub struct ResponseParser<T = Raw> {
    frames: FrameDecoder,
    provider: Provider,
    decoder: EventDecoder,
    state: ResponseState<T>,
    /// What was pushed and waits until the events before it are taken.
    unread: Vec<u8>,
    /// How much of that was read.
    read: usize,
    tally: Tally,
    ending: Option<SourceEnd>,
    stage: Stage,
}

/// How much of the end was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// The wire has ended, and what came of it waits.
    Ending,
    Ended,
}

/// Events that wait to be taken before more is read.
const MAX_READY: usize = 1024;

// Bytes in, events out.
impl<T: DeserializeOwned> ResponseParser<T> {
    /// Reads the next chunk of the response. Take the events after each chunk: they queue up until then, and once many
    /// wait, further bytes are kept unread. Bytes after [`finish`](Self::finish) are ignored.
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
        let used = if self.unread.is_empty() { self.decode(chunk) } else { 0 };
        if used < chunk.len() {
            self.unread.extend_from_slice(&chunk[used..]);
        }
    }

    /// The next event of what was pushed, or `None` if more is needed.
    #[inline]
    pub fn next_event(&mut self) -> Option<ResponseEvent<T>> {
        if self.has_events() { self.take_event() } else { None }
    }

    fn take_event(&mut self) -> Option<ResponseEvent<T>> {
        while self.state.out.events.is_empty() && self.has_unread() {
            self.read_on();
        }
        let mut event = self.state.out.take()?;
        if let Some(diagnostic) = event.diagnostic_mut() {
            // It may name a tool, and that name is whatever the server sent.
            self.state.secrets.mask(&mut diagnostic.message);
        }
        self.tally.count(event.count_as());
        self.stop_if_over();
        Some(event)
    }

    /// Says that the source has ended. If the provider had not, that is a finding.
    ///
    /// An event without its end counts if it is whole.
    pub fn finish(&mut self) {
        self.end(SourceEnd::Clean);
    }

    /// Says that the source has failed: no more will come, and what is open is not whole. The
    /// finding about it is left to the caller's error, and to the [report](Self::report).
    pub fn source_failed(&mut self) {
        self.end(SourceEnd::Failed);
    }

    fn end(&mut self, ending: SourceEnd) {
        self.ending.get_or_insert(ending);
        while self.stage != Stage::Ended && !self.state.has_backlog() && self.unread.is_empty() {
            self.read_on();
        }
    }

    /// Decodes until there are many events, and says how many bytes that took.
    fn decode(&mut self, chunk: &[u8]) -> usize {
        let mut used = 0;
        while used < chunk.len() && !self.state.has_backlog() && self.state.out.events.len() < MAX_READY {
            used += self.state.read(&chunk[used..], &mut self.frames, &mut self.decoder);
        }
        used
    }

    /// Goes on with what waits.
    fn read_on(&mut self) {
        if self.state.has_backlog() {
            self.state.resume();
        } else if !self.unread.is_empty() {
            let unread = std::mem::take(&mut self.unread);
            self.read += self.decode(&unread[self.read..]);
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
                    self.stage = Stage::Ended;
                    self.end_answer(ending);
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

    fn end_answer(&mut self, ending: SourceEnd) {
        let how = match ending {
            SourceEnd::Clean => "the stream ended",
            SourceEnd::Failed => "the source failed",
        };
        match (self.close(how), ending) {
            (Some(diagnostic), SourceEnd::Clean) => self.state.out.finding(None, 0, diagnostic),
            (Some(diagnostic), SourceEnd::Failed) => self.tally.report_mut().add(diagnostic),
            (None, _) => {}
        }
    }

    /// Ends what is open. If the provider had not ended, and not failed, that is to be said.
    fn close(&mut self, how: &str) -> Option<Diagnostic> {
        self.state.close();
        if self.state.is_complete() {
            self.tally.report_mut().set_complete();
            return None;
        }
        // A late fragment was reported as what it is.
        if self.state.has_failed || self.state.out.has_late_fragment {
            return None;
        }
        let mut message = format!("{how} without {}", self.provider.info().stream_end.name);
        if self.frames.is_body() {
            message.push_str("; the body is JSON, but not a response");
        }
        let strange = self.frames.unknown_lines();
        if self.state.choices.is_empty() && strange > 0 {
            let lines = if strange == 1 { "line of it is" } else { "lines of it are" };
            message.push_str(&format!("; {strange} {lines} not of an event stream"));
        }
        Some(self.state.diagnostic(Code::StreamIncomplete, message))
    }
}

impl<T> ResponseParser<T> {
    /// Whether events may be left although no more is pushed.
    fn has_unread(&self) -> bool {
        let is_ending = self.ending.is_some() && self.stage != Stage::Ended;
        self.state.has_backlog() || !self.unread.is_empty() || is_ending
    }

    /// Forgets the answer and starts with the next. Keeps what it was set to.
    pub fn reset(&mut self) {
        let ResponseState { options, out, secrets, .. } = &mut self.state;
        let out = EventQueue { events: Default::default(), has_late_fragment: false, ..std::mem::take(out) };
        let secrets = std::mem::take(secrets);
        self.tally.reset(&options.limits);
        self.state =
            ResponseState::new(options.clone(), self.provider.info().stream_end.needs_terminator, out);
        self.state.secrets = secrets;
        self.frames.reset();
        self.decoder.reset();
        self.unread.clear();
        self.read = 0;
        (self.ending, self.stage) = (None, Stage::Open);
        self.stop_if_over();
    }

    pub(crate) fn provider(&self) -> Provider {
        self.provider
    }

    fn has_events(&self) -> bool {
        !self.state.out.events.is_empty() || self.has_unread()
    }
}

// What is known of the answer beside its events.
impl<T> ResponseParser<T> {
    /// Whether the provider came to its own end, as far as the events are taken: a reason for every
    /// choice that has begun, or the end of its stream, and no error. Never if the answer
    /// [was ended](Report::ended_by) before.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state.is_complete() && self.unread.is_empty() && !self.tally.is_over()
    }

    /// What was delivered and rejected, as far as the events are taken.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.tally.report()
    }

    /// Why the choice ended, if a reason was given.
    #[must_use]
    pub fn finish_reason(&self, choice: u64) -> Option<&FinishReason> {
        self.state.choices.iter().find(|its| its.index == choice)?.reason.as_ref()
    }

    /// What the choice said so far, as the message of the assistant for the next request: its parts in order, with the
    /// data that the provider wants back. `None` unless it is [kept](Self::with_message), or if there is no such choice.
    ///
    /// It includes rejected native calls, in the form of [`Message::rejected`], so that each call can get its result.
    #[must_use]
    pub fn message(&self, choice: u64) -> Option<Message> {
        let choice = self.state.choices.iter().find(|its| its.index == choice)?;
        Some(choice.message.as_ref()?.message(self.provider))
    }

    /// The tokens so far, if the provider said.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.state.usage
    }

    /// Pieces of text, reasoning and calls so far. Most providers send one a token or two, which tells
    /// how far an answer is before its [`usage`](Self::usage) comes.
    #[must_use]
    pub fn delta_count(&self) -> u64 {
        self.state.delta_count
    }

    /// What the stream held that is not known.
    #[must_use]
    pub fn unknown(&self) -> &Unknown {
        &self.state.unknown
    }
}

/// Places and counts only: what is buffered may be private.
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
