//! Checks of a response: the schema, and rules beyond it.

use std::fmt;

use tokenline_core::json::Value;
use tokenline_core::{Code, Diagnostic, Record, Recovered, Recovery, Violation};

use crate::{CheckError, LlmResponse, ResponseReader, validator};

/// A response that passed all checks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// The response.
    pub response: LlmResponse,
    /// Minor problems.
    pub warnings: Vec<AnalysisWarning>,
}

/// All errors and warnings of a response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Review {
    /// The response, if there are no errors.
    pub response: Option<LlmResponse>,
    /// The errors, in the order of their positions. At most [`MAX_ERRORS`](Self::MAX_ERRORS).
    pub errors: Vec<CheckError>,
    /// The warnings. At most [`MAX_WARNINGS`](Self::MAX_WARNINGS).
    pub warnings: Vec<AnalysisWarning>,
}

impl Review {
    /// The maximum number of errors reported for one response.
    pub const MAX_ERRORS: usize = 100;
    /// The maximum number of warnings reported for one response.
    pub const MAX_WARNINGS: usize = 100;
}

/// A minor problem of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnalysisWarning {
    /// There is a summary, but no subject.
    NoSubjects,
    /// A member that the schema neither defines nor forbids. It is ignored, and not stored as XML.
    UnknownMember {
        /// JSON Pointer to the member; a name of more than 64 characters is truncated with an ellipsis.
        path: String,
    },
    /// There is text or a code fence around the JSON. Reasoning before it is ignored without a warning.
    SurroundingText,
}

impl fmt::Display for AnalysisWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSubjects => f.write_str("there is a summary, but no subject (at /analysis/subjects)"),
            Self::UnknownMember { path } => {
                // Names come from the model, and may be anything.
                let path: String =
                    path.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect();
                write!(f, "not part of the schema; ignored (at {path})")
            }
            Self::SurroundingText => f.write_str("there is text around the JSON; ignored"),
        }
    }
}

/// Checks a response. The first fault is returned as the error.
///
/// ```
/// use tokenline_chat_analysis::{AnalysisWarning, check};
///
/// let checked = check(r#"{
///   "response": "A 529 plan is a good start.",
///   "analysis": {"subjects": [], "summaryUpdate": "User asked about college savings."}
/// }"#)?;
/// assert_eq!(checked.response.response, "A 529 plan is a good start.");
/// assert_eq!(checked.warnings, [AnalysisWarning::NoSubjects]);
///
/// let error = check(r#"{"response": " ", "analysis": {"subjects": [], "summaryUpdate": "Nothing yet."}}"#);
/// assert_eq!(error.unwrap_err().to_string(), "1:14: the response is blank (at /response)");
/// # Ok::<(), tokenline_chat_analysis::CheckError>(())
/// ```
///
/// # Errors
///
/// If the text is not one JSON object, or the object violates a rule.
pub fn check(text: &str) -> Result<Checked, CheckError> {
    let mut reader = ResponseReader::new();
    reader.push(text)?;
    reader.finish()
}

/// Checks a response, and returns all errors.
///
/// ```
/// use tokenline_chat_analysis::review;
///
/// let review = review(r#"{"response": "", "analysis": {"subjects": [], "summaryUpdate": "Short."}}"#);
/// let errors: Vec<String> = review.errors.iter().map(ToString::to_string).collect();
/// assert_eq!(errors, [
///     "1:14: schema_violation: fewer characters than minLength 1: has 0 (at /response)",
///     "1:64: schema_violation: fewer characters than minLength 10: has 6 (at /analysis/summaryUpdate)",
/// ]);
/// ```
#[must_use]
pub fn review(text: &str) -> Review {
    let mut reader = ResponseReader::for_review();
    match reader.push(text).map(|_| ()).and_then(|()| reader.finish_review()) {
        Ok(review) => review,
        Err(error) => Review { response: None, errors: vec![error], warnings: Vec::new() },
    }
}

/// Checks a complete response. Reports at most `at_most` errors.
pub(crate) fn check_record(record: &Record<Value<'_>>, at_most: usize) -> Review {
    let mut errors = Vec::new();
    for violation in validator().violations(record.value, at_most) {
        errors.push(CheckError::Invalid(Box::new(record.diagnose(violation))));
    }
    let response = record.value.pointer("/response");
    if errors.len() < at_most
        && let Some(blank) = response.filter(|text| text.as_str().is_some_and(|text| is_blank(&text)))
        && !errors.iter().any(|error| error.path() == Some("/response"))
    {
        let violation = Violation::new(Code::SchemaViolation, blank.range().start, "the response is blank")
            .with_instance_path("/response");
        errors.push(CheckError::Blank(Box::new(record.diagnose(violation))));
        errors.sort_by_key(|error| error.diagnostic().map(|diagnostic| (diagnostic.line, diagnostic.column)));
    }
    let mut response = None;
    if errors.is_empty() {
        match record.deserialize::<LlmResponse>() {
            Ok(record) => response = Some(record.value),
            Err(diagnostic) => errors.push(CheckError::Invalid(diagnostic)),
        }
    }
    let mut warnings = Vec::new();
    if let Some(LlmResponse { analysis, .. }) = &response
        && analysis.subjects.is_empty()
    {
        warnings.push(AnalysisWarning::NoSubjects);
    }
    unknown_members(record.value, &mut warnings);
    Review { response, errors, warnings }
}

/// Whether a text is invisible.
fn is_blank(text: &str) -> bool {
    text.chars().all(|char| char.is_whitespace() || char == '\u{feff}')
}

/// Whether the response is one object, at most with text around it, which is a warning.
pub(crate) fn is_one_object(recovered: Recovered) -> bool {
    const AROUND: [Recovery; 4] = [Recovery::Fence, Recovery::Think, Recovery::Prose, Recovery::SeveralLines];
    recovered.iter().all(|recovery| AROUND.contains(&recovery))
}

/// The error for more than one object.
pub(crate) fn not_one_object(record: &Record<Value<'_>>) -> CheckError {
    let message = "expected exactly one JSON object, not inside other JSON";
    let Record { line, column, span, .. } = *record;
    CheckError::NotOneObject(Box::new(Diagnostic::new(Code::TrailingData, line, span, column, message)))
}

/// Characters shown of a name.
const MAX_NAME: usize = 64;

fn unknown_members(root: Value<'_>, warnings: &mut Vec<AnalysisWarning>) {
    let mut look = |value: Option<Value<'_>>, known: &[&str]| {
        for (name, member) in value.and_then(Value::as_object).into_iter().flatten() {
            if !known.contains(&name) && warnings.len() < Review::MAX_WARNINGS {
                let mut path = root.pointer_at(member.range().start);
                let name = path.rfind('/').map_or(0, |at| at + 1);
                if let Some((at, _)) = path[name..].char_indices().nth(MAX_NAME) {
                    path.replace_range(name + at.., "…");
                }
                warnings.push(AnalysisWarning::UnknownMember { path });
            }
        }
    };
    look(Some(root), &["response", "analysis"]);
    look(root.get("analysis"), &["subjects", "summaryUpdate"]);
    for subject in root.pointer("/analysis/subjects").and_then(Value::as_array).into_iter().flatten() {
        look(Some(subject), &["name", "description", "isNew", "keywords"]);
        for keyword in subject.get("keywords").and_then(Value::as_array).into_iter().flatten() {
            look(Some(keyword), &["term", "confidence"]);
        }
    }
}
