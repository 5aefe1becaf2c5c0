//! Numbers and timestamps out of JSON.

use chrono::DateTime;
use tokenline_core::json::Number;

/// The number, if it is whole and fits: also `1.0`, `1e3` and `-0`, which JSON Schema counts as integers.
pub(crate) fn integer(number: Number<'_>) -> Option<i64> {
    number.as_i64().or_else(|| exact_integer(number.as_str()))
}

/// Reads a literal digit by digit: as a float it would be rounded.
fn exact_integer(literal: &str) -> Option<i64> {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (is_negative, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let exponent: i64 = exponent.parse().ok()?;
    let shift = exponent.checked_sub(fraction.len() as i64)?;
    let significant_len = significant.trim_end_matches('0').len();
    let zeros = (significant.len() - significant_len) as i64;
    // Beyond 19 digits nothing fits, and a negative shift must only drop zeros.
    let shift = shift.checked_add(zeros).filter(|shift| (0..=19).contains(shift))?;
    let magnitude: i128 = significant[..significant_len].parse().ok()?;
    let magnitude = magnitude.checked_mul(10_i128.pow(shift as u32))?;
    i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()
}

/// Microseconds since 1970 of an RFC 3339 timestamp. Smaller parts are dropped; a leap second is the next one's start.
pub(crate) fn timestamp(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::{exact_integer, timestamp};

    #[test]
    fn integers_are_exact() {
        for (literal, expected) in [
            ("-0", Some(0)),
            ("0.000e99999999999999999999", Some(0)),
            ("1.0", Some(1)),
            ("-12.5e1", Some(-125)),
            ("1.5", None),
            ("1e-1", None),
            ("10e-1", Some(1)),
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            ("9223372036854775807.00", Some(i64::MAX)),
            ("-9223372036854775808e0", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("9.3e18", None),
            ("1e19", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
            ("0.00000000000000000001e20", Some(1)),
        ] {
            assert_eq!(exact_integer(literal), expected, "{literal}");
        }
    }

    #[test]
    fn timestamps_are_in_utc() {
        assert_eq!(timestamp("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(timestamp("1970-01-01T01:00:00.000001+01:00"), Some(1));
        assert_eq!(timestamp("1969-12-31T23:59:59.9999999z"), Some(-1));
        assert_eq!(timestamp("2016-12-31T23:59:60Z"), timestamp("2017-01-01T00:00:00Z"));
        assert_eq!(timestamp("2017-01-01T00:00:00"), None);
    }
}
