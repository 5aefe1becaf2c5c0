//! Events that wait for the end of a call.

use std::collections::VecDeque;

use serde::Serialize;
use tokenline_core::json::Raw;

use super::steps::to_raw;
use crate::ResponseEvent;

/// The events of a choice that wait, because the protocol has one call at a time and the open one goes on.
pub(super) type Waiting = VecDeque<ResponseEvent<Raw>>;

/// The event, to be read later. `None` if it has no place in the order of a response's parts.
pub(super) fn detached<T: Serialize + 'static>(event: &ResponseEvent<T>) -> Option<ResponseEvent<Raw>> {
    Some(match event {
        ResponseEvent::Text { choice, block, text } => {
            ResponseEvent::Text { choice: *choice, block: *block, text: text.clone() }
        }
        ResponseEvent::Reasoning { choice, text, opaque } => {
            ResponseEvent::Reasoning { choice: *choice, text: text.clone(), opaque: opaque.clone() }
        }
        ResponseEvent::Refusal { choice, text } => {
            ResponseEvent::Refusal { choice: *choice, text: text.clone() }
        }
        // A protocol that has one call at a time has records as lines of text.
        ResponseEvent::Record { choice, block, record } => {
            let text = format!("{}\n", to_raw(&record.value).ok()?.to_single_line());
            ResponseEvent::Text { choice: *choice, block: *block, text }
        }
        ResponseEvent::ToolCallBegan { choice, number, call_id, name } => ResponseEvent::ToolCallBegan {
            choice: *choice,
            number: *number,
            call_id: call_id.clone(),
            name: name.clone(),
        },
        ResponseEvent::ToolCallArguments { choice, number, text } => {
            ResponseEvent::ToolCallArguments { choice: *choice, number: *number, text: text.clone() }
        }
        ResponseEvent::ToolCall { choice, number, block, call, record } => ResponseEvent::ToolCall {
            choice: *choice,
            number: *number,
            block: *block,
            call: call.clone(),
            record: *record,
        },
        ResponseEvent::ToolCallDiscarded { choice, number } => {
            ResponseEvent::ToolCallDiscarded { choice: *choice, number: *number }
        }
        ResponseEvent::RejectedCall { choice, number, block, call } => ResponseEvent::RejectedCall {
            choice: *choice,
            number: *number,
            block: *block,
            call: call.clone(),
        },
        _ => return None,
    })
}

/// The call that the event is about.
pub(super) fn number_of<T>(event: &ResponseEvent<T>) -> Option<u64> {
    match event {
        ResponseEvent::ToolCallBegan { number, .. }
        | ResponseEvent::ToolCallArguments { number, .. }
        | ResponseEvent::ToolCallDiscarded { number, .. } => Some(*number),
        ResponseEvent::ToolCall { number, .. } | ResponseEvent::RejectedCall { number, .. } => *number,
        _ => None,
    }
}
