//! Conversations without identifying data.

use std::io::{self, Read, Write};

use tokenline_core::json::Value;

use crate::{ConversationValidator, Profile, ValidationReport};

/// Reduces conversations to their messages: `{"messages":[{"role":...,"content":...}]}` per line, in the order of the
/// input, roles and contents byte for byte. Invalid lines are omitted; check [`is_valid`](ValidationReport::is_valid)
/// in the report.
///
/// ```
/// use tokenline_conversations::{Profile, Snapshot};
///
/// let line = br#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"content":"\u0041h.","role":"user"}]}"#;
/// let mut messages = Vec::new();
/// let report = Snapshot::new(Profile::Open).write("c.jsonl", &line[..], &mut messages)?;
/// assert!(report.is_valid);
/// assert_eq!(messages, b"{\"messages\":[{\"role\":\"user\",\"content\":\"\\u0041h.\"}]}\n");
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "call `write`"]
pub struct Snapshot {
    profile: Profile,
    jobs: usize,
    max_errors: usize,
}

impl Snapshot {
    /// A snapshot of conversations that match this profile of the contract.
    pub fn new(profile: Profile) -> Self {
        Self { profile, jobs: 1, max_errors: 100 }
    }

    /// Sets the number of threads; default: 1.
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Sets the number of errors that the report lists; default: 100.
    pub fn max_errors(self, max_errors: usize) -> Self {
        Self { max_errors, ..self }
    }

    /// Reads a source to its end, and writes the result as it goes.
    ///
    /// # Errors
    ///
    /// If the source cannot be read, or the target cannot be written.
    pub fn write(
        self,
        path: impl Into<String>,
        source: impl Read + Send,
        mut target: impl Write + Send,
    ) -> io::Result<ValidationReport> {
        let mut validator = ConversationValidator::with_messages(self.profile, true);
        validator = validator.jobs(self.jobs).max_errors(self.max_errors);
        validator.engine.tally.on_kept = Some(Box::new(|line| target.write_all(line)));
        validator.read(path, source)?;
        validator.finish()
    }
}

/// Writes a conversation's messages as one line.
pub(crate) fn write_messages(conversation: Value<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"messages\":[");
    let messages = conversation.get("messages").and_then(Value::as_array);
    for (number, message) in messages.into_iter().flatten().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        for (before, name) in [("{\"role\":", "role"), (",\"content\":", "content")] {
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(message.get(name).map_or("null", Value::raw).as_bytes());
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}\n");
}
