//! From events to steps.

use std::any::Any;
use std::fmt;

use serde::Serialize;
use tokenline_core::json::Raw;
use tokenline_core::{Origin, RejectedCall, ToolCall};

use super::waiting::{Waiting, detached, number_of};
use super::{CallIds, Failure, PartKind, Step, StepRules, StepWriter};
use crate::request::{AssistantPart, Message};
use crate::{DataLoss, FinishReason, ResponseEvent, Usage};

/// The choices that start in their order.
const MAX_CHOICES: u64 = 128;

/// White space that a part may start with, in bytes. More of it starts the part.
const MAX_SPACE: usize = 1024;

/// Turns the events of a response into [steps](Step). Does no I/O.
///
/// The steps are well-formed whatever the events are. A response that is incomplete, or whose provider failed, ends with
/// [`Step::Failed`]. So does one that ends to call tools and has no call, because all were rejected. If other calls were
/// delivered, a rejected one is left out. A call starts with the first of its arguments; if it is rejected after that, the
/// response ends at once. Where rejects [are shown](StepRules::shows_rejects), it starts with its name.
///
/// Its parser needs [`text_and_reasoning`](crate::ResponseOptions::text_and_reasoning), and
/// [`call_updates`](crate::ResponseOptions::call_updates) for calls that grow.
pub struct Steps {
    rules: StepRules,
    ids: CallIds,
    choices: Vec<Choice>,
    usage: Option<Usage>,
    failure: Option<Failure>,
    is_ended: bool,
}

#[derive(Default)]
struct Choice {
    index: u64,
    open: Option<OpenPart>,
    /// White space between reasoning, too little for a part: the next text begins with it.
    space: String,
    calls: Vec<OpenCall>,
    waiting: Waiting,
    /// The number of calls that have started.
    started: u64,
    has_call: bool,
    /// Why the first rejected call was rejected.
    rejected: Option<String>,
    reason: Option<FinishReason>,
}

struct OpenPart {
    kind: PartKind,
    block: u64,
    /// White space that is not written yet; `None` once the part has started.
    space: Option<String>,
}

/// A call that grows.
struct OpenCall {
    /// Its number in the events.
    number: u64,
    /// The provider's id.
    provided: Option<String>,
    name: String,
    /// `None` until its start is written.
    started: Option<StartedCall>,
}

struct StartedCall {
    index: u64,
    id: String,
    /// The arguments so far, if they must not change.
    sent: String,
}

impl Steps {
    /// The steps of a response. `ids` are of its calls.
    #[must_use]
    pub fn new(rules: StepRules, ids: CallIds) -> Self {
        Self { rules, ids, choices: Vec::new(), usage: None, failure: None, is_ended: false }
    }

    /// Whether the last step is written.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Writes an event.
    pub fn push<T: Serialize + 'static>(&mut self, event: &ResponseEvent<T>, writer: &mut dyn StepWriter) {
        if self.is_ended {
            return;
        }
        match event {
            ResponseEvent::Usage(usage) => self.usage = Some(*usage),
            ResponseEvent::Finish { choice, reason } => {
                if let Some(at) = self.choice(*choice, writer) {
                    self.choices[at].reason.get_or_insert_with(|| reason.clone());
                }
            }
            ResponseEvent::Rejected { choice, diagnostic, .. } if DataLoss::is_failure(diagnostic) => {
                if self.has(choice.unwrap_or_default()) {
                    self.fail(Failure::of_provider(diagnostic));
                }
            }
            event => {
                let Some(at) = choice_of(event).and_then(|choice| self.choice(choice, writer)) else {
                    return;
                };
                self.content(at, event, writer);
                self.release(at, writer);
            }
        }
    }

    /// Notes that the response ends with an error. [`finish`](Self::finish) writes it. The first error counts.
    pub fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Ends the response.
    pub fn finish(&mut self, writer: &mut dyn StepWriter) {
        if self.is_ended {
            return;
        }
        self.choice(0, writer);
        for choice in &mut self.choices {
            choice.close_part(writer);
            if let Some(failure) = choice.failure() {
                self.failure.get_or_insert(failure);
            }
        }
        if self.failure.is_some() {
            return self.end_with_failure(writer);
        }
        for choice in &self.choices {
            writer.write(choice.index, Step::Finish(&choice.final_reason()));
        }
        writer.write(0, Step::End(self.usage.as_ref()));
        self.is_ended = true;
    }

    /// The message as the client knows it: with the calls that were delivered, and their ids. `None` if it has calls in its
    /// text: the client knows them as native ones.
    pub(super) fn as_delivered(&self, message: &Message) -> Option<Message> {
        let Message::Assistant(parts) = message else { return None };
        if self.ids.has_text_calls() {
            return None;
        }
        let mut ids = self.ids.delivered_ids();
        let parts = parts.iter().filter_map(|part| {
            let AssistantPart::ToolCall { call, opaque } = part else { return Some(part.clone()) };
            let id = ids.take(call)?;
            let (mut call, opaque) = (call.clone(), opaque.clone());
            call.call_id = Some(id);
            Some(AssistantPart::ToolCall { call, opaque })
        });
        Some(Message::Assistant(parts.collect()))
    }

    /// The ids of the calls.
    #[must_use]
    pub fn ids(&self) -> &CallIds {
        &self.ids
    }

    /// The ids of the calls.
    pub fn ids_mut(&mut self) -> &mut CallIds {
        &mut self.ids
    }

    /// Ends the open parts and calls of a response, without the steps that end it. Another response may follow, as part
    /// of the same message: see [`next_response`](Self::next_response).
    pub fn close(&mut self, writer: &mut dyn StepWriter) {
        for choice in &mut self.choices {
            choice.close_part(writer);
            for OpenCall { name, started, .. } in choice.calls.drain(..) {
                if let Some(StartedCall { id, .. }) = started {
                    let step = Step::CallDiscarded { id: &id, name: &name, reason: INCOMPLETE };
                    writer.write(choice.index, step);
                }
            }
        }
    }

    /// Begins the next response of a message.
    pub fn next_response(&mut self) {
        self.choices.clear();
        self.ids.next_response();
    }

    /// The error with which the response ends, as far as it is known.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    fn end_with_failure(&mut self, writer: &mut dyn StepWriter) {
        if let Some(failure) = &self.failure {
            writer.write(0, Step::Failed(failure));
        }
        self.is_ended = true;
    }

    /// Whether this choice is written.
    fn has(&self, choice: u64) -> bool {
        choice == 0 || self.rules.has_choices
    }

    /// The place of a choice, which starts if it is new; `None` if it is not written.
    fn choice(&mut self, index: u64, writer: &mut dyn StepWriter) -> Option<usize> {
        if !self.has(index) {
            return None;
        }
        if let Some(at) = self.choices.iter().position(|choice| choice.index == index) {
            return Some(at);
        }
        // Clients put the choices into a list, in the order in which they start.
        let first = self.choices.len() as u64;
        for index in (first..index.min(MAX_CHOICES)).chain([index]) {
            if self.choices.iter().all(|choice| choice.index != index) {
                writer.write(index, Step::Start);
                self.choices.push(Choice { index, ..Choice::default() });
            }
        }
        Some(self.choices.len() - 1)
    }
}

// The content of a choice.
impl Steps {
    fn content<T>(&mut self, at: usize, event: &ResponseEvent<T>, writer: &mut dyn StepWriter)
    where
        T: Serialize + 'static,
    {
        let choice = &mut self.choices[at];
        let is_of_open =
            number_of(event).is_some_and(|number| choice.calls.iter().any(|call| call.number == number));
        let is_busy = !choice.calls.is_empty() || !choice.waiting.is_empty();
        if !self.rules.is_interleaved && is_busy && !is_of_open {
            choice.waiting.extend(detached(event));
            return;
        }
        match event {
            ResponseEvent::Text { block, text, .. } => self.text(at, PartKind::Text, *block, text, writer),
            ResponseEvent::Refusal { text, .. } => self.text(at, PartKind::Refusal, 0, text, writer),
            ResponseEvent::Reasoning { text, opaque, .. } => {
                if !text.is_empty() {
                    self.text(at, PartKind::Reasoning, 0, text, writer);
                }
                if let Some(data) = opaque {
                    let choice = &mut self.choices[at];
                    writer.write(choice.index, Step::Opaque(data));
                    choice.close_reasoning(writer);
                }
            }
            ResponseEvent::Record { record, .. } => {
                choice.close_part(writer);
                match to_raw(&record.value) {
                    Ok(data) => writer.write(choice.index, Step::Record(&data)),
                    Err(error) => self.fail(Failure::new(500, error.to_string())),
                }
            }
            ResponseEvent::ToolCallBegan { number, call_id, name, .. } => {
                let (provided, name) = (call_id.clone(), name.clone());
                let call = OpenCall { number: *number, provided, name, started: None };
                choice.calls.push(call);
                if self.rules.shows_rejects {
                    choice.start_call(*number, &mut self.ids, writer);
                }
            }
            ResponseEvent::ToolCallArguments { number, text, .. } => {
                let index = choice.index;
                if let Some(call) = choice.start_call(*number, &mut self.ids, writer) {
                    if !self.rules.shows_rejects {
                        call.sent.push_str(text);
                    }
                    writer.write(index, Step::CallArguments { index: call.index, text });
                }
            }
            ResponseEvent::ToolCall { number, call, record, .. } => {
                self.end_call(at, *number, call, record.is_some(), writer);
            }
            ResponseEvent::RejectedCall { number, call, .. } => self.reject_call(at, *number, call, writer),
            ResponseEvent::ToolCallDiscarded { number, .. } => self.discard_call(at, *number, writer),
            _ => {}
        }
    }

    /// Writes the events that waited for the end of a call.
    fn release(&mut self, at: usize, writer: &mut dyn StepWriter) {
        while self.choices[at].calls.is_empty() && !self.is_ended {
            let mut waiting = std::mem::take(&mut self.choices[at].waiting);
            if waiting.is_empty() {
                return;
            }
            // Those that have to wait again keep their order.
            while !self.is_ended
                && let Some(event) = waiting.pop_front()
            {
                self.content(at, &event, writer);
            }
        }
    }

    fn text(&mut self, at: usize, kind: PartKind, block: u64, text: &str, writer: &mut dyn StepWriter) {
        let choice = &mut self.choices[at];
        if choice.open.as_ref().is_some_and(|open| (open.kind, open.block) != (kind, block)) {
            choice.close_part(writer);
        }
        let carried = &mut choice.space;
        let open = choice.open.get_or_insert_with(|| {
            let space = if kind == PartKind::Text { std::mem::take(carried) } else { String::new() };
            OpenPart { kind, block, space: Some(space) }
        });
        if let Some(space) = &mut open.space {
            space.push_str(text);
            let is_blank = space.trim_start().is_empty() && space.len() < MAX_SPACE;
            if is_blank && !self.rules.keeps_white_space {
                return;
            }
            let text = open.space.take().unwrap_or_default();
            writer.write(choice.index, Step::PartStart(kind));
            writer.write(choice.index, Step::PartDelta(kind, &text));
        } else {
            writer.write(choice.index, Step::PartDelta(kind, text));
        }
    }

    fn end_call(
        &mut self,
        at: usize,
        number: Option<u64>,
        call: &ToolCall,
        is_in_text: bool,
        writer: &mut dyn StepWriter,
    ) {
        let choice = &mut self.choices[at];
        let (name, provided) = (&*call.name, call.call_id.as_deref());
        let arguments = &call.parameters;
        choice.has_call = true;
        let started = choice.take_call(number).and_then(|open| open.started);
        let (index, id) = match started {
            Some(StartedCall { index, id, .. }) if self.rules.shows_rejects => (index, id),
            None if self.rules.has_whole_calls => {
                choice.close_part(writer);
                choice.space.clear();
                choice.started += 1;
                (choice.started - 1, self.ids.next(provided))
            }
            started => {
                let started = started.unwrap_or_else(|| choice.start(provided, name, &mut self.ids, writer));
                if !choice.complete_arguments(&started, arguments, writer) {
                    self.fail(Failure::new(502, CHANGED));
                    return self.end_with_failure(writer);
                }
                (started.index, started.id)
            }
        };
        if choice.index == 0 {
            self.ids.end(&id, provided, is_in_text, false);
        }
        choice.close_part(writer);
        writer.write(choice.index, Step::CallEnd { index, id: &id, name, arguments });
    }

    fn reject_call(
        &mut self,
        at: usize,
        number: Option<u64>,
        call: &RejectedCall,
        writer: &mut dyn StepWriter,
    ) {
        let choice = &mut self.choices[at];
        let started = choice.take_call(number).and_then(|open| open.started);
        if self.rules.shows_rejects {
            let Some(name) = call.name.as_deref() else { return };
            choice.close_part(writer);
            let provided = call.call_id.as_deref();
            let id = started.map_or_else(|| self.ids.next(provided), |started| started.id);
            if choice.index == 0 {
                self.ids.end(&id, provided, call.diagnostic.origin == Origin::Text, true);
            }
            return writer.write(choice.index, Step::CallRejected { id: &id, name, call });
        }
        let name = call.name.as_deref().unwrap_or("without a name");
        let reason = format!("rejected the tool call {name}: {}", call.diagnostic.for_model());
        choice.rejected.get_or_insert_with(|| reason.clone());
        if started.is_some() {
            self.fail(Failure::new(502, reason));
            self.end_with_failure(writer);
        }
    }

    fn discard_call(&mut self, at: usize, number: u64, writer: &mut dyn StepWriter) {
        let choice = &mut self.choices[at];
        let Some(OpenCall { name, started: Some(started), .. }) = choice.take_call(Some(number)) else {
            return;
        };
        if self.rules.shows_rejects {
            let (id, name) = (&*started.id, &*name);
            return writer.write(choice.index, Step::CallDiscarded { id, name, reason: DISCARDED });
        }
        self.fail(Failure::new(502, NOT_A_CALL));
        self.end_with_failure(writer);
    }
}

const DISCARDED: &str = "this is not a call, but text";
const INCOMPLETE: &str = "the call is incomplete";
const NOT_A_CALL: &str = "the text that began as a tool call is not one";
const CHANGED: &str = "the arguments of a tool call changed after they had been sent";
const MISSING: &str = "the response ended to call tools, and has no call";
const OPEN: &str = "a tool call is incomplete";

impl Choice {
    /// The open call of this number, whose start is written.
    fn start_call(
        &mut self,
        number: u64,
        ids: &mut CallIds,
        writer: &mut dyn StepWriter,
    ) -> Option<&mut StartedCall> {
        let at = self.calls.iter().position(|call| call.number == number)?;
        if self.calls[at].started.is_none() {
            let OpenCall { provided, name, .. } = &mut self.calls[at];
            let (provided, name) = (provided.take(), std::mem::take(name));
            let started = self.start(provided.as_deref(), &name, ids, writer);
            let call = &mut self.calls[at];
            (call.name, call.started) = (name, Some(started));
        }
        self.calls[at].started.as_mut()
    }

    fn start(
        &mut self,
        provided: Option<&str>,
        name: &str,
        ids: &mut CallIds,
        writer: &mut dyn StepWriter,
    ) -> StartedCall {
        self.close_part(writer);
        self.space.clear();
        let (index, id) = (self.started, ids.next(provided));
        self.started += 1;
        writer.write(self.index, Step::CallStart { index, id: &id, name });
        StartedCall { index, id, sent: String::new() }
    }

    /// Writes the arguments that are not sent yet. Returns false if those that are sent have changed.
    fn complete_arguments(&self, call: &StartedCall, arguments: &Raw, writer: &mut dyn StepWriter) -> bool {
        let text = arguments.to_single_line();
        match text.strip_prefix(&*call.sent) {
            Some("") => true,
            Some(rest) => {
                writer.write(self.index, Step::CallArguments { index: call.index, text: rest });
                true
            }
            None => is_same(&call.sent, arguments),
        }
    }

    fn take_call(&mut self, number: Option<u64>) -> Option<OpenCall> {
        let at = self.calls.iter().position(|call| Some(call.number) == number)?;
        Some(self.calls.remove(at))
    }

    fn close_part(&mut self, writer: &mut dyn StepWriter) {
        match self.open.take() {
            Some(OpenPart { kind, space: None, .. }) => writer.write(self.index, Step::PartEnd(kind)),
            Some(OpenPart { kind: PartKind::Text, space: Some(space), .. }) => self.space = space,
            _ => {}
        }
    }

    fn close_reasoning(&mut self, writer: &mut dyn StepWriter) {
        if self.open.as_ref().is_some_and(|open| open.kind == PartKind::Reasoning) {
            self.close_part(writer);
        }
    }

    /// Why the choice is not what the model was asked for, at its end.
    fn failure(&self) -> Option<Failure> {
        let is_cut = self.reason.as_ref().is_some_and(|reason| !reason.is_clean());
        let message = match &self.rejected {
            _ if is_cut => return None,
            _ if !self.calls.is_empty() => OPEN,
            Some(reason) if !self.has_call => reason,
            None if !self.has_call && self.reason == Some(FinishReason::ToolCalls) => MISSING,
            _ => return None,
        };
        Some(Failure::new(502, message))
    }

    fn final_reason(&self) -> FinishReason {
        match &self.reason {
            None | Some(FinishReason::Stop | FinishReason::ToolCalls) if self.has_call => {
                FinishReason::ToolCalls
            }
            None => FinishReason::Stop,
            Some(reason) => reason.clone(),
        }
    }
}

/// The choice of an event that is part of its content.
fn choice_of<T>(event: &ResponseEvent<T>) -> Option<u64> {
    match event {
        ResponseEvent::Text { choice, .. }
        | ResponseEvent::Reasoning { choice, .. }
        | ResponseEvent::Refusal { choice, .. }
        | ResponseEvent::Record { choice, .. }
        | ResponseEvent::ToolCall { choice, .. }
        | ResponseEvent::ToolCallBegan { choice, .. }
        | ResponseEvent::ToolCallArguments { choice, .. }
        | ResponseEvent::ToolCallDiscarded { choice, .. }
        | ResponseEvent::RejectedCall { choice, .. } => Some(*choice),
        ResponseEvent::Partial { .. }
        | ResponseEvent::PartialDiscarded { .. }
        | ResponseEvent::Invalid { .. }
        | ResponseEvent::Rejected { .. }
        | ResponseEvent::Note { .. }
        | ResponseEvent::TextDelta { .. }
        | ResponseEvent::Finish { .. }
        | ResponseEvent::Usage(_) => None,
    }
}

/// Whether the arguments sent are those of the call but for white space.
fn is_same(sent: &str, arguments: &Raw) -> bool {
    Raw::new(sent).is_ok_and(|sent| sent.to_compact() == arguments.to_compact())
}

/// A value as JSON: raw JSON as it is.
///
/// # Errors
///
/// If the value cannot be serialized.
pub fn to_raw<T: Serialize + 'static>(value: &T) -> Result<Raw, serde_json::Error> {
    if let Some(raw) = (value as &dyn Any).downcast_ref::<Raw>() {
        return Ok(raw.clone());
    }
    let json = serde_json::to_string(value)?;
    Raw::new(&json).map_err(serde::ser::Error::custom)
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps")
            .field("choices", &self.choices.len())
            .field("is_ended", &self.is_ended)
            .finish_non_exhaustive()
    }
}
