//! Numbers as literals, converted on demand.

/// A JSON number on the tape. It keeps its literal, whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<'a> {
    literal: &'a str,
    is_float: bool,
}

impl<'a> Number<'a> {
    pub(crate) fn new(literal: &'a str, is_float: bool) -> Self {
        Self { literal, is_float }
    }

    /// The number as written.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.literal
    }

    /// Whether it is written without a fraction or an exponent.
    #[must_use]
    pub fn is_written_as_integer(self) -> bool {
        !self.is_float
    }

    /// The number, if it is written as an integer and fits. Not for `-0`, which serde_json reads as a float.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        if self.is_float { None } else { self.literal.parse().ok() }
    }

    /// The number, if it is written as an integer and fits. Not for `-0`, which serde_json reads as a float.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        if self.is_float || self.literal == "-0" { None } else { self.literal.parse().ok() }
    }

    /// The number as serde_json reads it; `None` beyond the range of `f64`.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        if !self.is_float {
            if let Some(number) = self.as_u64() {
                return Some(number as f64);
            }
            if let Some(number) = self.as_i64() {
                return Some(number as f64);
            }
        }
        self.literal.parse::<serde_json::Number>().ok()?.as_f64()
    }

    /// Whether it is in the range of `f64`.
    pub(crate) fn is_in_range(self) -> bool {
        self.as_u64().is_some() || self.as_f64().is_some()
    }

    /// Whether both are equal as serde_json's type, where an integer never equals a float.
    pub(crate) fn is_equal(self, other: Self) -> bool {
        let float = |number: Self| {
            let is_integer = number.as_u64().is_some() || number.as_i64().is_some();
            if is_integer { None } else { number.as_f64() }
        };
        (self.as_u64(), self.as_i64(), float(self)) == (other.as_u64(), other.as_i64(), float(other))
    }

    /// The number for comparison with bounds: beyond the range of `f64`, an infinity of its sign.
    #[must_use]
    pub fn to_f64_saturating(self) -> f64 {
        let beyond = if self.literal.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY };
        self.as_f64().unwrap_or(beyond)
    }

    /// The number as serde_json's type; `None` beyond the range of `f64`.
    #[must_use]
    pub fn to_number(self) -> Option<serde_json::Number> {
        if let Some(number) = self.as_u64() {
            return Some(number.into());
        }
        if let Some(number) = self.as_i64() {
            return Some(number.into());
        }
        self.as_f64().and_then(serde_json::Number::from_f64)
    }
}
