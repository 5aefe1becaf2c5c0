//! Responses as event streams of OpenAI-style chat completions.

use std::collections::BTreeMap;
use std::{mem, slice};

use bytes::Bytes;
use memchr::memmem;

use super::random::Random;
use super::write::{Unicode, string};
use super::{Corpus, Kind, tool_calls};

/// The wire form of a corpus of responses.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    /// The responses, each in the chunks that a transport delivers.
    pub responses: Vec<Vec<Bytes>>,
    /// The number of server-sent events in the responses.
    pub events: usize,
    /// The bytes to extract: the strings of records, and the ids, names and parameters of calls.
    pub item_bytes: usize,
    /// The number of streams that receive the response at the same time, an event of each in turn: the figures above are
    /// those of all. 0 if the responses are read one after another.
    pub streams: usize,
}

impl Wire {
    /// Gives each event another service tier, so that none is like one before it. The chunks must be events.
    pub fn make_unlike(&mut self) {
        for (number, event) in self.responses.iter_mut().flatten().enumerate() {
            let text = str::from_utf8(event).expect("text");
            *event = text.replacen("\"default\"", &format!("\"{number:07}\""), 1).into();
        }
    }
}

/// Where a transport splits a response.
#[derive(Clone, Copy)]
enum Cut {
    /// After this number of bytes.
    Bytes(usize),
    /// After each event.
    Event,
}

/// The ways to split a response, by their names in tables.
const CUTS: [(&str, Cut); 3] =
    [("64 KiB", Cut::Bytes(64 * 1024)), ("one event", Cut::Event), ("16 bytes", Cut::Bytes(16))];

/// The bytes of text per event.
const TOKEN_BYTES: usize = 4;
/// The approximate bytes on the wire per byte of text.
const WIRE_BYTES: usize = 57;

/// Definitions as the text of one response of about `bytes` bytes on the wire: a corpus per way to split it.
pub(super) fn records(bytes: usize) -> Vec<Corpus> {
    let lines = Corpus::generate(Kind::Definitions, bytes.div_ceil(WIRE_BYTES));
    let text = str::from_utf8(&lines.bytes).expect("lines of UTF-8");
    let item_bytes = text.lines().map(bytes_of_strings).sum();
    let wire = Bytes::from(openai_chat_sse(text, TOKEN_BYTES));
    let extracted = Extracted { items: lines.records, bytes: item_bytes };
    corpora(&wire, slice::from_ref(&wire), extracted, Kind::Definitions)
}

/// Responses with one or two native tool calls each, up to `bytes` bytes on the wire: a corpus per way to split them.
pub(super) fn calls(bytes: usize) -> Vec<Corpus> {
    let mut random = Random::new(6);
    let mut out = String::with_capacity(bytes + 64 * 1024);
    let mut ends = Vec::new();
    let mut extracted = Extracted { items: 0, bytes: 0 };
    while out.len() < bytes {
        Response::new(&mut random, &mut out).write(&mut extracted);
        ends.push(out.len());
    }
    let wire = Bytes::from(out);
    let mut start = 0;
    let responses: Vec<_> =
        ends.into_iter().map(|end| wire.slice(mem::replace(&mut start, end)..end)).collect();
    corpora(&wire, &responses, extracted, Kind::ToolCalls)
}

/// Numbers of streams that are read in turn, by their names in tables.
const STREAMS: [(&str, usize); 4] = [("1", 1), ("100", 100), ("1,000", 1_000), ("10,000", 10_000)];
/// Numbers of choices whose tokens take turns.
const CHOICES: [(&str, usize); 5] = [("1", 1), ("2", 2), ("3", 3), ("8", 8), ("64", 64)];
/// The bytes on the wire of a response to many streams: enough for a few records or calls.
const MIN_RESPONSE_BYTES: usize = 16 * 1024;

/// Streams that each receive the response that `one` makes of about so many bytes: a corpus per number of streams. Numbers
/// are left out that would make the whole many times larger than `bytes`.
fn in_turn(bytes: usize, one: impl Fn(usize) -> Vec<Corpus>) -> Vec<Corpus> {
    let is_small = |streams: &usize| streams * MIN_RESPONSE_BYTES <= 50 * bytes;
    STREAMS
        .into_iter()
        .filter(|(_, streams)| is_small(streams))
        .map(|(name, streams)| {
            let corpus = one((bytes / streams).max(MIN_RESPONSE_BYTES)).swap_remove(1);
            let passes = bytes.div_ceil(corpus.bytes.len() * streams);
            let times = streams * passes;
            let Wire { responses, events, item_bytes, .. } = corpus.wire;
            let wire = Wire { responses, events: events * times, item_bytes: item_bytes * times, streams };
            Corpus { name, records: corpus.records * times, wire, ..corpus }
        })
        .collect()
}

/// The response of [`records`], for several streams.
pub(super) fn records_in_turn(bytes: usize) -> Vec<Corpus> {
    in_turn(bytes, records)
}

/// A response of [`calls`], for several streams.
pub(super) fn calls_in_turn(bytes: usize) -> Vec<Corpus> {
    in_turn(bytes, |_| calls(1))
}

/// Definitions as the texts of the choices of one response, whose tokens take turns: a corpus per number of choices.
pub(super) fn choices(bytes: usize) -> Vec<Corpus> {
    let lines = Corpus::generate(Kind::Definitions, bytes.div_ceil(WIRE_BYTES));
    let text = str::from_utf8(&lines.bytes).expect("lines of UTF-8");
    let item_bytes = text.lines().map(bytes_of_strings).sum();
    let corpus = |(name, count): (_, usize)| {
        let texts = (0..count)
            .map(|choice| text.split_inclusive('\n').skip(choice).step_by(count).collect::<String>())
            .collect::<Vec<_>>();
        let wire = Bytes::from(openai_chat_choices(&texts, TOKEN_BYTES));
        let responses = vec![Cut::Event.chunks(&wire)];
        let events = responses[0].len();
        let wire_form = Wire { responses, events, item_bytes, ..Wire::default() };
        Corpus { name, bytes: wire, records: lines.records, schema: lines.schema, wire: wire_form }
    };
    CHOICES.map(corpus).into()
}

/// The items to extract from the responses, and their bytes.
#[derive(Clone, Copy)]
struct Extracted {
    items: usize,
    bytes: usize,
}

fn corpora(bytes: &Bytes, responses: &[Bytes], extracted: Extracted, kind: Kind) -> Vec<Corpus> {
    let events = memmem::find_iter(bytes, b"\n\n").count();
    let corpus = |(name, cut): (_, Cut)| {
        let responses = responses.iter().map(|response| cut.chunks(response)).collect();
        let wire = Wire { responses, events, item_bytes: extracted.bytes, ..Wire::default() };
        Corpus { name, bytes: bytes.clone(), records: extracted.items, schema: kind.schema(), wire }
    };
    CUTS.map(corpus).into()
}

fn bytes_of_strings(line: &str) -> usize {
    let members: BTreeMap<String, String> = serde_json::from_str(line).expect("an object of strings");
    members.values().map(String::len).sum()
}

impl Cut {
    fn chunks(self, response: &Bytes) -> Vec<Bytes> {
        match self {
            Self::Bytes(size) => {
                let ends = (0..response.len()).step_by(size);
                ends.map(|start| response.slice(start..response.len().min(start + size))).collect()
            }
            Self::Event => {
                let mut start = 0;
                let ends = memmem::find_iter(response, b"\n\n").map(|blank| blank + 2);
                ends.map(|end| response.slice(mem::replace(&mut start, end)..end)).collect()
            }
        }
    }
}

/// `text` as the body of a streamed chat completion, in deltas of at least `token_bytes` bytes (the last may be shorter;
/// none ends inside a character).
///
/// One `chat.completion.chunk` event with the role, one per delta, one with the `finish_reason` `stop`, then `[DONE]`: the
/// order of the provider's API reference.
///
/// # Panics
///
/// If `token_bytes` is 0.
#[must_use]
pub fn openai_chat_sse(text: &str, token_bytes: usize) -> Vec<u8> {
    openai_chat_choices(&[text], token_bytes)
}

/// As [`openai_chat_sse`], with a choice for each text, whose events take turns.
fn openai_chat_choices(texts: &[impl AsRef<str>], token_bytes: usize) -> Vec<u8> {
    assert!(token_bytes > 0, "a token has at least one byte");
    let mut out = String::new();
    for choice in 0..texts.len() {
        event(&mut out, choice, "{\"role\":\"assistant\",\"content\":\"\"}", "null");
    }
    let mut rests: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let mut delta = String::new();
    while rests.iter().any(|rest| !rest.is_empty()) {
        for (choice, rest) in rests.iter_mut().enumerate().filter(|(_, rest)| !rest.is_empty()) {
            let mut cut = token_bytes.min(rest.len());
            while !rest.is_char_boundary(cut) {
                cut += 1;
            }
            let (token, after) = rest.split_at(cut);
            delta.clear();
            delta.push_str("{\"content\":");
            string(&mut delta, token, Unicode::Raw);
            delta.push('}');
            event(&mut out, choice, &delta, "null");
            *rest = after;
        }
    }
    for choice in 0..texts.len() {
        event(&mut out, choice, "{}", "\"stop\"");
    }
    out.push_str("data: [DONE]\n\n");
    out.into_bytes()
}

fn event(out: &mut String, choice: usize, delta: &str, finish_reason: &str) {
    out.push_str(&format!(
        "data: {{\"id\":\"chatcmpl-I0kZ6EgTsEkLlonglFebyaQx3OtN7KUD\",\"object\":\"chat.completion.chunk\",\
         \"created\":1795297487,\"model\":\"bench\",\"system_fingerprint\":\"b0\",\
         \"choices\":[{{\"index\":{choice},\"delta\":{delta},\"finish_reason\":{finish_reason}}}]}}\n\n"
    ));
}

/// A response that calls tools, as OpenAI's servers send it if usage was requested.
struct Response<'a> {
    random: &'a mut Random,
    out: &'a mut String,
    id: String,
}

impl<'a> Response<'a> {
    fn new(random: &'a mut Random, out: &'a mut String) -> Self {
        let id = letters(random, 29);
        Self { random, out, id }
    }

    /// Writes the role, one or two calls, the finish reason and the usage, then `[DONE]`.
    fn write(mut self, extracted: &mut Extracted) {
        self.delta("{\"role\":\"assistant\",\"content\":null,\"refusal\":null}", "null", 0);
        for index in 0..self.random.between(1, 2) {
            self.call(index, extracted);
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

    /// Writes a call: its header, then its arguments token by token.
    fn call(&mut self, index: u64, extracted: &mut Extracted) {
        let (name, parameters) = tool_calls::name_and_parameters(self.random);
        let id = format!("call_{}", letters(self.random, 24));
        extracted.items += 1;
        extracted.bytes += id.len() + name.len() + parameters.len();
        let header = format!(
            "{{\"tool_calls\":[{{\"index\":{index},\"id\":\"{id}\",\"type\":\"function\",\
             \"function\":{{\"name\":\"{name}\",\"arguments\":\"\"}}}}]}}"
        );
        self.delta(&header, "null", 0);
        let mut rest = parameters.as_str();
        while !rest.is_empty() {
            // A token has four bytes on average. The parameters are ASCII.
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

    /// Writes an event whose delta has `shown` bytes of the model's output.
    fn delta(&mut self, delta: &str, reason: &str, shown: usize) {
        let choice =
            format!("{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{reason}}}");
        self.event(&choice, "null", shown);
    }

    fn event(&mut self, choices: &str, usage: &str, shown: usize) {
        // The padding hides the length of the token.
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
