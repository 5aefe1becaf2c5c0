//! Single lines, for engines that read and group by themselves.

use std::fmt;

use tokenline_core::Limits;

use crate::conversations::Conversations;
use crate::ids::IdHash;
use crate::lines::{Checker, Fault, Verdict};
use crate::{LineError, Profile};

/// Checks conversations line by line, without counting them.
///
/// For engines that split files over machines: they number the lines, and group by [`ConversationFacts::conversation_id`]
/// to find [duplicates](LineError::duplicate_id). The [`ConversationValidator`](crate::ConversationValidator) does all of
/// that for files on one machine, with the same errors.
///
/// ```
/// use tokenline_conversations::{LineChecker, Profile};
///
/// // All workers of a job need the same key. It should be random.
/// let mut checker = LineChecker::new(Profile::Open, 7);
/// let line = br#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[]}"#;
/// let facts = checker.check(line, false).unwrap()?;
/// assert_eq!((facts.message_count, facts.id_column), (0, 20));
///
/// let error = checker.check(b"{\"conversation_id\":\n", false).unwrap().unwrap_err();
/// assert_eq!(error.code.as_str(), "malformed_json");
/// assert!(checker.check(b"  \n", false).is_none(), "the line is blank");
/// # Ok::<_, Box<tokenline_conversations::LineError>>(())
/// ```
pub struct LineChecker {
    checker: Checker,
    contract: Conversations,
}

/// The properties of a valid conversation that are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationFacts {
    /// A 128-bit hash of the conversation's id.
    pub conversation_id: u128,
    /// A 128-bit hash of the user's id.
    pub user_id: u128,
    /// The column of the conversation's id, counted from 1 in bytes.
    pub id_column: u64,
    /// The number of messages.
    pub message_count: u64,
    /// Messages with a role other than `user` and `assistant`.
    pub unusual_role_count: u64,
    /// Whether there is `metadata`.
    pub has_metadata: bool,
}

impl LineChecker {
    /// A checker whose hashes depend on `key`.
    #[must_use]
    pub fn new(profile: Profile, key: u128) -> Self {
        Self::with_limits(profile, key, Limits::default())
    }

    /// The same with other limits for the length of lines and the depth of values.
    #[must_use]
    pub fn with_limits(profile: Profile, key: u128, limits: Limits) -> Self {
        Self {
            checker: Checker::new(limits),
            contract: Conversations::new(profile, IdHash::with_key(key), false),
        }
    }

    /// Checks one line; `None` if it is blank.
    ///
    /// Pass the line with its line feed: a line without one is the last of its input, and may have been cut off.
    /// `is_first` allows a byte order mark.
    ///
    /// # Errors
    ///
    /// The first error of the line, as if it was line 1 at offset 0 of an input without a path.
    pub fn check(
        &mut self,
        line: &[u8],
        is_first: bool,
    ) -> Option<Result<ConversationFacts, Box<LineError>>> {
        let Verdict { line_start, column, result, .. } =
            self.checker.check_line(line, is_first, &self.contract)?;
        let into_error = |fault: Box<Fault>| Box::new(fault.into_error(1, line_start as u64, String::new()));
        Some(result.map_err(into_error).map(|fact| ConversationFacts {
            conversation_id: fact.conversation_id,
            user_id: fact.user_id,
            id_column: column + fact.id_at as u64,
            message_count: fact.messages,
            unusual_role_count: fact.unusual_roles,
            has_metadata: fact.has_metadata,
        }))
    }
}

impl LineError {
    /// The error of a conversation whose id is that of an earlier one. `id_column` is that of the facts.
    #[must_use]
    pub fn duplicate_id(id_column: u64) -> Self {
        Fault::duplicate_id(id_column).into_error(1, 0, String::new())
    }
}

impl fmt::Debug for LineChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineChecker").finish_non_exhaustive()
    }
}

/// Hides the ids.
impl fmt::Debug for ConversationFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message_count, unusual_role_count, has_metadata, .. } = self;
        f.debug_struct("ConversationFacts")
            .field("message_count", message_count)
            .field("unusual_role_count", unusual_role_count)
            .field("has_metadata", has_metadata)
            .finish_non_exhaustive()
    }
}
