//! Records and calls validated against rules, and records deserialized into a type.

use serde::Deserialize;
use tokenline_core::{Code, Options, Validate, ValidateCall, Violation, json};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

use crate::common::{at_every_cut, call, chunk, parser, text};
use crate::{DONE, codes};

struct Weather;

impl ValidateCall for Weather {
    fn validate_call(&self, name: &str, parameters: json::Value<'_>) -> Result<(), Box<Violation>> {
        let refuse = |code, path: &str| {
            Err(Box::new(Violation::new(code, parameters.range().start, "no").with_instance_path(path)))
        };
        match (name, parameters.get("city").and_then(json::Value::as_str)) {
            ("weather", Some(_)) => Ok(()),
            ("weather", None) => refuse(Code::InvalidParameters, "/city"),
            _ => refuse(Code::UnknownTool, ""),
        }
    }
}

impl Validate for Weather {
    fn validate(&self, value: json::Value<'_>) -> Result<(), Box<Violation>> {
        match value.get("city") {
            Some(_) => Ok(()),
            None => Err(Box::new(Violation::new(Code::SchemaViolation, 0, "no city"))),
        }
    }
}

#[test]
fn calls_and_records_are_validated() {
    let wire = [
        text("{\"name\":\"weather\",\"parameters\":{}}\n{\"name\":\"weather\",\"parameters\":{\"city\":\"Bari\"}}\n{\"a\":1}\n"),
        call("a", "weather", "{\"city\":\"Oslo\"}"),
        call("b", "weather", "{}"),
        call("c", "time", "{}"),
        chunk("{}", "stop"),
    ]
    .concat();
    let with_tools = parser(TextMode::ToolCalls).with_options(|options| options.tools(Weather));
    let seen = at_every_cut(with_tools, wire.as_bytes());
    let paths: Vec<_> = seen
        .report
        .diagnostics()
        .iter()
        .map(|diagnostic| (diagnostic.code, diagnostic.instance_path.as_deref()))
        .collect();
    assert_eq!(
        paths,
        [
            (Code::InvalidParameters, Some("/parameters/city")),
            (Code::MissingField, Some("")),
            (Code::InvalidParameters, Some("/parameters/city")),
            (Code::UnknownTool, Some("/name")),
        ]
    );
    assert_eq!(seen.report.tool_calls(), 2);

    let wire = [text("{\"city\":1}\n{\"town\":2}\n{\"city\":3}\n"), chunk("{}", "stop")].concat();
    let seen = at_every_cut(
        parser(TextMode::Records).with_options(|options| options.validator(Weather)),
        wire.as_bytes(),
    );
    assert_eq!((codes(&seen), seen.report.records()), (vec![Code::SchemaViolation], 2));
}

#[test]
fn records_are_deserialized_into_a_type() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Item {
        a: u8,
    }
    let mut parser = ResponseParser::<Item>::new(Provider::OpenAiChat, Options::lenient());
    parser.push([text("{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":3}\n"), DONE.to_owned()].concat().as_bytes());
    parser.finish();
    let mut items = Vec::new();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Record { record, .. } => items.push(record.value),
            ResponseEvent::Rejected { diagnostic, .. } => assert_eq!(diagnostic.code, Code::SchemaViolation),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(items, [Item { a: 1 }, Item { a: 3 }]);
    assert_eq!(parser.report().rejected(), 1);
}

#[test]
fn the_syntax_of_records_and_calls_in_the_text_is_repaired_on_request() {
    let wire = |reason: &str| {
        let pieces = [
            text("{\"city\":\"Oslo\",}\n<tool_call>{\"name\":\"weather\",\"arguments\":"),
            text("{\"city\":\"Bari\",}}</tool_call>\n{'city':'Rome'}\n"),
            chunk("{\"content\":\"{\\\"city\\\":\\\"Pisa\\\",\\\"days\\\":[\\\"x\\\"\"}", reason),
        ];
        pieces.concat() + DONE
    };
    let parser = |repairs: bool| {
        parser(TextMode::RecordsAndToolCalls).with_options(|options| {
            let options = options.tools(Weather).validator(Weather);
            if repairs { options.repair_syntax() } else { options }
        })
    };
    let seen = at_every_cut(parser(false), wire("stop").as_bytes());
    assert_eq!((seen.report.records(), seen.report.tool_calls(), seen.report.rejected()), (0, 0, 4));
    let seen = at_every_cut(parser(true), wire("stop").as_bytes());
    let report = &seen.report;
    assert_eq!((report.records(), report.tool_calls(), report.repaired()), (2, 1, 3), "{:?}", seen.summary());
    assert_eq!(report.rejected(), 1, "no closers where calls may be: {:?}", seen.summary());
    // Records only: the provider says that the model ended by itself.
    let records = |reason: &str| {
        let parser = self::parser(TextMode::Records)
            .with_options(|options| options.validator(Weather).repair_syntax());
        let cut =
            chunk("{\"content\":\"{\\\"city\\\":\\\"Pisa\\\",\\\"days\\\":[\\\"x\\\"\"}", reason) + DONE;
        at_every_cut(parser, cut.as_bytes()).report.records()
    };
    assert_eq!((records("stop"), records("length")), (1, 0));
}

#[test]
fn nothing_is_repaired_that_was_lost_or_may_be_truncated() {
    let records = || parser(TextMode::Records).with_options(ResponseOptions::repair_syntax);
    // A part of the record was in an event that cannot be read.
    for parts in [["{\"a\":1,", "}\n"], ["{\"a\":\"x", "y\",}\n"], ["{\"a\":1}\n", ",\"b\":2,}\n"]] {
        let wire =
            text(parts[0]) + "data: {\"choices\": [oh no\n\n" + &chunk(&content(parts[1]), "stop") + DONE;
        let seen = at_every_cut(records(), wire.as_bytes());
        assert_eq!(seen.report.repaired(), 0, "{parts:?}: {:?}", seen.summary());
    }
    // A call without proof that it is complete.
    let call = content("{\"name\":\"weather\",\"parameters\":{\"city\":\"Oslo\",}}");
    for (end, calls) in [("stop", 1), ("length", 0)] {
        let parser = parser(TextMode::ToolCalls).with_options(ResponseOptions::repair_syntax);
        let seen = at_every_cut(parser, (chunk(&call, end) + DONE).as_bytes());
        assert_eq!(seen.report.tool_calls(), calls, "{end}: {:?}", seen.summary());
    }
    // The end of the stream does not say that the model ended by itself.
    let open = text("{\"city\":\"Pisa\",\"days\":[\"x\"") + DONE;
    let parser = records().with_options(|options| options.validator(Weather));
    assert_eq!(at_every_cut(parser, open.as_bytes()).report.records(), 0);
}

#[test]
fn the_syntax_of_native_calls_is_repaired_on_request() {
    let arguments = |text: &str| {
        let call = serde_json::json!({ "index": 0, "function": { "arguments": text } });
        serde_json::json!({ "tool_calls": [call] }).to_string()
    };
    let begin = r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"weather","arguments":""}}]}"#;
    let call = |parts: [&str; 2], between: &str, end: &str| {
        let parts = parts.map(arguments);
        let wire = chunk(begin, "") + &chunk(&parts[0], "") + between + &chunk(&parts[1], end) + DONE;
        let parser =
            parser(TextMode::NativeCalls).with_options(|options| options.tools(Weather).repair_syntax());
        at_every_cut(parser, wire.as_bytes())
    };
    let seen = call(["{'city':", "'Oslo'}"], "", "tool_calls");
    assert_eq!((seen.report.tool_calls(), seen.report.repaired()), (1, 1), "{:?}", seen.summary());
    // Nothing proves that it is complete, or all of it.
    let lost = "data: {\"choices\": [oh no\n\n";
    for (parts, between, end) in [
        (["{\"city\":\"Oslo\",", "}"], "", "length"),
        (["{\"city\":", "[\"Oslo\""], "", "tool_calls"),
        (["{\"city\":\"Oslo\",", "}"], lost, "tool_calls"),
        (["{\"city\":\"Oslo\",,", "\"days\":3}"], "", "tool_calls"),
    ] {
        let seen = call(parts, between, end);
        assert_eq!(seen.report.tool_calls(), 0, "{parts:?}: {:?}", seen.summary());
        assert!(seen.report.rejected() > 0, "{parts:?}: {:?}", seen.summary());
    }
}

fn content(text: &str) -> String {
    serde_json::json!({ "content": text }).to_string()
}

#[test]
fn without_tools_no_edit_that_changes_a_value_is_made_beside_calls() {
    let parser = || {
        parser(TextMode::RecordsAndToolCalls).with_options(|options| options.tools(Weather).repair_syntax())
    };
    let seen = at_every_cut(parser(), (text("{'town':'Rome'}\n{\"town\":\"Bari\",}\n") + DONE).as_bytes());
    assert_eq!((seen.report.records(), seen.report.rejected()), (1, 1), "{:?}", seen.summary());
}
