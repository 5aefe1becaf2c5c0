//! The AI SDK's protocols: chunks from recorded responses, requests, and both over real sockets.

mod chunks;
#[path = "../../../tokenline-llm/tests/common/event_stream.rs"]
#[allow(unreachable_pub, dead_code, reason = "a module shared by several test programs")]
mod event_stream;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
mod extent;
mod grammar;
mod http;
mod messages;
mod reentrant;
mod steps;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokenline::json::Raw;
use tokenline::llm::TextMode;
use tokenline::{Options, Provider, ResponseParser};
use tokenline_axum::ai_sdk::{ChunkWriter, UiChunk, chat_options};

/// The folder of the recorded responses.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-llm/fixtures")
}

/// The body of a recorded response, by its path below [`fixtures`].
fn fixture(name: &str) -> Vec<u8> {
    let body = std::fs::read(fixtures().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    if name.ends_with(".messages") {
        event_stream::stream(std::str::from_utf8(&body).expect("UTF-8"))
    } else {
        body
    }
}

fn parser(provider: Provider, text_as: TextMode) -> ResponseParser<Raw> {
    ResponseParser::new(provider, chat_options(Options::lenient().into()))
        .with_options(|options| options.text_as(text_as))
}

/// The chunks of a response in these pieces.
fn chunks<'a>(
    mut parser: ResponseParser<Raw>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    has_failed: bool,
) -> Vec<UiChunk> {
    let mut writer = ChunkWriter::new().with_error_text(ToString::to_string);
    for piece in pieces {
        parser.push(piece);
        while let Some(event) = parser.next_event() {
            writer.push(&event);
        }
    }
    if has_failed {
        parser.source_failed();
        writer.fail(&std::io::Error::other("the connection broke"));
    } else {
        parser.finish();
    }
    while let Some(event) = parser.next_event() {
        writer.push(&event);
    }
    writer.finish();
    std::iter::from_fn(|| writer.next_chunk()).collect()
}

/// The chunks as JSON, with successive deltas of a part or a call joined.
fn joined(chunks: &[UiChunk]) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for chunk in chunks {
        let mut chunk: Value = serde_json::from_str(&chunk.to_json()).expect("a chunk is JSON");
        let same = |last: &&mut Value| {
            ["type", "id", "toolCallId"].iter().all(|member| last[*member] == chunk[*member])
        };
        for member in ["delta", "inputTextDelta"] {
            if let Some(more) = chunk[member].as_str()
                && let Some(last) = all.last_mut().filter(same)
            {
                chunk[member] = format!("{}{more}", last[member].as_str().expect("a delta")).into();
                all.pop();
                break;
            }
        }
        all.push(chunk);
    }
    all
}

/// The joined chunks, one compact line each: `text-delta text-1 Hi`.
fn lines(chunks: &[UiChunk]) -> Vec<String> {
    let line = |chunk: Value| {
        let members = chunk.as_object().expect("an object").iter().filter(|(name, _)| *name != "type");
        let members = members.map(|(_, value)| match value {
            Value::String(text) => text.replace('\n', "⏎"),
            value => value.to_string(),
        });
        let kind = chunk["type"].as_str().expect("a type").to_owned();
        std::iter::once(kind).chain(members).collect::<Vec<_>>().join(" ")
    };
    joined(chunks).into_iter().map(line).collect()
}
