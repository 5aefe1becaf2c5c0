//! Messages for providers whose roles alternate.

use super::{ChatRequest, Message, RequestError, UserPart};
use crate::Provider;

/// The role of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The user, and the tools.
    User,
    Model,
    /// A system message inside the conversation, which only Anthropic accepts.
    System,
}

/// Consecutive messages of one role, with their indices.
pub(crate) struct Turn<'r> {
    pub(crate) side: Side,
    pub(crate) messages: Vec<(usize, &'r Message)>,
}

impl ChatRequest {
    /// The conversation without its system prompt. Consecutive messages of one role form one turn: the results of
    /// parallel calls must arrive together. A blank user message is omitted beside others of its turn.
    pub(crate) fn turns(&self, provider: Provider) -> Result<Vec<Turn<'_>>, RequestError> {
        let mut turns: Vec<Turn<'_>> = Vec::new();
        let is_system = |message: &Message| matches!(message, Message::System(_));
        for (index, message) in self.sent_messages().skip_while(|(_, message)| is_system(message)) {
            let side = match message {
                Message::User(_) | Message::Tool(_) => Side::User,
                Message::Assistant(_) => Side::Model,
                Message::System(_) if provider.info().history.has_inline_system => Side::System,
                Message::System(_) => {
                    let reason = "this provider accepts system messages only at the start".to_owned();
                    return Err(RequestError::Message { index, reason });
                }
            };
            match turns.last_mut() {
                Some(turn) if turn.side == side => turn.messages.push((index, message)),
                _ => turns.push(Turn { side, messages: vec![(index, message)] }),
            }
        }
        let is_blank = |part: &UserPart| part.as_text().is_some_and(|text| provider.is_blank(text));
        let is_sent =
            |message: &Message| !matches!(message, Message::User(parts) if parts.iter().all(is_blank));
        for turn in &mut turns {
            let index = turn.messages.first().map_or(0, |(index, _)| *index);
            turn.messages.retain(|(_, message)| is_sent(message));
            if turn.messages.is_empty() {
                return Err(RequestError::Message { index, reason: "the message is blank".to_owned() });
            }
        }
        Ok(turns)
    }
}

/// The id of a call or of its result, for providers that require one.
pub(crate) fn id<'r>(
    index: usize,
    what: &str,
    call_id: Option<&'r String>,
) -> Result<&'r String, RequestError> {
    call_id.ok_or_else(|| RequestError::Message { index, reason: format!("{what} has no call id") })
}
