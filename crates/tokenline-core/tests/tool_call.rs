//! Records read as tool calls: all known keys, and the messages for invalid calls.

use tokenline_core::json::{Kind, Raw, Value};
use tokenline_core::{
    Code, Coercion, Event, JsonlParser, Options, RejectedCall, ToolCall, ValidateCall, Violation,
};

/// The tool `weather` takes a `city` that is a string, `now` takes anything.
struct Tools;

impl ValidateCall for Tools {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        if let Some(violation) = Violation::duplicate_key(parameters) {
            return Err(violation);
        }
        let city = parameters.get("city");
        match name {
            "now" => Ok(()),
            "weather" if city.is_some_and(|city| city.kind() == Kind::String) => Ok(()),
            "weather" => {
                let at = city.unwrap_or(parameters).range().start;
                let path = if city.is_some() { "/city" } else { "" };
                let violation = Violation::new(Code::InvalidParameters, at, "a city is a string");
                Err(Box::new(violation.with_instance_path(path)))
            }
            _ => Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, "no such tool"))),
        }
    }

    fn coerce(&self, _: &str, parameters: Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
        let number = parameters.get("city")?.as_number()?;
        let changed = Raw::from(serde_json::json!({"city": number.as_str()}));
        Some((changed, vec![Coercion::new("/city", Kind::Number, Kind::String)]))
    }
}

/// Without coercion.
struct Unbending;

impl ValidateCall for Unbending {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        Tools.validate_call(name, parameters)
    }
}

fn calls(line: &str, tools: Option<&dyn ValidateCall>) -> Vec<Result<ToolCall, Box<RejectedCall>>> {
    let mut parser = JsonlParser::new(Options::lenient());
    parser.push(format!("{line}\n"));
    let Some(Event::Record(record)) = parser.next_event() else { panic!("a record: {line}") };
    ToolCall::all_from_record(&record, tools).collect()
}

fn summary(call: &Result<ToolCall, Box<RejectedCall>>) -> String {
    match call {
        Ok(call) => serde_json::to_string(call).unwrap(),
        Err(call) => {
            let path = call.diagnostic.instance_path.as_deref().unwrap_or_default();
            format!(
                "{} {path} at {}: {}",
                call.diagnostic.code, call.diagnostic.column, call.diagnostic.message
            )
        }
    }
}

fn summaries(line: &str, tools: Option<&dyn ValidateCall>) -> Vec<String> {
    calls(line, tools).iter().map(summary).collect()
}

#[test]
fn keys_of_all_kinds() {
    for name in ["name", "tool", "function", "tool_name"] {
        for arguments in ["parameters", "arguments", "args", "input"] {
            for id in ["call_id", "id", "tool_call_id"] {
                let line = format!(r#"{{"{id}":"c1","{arguments}":{{"x":1}},"{name}":"now"}}"#);
                let expected = [r#"{"name":"now","parameters":{"x":1},"call_id":"c1"}"#];
                assert_eq!(summaries(&line, None), expected, "{line}");
                assert_eq!(summaries(&line, Some(&Tools)), expected, "{line}");
                let line = format!(r#"{{"{name}":"now","{arguments}":"{{\"x\": \"\\u00e9\"}}"}}"#);
                assert_eq!(summaries(&line, Some(&Tools)), [r#"{"name":"now","parameters":{"x":"é"}}"#]);
            }
        }
    }
    for (line, expected) in [
        // OpenAI's.
        (
            r#"{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"}}"#,
            r#"{"name":"now","parameters":{},"call_id":"c1"}"#,
        ),
        (
            r#"{"function":{"name":"now","args":{},"id":"c2"}}"#,
            r#"{"name":"now","parameters":{},"call_id":"c2"}"#,
        ),
        // The first key that is present and not null counts.
        (
            r#"{"tool_name":"d","function":"c","tool":"b","name":"now","args":{}}"#,
            r#"{"name":"now","parameters":{}}"#,
        ),
        (r#"{"name":null,"tool":"now","parameters":null,"input":{}}"#, r#"{"name":"now","parameters":{}}"#),
        (
            r#"{"name":"now","args":{},"tool_call_id":"c3","id":"c2","call_id":null}"#,
            r#"{"name":"now","parameters":{},"call_id":"c2"}"#,
        ),
        (r#"{"name":"now","args":{},"id":7}"#, r#"{"name":"now","parameters":{},"call_id":"7"}"#),
        // Two keys with the same meaning.
        (
            r#"{"name":"now","arguments":"{\"x\": [1]}","parameters":{"x":[1]}}"#,
            r#"{"name":"now","parameters":{"x":[1]}}"#,
        ),
        (
            r#"{"name":"now","parameters":{"x":1},"error":"too late"}"#,
            r#"{"name":"now","parameters":{"x":1},"error":"too late"}"#,
        ),
    ] {
        assert_eq!(summaries(line, Some(&Tools)), [expected], "{line}");
    }
}

#[test]
fn faults_use_the_keys_of_the_record() {
    for (line, expected) in [
        (r#"{"parameters":{}}"#, "missing_field  at 1: a tool call needs a `name`"),
        (r#"{"tool":7,"args":{}}"#, "missing_field /tool at 9: the `tool` must be a string, found number"),
        (r#"{"function":"","args":{}}"#, "missing_field /function at 13: the `function` must not be empty"),
        (r#"{"name":null,"args":{}}"#, "missing_field /name at 9: the `name` must be a string, found null"),
        (r#"{"function":{"arguments":{}}}"#, "missing_field /function at 13: a tool call needs a `name`"),
        (
            r#"{"function":{"name":[],"arguments":{}}}"#,
            "missing_field /function/name at 21: the `name` must be a string, found array",
        ),
        (r#"{"tool":"wether","args":{}}"#, "unknown_tool /tool at 9: no such tool"),
        (r#"{"function":{"name":"wether","args":{}}}"#, "unknown_tool /function/name at 21: no such tool"),
        // Arguments may stand under a key that is not known, and none are made up.
        (r#"{"name":"now","zone":"UTC"}"#, "invalid_parameters  at 1: a tool call needs `parameters`"),
        (
            r#"{"function":{"name":"now","kwargs":{}}}"#,
            "invalid_parameters /function at 13: a tool call needs `parameters`",
        ),
        (
            r#"{"name":"now","args":null,"zone":"UTC"}"#,
            "invalid_parameters /args at 22: the `args` must be an object, found null",
        ),
        (r#"{"name":"weather"}"#, "invalid_parameters /parameters at 1: a city is a string"),
        (r#"{"name":"now","error":"no idea"}"#, "invalid_parameters  at 1: a tool call needs `parameters`"),
        (
            r#"{"name":"now","input":[1]}"#,
            "invalid_parameters /input at 23: the `input` must be an object, found array",
        ),
        (
            r#"{"name":"now","arguments":"Paris"}"#,
            "invalid_parameters /arguments at 27: the `arguments` are a string that is not JSON: expected a value, found a letter",
        ),
        (
            r#"{"name":"now","arguments":"[1]"}"#,
            "invalid_parameters /arguments at 27: the `arguments` are a string that must hold an object, found array",
        ),
        (
            r#"{"name":"now","args":{"x":1},"input":{"x":2}}"#,
            "invalid_parameters /input at 38: the `input` differ from the `args`: which are meant is not clear",
        ),
        (
            r#"{"name":"weather","arguments":{"city":7}}"#,
            "invalid_parameters /arguments/city at 39: a city is a string",
        ),
        (r#"{"name":"weather","args":{}}"#, "invalid_parameters /args at 26: a city is a string"),
        // A fault inside a string has the string's position.
        (
            r#"{"function":{"name":"weather","arguments":"{\"city\":7}"}}"#,
            "invalid_parameters /function/arguments/city at 43: a city is a string",
        ),
        (
            r#"{"name":"now","arguments":"{\"x\":1,\"x\":2}"}"#,
            "duplicate_key /arguments/x at 27: an object has two members of this name",
        ),
        (
            r#"{"name":"now","tool":1,"tool":2,"args":{}}"#,
            "duplicate_key /tool at 24: an object has two members of this name",
        ),
        // A name that calls do not have may be private.
        (
            r#"{"name":"now","anna":{"x":1,"x":2},"args":{}}"#,
            "duplicate_key /* at 29: an object has two members of this name",
        ),
    ] {
        assert_eq!(summaries(line, Some(&Unbending)), [expected], "{line}");
    }
    let rejected = calls(r#"{"function":{"name":"wether","args":{}},"id":"c1"}"#, Some(&Tools));
    let Err(call) = &rejected[0] else { panic!("{rejected:?}") };
    assert_eq!((call.name.as_deref(), call.call_id.as_deref()), (Some("wether"), Some("c1")));
}

#[test]
fn no_arguments_are_an_empty_object_of_a_defined_tool() {
    for line in [
        r#"{"name":"now"}"#,
        r#"{"name":"now","id":"c1","type":"function"}"#,
        r#"{"function":{"name":"now"}}"#,
        r#"{"name":"now","args":null}"#,
        r#"{"name":"now","arguments":""}"#,
        r#"{"tool_calls":[{"name":"now","arguments":" "}]}"#,
    ] {
        let found = calls(line, Some(&Unbending));
        let [Ok(call)] = &found[..] else { panic!("{line}: {found:?}") };
        assert_eq!((call.name.as_str(), call.parameters.as_str()), ("now", "{}"), "{line}");
        let found = calls(line, None);
        let [Err(call)] = &found[..] else { panic!("{line}: {found:?}") };
        assert_eq!(call.diagnostic.code, Code::InvalidParameters, "{line}");
    }
}

#[test]
fn a_tool_definition_is_not_a_call() {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;
    for line in [
        format!(r#"{{"name":"now","description":"d","parameters":{schema}}}"#),
        format!(
            r#"{{"type":"function","function":{{"name":"now","description":"d","parameters":{schema}}}}}"#
        ),
    ] {
        let seen = calls(&line, Some(&Tools));
        let Err(rejected) = &seen[0] else { panic!("{line}") };
        assert_eq!(rejected.diagnostic.code, Code::InvalidParameters);
        assert!(rejected.diagnostic.message.contains("does not call it"), "{rejected:?}");
    }
    // A tool may take a schema as a parameter.
    let line = format!(r#"{{"name":"now","parameters":{schema}}}"#);
    assert!(calls(&line, Some(&Tools))[0].is_ok());
}

#[test]
fn several_calls_in_one_record() {
    let line = concat!(
        r#"{"content":null,"tool_calls":["#,
        r#"{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}},"#,
        r#"{"id":"c2","type":"function","function":{"name":"weather","arguments":"{\"city\":"}},"#,
        r#"5,{"tool":"now","args":{}},{"tool":"then","args":{}}]}"#,
    );
    assert_eq!(
        summaries(line, Some(&Tools)),
        [
            r#"{"name":"weather","parameters":{"city":"Paris"},"call_id":"c1"}"#,
            "invalid_parameters /tool_calls/1/function/arguments at 196: the `arguments` are a string that is not JSON: expected a value, found the end of the input",
            "not_an_object /tool_calls/2 at 211: a tool call must be an object, found number",
            r#"{"name":"now","parameters":{}}"#,
            "unknown_tool /tool_calls/4/tool at 246: no such tool",
        ]
    );
    let rejected = calls(line, Some(&Tools)).remove(1).unwrap_err();
    assert_eq!((rejected.name.as_deref(), rejected.call_id.as_deref()), (Some("weather"), Some("c2")));
    assert!(rejected.received.starts_with(r#"{"id":"c2""#) && rejected.received.ends_with("}}"));

    assert!(calls(r#"{"tool_calls":[]}"#, Some(&Tools)).is_empty());
    // With a name it is a call itself.
    let line = r#"{"name":"now","parameters":{},"tool_calls":[]}"#;
    assert_eq!(summaries(line, None), [r#"{"name":"now","parameters":{}}"#]);
}

#[test]
fn a_repeated_name_affects_only_its_own_call() {
    let line = r#"{"tool_calls":[{"name":"now","args":{}},{"name":"now","args":{"x":1,"x":2}},{"name":"now","args":{"y":{"z":1,"z":2}}},{"name":"weather","args":{"city":1}}]}"#;
    assert_eq!(
        summaries(line, Some(&Unbending)),
        [
            r#"{"name":"now","parameters":{}}"#,
            "duplicate_key /tool_calls/1/args at 69: an object has two members of this name",
            "duplicate_key /tool_calls/2/args at 110: an object has two members of this name",
            "invalid_parameters /tool_calls/3/args/city at 152: a city is a string",
        ]
    );
    let line = r#"{"tool_calls":[{"name":"now","args":{}}],"tool_calls":[]}"#;
    assert_eq!(
        summaries(line, Some(&Tools)),
        ["duplicate_key /tool_calls at 42: an object has two members of this name"]
    );
    assert!(calls(line, None).is_empty(), "without definitions the last one counts");
}

#[test]
fn one_call_of_a_list() {
    let mut parser = JsonlParser::new(Options::lenient());
    for (line, expected) in [
        (r#"{"tool_calls":[{"name":"now","args":{}}]}"#, Some("now")),
        (r#"{"tool_calls":[]}"#, None),
        (r#"{"tool_calls":[{"name":"now","args":{}},{"name":"now","args":{}}]}"#, None),
    ] {
        parser.push(format!("{line}\n"));
        let Some(Event::Record(record)) = parser.next_event() else { panic!("a record") };
        let call = ToolCall::from_record(&record, None);
        assert_eq!(call.as_ref().ok().map(|call| call.name.as_str()), expected, "{call:?}");
    }
}

#[test]
fn values_are_coerced_if_the_tools_allow_it() {
    for line in [
        r#"{"name":"weather","args":{"city":7}}"#,
        r#"{"name":"weather","args":"{\"city\":7}"}"#,
        r#"{"tool_calls":[{"name":"weather","args":{"city":7}}]}"#,
    ] {
        let call = calls(line, Some(&Tools)).remove(0).unwrap();
        assert_eq!(call.parameters, r#"{"city":"7"}"#);
        assert_eq!(call.coerced, [Coercion::new("/city", Kind::Number, Kind::String)]);
        assert!(calls(line, Some(&Unbending))[0].is_err());
    }
    let call = calls(r#"{"name":"weather","args":{"city":"7"}}"#, Some(&Tools)).remove(0).unwrap();
    assert!(call.coerced.is_empty());
}

#[test]
fn a_name_without_definitions_must_be_possible() {
    let line = |name: &str| format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
    let long = "n".repeat(128);
    for name in ["search", "_x", "functions.search:0", "a/b-c", "搜索", "नमस्ते", "e\u{301}tude", &long]
    {
        assert!(calls(&line(name), None)[0].is_ok(), "{name}");
    }
    for name in
        ["rm -rf /", "7", "-x", "a b", "search ", "a(b)", "\u{301}x", "a\u{200b}b", &format!("{long}n")]
    {
        let found = calls(&line(name), None);
        let code = found[0].as_ref().map_err(|rejected| rejected.diagnostic.code);
        assert_eq!(code.unwrap_err(), Code::UnknownTool, "{name}");
    }
}
