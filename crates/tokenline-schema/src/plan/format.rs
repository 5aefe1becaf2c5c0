//! `format`, of which jsonschema judges. Usual spellings of times, which fit beyond doubt, need not be asked about.

/// The rule for a format.
pub(super) struct Format {
    /// Whether a text fits; if not, ask jsonschema.
    pub(super) surely_fits: fn(&[u8]) -> bool,
    /// The position of its validator in the plan.
    pub(super) delegate: u32,
}

impl Format {
    pub(super) fn new(name: Option<&str>, delegate: u32) -> Self {
        let surely_fits = match name {
            Some("date") => is_usual_date,
            Some("date-time") => is_usual_date_time,
            _ => |_: &[u8]| false,
        };
        Self { surely_fits, delegate }
    }
}

/// `2026-11-26`, in the part of a month that all months have.
fn is_usual_date(text: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return false };
    let is_year = [y1, y2, y3, y4].into_iter().all(u8::is_ascii_digit);
    is_year && (1..=12).contains(&number(*m1, *m2)) && (1..=28).contains(&number(*d1, *d2))
}

/// `2026-11-26T09:30:00Z`, with any fraction of a second.
fn is_usual_date_time(text: &[u8]) -> bool {
    let Some((date, [b'T', h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..])) = text.split_at_checked(10)
    else {
        return false;
    };
    let is_time = number(*h1, *h2) < 24 && number(*m1, *m2) < 60 && number(*s1, *s2) < 60;
    let is_utc = match rest {
        [b'Z'] => true,
        [b'.', fraction @ .., b'Z'] => !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_time && is_utc && is_usual_date(date)
}

/// The number with these digits; more than 99 if they are not digits.
fn number(tens: u8, ones: u8) -> u32 {
    if tens.is_ascii_digit() && ones.is_ascii_digit() {
        u32::from(tens - b'0') * 10 + u32::from(ones - b'0')
    } else {
        u32::MAX
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn usual_times_fit_for_jsonschema() {
        let usual = "2026-11-26T09:30:59.0Z";
        let mut texts = vec![usual.to_owned(), usual[..10].to_owned(), usual.replace(".0", "")];
        for text in texts.clone() {
            for (at, by) in (0..text.len()).flat_map(|at| "0123459-:TtZz.+ é".chars().map(move |by| (at, by)))
            {
                texts.push(format!("{}{by}{}", &text[..at], &text[at + 1..]));
                texts.push(format!("{}{by}{}", &text[..at], &text[at..]));
            }
        }
        for name in ["date", "date-time"] {
            let format = Format::new(Some(name), 0);
            let options = jsonschema::options().should_validate_formats(true);
            let validator = options.build(&json!({ "format": name })).unwrap();
            let sure: Vec<_> = texts.iter().filter(|text| (format.surely_fits)(text.as_bytes())).collect();
            assert!(sure.len() > 20, "{sure:?}");
            for text in sure {
                assert!(validator.is_valid(&json!(text)), "{text}");
            }
        }
    }
}
