//! What is asked of an answer: the schema, and what a schema cannot say.

use std::fmt;

use tokenline_core::json::Value;
use tokenline_core::{Code, Diagnostic, Record, Recovered, Recovery, Violation};

use crate::{CheckError, LlmResponse, ResponseReader, validator};

/// An answer that passed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// The answer.
    pub response: LlmResponse,
    /// What is not wrong, but not as it should be.
    pub warnings: Vec<AnalysisWarning>,
}

/// All that was found about an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Review {
    /// The answer, if nothing is wrong with it.
    pub response: Option<LlmResponse>,
    /// What is wrong with it, in the order of the places. At most [`MAX_ERRORS`](Self::MAX_ERRORS).
    pub errors: Vec<CheckError>,
    /// What is not wrong, but not as it should be. At most [`MAX_WARNINGS`](Self::MAX_WARNINGS).
    pub warnings: Vec<AnalysisWarning>,
}

impl Review {
    /// No more than so many errors of one answer are told.
    pub const MAX_ERRORS: usize = 100;
    /// No more than so many warnings about one answer are given.
    pub const MAX_WARNINGS: usize = 100;
}

/// Something about an answer that is not wrong, but not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnalysisWarning {
    /// There is a summary, but no subject was extracted.
    NoSubjects,
    /// A member that the schema neither names nor forbids. It is passed over, and XML does not hold it.
    UnknownMember {
        /// JSON Pointer to it; of a name of more than 64 characters these, and an ellipsis.
        path: String,
    },
    /// The JSON does not stand alone: there is text around it, or a code fence. Thinking before it is passed over
    /// without a warning.
    NotAlone,
}

impl fmt::Display for AnalysisWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSubjects => f.write_str("there is a summary, but no subject (at /analysis/subjects)"),
            Self::UnknownMember { path } => {
                // Names are the model's, and may be anything.
                let path: String =
                    path.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect();
                write!(f, "not part of the schema, passed over (at {path})")
            }
            Self::NotAlone => f.write_str("there is text around the JSON, which was passed over"),
        }
    }
}

/// Checks an answer; the first fault is the error.
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
/// If the text does not hold one JSON object, or that breaks a rule.
pub fn check(text: &str) -> Result<Checked, CheckError> {
    let mut reader = ResponseReader::new();
    reader.push(text)?;
    reader.finish()
}

/// Checks an answer, and tells all that is wrong with it.
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

/// Judges a whole answer. Of the faults at most so many.
pub(crate) fn judge(record: &Record<Value<'_>>, at_most: usize) -> Review {
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
        errors.sort_by_key(|error| error.diagnostic().map(|its| (its.line, its.column)));
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

/// Whether there is nothing to read in a text.
fn is_blank(text: &str) -> bool {
    text.chars().all(|char| char.is_whitespace() || char == '\u{feff}')
}

/// Whether an answer stands as it should: one object, and at most text around it, which is a warning.
pub(crate) fn is_one_object(recovered: Recovered) -> bool {
    const AROUND: [Recovery; 4] = [Recovery::Fence, Recovery::Think, Recovery::Prose, Recovery::SeveralLines];
    recovered.iter().all(|recovery| AROUND.contains(&recovery))
}

/// What the error says of more than one object.
pub(crate) fn not_one_object(record: &Record<Value<'_>>) -> CheckError {
    let message = "expected one JSON object, and nothing like it beside or around it";
    let Record { line, column, span, .. } = *record;
    CheckError::NotOneObject(Box::new(Diagnostic::new(Code::TrailingData, line, span, column, message)))
}

/// Characters that a name is told by.
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
