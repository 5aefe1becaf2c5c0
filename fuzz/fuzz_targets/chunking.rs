//! Any cut, same events: the input whole against the input in pieces whose sizes it chooses itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenline_core::{CallFormat, Event, LentEvent, Limits, Options, RecordDecoder, Release};

/// The events, apart from how the records grew.
fn decode<'a>(options: &Options, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    // What follows a tag for thinking that nothing closes is looked at once more, and so is what is told of a growing
    // record, or may be a call.
    let most = if options.partials || options.looks_for_calls() { 6 } else { 4 };
    let mut decoder = RecordDecoder::new(options.clone());
    let mut seen = Vec::new();
    let mut bytes = 0;
    for piece in pieces {
        bytes += piece.len() as u64;
        let mut rest = piece;
        loop {
            let decoded = decoder.decode(rest);
            let consumed = decoded.consumed;
            let event = decoded.event.map(|event| describe(&event));
            rest = &rest[consumed..];
            match event {
                Some(event) => seen.extend(event),
                None => break,
            }
        }
        assert!(rest.is_empty());
    }
    while let Some(event) = decoder.finish() {
        seen.extend(describe(&event));
    }
    assert!(decoder.examined() <= most * bytes, "linear work");
    seen
}

fn describe(event: &LentEvent<'_>) -> Option<String> {
    match event {
        Event::Record(record) => {
            let same = serde_json::from_str::<serde_json::Value>(record.value.raw());
            match (record.value.to_value(), same) {
                (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
                (Err(_), Err(error)) => assert!(error.to_string().contains("out of range"), "{error}"),
                (ours, theirs) => panic!("{ours:?} {theirs:?}"),
            }
            Some(format!("{record:?}"))
        }
        Event::Partial(_) => None,
        other => Some(format!("{other:?}")),
    }
}

fuzz_target!(|data: &[u8]| {
    let [settings, seed, input @ ..] = data else { return };
    let mut options = if settings & 1 == 0 { Options::lenient() } else { Options::strict() };
    if settings & 2 != 0 {
        options = options.release(Release::OnBalance);
    }
    if settings & 4 != 0 {
        options = options.limits(Limits { line_bytes: usize::from(settings >> 3), ..Limits::default() });
    }
    if seed & 1 != 0 {
        options = options.items("/a").unwrap_or_default();
    }
    options = options.partials(seed & 2 != 0);
    if seed & 4 != 0 {
        options = options.calls(CallFormat::Auto);
    }
    let whole = decode(&options, [input]);
    let mut state = u32::from(*seed) + 1;
    let mut rest = input;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = (state >> 24) as usize % 9;
        let (piece, left) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = left;
    }
    assert_eq!(decode(&options, pieces), whole);
    assert_eq!(decode(&options, input.chunks(1)), whole);
});
