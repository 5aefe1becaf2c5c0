//! Updates on how calls grow, if asked for.

use super::ToolCallAssembler;
use super::call::CallDelta;
use crate::{RejectedCall, ToolCall};

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
    /// More of its arguments. Not for arguments that a provider sends as values rather than as text.
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
        let number = self.calls[at].ordinal;
        self.announce(at);
        let (before, place) = (self.calls[at].text().len(), self.ready.len());
        let ended = |update: &CallUpdate| matches!(update, CallUpdate::Ended { .. });
        self.feed_any(at, delta);
        let grown = match self.calls.iter().find(|call| call.ordinal == number) {
            Some(call) if !call.has_ended() => call.text()[before..].to_owned(),
            // The call was released at its last brace; what it carries includes the rest.
            _ => match self.ready.range(place..).find(|update| ended(update)) {
                Some(CallUpdate::Ended { outcome: Ok(call), .. }) => {
                    call.parameters.as_str()[before..].to_owned()
                }
                _ => String::new(),
            },
        };
        if !grown.is_empty() {
            self.ready.insert(place, CallUpdate::Arguments { number, text: grown });
        }
    }

    /// Queues the beginning of the call, once, if it has a name.
    pub(super) fn announce(&mut self, at: usize) {
        let call = &self.calls[at];
        if !self.has_updates || call.is_announced || call.has_ended() {
            return;
        }
        let Some(name) = call.name.clone() else { return };
        let (number, (call_id, _)) = (call.ordinal, self.id_of(at));
        self.calls[at].is_announced = true;
        self.ready.push_back(CallUpdate::Began { number, call_id, name });
    }
}
