//! Tokens of a model inside a string, which are read only when something else comes.

use proptest::prelude::*;
use tokenline_core::adapter::Gap;
use tokenline_core::{CheckedChunk, RecordDecoder};

use super::common::extent::cases;
use super::*;

fn token() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        8 => prop::sample::select(vec!["a", "word", " and more", "seventeen bytes..", "é", "€uro"]),
        3 => prop::sample::select(vec!["{\"a\":\"", "\"", "\",\"b\":\"", "\"}\n", "}\n", "\n"]),
        1 => prop::sample::select(vec!["\\", "\\n", "\\u00", "e9", "\r", "\t", "[", ",", "1", "<think>"]),
    ]
}

/// Feeds a token in one of four ways, and adds its events.
fn feed(decoder: &mut RecordDecoder, token: &str, way: u8, events: &mut Vec<String>) {
    if way >= 2 {
        let mut chunk =
            if way == 2 { CheckedChunk::from(token) } else { CheckedChunk::new(token.as_bytes()) };
        while let Some(event) = decoder.next_event(&mut chunk) {
            events.push(format!("{event:?}"));
        }
        return;
    }
    let mut rest = token;
    loop {
        let decoded = if way == 1 { decoder.decode_str(rest) } else { decoder.decode(rest.as_bytes()) };
        rest = &rest[decoded.consumed..];
        match decoded.event {
            Some(event) => events.push(format!("{event:?}")),
            None => return,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1_000), ..ProptestConfig::default() })]

    /// A snapshot reads the tokens so far, so with one after each token, none is left for later.
    #[test]
    fn when_they_are_read_does_not_matter(
        tokens in prop::collection::vec((token(), 0..4_u8), 1..60),
        gaps in prop::collection::vec(0_usize..60, 0..2),
        partials in prop::bool::weighted(0.3),
        limit in prop::sample::select(vec![21_usize, 60, 8 << 20]),
    ) {
        let limits = Limits { line_bytes: limit, ..Limits::default() };
        let options = Options::lenient().limits(limits).partials(partials);
        let (mut later, mut now) = (RecordDecoder::new(options.clone()), RecordDecoder::new(options));
        let (mut events, mut expected) = (Vec::new(), Vec::new());
        // By the snapshots.
        let mut examined = 0;
        for (at, (token, way)) in tokens.iter().enumerate() {
            if gaps.contains(&at) {
                later.gap(Gap::Missing);
                now.gap(Gap::Missing);
            }
            feed(&mut later, token, *way, &mut events);
            feed(&mut now, token, *way, &mut expected);
            let state = |decoder: &RecordDecoder| {
                let open = (decoder.open_value(), decoder.rejected_value(), decoder.is_in_reasoning());
                let from = (decoder.open_from(), decoder.undecided_from(), decoder.line(), open);
                (decoder.position(), decoder.held_bytes(), from, decoder.examined())
            };
            let (position, held, from, all) = state(&now);
            prop_assert_eq!(state(&later), (position, held, from, all - examined));
            let before = now.examined();
            now.snapshot();
            examined += now.examined() - before;
        }
        for (decoder, events) in [(&mut later, &mut events), (&mut now, &mut expected)] {
            while let Some(event) = decoder.finish() {
                events.push(format!("{event:?}"));
            }
        }
        prop_assert_eq!(events, expected);
    }
}
