//! The provider's `Retry-After` headers.

use std::time::{Duration, SystemTime};

/// The wait that the headers of an error response ask for: `Retry-After` in seconds or as a date ([RFC
/// 9110](https://www.rfc-editor.org/rfc/rfc9110#name-retry-after)), or the more precise `retry-after-ms` of OpenAI and
/// Azure.
pub(crate) fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    let seconds =
        |text: &str| text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let text = |name| header(name).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(seconds) {
        return Some(millis / 1000);
    }
    let after = text("retry-after")?;
    seconds(after)
        .or_else(|| Some(httpdate::parse_http_date(after).ok()?.duration_since(now).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_dates_and_milliseconds_are_read() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (name, value, expected) in [
            ("retry-after", "3", Some(3000)),
            ("retry-after", " 1.5 ", Some(1500)),
            ("retry-after", "0", Some(0)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:27 GMT", Some(0)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after", "inf", None),
            ("retry-after", "1e300", None),
            ("retry-after", "NaN", None),
            ("date", "3", None),
        ] {
            let expected = expected.map(Duration::from_millis);
            let header = |wanted: &str| (wanted == name).then_some(value);
            assert_eq!(retry_after(header, now), expected, "{name}: {value}");
        }
        let both = |name: &str| Some(if name == "retry-after-ms" { "1500" } else { "2" });
        assert_eq!(retry_after(both, now), Some(Duration::from_millis(1500)));
    }
}
