//! Numbers, decimals, dates and times out of JSON: exactly, or not at all.

use arrow_buffer::i256;
use arrow_schema::TimeUnit;
use chrono::{DateTime, Datelike, NaiveDate};
use tokenline_core::json::Number;

/// Seconds of a day.
const DAY: i64 = 86_400;
/// The most digits that any `i128` holds.
const I128_DIGITS: usize = 38;

/// The number, if it is whole and fits: also `1.0`, `1e3` and `-0`, which JSON Schema counts as integers.
pub(crate) fn integer(number: Number<'_>) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| decimal(number.as_str(), 20, 0)?.to_i128())
}

/// The value of a decimal literal times ten to the power of `scale`, if that is whole and has at most `precision` digits.
///
/// A literal is a sign, digits with a point before, among or after them, and an exponent: JSON's numbers, and what decimal
/// types of programming languages print. Reads digit by digit: as a float it would be rounded.
pub(crate) fn decimal(literal: &str, precision: u8, scale: i8) -> Option<i256> {
    let (mantissa, exponent) = match literal.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, power(exponent)?),
        None => (literal, 0),
    };
    let (is_negative, mantissa) = sign(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let digits = || whole.bytes().chain(fraction.bytes()).skip_while(|&digit| digit == b'0');
    let len = digits().count();
    if len == 0 {
        return Some(i256::ZERO);
    }
    let shift = exponent.checked_add(scale.into())?.checked_sub(fraction.len() as i64)?;
    // A negative shift may only drop zeros, which are in the whole part.
    let zeros = if fraction.is_empty() { whole.len() - whole.trim_end_matches('0').len() } else { 0 };
    if shift < -(zeros as i64) || shift.saturating_add(len as i64) > precision.into() {
        return None;
    }
    let total = (len as i64 + shift) as usize;
    let digits = digits().chain(std::iter::repeat(b'0')).take(total);
    let magnitude = if total <= I128_DIGITS {
        i256::from_i128(digits.fold(0, |value, digit| value * 10 + i128::from(digit - b'0')))
    } else {
        i256::from_string(&digits.map(char::from).collect::<String>())?
    };
    Some(if is_negative { magnitude.wrapping_neg() } else { magnitude })
}

/// An exponent; beyond 64 bits, the nearest one within.
fn power(text: &str) -> Option<i64> {
    let (is_negative, digits) = sign(text);
    if digits.is_empty() || !is_digits(digits) {
        return None;
    }
    let power = digits.parse().unwrap_or(i64::MAX);
    Some(if is_negative { -power } else { power })
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number in the range of a `float`, rounded to the nearest, which numbers of 32 bits are.
pub(crate) fn float(number: Number<'_>) -> Option<f32> {
    number.as_str().parse().ok().filter(|float: &f32| float.is_finite())
}

/// Days since 1970 of a `full-date` of RFC 3339.
pub(crate) fn date(text: &str) -> Option<i32> {
    let parts = text.split('-').collect::<Vec<_>>();
    let [year, month, day] = parts[..] else { return None };
    let is_date = [year, month, day].iter().all(|part| is_digits(part))
        && (year.len(), month.len(), day.len()) == (4, 2, 2);
    let parsed = |part: &str| part.parse::<u32>().ok();
    let date = NaiveDate::from_ymd_opt(parsed(year)? as i32, parsed(month)?, parsed(day)?);
    let epoch = NaiveDate::default().num_days_from_ce();
    date.filter(|_| is_date).map(|date| date.num_days_from_ce() - epoch)
}

/// A `partial-time` of RFC 3339 since midnight. It may end in `Z`, as JSON Schema's `time` has to have an offset.
pub(crate) fn time(text: &str, unit: TimeUnit) -> Option<i64> {
    let (seconds, nanos) = time_of_day(text.strip_suffix(['Z', 'z']).unwrap_or(text))?;
    in_unit(seconds, nanos, unit)
}

/// A `date-time` of RFC 3339 since 1970, UTC. A leap second is the next one's start.
pub(crate) fn timestamp(text: &str, unit: TimeUnit) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    let nanos = time.timestamp_subsec_nanos();
    // chrono drops digits beyond nanoseconds.
    if let Some((_, fraction)) = text.split_once('.') {
        let mut finer = fraction.bytes().take_while(u8::is_ascii_digit).skip(9);
        if finer.any(|digit| digit != b'0') {
            return None;
        }
    }
    in_unit(time.timestamp(), nanos, unit)
}

/// A `date-time` of RFC 3339 without an offset, since 1970 on the same clock.
pub(crate) fn local_timestamp(text: &str, unit: TimeUnit) -> Option<i64> {
    let (day, time) = text.split_once(['T', 't', ' '])?;
    let (seconds, nanos) = time_of_day(time)?;
    in_unit(i64::from(date(day)?) * DAY + seconds, nanos, unit)
}

/// Seconds since midnight, and nanoseconds.
fn time_of_day(text: &str) -> Option<(i64, u32)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts = clock.split(':').collect::<Vec<_>>();
    let [hours, minutes, seconds] = parts[..] else { return None };
    if [hours, minutes, seconds].iter().any(|part| part.len() != 2 || !is_digits(part))
        || fraction.is_empty()
        || !is_digits(fraction)
    {
        return None;
    }
    let parsed = |part: &str, limit: i64| part.parse().ok().filter(|&part: &i64| part < limit);
    let whole = (parsed(hours, 24)? * 60 + parsed(minutes, 60)?) * 60 + parsed(seconds, 60)?;
    let fraction = fraction.trim_end_matches('0');
    let nanos = if fraction.len() > 9 { None } else { format!("{fraction:0<9}").parse().ok() };
    Some((whole, nanos?))
}

/// A time in a unit, if it is a multiple of it and fits. The nanoseconds may be those of a leap second, more than a second.
fn in_unit(seconds: i64, nanos: u32, unit: TimeUnit) -> Option<i64> {
    let (in_second, size) = match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, 1_000_000),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    };
    if !nanos.is_multiple_of(size) {
        return None;
    }
    (i128::from(seconds) * in_second + i128::from(nanos / size)).try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};

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
            ("9223372036854775807.00", Some(i64::MAX.into())),
            ("-9223372036854775808e0", Some(i64::MIN.into())),
            ("18446744073709551615", Some(u64::MAX.into())),
            ("1e19", Some(10_i128.pow(19))),
            ("1e20", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
            ("1e-99999999999999999999", None),
            ("0.00000000000000000001e20", Some(1)),
        ] {
            assert_eq!(decimal(literal, 20, 0), expected.map(i256::from_i128), "{literal}");
        }
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        for (literal, precision, scale, expected) in [
            ("12.34", 4, 2, Some("1234")),
            ("12.340", 4, 2, Some("1234")),
            ("12.3", 4, 2, Some("1230")),
            ("-0.01", 4, 2, Some("-1")),
            ("1234e-2", 4, 2, Some("1234")),
            ("0.1234e2", 4, 2, Some("1234")),
            ("12.345", 4, 2, None),
            ("123.4", 4, 2, None),
            ("100", 4, 2, None),
            ("99.99", 4, 2, Some("9999")),
            ("+007.50", 4, 2, Some("750")),
            (".5", 4, 2, Some("50")),
            ("5.", 4, 2, Some("500")),
            ("0.0", 1, 1, Some("0")),
            ("0.1", 1, 1, Some("1")),
            ("1200", 2, -2, Some("12")),
            ("1250", 4, -2, None),
            ("99999999999999999999999999999999999999", 38, 0, Some("99999999999999999999999999999999999999")),
            ("100000000000000000000000000000000000000", 38, 0, None),
            (
                "-123456789012345678901234567890123456789.5",
                40,
                1,
                Some("-1234567890123456789012345678901234567895"),
            ),
            ("1e75", 76, 0, Some(&format!("1{}", "0".repeat(75)))),
            ("1e76", 76, 0, None),
        ] {
            let expected = expected.map(|text: &str| i256::from_string(text).expect("an integer"));
            assert_eq!(decimal(literal, precision, scale), expected, "{literal}");
        }
        for other in [
            "", ".", "-", "+-1", "1_000", "1,000", " 1", "1 ", "NaN", "inf", "1e", "1e+", "1.2.3", "0x1", "١",
        ] {
            assert_eq!(decimal(other, 38, 2), None, "{other:?}");
        }
    }

    #[test]
    fn dates_are_whole() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1969-12-31", Some(-1)),
            ("2024-02-29", Some(19_782)),
            ("0000-01-01", Some(-719_528)),
            ("9999-12-31", Some(2_932_896)),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
        for other in [
            "2023-02-29",
            "2024-13-01",
            "2024-1-1",
            "24-01-01",
            "2024-01-01T00:00:00Z",
            "+024-01-01",
            "",
            "2024-01-0१",
        ] {
            assert_eq!(date(other), None, "{other:?}");
        }
    }

    #[test]
    fn times_are_whole_in_their_unit() {
        assert_eq!(time("00:00:00", Second), Some(0));
        assert_eq!(time("23:59:59.999Z", Millisecond), Some(86_399_999));
        assert_eq!(time("12:00:00.5000", Millisecond), Some(43_200_500));
        assert_eq!(time("12:00:00.123456789", Nanosecond), Some(43_200_123_456_789));
        let finer =
            [("12:00:00.5", Second), ("12:00:00.0001", Millisecond), ("12:00:00.0000000001", Nanosecond)];
        let others = [
            "24:00:00",
            "12:60:00",
            "12:00:60",
            "12:00",
            "1:00:00",
            "12:00:00.",
            "12:00:00+01:00",
            "12:00:00.x",
            "",
        ];
        for (text, unit) in finer.into_iter().chain(others.map(|text| (text, Microsecond))) {
            assert_eq!(time(text, unit), None, "{text:?}");
        }
    }

    #[test]
    fn timestamps_are_in_utc_or_on_their_clock() {
        assert_eq!(timestamp("1970-01-01T00:00:00Z", Microsecond), Some(0));
        assert_eq!(timestamp("1970-01-01T01:00:00.000001+01:00", Microsecond), Some(1));
        assert_eq!(timestamp("1969-12-31T23:59:59.999999z", Microsecond), Some(-1));
        assert_eq!(timestamp("2016-12-31T23:59:60Z", Second), timestamp("2017-01-01T00:00:00Z", Second));
        assert_eq!(timestamp("1970-01-01T00:00:01.500Z", Millisecond), Some(1500));
        assert_eq!(timestamp("2262-04-11T23:47:16.854775807Z", Nanosecond), Some(i64::MAX));
        assert_eq!(timestamp("1970-01-01T00:00:00.1234560000000Z", Microsecond), Some(123_456));
        for (text, unit) in [
            ("2017-01-01T00:00:00", Microsecond),
            ("1970-01-01T00:00:00.0000001Z", Microsecond),
            ("1970-01-01T00:00:00.0000000001Z", Nanosecond),
            ("2262-04-11T23:47:16.854775808Z", Nanosecond),
        ] {
            assert_eq!(timestamp(text, unit), None, "{text}");
        }
        assert_eq!(local_timestamp("1970-01-02T00:00:00.25", Millisecond), Some(86_400_250));
        assert_eq!(local_timestamp("1969-12-31 23:59:59", Second), Some(-1));
        for other in
            ["1970-01-02T00:00:00Z", "1970-01-02", "1970-01-02T00:00:00+00:00", "1970-02-30T00:00:00"]
        {
            assert_eq!(local_timestamp(other, Millisecond), None, "{other}");
        }
    }
}
