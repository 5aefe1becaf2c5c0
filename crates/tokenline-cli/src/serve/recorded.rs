//! The recorded model: needs no key and no network.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokenline::llm::Provider;
use tokenline::llm::replay::{self, Recording};

/// The name of the recorded model, in place of a provider's.
pub(super) const RECORDED: &str = "recorded";

/// A recording to choose in the page.
#[derive(Serialize)]
pub(super) struct Choice {
    name: &'static str,
    title: &'static str,
    kind: &'static str,
    hint: &'static str,
    #[serde(skip)]
    recording: &'static str,
    #[serde(skip)]
    provider: Provider,
}

const GEMMA: &str = "gemma-3-270m on a local server, OpenAI chat completions";

const fn records(name: &'static str, title: &'static str, recording: &'static str) -> Choice {
    Choice { name, title, kind: "records", hint: GEMMA, recording, provider: Provider::OpenAiChat }
}

const fn calls(
    name: &'static str,
    title: &'static str,
    (recording, provider, hint): (&'static str, Provider, &'static str),
) -> Choice {
    Choice { name, title, kind: "tool_calls", hint, recording, provider }
}

pub(super) const CHOICES: [Choice; 6] = [
    records("mixed", "Entities and relationships", "fenced-mixed"),
    records("definitions", "Definitions", "definitions"),
    records("truncated", "Cut off by the token limit", "truncated"),
    calls(
        "tool-calls",
        "Parallel tool calls",
        ("local-tool-calls", Provider::OpenAiResponses, "gemma-3-270m on a local server, OpenAI Responses"),
    ),
    calls(
        "reasoning",
        "Reasoning, then a tool call",
        ("local-tool-use", Provider::Anthropic, "gemma-3-270m on a local server, Anthropic messages"),
    ),
    calls(
        "tool-calls-in-text",
        "Tool calls written as text",
        ("tool-calls-in-text", Provider::OpenAiChat, GEMMA),
    ),
];

/// How a recording is played.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Pace {
    /// Milliseconds between two chunks.
    delay_ms: u64,
    /// Bytes of a chunk; 0 for one event.
    chunk_size: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { delay_ms: 12, chunk_size: 0 }
    }
}

const MAX_DELAY: Duration = Duration::from_secs(10);

/// A chosen recording.
pub(super) struct Recorded {
    pub(super) name: &'static str,
    pub(super) provider: Provider,
    pub(super) recording: Recording,
}

/// Finds a recording by its name in the page. Returns whether it calls tools, too.
pub(super) fn choose(name: &str, pace: &Pace) -> Option<(Recorded, bool)> {
    let Choice { name, kind, recording, provider, .. } =
        *CHOICES.iter().find(|choice| choice.name == name)?;
    let recording = replay::builtin().into_iter().find(|builtin| builtin.name() == recording)?;
    let delay = Duration::from_millis(pace.delay_ms).min(MAX_DELAY);
    let pace = crate::replay::pace(delay, NonZeroUsize::new(pace.chunk_size));
    Some((Recorded { name, provider, recording: recording.pace(pace) }, kind == "tool_calls"))
}
