//! Strict schemas: what is sent is in the provider's subset, and means what the schema says.

mod draw;
mod subset;

use serde_json::{Map, Value, json};
use tokenline_core::json::{Parser, Raw};
use tokenline_core::{ToolDefinition, Validate};
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, JsonFormat, RequestError};
use tokenline_schema::{SchemaOptions, SchemaValidator};

use self::draw::{Random, instance, root};
use self::subset::check;
use crate::common::extent::cases;
use crate::common::random;

/// Rules that may move into the description, by whether the provider enforces bounds.
const RULES: &[&str] =
    &["minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "format", "pattern"];
const BOUNDS: &[&str] =
    &["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"];

/// Changes every schema in `schema`.
fn each(schema: &mut Value, change: &dyn Fn(&mut Map<String, Value>)) {
    let Value::Object(members) = schema else { return };
    change(members);
    for (name, value) in members {
        match (name.as_str(), value) {
            ("properties" | "$defs", Value::Object(all)) => {
                all.values_mut().for_each(|schema| each(schema, change));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(all)) => {
                all.iter_mut().for_each(|schema| each(schema, change));
            }
            ("items", schema) => each(schema, change),
            _ => {}
        }
    }
}

/// The schema without the rules that a provider may leave to validation.
fn loose(schema: &Value, is_openai: bool) -> Value {
    let mut schema = schema.clone();
    each(&mut schema, &|members| {
        members.retain(|name, _| {
            !RULES.contains(&name.as_str()) && (is_openai || !BOUNDS.contains(&name.as_str()))
        });
    });
    schema
}

/// The schema with all objects closed, and all members required.
fn closed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    each(&mut schema, &|members| {
        if let Some(properties) = members.get("properties").and_then(Value::as_object) {
            let names: Vec<Value> = properties.keys().map(|name| json!(name)).collect();
            members.insert("required".to_owned(), names.into());
            members.insert("additionalProperties".to_owned(), json!(false));
        }
    });
    schema
}

fn validator(schema: &Value) -> SchemaValidator {
    let built = SchemaOptions::new().build(schema);
    built.unwrap_or_else(|error| panic!("{error}: {schema}"))
}

fn allows(validator: &SchemaValidator, instance: &Value) -> bool {
    let text = instance.to_string();
    let mut parser = Parser::new();
    validator.validate(parser.parse(&text).expect("JSON")).is_ok()
}

/// The schema that is sent, if it is strict.
fn sent(provider: Provider, schema: &Value, strict: Option<bool>) -> Result<Option<Value>, RequestError> {
    let mut format = JsonFormat::new("s", schema.clone());
    format.strict = strict;
    let request = ChatRequest::new("m").user("?").response_format(format);
    let body: Value = serde_json::from_str(&request.to_body(provider)?).expect("JSON");
    Ok(match provider {
        Provider::OpenAiChat => {
            let format = &body["response_format"]["json_schema"];
            if format["strict"] == false {
                assert_eq!(format["schema"], *schema);
            }
            (format["strict"] == true).then(|| format["schema"].clone())
        }
        Provider::Bedrock => {
            let text = &body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"];
            Some(serde_json::from_str(text.as_str().expect("a text")).expect("JSON"))
        }
        _ => Some(body["output_config"]["format"]["schema"].clone()),
    })
}

/// The parameters that are sent, if they are strict.
fn sent_tool(provider: Provider, schema: &Value) -> Option<Value> {
    let tool = ToolDefinition::new("t").with_parameters(Raw::from(schema.clone())).with_strict(true);
    let tools: Value = serde_json::from_str(&ChatRequest::tools_to_json(provider, &[tool])).expect("JSON");
    let (flag, parameters) = match provider {
        Provider::OpenAiChat => ("/0/function/strict", "/0/function/parameters"),
        Provider::OpenAiResponses => ("/0/strict", "/0/parameters"),
        Provider::Anthropic => ("/0/strict", "/0/input_schema"),
        _ => ("/0/toolSpec/strict", "/0/toolSpec/inputSchema/json"),
    };
    let parameters = tools.pointer(parameters).expect("parameters").clone();
    let is_strict = tools.pointer(flag).is_some_and(|flag| *flag == true);
    if !is_strict {
        assert_eq!(parameters, *schema);
    }
    is_strict.then_some(parameters)
}

#[test]
fn strict_schemas_are_in_the_providers_subset_and_mean_the_same() {
    let mut random = random();
    let random: Random<'_> = &mut random;
    let (mut exact, mut closest, mut refused, mut matches) = (0, 0, 0, 0);
    let schemas: usize = cases(2_500);
    for round in 0..schemas {
        let schema = root(random);
        let openai = sent(Provider::OpenAiChat, &schema, Some(true)).expect("a body");
        let same = sent(Provider::OpenAiChat, &schema, None).expect("a body");
        let anthropic = match sent(Provider::Anthropic, &schema, None) {
            Ok(sent) => sent,
            Err(RequestError::Schema { keyword, pointer, .. }) => {
                let at = schema.pointer(&pointer).unwrap_or_else(|| panic!("{pointer} in {schema}"));
                let is_missing = at.get(&keyword).is_none();
                assert!(
                    !is_missing || ["type", "items", "properties", "enum"].contains(&&*keyword),
                    "{keyword} in {at}"
                );
                refused += 1;
                None
            }
            Err(other) => panic!("{other}"),
        };
        if round % 4 == 0 {
            assert_eq!(sent(Provider::OpenAiChat, &schema, Some(false)).expect("a body"), None);
            assert_eq!(sent(Provider::Bedrock, &schema, Some(false)).ok().flatten(), anthropic);
        }
        let tools = [
            (Provider::OpenAiChat, &openai),
            (Provider::OpenAiResponses, &openai),
            (Provider::Anthropic, &anthropic),
            (Provider::Bedrock, &anthropic),
        ];
        let (provider, as_format) = tools[round % 4];
        assert_eq!(sent_tool(provider, &schema), *as_format, "{provider:?}");
        if same.is_some() {
            assert_eq!(openai, same);
        }
        exact += usize::from(same.is_some());
        for (strict, is_openai) in [(openai, true), (anthropic, false)] {
            let Some(strict) = strict else { continue };
            if let Err(reason) = check(&strict, &strict, is_openai, &mut Vec::new()) {
                panic!("{reason}\n{schema}\n{strict}");
            }
            closest += usize::from(same.is_none());
            // Compiling schemas takes most of the time.
            if is_openai == (round % 2 == 0) {
                continue;
            }
            let sent = validator(&strict);
            let is_exact = is_openai && same.is_some();
            let (at_least, at_most) = if is_exact {
                (schema.clone(), schema.clone())
            } else {
                (closed(&schema), loose(&schema, is_openai))
            };
            // A part that has no effect may be invalid.
            let Ok(at_most) = SchemaOptions::new().build(&at_most) else { continue };
            let at_least = if is_exact { None } else { Some(validator(&at_least)) };
            for round in 0..8 {
                let from = if round % 2 == 0 { &schema } else { &strict };
                let instance = instance(random, from, from, 6);
                let is_sent = allows(&sent, &instance);
                matches += usize::from(is_sent);
                let seen = || format!("{instance}\n{schema}\n{strict}");
                assert!(!is_sent || allows(&at_most, &instance), "allows what is forbidden: {}", seen());
                let must_pass = allows(at_least.as_ref().unwrap_or(&at_most), &instance);
                assert!(is_sent || !must_pass, "forbids what is allowed: {}", seen());
            }
        }
    }
    assert!(
        exact * 20 > schemas && closest * 20 > schemas && refused * 10 > schemas && matches * 4 > schemas,
        "{exact} {closest} {refused} {matches}"
    );
}

/// Schemas that were sent as strict, and their form now.
#[test]
fn schemas_that_providers_refuse() {
    let object = |member: Value| json!({"type": "object", "properties": {"a": member}, "required": ["a"], "additionalProperties": false});
    let some = |member: Value| Some(object(member));
    let text = || json!({"type": "string"});
    let uri = r#"(format: "uri")"#;
    for (member, openai, anthropic) in [
        (
            json!({"type": "string", "minLength": 1}),
            some(json!({"type": "string", "description": "(minLength: 1)"})),
            some(json!({"type": "string", "description": "(minLength: 1)"})),
        ),
        (
            json!({"type": "string", "format": "uri"}),
            some(json!({"type": "string", "description": uri})),
            some(json!({"type": "string", "format": "uri"})),
        ),
        (
            json!({"oneOf": [text(), {"type": "null"}]}),
            some(json!({"anyOf": [text(), {"type": "null"}]})),
            some(json!({"anyOf": [text(), {"type": "null"}]})),
        ),
        (json!({"oneOf": [text(), text()]}), None, None),
        (json!({"anyOf": [text()], "oneOf": [text()]}), None, None),
        (json!({"allOf": [text()]}), some(text()), some(text())),
        (json!({"allOf": [text(), {"minLength": 1}]}), None, None),
        (json!({}), None, None),
        (json!({"type": "array"}), None, None),
        (
            json!({"type": "array", "items": text(), "minItems": 1}),
            some(json!({"type": "array", "items": text(), "minItems": 1})),
            some(json!({"type": "array", "items": text(), "minItems": 1})),
        ),
        (json!({"$ref": "other.json"}), None, None),
        (json!({"$ref": "#"}), some(json!({"$ref": "#"})), None),
        (
            json!({"const": 1, "enum": [1.0, 2]}),
            some(json!({"type": "integer", "enum": [1.0]})),
            some(json!({"type": "integer", "enum": [1.0]})),
        ),
        (json!({"const": 1, "enum": [2]}), None, None),
        (json!({"type": "object", "properties": {}, "required": ["b"]}), None, None),
    ] {
        let schema = object(member);
        assert_eq!(sent(Provider::OpenAiChat, &schema, Some(true)).expect("a body"), openai, "{schema}");
        assert_eq!(sent(Provider::Anthropic, &schema, None).ok().flatten(), anthropic, "{schema}");
    }
    // Null is not a value of the optional member, so it cannot stand for its absence.
    let optional = json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x"]}}, "additionalProperties": false});
    assert_eq!(sent(Provider::OpenAiChat, &optional, Some(true)).expect("a body"), None);
    assert_eq!(
        sent(Provider::Anthropic, &optional, None).expect("a body").expect("strict")["required"],
        json!([])
    );
    for root in [
        json!({"type": "array", "items": text()}),
        json!({"anyOf": [object(text())]}),
        json!({"type": "object"}),
    ] {
        assert_eq!(sent(Provider::OpenAiChat, &root, None).expect("a body"), None);
    }
}

#[test]
fn errors_name_the_keyword_and_its_place() {
    let error =
        |schema: Value| sent(Provider::Anthropic, &schema, None).expect_err("no strict form").to_string();
    let object =
        |member: Value| json!({"type": "object", "properties": {"a/b": member}, "required": ["a/b"]});
    let begin = "anthropic cannot enforce the response schema: ";
    for (schema, expected) in [
        (
            object(json!({"type": "array", "items": {"not": {}, "type": "string"}})),
            "`not` at /properties/a~1b/items: strict schemas do not support it",
        ),
        (
            object(json!({"oneOf": [{"type": "string"}, {"type": "string"}]})),
            "`oneOf` at /properties/a~1b: several of its alternatives may match",
        ),
        (
            object(json!({"anyOf": [{"$ref": "#"}]})),
            "`$ref` at /properties/a~1b/anyOf/0: the schema is recursive",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "`type` at the root: the root of a strict schema is an object",
        ),
    ] {
        assert_eq!(error(schema).strip_prefix(begin), Some(expected));
    }
}
