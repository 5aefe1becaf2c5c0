//! The `Accept` header: RFC 9110, section 12.5.1.

use super::RecordsFormat;

/// In the order of preference.
const OFFERED: [RecordsFormat; 3] = [RecordsFormat::Ndjson, RecordsFormat::Jsonl, RecordsFormat::Sse];

/// The offered format that a client prefers; `None` if it accepts none. `values` are the values of its `Accept` headers.
///
/// Among formats of the same weight, one that is named comes before one that only a wildcard matches.
pub(super) fn negotiate<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<RecordsFormat> {
    let ranges =
        values.into_iter().flat_map(|value| value.split(',')).filter(|range| !range.trim().is_empty());
    let ranges: Vec<&str> = ranges.collect();
    if ranges.is_empty() {
        return Some(OFFERED[0]);
    }
    let mut best = None;
    for format in OFFERED {
        // The most specific range decides.
        let matches = ranges.iter().filter_map(|range| match_range(range, format.content_type()));
        let Some((specificity, weight)) = matches.max().filter(|&(_, weight)| weight > 0) else { continue };
        if best.is_none_or(|(found, _)| (weight, specificity) > found) {
            best = Some(((weight, specificity), format));
        }
    }
    best.map(|(_, format)| format)
}

/// How specifically a media range matches a type, and its weight in thousandths.
fn match_range(range: &str, offered: &str) -> Option<(u8, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let (offered_kind, offered_subtype) = offered.split_once('/')?;
    let specificity = match (kind, subtype) {
        ("*", "*") => 0,
        (_, "*") if kind.eq_ignore_ascii_case(offered_kind) => 1,
        _ if kind.eq_ignore_ascii_case(offered_kind) && subtype.eq_ignore_ascii_case(offered_subtype) => 2,
        _ => return None,
    };
    let weight = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    Some((specificity, weight.map_or(Some(1000), thousandths)?))
}

/// `0.25` as 250; `None` if it is not a weight.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let fraction: u16 = format!("{fraction:0<3}").parse().ok()?;
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_chooses() {
        use RecordsFormat::{Jsonl, Ndjson, Sse};
        for (accept, format) in [
            ("", Some(Ndjson)),
            (" , ", Some(Ndjson)),
            ("*/*", Some(Ndjson)),
            ("application/*", Some(Ndjson)),
            ("application/x-ndjson", Some(Ndjson)),
            ("APPLICATION/X-NDJSON ; Q=0.1", Some(Ndjson)),
            ("application/jsonl", Some(Jsonl)),
            ("text/event-stream", Some(Sse)),
            ("text/event-stream;charset=utf-8", Some(Sse)),
            ("text/*", Some(Sse)),
            // What curl, EventSource, fetch and a browser's address bar send.
            ("*/*;q=0.8,text/html", Some(Ndjson)),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Some(Ndjson)),
            // Weights, and among equal ones the named format.
            ("application/x-ndjson;q=0.5, text/event-stream;q=0.9", Some(Sse)),
            ("application/x-ndjson;q=0.9, text/event-stream;q=0.90", Some(Ndjson)),
            ("text/event-stream, */*", Some(Sse)),
            ("*/*, text/event-stream;q=0.5", Some(Ndjson)),
            ("application/jsonl, application/*", Some(Jsonl)),
            // The most specific range decides, also against a format.
            ("*/*, application/*;q=0", Some(Sse)),
            ("*/*, application/x-ndjson;q=0", Some(Jsonl)),
            ("text/event-stream;q=0, */*;q=0.1", Some(Ndjson)),
            ("text/event-stream;q=0.0, text/event-stream;q=0.2", Some(Sse)),
            // Nothing that is offered.
            ("application/json", None),
            ("text/html, image/*", None),
            ("*/*;q=0", None),
            ("application/x-ndjson;q=0.000", None),
            // Invalid ranges are ignored.
            ("nonsense, text/event-stream", Some(Sse)),
            ("nonsense", None),
            ("application/x-ndjson;q=2, text/event-stream;q=0.1", Some(Sse)),
            ("application/x-ndjson;q=0.1234, application/jsonl;q=-1, text/event-stream;q=.5", None),
        ] {
            assert_eq!(negotiate([accept]), format, "{accept:?}");
        }
        assert_eq!(negotiate([]), Some(Ndjson));
        assert_eq!(negotiate(["text/html", "text/event-stream;q=0.1"]), Some(Sse));
    }

    #[test]
    fn weights_have_three_digits() {
        let weights = ["0", "0.", "0.5", "0.05", "0.005", "1", "1.000"].map(thousandths);
        assert_eq!(weights, [0, 0, 500, 50, 5, 1000, 1000].map(Some));
        for weight in ["", ".", "2", "1.001", "0.0005", "+1", "0.+1", "1e0", "00"] {
            assert_eq!(thousandths(weight), None, "{weight:?}");
        }
    }
}
