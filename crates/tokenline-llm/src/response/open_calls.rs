//! Updates on how calls in a text grow.

use tokenline_core::{LentEvent, RecordDecoder, ToolCallAssembler};

use super::ResponseEvent;
use super::event_queue::EventQueue;

/// The open call of a text that has been announced.
pub(super) struct Announced {
    number: u64,
    /// The offset of its first byte in the text.
    start: u64,
    name: String,
    /// The JSON text of its arguments that was emitted.
    sent: String,
}

impl Announced {
    /// Emits what is new of the open call, if there is one.
    pub(super) fn update<T>(
        announced: &mut Option<Self>,
        choice: u64,
        decoder: &mut RecordDecoder,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        let Some(call) = decoder.open_call() else { return };
        if announced.as_ref().is_none_or(|its| its.start != call.start || its.name != call.name) {
            Self::discard(announced, choice, out);
            let call_id = call.call_id.map(Into::into);
            *announced = Some(Self::begin(choice, call.start, &call.name, call_id, numbers, out));
        }
        // What tools may coerce is emitted once it is.
        let is_certain = !out.settings.rules.tools().is_some_and(|tools| tools.coerces());
        if let Some(announced) = announced.as_mut().filter(|_| is_certain) {
            announced.send(choice, call.parameters.get(announced.sent.len()..), out);
        }
    }

    /// Ends the announced call, if there is one, without a call.
    pub(super) fn discard<T>(announced: &mut Option<Self>, choice: u64, out: &mut EventQueue<T>) {
        if let Some(Self { number, .. }) = announced.take() {
            out.events.push_back(ResponseEvent::ToolCallDiscarded { choice, number });
        }
    }

    fn begin<T>(
        choice: u64,
        start: u64,
        name: &str,
        call_id: Option<String>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) -> Self {
        let (number, name) = (numbers.take_number(), name.to_owned());
        out.events.push_back(ResponseEvent::ToolCallBegan { choice, number, call_id, name: name.clone() });
        Self { number, start, name, sent: String::new() }
    }

    /// Emits more arguments.
    fn send<T>(&mut self, choice: u64, more: Option<&str>, out: &mut EventQueue<T>) {
        if let Some(text) = more.filter(|text| !text.is_empty()) {
            self.sent.push_str(text);
            let (number, text) = (self.number, text.to_owned());
            out.events.push_back(ResponseEvent::ToolCallArguments { choice, number, text });
        }
    }

    /// Puts the updates before the calls that the events from `first` on end, and numbers these. `end` is where the
    /// text of these events ends.
    pub(super) fn end_calls<T>(
        announced: &mut Option<Self>,
        choice: u64,
        (first, end): (usize, u64),
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        let mut its = announced.take_if(|its| its.start < end);
        let events = out.events.split_off(first);
        for mut event in events {
            match &mut event {
                ResponseEvent::ToolCall { number, call, record: Some(record), .. } => {
                    let start = record.span.start;
                    // What was emitted is the beginning of what is delivered, or it is discarded.
                    let begins = |its: &Self| call.parameters.as_str().starts_with(&its.sent);
                    let own = its.take_if(|its| its.start == start && its.name == call.name && begins(its));
                    let mut own = own.unwrap_or_else(|| {
                        Self::begin(choice, start, &call.name, call.call_id.clone(), numbers, out)
                    });
                    let more = call.parameters.as_str().strip_prefix(own.sent.as_str());
                    own.send(choice, more, out);
                    *number = Some(own.number);
                }
                ResponseEvent::RejectedCall { number, call, .. } => {
                    let own = its.take_if(|its| call.name.as_ref().is_none_or(|name| *name == its.name));
                    *number = own.map(|its| its.number);
                }
                _ => {}
            }
            out.events.push_back(event);
        }
        if let Some(Self { number, .. }) = its {
            out.events.insert(first, ResponseEvent::ToolCallDiscarded { choice, number });
        }
    }
}

/// Where the text of an event ends, if it may end a call.
pub(super) fn end_of(event: &LentEvent<'_>) -> u64 {
    match event {
        LentEvent::Record(record) => record.span.end,
        LentEvent::Rejected(diagnostic) => diagnostic.span.end,
        LentEvent::Text(span) | LentEvent::Reasoning(span) => span.end,
        _ => 0,
    }
}
