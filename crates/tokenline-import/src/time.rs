//! Times.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
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
            Cell::Integer(number) => self.number(&number.to_string())?,
            Cell::Float(number) => self.number(&number.to_string())?,
            Cell::Text(text) => self.text(&text)?,
            Cell::Json(value) => match value.kind() {
                Kind::String => self.text(&value.as_str().unwrap_or(Cow::Borrowed("")))?,
                Kind::Number => self.number(value.raw())?,
                _ => return Err(NoTime::Invalid),
            },
            Cell::Bool(_) | Cell::Invalid => return Err(NoTime::Invalid),
        };
        if WRITABLE.contains(&time) { Ok(time) } else { Err(NoTime::Invalid) }
    }

    fn number(&self, text: &str) -> Result<i128, NoTime> {
        let unit = match &self.format {
            Format::Number(unit) => *unit,
            Format::Auto => {
                let whole = decimal(text, 1).ok_or(NoTime::Invalid)?;
                if whole.abs() < FIRST_MILLISECONDS { SECOND } else { MILLISECOND }
            }
            Format::Pattern(_) => return self.text(text),
        };
        decimal(text, unit).ok_or(NoTime::Invalid)
    }

    fn text(&self, text: &str) -> Result<i128, NoTime> {
        let text = text.trim();
        if text.is_empty() {
            return Err(NoTime::Missing);
        }
        match &self.format {
            Format::Number(unit) => decimal(text, *unit).ok_or(NoTime::Invalid),
            Format::Auto if !text.trim_start_matches('-').contains([':', '-']) => self.number(text),
            Format::Auto => match text.parse::<Timestamp>() {
                Ok(time) => Ok(time.as_nanosecond()),
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

/// A decimal number of units, in nanoseconds if a unit has that many; digits below that are cut off.
pub(crate) fn decimal(text: &str, unit: i128) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // Enough for every time, and no overflow.
    if whole.is_empty() || whole.len() > 20 || digits.ends_with('.') {
        return None;
    }
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut value = whole.parse::<i128>().ok()? * unit;
    let mut rest = unit;
    for digit in fraction.bytes() {
        rest /= 10;
        value += i128::from(digit - b'0') * rest;
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
            match expected.starts_with("56081") {
                true => assert_eq!(read, Err(NoTime::Invalid), "{text}"),
                false => assert_eq!(read.as_deref(), Ok(expected), "{text}"),
            }
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
