//! The state of a response, built from its deltas.

mod backlog;

use std::collections::VecDeque;
use std::hint;
use std::mem;

use serde::de::DeserializeOwned;
use tokenline_core::json::{Kind, LoneSurrogates, Raw, SyntaxError};
use tokenline_core::{CallDelta, Code, CompletedBy, Diagnostic, Origin, Span};

use super::ResponseEvent;
use super::choice::Choice;
use super::deferred::Deferred;
use super::event_queue::{EventQueue, Settings};
use super::surrogates::SurrogateJoiner;
use super::text::Borrower;
use crate::secrets::Secrets;
use crate::{Delta, FinishReason, OpaqueTarget, Unknown, Usage};

pub(super) struct ResponseState<T> {
    pub(super) out: EventQueue<T>,
    /// Deltas that wait until the events before them are taken.
    backlog: VecDeque<Deferred>,
    joiner: SurrogateJoiner,
    /// The halves of characters in the text of the next delta, if deltas are pushed.
    lone: Option<LoneSurrogates>,
    /// The response is a body that is parsed already: its texts are read as their events are taken.
    pub(super) is_body: bool,
    /// Only the provider's terminator proves completeness.
    needs_terminator: bool,
    pub(super) choices: Vec<Choice>,
    /// Boxed: it comes at the end.
    pub(super) usage: Option<Box<Usage>>,
    /// Pieces of the model's output.
    pub(super) delta_count: u64,
    pub(super) unknown: Unknown,
    /// The position of the last event on the wire.
    line: u64,
    span: Span,
    /// There was an event, readable or not.
    pub(super) has_begun: bool,
    /// The provider's terminator arrived.
    pub(super) is_terminated: bool,
    /// The stream ended before the response did.
    is_cut: bool,
    /// The provider reported a failure.
    pub(super) has_failed: bool,
    /// The provider's error message.
    failure: Option<String>,
    /// Values masked in provider messages.
    pub(super) secrets: Secrets,
    /// The failure was signalled by the finish reason only.
    has_error_reason: bool,
    /// An event was unreadable; the start of a choice may be missing.
    missed_event: bool,
    has_too_many_choices: bool,
    /// The lines outside the events that were an error of the server.
    pub(super) explained_lines: u64,
    /// The current event, which came after the end, is counted.
    has_counted: bool,
}

/// Limits a server that invents choices. OpenAI allows as many.
const MAX_CHOICES: usize = 128;
/// Characters shown of a provider's error message.
const MAX_MESSAGE: usize = 500;
/// Characters shown of its code.
const MAX_ERROR_CODE: usize = 100;

impl<T> ResponseState<T> {
    pub(super) fn new(needs_terminator: bool, settings: Settings) -> Self {
        Self {
            out: EventQueue::from(settings),
            backlog: VecDeque::new(),
            joiner: SurrogateJoiner::default(),
            lone: None,
            is_body: false,
            needs_terminator,
            choices: Vec::new(),
            usage: None,
            delta_count: 0,
            unknown: Unknown::default(),
            line: 1,
            span: Span::default(),
            has_begun: false,
            is_terminated: false,
            is_cut: false,
            has_failed: false,
            failure: None,
            secrets: Secrets::default(),
            has_error_reason: false,
            missed_event: false,
            has_too_many_choices: false,
            explained_lines: 0,
            has_counted: false,
        }
    }

    /// Reads a word of each cache line that an event needs.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        if let Some(choice) = self.choices.first() {
            choice.prefetch();
        }
        let flags = self.out.settings.asks ^ self.has_counted;
        hint::black_box(self.out.events.len() ^ self.backlog.len() ^ usize::from(flags));
    }

    /// Whether the response is complete.
    pub(super) fn is_complete(&self) -> bool {
        let all_ended = || !self.choices.is_empty() && self.choices.iter().all(Choice::is_ended);
        let is_ended = self.is_terminated || (!self.needs_terminator && all_ended());
        is_ended && !self.has_failed && !self.is_cut && !self.out.has_late_fragment && !self.has_backlog()
    }

    /// Whether something waits: deltas, or a text for the answer to a question.
    pub(super) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty() || self.out.question.is_some()
    }

    /// Drops waiting deltas and events.
    pub(super) fn forget(&mut self) {
        self.backlog = VecDeque::new();
        self.out.clear();
    }

    /// Reports an unreadable event.
    pub(super) fn reject_event(&mut self, diagnostic: Diagnostic) {
        (self.line, self.span, self.has_begun) = (diagnostic.line, diagnostic.span, true);
        self.out.push_diagnostic(None, 0, diagnostic);
        self.miss_event();
    }

    /// An event was lost, which may have held a part of any choice.
    pub(super) fn miss_event(&mut self) {
        self.missed_event = true;
        for choice in &mut self.choices {
            choice.event_missed(&mut self.out);
        }
    }

    fn push_wire_diagnostic(&mut self, code: Code, message: impl Into<String>) {
        self.out.push_diagnostic(None, 0, self.diagnostic(code, message));
    }

    /// A diagnostic at the last event on the wire, or where one was expected.
    pub(super) fn diagnostic(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.line, self.span, 1, message).with_origin(Origin::Wire)
    }

    /// The index of the choice, which may be new; `None` if there are too many.
    #[inline]
    fn choice(&mut self, index: u64) -> Option<usize> {
        let known = self.choices.iter().position(|choice| choice.index == index);
        if known.is_some() { known } else { self.begin_choice(index) }
    }

    #[cold]
    fn begin_choice(&mut self, index: u64) -> Option<usize> {
        if self.choices.len() == MAX_CHOICES {
            if !std::mem::replace(&mut self.has_too_many_choices, true) {
                let message = format!("more than {MAX_CHOICES} choices; further choices are skipped");
                self.push_wire_diagnostic(Code::RecordTooLarge, message);
            }
            return None;
        }
        let mut choice = Choice::new(index, &self.out);
        if self.missed_event {
            choice.event_missed(&mut self.out);
        }
        if self.choices.is_empty() {
            // Most responses have one.
            self.choices.reserve_exact(1);
        }
        self.choices.push(choice);
        Some(self.choices.len() - 1)
    }
}

impl<T: DeserializeOwned> ResponseState<T> {
    /// Sets the position of the next event on the wire.
    pub(super) fn at(&mut self, line: u64, span: Span) {
        (self.line, self.span) = (line, span);
    }

    /// Starts an event with content.
    pub(super) fn begin_event(&mut self, line: u64, span: Span) {
        (self.line, self.span, self.has_begun) = (line, span, true);
        self.has_counted = false;
    }

    /// Reads a piece of the response that is decoded already, as an event of its own. Only the next one shows whether a
    /// failure has a message.
    pub(super) fn take_delta(&mut self, delta: Delta<'_>) {
        if let Delta::LoneSurrogates(halves) = delta {
            self.lone = Some(halves);
            return;
        }
        if !matches!(delta, Delta::Error { .. }) {
            self.end_event();
        }
        let line = self.line + u64::from(self.has_begun);
        self.begin_event(line, Span::default());
        let lone = self.lone.take();
        self.take(delta, lone, false);
    }

    /// Ends the event.
    pub(super) fn end_event(&mut self) {
        // The provider's own message may wait.
        if self.has_error_reason && !self.has_failed && !self.has_backlog() {
            self.take(
                Delta::Error { message: "the provider ended the response with an error".into(), code: None },
                None,
                false,
            );
        }
    }

    /// Reports an event that is not JSON.
    pub(super) fn reject_malformed_event(&mut self, error: &SyntaxError) {
        let message = format!(
            "the event is not JSON: {} (byte {} of its data); its part of the response is missing",
            error.description(),
            error.offset
        );
        self.reject_event(self.diagnostic(Code::MalformedJson, message));
    }

    #[cold]
    fn reject_unreadable(&mut self, parent: &str, name: &str, kind: Kind) {
        let dot = if parent.is_empty() { "" } else { "." };
        let message = format!(
            "`{parent}{dot}{}` cannot be read: its type is {}; its part of the response is missing",
            self.secrets.masked(name),
            kind.as_str()
        );
        self.reject_event(self.diagnostic(Code::MalformedJson, message));
    }

    /// Ends the response at the end of the stream. Returns whether it has ended; if a text asks a question, it is to be
    /// closed again after the answer.
    pub(super) fn close(&mut self) -> bool {
        self.end_event();
        self.is_cut = !self.is_complete();
        if self.is_terminated {
            self.choices.iter_mut().for_each(|choice| choice.end_late_calls(&mut self.out));
        }
        self.end(None)
    }

    /// Warns of choices that ended to call tools, if the response has no call.
    pub(super) fn report_missing_calls(&mut self) {
        if self.out.has_call || self.has_failed {
            return;
        }
        for choice in &self.choices {
            if choice.reason == Some(FinishReason::ToolCalls) {
                let message = "the response ended to call tools, and has no call";
                choice.warn(Code::CallsMissing, message, &mut self.out);
            }
        }
    }

    /// Ends all open choices. `evidence` proves that the provider ended them. Returns whether they have ended.
    fn end(&mut self, evidence: Option<CompletedBy>) -> bool {
        let evidence = evidence.filter(|_| !self.has_failed);
        self.choices.iter_mut().all(|choice| choice.end(evidence, &mut self.out))
    }

    /// Takes note of text before it is read. Returns the index of its choice.
    fn begin_text(&mut self, choice: u64, block: u64, text: &str) -> Option<usize> {
        let at = self.choice(choice)?;
        self.delta_count += 1;
        if let Some(parts) = &mut self.choices[at].message {
            parts.push_text(block, text);
        }
        self.choices[at].announce_text(block, text, &mut self.out);
        Some(at)
    }

    /// Reads text of the choice at this index. What follows a question waits for the answer.
    fn read_text(
        &mut self,
        at: usize,
        block: u64,
        text: &str,
        lossy: bool,
        borrower: Option<&mut Borrower<'_>>,
    ) {
        let read = self.choices[at].push_text(block, text, lossy, borrower, &mut self.out);
        if read < text.len() {
            let choice = self.choices[at].index;
            self.backlog.push_front(Deferred::rest(choice, block, &text[read..], lossy));
        }
    }

    /// Returns whether the delta was applied. If not, it is to be applied again after the answer to the question.
    fn handle(&mut self, delta: Delta<'_>, lossy: bool) -> bool {
        if self.is_terminated && !matches!(delta, Delta::Restart | Delta::Unknown { .. }) {
            self.handle_after_end(&delta, lossy);
            return true;
        }
        match delta {
            Delta::Start { choice } => {
                self.choice(choice);
            }
            Delta::Text { choice, block, text } => {
                if let Some(at) = self.begin_text(choice, block, text) {
                    self.read_text(at, block, text, lossy, None);
                }
            }
            Delta::WholeText { choice, block, part, text } => {
                let Some(at) = self.choice(choice) else { return true };
                let rest = self.choices[at].rest_of_text((block, part), text, &mut self.out);
                if rest.is_empty() {
                    return true;
                }
                self.choices[at].arrived.begin(block, part);
                let waits = self.waits_for_events(rest);
                let rest = Delta::Text { choice, block, text: rest };
                if !waits {
                    return self.handle(rest, lossy);
                }
                self.backlog.push_front(Deferred::new(rest, lossy));
            }
            Delta::TextPart { choice, block, part } => {
                let Some(at) = self.choice(choice) else { return true };
                self.choices[at].arrived.begin(block, part);
            }
            Delta::BlockStart { choice, block } => {
                let Some(at) = self.choice(choice) else { return true };
                self.choices[at].begin_block(block);
            }
            Delta::Reasoning { choice, text } => {
                self.delta_count += 1;
                if self.out.settings.keeps_message
                    && let Some(at) = self.choice(choice)
                    && let Some(parts) = &mut self.choices[at].message
                {
                    parts.push_reasoning(text);
                }
                if self.out.guard.is_some() && self.choice(choice).is_some() {
                    self.out.guard.iter_mut().for_each(|guard| guard.reasoning(choice, text));
                }
                self.out.reasoning(choice, text);
            }
            Delta::Opaque { choice, target, data } => self.opaque(choice, target, &data),
            Delta::Refusal { choice, text } => {
                let Some(at) = self.choice(choice) else { return true };
                self.choices[at].has_refusal = true;
                self.out.push(ResponseEvent::Refusal { choice, text: text.to_owned() });
            }
            Delta::ToolCall { choice, call } => {
                let Some(at) = self.choice(choice) else { return true };
                self.delta_count += 1;
                if let Some(guard) = &mut self.out.guard {
                    guard.call_delta(choice, &call);
                }
                self.choices[at].push_call(CallDelta { lossy: lossy || call.lossy, ..call }, &mut self.out);
            }
            Delta::PartialArgument { choice, block, part } => {
                let Some(at) = self.choice(choice) else { return true };
                if let Some(guard) = &mut self.out.guard {
                    guard.partial_argument(choice, block, &part);
                }
                self.choices[at].push_argument(block, part, lossy, &mut self.out);
            }
            // Belongs to the wire event, not to the response.
            Delta::LoneSurrogates(_) => {}
            Delta::BlockStop { choice, block, completion } => {
                let Some(at) = self.choice(choice) else { return true };
                return self.choices[at].end_block(block, completion, &mut self.out);
            }
            Delta::Finish { choice, reason } => return self.finish(choice, reason),
            Delta::Restart => {
                if !self.end(None) {
                    return false;
                }
                self.is_terminated = false;
                for choice in &mut self.choices {
                    choice.restart();
                }
                self.out.guard.iter_mut().for_each(|guard| guard.restart());
            }
            Delta::Usage(usage) => {
                if self.usage.as_deref() != Some(&usage) {
                    **self.usage.get_or_insert_default() = usage;
                    self.out.push(ResponseEvent::Usage(usage));
                }
            }
            Delta::Error { message, code } => return self.fail(&message, code.as_deref()),
            Delta::Terminator => {
                if !self.end(Some(CompletedBy::Terminator)) {
                    return false;
                }
                self.is_terminated = true;
            }
            Delta::Unknown { parent, name } => self.unknown.add(parent, &self.secrets.masked(&name)),
            Delta::Unreadable { parent, name, kind } => self.reject_unreadable(parent, &name, kind),
        }
        true
    }

    /// Counts what comes after the provider's end of the stream. It is not read, but must not contradict what was.
    #[cold]
    fn handle_after_end(&mut self, delta: &Delta<'_>, lossy: bool) {
        if !mem::replace(&mut self.has_counted, true) {
            self.unknown.add("data", "after the end");
        }
        match *delta {
            Delta::Text { choice, block, text } => {
                let Some((choice, out)) = self.known(choice) else { return };
                choice.text_after_end(block, text, out);
            }
            Delta::WholeText { choice, block, part, text } => {
                let Some((choice, out)) = self.known(choice) else { return };
                choice.rest_of_text((block, part), text, out);
            }
            Delta::BlockStart { choice, block } => {
                let Some((choice, _)) = self.known(choice) else { return };
                choice.begin_block(block);
            }
            Delta::ToolCall { choice, call } => {
                let Some((choice, out)) = self.known(choice) else { return };
                choice.call_after_end(CallDelta { lossy: lossy || call.lossy, ..call }, out);
            }
            _ => {}
        }
    }

    /// A choice that has begun.
    fn known(&mut self, index: u64) -> Option<(&mut Choice, &mut EventQueue<T>)> {
        let choice = self.choices.iter_mut().find(|choice| choice.index == index)?;
        Some((choice, &mut self.out))
    }

    fn opaque(&mut self, choice: u64, target: OpaqueTarget, data: &str) {
        // No decoder emits data that is not JSON.
        let Some((at, data)) = self.choice(choice).zip(Raw::new(data).ok()) else { return };
        if self.out.settings.wants_text && target != OpaqueTarget::ReasoningMember {
            let (text, opaque) = (String::new(), Some(data.clone()));
            self.out.push(ResponseEvent::Reasoning { choice, text, opaque });
        }
        if let Some(parts) = &mut self.choices[at].message {
            parts.push_opaque(target, data);
        }
    }

    /// Returns whether the choice has ended.
    fn finish(&mut self, index: u64, mut reason: FinishReason) -> bool {
        if let FinishReason::Other(name) = &mut reason {
            *name = self.secrets.masked(name).into();
        }
        let Some(at) = self.choice(index) else { return true };
        let choice = &mut self.choices[at];
        // Some servers send the final chunk of a choice twice.
        if choice.is_ended() {
            return true;
        }
        self.has_error_reason |= reason == FinishReason::Error;
        if !choice.finish(&reason, &mut self.out) {
            return false;
        }
        choice.reason.get_or_insert_with(|| reason.clone());
        if reason == FinishReason::MalformedCall {
            let message =
                "the model wrote a tool call that the provider could not parse, so none of it was sent";
            self.out.push_diagnostic(Some(index), 0, self.diagnostic(Code::MalformedJson, message));
        }
        self.out.push(ResponseEvent::Finish { choice: index, reason });
        true
    }

    /// The choice that repeats itself beyond its limits, unless it has ended.
    #[cold]
    pub(super) fn repeating(&mut self) -> Option<u64> {
        let Self { choices, out, .. } = self;
        let mut open = choices.iter_mut().filter(|choice| !choice.is_ended());
        open.find_map(|choice| choice.repetition(out).map(|_| choice.index))
    }

    /// Returns whether the choices have ended.
    fn fail(&mut self, message: &str, code: Option<&str>) -> bool {
        self.has_failed = true;
        // Some providers report a failure in two events.
        if self.failure.as_deref() == Some(message) {
            return true;
        }
        if !self.end(None) {
            return false;
        }
        self.failure = Some(message.to_owned());
        let shown = self.secrets.excerpt(message, MAX_MESSAGE);
        let code = code.map(|code| self.secrets.excerpt(code, MAX_ERROR_CODE));
        let diagnostic = self.diagnostic(Code::ProviderError, shown).with_error_code(code);
        self.out.push_diagnostic(None, 0, diagnostic);
        true
    }
}
