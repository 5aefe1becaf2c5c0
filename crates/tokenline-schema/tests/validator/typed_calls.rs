//! Calls whose parameters are written as text get the types of the tool's parameters.

use tokenline_core::{CallFormat, Event, Options, RecordDecoder, Recovery, ToolCall};
use tokenline_schema::ToolSet;

const TOOLS: &str = r##"[{"name": "book", "parameters": {"type": "object", "$defs": {"day": {"type": "integer"}},
  "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}, "price": {"type": "number"}, "now": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}}, "guest": {"type": "object"},
    "note": {"type": ["string", "null"]}, "day": {"$ref": "#/$defs/day"},
    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}}]"##;

fn decoder() -> RecordDecoder {
    let tools = ToolSet::from_json_str(TOOLS).unwrap();
    RecordDecoder::new(Options::lenient().calls(CallFormat::Auto)).with_tools(tools)
}

/// The parameters of the only call, and how its open call grew, read in pieces of so many bytes.
fn read(text: &str, len: usize) -> (String, Vec<String>) {
    let (mut decoder, mut parameters, mut grown) = (decoder(), String::new(), Vec::new());
    for mut piece in text.as_bytes().chunks(len) {
        loop {
            let decoded = decoder.decode(piece);
            piece = &piece[decoded.consumed..];
            let Some(event) = decoded.event else { break };
            if let Event::Record(record) = event {
                let typed = record.recovered.contains(Recovery::ParametersTyped);
                let call = ToolCall::from_record(&record, None).unwrap();
                parameters = format!("{}{}", call.parameters, if typed { " typed" } else { "" });
            }
        }
        grown.extend(decoder.open_call().map(|call| call.parameters.to_owned()));
    }
    (parameters, grown)
}

#[test]
fn values_become_what_the_parameter_wants() {
    for (key, value, expected) in [
        ("city", "7", r#""7""#),
        ("city", "null", r#""null""#),
        ("days", "7", "7 typed"),
        ("days", "seven", r#""seven""#),
        ("days", "7.5", r#""7.5""#),
        ("price", "-1e3", "-1e3 typed"),
        ("now", "True", "true typed"),
        ("now", "FALSE", "false typed"),
        ("now", "yes", r#""yes""#),
        ("tags", r#"["a", "b"]"#, r#"["a", "b"] typed"#),
        ("tags", "['a', \"b\"]", r#"["a","b"] typed"#),
        ("guest", r#"{"name": "Ada"}"#, r#"{"name": "Ada"} typed"#),
        ("guest", "{bad", r#""{bad""#),
        ("note", "null", "null typed"),
        ("note", "nullable", r#""nullable""#),
        ("day", "3", "3 typed"),
        ("either", "3", r#""3""#),
        ("unknown", "3", r#""3""#),
    ] {
        let text = format!("<function=book>\n<parameter={key}>\n{value}\n</parameter>\n</function>\n");
        let (value, typed) =
            expected.strip_suffix(" typed").map_or((expected, ""), |value| (value, " typed"));
        let expected = format!("{{\"{key}\":{value}}}");
        for len in 1..=text.len() {
            let (parameters, grown) = read(&text, len);
            assert_eq!(parameters, format!("{expected}{typed}"), "{text:?} in pieces of {len}");
            assert!(grown.iter().all(|grown| expected.starts_with(grown)), "{grown:?}");
        }
    }
}

#[test]
fn text_is_seen_to_grow_where_it_can_only_be_text() {
    let text = "<function=book>\n<parameter=days>\n7\n</parameter>\n<parameter=city>\nSan \"F\"\nr";
    let (_, grown) = read(text, 1);
    assert_eq!(grown.last().unwrap(), r#"{"days":7,"city":"San \"F\"\nr"#);
    let text = "<function=book>\n<parameter=city>\nSan\n</parameter>\n<parameter=days>\n7";
    let (_, grown) = read(text, 1);
    assert_eq!(grown.last().unwrap(), r#"{"city":"San""#);
}
