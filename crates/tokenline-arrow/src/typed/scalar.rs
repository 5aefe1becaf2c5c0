//! Values of one size, and what their columns hold.

use arrow_buffer::i256;
use arrow_schema::TimeUnit;
use tokenline_core::json;

use super::convert;

/// A type whose values have at most 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fixed {
    Int {
        bits: u32,
        is_signed: bool,
    },
    /// In days, or if `is_wide` in milliseconds.
    Date {
        is_wide: bool,
    },
    Time(TimeUnit),
    /// `is_local`: without a time zone.
    Timestamp {
        unit: TimeUnit,
        is_local: bool,
    },
}

impl Fixed {
    /// The bits of the value, sign extended; `None` if it does not fit.
    pub(crate) fn read(self, value: json::Value<'_>) -> Option<i64> {
        match self {
            Self::Int { bits, is_signed } => {
                let number = value.as_number()?;
                if let (64, true, Some(integer)) = (bits, is_signed, number.as_i64()) {
                    return Some(integer);
                }
                let integer = convert::integer(number)?;
                let (least, most) = if is_signed {
                    (-1 << (bits - 1), (1 << (bits - 1)) - 1)
                } else {
                    (0, (1_i128 << bits) - 1)
                };
                (least..=most).contains(&integer).then_some(integer as i64)
            }
            Self::Date { is_wide } => {
                let days = i64::from(convert::date(&value.as_str()?)?);
                Some(if is_wide { days * 86_400_000 } else { days })
            }
            Self::Time(unit) => convert::time(&value.as_str()?, unit),
            Self::Timestamp { unit, is_local: false } => convert::timestamp(&value.as_str()?, unit),
            Self::Timestamp { unit, is_local: true } => convert::local_timestamp(&value.as_str()?, unit),
        }
    }

    /// Describes the values that fit, for a message.
    pub(crate) fn expected(self) -> String {
        let name = |unit| match unit {
            TimeUnit::Second => "second",
            TimeUnit::Millisecond => "millisecond",
            TimeUnit::Microsecond => "microsecond",
            TimeUnit::Nanosecond => "nanosecond",
        };
        match self {
            Self::Int { bits, is_signed: true } => format!("an integer of {bits} bits"),
            Self::Int { bits, is_signed: false } => format!("an unsigned integer of {bits} bits"),
            Self::Date { .. } => "a date, as in RFC 3339".to_owned(),
            Self::Time(unit) => format!("a time without an offset, to the {}", name(unit)),
            Self::Timestamp { unit, is_local } => {
                let offset = if is_local { "without" } else { "with" };
                format!("a date and time {offset} an offset, as in RFC 3339, to the {}", name(unit))
            }
        }
    }
}

/// The digits of a decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecimalType {
    /// All digits.
    pub(crate) precision: u8,
    /// The digits after the point.
    pub(crate) scale: i8,
    /// Whether 128 bits do not hold it.
    pub(crate) is_wide: bool,
}

impl DecimalType {
    /// The digits as an integer; `None` if the value has too many, or is no number.
    pub(crate) fn read(self, value: json::Value<'_>) -> Option<i256> {
        let Self { precision, scale, .. } = self;
        match value.as_number() {
            Some(number) => convert::decimal(number.as_str(), precision, scale),
            None => convert::decimal(&value.as_str()?, precision, scale),
        }
    }

    /// Describes the values that fit, for a message.
    pub(crate) fn expected(self) -> String {
        let (precision, scale) = (i32::from(self.precision), i32::from(self.scale));
        let whole = precision - scale;
        if scale < 0 {
            format!("a multiple of 1e{} of at most {whole} digits", -scale)
        } else {
            format!("a decimal of at most {whole} digits before the point and {scale} after it")
        }
    }
}
