//! A conversation, typed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A conversation, as the contract has it.
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
    /// Which it is, once in a dataset.
    pub conversation_id: String,
    /// Whose it is.
    pub user_id: String,
    /// When it was: a date-time with an offset, as RFC 3339 has it.
    pub timestamp: String,
    /// What was said, in order.
    pub messages: Vec<ConversationMessage>,
    /// Where it is from, in any form.
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
    /// Who says it: `user` or `assistant`, as a rule.
    pub role: String,
    /// What is said.
    pub content: String,
}
