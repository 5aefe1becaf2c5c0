//! The types of a response.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use tokenline_core::json::{Number, Raw};

/// A model's response: the text for the user, and the analysis of the exchange.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LlmResponse {
    /// The text for the user: 1 to 10,000 characters, not blank.
    pub response: String,
    /// The analysis of the exchange.
    pub analysis: LlmAnalysis,
}

/// The analysis of an exchange.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmAnalysis {
    /// The main subjects, at most 3.
    pub subjects: Vec<LlmSubject>,
    /// New information in two or three sentences: 10 to 500 characters.
    pub summary_update: String,
}

/// A subject of an exchange.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmSubject {
    /// The identifier: 2 to 50 characters, words of `a-z` and `0-9` joined by hyphens.
    pub name: String,
    /// A short description: 10 to 200 characters.
    pub description: String,
    /// Whether the subject is new in this exchange.
    pub is_new: bool,
    /// The key concepts, at most 10.
    pub keywords: Vec<LlmKeyword>,
}

/// A key concept of a subject.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LlmKeyword {
    /// The concept, in the format of a subject's [name](LlmSubject::name).
    pub term: String,
    /// The model's confidence.
    pub confidence: ConfidenceScore,
}

/// A confidence from 0 to 1, kept as written: `0.90` stays `0.90`, and only its [value](Self::value) equals that of
/// `0.9`. It is validated by its value as an `f64`, as by most JSON parsers.
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
    /// The number as written.
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

    /// Parses a number in JSON notation.
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
    /// Keeps the number as written if deserialized from a JSON value of `tokenline_core`; otherwise only its value.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(<Raw as Deserialize>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Serialize for ConfidenceScore {
    /// Serializes the value: a serializer cannot take a literal. [`LlmResponse::to_json`] keeps it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The error for a confidence that is not a number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidConfidence;

impl fmt::Display for InvalidConfidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a confidence: a number from 0 to 1 in JSON notation")
    }
}

impl Error for InvalidConfidence {}
