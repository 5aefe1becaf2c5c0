//! The helper behind all fixtures: the same events, however the input is split.
#![allow(unreachable_pub, dead_code, reason = "a module shared by several test programs, each uses a part")]

pub mod cases;
pub mod extent;

use std::borrow::Borrow;

use tokenline_core::{
    CheckedChunk, Code, Diagnostic, Event, JsonlParser, LentEvent, Options, Record, RecordDecoder, Span,
};

/// An event as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Record { raw: String, record: Record<()> },
    Rejected(Diagnostic),
    Note(Diagnostic),
}

impl Seen {
    pub fn summary(&self) -> String {
        match self {
            Self::Record { raw, record } => format!("{} {raw}", record.completion.as_str()),
            Self::Rejected(diagnostic) => format!("{}", diagnostic.code),
            Self::Note(diagnostic) => format!("({})", diagnostic.code),
        }
    }

    pub fn new(event: LentEvent<'_>) -> Self {
        match event {
            Event::Record(record) => {
                Self::Record { raw: record.value.raw().to_owned(), record: record.map(|_| ()) }
            }
            Event::Rejected(diagnostic) => Self::Rejected(diagnostic),
            Event::Note(diagnostic) => Self::Note(diagnostic),
            other => panic!("an event that the tests do not know: {other:?}"),
        }
    }
}

/// How the decoder is given a chunk.
#[derive(Clone, Copy, Debug)]
pub enum Give {
    Bytes,
    /// Valid UTF-8 as text, and what is between it as bytes.
    Text,
    /// As a [`CheckedChunk`].
    Checked,
}

/// Decodes a chunk, and takes each event.
pub fn give(
    how: Give,
    decoder: &mut RecordDecoder,
    chunk: &[u8],
    mut take: impl FnMut(&RecordDecoder, Yielded),
) {
    match how {
        Give::Bytes => give_bytes(decoder, chunk, &mut take),
        Give::Text => {
            for part in chunk.utf8_chunks() {
                let mut rest = part.valid();
                loop {
                    let decoded = decoder.decode_str(rest);
                    rest = &rest[decoded.consumed..];
                    let Some(event) = decoded.event.map(Yielded::new) else { break };
                    take(decoder, event);
                }
                assert!(rest.is_empty(), "no event, so all is consumed");
                give_bytes(decoder, part.invalid(), &mut take);
            }
        }
        Give::Checked => {
            let mut chunk = CheckedChunk::new(chunk);
            while let Some(event) = decoder.next_event(&mut chunk).map(Yielded::new) {
                take(decoder, event);
            }
            assert!(chunk.is_empty(), "no event, so all is consumed");
        }
    }
}

fn give_bytes(decoder: &mut RecordDecoder, mut rest: &[u8], take: &mut impl FnMut(&RecordDecoder, Yielded)) {
    loop {
        let decoded = decoder.decode(rest);
        rest = &rest[decoded.consumed..];
        let Some(event) = decoded.event.map(Yielded::new) else { break };
        take(decoder, event);
    }
    assert!(rest.is_empty(), "no event, so all is consumed");
}

/// The events of an input that arrives in these chunks, as bytes and as text.
pub fn decode<'a>(options: impl Borrow<Options>, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let (options, pieces) = (options.borrow(), pieces.into_iter().collect::<Vec<_>>());
    let seen = decode_given(Give::Bytes, options, &pieces);
    let of_text = decode_given(Give::Text, options, &pieces);
    assert_eq!(of_text, seen, "as text: {}", String::from_utf8_lossy(&pieces.concat()));
    seen
}

fn decode_given(how: Give, options: &Options, pieces: &[&[u8]]) -> Vec<Seen> {
    let mut decoder = RecordDecoder::new(options.clone());
    let mut seen = Vec::new();
    let mut bytes = 0;
    let mut input = Vec::new();
    for piece in pieces {
        bytes += piece.len() as u64;
        input.extend_from_slice(piece);
        give(how, &mut decoder, piece, |_, event| match event {
            Yielded::Event(event) => seen.push(event),
            Yielded::Segment(role, span) => panic!("no text was asked for: {role:?} {span:?}"),
        });
    }
    while let Some(event) = decoder.finish() {
        seen.push(Seen::new(event));
    }
    assert_eq!(decoder.position(), bytes);
    // Only records on lines of their own.
    let is_clean = |event: &Seen| matches!(event, Seen::Record { record, .. } if record.recovered.is_empty());
    let lengths = seen.iter().map(|event| match event {
        Seen::Record { record, .. } => record.span.end - record.span.start,
        _ => 0,
    });
    let blanks = input.iter().filter(|byte| byte.is_ascii_whitespace()).count() as u64;
    let is_clean = seen.iter().all(is_clean) && lengths.sum::<u64>() + blanks >= bytes;
    let has_tag = || THINK_TAGS.iter().any(|tag| input.windows(tag.len()).any(|part| part == *tag));
    let times = if is_clean {
        2
    } else if decoder.examined() > 3 * bytes && has_tag() {
        4
    } else {
        3
    };
    let bound = times * bytes;
    assert!(decoder.examined() <= bound, "{} bytes looked at for {bytes}", decoder.examined());
    seen
}

/// A part of the input that is not a record, with its span.
pub type Segment = (Role, Span);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Text,
    Reasoning,
    Markup,
}

/// Like [`decode`], with the text and markup beside the events; adjacent spans are joined.
pub fn decode_with_text<'a>(
    options: &Options,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Seen>, Vec<Segment>) {
    let pieces: Vec<_> = pieces.into_iter().collect();
    let seen = decode_with_text_given(Give::Bytes, options, &pieces);
    for how in [Give::Text, Give::Checked] {
        let input = pieces.concat();
        let given = decode_with_text_given(how, options, &pieces);
        assert_eq!(shown(&given), shown(&seen), "{how:?}: {}", String::from_utf8_lossy(&input));
    }
    seen
}

fn decode_with_text_given(how: Give, options: &Options, pieces: &[&[u8]]) -> (Vec<Seen>, Vec<Segment>) {
    let mut decoder = RecordDecoder::new(options.clone().text(true));
    let (mut seen, mut segments) = (Vec::new(), Vec::<Segment>::new());
    let mut input = Vec::new();
    let mut take = |decoder: &RecordDecoder, event: Yielded, input: &[u8]| match event {
        Yielded::Event(event) => seen.push(event),
        Yielded::Segment(role, span) => {
            let text = decoder.text(span);
            if role != Role::Markup {
                assert_eq!(text.as_bytes(), &input[span.start as usize..span.end as usize], "it is kept");
            }
            match segments.last_mut() {
                Some((last_role, last)) if *last_role == role && last.end == span.start => {
                    last.end = span.end;
                }
                _ => segments.push((role, span)),
            }
        }
    };
    for piece in pieces {
        input.extend_from_slice(piece);
        give(how, &mut decoder, piece, |decoder, event| take(decoder, event, &input));
    }
    while let Some(event) = decoder.finish().map(Yielded::new) {
        take(&decoder, event, &input);
    }
    (seen, segments)
}

/// The events, the text for people and the reasoning.
fn shown((seen, segments): &(Vec<Seen>, Vec<Segment>)) -> (&[Seen], Vec<Segment>) {
    (seen, segments.iter().copied().filter(|(role, _)| *role != Role::Markup).collect())
}

/// An event or a segment.
pub enum Yielded {
    Event(Seen),
    Segment(Role, Span),
}

impl Yielded {
    pub fn new(event: LentEvent<'_>) -> Self {
        match event {
            Event::Text(span) => Self::Segment(Role::Text, span),
            Event::Reasoning(span) => Self::Segment(Role::Reasoning, span),
            Event::Markup(span) => Self::Segment(Role::Markup, span),
            event => Self::Event(Seen::new(event)),
        }
    }
}

/// Text, markup and records are in input order; if nothing is rejected, they cover the input.
fn covers_the_input((seen, segments): &(Vec<Seen>, Vec<Segment>), input: &[u8]) {
    let records = seen.iter().filter_map(|event| match event {
        Seen::Record { record, .. } => Some(record.span),
        _ => None,
    });
    let mut spans: Vec<Span> = records.chain(segments.iter().map(|(_, span)| *span)).collect();
    spans.sort_by_key(|span| span.start);
    let context = || format!("{spans:?} of {}", String::from_utf8_lossy(input));
    assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start), "twice: {}", context());
    if !seen.iter().any(|event| matches!(event, Seen::Rejected(_))) {
        let mark = if input.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        let covered: u64 = spans.iter().map(|span| span.end - span.start).sum();
        assert!(covered + mark >= input.len() as u64, "not all: {}", context());
    }
}

/// Text after an unclosed tag is read again.
const THINK_TAGS: [&[u8]; 5] = [b"<think>", b"<thinking>", b"<thought>", b"<reasoning>", b"[THINK]"];

/// Decodes the input at once, byte by byte, in two chunks split at every position, in chunks of several sizes
/// and of random sizes, and through the push parser, drained or not; all must agree.
pub fn at_every_split(options: impl Borrow<Options>, input: &[u8]) -> Vec<Seen> {
    let options = options.borrow();
    let whole = decode(options, [input]);
    let check = |seen: Vec<Seen>, how: &str| {
        assert_eq!(seen, whole, "{how}: {}", String::from_utf8_lossy(input));
    };
    for size in [1, 2, 3, 5, 7, 16, 61] {
        check(decode(options, input.chunks(size)), &format!("in pieces of {size}"));
    }
    check(decode(options, input.chunks(1).flat_map(|piece| [&b""[..], piece])), "with empty pieces");
    if input.len() <= 1500 {
        for at in 0..=input.len() {
            let (left, right) = input.split_at(at);
            check(decode(options, [left, right]), &format!("cut at {at}"));
        }
    }
    for seed in 0..RANDOM_CHUNKINGS {
        let pieces = random_pieces(seed, input);
        check(decode_given(Give::Checked, options, &pieces), &format!("in checked pieces, seed {seed}"));
        check(decode(options, pieces), &format!("in random pieces, seed {seed}"));
    }
    check(push(options, input.chunks(3), true), "pushed and drained");
    check(push(options, input.chunks(3), false), "pushed at once");
    whole
}

/// Checks that text and markup do not change the events, with the input at once and in chunks.
pub fn text_at_every_split(options: impl Borrow<Options>, input: &[u8], whole: &[Seen]) {
    let options = options.borrow();
    let expected = decode_with_text(options, [input]);
    assert_eq!(expected.0, whole, "with text: {}", String::from_utf8_lossy(input));
    covers_the_input(&expected, input);
    // Not everything beyond a limit is kept.
    let is_large = |event: &Seen| match event {
        Seen::Rejected(reject) => matches!(reject.code, Code::RecordTooLarge | Code::LineTooLong),
        _ => false,
    };
    for size in [1, 5, 16].into_iter().filter(|_| !whole.iter().any(is_large)) {
        let pieces = decode_with_text(options, input.chunks(size));
        assert_eq!(
            shown(&pieces),
            shown(&expected),
            "text in chunks of {size}: {}",
            String::from_utf8_lossy(input)
        );
    }
}

const RANDOM_CHUNKINGS: u64 = 16;

/// The input in chunks of random sizes, some empty; the same for the same seed.
fn random_pieces(seed: u64, input: &[u8]) -> Vec<&[u8]> {
    let mut state = seed ^ ((input.len() as u64) << 32);
    // SplitMix64.
    let mut next = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    // Tokens, packets, or two or three large chunks: each split has its own sizes.
    let most = [4, 16, 64, input.len() as u64 + 1][seed as usize % 4];
    let mut rest = input;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(((next() % (most + 1)) as usize).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn push<'a>(options: &Options, pieces: impl IntoIterator<Item = &'a [u8]>, drain: bool) -> Vec<Seen> {
    let mut parser = JsonlParser::new(options.clone());
    // A parser that was used before must behave like a new one.
    parser.push("{\"left\":\"over");
    assert!(parser.next_event().is_none());
    parser.reset();
    let mut seen = Vec::new();
    for piece in pieces {
        parser.push(piece.to_vec());
        while drain && let Some(event) = parser.next_event() {
            seen.push(Seen::new(event));
        }
    }
    parser.finish();
    while let Some(event) = parser.next_event() {
        seen.push(Seen::new(event));
    }
    assert!(parser.next_event().is_none(), "after the end, stay ended");
    seen
}
