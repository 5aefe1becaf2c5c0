//! Updates on how calls grow, if asked for.

use super::ToolCallAssembler;
use super::call::{Call, CallDelta, State, trim, trim_start};
use crate::{RejectedCall, ToolCall, ValidateCall};

/// An update on a native tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallUpdate {
    /// It begins: its name is known.
    Began {
        /// Its number in the response, from 1.
        number: u64,
        /// The id that the call will have.
        call_id: Option<String>,
        /// The tool's name.
        name: String,
    },
    /// More of its arguments. All pieces joined are the arguments as they are delivered, so what may still change is
    /// held back: an object without members, which others may replace, and a value that tools convert, with what follows
    /// it. Only those of a repaired call may differ.
    Arguments {
        /// Its number in the response, from 1.
        number: u64,
        /// More of their JSON text.
        text: String,
    },
    /// It ended.
    Ended {
        /// Its number in the response, from 1.
        number: u64,
        /// The call, or why it is rejected.
        outcome: Result<ToolCall, Box<RejectedCall>>,
    },
}

impl ToolCallAssembler {
    /// A number that no other call of the response has, for one that is not native, such as a call in a text.
    pub fn take_number(&mut self) -> u64 {
        self.opened += 1;
        self.opened
    }

    /// Takes a fragment, and queues the updates that it makes.
    pub(super) fn feed_with_updates(&mut self, at: usize, delta: &CallDelta<'_>) {
        self.announce(at);
        self.feed_any(at, delta);
        // Other calls may have been removed, and the arguments may be those of another.
        let number = self.current;
        let Some(at) = self.calls.iter().position(|call| call.ordinal == number) else { return };
        self.announce(at);
        let tools = self.tools.as_deref().filter(ValidateCall::coerces);
        let call = &mut self.calls[at];
        if !call.is_announced {
            return;
        }
        let published = call.published;
        if let Some(text) = call.certain_text(tools).get(published..).filter(|text| !text.is_empty()) {
            let text = text.to_owned();
            call.published += text.len();
            self.ready.push_back(CallUpdate::Arguments { number, text });
        }
    }

    /// Queues what is missing of the arguments of a call that is released.
    pub(super) fn publish_rest(&mut self, at: usize, parameters: &str) {
        let call = &mut self.calls[at];
        let rest = parameters.get(call.published..).unwrap_or_default();
        if self.has_updates && !rest.is_empty() {
            let (number, text) = (call.ordinal, rest.to_owned());
            self.ready.push_back(CallUpdate::Arguments { number, text });
        }
    }

    /// Queues the beginning of the call, once, if it has a name.
    pub(super) fn announce(&mut self, at: usize) {
        let call = &self.calls[at];
        if !self.has_updates || call.is_announced || call.has_ended() {
            return;
        }
        let Some(name) = call.name.clone() else { return };
        // The rest of its name may follow.
        let is_known = || self.tools.as_ref().is_none_or(|tools| tools.has_tool(&name));
        if matches!(&call.state, State::Open(arguments) if arguments.is_blank()) && !is_known() {
            return;
        }
        let (number, (call_id, _)) = (call.ordinal, self.id_of(at));
        self.calls[at].is_announced = true;
        self.ready.push_back(CallUpdate::Began { number, call_id, name });
    }
}

impl Call {
    /// The part of the arguments so far that is delivered as it is: none before the first member begins. `tools` are those
    /// that convert values.
    fn certain_text(&mut self, tools: Option<&(dyn ValidateCall + Send + Sync)>) -> &str {
        let (State::Open(arguments) | State::Balanced(arguments)) = &self.state else { return "" };
        if arguments.fault.is_some() {
            return "";
        }
        let text = trim_start(&arguments.text);
        let has_member = text
            .strip_prefix('{')
            .is_some_and(|rest| !matches!(trim_start(rest).bytes().next(), None | Some(b'}')));
        let text = match &self.state {
            _ if !has_member => "",
            State::Balanced(_) => trim(text),
            State::Open(_) | State::Released(_) | State::Rejected => text,
        };
        let Some(tools) = tools.filter(|_| has_member) else { return text };
        let certain = self.certain.get_or_insert_default();
        &text[..certain.advance(text, self.name.as_deref().unwrap_or_default(), tools)]
    }
}
