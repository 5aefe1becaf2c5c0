//! The helper behind every fixture: any cut yields the same events.
#![allow(unreachable_pub, dead_code, reason = "a module shared by several test programs")]

pub mod conversation;
pub mod deltas;
pub mod event_stream;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
pub mod extent;

use std::path::{Path, PathBuf};

use extent::positions;
use tokenline_core::json::Raw;
use tokenline_core::{Options, Report};
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};

/// The events and the report of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub events: Vec<ResponseEvent<Raw>>,
    pub is_complete: bool,
    pub unknown: String,
    pub report: Report,
}

pub fn parser(text_as: TextMode) -> ResponseParser<Raw> {
    parser_of(Provider::OpenAiChat, text_as)
}

pub fn parser_of(provider: Provider, text_as: TextMode) -> ResponseParser<Raw> {
    ResponseParser::new(provider, Options::lenient())
        .with_options(|options| options.text_as(text_as).text_and_reasoning())
}

/// Decodes a response in these chunks.
pub fn decode<'a>(parser: &mut ResponseParser<Raw>, pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    parser.reset();
    let mut events = Vec::new();
    for piece in pieces {
        parser.push(piece);
        events.extend(std::iter::from_fn(|| parser.next_event()));
    }
    parser.finish();
    parser.finish();
    events.extend(std::iter::from_fn(|| parser.next_event()));
    parser.push(b"data: {\"error\":\"after the end\"}\n\n");
    assert!(parser.next_event().is_none(), "after the end, stay ended");
    let is_complete = parser.is_complete();
    assert_eq!(is_complete, parser.report().is_complete());
    Seen { events, is_complete, unknown: parser.unknown().to_string(), report: parser.report().clone() }
}

/// Decodes at once, in chunks of several sizes, and in two at every cut (or at 200 of them, unless loops are exhaustive),
/// with LF and with CRLF; all results must agree.
pub fn at_every_cut(mut parser: ResponseParser<Raw>, input: &[u8]) -> Seen {
    let whole = decode(&mut parser, [input]);
    every_cut(&mut parser, input, &whole);
    let crlf = String::from_utf8_lossy(input).replace('\n', "\r\n");
    if crlf.len() > input.len() && !crlf.contains('\u{fffd}') {
        let with_crlf = decode(&mut parser, [crlf.as_bytes()]);
        every_cut(&mut parser, crlf.as_bytes(), &with_crlf);
        // Diagnostics of the wire count its bytes.
        let countless =
            |seen: &Seen| seen.summary().join("\n").replace(|char: char| char.is_ascii_digit(), "");
        assert_eq!(countless(&with_crlf), countless(&whole));
        assert_eq!((with_crlf.is_complete, &with_crlf.unknown), (whole.is_complete, &whole.unknown));
    }
    whole
}

fn every_cut(parser: &mut ResponseParser<Raw>, input: &[u8], whole: &Seen) {
    let check = |seen: Seen, how: &str| {
        assert_eq!(&seen, whole, "{how}: {}", String::from_utf8_lossy(&input[..input.len().min(2000)]));
    };
    for size in [1, 2, 3, 5, 7, 16, 61, 259, 4096] {
        check(decode(parser, input.chunks(size)), &format!("in pieces of {size}"));
    }
    check(decode(parser, input.chunks(1).flat_map(|piece| [&b""[..], piece])), "with empty pieces");
    for at in positions(input.len(), if input.len() > 10_000 { 30 } else { 200 }) {
        let (left, right) = input.split_at(at);
        check(decode(parser, [left, right]), &format!("cut at {at}"));
    }
}

impl Seen {
    /// One line per event, with text joined at the end; without positions.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut texts: Vec<(String, String)> = Vec::new();
        let mut join = |kind: String, more: &str| match texts.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, text)) => text.push_str(more),
            None => texts.push((kind, more.to_owned())),
        };
        let of = |choice: &u64| if *choice == 0 { String::new() } else { format!("{choice}: ") };
        for event in &self.events {
            match event {
                ResponseEvent::Record { choice, record, .. } => {
                    lines.push(format!("{}{} {}", of(choice), record.completion.as_str(), record.value));
                }
                ResponseEvent::ToolCall { choice, call, record, .. } => {
                    let synthetic = if call.is_synthetic_id { " synthetic" } else { "" };
                    let id = call.call_id.as_deref().map_or(String::new(), |id| format!("{synthetic} {id}"));
                    let kind = if record.is_some() { "textual call" } else { "call" };
                    let (name, completion) = (&call.name, call.completion.as_str());
                    lines.push(format!("{}{kind} {completion} {name} {}{id}", of(choice), call.parameters));
                }
                ResponseEvent::RejectedCall { choice, call, .. } => {
                    let (at, code) = (of(choice), call.diagnostic.code);
                    lines.push(format!("{at}rejected {code}: {}", call.diagnostic.message));
                }
                ResponseEvent::Rejected { choice, diagnostic, .. } => {
                    let (at, code) = (of(&choice.unwrap_or_default()), diagnostic.code);
                    lines.push(format!("{at}rejected {code}: {}", diagnostic.message));
                }
                ResponseEvent::Note { diagnostic, .. } => lines.push(format!("note {}", diagnostic.code)),
                ResponseEvent::Text { choice, text, .. } => join(format!("{}text", of(choice)), text),
                // Covered by the tests of messages.
                ResponseEvent::Reasoning { opaque: Some(_), .. } => {}
                ResponseEvent::Reasoning { choice, text, .. } => {
                    join(format!("{}reasoning", of(choice)), text);
                }
                ResponseEvent::Refusal { choice, text } => join(format!("{}refusal", of(choice)), text),
                ResponseEvent::Finish { choice, reason } => {
                    lines.push(format!("{}finish {reason}", of(choice)));
                }
                ResponseEvent::Usage(usage) => {
                    let tokens = [usage.input_tokens, usage.output_tokens, usage.total_tokens];
                    let tokens =
                        tokens.map(|tokens| tokens.map_or("?".to_owned(), |tokens| tokens.to_string()));
                    lines.push(format!("usage {}", tokens.join(" ")));
                }
                other => panic!("an event that the tests do not know: {other:?}"),
            }
        }
        lines.extend(texts.into_iter().map(|(kind, text)| format!("{kind} {}", text.replace('\n', "⏎"))));
        lines
    }
}

/// The folder of a provider's fixtures.
pub fn folder(provider: Provider) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(provider.as_str())
}

/// The fixtures of a provider, in its folder and subfolders, sorted by name.
pub fn fixtures(provider: Provider) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder(provider)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).expect("it can be read");
        let (inner, found): (Vec<_>, Vec<_>) =
            entries.map(|entry| entry.expect("an entry").path()).partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(found);
    }
    // The expected results.
    files.retain(|file| file.extension().is_some_and(|extension| extension != "txt"));
    files.sort();
    assert!(files.len() > 20, "{provider:?}");
    files
}

/// Reproducible random numbers below a bound: xorshift64.
pub fn random() -> impl FnMut(usize) -> usize {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("it is below")
    }
}

/// The fixture with this path below `fixtures`.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The chunk of the first choice with this delta and, if there is one, finish reason.
pub fn chunk(delta: &str, reason: &str) -> String {
    chunk_of(0, delta, reason)
}

/// The chunk of the choice with this index.
pub fn chunk_of(index: u64, delta: &str, reason: &str) -> String {
    let reason = if reason.is_empty() { "null".to_owned() } else { format!("{reason:?}") };
    format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n")
}

/// The chunk with this text.
pub fn text(text: &str) -> String {
    chunk(&serde_json::json!({"content": text}).to_string(), "")
}

/// The chunk with this fragment of a tool call.
pub fn call(id: &str, name: &str, arguments: &str) -> String {
    let call = serde_json::json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
    chunk(&serde_json::json!({"tool_calls": [call]}).to_string(), "")
}

/// Records and calls, without the proof that they are complete.
pub fn delivered(seen: &Seen) -> Vec<String> {
    let delivered = seen.events.iter().filter_map(|event| match event {
        ResponseEvent::Record { choice, block, record } => Some(format!("{choice} {block} {}", record.value)),
        ResponseEvent::ToolCall { choice, call, .. } => {
            Some(format!("{choice} {} {} {:?}", call.name, call.parameters, call.call_id))
        }
        _ => None,
    });
    delivered.collect()
}
