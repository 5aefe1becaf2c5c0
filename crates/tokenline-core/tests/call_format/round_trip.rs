//! Random calls, written as each family of models does, and read back.
//!
//! `TOKENLINE_CASES=10000` tries so many of each syntax.

use serde_json::{Value, json};
use tokenline_core::call_format::CallSyntax;
use tokenline_core::{CallFormat, Event, JsonlParser, LentEvent, Options, RecordDecoder, Recovery, ToolCall};

use crate::extent::cases;
use crate::growth::growth;
use crate::random_calls::{Random, Tools};
use crate::writers::{Call, NAMED, OBJECTS, PYTHON, Syntax, TAGGED};

/// A parser of one format, for text after text.
#[derive(Debug)]
enum Reader {
    Parser(Box<JsonlParser>),
    /// With tools.
    Decoder(Box<RecordDecoder>),
}

impl Reader {
    fn new(format: CallFormat, has_tools: bool) -> Self {
        let options = Options::lenient().calls(format);
        if has_tools {
            Self::Decoder(Box::new(RecordDecoder::new(options).with_tools(Tools)))
        } else {
            Self::Parser(Box::new(JsonlParser::new(options)))
        }
    }

    fn read<'a>(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Found> {
        let mut calls = Vec::new();
        match self {
            Self::Parser(parser) => {
                parser.reset();
                for piece in pieces {
                    parser.push(piece);
                    while let Some(event) = parser.next_event() {
                        keep(&mut calls, &event);
                    }
                }
                parser.finish();
                while let Some(event) = parser.next_event() {
                    keep(&mut calls, &event);
                }
            }
            Self::Decoder(decoder) => {
                decoder.reset();
                for mut piece in pieces {
                    loop {
                        let decoded = decoder.decode(piece);
                        piece = &piece[decoded.consumed..];
                        let Some(event) = decoded.event else { break };
                        keep(&mut calls, &event);
                    }
                }
                while let Some(event) = decoder.finish() {
                    keep(&mut calls, &event);
                }
            }
        }
        calls
    }
}

/// A call that was read.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    call: Call,
    is_end_missing: bool,
}

fn keep(calls: &mut Vec<Found>, event: &LentEvent<'_>) {
    let Event::Record(record) = event else { return };
    for call in ToolCall::all_from_record(record, None).flatten() {
        let parameters = serde_json::from_str(call.parameters.as_str()).expect("they are an object");
        let is_end_missing = call.recovered.contains(Recovery::CallEndMissing);
        calls.push(Found { call: (call.name, parameters), is_end_missing });
    }
}

/// Where to cut a text: everywhere in a short one, otherwise at some places.
fn cuts(random: &mut Random, len: usize) -> Vec<usize> {
    match len {
        0..120 => (0..=len).collect(),
        _ => (0..12).map(|_| random.below(len + 1)).collect(),
    }
}

/// Whether the calls of a truncated text are the first ones, whole.
///
/// A tagged call may end after any parameter. Cut there, it is delivered at a clean end with its complete
/// parameters, and marked as lacking its end.
fn are_whole(syntax: &Syntax, found: &[Found], expected: &[Call]) -> bool {
    found.len() <= expected.len()
        && found.iter().zip(expected).enumerate().all(|(index, (it, expected))| {
            let (name, parameters) = &it.call;
            it.call == *expected
                || syntax.has_tags
                    && index + 1 == found.len()
                    && it.is_end_missing
                    && *name == expected.0
                    && !parameters.is_empty()
                    && parameters.iter().all(|(key, value)| expected.1.get(key) == Some(value))
        })
}

fn check(
    syntax: &Syntax,
    reader: &mut Reader,
    random: &mut Random,
    text: &str,
    expected: &[Call],
) -> Result<(), String> {
    let bytes = text.as_bytes();
    let differs = |how: &str, found: &[Found]| {
        (!found.iter().map(|found| &found.call).eq(expected))
            .then(|| format!("{how}: found {found:?}\n   expected {expected:?}"))
    };
    let mut fault = differs("whole", &reader.read([bytes]));
    fault = fault.or_else(|| differs("by bytes", &reader.read(bytes.chunks(1))));
    for at in cuts(random, text.len()) {
        let (left, right) = bytes.split_at(at);
        fault = fault.or_else(|| differs(&format!("cut at {at}"), &reader.read([left, right])));
        let found = reader.read([left]);
        if fault.is_none() && !are_whole(syntax, &found, expected) {
            let left = String::from_utf8_lossy(left);
            fault = Some(format!("ended at {at}, {left:?}: found {found:?}"));
        }
    }
    fault.map_or(Ok(()), Err)
}

fn round_trip(syntaxes: &[Syntax]) {
    let mut faults = Vec::new();
    for (index, syntax) in syntaxes.iter().enumerate() {
        let label = syntax.labels[0];
        let format = CallFormat::from_name(syntax.format).expect("a format");
        let mut named = Reader::new(format, syntax.needs_tools);
        let mut auto = Reader::new(CallFormat::Auto, syntax.needs_tools);
        let mut with_tools = Reader::new(CallFormat::Auto, true);
        let mut shortest: Option<String> = None;
        let mut count = 0;
        let mut grown = 0;
        let open = |has_tools| {
            let decoder = RecordDecoder::new(Options::lenient().calls(CallFormat::Auto));
            if has_tools { decoder.with_tools(Tools) } else { decoder }
        };
        let mut decoders = [open(syntax.needs_tools), open(true)];
        for case in 0..cases(20) {
            let mut random = Random((index as u64) << 40 | case as u64);
            let calls = random.calls(syntax);
            let text = random.text(syntax, &calls);
            let decoder = &mut decoders[case % 2];
            match growth(decoder, text.as_bytes().chunks(1 + case % 3)) {
                Ok(count) => grown += count,
                Err(fault) => {
                    faults.push(format!("{label}[{index}] case {case} as it grows: {text:?}\n   {fault}"));
                }
            }
            let auto = if case % 2 == 0 { &mut auto } else { &mut with_tools };
            for (how, reader) in [(syntax.format, &mut named), ("auto", auto)] {
                if let Err(fault) = check(syntax, reader, &mut random, &text, &calls) {
                    count += 1;
                    let fault = format!("{label}[{index}] case {case} as {how}: {text:?}\n   {fault}");
                    if shortest.as_ref().is_none_or(|shortest| fault.len() < shortest.len()) {
                        shortest = Some(fault);
                    }
                }
            }
        }
        // Arguments in a string, and calls that are a dictionary, are read at their end.
        if grown == 0 && !["openai_shape", "sarashina"].contains(&label) {
            faults.push(format!("{label}[{index}]: no call is seen to grow"));
        }
        faults.extend(shortest.map(|fault| format!("{count} faults, such as {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn objects() {
    round_trip(OBJECTS);
}

#[test]
fn names_with_objects() {
    round_trip(NAMED);
}

#[test]
fn parameters_with_tags() {
    round_trip(TAGGED);
}

#[test]
fn python() {
    round_trip(PYTHON);
}

#[test]
fn there_is_a_writer_of_every_syntax() {
    // The labels of the collected cases, without prose.
    const LABELS: &str = "apertus apriel bare_json_array cohere_cmd3 cohere_cmd4 cohere_r_plus cwm deepseek_v3 \
        deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 dots ernie45 firefunction_v2 functionary_v31 \
        functionary_v32 functiongemma gemma3_tool_code gemma4 gigachat3 glm45 glm47 granite granite4 \
        granite_20b_fc harmony hermes hunyuan_a13b hy_v3 hy_v4 inkling internlm2 jamba k2_horizon kimi_k2 \
        kimi_k3 lfm2 ling3 llama3_json longcat mimo minicpm5 minimax_m1 minimax_m2 minimax_m3 mistral_array \
        mistral_v11 muse_atem nemotron_toolcall olmo3 openai_shape phi4_functools plamo3 poolside_v1 pythonic \
        qwen3_coder sarashina seed_oss solar_open2 spark2_5 step3 step3p5 xlam";
    let written: Vec<_> =
        [OBJECTS, NAMED, TAGGED, PYTHON].into_iter().flatten().flat_map(|syntax| syntax.labels).collect();
    let missing: Vec<_> = LABELS.split_whitespace().filter(|label| !written.contains(&label)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let formats: Vec<_> =
        [OBJECTS, NAMED, TAGGED, PYTHON].into_iter().flatten().map(|it| it.format).collect();
    let missing: Vec<_> = CallSyntax::built_in()
        .iter()
        .map(|row| row.name.as_str())
        .filter(|name| !formats.contains(name) && *name != "hyperclovax")
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_row_has_an_example_that_it_reads() {
    for row in CallSyntax::built_in() {
        let named = CallFormat::from_name(&row.name).expect("a format");
        for (how, format) in [(row.name.as_str(), named), ("auto", CallFormat::Auto)] {
            let calls = Reader::new(format, true).read([row.example.as_bytes()]);
            assert!(!calls.is_empty(), "{how}: {}", row.example);
            for Found { call: (name, parameters), .. } in &calls {
                let city = parameters.get("city").and_then(Value::as_str);
                let is_expected = match name.as_str() {
                    "weather" => city == Some("Paris") || !row.example.contains("Paris"),
                    "now" => parameters.is_empty(),
                    _ => false,
                };
                assert!(is_expected, "{how}: {} gives {calls:?}", row.example);
            }
        }
    }
}

#[test]
fn every_name_and_model_gives_its_row() {
    for row in CallSyntax::built_in() {
        for name in [&row.name].into_iter().chain(&row.models) {
            let format = CallFormat::from_name(name).expect("a format");
            assert_eq!(format.as_str(), row.name, "{name}");
        }
    }
}

#[test]
fn rows_of_one_name_say_how_they_differ() {
    let rows = CallSyntax::built_in();
    for row in rows {
        let of_name = rows
            .iter()
            .filter(|other| row.name == other.name || row.models.iter().any(|it| other.is_named(it)));
        assert_eq!(of_name.count() > 1, !row.note.is_empty(), "{}", row.name);
        assert!(row.models.iter().all(|model| *model != row.name), "{} twice", row.name);
    }
}

/// Cases in which random calls once failed.
#[test]
fn fixed_cases() {
    let call = |name: &str, parameters: Value| {
        (name.to_owned(), parameters.as_object().cloned().unwrap_or_default())
    };
    let step3 = "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"weather\">\n";
    let table: &[(String, Vec<Call>)] = &[
        // Text of a truncated call is not a call.
        (format!("{step3}<steptml:parameter name=\"days\">'\n[now()]Zürich</st"), vec![]),
        ("<｜DSML｜invoke name=\"a2\">\n<｜DSML｜parameter name=\"q\">x\n[now()] x".to_owned(), vec![]),
        // A suffix of all tags.
        (
            "<tool_call:opensource>a2\n<arg_key:opensource>q</arg_key:opensource>\n\
             <arg_value:opensource></arg_value:opensource>\n</tool_call:opensource>"
                .to_owned(),
            vec![call("a2", json!({"q": ""}))],
        ),
        // The first call fits two syntaxes, the second one of them.
        (
            "<function name=\"now\"></function><function name=\"a2\"><param name=\"q\">x</param></function>"
                .to_owned(),
            vec![call("now", json!({})), call("a2", json!({"q": "x"}))],
        ),
        (
            "<function name=\"a2\"><parameter name=\"q\">\nx\n</parameter></function>".to_owned(),
            vec![call("a2", json!({"q": "x"}))],
        ),
    ];
    for (text, expected) in table {
        for has_tools in [false, true] {
            let mut reader = Reader::new(CallFormat::Auto, has_tools);
            for pieces in [vec![text.as_bytes()], text.as_bytes().chunks(1).collect()] {
                let found: Vec<_> = reader.read(pieces).into_iter().map(|found| found.call).collect();
                assert_eq!(found, *expected, "{text}");
            }
        }
    }
}
