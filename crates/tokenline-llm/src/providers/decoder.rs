use std::cell::Cell;
use std::ops::Range;

use tokenline_core::json::{Parser, SyntaxError, Value};
use tokenline_core::{CallDelta, Limits};

use super::api::Sink;
use super::provider::{Provider, Reader};
use super::shape_cache::{EventShapes, ShapeCache};
use crate::delta::{Delta, OpaqueTarget};

/// Decodes the events of a provider's stream.
///
/// It keeps the state it needs from earlier events, but no text, except the first 64 KiB of reasoning that a server may
/// send again under another name.
///
/// ```
/// use tokenline_core::Limits;
/// use tokenline_llm::providers::EventDecoder;
/// use tokenline_llm::{Delta, Provider};
///
/// let mut decoder = EventDecoder::new(Provider::OpenAiChat, &Limits::default());
/// let mut text = String::new();
/// for data in [
///     r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}"#,
///     r#"{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}"#,
///     "[DONE]",
/// ] {
///     decoder.decode("message", data, |delta| match delta {
///         Delta::Text { text: more, .. } => text.push_str(more),
///         other => eprintln!("{other:?}"),
///     })?;
/// }
/// assert_eq!(text, "Hello");
/// # Ok::<(), tokenline_core::json::SyntaxError>(())
/// ```
#[derive(Debug)]
pub struct EventDecoder {
    reader: Reader,
    shapes: ShapeCache<Piece>,
    /// The limit of the parser.
    depth: usize,
}

thread_local! {
    /// The parser of events. Few events need it, so responses do not have their own.
    static JSON: Cell<Option<Box<Parser>>> = const { Cell::new(None) };
}

/// The longest event, in bytes, after which the parser is kept.
const MAX_KEPT_BYTES: usize = 64 * 1024;

impl EventDecoder {
    /// A decoder at the start of a stream. It applies the depth limit.
    #[must_use]
    pub fn new(provider: Provider, limits: &Limits) -> Self {
        Self { reader: Reader::new(provider), shapes: ShapeCache::new(None), depth: limits.depth }
    }

    /// Shares the common parts of events with other decoders.
    #[must_use]
    pub fn with_shapes(mut self, shapes: &EventShapes) -> Self {
        self.shapes = ShapeCache::new(Some(shapes.clone()));
        self
    }

    pub(crate) fn with_limits(self, limits: Limits) -> Self {
        Self { depth: limits.depth, ..self }
    }

    /// Reads a word of each cache line that an event needs, if it matches an earlier one.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        self.shapes.prefetch();
    }

    /// Decodes one event and passes its deltas to `sink`. `event` and `data` are as in
    /// [`SseEvent`](tokenline_core::sse::SseEvent); a line or an array element has the name `message`.
    ///
    /// # Errors
    ///
    /// If the data looks like an object but is not JSON: a part of the response may be missing. Other data that is not
    /// JSON yields [`Delta::Unknown`], or [`Delta::Error`] if the event is named `error`. Ollama's lines must be JSON.
    #[inline]
    pub fn decode(
        &mut self,
        event: &str,
        data: &str,
        mut sink: impl FnMut(Delta<'_>),
    ) -> Result<(), SyntaxError> {
        let data = data.trim_ascii();
        if let Some((piece, text)) = self.shapes.read(event, data) {
            if let (Some(latest), Some(block)) = (self.reader.latest_block(), piece.latest_block) {
                *latest = block;
            }
            if piece.follows_start {
                sink(Delta::Start { choice: piece.choice });
            }
            if let PieceKind::Reasoning = piece.kind {
                self.reader.repeated_reasoning(piece.choice, text);
            }
            sink(piece.with(text));
            return Ok(());
        }
        self.decode_new(event, data.trim(), &mut sink)
    }

    /// Decodes an event that matches no earlier one.
    fn decode_new(&mut self, event: &str, data: &str, sink: &mut Sink<'_>) -> Result<(), SyntaxError> {
        self.with_json(data, |decoder, json| {
            let Self { reader, shapes, .. } = decoder;
            if !data.starts_with('{') {
                shapes.clear();
                return reader.non_object(json, event, data, sink);
            }
            let value = json.parse_lossy(data)?;
            let mut deltas = EventDeltas { data, ..EventDeltas::default() };
            if let Some(lone) = value.lone_surrogates() {
                sink(Delta::LoneSurrogates(lone));
            }
            reader.event(event, value, &mut |delta: Delta<'_>| {
                deltas.add(&delta);
                sink(delta);
            });
            match deltas.piece {
                Some((piece, text)) if reader.is_repeatable(event, value) => {
                    let piece = Piece { latest_block: reader.latest_block().copied(), ..piece };
                    shapes.learn(event, value, (piece, text), reader.incidental());
                }
                // It may have changed how later events are read.
                _ => shapes.clear(),
            }
            Ok(())
        })
    }

    /// Passes the thread's parser to `read`, which reads `data`. A nested call gets a parser of its own, and so does one
    /// while the thread ends.
    fn with_json<R>(&mut self, data: &str, read: impl FnOnce(&mut Self, &mut Parser) -> R) -> R {
        let mut json = JSON.try_with(Cell::take).ok().flatten().unwrap_or_default();
        json.set_limits(&Limits { depth: self.depth, ..Limits::DEFAULT });
        let result = read(self, &mut json);
        if data.len() <= MAX_KEPT_BYTES {
            let _ = JSON.try_with(|kept| kept.set(Some(json)));
        }
        result
    }

    /// Decodes a complete response that was not streamed, or the message in one. It counts as complete unless its
    /// finish reason says otherwise.
    ///
    /// # Errors
    ///
    /// If it is not JSON.
    pub fn decode_body(&mut self, body: &str, mut sink: impl FnMut(Delta<'_>)) -> Result<(), SyntaxError> {
        self.with_json(body, |decoder, json| {
            read_body(&mut decoder.reader, json.parse_lossy(body)?, &mut sink);
            Ok(())
        })
    }

    /// As [`decode_body`](Self::decode_body), if the body is already parsed.
    pub(crate) fn decode_value(&mut self, body: Value<'_>, mut sink: impl FnMut(Delta<'_>)) {
        read_body(&mut self.reader, body, &mut sink);
    }

    /// Ends a stream that was not cut off. Emits what was held back until the end.
    pub fn finish(&mut self, mut sink: impl FnMut(Delta<'_>)) {
        self.reader.finish(&mut sink);
    }

    /// Starts over for the next stream.
    pub fn reset(&mut self) {
        self.reader.reset();
        self.shapes.clear();
    }
}

fn read_body(reader: &mut Reader, body: Value<'_>, sink: &mut Sink<'_>) {
    if let Some(lone) = body.lone_surrogates() {
        sink(Delta::LoneSurrogates(lone));
    }
    reader.body(body, sink);
}

/// The form of an event that yields one text, apart from the start of its choice.
#[derive(Clone, Copy, Debug)]
struct Piece {
    choice: u64,
    follows_start: bool,
    kind: PieceKind,
    latest_block: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum PieceKind {
    Text {
        block: u64,
    },
    Reasoning,
    /// More arguments of a call; id and name are absent or empty.
    Call {
        index: Option<u64>,
        id: Blank,
        name: Blank,
    },
}

/// A member without content.
#[derive(Clone, Copy, Debug)]
enum Blank {
    Absent,
    Empty,
}

impl Blank {
    fn of(text: Option<&str>) -> Option<Self> {
        match text {
            None => Some(Self::Absent),
            Some("") => Some(Self::Empty),
            Some(_) => None,
        }
    }

    fn text(self) -> Option<&'static str> {
        match self {
            Self::Absent => None,
            Self::Empty => Some(""),
        }
    }
}

impl Piece {
    /// The piece and the text of a delta.
    fn of_delta<'a>(delta: &Delta<'a>) -> Option<(Self, &'a str)> {
        let (choice, kind, text) = match *delta {
            Delta::Text { choice, block, text } => (choice, PieceKind::Text { block }, text),
            Delta::Reasoning { choice, text } => (choice, PieceKind::Reasoning, text),
            Delta::ToolCall { choice, call } if !call.is_whole && !call.lossy => {
                let (id, name) = (Blank::of(call.id)?, Blank::of(call.name)?);
                let kind = PieceKind::Call { index: call.index, id, name };
                (choice, kind, call.arguments)
            }
            _ => return None,
        };
        Some((Self { choice, follows_start: false, kind, latest_block: None }, text))
    }

    fn with(self, text: &str) -> Delta<'_> {
        let choice = self.choice;
        match self.kind {
            PieceKind::Text { block } => Delta::Text { choice, block, text },
            PieceKind::Reasoning => Delta::Reasoning { choice, text },
            PieceKind::Call { index, id, name } => {
                let (id, name) = (id.text(), name.text());
                let call = CallDelta { index, id, name, arguments: text, ..CallDelta::default() };
                Delta::ToolCall { choice, call }
            }
        }
    }
}

/// The deltas of an event.
#[derive(Default)]
struct EventDeltas<'d> {
    data: &'d str,
    start: Option<u64>,
    /// The only piece, and the range of its text in the data.
    piece: Option<(Piece, Range<usize>)>,
    /// There is more than a start and one piece.
    has_more: bool,
}

impl EventDeltas<'_> {
    fn add(&mut self, delta: &Delta<'_>) {
        match delta {
            Delta::Start { choice } if self.start.is_none() && self.piece.is_none() => {
                self.start = Some(*choice);
            }
            // The name of a member, which is always the same.
            Delta::Opaque { target: OpaqueTarget::ReasoningMember, data, .. } if data.starts_with('"') => {}
            _ => {
                let piece = Piece::of_delta(delta).filter(|_| self.piece.is_none() && !self.has_more);
                self.piece = piece.and_then(|(piece, text)| {
                    let follows_start = match self.start {
                        Some(choice) if choice != piece.choice => return None,
                        start => start.is_some(),
                    };
                    Some((Piece { follows_start, ..piece }, self.range_of(text)?))
                });
                self.has_more |= self.piece.is_none();
            }
        }
    }

    /// The range of the text in the data, if it is a complete string without escapes.
    fn range_of(&self, text: &str) -> Option<Range<usize>> {
        let start = (text.as_ptr() as usize).checked_sub(self.data.as_ptr() as usize)?;
        let end = start.checked_add(text.len()).filter(|end| *end < self.data.len())?;
        let is_quote = |at: usize| self.data.as_bytes()[at] == b'"';
        (start > 0 && !text.is_empty() && is_quote(start - 1) && is_quote(end)).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events in which `TEXT` is the text, and `VALUE` and 5 are incidental.
    const PIECES: &[(Provider, &str, &[&str])] = &[
        (
            Provider::OpenAiChat,
            "message",
            &[
                r#"{"id":"VALUE","created":5,"choices":[{"index":2,"delta":{"content":"TEXT"}}],"obfuscation":"VALUE"}"#,
                r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"TEXT"}}]}"#,
                r#"{"choices":[{"delta":{"content":"","reasoning":"TEXT","reasoning_content":null}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"TEXT"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"","type":"function","function":{"name":null,"arguments":"TEXT"}}]}}]}"#,
            ],
        ),
        (
            Provider::OpenAiResponses,
            "",
            &[
                r#"{"type":"response.output_text.delta","sequence_number":5,"item_id":"VALUE","output_index":1,"delta":"TEXT"}"#,
                r#"{"type":"response.reasoning_text.delta","output_index":1,"delta":"TEXT","obfuscation":"VALUE"}"#,
                r#"{"type":"response.reasoning_summary_text.delta","output_index":1,"delta":"TEXT"}"#,
                r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"TEXT"}"#,
            ],
        ),
        (
            Provider::Anthropic,
            "content_block_delta",
            &[
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"TEXT"}   }"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"TEXT","estimated_tokens":5}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"TEXT"}}"#,
            ],
        ),
        (
            Provider::GeminiInteractions,
            "message",
            &[
                r#"{"index":1,"delta":{"type":"text","text":"TEXT"},"event_id":"VALUE","interaction_id":"VALUE","event_type":"step.delta"}"#,
                r#"{"index":1,"delta":{"type":"thought_summary","content":{"type":"text","text":"TEXT"}},"event_type":"step.delta"}"#,
                r#"{"index":1,"delta":{"arguments":"TEXT","type":"arguments_delta"},"event_type":"step.delta"}"#,
            ],
        ),
        (
            Provider::Cohere,
            "message",
            &[
                r#"{"id":"VALUE","type":"content-delta","index":1,"delta":{"message":{"content":{"text":"TEXT"}}}}"#,
                r#"{"type":"content-delta","index":1,"delta":{"message":{"content":{"thinking":"TEXT"}}}}"#,
                r#"{"type":"tool-plan-delta","index":1,"delta":{"message":{"tool_plan":"TEXT"}}}"#,
                r#"{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"TEXT"}}}}}"#,
            ],
        ),
        (
            Provider::Bedrock,
            "contentBlockDelta",
            &[
                r#"{"contentBlockIndex":1,"delta":{"text":"TEXT"},"p":"VALUE"}"#,
                r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":"TEXT"}},"p":"VALUE"}"#,
                r#"{"contentBlockIndex":1,"delta":{"reasoningContent":{"text":"TEXT"}},"p":"VALUE"}"#,
            ],
        ),
        (
            Provider::Ollama,
            "message",
            &[
                r#"{"created_at":"VALUE","message":{"role":"assistant","content":"TEXT"},"done":false}"#,
                r#"{"created_at":"VALUE","message":{"role":"assistant","content":"","thinking":"TEXT"},"done":false}"#,
                r#"{"created_at":"VALUE","response":"TEXT","done":false}"#,
                r#"{"created_at":"VALUE","response":"","thinking":"TEXT","done":false}"#,
            ],
        ),
    ];

    fn decode(decoder: &mut EventDecoder, event: &str, data: &str) -> Vec<String> {
        let mut deltas = Vec::new();
        decoder.decode(event, data, |delta| deltas.push(format!("{delta:?}"))).unwrap();
        // The name of a member, which is always the same.
        deltas.retain(|delta| !delta.starts_with("Opaque"));
        deltas
    }

    #[test]
    fn most_events_match_the_one_before() {
        for (provider, name, events) in PIECES {
            for event in *events {
                let next = event.replace("TEXT", "a\\n\\u00e9").replace("VALUE", "x").replace(":5", ":17");
                let mut decoder = EventDecoder::new(*provider, &Limits::default());
                decode(&mut decoder, name, event);
                assert!(decoder.shapes.read(name, &next).is_some(), "{event}");
                assert!(decoder.shapes.read("another", &next).is_none(), "{event}");
                let uncached = decode(&mut EventDecoder::new(*provider, &Limits::default()), name, &next);
                assert_eq!(decode(&mut decoder, name, &next), uncached, "{event}");
            }
        }
    }

    #[test]
    fn a_shape_holds_until_another_event() {
        let event = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#;
        let search =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s"}}"#;
        let mut decoder = EventDecoder::new(Provider::Anthropic, &Limits::default());
        for _ in 0..2 {
            assert_eq!(decode(&mut decoder, "", event).len(), 1);
        }
        decode(&mut decoder, "", search);
        assert_eq!(decode(&mut decoder, "", event), [""; 0]);
    }

    /// Events that change how later events are read.
    const OTHERS: &[(Provider, &str, &[&str])] = &[
        (
            Provider::OpenAiChat,
            "message",
            &[
                r#"{"choices":[{"index":2,"message":{"content":"TEXT"}}]}"#,
                r#"{"choices":[{"index":0,"message":{"content":"TEXT"}}]}"#,
                r#"{"choices":[{"index":2,"delta":{"reasoning":"TEXT","reasoning_content":"TEXT"}}]}"#,
                r#"{"choices":[{"index":2,"delta":{},"message":{"content":"TEXT"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"TEXT"},"message":{"content":"TEXT"}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
        ),
        (
            Provider::Ollama,
            "message",
            &[
                r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"a","arguments":{}}}]},"done":false}"#,
                r#"{"message":{"role":"assistant","content":"TEXT"},"done":true,"done_reason":"stop"}"#,
            ],
        ),
        (
            Provider::OpenAiResponses,
            "",
            &[
                r#"{"type":"response.created","response":{}}"#,
                r#"{"type":"response.output_text.delta","delta":"TEXT"}"#,
                r#"{"type":"response.output_text.delta","output_index":2,"delta":"TEXT"}"#,
                r#"{"type":"response.output_text.done","output_index":1,"text":"TEXT"}"#,
                r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c","name":"n"}}"#,
                r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"c","name":"n","arguments":"{}","status":"completed"}}"#,
                r#"{"type":"response.completed","response":{"status":"completed"}}"#,
            ],
        ),
        (
            Provider::Anthropic,
            "",
            &[
                r#"{"type":"message_start","message":{}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"TEXT"}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"b","input":{"c":1}}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"a","name":"b"}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"TEXT"}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            ],
        ),
        (
            Provider::GeminiInteractions,
            "message",
            &[
                r#"{"event_type":"interaction.created","interaction":{}}"#,
                r#"{"event_type":"step.start","index":1,"step":{"type":"model_output","content":[{"type":"text","text":"TEXT"}]}}"#,
                r#"{"event_type":"step.start","index":1,"step":{"type":"google_search_call"}}"#,
                r#"{"event_type":"step.start","index":1,"step":{"type":"function_call","id":"a","name":"b","arguments":{"c":1}}}"#,
                r#"{"event_type":"step.stop","index":1}"#,
                r#"{"event_type":"interaction.completed","interaction":{"status":"completed"}}"#,
            ],
        ),
        (
            Provider::Cohere,
            "message",
            &[
                r#"{"type":"message-start","delta":{"message":{"role":"assistant"}}}"#,
                r#"{"type":"content-start","index":1,"delta":{"message":{"content":{"type":"other"}}}}"#,
                r#"{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"a","function":{"name":"b"}}}}}"#,
                r#"{"type":"content-end","index":1}"#,
                r#"{"type":"tool-call-end","index":1}"#,
                r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#,
            ],
        ),
        (
            Provider::Bedrock,
            "contentBlockStart",
            &[
                r#"{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"b"}}}"#,
                r#"{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"b","type":"server_tool_use"}}}"#,
            ],
        ),
        (Provider::Bedrock, "contentBlockStop", &[r#"{"contentBlockIndex":1}"#]),
        (Provider::Bedrock, "messageStart", &[r#"{"role":"assistant"}"#]),
    ];

    #[test]
    fn shapes_do_not_change_the_result() {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % below
        };
        // Even if providers share them, which they do not.
        let shared = EventShapes::default();
        for (provider, ..) in PIECES {
            let pool: Vec<(&str, &str)> = PIECES
                .iter()
                .chain(OTHERS)
                .filter(|(of, ..)| of == provider)
                .flat_map(|(_, name, events)| events.iter().map(move |event| (*name, *event)))
                .collect();
            for _ in 0..500 {
                let limits = Limits::default();
                let mut with = EventDecoder::new(*provider, &limits).with_shapes(&shared);
                let mut without = EventDecoder::new(*provider, &limits);
                // Few enough to repeat.
                let few: Vec<_> = (0..1 + random(5)).map(|_| pool[random(pool.len())]).collect();
                for step in 0..40 {
                    let (name, event) = few[random(few.len())];
                    let text = *["", "b\\n", "{}", "\\ud83d"].get(random(16)).unwrap_or(&"a");
                    let event = event.replace("TEXT", text).replace("VALUE", &step.to_string());
                    without.shapes.clear();
                    let expected = decode(&mut without, name, &event);
                    assert_eq!(decode(&mut with, name, &event), expected, "{event}");
                }
            }
        }
    }
}
