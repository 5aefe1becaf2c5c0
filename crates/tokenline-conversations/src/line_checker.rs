//! Checks of single conversations.

use std::fmt;

use tokenline_core::Limits;

use crate::conversations::Conversations;
use crate::ids::IdHash;
use crate::lines::{Fault, SingleLines};
use crate::{LineError, Profile};

/// Checks single lines, for engines that split a dataset over machines: they count lines and find duplicate ids.
///
/// ```
/// use tokenline_conversations::{LineChecker, Profile};
///
/// // All parts of a dataset use the same key. It is secret: who knows it can prepare ids with the same hash.
/// let mut checker = LineChecker::new(Profile::Open, 0x5eed);
/// let line = br#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[]}"#;
/// let facts = checker.check(line).expect("not blank").expect("valid");
/// assert_eq!((facts.conversation_id_column, facts.message_count), (20, 0));
/// let error = checker.check(b"[]").expect("not blank").expect_err("no object");
/// assert_eq!(error.code.as_str(), "non_object_line");
/// assert!(checker.check(b" \r").is_none());
/// ```
pub struct LineChecker {
    lines: SingleLines,
    contract: Conversations,
}

/// What a dataset's report needs of a valid conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineFacts {
    /// The hash of the id.
    pub conversation_id: u128,
    /// The column of the id, counted from 1 in bytes: where a duplicate is reported.
    pub conversation_id_column: u64,
    /// The hash of the user's id.
    pub user_id: u128,
    /// Messages.
    pub message_count: u64,
    /// Messages with a role other than `user` and `assistant`.
    pub unusual_role_count: u64,
    /// Whether there is `metadata`.
    pub has_metadata: bool,
}

impl LineChecker {
    /// A checker with the default limits. Ids are hashed with `key`.
    #[must_use]
    pub fn new(profile: Profile, key: u128) -> Self {
        let contract = Conversations { profile, ids: IdHash::with_key(key), keeps_messages: false };
        Self { lines: SingleLines::new(Limits::default()), contract }
    }

    /// Checks a line; `None` if it is blank. It has its line feed, unless it is the last of an input that ends without
    /// one, and not the byte order mark at the start of an input.
    ///
    /// # Errors
    ///
    /// If the line is not a valid conversation. The error's line number is 1, its byte offset is that in the line, and
    /// it has no input path.
    pub fn check(&mut self, line: &[u8]) -> Option<Result<LineFacts, LineError>> {
        let verdict = self.lines.check(line, &self.contract)?;
        Some(verdict.result.map_err(|fault| of_fault(*fault)).map(|fact| LineFacts {
            conversation_id: fact.conversation_id,
            conversation_id_column: verdict.column + fact.id_at as u64,
            user_id: fact.user_id,
            message_count: fact.messages,
            unusual_role_count: fact.unusual_roles,
            has_metadata: fact.has_metadata,
        }))
    }
}

fn of_fault(fault: Fault) -> LineError {
    let Fault { code, rule, message, instance_path, column } = fault;
    let (line_number, byte_offset, input_path) = (1, column - 1, String::new());
    LineError { line_number, code, message, column, byte_offset, instance_path, rule, input_path }
}

/// Hides the key.
impl fmt::Debug for LineChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineChecker").field("profile", &self.contract.profile).finish_non_exhaustive()
    }
}
