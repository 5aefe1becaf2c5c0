//! Inputs that fuzzing found: rows as a user may write them, and texts in which readers went wrong.

use tokenline_core::call_format::{CallReader, CallStep, CallSyntax, Opener, Reads, ToolCallFormat};
use tokenline_core::{
    CallFormat, CompletedBy, Event, JsonlParser, Limits, Options, RecordDecoder, Recovery, Span,
};

use crate::driver::{Seen, at_every_split, found};
use crate::random_calls::Tools;

/// A format of one row, which is written as JSON.
fn own(row: &str) -> CallFormat {
    CallFormat::from(serde_json::from_str::<CallSyntax>(row).expect("a row"))
}

#[test]
fn an_unknown_tag_after_a_message() {
    let format = CallFormat::from_name("harmony").expect("a row");
    let text = "<|channel|>commentary to=functions.weather<|message|>{\"city\":\"Paris\"}<br> and more";
    let seen = at_every_split(&format.detector(), text);
    let [Seen::Call { written, is_confirmed: true, .. }] = &seen[..] else { panic!("{seen:?}") };
    assert!(written.ends_with("\"Paris\"}"), "{written}");
}

#[test]
fn several_markers_may_end_a_name() {
    let format = own(
        r#"{"name": "own", "reads": ["messages"], "call": [["<m>", "</m>"]], "name_end": [":", "</a:b>"]}"#,
    );
    let call = r#"{"name":"weather","parameters":{"city":"Paris"}}"#;
    assert_eq!(found(&format, "<m>to=weather</a:b>{\"city\":\"Paris\"}</m>"), [call]);

    let format = own(r#"{"name": "own", "reads": ["named"], "call": [["<f=", "</f>"]], "name_end": [">"],
            "parameter": {"tags": [["<p=", "</p>"]], "key_end": [":", "</a:b>"]}}"#);
    assert_eq!(found(&format, "<f=weather><p=city</a:b>Paris</p></f>"), [call]);

    let format =
        own(r#"{"name": "own", "reads": ["named"], "call": [["<f>", "</f>"]], "name_end": ["\\", "a"]}"#);
    assert_eq!(found(&format, "<f>wea\\{}</f>").len(), 0);
    let format = own(r#"{"name": "own", "reads": ["named"], "call": [["<<", ">>"]],
            "parameter": {"tags": [["|", ";"]], "key_end": ["="]}}"#);
    assert_eq!(found(&format, "<<weather|city=Paris;>>"), [call]);
}

#[test]
fn a_name_above_its_arguments_without_markers() {
    let format = own(r#"{"name": "own", "reads": ["named_line"], "name_end": ["\n"]}"#);
    let call = r#"{"name":"weather","parameters":{"city":"Paris"}}"#;
    assert_eq!(found(&format, "weather\n{\"city\":\"Paris\"}\nThere."), [call]);
}

/// `name({...})` where the syntax has the name and its arguments.
#[test]
fn arguments_in_parentheses() {
    let glm = CallFormat::from_name("glm").expect("a row");
    let call = r#"{"name":"weather","parameters":{"city": "Paris (FR)"}}"#;
    let now = r#"{"name":"now","parameters":{}}"#;
    let text = "<tool_call>weather({\"city\": \"Paris (FR)\"})</tool_call>\n<tool_call> now ( ) </tool_call>";
    assert_eq!(found(&glm, text), [call, now]);
    let text = "<tool_call>weather({\"city\": 1}]</tool_call><tool_call>now()</tool_call>";
    assert_eq!(found(&glm, text), ["trailing_data at 30: expected `)` after the arguments, found `]`", now]);
    assert_eq!(found(&glm, "<tool_call>now("), ["truncated at 15: the text ended inside a tool call"]);
    assert!(found(&glm, "Write <tool_call>name(x, y)</tool_call>.").is_empty());

    let format = CallFormat::from_name("calling_tool").expect("a row");
    let text = "I look. [Calling tool: weather({\"city\": \"Paris (FR)\"})] [Calling tool: now()]";
    assert_eq!(found(&format, text), [call, now]);
    assert!(found(&format, "[Calling tool: a search]").is_empty());
}

#[test]
fn a_name_and_its_arguments_after_words() {
    let format = CallFormat::from_name("react").expect("a row");
    let call = r#"{"name":"weather","parameters":{"city": "Paris"}}"#;
    for text in [
        "Thought: I look.\nAction: weather\nAction Input: {\"city\": \"Paris\"}\nObservation: 20 degrees",
        "Action: weather \r\nAction Input: ```json\n{\"city\": \"Paris\"}\n```\nObservation:",
    ] {
        assert_eq!(found(&format, text), [call], "{text}");
    }
    for text in ["Action: none\nSo I am done.", "Action: the action to take\nAction Input: its input"] {
        assert!(found(&format, text).is_empty(), "{text}");
    }
    assert_eq!(
        found(&format, "Action: weather\nAction Input: Paris\n"),
        ["invalid_parameters at 30: the arguments must be an object"]
    );
    assert_eq!(
        found(&format, "Action: weather\nAction Input: {\"city\": \"Paris\"}, \"days\": 3}\n"),
        ["trailing_data at 49: the arguments are balanced, but go on with `\"`"]
    );
    let format = CallFormat::from_name("qwen-agent").expect("a row");
    let text = "✿FUNCTION✿: weather\n✿ARGS✿: {\"city\": \"Paris\"}\n✿RESULT✿: 20\n✿RETURN✿: It is warm.";
    assert_eq!(found(&format, text), [call]);
}

/// The tag of the call has taken that of the first parameter with it.
#[test]
fn a_first_element_without_its_opening_tag() {
    let format = CallFormat::from_name("minimax-m3").expect("a row");
    let (open, close) = ("]<]minimax[>[<tool_call>\n", "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>");
    let invoke = "]<]minimax[>[<invoke name=\"weather\">";
    let day = "]<]minimax[>[<day>1]<]minimax[>[</day>";
    let text = format!("{open}{invoke}]<]minimax[>[Paris]<]minimax[>[</city>{day}{close}");
    assert_eq!(found(&format, &text), [r#"{"name":"weather","parameters":{"city":"Paris","day":"1"}}"#]);
    for rest in ["", day] {
        let text = format!("{open}{invoke}]<]minimax[>[Paris{rest}{close}");
        let at = open.len() + invoke.len() + "]<]minimax[>[Paris".len();
        let fault =
            format!("malformed_json at {at}: expected the closing tag of a text without an opening one");
        assert_eq!(found(&format, &text), [fault]);
    }
}

/// Forms that models write in place of their family's own.
#[test]
fn keys_and_values_with_slips() {
    let format = CallFormat::from_name("gemma-4").expect("a row");
    let text = "<|tool_call>call:run{code:<|\"|>\"\"\"\nDoc.\n\"\"\"<|\"|>,refs=[\"ds_1\"],note = \"See \\\"Frauds\\\", 2024\",'k'=1}<tool_call|>";
    assert_eq!(
        found(&format, text),
        [
            r#"{"name":"run","parameters":{"code":"\"\"\"\nDoc.\n\"\"\"","refs":["ds_1"],"note":"See \"Frauds\", 2024","k":1}}"#
        ]
    );
}

#[test]
fn rows_that_no_one_checked() {
    let mut row = CallSyntax::default();
    row.reads = vec![Reads::Named];
    row.call = vec![("<<".to_owned(), ">>".to_owned())];
    row.name_end = vec![String::new(), ":".to_owned()];
    let call = r#"{"name":"weather","parameters":{}}"#;
    assert_eq!(found(&CallFormat::from(row), "<<weather: {}>>"), [call]);

    let mut row = CallSyntax::default();
    row.reads = vec![Reads::Messages];
    row.block = vec![("<m>".to_owned(), String::new())];
    row.name_end = vec![String::new()];
    assert!(found(&CallFormat::from(row), "<m>to=weather {}").is_empty());
}

/// A run of no calls.
#[derive(Debug)]
struct Nothing;

impl ToolCallFormat for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }

    fn openers(&self) -> Vec<Opener> {
        vec!["@".into()]
    }

    fn start(&self, _: &Limits) -> Box<dyn CallReader> {
        Box::new(Self)
    }
}

impl CallReader for Nothing {
    fn read(&mut self, _: &str, _: bool) -> CallStep {
        CallStep::Done { end: 0 }
    }
}

#[test]
fn a_run_of_no_calls_is_text() {
    let mut parser = JsonlParser::new(Options::lenient().calls(CallFormat::custom(Nothing)));
    parser.push("Write to me@example.com.\n{\"a\":1}\n");
    parser.finish();
    let Some(Event::Note(note)) = parser.next_event() else { panic!() };
    assert_eq!(note.span, Span::new(0, 24));
}

/// At the end of a longer text, the tag may be closed, and the call is reasoning.
#[test]
fn a_call_after_a_think_tag_that_is_never_closed_says_so() {
    let mut parser = JsonlParser::new(Options::lenient().calls(CallFormat::Auto));
    parser.push("Let me see.\n<think>\n<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>\n");
    while let Some(event) = parser.next_event() {
        assert!(!matches!(event, Event::Record(_)), "{event:?}");
    }
    parser.finish();
    let record = loop {
        if let Event::Record(record) = parser.next_event().expect("a record") {
            break record.map(|_| ());
        }
    };
    assert_eq!(record.completion, CompletedBy::EndOfInput);
    let recovered: Vec<_> = record.recovered.iter().collect();
    assert_eq!(recovered, [Recovery::CallFormat, Recovery::ThinkUnclosed]);
}

#[test]
fn a_closer_that_does_not_begin_with_the_marker_of_tags() {
    let format =
        own(r#"{"name": "own", "reads": ["elements"], "call": [["<<", "<|close|>"]], "name_end": [">"]}"#);
    assert_eq!(found(&format, "<<now><|close|>"), [r#"{"name":"now","parameters":{}}"#]);
}

/// The calls that are certain at the end of this text.
fn confirmed(text: &str) -> Vec<String> {
    let mut parser = JsonlParser::new(Options::lenient().calls(CallFormat::Auto));
    parser.push(text.to_owned());
    parser.finish();
    let mut confirmed = Vec::new();
    while let Some(event) = parser.next_event() {
        match event {
            Event::Record(record) if record.completion != CompletedBy::EndOfInput => {
                confirmed.push(record.value.raw().to_owned());
            }
            _ => {}
        }
    }
    confirmed
}

/// A longer text has none of these calls, so at the end of this one they are not certain.
#[test]
fn what_only_the_end_of_the_text_shows_is_not_certain() {
    let inner = "{\"name\":\"now\",\"arguments\":{}}";
    for (text, rest) in [
        // A string without its delimiter.
        ("<|tool_call>call:weather{city:<|\"|>Paris}<tool_call|>".to_owned(), "<|\"|>}<tool_call|>"),
        // A line after a malformed call, and in one.
        (format!("<tool_call>\n{{\"name\":\"a\n{inner}\n"), "</tool_call>"),
        // A line in a header.
        (format!("<|start|>{inner}{inner}"), " to=a<|message|>{}<|call|>"),
    ] {
        assert_eq!(confirmed(&text), [""; 0], "{text}");
        let whole = confirmed(&(text + rest));
        assert!(!whole.contains(&inner.to_owned()), "{whole:?}");
    }
}

/// The second line is read twice: in the array, and after it.
#[test]
fn no_text_is_classified_twice() {
    let mut parser = JsonlParser::new(Options::lenient().text(true));
    parser.push("[{\"name\": \"weather\\:} -> function\n[{\"a\": 1}]\n[{\"name\": \"wNNN");
    parser.finish();
    let mut end = 0;
    while let Some(event) = parser.next_event() {
        let span = match event {
            Event::Text(span) | Event::Markup(span) => span,
            Event::Record(record) => record.span,
            _ => continue,
        };
        assert!(end <= span.start, "{span:?}");
        end = span.end;
    }
}

/// Cuts a text between the name and `end`.
fn nothing_is_certain_before(text: &str, end: &str, format: &CallFormat) {
    for cut in text.find("weather").unwrap()..text.find(end).unwrap() {
        let mut parser = JsonlParser::new(Options::lenient().calls(format.clone()));
        parser.push(&text[..cut]);
        parser.finish();
        while let Some(event) = parser.next_event() {
            let Event::Record(record) = event else { continue };
            assert_ne!(record.completion, CompletedBy::Text, "{:?}", &text[..cut]);
        }
    }
}

/// A call whose opener begins like the tag of a parameter, and like the end of a call.
#[test]
fn an_opener_at_the_end_may_become_a_tag() {
    let format =
        own(r#"{"name": "own", "reads": ["named"], "block": [["<run>", "</run>"]], "call": [["<", "</"]],
            "name_end": [">"], "parameter": {"tags": [["<p=", "</p>"]], "key_end": [">"]}}"#);
    let text = "<run><weather><p=city>Paris</p><p=day>1</p></</run>";
    nothing_is_certain_before(text, "</</run>", &format);

    // The same for the end of a call.
    let format =
        own(r#"{"name": "own", "reads": ["named"], "block": [["<run>", "</run>"]], "call": [["|", "<"]],
            "name_end": [">"], "parameter": {"tags": [["<p=", "</p>"]], "key_end": [">"]}}"#);
    let text = "<run>|weather><p=city>Paris</p><p=day>1</p><</run>";
    nothing_is_certain_before(text, "<</run>", &format);

    // The same after the name.
    let format =
        own(r#"{"name": "own", "reads": ["named"], "block": [["<run>", "</run>"]], "call": [["|", "<"]],
            "name_end": ["<s>"], "parameter": {"tags": [["<p=", "</p>"]], "key_end": [">"]}}"#);
    let text = "<run>|weather<s><p=city>Paris</p><</run>";
    nothing_is_certain_before(text, "<</run>", &format);
}

/// The limit splits a character that begins like an opener.
#[test]
fn text_ends_before_a_character_that_the_limit_splits() {
    let format = own(r#"{"name": "own", "reads": ["named"], "call": [["｜<", ">"]]}"#);
    for line_bytes in 6..12 {
        let limits = Limits { line_bytes, ..Limits::default() };
        let mut parser = JsonlParser::new(Options::lenient().text(true).calls(format.clone()).limits(limits));
        let text = "ab｜｜｜｜｜｜";
        parser.push(text);
        parser.finish();
        while let Some(event) = parser.next_event() {
            let Event::Text(span) = event else { continue };
            assert!(text.is_char_boundary(span.end as usize), "{span:?} with a limit of {line_bytes}");
        }
    }
}

/// Beyond the limit on lines, thinking after text is reasoning without waiting for its end.
#[test]
fn a_think_tag_is_not_reasoning() {
    let limits = Limits { line_bytes: 20, ..Limits::default() };
    let mut parser = JsonlParser::new(Options::lenient().text(true).limits(limits));
    for byte in "Text.\n<think>0123456789abcdef</think>".chars() {
        parser.push(byte.to_string());
        while let Some(event) = parser.next_event() {
            if let Event::Reasoning(span) = event {
                assert!(span.start >= 13, "{span:?}");
            }
        }
    }
}

#[test]
fn the_header_of_a_message_takes_a_line() {
    let format = CallFormat::from_name("harmony").expect("a format");
    for text in [
        "<|channel|>commentary\n to=functions.now<|message|>{}<|call|>",
        "<|channel|>commentary to=functions.now\n<|message|>{}<|call|>",
    ] {
        assert!(found(&format, text).is_empty(), "{text:?}");
    }
}

fn line_of_reject<T, D>(event: &Event<T, D>) -> Option<u64> {
    match event {
        Event::Rejected(diagnostic) => Some(diagnostic.line),
        _ => None,
    }
}

/// The lines of the rejects in chunks of this length.
fn lines_of_rejects(format: &CallFormat, text: &str, len: usize) -> Vec<u64> {
    let options = Options::lenient().calls(format.clone()).items("/a").expect("a pointer");
    let mut decoder = RecordDecoder::new(options).with_tools(Tools);
    let mut lines = Vec::new();
    for mut chunk in text.as_bytes().chunks(len) {
        loop {
            let decoded = decoder.decode(chunk);
            chunk = &chunk[decoded.consumed..];
            let Some(event) = decoded.event else { break };
            lines.extend(line_of_reject(&event));
        }
    }
    while let Some(event) = decoder.finish() {
        lines.extend(line_of_reject(&event));
    }
    lines
}

#[test]
fn a_reject_before_a_call_is_neither_lost_nor_late() {
    let text = "{\"name\":\"now\",\"arguments\":{}}call:a.b{x:<|\"|>a\nb<|\"|>}";
    assert_eq!(lines_of_rejects(&CallFormat::Auto, text, text.len()), [1]);
    assert_eq!(lines_of_rejects(&CallFormat::Auto, text, 1), [1]);

    let text = concat!(
        "{\"b\":1}{\"b\":1}<tool_call>[{\"name\":\"now\",\"arguments\":{}}]</tool_call>\n",
        "</tool_call>{\"b\":1}{\"b\":1}"
    );
    assert_eq!(lines_of_rejects(&CallFormat::Hermes, text, text.len()), [1, 1, 2, 2]);
    assert_eq!(lines_of_rejects(&CallFormat::Hermes, text, 1), [1, 1, 2, 2]);
}
