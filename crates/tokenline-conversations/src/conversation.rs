//! A conversation, typed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A conversation in the form of the contract.
///
/// ```
/// use tokenline_conversations::Conversation;
///
/// let line = r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hello."}],"x":1}"#;
/// let conversation: Conversation = serde_json::from_str(line)?;
/// assert_eq!(conversation.messages[0].content, "Hello.");
/// assert_eq!(conversation.other["x"], 1);
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The id, unique in a dataset.
    pub conversation_id: String,
    /// The id of the user.
    pub user_id: String,
    /// The time: a date-time with an offset, as in RFC 3339.
    pub timestamp: String,
    /// The messages, in order.
    pub messages: Vec<ConversationMessage>,
    /// Information on the origin, in any form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Other members, which the [open](crate::Profile::Open) profile allows.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationMessage {
    /// The role: usually `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}
