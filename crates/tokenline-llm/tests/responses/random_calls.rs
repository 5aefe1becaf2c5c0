//! Calls of all syntaxes in random texts: cut, glued, doubled and damaged. Their events, updates included, are the same
//! however the text is cut and whether a repair hook replies at once, and each call that begins ends once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tokenline_codec::JsonlStreamParser;
use tokenline_core::call_format::CallSyntax;
use tokenline_core::json::Raw;
use tokenline_core::{CallFormat, Options, Reads, Record, Rejected, Release, TextEvent, ToolCall};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, ResponseStream, TextMode};
use tokenline_schema::ToolSet;

use crate::common::extent::cases;
use crate::common::{chunk, text};
use crate::random::Random;

const CALLS: [&str; 7] = [
    "{\"name\": \"weather\", \"parameters\": {\"city\": \"Paris\", \"days\": 3}}",
    "{\"name\":\"now\",\"parameters\":{}}",
    "[{\"name\":\"now\",\"parameters\":{}},{\"name\":\"weather\",\"arguments\":{\"city\":\"a\"}}]",
    "[now(), weather(city='a', days=2)]",
    "weather(city='a')",
    "<tool_call>{\"name\":\"none\",\"arguments\":{\"x\":[1,{\"a\":null}]}}</tool_call>",
    "{\"name\":\"none\",\"parameters\":{\"x\":1}}",
];

const GLUE: [&str; 28] = [
    "",
    "\n",
    " ",
    "Hm. ",
    "Here:\n",
    "<think>",
    "</think>",
    "```json\n",
    "```\n",
    "```tool_call\n",
    "{\"a\":1}\n",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\",
    "\r\n",
    "é",
    ",",
    "> ",
    "`",
    "<|",
    "</tool_call>",
    "<tool_call>",
    "\"name\":",
    "(",
    "weather",
];

fn tools() -> ToolSet {
    let tools = r#"[{"name":"weather","parameters":{"properties":{"city":{"type":"string"}},"required":["city"]}},{"name":"now"}]"#;
    ToolSet::from_json_str(tools).expect("tools")
}

/// How texts are read.
#[derive(Clone, Debug)]
struct Setup {
    options: Options,
    text_as: TextMode,
    has_tools: bool,
    repairs: bool,
    shows_text: bool,
    reason: Option<&'static str>,
}

impl Setup {
    fn generate(random: &mut Random) -> Self {
        let release = if random.once_in(3) { Release::OnBalance } else { Release::Confirmed };
        Self {
            options: Options::lenient().calls(CallFormat::Auto).release(release),
            text_as: *random.pick(&[TextMode::ToolCalls, TextMode::ToolCalls, TextMode::RecordsAndToolCalls]),
            has_tools: random.once_in(2),
            repairs: random.once_in(4),
            shows_text: random.once_in(2),
            reason: *random.pick(&[Some("stop"), Some("length"), None]),
        }
    }

    fn parser(&self) -> ResponseParser<Raw> {
        let mut parser = ResponseParser::new(Provider::OpenAiChat, self.options.clone())
            .with_options(|options| options.text_as(self.text_as).call_updates());
        if self.has_tools {
            parser = parser.with_options(|options| options.tools(tools()));
        }
        if self.shows_text { parser.with_options(ResponseOptions::text_and_reasoning) } else { parser }
    }
}

/// Every third reject stands.
fn replacement(rejected: &Rejected) -> Option<String> {
    let length = rejected.text.len();
    (!length.is_multiple_of(3)).then(|| format!("{{\"name\":\"now\",\"parameters\":{{\"n\":{length}}}}}"))
}

/// The events of a response in these pieces.
fn seen<'p>(setup: &Setup, pieces: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    let mut parser = setup.parser();
    if setup.repairs {
        parser = parser.with_options(|options| options.repair(|rejected| replacement(&rejected)));
    }
    let mut events = Vec::new();
    let wire = pieces.into_iter().map(text).chain(setup.reason.map(|reason| chunk("{}", reason)));
    for event in wire {
        parser.push(event.as_bytes());
        events.extend(std::iter::from_fn(|| parser.next_event()));
    }
    parser.finish();
    events.extend(std::iter::from_fn(|| parser.next_event()));
    as_lines(events)
}

/// The same, with a hook that replies later.
fn seen_later<'p>(setup: &Setup, pieces: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    let wire = pieces.into_iter().map(text).chain(setup.reason.map(|reason| chunk("{}", reason)));
    let source = futures_util::stream::iter(wire.map(Ok::<_, std::io::Error>));
    let stream = ResponseStream::new(source, setup.parser()).with_async_repair(|rejected| async move {
        tokio::task::yield_now().await;
        replacement(&rejected)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let events: Vec<_> = runtime.block_on(stream.collect());
    as_lines(events.into_iter().map(|event| event.expect("the source does not fail")))
}

/// The events as lines; consecutive parts of one text, of reasoning or of arguments are joined.
fn as_lines(events: impl IntoIterator<Item = ResponseEvent<Raw>>) -> Vec<String> {
    let mut open = BTreeMap::new();
    let (mut lines, mut joined): (Vec<String>, _) = (Vec::new(), String::new());
    for event in events {
        let (part, more) = match &event {
            ResponseEvent::ToolCallArguments { number, text, .. } => {
                let arguments: &mut String = open.get_mut(number).expect("it has begun and not ended");
                arguments.push_str(text);
                (format!("{number} arguments "), text.clone())
            }
            ResponseEvent::Text { text, .. } => ("text ".to_owned(), text.clone()),
            ResponseEvent::Reasoning { text, .. } => ("reasoning ".to_owned(), text.clone()),
            ResponseEvent::ToolCallBegan { number, name, .. } => {
                assert!(open.insert(*number, String::new()).is_none(), "{number} begins twice");
                (format!("{number} began {name}"), String::new())
            }
            ResponseEvent::ToolCall { number, call, .. } => {
                let number = number.expect("with updates, a call has a number");
                assert_eq!(open.remove(&number).as_deref(), Some(call.parameters.as_str()), "its updates");
                (format!("{number} call {} {}", call.name, call.parameters), String::new())
            }
            ResponseEvent::RejectedCall { number, call, .. } => {
                assert_eq!(number.is_some(), call.name.is_some(), "a call with a name has a number");
                assert!(number.is_none_or(|number| open.remove(&number).is_some()), "it has begun");
                let diagnostic = &call.diagnostic;
                (
                    format!("{number:?} rejected {:?} {:?} {diagnostic}", call.name, diagnostic.span),
                    String::new(),
                )
            }
            ResponseEvent::Record { record, .. } => {
                (format!("{:?} record {}", record.span, record.value), String::new())
            }
            ResponseEvent::ToolCallDiscarded { number, .. } => {
                assert!(open.remove(number).is_some(), "it has begun");
                (format!("{number} discarded"), String::new())
            }
            ResponseEvent::Rejected { diagnostic, .. } | ResponseEvent::Note { diagnostic, .. }
                if diagnostic.origin == tokenline_core::Origin::Text =>
            {
                (format!("{diagnostic} {:?}", diagnostic.span), String::new())
            }
            _ => continue,
        };
        if joined != part || more.is_empty() {
            lines.push(part.clone());
        }
        lines.last_mut().expect("pushed").push_str(&more);
        joined = if more.is_empty() { String::new() } else { part };
    }
    assert!(open.is_empty(), "{open:?} never ends");
    lines
}

fn generate(random: &mut Random, calls: &[&str]) -> String {
    let mut written = String::new();
    for _ in 0..1 + random.below(4) {
        let mut call: Vec<char> = random.pick(calls).chars().collect();
        for _ in 0..random.below(3) {
            let at = random.below(call.len());
            match random.below(4) {
                0 => drop(call.remove(at)),
                1 => drop(call.splice(at..at, random.pick(&GLUE).chars())),
                2 => call.truncate(at + 1),
                _ => {
                    let end = at + random.below(call.len() - at);
                    let again = call[at..end].to_vec();
                    drop(call.splice(at..at, again));
                }
            }
            if call.is_empty() {
                break;
            }
        }
        written.push_str(random.pick::<&str>(&GLUE));
        written.extend(call);
        written.push_str(random.pick::<&str>(&GLUE));
    }
    written
}

/// Runs a case for random texts, by default 500.
fn for_random_texts(mut case: impl FnMut(u64, &Setup, &str, &mut Random)) {
    let calls: Vec<&str> =
        CallSyntax::built_in().iter().map(|row| row.example.as_str()).chain(CALLS).collect();
    for seed in 0..cases(500) {
        let mut random = Random::new(seed);
        let (setup, written) = (Setup::generate(&mut random), generate(&mut random, &calls));
        case(seed, &setup, &written, &mut random);
    }
}

#[test]
fn events_with_updates_do_not_depend_on_cuts() {
    for_random_texts(|seed, setup, written, random| {
        let whole = seen(setup, [written]);
        for most in [1, 3, 30] {
            let mut pieces = Vec::new();
            let mut rest = written;
            while !rest.is_empty() {
                let count = 1 + random.below(most);
                let end = rest.char_indices().nth(count).map_or(rest.len(), |(at, _)| at);
                let (piece, after) = rest.split_at(end);
                pieces.push(piece);
                rest = after;
            }
            let cut = seen(setup, pieces.iter().copied());
            assert_eq!(cut, whole, "seed {seed}, {setup:?}, {pieces:?}");
            if setup.repairs {
                let later = seen_later(setup, pieces.iter().copied());
                assert_eq!(later, whole, "later, seed {seed}, {setup:?}, {pieces:?}");
            }
        }
    });
}

/// The events that plain text and the text of a response share. Pieces of text are joined.
#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    text: String,
    reasoning: String,
}

impl Seen {
    fn add(&mut self, line: String) {
        self.lines.extend(
            [("text", &mut self.text), ("reasoning", &mut self.reasoning)].into_iter().filter_map(
                |(kind, text)| (!text.is_empty()).then(|| format!("{kind} {}", std::mem::take(text))),
            ),
        );
        self.lines.push(line);
    }
}

fn call_line(call: &ToolCall, record: &Record<()>) -> String {
    format!("call {} {} {:?} {}", call.name, call.parameters, record.span, call.recovered)
}

fn in_a_response<'p>(setup: &Setup, pieces: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    let mut parser = setup.parser().with_options(ResponseOptions::text_and_reasoning);
    if setup.repairs {
        parser = parser.with_options(|options| options.repair(|rejected| replacement(&rejected)));
    }
    for piece in pieces {
        parser.push(text(piece).as_bytes());
    }
    parser.finish();
    let mut seen = Seen::default();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Text { text, .. } => seen.text += &text,
            ResponseEvent::Reasoning { text, .. } => seen.reasoning += &text,
            ResponseEvent::Record { record, .. } => seen.add(format!("{record:?}")),
            ResponseEvent::ToolCall { call, record: Some(record), .. } => seen.add(call_line(&call, &record)),
            ResponseEvent::RejectedCall { call, .. } => {
                seen.add(format!("{:?} {}", call.name, call.diagnostic));
            }
            ResponseEvent::Rejected { diagnostic, .. } | ResponseEvent::Note { diagnostic, .. }
                if diagnostic.origin == tokenline_core::Origin::Text =>
            {
                seen.add(diagnostic.to_string());
            }
            _ => {}
        }
    }
    seen.add("the end".to_owned());
    seen.lines
}

fn in_plain_text(setup: &Setup, pieces: &[&str]) -> Vec<String> {
    let failure = Err(std::io::Error::other("nothing proves it complete"));
    let chunks: Vec<_> = pieces.iter().map(|piece| Ok(piece.as_bytes().to_vec())).chain([failure]).collect();
    let mut parser = JsonlStreamParser::<_, Raw>::new(futures_util::stream::iter(chunks))
        .with_options(setup.options.clone());
    if setup.has_tools {
        parser = parser.with_tools(tools());
    }
    if setup.repairs {
        parser = parser.with_async_repair(|rejected| async move {
            tokio::task::yield_now().await;
            replacement(&rejected)
        });
    }
    let reads =
        if setup.text_as == TextMode::ToolCalls { Reads::ToolCalls } else { Reads::RecordsAndToolCalls };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let events: Vec<_> = runtime.block_on(parser.text_events(reads).collect());
    let mut seen = Seen::default();
    for event in events.into_iter().flatten() {
        match event {
            TextEvent::Text(text) => seen.text += &text,
            TextEvent::Reasoning(text) => seen.reasoning += &text,
            TextEvent::Record(record) => seen.add(format!("{record:?}")),
            TextEvent::ToolCall { call, record } => seen.add(call_line(&call, &record)),
            TextEvent::RejectedCall(call) => seen.add(format!("{:?} {}", call.name, call.diagnostic)),
            TextEvent::Rejected(diagnostic) | TextEvent::Note(diagnostic) => seen.add(diagnostic.to_string()),
            other => panic!("an event that the test does not know: {other:?}"),
        }
    }
    seen.add("the end".to_owned());
    seen.lines
}

#[test]
fn plain_text_gives_the_events_of_a_response() {
    for_random_texts(|seed, setup, written, _| {
        let whole = in_a_response(setup, [written]);
        let characters: Vec<&str> = written.split_inclusive(|_| true).collect();
        for pieces in [vec![written], characters] {
            assert_eq!(in_plain_text(setup, &pieces), whole, "seed {seed}, {setup:?}, {pieces:?}");
        }
    });
}

/// Space between elements is in one chunk with the fault after it, or not.
#[test]
fn a_hook_is_asked_about_the_same_texts_however_they_are_cut() {
    let asked = |pieces: Vec<&str>| {
        let texts = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&texts);
        let options = Options::lenient().calls(CallFormat::Auto);
        let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, options).with_options(|options| {
            options.text_as(TextMode::ToolCalls).repair(move |rejected| {
                log.lock().expect("not poisoned").push(rejected.text);
                None
            })
        });
        pieces.into_iter().for_each(|piece| parser.push(text(piece)));
        parser.push(chunk("{}", "stop"));
        parser.finish();
        while parser.next_event().is_some() {}
        texts.lock().expect("not poisoned").clone()
    };
    for written in ["[{\"\n[o", "[{\"\\ \"\"\"{\"\"}}\n/", "<atem:invoke name=\"\n</atem:invoke>"] {
        let whole = asked(vec![written]);
        assert_eq!(whole.len(), 1, "{whole:?}");
        assert_eq!(asked(written.split_inclusive(|_| true).collect()), whole, "{written:?}");
    }
}
