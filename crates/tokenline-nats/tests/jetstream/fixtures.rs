//! Sources, and a producer.

use tokenline::adapter::SourceEnd;
use tokenline_nats::async_nats::HeaderMap;
use tokenline_nats::async_nats::jetstream::Context;
use tokenline_nats::headers;

/// A source: its name, its chunks, and how it ends.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: SourceEnd,
}

impl Source {
    /// Cuts a body into chunks of about `length` bytes, at places that look random and are the same each time.
    pub(crate) fn cut(name: impl Into<String>, body: &[u8], length: usize) -> Self {
        let (mut chunks, mut rest, mut seed) = (Vec::new(), body, body.len() as u64 | 1);
        while !rest.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (1 + (seed >> 33) as usize % (2 * length)).min(rest.len());
            chunks.push(rest[..at].to_vec());
            rest = &rest[at..];
        }
        Self { name: name.into(), chunks, end: SourceEnd::Clean }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

/// A text with records in fences, arrays and lines, prose, and rejects of each kind: state everywhere.
pub(crate) fn text(seed: usize, parts: usize) -> String {
    let mut text = format!("Here are the records of source {seed}:\n");
    for part in 0..parts {
        let n = seed * 1000 + part;
        text += &match (seed + part) % 6 {
            0 => format!(
                "```json\n{{\"n\":{n},\"kind\":\"fenced\"}}\n{{\"n\":{n},\n \"kind\":\"two lines\"}}\n```\n"
            ),
            1 => format!("[{{\"n\":{n},\"kind\":\"element\"}}, {{\"n\":\"{n}\"}},\n {{\"n\":{n}}}]\n"),
            2 => format!("{{\"n\":{n},\"kind\":NaN}}\n{{\"n\":{n}.50,\"kind\":\"café 🚀\"}}\n"),
            3 => format!(
                "<think>maybe {{\"n\":{n}}}?</think>\nSo:\n{{\"n\":{n},\"kind\":\"after thought\"}}\n"
            ),
            4 => format!("- {{\"n\":{n}}}\n- {{\"n\":{n},\"n\":{n}}}\n- {{\"m\":{n}}}\n"),
            _ => format!(
                "{{\"n\":{n},\"kind\":\"{}\"}},\n{{\"n\":{n}}},\"x\":1}}\n",
                "long ".repeat(part % 40)
            ),
        };
    }
    text + "{\"n\":0,\"kind\":\"cut o"
}

pub(crate) const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}"#;

/// Sources of text.
pub(crate) fn texts(count: usize, parts: usize, length: usize) -> Vec<Source> {
    (0..count)
        .map(|seed| {
            let mut source = Source::cut(format!("text.{seed}"), text(seed, parts).as_bytes(), length);
            if seed % 3 == 2 {
                source.end = SourceEnd::Failed;
            }
            source
        })
        .collect()
}

/// Recorded responses of OpenAI chat.
pub(crate) fn responses() -> Vec<Source> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tokenline-llm/fixtures/openai-chat");
    ["definitions", "fenced-mixed", "local-tool-calls", "local-truncated", "tool-calls-in-text", "truncated"]
        .map(|name| Source::cut(name, &std::fs::read(format!("{directory}/{name}.sse")).unwrap(), 700))
        .to_vec()
}

/// A message to publish: subject, headers, payload.
pub(crate) type Message = (String, HeaderMap, Vec<u8>);

/// The chunks of all sources, one of each in turn, and the ends: an empty message, or a header.
pub(crate) fn messages(sources: &[Source]) -> Vec<Message> {
    let longest = sources.iter().map(|source| source.chunks.len()).max().unwrap_or_default();
    let mut messages = Vec::new();
    for at in 0..=longest {
        for (number, source) in sources.iter().enumerate() {
            let ends_with_chunk = source.end == SourceEnd::Clean && number % 2 == 1;
            let mut headers = HeaderMap::new();
            let payload = match source.chunks.get(at) {
                Some(chunk) => {
                    if at + 1 == source.chunks.len() && ends_with_chunk {
                        headers.insert(headers::END, headers::COMPLETE);
                    }
                    chunk.clone()
                }
                None if at == source.chunks.len() && !ends_with_chunk => {
                    if source.end == SourceEnd::Failed {
                        headers.insert(headers::END, headers::INCOMPLETE);
                    }
                    Vec::new()
                }
                None => continue,
            };
            messages.push((format!("chunks.{}", source.name), headers, payload));
        }
    }
    messages
}

/// Publishes messages in order.
pub(crate) async fn publish(context: &Context, messages: &[Message]) {
    for messages in messages.chunks(200) {
        let mut acks = Vec::new();
        for (subject, headers, payload) in messages.iter().cloned() {
            acks.push(context.publish_with_headers(subject, headers, payload.into()).await.unwrap());
        }
        for ack in acks {
            ack.await.unwrap();
        }
    }
}
