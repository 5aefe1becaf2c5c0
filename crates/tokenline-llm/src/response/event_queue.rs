//! The queue of a response's events, and the conversion of its records to the requested type.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::RepairHook;
use tokenline_core::json::{Parser, Raw, Step, Value};
use tokenline_core::{
    CallUpdate, Code, CompletedBy, Diagnostic, Event, LentEvent, Limits, OpenValidation, Record, Recovered,
    Recovery, Rejected, RejectedCall, ToolCall, Validate, ValidateCall,
};

use super::text::TextRole;
use super::{ResponseEvent, TextMode};

pub(super) struct EventQueue<T> {
    pub(super) text_as: TextMode,
    /// The request had tools.
    pub(super) sends_tools: bool,
    /// A native call has begun.
    pub(super) has_native_call: bool,
    /// There was a call, native or in a text, accepted or rejected.
    pub(super) has_call: bool,
    pub(super) wants_text: bool,
    pub(super) wants_call_updates: bool,
    pub(super) wants_deltas: bool,
    pub(super) keeps_message: bool,
    /// A call continued after it was released.
    pub(super) has_late_fragment: bool,
    /// Joins the texts of a choice, each on a line of its own.
    pub(super) joins_texts: bool,
    /// The provider ends each call.
    pub(super) ends_items: bool,
    /// The provider repeats texts at their end.
    pub(super) repeats_texts: bool,
    pub(super) tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    pub(super) validator: Option<Arc<dyn Validate + Send + Sync>>,
    pub(super) repair: Option<RepairHook>,
    pub(super) limits: Limits,
    pub(super) events: VecDeque<ResponseEvent<T>>,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self {
            text_as: TextMode::default(),
            sends_tools: false,
            has_native_call: false,
            has_call: false,
            wants_text: false,
            wants_call_updates: false,
            wants_deltas: false,
            keeps_message: false,
            has_late_fragment: false,
            joins_texts: false,
            ends_items: false,
            repeats_texts: false,
            tools: None,
            validator: None,
            repair: None,
            limits: Limits::default(),
            events: VecDeque::new(),
        }
    }
}

/// Capacity kept once the events are taken.
const KEEP: usize = 64;

impl<T> EventQueue<T> {
    /// The same settings for records of another type.
    pub(super) fn typed<U>(self) -> EventQueue<U> {
        let Self { text_as, wants_text, wants_call_updates, wants_deltas, keeps_message, .. } = self;
        let Self {
            sends_tools,
            has_native_call,
            has_call,
            has_late_fragment,
            joins_texts,
            ends_items,
            repeats_texts,
            tools,
            validator,
            repair,
            limits,
            ..
        } = self;
        let events = VecDeque::new();
        EventQueue {
            text_as,
            sends_tools,
            has_native_call,
            has_call,
            wants_text,
            wants_call_updates,
            wants_deltas,
            keeps_message,
            has_late_fragment,
            joins_texts,
            ends_items,
            repeats_texts,
            tools,
            validator,
            repair,
            limits,
            events,
        }
    }

    /// Whether updates on calls in a text are wanted.
    pub(super) fn updates_text_calls(&self) -> bool {
        self.wants_call_updates && self.text_as == TextMode::ToolCalls
    }

    /// Whether the text is passed on without looking for records or calls in it.
    pub(super) fn passes_text(&self) -> bool {
        match self.text_as {
            TextMode::Text => true,
            TextMode::NativeCalls => self.tools.is_none(),
            TextMode::Records | TextMode::ToolCalls => false,
        }
    }

    pub(super) fn push_diagnostic(&mut self, choice: Option<u64>, block: u64, diagnostic: Diagnostic) {
        self.events.push_back(ResponseEvent::from_diagnostic(choice, block, diagnostic));
    }

    pub(super) fn native_call(&mut self, choice: u64, update: CallUpdate) {
        let event = match update {
            CallUpdate::Began { .. } | CallUpdate::Arguments { .. } if !self.wants_call_updates => return,
            CallUpdate::Began { number, call_id, name } => {
                ResponseEvent::ToolCallBegan { choice, number, call_id, name }
            }
            CallUpdate::Arguments { number, text } => {
                ResponseEvent::ToolCallArguments { choice, number, text }
            }
            CallUpdate::Ended { number, outcome, .. } => {
                let number = Some(number);
                self.has_call = true;
                match outcome.or_else(|call| self.repaired_call(&call).ok_or(call)) {
                    Ok(call) => ResponseEvent::ToolCall { choice, number, block: 0, call, record: None },
                    Err(call) => {
                        self.has_late_fragment |= call.diagnostic.code == Code::LateFragment;
                        ResponseEvent::RejectedCall { choice, number, block: 0, call }
                    }
                }
            }
            _ => return,
        };
        self.events.push_back(event);
    }

    /// A native call with the arguments of the repair hook instead of its own. A call of an undefined tool stays
    /// rejected.
    fn repaired_call(&mut self, call: &RejectedCall) -> Option<ToolCall> {
        let repair = self.repair.as_mut()?;
        let RejectedCall { name: Some(name), received, diagnostic, .. } = call else { return None };
        if !diagnostic.code.is_repairable() || diagnostic.code == Code::UnknownTool {
            return None;
        }
        let rejected = Rejected::new(received.as_str(), diagnostic.clone()).with_tool(name.as_str());
        let &Diagnostic { line, span, column, .. } = diagnostic;
        let (completion, recovered) = (CompletedBy::EndOfInput, Recovered::default());
        let place = Record { value: (), line, column, span, completion, recovered };
        place.repaired(&repair(rejected)?, &self.limits, |record| {
            if let Some(tools) = &self.tools {
                tools.validate_call(name, record.value).ok()?;
            }
            let mut repaired = ToolCall::new(name.as_str(), Raw::from(record.value), completion);
            (repaired.call_id, repaired.is_synthetic_id) = (call.call_id.clone(), call.is_synthetic_id);
            repaired.recovered = record.recovered;
            Some(repaired)
        })?
    }

    /// Emits that the open record will be rejected.
    pub(super) fn invalid(&mut self, choice: u64, block: u64, diagnostic: Diagnostic) {
        self.events.push_back(ResponseEvent::Invalid { choice, block, diagnostic });
    }

    /// Emits text before it is read.
    pub(super) fn text_delta(&mut self, choice: u64, block: u64, start: u64, text: &str) {
        if self.wants_deltas {
            self.events.push_back(ResponseEvent::TextDelta { choice, block, start, text: text.to_owned() });
        }
    }

    /// Emits text outside records and calls.
    pub(super) fn text(&mut self, choice: u64, block: u64, text: &str) {
        if self.wants_text && !text.is_empty() {
            self.events.push_back(ResponseEvent::Text { choice, block, text: text.to_owned() });
        }
    }

    /// Emits reasoning in a text.
    pub(super) fn reasoning(&mut self, choice: u64, text: &str) {
        if self.wants_text && !text.is_empty() {
            let text = text.to_owned();
            self.events.push_back(ResponseEvent::Reasoning { choice, text, opaque: None });
        }
    }

    /// Emits a rejected part of a text, as a rejected call if it looks like one. Returns whether it is text instead.
    pub(super) fn rejected_text(
        &mut self,
        choice: u64,
        block: u64,
        diagnostic: Diagnostic,
        text: &str,
    ) -> bool {
        match call_in(text).filter(|_| self.text_as == TextMode::ToolCalls) {
            Some(name) => {
                self.has_call = true;
                let mut call = Box::new(RejectedCall::new(diagnostic, text));
                call.name = name;
                self.events.push_back(ResponseEvent::RejectedCall { choice, number: None, block, call });
                false
            }
            None => {
                self.push_diagnostic(Some(choice), block, diagnostic);
                true
            }
        }
    }

    pub(super) fn take(&mut self) -> Option<ResponseEvent<T>> {
        let event = self.events.pop_front();
        if self.events.is_empty() {
            // One large chunk must not pin memory.
            self.events.shrink_to(KEEP);
        }
        event
    }
}

impl<T: DeserializeOwned> EventQueue<T> {
    /// Emits what a text's event yields, and returns how it relates to the text outside records. `rejected` is the
    /// repair hook's input if the event is a reject.
    pub(super) fn text_event(
        &mut self,
        choice: u64,
        block: u64,
        event: LentEvent<'_>,
        rejected: Option<(Rejected, Record<()>)>,
        validation: Option<&mut OpenValidation>,
    ) -> TextRole {
        match event {
            Event::Record(record) => {
                let verdict = validation.map_or(Ok(()), |validation| validation.finish(&record));
                return self.record(choice, block, &record, verdict);
            }
            Event::Text(span) => return TextRole::Text(span),
            Event::Reasoning(span) => return TextRole::Reasoning(span),
            Event::Markup(span) => return TextRole::Markup(span),
            Event::Note(note) if self.text_as == TextMode::NativeCalls && note.code != Code::CallInText => {}
            Event::Note(diagnostic) => self.push_diagnostic(Some(choice), block, diagnostic),
            Event::Partial(partial) => {
                let delta = partial.map(|delta| delta.to_owned());
                self.events.push_back(ResponseEvent::Partial { choice, block, delta });
            }
            Event::Rejected(diagnostic) => {
                if self.text_as != TextMode::NativeCalls
                    && let Some((rejected, place)) = rejected
                    && let Some(event) = self.repaired(choice, block, rejected, place)
                {
                    self.events.push_back(event);
                    return TextRole::Record(diagnostic.span);
                }
                return TextRole::Rejected(diagnostic);
            }
            other => unreachable!("a record decoder does not yield it unasked: {other:?}"),
        }
        TextRole::None
    }

    /// Emits a record, or the calls in it, unless it breaks a rule.
    fn record(
        &mut self,
        choice: u64,
        block: u64,
        record: &Record<Value<'_>>,
        verdict: Result<(), Box<Diagnostic>>,
    ) -> TextRole {
        let native = "the tools were sent with the request, so calls in the text are not read; \
                      `--call-format auto` or `TextMode::ToolCalls` reads them";
        let beside = "the response has native calls, so an object in its text is not a call";
        let is_marked = record.recovered.contains(Recovery::CallFormat);
        match self.text_as {
            TextMode::NativeCalls => {
                return self.untaken_call(choice, block, record, native);
            }
            TextMode::ToolCalls if self.has_native_call && !is_marked => {
                return self.untaken_call(choice, block, record, beside);
            }
            TextMode::ToolCalls | TextMode::Records | TextMode::Text => {}
        }
        let first = self.events.len();
        self.read(choice, block, record, verdict);
        if self.repair.is_some() && self.events.len() == first + 1 {
            let rejected = self.events[first].diagnostic().filter(|its| its.code.is_repairable());
            let rejected = rejected.map(|its| Rejected::new(record.value.raw(), its.clone()));
            if let Some(rejected) = rejected
                && let Some(repaired) = self.repaired(choice, block, rejected, record.map(|_| ()))
            {
                self.events[first] = repaired;
            }
        }
        // A record that is neither delivered nor a call stays text. An empty list of calls is not text.
        let mut events = self.events.range(first..);
        let is_text = events.len() > 0 && events.all(|event| matches!(event, ResponseEvent::Rejected { .. }));
        if is_text { TextRole::NotACall(record.span) } else { TextRole::Record(record.span) }
    }

    /// Leaves a record in the text, with a note if it is a call that the tools accept, or without tools any call.
    fn untaken_call(
        &mut self,
        choice: u64,
        block: u64,
        record: &Record<Value<'_>>,
        why: &'static str,
    ) -> TextRole {
        let tools = self.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
        if ToolCall::all_from_record(record, tools).any(|call| is_meant(&call)) {
            let note = Diagnostic::new(Code::CallInText, record.line, record.span, record.column, why);
            self.push_diagnostic(Some(choice), block, note);
        }
        TextRole::NotACall(record.span)
    }

    /// Pushes the events of a record: itself, the calls in it, or the reason it was rejected.
    fn read(
        &mut self,
        choice: u64,
        block: u64,
        record: &Record<Value<'_>>,
        verdict: Result<(), Box<Diagnostic>>,
    ) {
        let outcome = verdict.and_then(|()| match self.text_as {
            TextMode::ToolCalls => {
                let tools = self.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
                let calls = ToolCall::all_from_record(record, tools);
                let first = self.events.len();
                self.events.extend(calls.map(|call| call_event(choice, block, record, call)));
                let is_call = |event: &ResponseEvent<T>| !matches!(event, ResponseEvent::Rejected { .. });
                self.has_call |= self.events.range(first..).any(is_call);
                Ok(())
            }
            _ => {
                let record = record.deserialize()?;
                self.events.push_back(ResponseEvent::Record { choice, block, record });
                Ok(())
            }
        });
        if let Err(diagnostic) = outcome {
            self.events.push_back(ResponseEvent::from_diagnostic(Some(choice), block, *diagnostic));
        }
    }

    /// The event for the repair hook's replacement of a reject.
    fn repaired(
        &mut self,
        choice: u64,
        block: u64,
        rejected: Rejected,
        place: Record<()>,
    ) -> Option<ResponseEvent<T>> {
        let replacement = self.repair.as_mut()?(rejected)?;
        let (first, limits) = (self.events.len(), self.limits);
        place.repaired(&replacement, &limits, |record| {
            let verdict = self.validator.as_ref().map_or(Ok(()), |validator| record.validate(validator));
            self.read(choice, block, record, verdict);
        })?;
        let mut events = self.events.split_off(first);
        // It replaces exactly one event; and a call may be rejected again.
        let event = events.pop_front().filter(|_| events.is_empty())?;
        event.diagnostic().is_none().then_some(event)
    }
}

/// Whether a value is a call of a known tool, even if its arguments do not fit.
fn is_meant(call: &Result<ToolCall, Box<RejectedCall>>) -> bool {
    match call {
        Ok(_) => true,
        Err(call) => !matches!(call.diagnostic.code, Code::MissingField | Code::UnknownTool),
    }
}

/// The event for a value read as a call.
fn call_event<T>(
    choice: u64,
    block: u64,
    record: &Record<Value<'_>>,
    call: Result<ToolCall, Box<RejectedCall>>,
) -> ResponseEvent<T> {
    let is_repaired = record.recovered.contains(Recovery::Repaired);
    match call {
        // A clean end releases calls with its own evidence; this is any other end. A replacement is complete.
        Ok(call) if record.completion == CompletedBy::EndOfInput && !is_repaired => {
            let message =
                "the tool call is balanced, but the response ended without proof that it is complete";
            let diagnostic =
                Diagnostic::new(Code::Unsealed, record.line, record.span, record.column, message);
            let mut rejected = RejectedCall::new(diagnostic, record.value.raw());
            (rejected.name, rejected.call_id) = (Some(call.name), call.call_id);
            ResponseEvent::RejectedCall { choice, number: None, block, call: Box::new(rejected) }
        }
        Ok(call) => {
            ResponseEvent::ToolCall { choice, number: None, block, call, record: Some(record.map(|_| ())) }
        }
        // An object that is not a call.
        Err(call) if call.diagnostic.code == Code::MissingField => {
            ResponseEvent::from_diagnostic(Some(choice), block, call.diagnostic)
        }
        Err(call) => ResponseEvent::RejectedCall { choice, number: None, block, call },
    }
}

/// Whether unparsable text looks like a call: an object with a member named like one of a call's. Returns the call's
/// name, as far as it was read.
fn call_in(text: &str) -> Option<Option<String>> {
    const NAMES: [&str; 2] = ["name", "parameters"];
    let object = &text[text.find('{')?..];
    let mut parser = Parser::new();
    let read = match parser.resume(object) {
        Step::Malformed(error) => {
            parser.reset();
            // Up to the error it is well-formed.
            let _ = parser.resume(&object[..error.offset]);
            &object[..error.offset]
        }
        _ => object,
    };
    let open =
        parser.cut().filter(|_| parser.open_containers().count() == 1).map_or("", |cut| &read[cut.member..]);
    let is_open_member = NAMES.iter().any(|name| {
        let quoted = format!("\"{name}\"");
        open.starts_with(&quoted) || (open.len() > 1 && quoted.starts_with(open))
    });
    let value = parser.snapshot(read)?;
    let is_call = is_open_member || NAMES.iter().any(|name| value.get(name).is_some());
    is_call.then(|| Some(value.get("name")?.as_str()?.into_owned()))
}
