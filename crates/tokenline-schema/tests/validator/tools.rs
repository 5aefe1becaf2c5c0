//! Tool calls are validated against tool definitions.

use serde_json::json;
use tokenline_core::json::Parser;
use tokenline_core::{Event, JsonlParser, Options, ToolCall, ToolDefinition, ValidateCall};
use tokenline_schema::{SchemaErrorKind, ToolSet};

const TOOLS: &str = r#"[
  {"name": "weather", "description": "of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}},
  {"type": "function", "function": {"name": "now"}}
]"#;

fn report(tools: &ToolSet, name: &str, parameters: &str) -> String {
    let mut parser = Parser::new();
    match tools.validate_call(name, parser.parse(parameters).unwrap()) {
        Ok(()) => "valid".to_owned(),
        Err(violation) => {
            format!(
                "{} | {} | {} | {}",
                violation.code, violation.instance_path, violation.schema_path, violation.message
            )
        }
    }
}

#[test]
fn calls_are_validated() {
    let tools = ToolSet::from_json_str(TOOLS).unwrap().show_names(true);
    for (name, parameters, expected) in [
        ("weather", r#"{"city":"Paris"}"#, "valid"),
        ("now", r#"{"anything":1}"#, "valid"),
        (
            "wether",
            "{}",
            "unknown_tool |  |  | no such tool; did you mean `weather`? Defined tools: `weather`, `now`",
        ),
        ("weather", r#"{"days":1}"#, "invalid_parameters |  | /required | missing required member `city`"),
        (
            "weather",
            r#"{"city":1}"#,
            "invalid_parameters | /city | /properties/city/type | expected type string, found a number",
        ),
        ("weather", "[]", "invalid_parameters |  |  | parameters must be an object, found array"),
        ("now", "null", "invalid_parameters |  |  | parameters must be an object, found null"),
        (
            "weather",
            r#"{"city":"a","city":"b"}"#,
            "duplicate_key | /city |  | an object has two members of this name",
        ),
        ("now", r#"{"a":{"b":1,"b":1}}"#, "duplicate_key | /a/b |  | an object has two members of this name"),
    ] {
        assert_eq!(report(&tools, name, parameters), expected, "{name} {parameters}");
    }
    assert_eq!(
        report(&ToolSet::default(), "x", "{}"),
        "unknown_tool |  |  | no such tool: no tools are defined"
    );
}

#[test]
fn parameters_inside_a_record() {
    let tools = ToolSet::from_json_str(TOOLS).unwrap().show_names(true);
    let mut parser = Parser::new();
    let text = r#"{"name":"weather","parameters":{"city":"Paris","days":"two"}}"#;
    let record = parser.parse(text).unwrap();
    let violation = tools.validate_call("weather", record.get("parameters").unwrap()).unwrap_err();
    assert_eq!((violation.instance_path.as_str(), &text[violation.offset..][..5]), ("/days", "\"two\""));
    let record = parser.parse(r#"{"name":"now","name":"weather","parameters":{"city":"Paris"}}"#).unwrap();
    let violation = tools.validate_call("weather", record.get("parameters").unwrap()).unwrap_err();
    assert_eq!((violation.code.as_str(), violation.offset), ("duplicate_key", 14));
}

#[test]
fn many_tools_are_listed_in_part() {
    let definitions: Vec<_> = (0..14).map(|at| ToolDefinition::new(format!("t{at}"))).collect();
    let tools = ToolSet::new(&definitions).unwrap();
    assert_eq!(tools.definitions(), definitions);
    assert!(report(&tools, "x", "{}").ends_with("`t8`, `t9` and 4 more"));
}

#[test]
fn definitions_that_cannot_be_used() {
    use SchemaErrorKind::{Invalid, Syntax, Tool};
    for (text, kind, expected) in [
        (
            "[{",
            Syntax,
            "expected a name in double quotes or `}`, found the end of the input at line 1 column 3",
        ),
        ("{}", Tool, "expected an array of tool definitions at line 1 column 1"),
        ("[\n  1]", Tool, "tool definition 0 is not an object at line 2 column 3"),
        (
            r#"[{"name":"a"},{"parameters":{}}]"#,
            Tool,
            "tool definition 1: missing field `name` at line 1 column 15",
        ),
        (
            r#"[{"type":"web_search"}]"#,
            Tool,
            "tool definition 0: `type` of a tool must be `function` at line 1 column 2",
        ),
        (r#"[{"name":""}]"#, Tool, "tool \"\": a tool must have a name at line 1 column 2"),
        (r#"[{"name":"a"},{"name":"a"}]"#, Tool, "tool \"a\": two tools have this name at line 1 column 15"),
        (
            r#"[{"name":"a","parameters":{"type":"string"}}]"#,
            Tool,
            "tool \"a\": /type: parameters are always an object, but the schema does not allow one at line 1 column 35",
        ),
        (
            r#"[{"name":"a","parameters":[]}]"#,
            Invalid,
            if cfg!(feature = "jsonschema") {
                "tool \"a\": [] is not of types \"boolean\", \"object\" at line 1 column 27"
            } else {
                "tool \"a\": expected type object or boolean, found an array at line 1 column 27"
            },
        ),
        (
            r#"[{"function":{"name":"a","parameters":{"properties":{"x":{"minLength":"1"}}}}}]"#,
            Invalid,
            if cfg!(feature = "jsonschema") {
                "tool \"a\": /properties/x/minLength: \"1\" is not of type \"integer\" at line 1 column 71"
            } else {
                "tool \"a\": /properties/x/minLength: expected type integer, found a string at line 1 column 71"
            },
        ),
    ] {
        let error = ToolSet::from_json_str(text).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, expected), "{text}");
    }
    let definition = ToolDefinition::new("a").with_parameters(json!({"type": "strin"}));
    let error = ToolSet::new(&[definition]).unwrap_err();
    assert_eq!((error.kind(), error.path(), error.tool()), (Invalid, "/type", Some("a")));
}

/// A tool whose schema is not supported costs only itself.
#[test]
fn unsupported_schemas_reject_only_calls_of_their_tool() {
    let cases = [
        (r#"{"properties":{"x":{"pattern":"(?<=a"}}}"#, "/properties/x/pattern"),
        (r#"{"properties":{"x":{"pattern":"((a{99}){99}){99}"}}}"#, "/properties/x/pattern"),
        (r#"{"properties":{"x":{"$ref":"https://example.com/a"}}}"#, "/properties/x/$ref"),
        (r#"{"$schema":"https://example.com/mine"}"#, "/$schema"),
    ];
    for (schema, path) in cases {
        let text = format!(
            r#"[{{"name":"a","parameters":{schema}}},{{"name":"b","parameters":{{"required":["x"]}}}}]"#
        );
        let tools = ToolSet::from_json_str(&text).unwrap().with_coercion();
        let [warning] = tools.warnings() else { panic!("{:?}", tools.warnings()) };
        assert!(warning.starts_with(&format!("tool `a`: {path}: ")), "{warning}");
        assert!(warning.ends_with("; its calls are rejected"), "{warning}");
        let unsupported: Vec<_> = tools.unsupported().map(|(name, error)| (name, error.path())).collect();
        assert_eq!(unsupported, [("a", path)]);
        let rejected = report(&tools, "a", r#"{"x":"a"}"#);
        let expected =
            format!("invalid_parameters |  | {path} | the schema of tool `a` is not supported: {path}: ");
        assert!(rejected.starts_with(&expected), "{rejected}");
        assert!(tools.has_tool("a") && tools.definitions().len() == 2);
        assert_eq!(report(&tools, "b", r#"{"x":"a"}"#), "valid");
        assert!(report(&tools, "b", "{}").contains("missing required member `x`"));
    }
}

const TYPED: &str = r#"[{"name": "f", "parameters": {"type": "object", "properties": {
    "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}, "z": {"type": "null"},
    "a": {"type": "array", "items": {"type": "integer"}}, "s": {"type": "string"},
    "o": {"type": "object", "properties": {"i/j": {"type": ["integer", "null"]}}},
    "either": {"type": ["string", "integer"]}, "any": {}, "small": {"type": "integer", "maximum": 3}
}}}]"#;

fn coerced(tools: &ToolSet, parameters: &str) -> String {
    let mut parser = JsonlParser::new(Options::lenient());
    parser.push(format!("{{\"name\":\"f\",\"parameters\":{parameters}}}\n"));
    let Some(Event::Record(record)) = parser.next_event() else { panic!("a record: {parameters}") };
    match ToolCall::from_record(&record, Some(tools)) {
        Ok(call) => {
            let changes = call.coerced.iter().map(|change| {
                format!(" {} {}>{}", change.instance_path, change.from.as_str(), change.to.as_str())
            });
            format!("{}{}", call.parameters, changes.collect::<String>())
        }
        Err(call) => {
            format!("{} {}", call.diagnostic.code, call.diagnostic.instance_path.unwrap_or_default())
        }
    }
}

#[test]
fn kinds_are_changed_on_request() {
    let plain = ToolSet::from_json_str(TYPED).unwrap();
    let coercing = plain.clone().with_coercion();
    for (parameters, expected) in [
        (r#"{"i":"3"}"#, r#"{"i":3} /i string>number"#),
        (r#"{"i":"-0"}"#, r#"{"i":-0} /i string>number"#),
        (r#"{"n":"1.50e3","b":"true"}"#, r#"{"n":1.50e3,"b":true} /n string>number /b string>boolean"#),
        (r#"{"z":"null","s":7.0}"#, r#"{"z":null,"s":"7.0"} /z string>null /s number>string"#),
        (r#"{"a":"[1,\n2]","x":"3"}"#, r#"{"a":[1,2],"x":"3"} /a string>array"#),
        (r#"{"a":["1",2, "3"]}"#, r#"{"a":[1,2, 3]} /a/0 string>number /a/2 string>number"#),
        (r#"{"o":{"i/j":"1"}}"#, r#"{"o":{"i/j":1}} /o/i~1j string>number"#),
        (r#"{"o":"{\"i/j\":null}"}"#, r#"{"o":{"i/j":null}} /o string>object"#),
        // Parameters that fit neither way are reported in their original form.
        (r#"{"i":"3.0"}"#, "invalid_parameters /parameters/i"),
        (r#"{"i":" 3"}"#, "invalid_parameters /parameters/i"),
        (r#"{"i":"three"}"#, "invalid_parameters /parameters/i"),
        (r#"{"i":"3","n":[]}"#, "invalid_parameters /parameters/i"),
        (r#"{"b":"True"}"#, "invalid_parameters /parameters/b"),
        (r#"{"b":1}"#, "invalid_parameters /parameters/b"),
        (r#"{"s":true}"#, "invalid_parameters /parameters/s"),
        (r#"{"small":"4"}"#, "invalid_parameters /parameters/small"),
        (r#"{"a":"[\"1\"]"}"#, "invalid_parameters /parameters/a"),
    ] {
        assert_eq!(coerced(&coercing, parameters), expected, "{parameters}");
        let code = coerced(&plain, parameters);
        assert!(code.starts_with("invalid_parameters /parameters/"), "{parameters}: {code}");
    }
    for parameters in [r#"{"either":"3","any":"4","s":"5","i":6}"#, r#"{"unknown":"7"}"#, r#"{"small":2}"#] {
        assert_eq!(coerced(&coercing, parameters), parameters, "what fits is left alone");
    }
    assert!(plain.has_tool("f") && !plain.has_tool("g"));
}

#[test]
fn tools_of_mcp_servers_and_of_gemini_are_read() {
    let mcp = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"now","title":"Now","description":"The time.",
        "inputSchema":{"type":"object","properties":{"zone":{"type":"string"}}},"annotations":{"readOnlyHint":true}}],"nextCursor":"x"}}"#;
    let gemini = r#"[{"functionDeclarations":[{"name":"now","description":"The time.","parameters":{"type":"OBJECT",
        "properties":{"type":{"type":"STRING","nullable":true,"enum":["STRING"]},"zone":{"type":"STRING"}}}}]},
        {"function_declarations":[{"name":"later","parametersJsonSchema":{"type":"object","required":["at"]}}]}]"#;
    let tools = ToolSet::from_json_str(mcp).unwrap();
    assert_eq!(tools.definitions()[0].description.as_deref(), Some("The time."));
    assert!(report(&tools, "now", r#"{"zone":7}"#).contains("/zone"));
    let tools = ToolSet::from_json_str(gemini).unwrap();
    assert!(report(&tools, "now", r#"{"zone":7}"#).contains("/zone"));
    assert!(report(&tools, "now", r#"{"type":8}"#).contains("/type"));
    let violation = report(&tools, "later", "{}");
    assert!(violation.contains("at"), "{violation}");
    let declared = r#"{"functionDeclarations":[{"name":"now"}]}"#;
    assert_eq!(ToolSet::from_json_str(declared).unwrap().definitions().len(), 1);
}
