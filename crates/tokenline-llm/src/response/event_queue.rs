//! The queue of a response's events.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use tokenline_core::adapter::{Boxed, LeftCalls, RepetitionFeature, Rules, Verdict};
use tokenline_core::{
    CallUpdate, Code, Diagnostic, Options, Origin, Reads, Rejected, RejectedCall, RepetitionLimits,
};

use super::loop_guard::LoopGuard;
use super::open_calls::EndingCall;
use super::{ResponseEvent, TextMode};

/// The settings of a response.
#[derive(Clone, Default)]
pub(super) struct Settings {
    /// Changed by [`set_text_as`](Self::set_text_as), because the rules depend on it.
    pub(super) text_as: TextMode,
    /// The request had tools.
    pub(super) sends_tools: bool,
    pub(super) wants_text: bool,
    pub(super) wants_call_updates: bool,
    pub(super) wants_deltas: bool,
    pub(super) keeps_message: bool,
    pub(super) leaves_undefined_calls: bool,
    /// Joins the texts of a choice, each on a line of its own.
    pub(super) joins_texts: bool,
    /// The provider ends each call.
    pub(super) ends_items: bool,
    /// The provider repeats texts at their end.
    pub(super) repeats_texts: bool,
    /// The limits of repetition at which the response is stopped.
    pub(super) repetition: Option<RepetitionLimits>,
    pub(super) rules: Arc<Rules>,
    /// The rules have [repair steps](Rules::has_repair_steps).
    pub(super) asks: bool,
    pub(super) options: Options,
}

impl Settings {
    pub(super) fn set_text_as(&mut self, text_as: TextMode) {
        self.text_as = text_as;
        self.change_rules(|rules| {
            rules.set_reads(match text_as {
                TextMode::ToolCalls => Reads::ToolCalls,
                TextMode::RecordsAndToolCalls => Reads::RecordsAndToolCalls,
                TextMode::Records | TextMode::NativeCalls | TextMode::Text => Reads::Records,
            });
        });
    }

    pub(super) fn change_rules(&mut self, change: impl FnOnce(&mut Rules)) {
        change(Arc::make_mut(&mut self.rules));
        self.asks = self.rules.has_repair_steps();
    }

    /// Whether updates on calls in a text are wanted.
    pub(super) fn updates_text_calls(&self) -> bool {
        self.wants_call_updates && self.text_as.reads_calls()
    }

    /// Whether records in a text may be lent: nothing but its next event depends on them.
    pub(super) fn can_lend(&self) -> bool {
        self.text_as == TextMode::Records
            && !self.repeats_texts
            && !self.rules.repairs()
            && !self.options.repairs_syntax()
            && !self.options.partials
            && self.repetition.is_none()
    }

    /// Whether the text is passed on without looking for records or calls in it.
    pub(super) fn passes_text(&self) -> bool {
        match self.text_as {
            TextMode::Text => true,
            TextMode::NativeCalls => self.rules.tools().is_none(),
            TextMode::Records | TextMode::ToolCalls | TextMode::RecordsAndToolCalls => false,
        }
    }
}

pub(super) struct EventQueue<T> {
    pub(super) settings: Settings,
    /// A native call has begun.
    pub(super) has_native_call: bool,
    /// There was a call, native or in a text, accepted or rejected.
    pub(super) has_call: bool,
    /// A call continued after it was released.
    pub(super) has_late_fragment: bool,
    pub(super) events: VecDeque<ResponseEvent<T>>,
    /// The number of events before the piece of text that is read character by character: later ones are joined.
    pub(super) joins_after: usize,
    /// The question that a text waits for; see [`Rules::has_repair_steps`].
    pub(super) question: Option<TextQuestion>,
    native_question: NativeQuestion,
    /// Boxed: most responses have none.
    pub(super) guard: Option<Boxed<RepetitionFeature, LoopGuard>>,
}

/// A question about a reject in a text. The text, and all that follows it, is not read before the answer.
pub(super) struct TextQuestion {
    pub(super) choice: u64,
    /// Taken when it is asked.
    rejected: Option<Box<Rejected>>,
}

/// The state of the question about the first event, if that is a rejected native call.
#[derive(Default, PartialEq, Eq)]
enum NativeQuestion {
    #[default]
    New,
    Asked,
    Answered,
}

impl<T> From<Settings> for EventQueue<T> {
    fn from(settings: Settings) -> Self {
        Self {
            guard: settings.repetition.and_then(|limits| RepetitionFeature::boxed(|| LoopGuard::new(limits))),
            settings,
            has_native_call: false,
            has_call: false,
            has_late_fragment: false,
            events: VecDeque::new(),
            joins_after: usize::MAX,
            question: None,
            native_question: NativeQuestion::New,
        }
    }
}

/// The room that is kept once the events are taken: one large chunk must not pin memory, and there may be many responses.
const MAX_KEPT_EVENTS: usize = 16;

impl<T> EventQueue<T> {
    pub(super) fn push(&mut self, event: ResponseEvent<T>) {
        if self.events.capacity() == 0 {
            // Most chunks bring one at most.
            self.events.reserve_exact(1);
        }
        self.events.push_back(event);
    }

    pub(super) fn push_diagnostic(&mut self, choice: Option<u64>, block: u64, diagnostic: Diagnostic) {
        self.push(ResponseEvent::from_diagnostic(choice, block, diagnostic));
    }

    pub(super) fn native_call(&mut self, choice: u64, update: CallUpdate) {
        let event = match update {
            CallUpdate::Began { .. } | CallUpdate::Arguments { .. } if !self.settings.wants_call_updates => {
                return;
            }
            CallUpdate::Began { number, call_id, name } => {
                ResponseEvent::ToolCallBegan { choice, number, call_id, name }
            }
            CallUpdate::Arguments { number, text } => {
                ResponseEvent::ToolCallArguments { choice, number, text }
            }
            CallUpdate::Ended { number, outcome, .. } => {
                let number = Some(number);
                self.has_call = true;
                let Settings { rules, options: Options { limits, .. }, .. } = &self.settings;
                let repaired = |call: &RejectedCall| {
                    let arguments = rules.replacement(rules.native_question(call)?)?;
                    rules.repaired_native_call(call, &arguments, limits)
                };
                match outcome.or_else(|call| repaired(&call).ok_or(call)) {
                    Ok(call) => {
                        if let Some(guard) = &mut self.guard {
                            guard.call(choice, &call);
                        }
                        ResponseEvent::ToolCall { choice, number, block: 0, call, record: None }
                    }
                    Err(call) => {
                        // Also if it is repaired later: the response has contradicted itself.
                        self.has_late_fragment |= call.diagnostic.code == Code::LateFragment;
                        ResponseEvent::RejectedCall { choice, number, block: 0, call }
                    }
                }
            }
            _ => return,
        };
        self.push(event);
    }

    /// Emits that the open record will be rejected.
    pub(super) fn invalid(&mut self, choice: u64, block: u64, diagnostic: Diagnostic) {
        self.push(ResponseEvent::Invalid { choice, block, diagnostic });
    }

    /// Emits text before it is read.
    pub(super) fn text_delta(&mut self, choice: u64, block: u64, start: u64, text: &str) {
        if self.settings.wants_deltas {
            self.push(ResponseEvent::TextDelta { choice, block, start, text: text.to_owned() });
        }
    }

    /// The last event, if more of it may be added to it.
    fn joined(&mut self) -> Option<&mut ResponseEvent<T>> {
        if self.events.len() > self.joins_after { self.events.back_mut() } else { None }
    }

    /// Emits more arguments of a call in a text.
    pub(super) fn arguments(&mut self, choice: u64, number: u64, text: &str) {
        match self.joined() {
            Some(ResponseEvent::ToolCallArguments { number: last, text: before, .. }) if *last == number => {
                before.push_str(text);
            }
            _ => {
                let text = text.to_owned();
                self.push(ResponseEvent::ToolCallArguments { choice, number, text });
            }
        }
    }

    /// Emits text outside records and calls.
    pub(super) fn text(&mut self, choice: u64, block: u64, text: &str) {
        if !self.settings.wants_text || text.is_empty() {
            return;
        }
        match self.joined() {
            Some(ResponseEvent::Text { choice: last, block: of, text: before })
                if (*last, *of) == (choice, block) =>
            {
                before.push_str(text);
            }
            _ => self.push(ResponseEvent::Text { choice, block, text: text.to_owned() }),
        }
    }

    /// Emits reasoning in a text.
    pub(super) fn reasoning(&mut self, choice: u64, text: &str) {
        if !self.settings.wants_text || text.is_empty() {
            return;
        }
        match self.joined() {
            Some(ResponseEvent::Reasoning { choice: last, text: before, opaque: None })
                if *last == choice =>
            {
                before.push_str(text);
            }
            _ => {
                let text = text.to_owned();
                self.push(ResponseEvent::Reasoning { choice, text, opaque: None });
            }
        }
    }

    /// Emits a rejected call.
    pub(super) fn push_rejected_call(
        &mut self,
        choice: u64,
        block: u64,
        mut call: Box<RejectedCall>,
        ending: &mut EndingCall<'_>,
    ) {
        self.has_call = true;
        let number = ending.reject(&mut call, self);
        self.push(ResponseEvent::RejectedCall { choice, number, block, call });
    }

    /// The question about the first event, if it is a rejected native call.
    fn about_native_call(&self) -> Option<Rejected> {
        if self.native_question == NativeQuestion::Answered {
            return None;
        }
        match self.events.front() {
            Some(ResponseEvent::RejectedCall { call, .. }) if call.diagnostic.origin == Origin::Arguments => {
                self.settings.rules.native_question(call)
            }
            _ => None,
        }
    }

    /// Whether a question comes before the next event.
    #[inline]
    pub(super) fn must_ask(&self) -> bool {
        self.settings.asks && self.about_native_call().is_some()
    }

    /// The question to ask before the next event.
    pub(super) fn question(&mut self) -> Option<Box<Rejected>> {
        if self.events.is_empty() {
            return self.question.as_mut()?.rejected.take();
        }
        let rejected = self.settings.asks.then(|| self.about_native_call()).flatten()?;
        self.native_question = NativeQuestion::Asked;
        Some(Box::new(rejected))
    }

    /// Stops reading until a question about a reject in a text is answered.
    pub(super) fn ask(&mut self, choice: u64, rejected: Box<Rejected>) {
        self.question = Some(TextQuestion { choice, rejected: Some(rejected) });
    }

    /// Whether the answer to a question is awaited.
    pub(super) fn is_asking(&self) -> bool {
        let is_asked = |question: &TextQuestion| question.rejected.is_none();
        self.native_question == NativeQuestion::Asked || self.question.as_ref().is_some_and(is_asked)
    }

    /// Takes the answer to the question about a native call, if that was asked.
    pub(super) fn answer_native(&mut self, arguments: Option<&str>) -> bool {
        if self.native_question != NativeQuestion::Asked {
            return false;
        }
        self.native_question = NativeQuestion::Answered;
        let Settings { rules, options: Options { limits, .. }, .. } = &self.settings;
        if let Some(event) = self.events.front_mut()
            && let ResponseEvent::RejectedCall { choice, number, call, .. } = event
        {
            let (choice, number) = (*choice, *number);
            let repaired = arguments.and_then(|text| rules.repaired_native_call(call, text, limits));
            if let Some(call) = repaired {
                *event = ResponseEvent::ToolCall { choice, number, block: 0, call, record: None };
            }
        }
        true
    }

    /// Drops all events, and the questions.
    pub(super) fn clear(&mut self) {
        self.events = VecDeque::new();
        (self.question, self.native_question) = (None, NativeQuestion::New);
    }

    /// Drops all events, and returns the queue that held them, for the next response.
    pub(super) fn take_room(&mut self) -> VecDeque<ResponseEvent<T>> {
        let mut events = mem::take(&mut self.events);
        events.clear();
        events.shrink_to(MAX_KEPT_EVENTS);
        events
    }

    pub(super) fn take(&mut self) -> Option<ResponseEvent<T>> {
        self.native_question = NativeQuestion::New;
        let event = self.events.pop_front();
        if self.events.is_empty() {
            self.events.shrink_to(MAX_KEPT_EVENTS);
        }
        event
    }

    /// Emits the verdict on a record or a call in a text.
    pub(super) fn push_verdict(
        &mut self,
        choice: u64,
        block: u64,
        verdict: Verdict<T>,
        ending: &mut EndingCall<'_>,
    ) {
        let event = match verdict {
            Verdict::Call(call, place) => {
                self.has_call = true;
                let number = ending.deliver(place.span.start, &call, self);
                ResponseEvent::ToolCall { choice, number, block, call, record: Some(place) }
            }
            Verdict::RejectedCall(call) => return self.push_rejected_call(choice, block, call, ending),
            Verdict::Record(record) => ResponseEvent::Record { choice, block, record },
            Verdict::NotACall(call) => ResponseEvent::from_diagnostic(Some(choice), block, call.diagnostic),
            Verdict::Rejected(diagnostic) => ResponseEvent::from_diagnostic(Some(choice), block, diagnostic),
            Verdict::Ask(_) => unreachable!("a question is not an event"),
        };
        ending.discard(self);
        self.push(event);
    }

    /// The calls in a text that stay in it.
    pub(super) fn left_calls(&self) -> LeftCalls {
        match self.settings.text_as {
            TextMode::NativeCalls => LeftCalls::All(
                "the tools were sent with the request, so calls in the text are not read; \
                 `--call-format auto` or `TextMode::ToolCalls` reads them",
            ),
            _ if self.has_native_call => {
                LeftCalls::Unmarked("the response has native calls, so an object in its text is not a call")
            }
            _ if self.settings.leaves_undefined_calls => LeftCalls::Undefined,
            _ => LeftCalls::None,
        }
    }
}
