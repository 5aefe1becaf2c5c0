//! An answer as its deltas arrive.

use serde::de::DeserializeOwned;
use tokenline_core::sse::SseEvent;
use tokenline_core::{CallDelta, Code, Completion, Diagnostic, Options, Span};

use super::AnswerEvent;
use super::choice::Choice;
use super::outbox::Outbox;
use super::parser::Decoder;
use crate::{Delta, FinishReason, Unknown, Usage};

pub(super) struct Answer<T> {
    pub(super) options: Options,
    pub(super) out: Outbox<T>,
    pub(super) wants_fragments: bool,
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<Usage>,
    pub(super) unknown: Unknown,
    /// Where on the wire the last event was.
    line: u64,
    span: Span,
    /// There was an event, or one that was lost.
    pub(super) has_begun: bool,
    /// The provider's end of the stream came.
    is_terminated: bool,
    /// The stream ended, and the provider had not.
    is_cut: bool,
    /// The provider said that it failed.
    pub(super) has_failed: bool,
    /// It did so by a finish reason alone.
    has_error_reason: bool,
    /// An event was lost, and with it perhaps the beginning of a choice.
    has_lost: bool,
    has_too_many_choices: bool,
}

/// Stops a server that makes up choices. OpenAI's limit on how many may be asked for.
const MAX_CHOICES: usize = 128;
/// Characters of a provider's error message that are shown.
const MAX_MESSAGE: usize = 500;

impl<T> Answer<T> {
    pub(super) fn new(options: Options, out: Outbox<T>) -> Self {
        Self {
            options,
            out,
            wants_fragments: false,
            choices: Vec::new(),
            usage: None,
            unknown: Unknown::default(),
            line: 1,
            span: Span::default(),
            has_begun: false,
            is_terminated: false,
            is_cut: false,
            has_failed: false,
            has_error_reason: false,
            has_lost: false,
            has_too_many_choices: false,
        }
    }

    /// Whether the provider came to its own end.
    pub(super) fn is_complete(&self) -> bool {
        let all_ended = !self.choices.is_empty() && self.choices.iter().all(Choice::is_ended);
        !self.has_failed && !self.is_cut && (self.is_terminated || all_ended)
    }

    /// Says that an event could not be read, and why.
    pub(super) fn lose(&mut self, diagnostic: Diagnostic) {
        (self.line, self.span, self.has_begun) = (diagnostic.line, diagnostic.span, true);
        self.out.finding(None, diagnostic);
        self.has_lost = true;
        for choice in &mut self.choices {
            choice.lose(&mut self.out);
        }
    }

    fn wire_finding(&mut self, code: Code, message: impl Into<String>) {
        self.out.finding(None, self.diagnostic(code, message));
    }

    /// A finding about the last event of the wire, or about where there should be one.
    pub(super) fn diagnostic(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.line, self.span, 1, message)
    }

    /// Where the choice is, which may be a new one; `None` if there are too many.
    fn choice(&mut self, index: u64) -> Option<usize> {
        let known = self.choices.iter().position(|choice| choice.index == index);
        if known.is_some() {
            return known;
        }
        if self.choices.len() == MAX_CHOICES {
            if !std::mem::replace(&mut self.has_too_many_choices, true) {
                let message = format!("more than {MAX_CHOICES} choices; the others are left out");
                self.wire_finding(Code::RecordTooLarge, message);
            }
            return None;
        }
        let mut choice = Choice::new(index, self.options, &self.out);
        if self.has_lost {
            choice.lose(&mut self.out);
        }
        self.choices.push(choice);
        Some(self.choices.len() - 1)
    }
}

impl<T: DeserializeOwned> Answer<T> {
    /// Takes in one event of the wire. `is_cut` tells that the stream ended in it, so that it may
    /// not be whole.
    pub(super) fn event(&mut self, decoder: &mut Decoder, event: &SseEvent<'_>, is_cut: bool) {
        if self.is_terminated {
            return self.unknown.add("data", "after the end");
        }
        (self.line, self.span) = (event.line, event.span);
        if event.data.is_empty() {
            return;
        }
        self.has_begun = true;
        if is_cut && !decoder.may_be_whole(event) {
            return self.out.finding(None, event.truncated());
        }
        let decoded = decoder.decode(event, |delta| self.take(delta, event.lossy));
        match decoded {
            Ok(()) if self.has_error_reason && !self.has_failed => {
                self.fail("the provider ended the answer with an error");
            }
            Ok(()) => {}
            Err(_) if is_cut => self.out.finding(None, event.truncated()),
            Err(error) => {
                let message = format!(
                    "an event that is not JSON: {} (byte {} of its data); its part of the answer is lost",
                    error.description(),
                    error.offset
                );
                self.lose(Diagnostic::new(Code::MalformedJson, event.line, event.span, 1, message));
            }
        }
    }

    /// Ends the answer where the stream does.
    pub(super) fn close(&mut self) {
        self.is_cut = !self.is_complete();
        self.end(None);
    }

    /// Ends what has not ended. `evidence` tells that the end is the provider's own.
    fn end(&mut self, evidence: Option<Completion>) {
        let evidence = evidence.filter(|_| !self.has_failed);
        for choice in &mut self.choices {
            choice.end(evidence, &mut self.out);
        }
    }

    fn take(&mut self, delta: Delta<'_>, lossy: bool) {
        match delta {
            Delta::Start { choice } => {
                self.choice(choice);
            }
            Delta::Text { choice, text } => {
                let Some(at) = self.choice(choice) else { return };
                self.fragment(|text| AnswerEvent::Text { choice, text }, text);
                self.choices[at].push_text(text, lossy, &mut self.out);
            }
            Delta::Reasoning { choice, text } => {
                self.fragment(|text| AnswerEvent::Reasoning { choice, text }, text);
            }
            Delta::Refusal { choice, text } => {
                self.out.events.push_back(AnswerEvent::Refusal { choice, text: text.to_owned() });
            }
            Delta::ToolCall { choice, call } => {
                let Some(at) = self.choice(choice) else { return };
                self.choices[at].push_call(CallDelta { lossy, ..call }, &mut self.out);
            }
            Delta::Finish { choice, reason } => self.finish(choice, reason),
            Delta::Usage(usage) => {
                if self.usage.replace(usage) != Some(usage) {
                    self.out.events.push_back(AnswerEvent::Usage(usage));
                }
            }
            Delta::Error { message } => self.fail(&message),
            Delta::Terminator => {
                self.is_terminated = true;
                self.end(Some(Completion::Terminator));
            }
            Delta::Unknown { parent, name } => self.unknown.add(parent, &name),
        }
    }

    fn fragment(&mut self, event: impl FnOnce(String) -> AnswerEvent<T>, text: &str) {
        if self.wants_fragments {
            self.out.events.push_back(event(text.to_owned()));
        }
    }

    fn finish(&mut self, index: u64, reason: FinishReason) {
        let Some(at) = self.choice(index) else { return };
        let choice = &mut self.choices[at];
        // Some servers send the chunk that finishes a choice twice.
        if choice.is_ended() {
            return;
        }
        self.has_error_reason |= reason == FinishReason::Error;
        choice.finish(&reason, &mut self.out);
        choice.reason.get_or_insert_with(|| reason.clone());
        self.out.events.push_back(AnswerEvent::Finish { choice: index, reason });
    }

    /// Says that all there is, so many bytes, is the provider's error.
    pub(super) fn fail_as_a_whole(&mut self, message: &str, len: u64) {
        (self.line, self.span) = (1, Span::new(0, len));
        self.fail(message);
    }

    fn fail(&mut self, message: &str) {
        self.has_failed = true;
        self.end(None);
        let mut shown: String = message.chars().take(MAX_MESSAGE).collect();
        if shown.len() < message.len() {
            shown.push('…');
        }
        self.wire_finding(Code::ProviderError, shown);
    }
}
