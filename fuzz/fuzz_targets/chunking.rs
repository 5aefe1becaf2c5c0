//! The events do not depend on the chunks: the whole input against chunks whose sizes it determines itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenline_core::{CallFormat, Event, LentEvent, Limits, Options, RecordDecoder, Release};

/// The events, except partials, of chunks of bytes.
fn decode<'a>(options: &Options, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    decode_parts(options, chunks.into_iter().map(|chunk| ("", chunk)))
}

/// Of chunks that are text as far as possible.
fn decode_text<'a>(options: &Options, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let parts = chunks.into_iter().flat_map(<[u8]>::utf8_chunks);
    decode_parts(options, parts.map(|part| (part.valid(), part.invalid())))
}

/// Of chunks that are a text and then bytes.
fn decode_parts<'a>(options: &Options, chunks: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<String> {
    // Text after an unclosed think tag is scanned once more, and so are partial records and possible calls.
    let max_passes = if options.partials || options.looks_for_calls() { 6 } else { 4 };
    let mut decoder = RecordDecoder::new(options.clone());
    let mut seen = Vec::new();
    let mut bytes = 0;
    for (mut text, mut rest) in chunks {
        bytes += (text.len() + rest.len()) as u64;
        while !text.is_empty() {
            let decoded = decoder.decode_str(text);
            let consumed = decoded.consumed;
            seen.extend(decoded.event.and_then(|event| describe(&event)));
            text = &text[consumed..];
        }
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
    assert!(decoder.examined() <= max_passes * bytes, "linear work");
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
    options = options.repair_syntax(seed & 8 != 0);
    let whole = decode(&options, [input]);
    let mut state = u32::from(*seed) + 1;
    let mut rest = input;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = (state >> 24) as usize % 9;
        let (chunk, left) = rest.split_at(size.min(rest.len()));
        chunks.push(chunk);
        rest = left;
    }
    assert_eq!(decode_text(&options, [input]), whole);
    assert_eq!(decode_text(&options, chunks.iter().copied()), whole);
    assert_eq!(decode(&options, chunks), whole);
    assert_eq!(decode(&options, input.chunks(1)), whole);
});
