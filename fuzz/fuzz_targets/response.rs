//! The events of a response do not depend on the chunks, nor on when the events are taken.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenline_core::json::Raw;
use tokenline_core::{Limits, Options, Release};
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};

/// A parser with settings chosen by the first byte.
fn parser(mut settings: usize) -> ResponseParser<Raw> {
    let mut choose = |count: usize| {
        let choice = settings % count;
        settings /= count;
        choice
    };
    let provider = Provider::ALL[choose(Provider::ALL.len())];
    let text_as = [TextMode::ToolCalls, TextMode::Records, TextMode::Text][choose(3)];
    let has_fragments = choose(2) == 0;
    let release = [Release::Confirmed, Release::OnBalance][choose(2)];
    let limits = match choose(2) {
        0 => Limits::default(),
        _ => Limits {
            line_bytes: 48,
            depth: 6,
            sse_line_bytes: 400,
            sse_event_bytes: 410,
            diagnostics: 4,
            ..Limits::DEFAULT
        },
    };
    let options = if choose(2) == 0 { Options::lenient() } else { Options::strict() };
    let parser = ResponseParser::new(provider, options.release(release).limits(limits))
        .with_options(|options| options.text_as(text_as));
    if has_fragments {
        parser.with_options(|options| options.text_and_reasoning().text_deltas())
    } else {
        parser
    }
}

/// Takes the events after each chunk, or all of them at the end.
fn decode<'a>(
    parser: &mut ResponseParser<Raw>,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    takes_at_once: bool,
) -> Vec<String> {
    let mut seen = Vec::new();
    for chunk in chunks {
        parser.push(chunk);
        if takes_at_once {
            take(parser, &mut seen);
        }
    }
    parser.finish();
    take(parser, &mut seen);
    assert!(parser.next_event().is_none());
    seen.push(format!("{} {:?}", parser.is_complete(), parser.usage()));
    seen.push(format!("{} {:?}", parser.unknown(), parser.report()));
    seen
}

fn take(parser: &mut ResponseParser<Raw>, seen: &mut Vec<String>) {
    while let Some(event) = parser.next_event() {
        if let ResponseEvent::ToolCall { call, .. } = &event {
            assert!(call.parameters.as_str().starts_with('{'));
        }
        seen.push(format!("{event:?}"));
    }
}

fuzz_target!(|data: &[u8]| {
    let [settings, input @ ..] = data else { return };
    let settings = usize::from(*settings);
    let mut whole_parser = parser(settings);
    let whole = decode(&mut whole_parser, [input], true);

    // The input itself determines the chunk sizes.
    let mut state =
        input.iter().fold(1_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    let mut chunks = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let most = if state & 0x100 == 0 { 9 } else { 300 };
        let (chunk, left) = rest.split_at(((state >> 16) as usize % most).min(rest.len()));
        chunks.push(chunk);
        rest = left;
    }
    assert_eq!(decode(&mut parser(settings), chunks.iter().copied(), false), whole);
    assert_eq!(decode(&mut parser(settings), chunks, true), whole);
    assert_eq!(decode(&mut parser(settings), input.chunks(1), true), whole);
    whole_parser.reset();
    assert_eq!(decode(&mut whole_parser, [input], false), whole, "after a reset");
});
