//! Validation of conversations.

use std::fmt;
use std::io;

use tokenline_core::Violation;
use tokenline_core::json::Value;

use crate::LineError;
use crate::contract::{self, Fact};
use crate::ids::{IdHash, IdSet};
use crate::lines::{Contract, Count, Engine, Fault, shared_methods};
use crate::report::{Summary, ValidationReport, Warnings};

/// The members allowed in addition to the contract's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Additional members are allowed at the top level, not in messages.
    #[default]
    Open,
    /// Additional members are allowed in `metadata` only.
    Strict,
}

/// Validates JSON Lines against the contract for conversations.
///
/// An invalid line affects only itself: it is named in the [report](Self::finish), and does not reserve its id. Memory
/// does not grow with the input, except for 16 bytes, plus table overhead, per conversation id and user id: a 128-bit
/// hash with a new key in every run. Duplicates are therefore exact, with an error probability of 1 in 10^18 for ten
/// billion ids.
///
/// ```
/// use tokenline_conversations::{ConversationValidator, Profile};
///
/// let mut validator = ConversationValidator::new(Profile::Open);
/// validator.push(br#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[]}"#);
/// validator.push(b"\n{\"conversation_id\":");
/// let report = validator.finish()?;
/// assert_eq!((report.valid_conversation_count, report.invalid_line_count), (1, 1));
/// assert_eq!((report.errors[0].line_number, report.errors[0].code.as_str()), (2, "truncated"));
/// # Ok::<_, std::io::Error>(())
/// ```
///
/// A file of any size, on two threads:
///
/// ```no_run
/// use std::fs::File;
/// use tokenline_conversations::{ConversationValidator, Profile};
///
/// let mut validator = ConversationValidator::new(Profile::Open).jobs(2);
/// validator.read("conversations.jsonl", File::open("conversations.jsonl")?)?;
/// let report = validator.finish()?;
/// println!("{}", serde_json::to_string_pretty(&report)?);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[must_use = "call `finish` for the report"]
pub struct ConversationValidator<'s> {
    pub(crate) engine: Engine<'s, Conversations, Totals>,
}

shared_methods!(ConversationValidator);

impl ConversationValidator<'_> {
    /// A validator before its first input.
    pub fn new(profile: Profile) -> Self {
        Self::with_messages(profile, false)
    }

    pub(crate) fn with_messages(profile: Profile, keeps_messages: bool) -> Self {
        let contract = Conversations::new(profile, IdHash::new(), keeps_messages);
        Self { engine: Engine::new(contract, Totals::default()) }
    }

    /// Ends the input, and returns the report.
    ///
    /// # Errors
    ///
    /// If the [callback for invalid lines](Self::on_invalid) failed for a pushed line.
    pub fn finish(self) -> io::Result<ValidationReport> {
        let max_errors = self.engine.tally.max_errors;
        let (input_path, mut counts, totals) = self.engine.finish()?;
        let mut error_count = counts.invalid;
        if counts.non_empty == 0 {
            error_count += 1;
            match max_errors {
                0 => counts.dropped += 1,
                _ => counts.errors.push(LineError::empty_dataset(&input_path)),
            }
        }
        Ok(ValidationReport {
            schema_version: ValidationReport::SCHEMA_VERSION.to_owned(),
            input_path,
            total_lines: counts.lines,
            non_empty_lines: counts.non_empty,
            valid_conversation_count: totals.valid,
            invalid_line_count: counts.invalid,
            unique_conversation_id_count: totals.conversation_ids.len() as u64,
            duplicate_conversation_id_count: totals.duplicates,
            error_count,
            dropped_error_count: counts.dropped,
            is_valid: error_count == 0,
            summary: totals.summary(),
            errors: counts.errors,
            advice: totals.advice,
        })
    }
}

/// The contract for conversations.
#[derive(Debug)]
pub(crate) struct Conversations {
    profile: Profile,
    ids: IdHash,
    keeps_messages: bool,
}

impl Conversations {
    pub(crate) fn new(profile: Profile, ids: IdHash, keeps_messages: bool) -> Self {
        Self { profile, ids, keeps_messages }
    }
}

impl Contract for Conversations {
    type Fact = Fact;

    fn check(&self, record: Value<'_>, kept: &mut Vec<u8>) -> Result<Fact, Box<Violation>> {
        let fact = contract::check(record, self.profile, self.ids)?;
        if self.keeps_messages {
            crate::snapshot::write_messages(record, kept);
        }
        Ok(fact)
    }

    fn public_path(&self, mut path: String) -> String {
        let known = contract::known_part(&path);
        path.truncate(known);
        path
    }
}

/// Totals of the valid conversations in a dataset.
#[derive(Default)]
pub(crate) struct Totals {
    conversation_ids: IdSet,
    user_ids: IdSet,
    valid: u64,
    duplicates: u64,
    messages: u64,
    min_messages: Option<u64>,
    max_messages: u64,
    advice: Warnings,
}

impl Count<Conversations> for Totals {
    fn count(&mut self, fact: Fact, column: u64) -> Result<(), Box<Fault>> {
        if !self.conversation_ids.insert(fact.conversation_id) {
            self.duplicates += 1;
            return Err(Box::new(Fault::duplicate_id(column + fact.id_at as u64)));
        }
        self.user_ids.insert(fact.user_id);
        self.valid += 1;
        self.messages += fact.messages;
        self.min_messages =
            Some(self.min_messages.map_or(fact.messages, |min_messages| min_messages.min(fact.messages)));
        self.max_messages = self.max_messages.max(fact.messages);
        self.advice.unusual_role_count += fact.unusual_roles;
        self.advice.missing_metadata_count += u64::from(!fact.has_metadata);
        Ok(())
    }
}

impl Totals {
    fn summary(&self) -> Summary {
        let average = if self.valid == 0 { 0.0 } else { self.messages as f64 / self.valid as f64 };
        Summary {
            conversation_count: self.valid,
            unique_user_count: self.user_ids.len() as u64,
            message_count: self.messages,
            avg_turn_count: average,
            min_turn_count: self.min_messages.unwrap_or(0),
            max_turn_count: self.max_messages,
        }
    }
}

/// Hides the ids.
impl fmt::Debug for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Totals").field("valid", &self.valid).finish_non_exhaustive()
    }
}
