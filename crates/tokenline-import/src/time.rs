//! Times.

use std::borrow::Cow;

use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};
use tokenline_core::json::Kind;

use crate::{Cell, ImportError};

/// How times are written.
#[derive(Clone, Debug)]
pub(crate) struct TimeReader {
    format: Format,
    zone: Option<TimeZone>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Format {
    Auto,
    /// A number in this unit, in nanoseconds.
    Number(i128),
    Pattern(String),
}

const SECOND: i128 = 1_000_000_000;
const MILLISECOND: i128 = 1_000_000;

/// From here on, a number in `auto` is in milliseconds.
const FIRST_MILLISECONDS: i128 = 100_000_000_000;

/// Why a value is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTime {
    Missing,
    /// The time has no offset, and there is no time zone.
    NoZone,
    Invalid,
}

impl TimeReader {
    pub(crate) fn new(format: Option<&str>, zone: Option<&str>) -> Result<Self, ImportError> {
        let zone = zone.map(|name| {
            TimeZone::get(name).map_err(|_| ImportError::mapping(format!("unknown time zone `{name}`")))
        });
        let format = match format {
            None | Some("auto") => Format::Auto,
            Some("seconds") => Format::Number(SECOND),
            Some("milliseconds") => Format::Number(MILLISECOND),
            Some(pattern) if pattern.contains('%') => {
                // Formatting finds unknown directives; no time is at hand to be parsed.
                let sample = Timestamp::UNIX_EPOCH.to_zoned_datetime(TimeZone::UTC);
                BrokenDownTime::from(&sample).to_string(pattern).map_err(|error| {
                    ImportError::mapping(format!("invalid pattern `{pattern}` for times: {error}"))
                })?;
                Format::Pattern(pattern.to_owned())
            }
            Some(other) => {
                return Err(ImportError::mapping(format!(
                    "unknown format of times `{other}`: use auto, seconds, milliseconds, or a pattern such as %Y-%m-%d %H:%M:%S"
                )));
            }
        };
        Ok(Self { format, zone: zone.transpose()? })
    }

    /// The time of a cell, in nanoseconds since 1970.
    pub(crate) fn read(&self, cell: Cell<'_>) -> Result<i128, NoTime> {
        let time = match cell.resolve() {
            Cell::Null => return Err(NoTime::Missing),
            Cell::Time(time) => time,
            Cell::Integer(number) => self.json_number(&number.to_string())?,
            Cell::Float(number) => self.json_number(&number.to_string())?,
            Cell::Text(text) => self.text(&text)?,
            Cell::Json(value) => match value.kind() {
                Kind::String => self.text(&value.as_str().unwrap_or(Cow::Borrowed("")))?,
                Kind::Number => self.json_number(value.raw())?,
                _ => return Err(NoTime::Invalid),
            },
            Cell::Bool(_) | Cell::Invalid => return Err(NoTime::Invalid),
        };
        if WRITABLE.contains(&time) { Ok(time) } else { Err(NoTime::Invalid) }
    }

    fn json_number(&self, text: &str) -> Result<i128, NoTime> {
        match self.format {
            Format::Pattern(_) => self.text(text),
            _ => self.number(|unit| json_decimal(text, unit)),
        }
    }

    /// The time of a number, given in units.
    fn number(&self, in_units: impl Fn(i128) -> Option<i128>) -> Result<i128, NoTime> {
        let unit = match self.format {
            Format::Number(unit) => unit,
            _ => {
                let whole = in_units(1).ok_or(NoTime::Invalid)?;
                if whole.checked_abs().is_some_and(|whole| whole < FIRST_MILLISECONDS) {
                    SECOND
                } else {
                    MILLISECOND
                }
            }
        };
        in_units(unit).ok_or(NoTime::Invalid)
    }

    fn text(&self, text: &str) -> Result<i128, NoTime> {
        let text = text.trim();
        if text.is_empty() {
            return Err(NoTime::Missing);
        }
        match &self.format {
            Format::Number(unit) => decimal(text, *unit).ok_or(NoTime::Invalid),
            Format::Auto if !text.trim_start_matches('-').contains([':', '-']) => {
                self.number(|unit| decimal(text, unit))
            }
            Format::Auto => match text.parse::<Timestamp>() {
                Ok(time) => Ok(time.as_nanosecond()),
                // A time that names its zone.
                Err(_) if text.contains('[') => {
                    let time = text.parse::<ZonedDateTime>().map_err(|_| NoTime::Invalid)?;
                    Ok(time.timestamp().as_nanosecond())
                }
                Err(_) => self.local(text.parse().map_err(|_| NoTime::Invalid)?),
            },
            Format::Pattern(pattern) => {
                let broken = BrokenDownTime::parse(pattern, text).map_err(|_| NoTime::Invalid)?;
                match broken.to_timestamp() {
                    Ok(time) => Ok(time.as_nanosecond()),
                    Err(_) => self.local(broken.to_datetime().map_err(|_| NoTime::Invalid)?),
                }
            }
        }
    }

    /// The time of a clock in the time zone. One that a change of the offset skipped or repeated is read with the offset
    /// before the change.
    fn local(&self, time: DateTime) -> Result<i128, NoTime> {
        let zone = self.zone.as_ref().ok_or(NoTime::NoZone)?;
        let time = zone.to_ambiguous_timestamp(time).compatible().map_err(|_| NoTime::Invalid)?;
        Ok(time.as_nanosecond())
    }
}

/// The number that a text names, in units; digits below one are cut off. Up to 20 digits before the point, and no exponent:
/// `12e4` is more likely the id of something.
pub(crate) fn decimal(text: &str, unit: i128) -> Option<i128> {
    let whole = text.trim_start_matches('-').split('.').next()?;
    if whole.len() > 20 || text.contains(['e', 'E']) { None } else { json_decimal(text, unit) }
}

/// The same for a JSON number. One that is too large is the largest one.
pub(crate) fn json_decimal(text: &str, unit: i128) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            exponent.parse().unwrap_or(if exponent.starts_with('-') { i32::MIN } else { i32::MAX }),
        ),
        None => (text, 0),
    };
    let (is_negative, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || digits.ends_with('.') || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let before = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    let mut value: i128 = 0;
    for (at, digit) in (0_i64..).zip([whole, fraction].concat().bytes()) {
        // What the digit is worth: `unit * 10^power`.
        let (digit, power) = (i128::from(digit - b'0'), before - 1 - at);
        let scale = u32::try_from(power.unsigned_abs()).ok().and_then(|power| 10_i128.checked_pow(power));
        let worth = match scale {
            Some(scale) if power >= 0 => unit.saturating_mul(scale),
            Some(scale) => unit / scale,
            None if power >= 0 => i128::MAX,
            None => 0,
        };
        value = value.saturating_add(digit.saturating_mul(worth));
    }
    Some(if is_negative { -value } else { value })
}

/// The years that RFC 3339 can write: from 0 to 9999, without the last day.
const WRITABLE: std::ops::Range<i128> = -62_167_219_200 * SECOND..253_402_207_200 * SECOND;

/// The time in RFC 3339, in UTC. `None` if that cannot write it.
pub(crate) fn format(nanoseconds: i128) -> Option<String> {
    let time = Timestamp::from_nanosecond(nanoseconds).ok()?;
    WRITABLE.contains(&nanoseconds).then(|| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: Option<&str>, zone: Option<&str>, text: &str) -> Result<String, NoTime> {
        let reader = TimeReader::new(format, zone).unwrap();
        reader.read(Cell::Text(text.into())).map(|time| super::format(time).unwrap())
    }

    #[test]
    fn times_are_read_in_every_format() {
        for (format, zone, text, expected) in [
            (None, None, "2026-02-10T12:34:56Z", "2026-02-10T12:34:56Z"),
            (None, None, " 2026-02-10 12:34:56.250+01:00 ", "2026-02-10T11:34:56.25Z"),
            (None, None, "2026-02-10 12:34:56+01", "2026-02-10T11:34:56Z"),
            (None, None, "1707568496", "2024-02-10T12:34:56Z"),
            (None, None, "1707568496.5", "2024-02-10T12:34:56.5Z"),
            (None, None, "1707568496123", "2024-02-10T12:34:56.123Z"),
            (None, None, "99999999999", "5138-11-16T09:46:39Z"),
            (None, None, "-1", "1969-12-31T23:59:59Z"),
            (None, None, "2026-07-10T12:34:56[Europe/Berlin]", "2026-07-10T10:34:56Z"),
            (None, Some("Asia/Kolkata"), "2026-07-10T12:34:56[Europe/Berlin]", "2026-07-10T10:34:56Z"),
            (None, Some("Europe/Berlin"), "2026-07-10 12:34", "2026-07-10T10:34:00Z"),
            (None, Some("Europe/Berlin"), "2026-03-29T02:30:00", "2026-03-29T01:30:00Z"),
            (None, Some("Europe/Berlin"), "2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
            (None, Some("UTC"), "2026-02-10", "2026-02-10T00:00:00Z"),
            (Some("seconds"), None, "1707568496123", "56081-10-18T21:08:43Z"),
            (Some("milliseconds"), None, "1000.5", "1970-01-01T00:00:01.0005Z"),
            (Some("%d.%m.%Y %H:%M"), Some("UTC"), "10.02.2026 12:34", "2026-02-10T12:34:00Z"),
            (Some("%d/%b/%Y:%H:%M:%S %z"), None, "10/Feb/2026:12:34:56 +0200", "2026-02-10T10:34:56Z"),
        ] {
            let read = read(format, zone, text);
            if expected.starts_with("56081") {
                assert_eq!(read, Err(NoTime::Invalid), "{text}");
            } else {
                assert_eq!(read.as_deref(), Ok(expected), "{text}");
            }
        }
    }

    #[test]
    fn json_numbers_may_have_an_exponent() {
        for (text, expected) in [
            ("1.5", Some(1_500)),
            ("-1.5e3", Some(-1_500_000)),
            ("15e-1", Some(1_500)),
            ("0.00015E4", Some(1_500)),
            ("1e-9", Some(0)),
            ("12345e-4", Some(1_234)),
            ("0e999999999999", Some(0)),
            ("1e60", Some(i128::MAX)),
            ("-1e999999999999", Some(-i128::MAX)),
            ("1e-99999999999", Some(0)),
            ("e9", None),
        ] {
            assert_eq!(json_decimal(text, 1_000), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for (text, expected) in [
            ("", NoTime::Missing),
            ("  ", NoTime::Missing),
            ("2026-02-10 12:34:56", NoTime::NoZone),
            ("2026-02-30T12:34:56Z", NoTime::Invalid),
            ("yesterday", NoTime::Invalid),
            ("12:34", NoTime::Invalid),
            ("1.", NoTime::Invalid),
            ("1e9", NoTime::Invalid),
            ("1_000", NoTime::Invalid),
            ("999999999999999999999999", NoTime::Invalid),
            ("é", NoTime::Invalid),
        ] {
            assert_eq!(read(None, None, text), Err(expected), "{text}");
        }
        assert!(TimeReader::new(Some("iso"), None).is_err());
        assert!(TimeReader::new(Some("%Q%!"), None).is_err());
        assert!(TimeReader::new(None, Some("Mars/Olympus")).is_err());
    }
}
