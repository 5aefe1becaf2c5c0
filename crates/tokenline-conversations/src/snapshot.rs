//! Conversations without what tells whose they are.

use std::io::{self, Read, Write};

use tokenline_core::json::Value;

use crate::{ConversationValidator, Profile, ValidationReport};

/// Rewrites conversations so that nothing is left of them but who says what: `{"messages":[{"role":...,"content":...}]}`
/// a line, in the order of the input, roles and contents byte for byte as they came. Lines that are not valid are left
/// out; whether that is good enough is the [report](ValidationReport::is_valid)'s to say.
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
#[must_use = "nothing is written yet"]
pub struct Snapshot {
    profile: Profile,
    jobs: usize,
    max_errors: usize,
}

impl Snapshot {
    /// A rewrite of conversations that fit this profile of the contract.
    pub fn new(profile: Profile) -> Self {
        Self { profile, jobs: 1, max_errors: 100 }
    }

    /// Sets how many threads check; one unless told otherwise.
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Sets how many errors the report names; 100 unless told otherwise.
    pub fn max_errors(self, max_errors: usize) -> Self {
        Self { max_errors, ..self }
    }

    /// Reads a source to its end, and writes on the way.
    ///
    /// # Errors
    ///
    /// If the source cannot be read, or the target not be written.
    pub fn write(
        self,
        path: impl Into<String>,
        source: impl Read + Send,
        mut target: impl Write + Send,
    ) -> io::Result<ValidationReport> {
        let mut validator = ConversationValidator::keeping(self.profile, true);
        validator = validator.jobs(self.jobs).max_errors(self.max_errors);
        validator.engine.tally.on_kept = Some(Box::new(|line| target.write_all(line)));
        validator.read(path, source)?;
        validator.finish()
    }
}

/// Writes a conversation's messages, as a line.
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
