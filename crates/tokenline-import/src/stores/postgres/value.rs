//! Values in PostgreSQL's binary format.

use std::borrow::Cow;
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use tokio_postgres::types::{Kind, Type};

use crate::Cell;
use crate::stores::uuid::uuid;

/// How the bytes of a field are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    /// Text whose trailing spaces do not count.
    Char,
    Uuid,
    TimestampWithZone,
    Timestamp,
    Date,
    Json,
    Jsonb,
}

/// The conversion by the server of a value whose type has no [`Format`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    None,
    ToText,
    ToJson,
}

impl Format {
    /// How values of a type are read.
    pub(super) fn of(r#type: &Type) -> (Self, Conversion) {
        let format = match *r#type {
            Type::BOOL => Self::Bool,
            Type::INT2 => Self::Int2,
            Type::INT4 => Self::Int4,
            Type::INT8 => Self::Int8,
            Type::FLOAT4 => Self::Float4,
            Type::FLOAT8 => Self::Float8,
            Type::NUMERIC => Self::Numeric,
            Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN => Self::Text,
            Type::BPCHAR => Self::Char,
            Type::UUID => Self::Uuid,
            Type::TIMESTAMPTZ => Self::TimestampWithZone,
            Type::TIMESTAMP => Self::Timestamp,
            Type::DATE => Self::Date,
            Type::JSON => Self::Json,
            Type::JSONB => Self::Jsonb,
            _ => match r#type.kind() {
                Kind::Enum(_) => Self::Text,
                Kind::Domain(inner) => return Self::of(inner),
                Kind::Array(_) | Kind::Composite(_) => return (Self::Jsonb, Conversion::ToJson),
                _ => return (Self::Text, Conversion::ToText),
            },
        };
        (format, Conversion::None)
    }

    /// Whether a value as text, cast to its type, is the same value.
    pub(super) fn is_exact_as_text(self) -> bool {
        matches!(self, Self::Int2 | Self::Int4 | Self::Int8 | Self::Text | Self::Uuid)
    }

    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }

    /// The text of a JSON document.
    pub(super) fn document(self, bytes: &[u8]) -> Option<&str> {
        let text = match self {
            Self::Jsonb => bytes.strip_prefix(&[1])?,
            _ => bytes,
        };
        std::str::from_utf8(text).ok()
    }

    /// The value; not for JSON.
    #[inline]
    pub(super) fn cell(self, bytes: &[u8]) -> Cell<'_> {
        if self == Self::Text {
            return simdutf8::basic::from_utf8(bytes)
                .map_or(Cell::Invalid, |text| Cell::Text(Cow::Borrowed(text)));
        }
        self.read(bytes).unwrap_or(Cell::Invalid)
    }

    fn read(self, bytes: &[u8]) -> Option<Cell<'_>> {
        Some(match self {
            Self::Bool => Cell::Bool(i8::from_be_bytes(fixed(bytes)?) != 0),
            Self::Int2 => Cell::Integer(i16::from_be_bytes(fixed(bytes)?).into()),
            Self::Int4 => Cell::Integer(i32::from_be_bytes(fixed(bytes)?).into()),
            Self::Int8 => Cell::Integer(i64::from_be_bytes(fixed(bytes)?)),
            // The shortest digits, instead of those of the nearest f64.
            Self::Float4 => float(f32::from_be_bytes(fixed(bytes)?).to_string().parse().ok()?),
            Self::Float8 => float(f64::from_be_bytes(fixed(bytes)?)),
            Self::Numeric => Cell::Text(numeric(bytes)?.into()),
            Self::Text => Cell::Text(std::str::from_utf8(bytes).ok()?.into()),
            Self::Char => Cell::Text(std::str::from_utf8(bytes).ok()?.trim_end_matches(' ').into()),
            Self::Uuid => Cell::Text(uuid(&fixed::<16>(bytes)?).into()),
            Self::TimestampWithZone => match i64::from_be_bytes(fixed(bytes)?) {
                i64::MAX => Cell::Text("infinity".into()),
                i64::MIN => Cell::Text("-infinity".into()),
                microseconds => Cell::Time(nanoseconds(microseconds)),
            },
            Self::Timestamp => Cell::Text(match i64::from_be_bytes(fixed(bytes)?) {
                i64::MAX => "infinity".into(),
                i64::MIN => "-infinity".into(),
                microseconds => clock(microseconds)?.to_string().into(),
            }),
            Self::Date => Cell::Text(match i32::from_be_bytes(fixed(bytes)?) {
                i32::MAX => "infinity".into(),
                i32::MIN => "-infinity".into(),
                days => date(days)?.to_string().into(),
            }),
            Self::Json | Self::Jsonb => return None,
        })
    }
}

fn fixed<const LEN: usize>(bytes: &[u8]) -> Option<[u8; LEN]> {
    bytes.try_into().ok()
}

fn float(number: f64) -> Cell<'static> {
    // JSON has no others.
    if number.is_finite() { Cell::Float(number) } else { Cell::Text(number.to_string().into()) }
}

/// 2000-01-01T00:00:00Z, in microseconds since 1970: PostgreSQL counts from there.
const EPOCH: i64 = 946_684_800_000_000;

fn nanoseconds(microseconds: i64) -> i128 {
    (i128::from(microseconds) + i128::from(EPOCH)) * 1000
}

fn clock(microseconds: i64) -> Option<DateTime> {
    let time = Timestamp::from_microsecond(microseconds.checked_add(EPOCH)?).ok()?;
    Some(TimeZone::UTC.to_datetime(time))
}

fn date(days: i32) -> Option<Date> {
    clock(i64::from(days).checked_mul(86_400_000_000)?).map(DateTime::date)
}

/// A number of digits to the base 10,000, with all digits after the point.
fn numeric(bytes: &[u8]) -> Option<String> {
    let mut words = bytes.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let count = usize::from(words.next()?);
    let weight = i32::from(words.next()?.cast_signed());
    let sign = words.next()?;
    let scale = usize::from(words.next()?);
    match sign {
        0 | 0x4000 => {}
        0xc000 => return Some("NaN".to_owned()),
        0xd000 => return Some("Infinity".to_owned()),
        0xf000 => return Some("-Infinity".to_owned()),
        _ => return None,
    }
    let digits: Vec<u16> = words.collect();
    if digits.len() != count || digits.iter().any(|digit| *digit > 9999) {
        return None;
    }
    let digit = |at: i32| usize::try_from(at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0);
    let mut text = String::with_capacity(4 * count + scale + 3);
    if sign == 0x4000 {
        text.push('-');
    }
    let written = |text: &mut String, at, is_first: bool| {
        let written = if is_first { write!(text, "{}", digit(at)) } else { write!(text, "{:04}", digit(at)) };
        written.expect("a String takes everything");
    };
    for at in 0..=weight {
        written(&mut text, at, at == 0);
    }
    if weight < 0 {
        text.push('0');
    }
    if scale > 0 {
        text.push('.');
        let end = text.len() + scale;
        let mut at = weight + 1;
        while text.len() < end {
            written(&mut text, at, false);
            at += 1;
        }
        text.truncate(end);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric_of(weight: i16, sign: u16, scale: u16, digits: &[u16]) -> Option<String> {
        let mut bytes = Vec::new();
        let head = [digits.len() as u16, weight.cast_unsigned(), sign, scale];
        head.iter().chain(digits).for_each(|word| bytes.extend_from_slice(&word.to_be_bytes()));
        numeric(&bytes)
    }

    #[test]
    fn numerics_have_all_their_digits() {
        for (weight, sign, scale, digits, expected) in [
            (0, 0, 0, &[][..], "0"),
            (0, 0, 2, &[], "0.00"),
            (0, 0, 0, &[7], "7"),
            (1, 0x4000, 0, &[1, 234], "-10234"),
            (2, 0, 0, &[1], "100000000"),
            (0, 0, 2, &[12, 3400], "12.34"),
            (-1, 0, 4, &[5], "0.0005"),
            (-2, 0, 8, &[5], "0.00000005"),
            (-1, 0x4000, 3, &[1000], "-0.100"),
            (0, 0xc000, 0, &[], "NaN"),
        ] {
            assert_eq!(numeric_of(weight, sign, scale, digits).as_deref(), Some(expected));
        }
        assert_eq!(numeric_of(0, 0, 0, &[10_000]), None);
        assert_eq!(numeric_of(0, 1, 0, &[1]), None);
        assert_eq!(numeric(&[0, 1, 0, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn values_of_another_length_are_invalid() {
        for format in [Format::Bool, Format::Int4, Format::Float8, Format::Uuid, Format::Date] {
            assert!(matches!(format.cell(&[1, 2, 3]), Cell::Invalid), "{format:?}");
        }
        assert!(matches!(Format::Text.cell(&[0xff]), Cell::Invalid));
    }

    #[test]
    fn times_count_from_2000() {
        assert!(matches!(
            Format::TimestampWithZone.cell(&0_i64.to_be_bytes()),
            Cell::Time(946_684_800_000_000_000)
        ));
        let clock = |value: i64| match Format::Timestamp.cell(&value.to_be_bytes()) {
            Cell::Text(text) => text.into_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(clock(1_500_000), "2000-01-01T00:00:01.5");
        assert_eq!(clock(i64::MIN), "-infinity");
        assert_eq!(clock(i64::MAX - 1), "Invalid");
        assert!(
            matches!(Format::Date.cell(&(-1_i32).to_be_bytes()), Cell::Text(text) if text == "1999-12-31")
        );
    }
}
