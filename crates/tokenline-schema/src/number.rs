//! Numbers as seen by jsonschema and by JSON Schema's equality.

use std::borrow::Cow;

use jsonschema::json::JsonNumber;
use tokenline_core::json::Number;

/// A number of the tape. Treated as serde_json would read it, so that verdicts equal those over
/// `serde_json::Value`. Numbers that serde_json cannot hold are treated as infinities, or by their literal.
#[derive(Clone, Copy)]
pub(crate) struct TapeNumber<'a>(pub(crate) Number<'a>);

/// All floats from here on are whole: 2^63.
const ALL_WHOLE: f64 = 9_223_372_036_854_775_808.0;

impl JsonNumber for TapeNumber<'_> {
    #[inline]
    fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }

    #[inline]
    fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }

    #[inline]
    fn as_f64(&self) -> Option<f64> {
        // Rounded correctly, as serde_json does for jsonschema, in half the time.
        self.0.as_str().parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        // What serde_json would print: `multipleOf` reads the digits of numbers that are neither u64 nor i64,
        // and more digits would change the verdict.
        if self.0.as_u64().is_some() || self.0.as_i64().is_some() {
            return Cow::Borrowed(self.0.as_str());
        }
        match self.0.to_number() {
            Some(number) => Cow::Owned(number.to_string()),
            None => Cow::Borrowed(self.0.as_str()),
        }
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        // Only error texts use it, and those are not built from the tape.
        let number = self.0.to_number().or_else(|| {
            let limit = if self.0.as_str().starts_with('-') { f64::MIN } else { f64::MAX };
            serde_json::Number::from_f64(limit)
        });
        Cow::Owned(number.unwrap_or_else(|| 0.into()))
    }

    fn is_integer(&self) -> bool {
        if self.0.as_u64().is_some() || self.0.as_i64().is_some() {
            return true;
        }
        self.as_f64().is_none_or(|number| number.fract() == 0.0)
    }

    fn is_written_as_integer(&self) -> bool {
        // serde_json does not keep how a float was written; jsonschema then takes large floats, and not `-0`,
        // for integers.
        self.0.as_u64().is_some()
            || self.0.as_i64().is_some()
            || self.as_f64().map_or(self.0.is_written_as_integer(), |number| number.abs() >= ALL_WHOLE)
    }
}

/// A number by value: `1`, `1.0` and `1e0` are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Canonical<'a> {
    Whole(i128),
    Float(f64),
    /// Beyond the range of `f64`: equal only if written alike.
    Beyond(&'a str),
}

/// All whole `u64` and `i64` fit, and so does every float below this: 2^64.
const WHOLE_LIMIT: f64 = 18_446_744_073_709_551_616.0;

impl Canonical<'_> {
    fn from_f64(number: f64) -> Self {
        if number.fract() == 0.0 && number.abs() < WHOLE_LIMIT {
            Self::Whole(number as i128)
        } else {
            Self::Float(number)
        }
    }
}

impl<'a> From<Number<'a>> for Canonical<'a> {
    fn from(number: Number<'a>) -> Self {
        if let Some(whole) = number.as_u64() {
            Self::Whole(whole.into())
        } else if let Some(whole) = number.as_i64() {
            Self::Whole(whole.into())
        } else {
            TapeNumber(number).as_f64().map_or(Self::Beyond(number.as_str()), Self::from_f64)
        }
    }
}

impl From<&serde_json::Number> for Canonical<'_> {
    fn from(number: &serde_json::Number) -> Self {
        if let Some(whole) = number.as_u64() {
            Self::Whole(whole.into())
        } else if let Some(whole) = number.as_i64() {
            Self::Whole(whole.into())
        } else {
            Self::from_f64(number.as_f64().unwrap_or(f64::NAN))
        }
    }
}
