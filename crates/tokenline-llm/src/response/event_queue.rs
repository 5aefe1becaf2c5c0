//! Where the events of an answer wait, and where its records become what the caller asked for.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::RepairHook;
use tokenline_core::json::{Parser, Raw, Step, Value};
use tokenline_core::{
    CallUpdate, Code, CompletedBy, Diagnostic, Event, LentEvent, Limits, Record, Recovered, Recovery,
    Rejected, RejectedCall, ToolCall, Validate, ValidateCall,
};

use super::text::TextOf;
use super::{ResponseEvent, TextMode};

pub(super) struct EventQueue<T> {
    pub(super) text_as: TextMode,
    pub(super) wants_fragments: bool,
    pub(super) wants_call_updates: bool,
    pub(super) keeps_message: bool,
    /// More of a call came after it was released.
    pub(super) has_late_fragment: bool,
    /// The texts of a choice are put together, and no line is to be of two.
    pub(super) joins_texts: bool,
    pub(super) tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    pub(super) validator: Option<Box<dyn Validate + Send + Sync>>,
    pub(super) repair: Option<RepairHook>,
    pub(super) limits: Limits,
    pub(super) events: VecDeque<ResponseEvent<T>>,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self {
            text_as: TextMode::default(),
            wants_fragments: false,
            wants_call_updates: false,
            keeps_message: false,
            has_late_fragment: false,
            joins_texts: false,
            tools: None,
            validator: None,
            repair: None,
            limits: Limits::default(),
            events: VecDeque::new(),
        }
    }
}

/// Events for which room is kept once they are taken.
const KEEP: usize = 64;

impl<T> EventQueue<T> {
    /// The same settings, for records of another type.
    pub(super) fn typed<U>(self) -> EventQueue<U> {
        let Self { text_as, wants_fragments, wants_call_updates, has_late_fragment, joins_texts, .. } = self;
        let Self { keeps_message, tools, validator, repair, limits, .. } = self;
        let events = VecDeque::new();
        EventQueue {
            keeps_message,
            text_as,
            wants_fragments,
            wants_call_updates,
            has_late_fragment,
            joins_texts,
            tools,
            validator,
            repair,
            limits,
            events,
        }
    }

    pub(super) fn finding(&mut self, choice: Option<u64>, block: u64, diagnostic: Diagnostic) {
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
            CallUpdate::Ended { outcome, .. } => {
                match outcome.or_else(|call| self.repaired_call(&call).ok_or(call)) {
                    Ok(call) => ResponseEvent::ToolCall { choice, block: 0, call, record: None },
                    Err(call) => {
                        self.has_late_fragment |= call.diagnostic.code == Code::LateFragment;
                        ResponseEvent::RejectedCall { choice, block: 0, call }
                    }
                }
            }
            _ => return,
        };
        self.events.push_back(event);
    }

    /// A native call with the arguments that a repair hook gives in place of its own. For a tool that
    /// there is not, no arguments are right.
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

    /// Text that is part of nothing else.
    pub(super) fn text(&mut self, choice: u64, block: u64, text: &str) {
        if self.wants_fragments && !text.is_empty() {
            self.events.push_back(ResponseEvent::Text { choice, block, text: text.to_owned() });
        }
    }

    /// A reject of a text, which may be a call that cannot be read. If not, it stays text.
    pub(super) fn rejected_text(
        &mut self,
        choice: u64,
        block: u64,
        diagnostic: Diagnostic,
        text: &str,
    ) -> bool {
        match call_in(text).filter(|_| self.text_as == TextMode::ToolCalls) {
            Some(name) => {
                let mut call = Box::new(RejectedCall::new(diagnostic, text));
                call.name = name;
                self.events.push_back(ResponseEvent::RejectedCall { choice, block, call });
                false
            }
            None => {
                self.finding(Some(choice), block, diagnostic);
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
    /// What a text yields, and what it says of the text beside records. `lost` is what a repair hook is given about
    /// it, if it is a reject.
    pub(super) fn text_event(
        &mut self,
        choice: u64,
        block: u64,
        event: LentEvent<'_>,
        lost: Option<(Rejected, Record<()>)>,
    ) -> TextOf {
        match event {
            Event::Record(record) => return self.record(choice, block, &record),
            Event::Text(span) => return TextOf::Text(span),
            Event::Markup(span) => return TextOf::Markup(span),
            Event::Note(diagnostic) => self.finding(Some(choice), block, diagnostic),
            Event::Rejected(diagnostic) => {
                if let Some((rejected, place)) = lost
                    && let Some(event) = self.repaired(choice, block, rejected, place)
                {
                    self.events.push_back(event);
                    return TextOf::Record;
                }
                return TextOf::Rejected(diagnostic);
            }
            other => unreachable!("a record decoder does not yield it unasked: {other:?}"),
        }
        TextOf::None
    }

    /// What a record yields: itself, or the calls in it.
    fn record(&mut self, choice: u64, block: u64, record: &Record<Value<'_>>) -> TextOf {
        let first = self.events.len();
        self.read(choice, block, record);
        if self.repair.is_some() && self.events.len() == first + 1 {
            let rejected = self.events[first].diagnostic().filter(|its| its.code.is_repairable());
            let rejected = rejected.map(|its| Rejected::new(record.value.raw(), its.clone()));
            if let Some(rejected) = rejected
                && let Some(repaired) = self.repaired(choice, block, rejected, record.map(|_| ()))
            {
                self.events[first] = repaired;
            }
        }
        // What is neither delivered nor a call stays text; a list of no calls is none.
        let mut events = self.events.range(first..);
        let is_text = events.len() > 0 && events.all(|event| matches!(event, ResponseEvent::Rejected { .. }));
        if is_text { TextOf::NoCall(record.span) } else { TextOf::Record }
    }

    /// Adds the events of a record: itself, the calls in it, or why not.
    fn read(&mut self, choice: u64, block: u64, record: &Record<Value<'_>>) {
        let validated = self.validator.as_ref().map_or(Ok(()), |validator| record.validate(&**validator));
        let outcome = validated.and_then(|()| match self.text_as {
            TextMode::ToolCalls => {
                let tools = self.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
                let calls = ToolCall::all_from_record(record, tools);
                self.events.extend(calls.map(|call| call_event(choice, block, record, call)));
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

    /// What a repair hook makes of what was lost at this place.
    fn repaired(
        &mut self,
        choice: u64,
        block: u64,
        rejected: Rejected,
        place: Record<()>,
    ) -> Option<ResponseEvent<T>> {
        let replacement = self.repair.as_mut()?(rejected)?;
        let (first, limits) = (self.events.len(), self.limits);
        place.repaired(&replacement, &limits, |record| self.read(choice, block, record))?;
        let mut events = self.events.split_off(first);
        // It takes the place of one; and a call may be rejected once more.
        let event = events.pop_front().filter(|_| events.is_empty())?;
        event.diagnostic().is_none().then_some(event)
    }
}

/// The event for what was read as a call.
fn call_event<T>(
    choice: u64,
    block: u64,
    record: &Record<Value<'_>>,
    call: Result<ToolCall, Box<RejectedCall>>,
) -> ResponseEvent<T> {
    let is_repaired = record.recovered.contains(Recovery::Repaired);
    match call {
        // A clean end seals with the evidence it is; this is any other. A replacement is whole.
        Ok(call) if record.completion == CompletedBy::EndOfInput && !is_repaired => {
            let message = "the tool call is balanced, but the answer ended without proof that it is whole";
            let diagnostic =
                Diagnostic::new(Code::Unsealed, record.line, record.span, record.column, message);
            let mut rejected = RejectedCall::new(diagnostic, record.value.raw());
            (rejected.name, rejected.call_id) = (Some(call.name), call.call_id);
            ResponseEvent::RejectedCall { choice, block, call: Box::new(rejected) }
        }
        Ok(call) => ResponseEvent::ToolCall { choice, block, call, record: Some(record.map(|_| ())) },
        // An object that is no call.
        Err(call) if call.diagnostic.code == Code::MissingField => {
            ResponseEvent::from_diagnostic(Some(choice), block, call.diagnostic)
        }
        Err(call) => ResponseEvent::RejectedCall { choice, block, call },
    }
}

/// Whether a text that could not be read looks like a call: an object with a member of its own that has one of the names
/// that a call's have. Its name, as far as it was read.
fn call_in(text: &str) -> Option<Option<String>> {
    const NAMES: [&str; 2] = ["name", "parameters"];
    let object = &text[text.find('{')?..];
    let mut parser = Parser::new();
    let read = match parser.resume(object) {
        Step::Malformed(error) => {
            parser.reset();
            // Up to there it is not malformed.
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
