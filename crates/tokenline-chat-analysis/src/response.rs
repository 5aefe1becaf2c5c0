//! An answer as it is used.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use tokenline_core::json::{Number, Raw};

/// What a model answers: the text for the user, and the analysis of the exchange.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LlmResponse {
    /// What the user is told. 1 to 10,000 characters, not all of them white space.
    pub response: String,
    /// What the exchange was about.
    pub analysis: LlmAnalysis,
}

/// What an exchange was about.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmAnalysis {
    /// Its main themes, 3 at most.
    pub subjects: Vec<LlmSubject>,
    /// What is new, in two or three sentences: 10 to 500 characters.
    pub summary_update: String,
}

/// A theme of an exchange.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmSubject {
    /// Its identifier: 2 to 50 characters, words of `a-z` and `0-9` with hyphens between them.
    pub name: String,
    /// What it is, in short: 10 to 200 characters.
    pub description: String,
    /// Whether it came up in this exchange for the first time.
    pub is_new: bool,
    /// Its key concepts, 10 at most.
    pub keywords: Vec<LlmKeyword>,
}

/// A key concept of a subject.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LlmKeyword {
    /// The concept, written as the [name](LlmSubject::name) of a subject is.
    pub term: String,
    /// How sure the model is of it.
    pub confidence: ConfidenceScore,
}

/// How sure a model is: a number from 0 to 1, kept as it was written. So `0.90` stays `0.90`, and is not equal
/// to `0.9` unless the [values](Self::value) are compared. It is judged by its value, an `f64`, as most readers of JSON
/// do.
///
/// ```
/// use tokenline_chat_analysis::ConfidenceScore;
///
/// let confidence: ConfidenceScore = "0.90".parse()?;
/// assert_eq!(confidence.as_str(), "0.90");
/// assert_eq!(confidence.value(), 0.9);
/// assert!("1.01".parse::<ConfidenceScore>().is_err());
/// # Ok::<(), tokenline_chat_analysis::InvalidConfidence>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ConfidenceScore(Raw);

impl ConfidenceScore {
    /// The number as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The number, 0 to 1.
    #[must_use]
    pub fn value(&self) -> f64 {
        value_of(&self.0).unwrap_or_default()
    }

    fn of(literal: Raw) -> Result<Self, InvalidConfidence> {
        match value_of(&literal) {
            Some(value) if (0.0..=1.0).contains(&value) => Ok(Self(literal)),
            _ => Err(InvalidConfidence),
        }
    }
}

fn value_of(literal: &Raw) -> Option<f64> {
    literal.with_value(|value| value.as_number().map(Number::to_f64_saturating))
}

impl FromStr for ConfidenceScore {
    type Err = InvalidConfidence;

    /// Takes a number as it is written in JSON.
    fn from_str(literal: &str) -> Result<Self, InvalidConfidence> {
        let raw = Raw::new(literal).map_err(|_| InvalidConfidence)?;
        if raw.as_str() == literal { Self::of(raw) } else { Err(InvalidConfidence) }
    }
}

impl TryFrom<f64> for ConfidenceScore {
    type Error = InvalidConfidence;

    fn try_from(value: f64) -> Result<Self, InvalidConfidence> {
        serde_json::Number::from_f64(value).ok_or(InvalidConfidence)?.to_string().parse()
    }
}

impl fmt::Display for ConfidenceScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ConfidenceScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ConfidenceScore {
    /// From a JSON value of `tokenline_core` the number as it was written; from another format its value.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(<Raw as Deserialize>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Serialize for ConfidenceScore {
    /// The value: a serializer has no way to take a literal. [`LlmResponse::to_json`] has.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// It is no number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidConfidence;

impl fmt::Display for InvalidConfidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a confidence is a number from 0 to 1, written as in JSON")
    }
}

impl Error for InvalidConfidence {}
