//! RFC 3339 date-times.

/// Whether the text is a date-time with an offset: `2026-02-10T12:34:56.789Z`, `2026-02-10t12:34:56+01:00`. Leap
/// seconds are allowed at the end of a UTC day.
pub(crate) fn is_date_time(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

fn parse(text: &[u8]) -> Option<()> {
    let (head, rest) = text.split_at_checked(19)?;
    let year = number(&head[0..4])?;
    let month = number(&head[5..7])?;
    let day = number(&head[8..10])?;
    let hour = number(&head[11..13])?;
    let minute = number(&head[14..16])?;
    let second = number(&head[17..19])?;
    let separators = [head[4], head[7], head[10].to_ascii_lowercase(), head[13], head[16]];
    let is_good = separators == *b"--t::"
        && (1..=12).contains(&month)
        && (1..=days(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_good {
        return None;
    }
    let offset = match rest.strip_prefix(b".") {
        None => rest,
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (digits > 0).then_some(&fraction[digits..])?
        }
    };
    let minutes_ahead = match offset {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), offset @ ..] if offset.len() == 5 && offset[2] == b':' => {
            let (hours, minutes) = (number(&offset[0..2])?, number(&offset[3..5])?);
            let ahead = (hours < 24 && minutes < 60).then_some(i64::from(hours * 60 + minutes))?;
            if *sign == b'+' { ahead } else { -ahead }
        }
        _ => return None,
    };
    let in_utc = (i64::from(hour * 60 + minute) - minutes_ahead).rem_euclid(24 * 60);
    (second < 60 || in_utc == 24 * 60 - 1).then_some(())
}

fn number(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_date_times_with_an_offset_are_accepted() {
        for good in [
            "2026-02-10T12:34:56Z",
            "2026-02-10t12:34:56z",
            "2026-02-10T12:34:56.1Z",
            "2026-02-10T12:34:56.123456789012345+14:00",
            "2026-02-10T00:00:00-00:00",
            "2024-02-29T23:59:59+23:59",
            "2000-02-29T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "1990-12-31T23:59:60Z",
            "1990-12-31T15:59:60-08:00",
        ] {
            assert!(is_date_time(good), "{good}");
        }
        for bad in [
            "",
            "2026-02-10",
            "2026-02-10T12:34:56",
            "2026-02-10 12:34:56Z",
            "2026-02-10T12:34Z",
            "2026-02-10T12:34:56.Z",
            "2026-02-10T12:34:56,5Z",
            "2026-02-10T12:34:56+0100",
            "2026-02-10T12:34:56+01",
            "2026-02-10T12:34:56+24:00",
            "2026-02-10T12:34:56+01:60",
            "2026-02-10T12:34:56ZZ",
            "2026-02-10T12:34:56Z ",
            " 2026-02-10T12:34:56Z",
            "2026-13-10T12:34:56Z",
            "2026-00-10T12:34:56Z",
            "2026-02-30T12:34:56Z",
            "2026-02-00T12:34:56Z",
            "2026-04-31T12:34:56Z",
            "2025-02-29T12:34:56Z",
            "1900-02-29T12:34:56Z",
            "2026-02-10T24:00:00Z",
            "2026-02-10T12:60:56Z",
            "2026-02-10T12:34:61Z",
            "2026-02-10T12:34:60Z",
            "1990-12-31T23:59:60-08:00",
            "26-02-10T12:34:56Z",
            "+2026-02-10T12:34:56Z",
            "2026-2-10T12:34:56Z",
            "2026-02-10T12:34:5６Z",
            "1770726896",
            "20260210T123456Z",
        ] {
            assert!(!is_date_time(bad), "{bad}");
        }
    }
}
