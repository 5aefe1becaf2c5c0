//! Tool calls in any rows of the table, in any text: events, text and markup do not depend on the chunks, and cover
//! the text once; each call has a name; and a part of the text has no other calls.
//! `SHOW=1 call_syntaxes FILE` prints what the bytes of a file stand for.
#![no_main]

#[path = "call_syntaxes/choices.rs"]
mod choices;
#[path = "call_syntaxes/rows.rs"]
mod rows;
#[path = "call_syntaxes/text.rs"]
mod text;

use std::sync::{Arc, LazyLock};

use choices::Choices;
use libfuzzer_sys::fuzz_target;
use tokenline_core::json::Value;
use tokenline_core::{
    CompletedBy, Event, LentEvent, Limits, Options, Record, RecordDecoder, Recovery, Release, Span, ToolCall,
    ValidateCall,
};
use tokenline_schema::ToolSet;

static TOOLS: LazyLock<Arc<dyn ValidateCall + Send + Sync>> = LazyLock::new(|| {
    let tools = ToolSet::from_json_str(
        r#"[
            {"name": "weather", "parameters": {"type": "object", "properties": {
                "city": {"type": "string"}, "days": {"type": "integer"}, "is_raw": {"type": ["boolean", "null"]},
                "tags": {"type": "array", "items": {"type": "number"}}, "at": {"type": "object"}}}},
            {"name": "now"},
            {"name": "é"}
        ]"#,
    );
    Arc::new(tools.expect("definitions"))
});

/// How to decode.
#[derive(Debug)]
struct Setup {
    options: Options,
    has_tools: bool,
    completion: CompletedBy,
}

impl Setup {
    fn new(choices: &mut Choices<'_>, options: Options) -> Self {
        let bits = choices.byte();
        let mut options = options.partials(bits & 1 != 0);
        if bits & 2 != 0 {
            options = options.release(Release::OnBalance);
        }
        if bits & 0x0C == 0x0C {
            let line_bytes = usize::from(choices.byte());
            options = options.limits(Limits { line_bytes, depth: 5, ..Limits::default() });
        }
        if bits & 0x30 == 0x30 {
            options = options.items("/a").expect("a pointer");
        }
        let completion = if bits & 0x40 == 0 { CompletedBy::EndOfInput } else { CompletedBy::FinishReason };
        Self { options, has_tools: bits & 0x80 != 0, completion }
    }
}

/// The output of a decoder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Records, rejects and notes.
    events: Vec<String>,
    /// Calls that something after them confirmed: their first bytes, and their JSON.
    confirmed: Vec<(u64, String)>,
    records: Vec<Span>,
    rejects: Vec<Span>,
    /// Text, reasoning and markup.
    segments: Vec<(Role, Span)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Text,
    Reasoning,
    Markup,
}

impl Found {
    fn add(&mut self, event: &LentEvent<'_>) {
        let (role, span) = match event {
            Event::Record(record) => {
                let json = record.value.raw();
                check_record(record);
                self.records.push(record.span);
                // The lines of an array that the end of the text cuts off are read again as records of their own.
                let is_of_reader = record.recovered.contains(Recovery::CallFormat);
                let may_be_reasoning = record.recovered.contains(Recovery::ThinkUnclosed);
                if record.completion != CompletedBy::EndOfInput && is_of_reader && !may_be_reasoning {
                    self.confirmed.push((record.span.start, json.to_owned()));
                }
                return self.events.push(format!("{record:?}"));
            }
            Event::Rejected(diagnostic) => {
                self.rejects.push(diagnostic.span);
                return self.events.push(format!("{diagnostic:?}"));
            }
            Event::Text(span) => (Role::Text, *span),
            Event::Reasoning(span) => (Role::Reasoning, *span),
            Event::Markup(span) => (Role::Markup, *span),
            Event::Partial(_) => return,
            other => return self.events.push(format!("{other:?}")),
        };
        assert!(span.start < span.end, "{span:?}");
        match self.segments.last_mut() {
            Some((last_role, last)) if *last_role == role && last.end == span.start => last.end = span.end,
            _ => self.segments.push((role, span)),
        }
    }
}

/// A record is valid JSON. What it calls has a name and parameters.
fn check_record(record: &Record<Value<'_>>) {
    let json = record.value.raw();
    if let Err(error) = serde_json::from_str::<serde_json::Value>(json) {
        assert!(error.to_string().contains("out of range"), "{error}: {json}");
    }
    for call in ToolCall::all_from_record(record, None).flatten() {
        assert!(!call.name.is_empty() && call.parameters.as_str().starts_with('{'), "{call:?}");
    }
}

fn decode<'a>(setup: &Setup, has_text: bool, chunks: impl IntoIterator<Item = &'a [u8]>) -> Found {
    let mut decoder = RecordDecoder::new(setup.options.clone().text(has_text));
    if setup.has_tools {
        decoder = decoder.with_tools(Arc::clone(&TOOLS));
    }
    let mut found = Found::default();
    let (mut bytes, mut controls) = (0, 0);
    for chunk in chunks {
        bytes += chunk.len() as u64;
        controls += chunk.iter().filter(|byte| byte.is_ascii_control()).count() as u64;
        let mut rest = chunk;
        loop {
            // Both must give the same.
            let decoded = match str::from_utf8(rest) {
                Ok(text) if has_text => decoder.decode_str(text),
                _ => decoder.decode(rest),
            };
            rest = &rest[decoded.consumed..];
            let Some(event) = decoded.event else { break };
            found.add(&event);
        }
        assert!(rest.is_empty());
    }
    while let Some(event) = decoder.finish_with(setup.completion) {
        found.add(&event);
    }
    assert_eq!(decoder.position(), bytes);
    // Text after an unclosed think tag is scanned once more, and so are partial records and possible calls. The JSON of
    // a call has an escape of six bytes for a control character.
    assert!(decoder.examined() <= 6 * (bytes + 5 * controls), "linear work");
    found
}

/// Text and reasoning. White space around rejected text need not be kept.
fn shown(found: &Found, text: &[u8]) -> Vec<(Role, Span)> {
    let texts = found.segments.iter().filter(|(role, _)| *role != Role::Markup);
    let texts = texts.map(|(role, span)| {
        let written = &text[span.start as usize..span.end as usize];
        (*role, Span::new(span.end - written.trim_ascii_start().len() as u64, span.end))
    });
    texts.filter(|(_, span)| span.start < span.end).collect()
}

/// Records, text and markup are in order and do not overlap; with the rejects, they cover the text. Of a document
/// with items, only these are records.
fn check_spans(found: &Found, text: &[u8], has_items: bool) {
    let spans = found.records.iter().chain(found.segments.iter().map(|(_, span)| span));
    let mut spans: Vec<Span> = spans.copied().collect();
    spans.sort_by_key(|span| span.start);
    let boundaries = std::str::from_utf8(text).ok();
    for span in spans.iter().chain(&found.rejects) {
        assert!(span.start <= span.end && span.end <= text.len() as u64, "{span:?}");
        if let Some(text) = boundaries {
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{span:?}");
        }
    }
    assert!(found.records.is_sorted_by(|one, next| one.end <= next.start), "{:?}", found.records);
    assert!(spans.is_sorted_by(|one, next| one.end <= next.start), "twice: {spans:?}");
    spans.extend_from_slice(&found.rejects);
    spans.sort_by_key(|span| span.start);
    let mut covered = if text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    for span in spans.iter().chain([&Span::new(text.len() as u64, text.len() as u64)]) {
        if covered < span.start {
            let gap = &text[covered as usize..span.start as usize];
            let is_blank = gap.trim_ascii().is_empty() && !found.rejects.is_empty();
            assert!(is_blank || has_items, "nothing covers {covered} to {}: {spans:?}", span.start);
        }
        covered = covered.max(span.end);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    let (format, of) = rows::format(&mut choices);
    let setup = Setup::new(&mut choices, Options::lenient().calls(format));
    let (cut, seed) = (u16::from_le_bytes([choices.byte(), choices.byte()]), choices.byte());
    let text = text::text(&mut choices, &of);

    if std::env::var_os("SHOW").is_some() {
        eprintln!("{:#?}\n{setup:?}\n{of:?}", String::from_utf8_lossy(&text));
    }

    let whole = decode(&setup, true, [&text[..]]);
    check_spans(&whole, &text, setup.options.looks_for_items());
    let plain = decode(&setup, false, [&text[..]]);
    assert_eq!(plain.events, whole.events, "without text");

    let mut state = u32::from(seed) + 1;
    let mut rest = &text[..];
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let most = if seed & 1 == 0 { 9 } else { 60 };
        let (chunk, left) = rest.split_at(((state >> 16) as usize % most).min(rest.len()));
        chunks.push(chunk);
        rest = left;
    }
    // Not everything beyond a limit is kept. An earlier reject on the line stands for one that says so.
    let is_large = |event: &String| event.contains("LineTooLong") || event.contains("RecordTooLarge");
    let exceeds_limit = !whole.rejects.is_empty() && text.len() > setup.options.limits.line_bytes;
    let compare = |mut found: Found, how| {
        if exceeds_limit || whole.events.iter().any(is_large) {
            found.segments.clone_from(&whole.segments);
        }
        if !whole.rejects.is_empty() && shown(&found, &text) == shown(&whole, &text) {
            found.segments.clone_from(&whole.segments);
        }
        assert_eq!(found, whole, "{how}");
    };
    compare(decode(&setup, true, chunks.iter().copied()), "in chunks");
    compare(decode(&setup, true, text.chunks(1)), "byte by byte");
    assert_eq!(decode(&setup, false, chunks).events, whole.events, "in chunks, without text");
    assert_eq!(decode(&setup, false, text.chunks(1)).events, whole.events, "byte by byte, without text");

    // What follows does not take back what was confirmed, unless it makes a line too long.
    if whole.events.iter().any(is_large) {
        return;
    }
    let (part, rest) = text.split_at(usize::from(cut) % (text.len() + 1));
    // `[now()](` is a link.
    if part.trim_ascii_end().ends_with(b"]") && rest.trim_ascii_start().starts_with(b"(") {
        return;
    }
    let part = decode(&Setup { completion: CompletedBy::EndOfInput, ..setup }, false, [part]);
    for record in &part.confirmed {
        assert!(whole.confirmed.contains(record), "{record:?} is not in {:?}", whole.confirmed);
    }
});
