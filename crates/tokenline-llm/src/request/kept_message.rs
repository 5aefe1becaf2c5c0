//! A message kept for the next request, in the client's hands.

use super::{AssistantPart, Message};
use crate::Provider;

/// An assistant message with the data that its provider attached, as a text for a client of another provider's API: the client
/// sends it back with the next request, in a member whose content it does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptMessage(String);

const PREFIX: &str = "tokenline:";

impl KeptMessage {
    /// The text of a message. `None` if there is nothing to keep that a client of this provider would not have anyway.
    pub(crate) fn of(message: &Message, client: Provider) -> Option<Self> {
        let Message::Assistant(parts) = message else { return None };
        let is_foreign = |part: &AssistantPart| {
            let opaque = part.opaque().filter(|opaque| opaque.provider != client);
            // The mere name of a member.
            opaque.is_some_and(|opaque| !opaque.data.as_str().starts_with('"'))
        };
        if !parts.iter().any(is_foreign) {
            return None;
        }
        let parts = serde_json::to_string(parts).ok()?;
        Some(Self(format!("{PREFIX}{parts}")))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts in a text; `None` if it is not of a kept message.
    pub(crate) fn parts(text: &str) -> Option<serde_json::Result<Vec<AssistantPart>>> {
        text.strip_prefix(PREFIX).map(serde_json::from_str)
    }
}
