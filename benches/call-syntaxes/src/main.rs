//! `call-syntaxes [ROUNDS]`: one tool call in the syntaxes of several models, in deltas of four bytes, to its name and
//! arguments. Prints a Markdown table of the time of a delta for a short and a long call.
//!
//! `call-syntaxes --write DIRECTORY` writes the texts and the expected arguments instead, for
//! `../python/call_syntaxes.py`.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tokenline::{CallFormat, CheckedChunk, Event, LentEvent, Options, RecordDecoder, ToolCall};

const ROUNDS: usize = 21;
/// The lengths of the argument's text.
const SIZES: [usize; 2] = [1 << 10, 64 << 10];
const DELTA_BYTES: usize = 4;
/// A contender that takes longer for a long call takes part in one round. In nanoseconds.
const SLOW: f64 = 5e8;
const TOOL: &str = "write_file";
const PATH: &str = "src/main.rs";

/// Makes a text with one call from the path and the text of the file.
type Write = fn(&str, &str) -> String;

/// The name of tokenline's format, and how a model writes a call.
const SYNTAXES: &[(&str, Write)] = &[
    ("hermes", |path, text| {
        let arguments = arguments(path, text);
        format!("<tool_call>\n{{\"name\": \"{TOOL}\", \"arguments\": {arguments}}}\n</tool_call>")
    }),
    ("function_tag", |path, text| {
        let parameter = |key, value| format!("<parameter={key}>\n{value}\n</parameter>\n");
        let (path, text) = (parameter("path", path), parameter("text", text));
        format!("<tool_call>\n<function={TOOL}>\n{path}{text}</function>\n</tool_call>")
    }),
    ("deepseek-v3.1", |path, text| {
        let arguments = arguments(path, text);
        format!(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{TOOL}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        )
    }),
    ("deepseek-v3.2", |path, text| {
        let parameter = |key, value| {
            format!("<｜DSML｜parameter name=\"{key}\" string=\"true\">{value}</｜DSML｜parameter>\n")
        };
        let (path, text) = (parameter("path", path), parameter("text", text));
        format!(
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"{TOOL}\">\n{path}{text}</｜DSML｜invoke>\n</｜DSML｜function_calls>"
        )
    }),
    ("kimi-k2", |path, text| {
        let arguments = arguments(path, text);
        format!(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.{TOOL}:0<|tool_call_argument_begin|>{arguments}\
             <|tool_call_end|><|tool_calls_section_end|>"
        )
    }),
    ("glm", |path, text| {
        let parameter = |key, value| format!("<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n");
        let (path, text) = (parameter("path", path), parameter("text", text));
        format!("<tool_call>{TOOL}\n{path}{text}</tool_call>")
    }),
    ("harmony", |path, text| {
        let arguments = arguments(path, text);
        format!("<|channel|>commentary to=functions.{TOOL} <|constrain|>json<|message|>{arguments}<|call|>")
    }),
];

fn arguments(path: &str, text: &str) -> Value {
    json!({ "path": path, "text": text })
}

/// Code with quotes, escapes and angle brackets, of about this length.
fn code(length: usize) -> String {
    let mut text = String::new();
    for line in 0.. {
        if text.len() >= length {
            break;
        }
        let level = "    ".repeat(1 + line % 3);
        text += &format!(
            "{level}if values[{line}] < limit {{\n{level}    println!(\"line {line}:\\t{{}}\", name);\n"
        );
        text += &format!("{level}}} // it's \"{line}\"\n\n");
    }
    text.trim().to_owned()
}

/// The name and the arguments, as JSON.
type Call = (String, String);

/// Reads one stream.
trait Stream {
    /// Takes a delta; adds the calls that it completes.
    fn delta(&mut self, delta: &str, calls: &mut Vec<Call>);
    /// Ends the stream.
    fn end(&mut self, calls: &mut Vec<Call>);
}

/// Makes a parser of a syntax, if there is one.
type Create = fn(&str) -> Option<Box<dyn Stream>>;

/// The name of a contender, and its parsers. The first is compared with the others.
const CONTENDERS: &[(&str, Create)] = &[
    ("tokenline, by name", |name| Some(Tokenline::of(CallFormat::from_name(name)?))),
    ("tokenline, `Auto`", |_| Some(Tokenline::of(CallFormat::Auto))),
    ("tool-parser", peers::tool_parser),
];

struct Tokenline(RecordDecoder);

impl Tokenline {
    fn of(format: CallFormat) -> Box<dyn Stream> {
        Box::new(Self(RecordDecoder::new(Options::lenient().calls(format))))
    }
}

fn read(event: &LentEvent<'_>, calls: &mut Vec<Call>) {
    if let Event::Record(record) = event {
        for call in ToolCall::all_from_record(record, None) {
            let call = call.expect("a valid call");
            calls.push((call.name, call.parameters.to_string()));
        }
    }
}

impl Stream for Tokenline {
    fn delta(&mut self, delta: &str, calls: &mut Vec<Call>) {
        let mut delta = CheckedChunk::from(delta);
        while let Some(event) = self.0.next_event(&mut delta) {
            read(&event, calls);
        }
    }

    fn end(&mut self, calls: &mut Vec<Call>) {
        while let Some(event) = self.0.finish() {
            read(&event, calls);
        }
    }
}

mod peers {
    use futures_util::FutureExt;
    use openai_protocol::common::{Function, Tool};
    use serde_json::{Map, json};
    use tool_parser::ToolParser;
    use tool_parser::parsers::{
        DeepSeek31Parser, DeepSeekDsmlParser, Glm4MoeParser, KimiK2Parser, QwenParser, QwenXmlParser,
    };

    use super::{Call, Stream, TOOL};

    /// Joins the fragments of the calls, as a client of the gateway does.
    struct Smg {
        parser: Box<dyn ToolParser>,
        tools: Vec<Tool>,
        calls: Vec<Call>,
    }

    pub(super) fn tool_parser(name: &str) -> Option<Box<dyn Stream>> {
        let parser: Box<dyn ToolParser> = match name {
            "hermes" => Box::new(QwenParser::new()),
            "function_tag" => Box::new(QwenXmlParser::new()),
            "deepseek-v3.1" => Box::new(DeepSeek31Parser::new()),
            "deepseek-v3.2" => Box::new(DeepSeekDsmlParser::v32()),
            "kimi-k2" => Box::new(KimiK2Parser::new()),
            "glm" => Box::new(Glm4MoeParser::glm45()),
            _ => return None,
        };
        let string = json!({ "type": "string" });
        let parameters = json!({ "type": "object", "properties": { "path": string, "text": string } });
        let function = Function {
            name: TOOL.to_owned(),
            description: None,
            parameters,
            strict: None,
            extra: Map::new(),
        };
        let tools = vec![Tool { tool_type: "function".to_owned(), function }];
        Some(Box::new(Smg { parser, tools, calls: Vec::new() }))
    }

    impl Stream for Smg {
        fn delta(&mut self, delta: &str, _: &mut Vec<Call>) {
            // No parser waits for anything.
            let parsed = self.parser.parse_incremental(delta, &self.tools).now_or_never();
            for item in parsed.expect("a parser that does not wait").expect("a valid call").calls {
                if self.calls.len() <= item.tool_index {
                    self.calls.resize_with(item.tool_index + 1, Call::default);
                }
                let call = &mut self.calls[item.tool_index];
                call.0.extend(item.name);
                call.1 += &item.parameters;
            }
        }

        fn end(&mut self, calls: &mut Vec<Call>) {
            for item in self.parser.get_unstreamed_tool_args().unwrap_or_default() {
                self.calls[item.tool_index].1 += &item.parameters;
            }
            calls.append(&mut self.calls);
        }
    }
}

/// Markers that tokenizers write as one token, for parsers that do not find it in parts.
const MARKERS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
    "｜DSML｜",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|tool_call_argument_begin|>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|call|>",
];

/// The text in deltas of at least four bytes, which end at the end of a character; if asked for, with each marker in
/// one delta.
fn deltas(text: &str, has_whole_markers: bool) -> Vec<&str> {
    let marker =
        |from: usize| MARKERS.iter().find(|marker| has_whole_markers && text[from..].starts_with(**marker));
    let mut deltas = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let mut to = from;
        if let Some(marker) = marker(from) {
            to += marker.len();
        } else {
            while to < text.len() && to < from + DELTA_BYTES && (to == from || marker(to).is_none()) {
                to += text[to..].chars().next().map_or(1, char::len_utf8);
            }
        }
        deltas.push(&text[from..to]);
        from = to;
    }
    deltas
}

fn read_all(stream: &mut dyn Stream, deltas: &[&str]) -> Vec<Call> {
    let mut calls = Vec::new();
    for delta in deltas {
        stream.delta(delta, &mut calls);
    }
    stream.end(&mut calls);
    calls
}

/// Whether the parser finds the call.
fn finds(create: Create, name: &str, deltas: &[&str], arguments: &Value) -> bool {
    let mut stream = create(name).expect("a parser of this syntax");
    let calls = read_all(&mut *stream, deltas);
    let [(tool, found)] = calls.as_slice() else { return false };
    tool == TOOL && serde_json::from_str::<Value>(found).is_ok_and(|found| found == *arguments)
}

/// The nanoseconds of a delta, with as many streams as make one long call. The parsers are created before.
fn time(create: Create, name: &str, deltas: &[&str]) -> f64 {
    let repeats = (SIZES[1] / DELTA_BYTES / deltas.len()).max(1);
    let mut streams: Vec<_> = (0..repeats).filter_map(|_| create(name)).collect();
    let start = Instant::now();
    for stream in &mut streams {
        black_box(read_all(&mut **stream, deltas));
    }
    start.elapsed().as_secs_f64() * 1e9 / (repeats * deltas.len()) as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => table(ROUNDS),
        [flag, directory] if flag == "--write" => write(Path::new(directory)),
        [rounds] if rounds.parse().is_ok_and(|rounds: usize| rounds > 0) => {
            table(rounds.parse().expect("a number"));
        }
        _ => {
            eprintln!("usage: call-syntaxes [ROUNDS | --write DIRECTORY]");
            std::process::exit(2);
        }
    }
}

fn write(directory: &Path) {
    // The script estimates the time of a long call from that of a medium one, if it is slow.
    for size in [SIZES[0], 8 << 10, SIZES[1]] {
        let text = code(size);
        let write = |name: String, text: String| {
            std::fs::write(directory.join(name), text).expect("a directory to write to");
        };
        write(format!("arguments.{size}.json"), arguments(PATH, &text).to_string());
        for (name, syntax) in SYNTAXES {
            write(format!("{name}.{size}.txt"), syntax(PATH, &text));
        }
    }
}

fn table(rounds: usize) {
    println!("{rounds} interleaved rounds, ns per delta of {DELTA_BYTES} bytes\n");
    println!("| | | 1 KB | 64 KB | exponent | ratio at 1 KB | at 64 KB |\n|---|---|--:|--:|--:|--:|--:|");
    for (name, syntax) in SYNTAXES {
        let texts = SIZES.map(|size| syntax(PATH, &code(size)));
        let expected = SIZES.map(|size| arguments(PATH, &code(size)));
        let mut contenders = Vec::new();
        for &(label, create) in CONTENDERS {
            if create(name).is_none() {
                continue;
            }
            let way = [false, true].into_iter().find_map(|has_whole_markers| {
                let deltas = [0, 1].map(|at| deltas(&texts[at], has_whole_markers));
                let finds = (0..2).all(|at| finds(create, name, &deltas[at], &expected[at]));
                finds.then_some((has_whole_markers, deltas))
            });
            match way {
                Some((false, deltas)) => contenders.push((label.to_owned(), create, deltas)),
                Some((true, deltas)) => {
                    contenders.push((format!("{label}, markers in one delta"), create, deltas));
                }
                None => println!("| {name} | {label} | does not find the call | | | | |"),
            }
        }
        let mut times = vec![[const { Vec::new() }; 2]; contenders.len()];
        for round in 0..rounds {
            for step in 0..contenders.len() {
                let index = (round + step) % contenders.len();
                let (_, create, deltas) = &contenders[index];
                if times[index][1].iter().any(|&time| time * deltas[1].len() as f64 > SLOW) {
                    continue;
                }
                for (times, deltas) in times[index].iter_mut().zip(deltas) {
                    times.push(time(*create, name, deltas));
                }
            }
        }
        for (index, (label, _, deltas)) in contenders.iter().enumerate() {
            let [short, long] = [0, 1].map(|at| median(times[index][at].iter().copied()));
            let [of_short, of_long] = [0, 1]
                .map(|at| median(times[index][at].iter().zip(&times[0][at]).map(|(own, first)| own / first)));
            // Of the whole stream: 1 is linear.
            let counts = [deltas[0].len() as f64, deltas[1].len() as f64];
            let exponent = (long * counts[1] / (short * counts[0])).ln() / (counts[1] / counts[0]).ln();
            println!(
                "| {name} | {label} | {short:.1} | {long:.1} | {exponent:.2} | {of_short:.2} | {of_long:.2} |"
            );
        }
    }
}

/// The median; the upper one of an even number.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
