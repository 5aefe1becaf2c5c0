//! Server-sent events do not depend on the chunks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenline_core::Limits;
use tokenline_core::sse::SseDecoder;

fn decode<'a>(limits: Limits, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = SseDecoder::new(limits);
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut rest = chunk;
        loop {
            let decoded = decoder.decode(rest);
            let consumed = decoded.consumed;
            let item = decoded.item.map(|item| format!("{item:?}"));
            rest = &rest[consumed..];
            match item {
                Some(item) => seen.push(item),
                None => break,
            }
        }
        assert!(rest.is_empty());
    }
    if let Some(item) = decoder.finish() {
        seen.push(format!("{item:?}"));
    }
    seen.push(format!("{:?} {} {}", decoder.retry(), decoder.last_event_id(), decoder.unknown_fields()));
    seen
}

fuzz_target!(|data: &[u8]| {
    let [settings, input @ ..] = data else { return };
    let limits = match settings {
        0..128 => Limits::default(),
        small => {
            let cap = usize::from(small & 0x3F);
            Limits { sse_line_bytes: cap, sse_event_bytes: cap + 7, ..Limits::default() }
        }
    };
    let whole = decode(limits, [input]);
    let size = usize::from(settings % 7) + 1;
    assert_eq!(decode(limits, input.chunks(size)), whole);
    assert_eq!(decode(limits, input.chunks(1)), whole);
});
