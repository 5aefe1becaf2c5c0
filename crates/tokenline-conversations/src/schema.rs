//! The contract as a JSON Schema.

use serde_json::{Value, json};

use crate::Profile;

/// The contract as a JSON Schema. It cannot require unique ids, and many validators do not check `format`.
///
/// ```
/// use tokenline_conversations::{Profile, schema};
///
/// assert_eq!(schema(Profile::Open)["additionalProperties"], true);
/// assert_eq!(schema(Profile::Strict)["additionalProperties"], false);
/// ```
#[must_use]
pub fn schema(profile: Profile) -> Value {
    json!({
        "type": "object",
        "properties": {
            "conversation_id": {"type": "string"},
            "user_id": {"type": "string"},
            "timestamp": {"type": "string", "format": "date-time"},
            "messages": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"role": {"type": "string"}, "content": {"type": "string"}},
                    "required": ["role", "content"],
                    "additionalProperties": false
                }
            },
            "metadata": {"type": "object"}
        },
        "required": ["conversation_id", "user_id", "timestamp", "messages"],
        "additionalProperties": profile == Profile::Open
    })
}
