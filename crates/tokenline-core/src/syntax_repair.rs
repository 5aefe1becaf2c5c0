//! Repair of malformed JSON by one edit of a closed list, where the text proves the edit.
//!
//! [`repair_syntax`] repairs a text if all of this holds:
//!
//! 1. The text is not JSON, and its root is an object or an array.
//! 2. Edits of one [kind](EditKind) make it JSON: at one place, or at all places of that kind, at most 64.
//! 3. No other edit of the list gives another value. The kinds that are not allowed count here, too, and so does a closer
//!    that may be missing or surplus elsewhere.
//! 4. The value passes the schema. Without one, only edits that [keep the value](EditKind::keeps_value) are allowed.
//! 5. No string, number or literal is invented, shortened or changed, and no name is repeated.
//!
//! Everything else stays as it is, and [`Unrepaired`] says why: doubled commas, missing colons and values, truncated
//! strings, literals and numbers, quotes inside strings, numbers such as `01` and `NaN`, repeated names, prose, and
//! faults of two kinds.
//!
//! # Notations
//!
//! The notations of Python and of JavaScript have one cause, the language that the model fell into, and count as one
//! kind each: single quotes with `True`, `False` and `None`, and single quotes with bare names. Bare names with `True`
//! belong to no language and are two kinds.
//!
//! # Closers
//!
//! Each closer counts, so one that is missing or surplus may stand at several places. `{"a":{"b":1},"c":2}}` has a surplus
//! brace at its end, or after the 1. Both texts are JSON with different values, so the text is
//! [ambiguous](Unrepaired::Ambiguous), unless a schema accepts only the edit at the end. Of a mismatched closer the number
//! is right, so it is proven by its opener.
//!
//! A truncated list looks like a complete one. Closers are added only at an end that the caller has
//! [confirmed](RepairOptions::is_end_confirmed), and not after a number, which may be truncated.
//!
//! # What the text cannot prove
//!
//! A text that is left without a trace of what it lost has one reading, and it is not the original: `[1,]` where a second
//! element was deleted, or a newline in a string in place of another character. Repair undoes the fault that it sees.
//!
//! # Work
//!
//! Linear in the length of the text. The text is read once for each of the 14 combinations of kinds, most of which end
//! at the first fault. At most 64 other places of closers are tried.

mod apply;
mod edit;
mod rivals;
mod summary;
mod walk;

use std::fmt;

use crate::Limits;
use crate::json::Parser;
use crate::json::Value;
use apply::Splice;
pub use edit::Edit;
pub use edit::EditKind;
pub use summary::RepairedSyntax;
use walk::Kinds;

/// Most places at which a text is edited, and most other places of closers that are tried.
const MAX_PLACES: usize = 64;
/// Most closers that are added.
const MAX_MISSING_CLOSERS: usize = 8;

/// The kinds that are tried together: each alone, and the notations of Python and of JavaScript.
const COMBINATIONS: [Kinds; 14] = [
    Kinds::of(&[EditKind::TrailingComma]),
    Kinds::of(&[EditKind::SurplusCloser]),
    Kinds::of(&[EditKind::Comment]),
    Kinds::of(&[EditKind::ControlCharacter]),
    Kinds::of(&[EditKind::CurlyQuotes]),
    Kinds::of(&[EditKind::PythonLiteral]),
    Kinds::of(&[EditKind::BareName]),
    Kinds::of(&[EditKind::SingleQuotes]),
    Kinds::of(&[EditKind::SingleQuotes, EditKind::PythonLiteral]),
    Kinds::of(&[EditKind::SingleQuotes, EditKind::BareName]),
    Kinds::of(&[EditKind::MismatchedCloser]),
    Kinds::of(&[EditKind::MissingComma]),
    Kinds::of(&[EditKind::InvalidEscape]),
    Kinds::of(&[EditKind::MissingCloser]),
];

/// Settings of [`repair_syntax`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// Caps on the text: [`Limits::line_bytes`] and [`Limits::depth`].
    pub limits: Limits,
    /// Whether the text is known to be complete: the model ended its response by itself. Not at a token limit, in an error,
    /// or for a tool call that may be truncated. Only then closers are added.
    pub is_end_confirmed: bool,
}

/// A schema, or another check of the repaired value.
pub type Accepts<'a> = &'a mut dyn FnMut(Value<'_>) -> bool;

/// A repaired text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxRepair {
    /// The text with the edits: one JSON object or array.
    pub text: String,
    /// The edits, in the order of the text. At least one.
    pub edits: Vec<Edit>,
}

/// The reason why a text is not repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unrepaired {
    /// The text is JSON already.
    Valid,
    /// The text is longer than the limit.
    TooLong,
    /// No edits of one kind make the text JSON.
    NoEdit,
    /// Several edits make the text JSON, with different values. Each item is one of them; not all may be listed.
    Ambiguous(Vec<Vec<Edit>>),
    /// The only edits change the value, which needs a schema.
    NeedsSchema(Vec<Edit>),
    /// The only edits add closers, which needs a confirmed end.
    NeedsConfirmedEnd(Vec<Edit>),
    /// The only edits give an object that names a member twice.
    RepeatedName(Vec<Edit>),
    /// The only edits give a value that the schema does not accept.
    Refused(Vec<Edit>),
}

impl fmt::Display for Unrepaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Valid => f.write_str("the text is JSON"),
            Self::TooLong => f.write_str("the text is longer than the limit"),
            Self::NoEdit => f.write_str("no edits of one kind make the text JSON"),
            Self::Ambiguous(candidates) => {
                f.write_str("several repairs give different values: ")?;
                for (index, edits) in candidates.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "; or " })?;
                    edit::write_list(f, edits)?;
                }
                Ok(())
            }
            Self::NeedsSchema(edits) => {
                edit::write_list(f, edits)?;
                f.write_str(" changes the value, and there is no schema to check it")
            }
            Self::NeedsConfirmedEnd(edits) => {
                edit::write_list(f, edits)?;
                f.write_str(" needs a confirmed end: the text may be truncated")
            }
            Self::RepeatedName(edits) => {
                edit::write_list(f, edits)?;
                f.write_str(" gives an object with two members of the same name")
            }
            Self::Refused(edits) => {
                edit::write_list(f, edits)?;
                f.write_str(" gives a value that breaks the schema")
            }
        }
    }
}

impl Unrepaired {
    /// Whether there are edits that a reject should name. Not those of a text that may be truncated, which its reject says.
    pub(crate) fn has_edits(&self) -> bool {
        !matches!(self, Self::Valid | Self::TooLong | Self::NoEdit | Self::NeedsConfirmedEnd(_))
    }
}

impl std::error::Error for Unrepaired {}

/// Repairs a malformed text by edits of one kind, if the [text proves them](self).
///
/// `accepts` is the schema. It is asked about the repaired value, and about the values of other places of closers.
///
/// ```
/// use tokenline_core::syntax_repair::{EditKind, RepairOptions, repair_syntax};
///
/// let options = RepairOptions::default();
/// let repair = repair_syntax(r#"{"entity":"DNA",}"#, &options, None)?;
/// assert_eq!(repair.text, r#"{"entity":"DNA"}"#);
/// assert_eq!(repair.edits[0].kind, EditKind::TrailingComma);
///
/// // A doubled comma may stand for a missing value.
/// assert!(repair_syntax("[1,,2]", &options, None).is_err());
/// # Ok::<(), tokenline_core::syntax_repair::Unrepaired>(())
/// ```
///
/// # Errors
///
/// The reason, if the text is JSON, or if no edit is proven and allowed.
pub fn repair_syntax(
    text: &str,
    options: &RepairOptions,
    accepts: Option<Accepts<'_>>,
) -> Result<SyntaxRepair, Unrepaired> {
    if text.len() as u64 > options.limits.effective_line_bytes() {
        return Err(Unrepaired::TooLong);
    }
    if Parser::new().with_limits(&options.limits).parse(text).is_ok() {
        return Err(Unrepaired::Valid);
    }
    let mut candidates = different_candidates(text, options);
    let Some(candidate) = candidates.pop() else { return Err(Unrepaired::NoEdit) };
    if !candidates.is_empty() {
        candidates.push(candidate);
        let candidates = candidates.iter().map(|candidate| edits_of(&candidate.splices));
        return Err(Unrepaired::Ambiguous(candidates.collect()));
    }
    let edits = check(text, &candidate, options, accepts)?;
    Ok(SyntaxRepair { text: candidate.text, edits })
}

/// A text that the edits of one combination make JSON.
struct Candidate {
    text: String,
    splices: Vec<Splice>,
}

/// The candidates that differ in their values, the first of each.
fn different_candidates(text: &str, options: &RepairOptions) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let (mut parser, mut other) =
        (Parser::new().with_limits(&options.limits), Parser::new().with_limits(&options.limits));
    for kinds in COMBINATIONS {
        let Some(splices) = walk::find_edits(text, kinds, options.limits.effective_depth() as usize) else {
            continue;
        };
        let repaired = apply::apply(text, &splices);
        let Ok(value) = parser.parse(&repaired) else { continue };
        if !apply::keeps_content(text, &splices) {
            continue;
        }
        let is_known = candidates.iter().any(|candidate| {
            other.parse(&candidate.text).is_ok_and(|candidate_value| candidate_value.is_same(value))
        });
        if !is_known {
            candidates.push(Candidate { text: repaired, splices });
        }
    }
    candidates
}

/// Checks that the only candidate is proven, allowed and accepted.
fn check(
    text: &str,
    candidate: &Candidate,
    options: &RepairOptions,
    accepts: Option<Accepts<'_>>,
) -> Result<Vec<Edit>, Unrepaired> {
    let edits = edits_of(&candidate.splices);
    let mut parser = Parser::new().with_limits(&options.limits);
    let mut accepts_all = |_: Value<'_>| true;
    let has_schema = accepts.is_some();
    let accepts = match accepts {
        Some(accepts) => accepts,
        None => &mut accepts_all,
    };
    let mut read = |text: &str| {
        let value = parser.parse(text).ok().filter(|value| value.repeated_name().is_none());
        value.map(&mut *accepts)
    };

    let Some(is_accepted) = read(&candidate.text) else {
        return Err(Unrepaired::RepeatedName(edits));
    };
    let Some(rivals) = rivals::find_rivals(text, &candidate.splices) else {
        return Err(Unrepaired::Ambiguous(vec![edits]));
    };
    // A value that the schema refuses is not the one that the model was asked for.
    let rival = rivals.iter().find(|rival| read(&apply::apply(text, rival)) == Some(true));
    if let Some(rival) = rival {
        return Err(Unrepaired::Ambiguous(vec![edits, edits_of(rival)]));
    }
    if !has_schema && edits.iter().any(|edit| !edit.kind.keeps_value()) {
        return Err(Unrepaired::NeedsSchema(edits));
    }
    if !options.is_end_confirmed && edits[0].kind == EditKind::MissingCloser {
        return Err(Unrepaired::NeedsConfirmedEnd(edits));
    }
    if is_accepted { Ok(edits) } else { Err(Unrepaired::Refused(edits)) }
}

fn edits_of(splices: &[Splice]) -> Vec<Edit> {
    splices.iter().map(Splice::edit).collect()
}
