//! `paths NAME`: runs one of the core paths over a corpus once, so that `scripts/instructions` can count its
//! instructions. Without a name, lists the paths.

use std::hint::black_box;
use std::mem;
use std::ops::Range;
use std::process::ExitCode;

use serde_json::{Value, json};
use tokenline::json::{Parser, Raw, Step};
use tokenline::llm::batch::{BatchFormat, BatchReader};
use tokenline::llm::{LentResponseEvent, Provider, ResponseEvent, ResponseParser};
use tokenline::schema::SchemaValidator;
use tokenline::{CallFormat, CheckedChunk, Event, Options, RecordDecoder, Validate};
use tokenline_corpora::{Corpus, Kind};

/// The size of the corpora in bytes.
const BYTES: usize = 400_000;
const CHUNK: usize = 64 * 1024;
/// The size of a chunk with one token of a model.
const TOKEN: usize = 4;

/// A prepared path, which returns the number of records, calls or deltas.
type Path = Box<dyn FnOnce() -> usize>;
type Prepare = fn() -> Path;

const PATHS: [(&str, Prepare); 13] = [
    ("tape", || tape(Kind::Definitions)),
    ("tape-escapes", || tape(Kind::ToolCalls)),
    ("records", || records(Kind::Definitions, CHUNK, false)),
    ("validated", || records(Kind::Mixed, CHUNK, true)),
    ("tokens", tokens),
    ("validated-tokens", || records(Kind::Definitions, TOKEN, true)),
    ("deltas", deltas),
    ("native-calls", || responses(Corpus::responses_with_calls(BYTES), false)),
    ("native-unlike", || responses(Corpus::responses_with_calls(BYTES), true)),
    ("response-records", || responses(Corpus::responses_with_records(BYTES), false)),
    ("text-calls", text_calls),
    ("prose", prose),
    ("batch", batch),
];

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        PATHS.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some((_, prepare)) = PATHS.iter().find(|(path, _)| *path == name) else {
        eprintln!("paths: there is no path `{name}`");
        return ExitCode::from(2);
    };
    println!("{} items", run(prepare()));
    ExitCode::SUCCESS
}

/// Its instructions are counted.
#[inline(never)]
fn run(path: Path) -> usize {
    path()
}

fn tape(kind: Kind) -> Path {
    let corpus = Corpus::generate(kind, BYTES);
    let mut parser = Parser::new();
    Box::new(move || {
        let mut rest = str::from_utf8(&corpus.bytes).expect("lines of UTF-8");
        let mut records = 0;
        while !rest.is_empty() {
            parser.reset();
            let Step::Complete { end } = parser.resume(rest) else { panic!("a corpus is valid") };
            black_box(parser.value(rest));
            records += 1;
            rest = &rest[end + 1..];
        }
        records
    })
}

fn records(kind: Kind, chunk: usize, is_validated: bool) -> Path {
    let corpus = Corpus::generate(kind, BYTES);
    let validator: SchemaValidator = corpus.schema.parse().expect("a corpus's schema is valid");
    let mut decoder = RecordDecoder::new(Options::lenient());
    Box::new(move || {
        let mut records = 0;
        for chunk in corpus.bytes.chunks(chunk) {
            let mut chunk = CheckedChunk::new(chunk);
            while let Some(event) = decoder.next_event(&mut chunk) {
                let Event::Record(record) = event else { panic!("a corpus is valid") };
                records += usize::from(!is_validated || validator.validate(record.value).is_ok());
                black_box(record);
            }
        }
        assert_eq!(records, corpus.records);
        records
    })
}

/// The tokens of a text, which are text as well, as in the events of a provider.
fn tokens_of(text: &str) -> Vec<Range<usize>> {
    let ends = (TOKEN..text.len()).step_by(TOKEN).filter(|at| text.is_char_boundary(*at)).chain([text.len()]);
    let mut start = 0;
    ends.map(|end| mem::replace(&mut start, end)..end).collect()
}

fn tokens() -> Path {
    let corpus = Corpus::generate(Kind::Definitions, BYTES);
    let text = String::from_utf8(corpus.bytes.to_vec()).expect("lines of UTF-8");
    let tokens = tokens_of(&text);
    let mut decoder = RecordDecoder::new(Options::lenient());
    Box::new(move || {
        let mut records = 0;
        for token in tokens {
            let mut token = &text[token];
            loop {
                let decoded = decoder.decode_str(token);
                token = &token[decoded.consumed..];
                let Some(event) = decoded.event else { break };
                let Event::Record(record) = event else { panic!("a corpus is valid") };
                records += 1;
                black_box(record);
            }
        }
        assert_eq!(records, corpus.records);
        records
    })
}

fn deltas() -> Path {
    let corpus = Corpus::record_of_size("record", BYTES / 4);
    let mut decoder = RecordDecoder::new(Options::lenient().partials(true));
    Box::new(move || {
        let mut deltas = 0;
        for chunk in corpus.bytes.chunks(TOKEN) {
            let mut chunk = CheckedChunk::new(chunk);
            while let Some(event) = decoder.next_event(&mut chunk) {
                deltas += usize::from(matches!(event, Event::Partial(_)));
                black_box(&event);
            }
        }
        deltas
    })
}

/// The events of a response are alike but for their text. If they are not, the cache of their shapes gains nothing.
fn responses(corpora: Vec<Corpus>, are_unlike: bool) -> Path {
    let mut corpus = corpora.into_iter().find(|corpus| corpus.name == "one event").expect("a corpus");
    if are_unlike {
        corpus.wire.make_unlike();
    }
    let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    Box::new(move || {
        let mut items = 0;
        let mut count = |event: ResponseEvent<Raw>| {
            let is_item = matches!(event, ResponseEvent::Record { .. } | ResponseEvent::ToolCall { .. });
            items += usize::from(is_item);
        };
        for response in &corpus.wire.responses {
            for chunk in response {
                parser.push(chunk);
                while let Some(event) = parser.next_event() {
                    count(event);
                }
            }
            parser.finish();
            while let Some(event) = parser.next_event() {
                count(event);
            }
            parser.reset();
        }
        items
    })
}

fn text_calls() -> Path {
    let corpus = Corpus::generate(Kind::Definitions, BYTES);
    let lines = str::from_utf8(&corpus.bytes).expect("lines of UTF-8").lines();
    let call = |line| {
        format!(
            "<tool_call>\n<function=save>\n<parameter=line>\n{line}\n</parameter>\n</function>\n</tool_call>\n"
        )
    };
    let text: String = lines.map(call).collect();
    let format = CallFormat::from_name("qwen3-coder").expect("a model family");
    let tokens = tokens_of(&text);
    let mut decoder = RecordDecoder::new(Options::lenient().calls(format));
    Box::new(move || {
        let mut calls = 0;
        for token in tokens {
            let mut token = &text[token];
            loop {
                let decoded = decoder.decode_str(token);
                token = &token[decoded.consumed..];
                let Some(event) = decoded.event else { break };
                calls += usize::from(matches!(event, Event::Record(_)));
                black_box(&event);
            }
        }
        calls
    })
}

/// Prose, in which calls of any syntax are looked for.
fn prose() -> Path {
    const PARAGRAPH: &str = "The tool isn't needed here: to answer the question, it's enough to look at what the user \
        wrote before (see above) -- 3 < 5, and the function `sum` returns 8. That is all there is to say about it.\n\n";
    let text = PARAGRAPH.repeat(BYTES / PARAGRAPH.len());
    let mut decoder = RecordDecoder::new(Options::lenient().calls(CallFormat::Auto));
    Box::new(move || {
        let mut notes = 0;
        for chunk in text.as_bytes().chunks(CHUNK) {
            let mut at = 0;
            loop {
                let decoded = decoder.decode(&chunk[at..]);
                at += decoded.consumed;
                let Some(event) = decoded.event else { break };
                notes += usize::from(matches!(event, Event::Note(_)));
                black_box(&event);
            }
        }
        notes
    })
}

/// A result file of a batch with twenty records in each text.
fn batch() -> Path {
    let corpus = Corpus::generate(Kind::Definitions, BYTES);
    let records: Vec<&str> = str::from_utf8(&corpus.bytes).expect("lines of UTF-8").lines().collect();
    let result = |records: &[&str]| {
        let text = Value::from(records.join("\n"));
        let choice =
            json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        let body = json!({"object": "chat.completion", "choices": [choice], "usage": {"total_tokens": 900}});
        json!({"custom_id": "1", "response": {"status_code": 200, "body": body}, "error": null}).to_string()
    };
    let lines: Vec<String> = records.chunks(20).map(result).collect();
    let mut reader = BatchReader::<Raw>::new(BatchFormat::OpenAi, Options::lenient());
    Box::new(move || {
        let mut records = 0;
        for line in &lines {
            let mut result = reader.read_line(line).expect("a result");
            result.lend_events(|event| {
                records += match black_box(event) {
                    LentResponseEvent::Record { .. } => 1,
                    LentResponseEvent::Event(event) => {
                        usize::from(matches!(event, ResponseEvent::Record { .. }))
                    }
                    _ => 0,
                };
            });
        }
        assert_eq!(records, corpus.records);
        records
    })
}
