//! Conversations between a user and an assistant, about 2.7 KB per line.

use super::random::Random;
use super::words;
use super::write::{Object, Spacing, Unicode};

/// The JSON Schema of every line: the canonical one for conversations.
pub(super) const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "conversation_id": { "type": "string" },
    "user_id": { "type": "string" },
    "timestamp": { "type": "string", "format": "date-time" },
    "messages": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "role": { "type": "string" },
          "content": { "type": "string" }
        },
        "required": ["role", "content"],
        "additionalProperties": false
      }
    },
    "metadata": { "type": "object" }
  },
  "required": ["conversation_id", "user_id", "timestamp", "messages"],
  "additionalProperties": true
}"#;

/// Appends one object.
pub(super) fn write(random: &mut Random, out: &mut String) {
    let mut object = Object::open(out, Spacing::Spaced, Unicode::Raw);
    let id = format!("conv_{:010x}", random.below(1 << 40));
    object.text("conversation_id", &id);
    object.text("user_id", &format!("user_{}", random.below(50_000)));
    let timestamp = format!(
        "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        random.between(1, 12),
        random.between(1, 28),
        random.below(24),
        random.below(60),
        random.below(60)
    );
    object.text("timestamp", &timestamp);
    let messages = object.name("messages");
    messages.push('[');
    for turn in 0..random.between(4, 6) {
        if turn > 0 {
            messages.push_str(", ");
        }
        message(messages, "user", &question(random));
        messages.push_str(", ");
        message(messages, "assistant", &reply(random));
    }
    messages.push(']');
    object.object("metadata", |metadata| {
        metadata.text("source", random.pick(&["postgres", "mongodb", "elasticsearch"]));
        metadata.text("tenant", random.pick(&["acme", "globex", "müller-söhne"]));
        metadata.text("channel", random.pick(&["webchat", "e-mail", "phone"]));
        metadata.raw("rating", random.pick(&["null", "1", "4", "5"]));
    });
    object.close();
}

fn message(out: &mut String, role: &str, content: &str) {
    let mut object = Object::open(out, Spacing::Spaced, Unicode::Raw);
    object.text("role", role);
    object.text("content", content);
    object.close();
}

fn question(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..random.between(1, 3) {
        if random.chance(35) {
            out.push_str(random.pick(words::FOREIGN));
        } else {
            out.push_str(&words::sentence(random));
        }
        out.push(' ');
    }
    out.push_str(&format!("What about the {}?", words::noun(random)));
    out
}

fn reply(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..random.between(1, 3) {
        out.push_str(&words::sentence(random));
        out.push(' ');
    }
    match random.below(4) {
        0 => {
            out.push_str("\n\n");
            for step in 1..=random.between(2, 4) {
                out.push_str(&format!("{step}. **{}**: {}\n", words::noun(random), words::sentence(random)));
            }
        }
        1 => {
            let (key, value) = (words::noun(random), words::adjective(random));
            out.push_str(&format!(
                "Try this:\n\n```python\nclient.update(\n    \
                 {{\"{key}\": \"{value}\"}},\n    path=\"C:\\\\{key}\",\n)\n```\n"
            ));
            out.push_str(&words::sentence(random));
        }
        2 => {
            out.push_str(&format!("See the section on \"{}\". ", random.pick(words::ENTITIES)));
            out.push_str(random.pick(words::FOREIGN));
            out.push_str("\n\n");
            out.push_str(&words::sentence(random));
        }
        _ => {
            for _ in 0..random.between(2, 5) {
                out.push_str(&words::sentence(random));
                out.push(' ');
            }
            out.push_str(random.pick(&["🙂", "👍", "—", "…", "✅"]));
        }
    }
    out
}
