//! `format`. The formats that need no crate are judged here, the others by delegates.

use crate::draft::Draft;

/// The rule for a format.
pub(super) enum Format {
    Own(fn(&str) -> bool),
    /// The position of its validator in the plan.
    Delegated(u32),
}

impl Format {
    /// A format that is judged here, as jsonschema judges it.
    pub(super) fn own(name: &str, draft: Draft) -> Option<Self> {
        Some(Self::Own(match name {
            "date" => |text| is_date(text.as_bytes()),
            "time" => |text| is_time(text.as_bytes()),
            "date-time" => |text| is_date_time(text.as_bytes()),
            "ipv4" => is_ipv4,
            "uuid" if draft >= Draft::Draft201909 => |text| is_uuid(text.as_bytes()),
            _ => return None,
        }))
    }
}

/// `full-date` of RFC 3339: `2026-11-26`.
fn is_date(text: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return false };
    let Some(year) = year([*y1, *y2, *y3, *y4]) else { return false };
    let (Some(month), Some(day)) = (number(*m1, *m2), number(*d1, *d2)) else { return false };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// The number with these digits, all read at once. jsonschema does so, and takes some signs for digits, as in `-026`.
fn year(digits: [u8; 4]) -> Option<u32> {
    let digits = u32::from_le_bytes(digits).wrapping_sub(0x3030_3030);
    let are_digits = digits.wrapping_add(0x0606_0606) & 0xF0F0_F0F0 == 0;
    let pairs = (digits & 0x0F0F_0F0F).wrapping_mul(2561) >> 8 & 0x00FF_00FF;
    are_digits.then_some(pairs.wrapping_mul(6_553_601) >> 16)
}

/// `full-time` of RFC 3339: `09:30:00.5+01:00`. A leap second is the last one of a day in UTC.
fn is_time(text: &[u8]) -> bool {
    let [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text else { return false };
    let (Some(hours), Some(minutes)) = (number(*h1, *h2), number(*m1, *m2)) else { return false };
    let Some(seconds) = number(*s1, *s2) else { return false };
    let rest = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        rest => rest,
    };
    let (is_east, offset) = match rest {
        [b'Z' | b'z'] => (true, Some(0)),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            (*sign == b'+', of_day(number(*h1, *h2), number(*m1, *m2)))
        }
        _ => return false,
    };
    let (Some(local), Some(offset)) = (of_day(Some(hours), Some(minutes)), offset) else { return false };
    let utc = if is_east { local + DAY - offset } else { local + offset } % DAY;
    seconds < 60 || seconds == 60 && utc == DAY - 1
}

/// The minutes of a day.
const DAY: u32 = 24 * 60;

/// The minute of a day.
fn of_day(hours: Option<u32>, minutes: Option<u32>) -> Option<u32> {
    let (hours, minutes) = (hours?, minutes?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

fn is_date_time(text: &[u8]) -> bool {
    let Some((date, [b'T' | b't', time @ ..])) = text.split_at_checked(10) else { return false };
    is_date(date) && is_time(time)
}

/// `127.0.0.1`, without leading zeros.
fn is_ipv4(text: &str) -> bool {
    let is_octet = |octet: &str| match *octet.as_bytes() {
        [ones] => ones.is_ascii_digit(),
        [tens, ones] => tens != b'0' && tens.is_ascii_digit() && ones.is_ascii_digit(),
        [b'1', tens, ones] => tens.is_ascii_digit() && ones.is_ascii_digit(),
        [b'2', tens, ones] => {
            tens < b'5' && tens.is_ascii_digit() && ones.is_ascii_digit()
                || tens == b'5' && (b'0'..=b'5').contains(&ones)
        }
        _ => false,
    };
    text.split('.').count() == 4 && text.split('.').all(is_octet)
}

/// RFC 9562: `01234567-89ab-cdef-0123-456789abcdef`.
fn is_uuid(text: &[u8]) -> bool {
    let is_right = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.iter().enumerate().all(is_right)
}

/// The same for two digits.
fn number(tens: u8, ones: u8) -> Option<u32> {
    let digits = u16::from_le_bytes([tens, ones]).wrapping_sub(0x3030);
    let are_digits = digits.wrapping_add(0x0606) & 0xF0F0 == 0;
    are_digits.then_some(u32::from((digits & 0x0F0F).wrapping_mul(2561) >> 8) & 0xFF)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn own_formats_are_those_of_jsonschema() {
        let usual = [
            "2026-11-26T09:30:59.0Z",
            "2024-02-29T23:59:60Z",
            "1900-02-29t00:29:60-23:30",
            "2000-12-31T00:59:60+01:00",
            "09:30:59.25-01:00",
            "127.0.0.1",
            "255.249.10.199",
            "01234567-89ab-CDEF-0123-456789abcdef",
        ];
        let mut texts: Vec<String> = usual.map(str::to_owned).to_vec();
        texts.extend(usual.iter().filter_map(|text| Some(text.split_once(['T', 't'])?.0.to_owned())));
        texts.extend(usual.iter().filter_map(|text| Some(text.split_once(['T', 't'])?.1.to_owned())));
        texts.extend(
            (0..24 * 60)
                .map(|at| format!("{:02}:{:02}:60+{:02}:{:02}", at / 60, at % 60, at % 26, at * 7 % 62)),
        );
        texts.extend(
            (0..24 * 60)
                .map(|at| format!("{:02}:{:02}:60-{:02}:{:02}", at / 60, at % 60, at % 26, at * 7 % 62)),
        );
        texts.extend((0..3200).map(|at| format!("{:04}-{:02}-{:02}", 1890 + at / 16, at % 14, 26 + at % 7)));
        for text in texts.clone().into_iter().filter(|text| text.len() < 24 || !text.contains(":60")) {
            for (at, by) in
                (0..text.len()).flat_map(|at| "0123459-:TtZzAag.+ é".chars().map(move |by| (at, by)))
            {
                texts.push(format!("{}{by}{}", &text[..at], &text[at + 1..]));
                texts.push(format!("{}{by}{}", &text[..at], &text[at..]));
            }
            texts.truncate(400_000);
        }
        for name in ["date", "time", "date-time", "ipv4", "uuid"] {
            let Some(Format::Own(fits)) = Format::own(name, Draft::Draft202012) else { panic!("{name}") };
            let options = jsonschema::options().should_validate_formats(true);
            let validator = options.build(&json!({ "format": name })).unwrap();
            let mut valid = 0;
            for text in &texts {
                assert_eq!(fits(text), validator.is_valid(&json!(text)), "{name}: {text}");
                valid += usize::from(fits(text));
            }
            assert!(valid > 20, "{valid} of format {name}");
        }
    }
}
