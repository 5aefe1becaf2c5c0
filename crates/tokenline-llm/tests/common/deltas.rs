//! The deltas of provider decoders, without a parser.

use tokenline_core::Limits;
use tokenline_core::sse::{SseDecoder, SseItem};
use tokenline_llm::providers::{EventDecoder, EventStreamDecoder};
use tokenline_llm::{Delta, Provider};

/// A short description of a delta, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    what: String,
    text: String,
}

fn describe(delta: &Delta<'_>) -> Logged {
    let tokens = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
    let (what, text) = match delta {
        Delta::Start { .. } => ("start".to_owned(), ""),
        Delta::Text { block, text, .. } => (format!("text {block}:"), *text),
        Delta::Reasoning { text, .. } => ("reasoning:".to_owned(), *text),
        Delta::ToolCall { call, .. } => {
            let block = call.index.map_or("-".to_owned(), |block| block.to_string());
            let header: Vec<&str> = [call.name, call.id].into_iter().flatten().collect();
            let whole = if call.is_whole { ", whole" } else { "" };
            match &header[..] {
                [] => (format!("arguments {block}{whole}:"), call.arguments),
                header => (format!("call {block}{whole}: {}", header.join(" ")), call.arguments),
            }
        }
        Delta::BlockStop { block, completion, .. } => {
            (format!("stop {block} {}", completion.map_or("cut", |completion| completion.as_str())), "")
        }
        Delta::Finish { reason, .. } => (format!("finish {reason}"), ""),
        Delta::Usage(usage) => {
            let counts = [usage.input_tokens, usage.output_tokens, usage.total_tokens];
            (format!("usage {}", counts.map(tokens).join(" ")), "")
        }
        Delta::Opaque { data, .. } => (format!("opaque {data}"), ""),
        Delta::Error { message, .. } => (format!("error {message}"), ""),
        Delta::Unknown { parent, name } => (format!("unknown {parent}.{name}"), ""),
        Delta::Unreadable { parent, name, kind } => {
            (format!("unreadable {parent}.{name}: {}", kind.as_str()), "")
        }
        other => (format!("{other:?}"), ""),
    };
    Logged { what, text: text.to_owned() }
}

/// One line per delta; consecutive pieces of a text are joined.
pub fn lines(deltas: &[Logged]) -> Vec<String> {
    let mut joined: Vec<Logged> = Vec::new();
    for delta in deltas {
        match joined.last_mut() {
            Some(last) if last.what == delta.what && delta.what.ends_with(':') => {
                last.text.push_str(&delta.text);
            }
            _ => joined.push(delta.clone()),
        }
    }
    let line = |delta: Logged| {
        if delta.what.ends_with(':') {
            format!("{} {}", delta.what, delta.text.replace('\n', "⏎"))
        } else {
            delta.what
        }
    };
    joined.into_iter().map(line).collect()
}

/// The deltas of these events.
pub fn of_events(provider: Provider, events: &[(&str, &str)]) -> Vec<String> {
    let mut decoder = EventDecoder::new(provider, &Limits::default());
    let mut deltas = Vec::new();
    for (event, data) in events {
        decoder.decode(event, data, |delta| deltas.push(describe(&delta))).expect("it is JSON");
    }
    decoder.finish(|delta| deltas.push(describe(&delta)));
    lines(&deltas)
}

/// The deltas of a response that was not streamed.
pub fn of_body(provider: Provider, body: &str) -> Vec<String> {
    let mut deltas = Vec::new();
    let mut decoder = EventDecoder::new(provider, &Limits::default());
    decoder.decode_body(body, |delta| deltas.push(describe(&delta))).expect("it is JSON");
    lines(&deltas)
}

/// The deltas of server-sent events in these chunks.
pub fn of_sse<'a>(provider: Provider, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Logged> {
    let (mut events, mut decoder) = (SseDecoder::default(), EventDecoder::new(provider, &Limits::default()));
    let mut deltas = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let decoded = events.decode(piece);
            piece = &piece[decoded.consumed..];
            if let Some(SseItem::Event(event)) = decoded.item {
                decoder.decode(event.event, event.data, |delta| deltas.push(describe(&delta))).expect("JSON");
            }
        }
    }
    decoder.finish(|delta| deltas.push(describe(&delta)));
    deltas
}

/// The deltas of an Amazon event stream in these chunks.
pub fn of_messages<'a>(provider: Provider, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Logged> {
    let limits = Limits::default();
    let (mut messages, mut decoder) =
        (EventStreamDecoder::new(&limits), EventDecoder::new(provider, &limits));
    let mut deltas = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let (consumed, message) = messages.decode(piece);
            piece = &piece[consumed..];
            let Some(message) = message else { continue };
            let Ok(event) = message.event else {
                deltas.push(Logged { what: format!("dropped {}", message.number), text: String::new() });
                continue;
            };
            let data = std::str::from_utf8(&event.data).expect("UTF-8");
            decoder.decode(event.name, data, |delta| deltas.push(describe(&delta))).expect("JSON");
        }
    }
    decoder.finish(|delta| deltas.push(describe(&delta)));
    deltas
}

/// Decodes at once, in chunks of several sizes, and in two at every cut; all results must agree.
pub fn at_every_cut(
    wire: &[u8],
    decode: impl Fn(&mut dyn Iterator<Item = &[u8]>) -> Vec<Logged>,
) -> Vec<String> {
    let whole = decode(&mut [wire].into_iter());
    for size in [1, 2, 3, 5, 7, 16, 61, 259, 4096] {
        assert_eq!(decode(&mut wire.chunks(size)), whole, "in pieces of {size}");
    }
    for at in 0..=wire.len() {
        let (left, right) = wire.split_at(at);
        assert_eq!(decode(&mut [left, right].into_iter()), whole, "cut at {at}");
    }
    lines(&whole)
}
