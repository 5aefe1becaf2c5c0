//! Answers of a model as the event streams of OpenAI-style chat completions.

use std::collections::BTreeMap;
use std::{mem, slice};

use bytes::Bytes;
use memchr::memmem;

use super::random::Random;
use super::write::{Unicode, string};
use super::{Corpus, Kind, tool_calls};

/// What a corpus has beside its bytes if these are answers of a model rather than lines.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    /// The answers, each in the chunks in which a transport hands it over.
    pub answers: Vec<Vec<Bytes>>,
    /// How many server-sent events the answers have.
    pub events: usize,
    /// Bytes of what is to be found: of a record its strings, of a call its id, name and
    /// parameters.
    pub found_bytes: usize,
}

/// Where a transport cuts an answer.
#[derive(Clone, Copy)]
enum Cut {
    /// After so many bytes.
    Bytes(usize),
    /// After each event.
    Event,
}

/// The ways in which an answer is cut, by their names in tables.
const CUTS: [(&str, Cut); 3] =
    [("64 KiB", Cut::Bytes(64 * 1024)), ("one event", Cut::Event), ("16 bytes", Cut::Bytes(16))];

/// Bytes of the text in each event.
const TOKEN_BYTES: usize = 4;
/// Bytes on the wire for a byte of the text, about.
const WIRE_BYTES: usize = 57;

/// Definitions as the text of one answer whose wire has some `bytes` bytes: a corpus for each cut.
pub(super) fn records(bytes: usize) -> Vec<Corpus> {
    let lines = Corpus::generate(Kind::Definitions, bytes.div_ceil(WIRE_BYTES));
    let text = str::from_utf8(&lines.bytes).expect("lines of UTF-8");
    let found_bytes = text.lines().map(bytes_of_strings).sum();
    let wire = Bytes::from(openai_chat_sse(text, TOKEN_BYTES));
    let found = Found { items: lines.records, bytes: found_bytes };
    corpora(&wire, slice::from_ref(&wire), found, Kind::Definitions)
}

/// Answers of one or two native tool calls each, as many as it takes to reach `bytes` bytes on the
/// wire: a corpus for each cut.
pub(super) fn calls(bytes: usize) -> Vec<Corpus> {
    let mut random = Random::new(6);
    let mut out = String::with_capacity(bytes + 64 * 1024);
    let mut ends = Vec::new();
    let mut found = Found { items: 0, bytes: 0 };
    while out.len() < bytes {
        Answer::new(&mut random, &mut out).write(&mut found);
        ends.push(out.len());
    }
    let wire = Bytes::from(out);
    let mut start = 0;
    let answers: Vec<_> =
        ends.into_iter().map(|end| wire.slice(mem::replace(&mut start, end)..end)).collect();
    corpora(&wire, &answers, found, Kind::ToolCalls)
}

/// What there is to be found in the answers.
#[derive(Clone, Copy)]
struct Found {
    items: usize,
    bytes: usize,
}

fn corpora(bytes: &Bytes, answers: &[Bytes], found: Found, kind: Kind) -> Vec<Corpus> {
    let events = memmem::find_iter(bytes, b"\n\n").count();
    let corpus = |(name, cut): (_, Cut)| {
        let answers = answers.iter().map(|answer| cut.chunks(answer)).collect();
        let wire = Wire { answers, events, found_bytes: found.bytes };
        Corpus { name, bytes: bytes.clone(), records: found.items, schema: kind.schema(), wire }
    };
    CUTS.map(corpus).into()
}

fn bytes_of_strings(line: &str) -> usize {
    let members: BTreeMap<String, String> = serde_json::from_str(line).expect("an object of strings");
    members.values().map(String::len).sum()
}

impl Cut {
    fn chunks(self, answer: &Bytes) -> Vec<Bytes> {
        match self {
            Self::Bytes(size) => {
                let ends = (0..answer.len()).step_by(size);
                ends.map(|start| answer.slice(start..answer.len().min(start + size))).collect()
            }
            Self::Event => {
                let mut start = 0;
                let ends = memmem::find_iter(answer, b"\n\n").map(|blank| blank + 2);
                ends.map(|end| answer.slice(mem::replace(&mut start, end)..end)).collect()
            }
        }
    }
}

/// `text` as the body of a streamed chat completion, cut into pieces of at least `token_bytes` bytes
/// (the last may be shorter; none ends inside a character).
///
/// One `chat.completion.chunk` event with the role, one for each piece, one with `finish_reason`
/// `stop`, then `[DONE]`: the order of the provider's API reference.
///
/// # Panics
///
/// If `token_bytes` is 0.
#[must_use]
pub fn openai_chat_sse(text: &str, token_bytes: usize) -> Vec<u8> {
    assert!(token_bytes > 0, "a token has at least one byte");
    let mut out = String::new();
    event(&mut out, "{\"role\":\"assistant\",\"content\":\"\"}", "null");
    let mut rest = text;
    let mut delta = String::new();
    while !rest.is_empty() {
        let mut cut = token_bytes.min(rest.len());
        while !rest.is_char_boundary(cut) {
            cut += 1;
        }
        let (token, after) = rest.split_at(cut);
        delta.clear();
        delta.push_str("{\"content\":");
        string(&mut delta, token, Unicode::Raw);
        delta.push('}');
        event(&mut out, &delta, "null");
        rest = after;
    }
    event(&mut out, "{}", "\"stop\"");
    out.push_str("data: [DONE]\n\n");
    out.into_bytes()
}

fn event(out: &mut String, delta: &str, finish_reason: &str) {
    out.push_str(
        "data: {\"id\":\"chatcmpl-I0kZ6EgTsEkLlonglFebyaQx3OtN7KUD\",\"object\":\"chat.completion.chunk\",\
         \"created\":1795297487,\"model\":\"bench\",\"system_fingerprint\":\"b0\",\
         \"choices\":[{\"index\":0,\"delta\":",
    );
    out.push_str(delta);
    out.push_str(",\"finish_reason\":");
    out.push_str(finish_reason);
    out.push_str("}]}\n\n");
}

/// An answer that calls tools, as OpenAI's servers send it when they are asked for the usage.
struct Answer<'a> {
    random: &'a mut Random,
    out: &'a mut String,
    id: String,
}

impl<'a> Answer<'a> {
    fn new(random: &'a mut Random, out: &'a mut String) -> Self {
        let id = letters(random, 29);
        Self { random, out, id }
    }

    /// Writes the role, one call or two, the reason and the usage, then `[DONE]`.
    fn write(mut self, found: &mut Found) {
        self.delta("{\"role\":\"assistant\",\"content\":null,\"refusal\":null}", "null", 0);
        for index in 0..self.random.between(1, 2) {
            self.call(index, found);
        }
        self.delta("{}", "\"tool_calls\"", 6);
        let (input, output) = (self.random.between(200, 900), self.random.between(20, 200));
        let total = input + output;
        let usage = format!(
            "{{\"prompt_tokens\":{input},\"completion_tokens\":{output},\"total_tokens\":{total},\
             \"prompt_tokens_details\":{{\"cached_tokens\":0,\"audio_tokens\":0}},\
             \"completion_tokens_details\":{{\"reasoning_tokens\":0,\"audio_tokens\":0,\
             \"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":0}}}}"
        );
        self.event("", &usage, 3);
        self.out.push_str("data: [DONE]\n\n");
    }

    /// A call: its header, then its arguments a token at a time.
    fn call(&mut self, index: u64, found: &mut Found) {
        let (name, parameters) = tool_calls::name_and_parameters(self.random);
        let id = format!("call_{}", letters(self.random, 24));
        found.items += 1;
        found.bytes += id.len() + name.len() + parameters.len();
        let header = format!(
            "{{\"tool_calls\":[{{\"index\":{index},\"id\":\"{id}\",\"type\":\"function\",\
             \"function\":{{\"name\":\"{name}\",\"arguments\":\"\"}}}}]}}"
        );
        self.delta(&header, "null", 0);
        let mut rest = parameters.as_str();
        while !rest.is_empty() {
            // Four bytes are what a token has on average. The parameters are ASCII.
            let cut = usize::try_from(self.random.between(1, 7)).expect("at most 7");
            let (token, after) = rest.split_at(cut.min(rest.len()));
            let mut delta = format!("{{\"tool_calls\":[{{\"index\":{index},\"function\":{{\"arguments\":");
            let before = delta.len();
            string(&mut delta, token, Unicode::Raw);
            let shown = delta.len() - before - 2;
            delta.push_str("}}]}");
            self.delta(&delta, "null", shown);
            rest = after;
        }
    }

    /// An event with a delta that shows so many bytes of the model's output.
    fn delta(&mut self, delta: &str, reason: &str, shown: usize) {
        let choice =
            format!("{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{reason}}}");
        self.event(&choice, "null", shown);
    }

    fn event(&mut self, choices: &str, usage: &str, shown: usize) {
        // What the length of a token would tell, its padding hides.
        let obfuscation = letters(self.random, 10_usize.saturating_sub(shown).max(1));
        self.out.push_str(&format!(
            "data: {{\"id\":\"chatcmpl-{}\",\"object\":\"chat.completion.chunk\",\"created\":1770933892,\
             \"model\":\"gpt-4.1-nano-2025-04-14\",\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_de604bd877\",\"choices\":[{choices}],\"usage\":{usage},\
             \"obfuscation\":\"{obfuscation}\"}}\n\n",
            self.id
        ));
    }
}

fn letters(random: &mut Random, count: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    (0..count).map(|_| char::from(random.pick(LETTERS))).collect()
}
