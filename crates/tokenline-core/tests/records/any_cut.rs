//! Texts whose events could depend on where they are split.

use proptest::prelude::*;

use super::common::extent::cases;
use super::*;

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"{\"a\":1}"[..],
        b"{\"b\":\"\xC3\xA9\"}",
        b"\n",
        b"\n",
        b"\r\n",
        b",",
        b" ",
        b"```json",
        b"```",
        b"text",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b":",
        b"{x}",
        b"[1]",
        b"\xFF",
        b"\xE2\x82",
        b"\xE2\x82\xAC",
        b"\xEF\xBB\xBF",
        b"null",
        b"12",
        b"{\"a\":{\"b\":[1,2,{}]},\"c\":\"\\u00e9\"}",
        b"{\"k\":\"long enough to be cut\"}",
        b"\n  ",
        b"\n    ",
        b",\n",
        b"\"b\":",
        b"[\n",
        b"\n]",
        b"{\n  \"a\": [\n    {\"b\": 1}\n  ]\n}",
        b"<think>",
        b"</think>",
        b"\n<think",
        b"[THINK]",
        b"[/THINK]",
        b"- ",
        b"{\"items\":[",
        b"NaN",
        b"`",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2_000), ..ProptestConfig::default() })]

    #[test]
    fn same_events(input in soup(), strict in prop::bool::weighted(0.2), on_balance in prop::bool::weighted(0.2), items in any::<bool>(), limit in prop::sample::select(vec![8usize, 21, 50, 8 << 20])) {
        let mut options = if strict { Options::strict() } else { Options::lenient() };
        options = options.limits(Limits { line_bytes: limit, ..Limits::default() });
        if items {
            options = options.items("/items").unwrap();
        }
        if on_balance {
            options = options.release(Release::OnBalance);
        }
        at_every_split(&options, &input);
    }
}

/// Inputs that fuzzing found to depend on the split, grouped by what they have in common.
#[test]
fn the_first_fault_is_reported() {
    let limits = Limits { line_bytes: 11, ..Limits::default() };
    let input = b"\"a]}\xD6\x84\xDF\xDF=$\" \n+3!=[![[2\n\xFC";
    let options = Options::strict().limits(limits);
    assert_eq!(summaries(&options, input), ["invalid_utf8", "malformed_json", "invalid_utf8"]);
    assert_eq!(lenient(b"[[\n[\n\"\xDB\"]"), ["invalid_utf8"]);
}

/// The rest of a line that is dropped is in the span of its reject, whatever the chunks.
#[test]
fn dropped_text_belongs_to_the_reject_before_it() {
    let limits = Limits { line_bytes: 16, ..Limits::default() };
    let items = Options::lenient().items("/a").expect("a pointer").limits(limits);
    for (options, line) in [
        (&items, &b"{\"city\":\"Paris\"}{weather"[..]),
        (&items, b"{\"city\":\"Paris\"} {and a lot more of the text"),
        (&Options::lenient(), b"{\"a\":tru} and text \xff and more"),
    ] {
        let text = [line, b"\n{\"b\":2}\n"].concat();
        let seen = at_every_split(options, &text);
        text_at_every_split(options, &text, &seen);
        let rejected = |event: &Seen| match event {
            Seen::Rejected(reject) if reject.line == 1 => Some(reject.span),
            _ => None,
        };
        let spans: Vec<_> = seen.iter().filter_map(rejected).collect();
        let is_whole = spans.windows(2).all(|pair| pair[0].end == pair[1].start);
        assert!(is_whole && spans[0].start == 0, "{seen:?}");
        assert_eq!(spans.last().map(|span| span.end), Some(line.len() as u64), "{seen:?}");
    }
}
