//! Prompts for tools.

use std::error::Error;

use tokenline_core::{CallFormat, ToolDefinition};
use tokenline_llm::Provider;
use tokenline_llm::request::ChatRequest;
use tokenline_prompt::tools::{
    FunctionCallingSupport, Language, ToolCalling, ToolPrompt, ToolPromptError, ToolPrompter,
    tool_calling_support,
};

use crate::common::tools;

const JSONL_CHINESE: &str = r#"请按以下JSON Lines格式调用工具（每行一个JSON对象）：

{"name": "工具名称", "parameters": {"参数1": "值1"}}
{"name": "工具名称", "parameters": {"参数2": "值2"}}

可用工具：
- weather：The weather of a city.
  参数：{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}
- now
  参数：{"type":"object"}

要求：
1. 每行必须是有效的JSON对象
2. 支持一次调用多个工具
3. 如果调用失败，请在JSON中添加"error"字段
4. 不要包含任何解释性文本

请严格按照JSON Lines格式返回结果。"#;

const SINGLE_JSON_CHINESE: &str = r#"请按以下JSON格式调用工具：
{
    "name": "工具名称",
    "parameters": {
        "参数1": "值1",
        "参数2": "值2"
    }
}

可用工具：
- weather：The weather of a city.
  参数：{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}
- now
  参数：{"type":"object"}

请只返回JSON格式的工具调用，不要包含其他文本。"#;

const JSONL_ENGLISH: &str = r#"Call tools in the following JSON Lines format (one JSON object per line):

{"name": "tool name", "parameters": {"parameter1": "value1"}}
{"name": "tool name", "parameters": {"parameter2": "value2"}}

Available tools:
- weather: The weather of a city.
  parameters: {"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}
- now
  parameters: {"type":"object"}

Requirements:
1. Every line must be a valid JSON object
2. Several tools may be called at once
3. If a call fails, add an "error" field to its JSON
4. Do not include any explanatory text

Return the result strictly in the JSON Lines format."#;

const SINGLE_JSON_ENGLISH: &str = r#"Call a tool in the following JSON format:
{
    "name": "tool name",
    "parameters": {
        "parameter1": "value1",
        "parameter2": "value2"
    }
}

Available tools:
- weather: The weather of a city.
  parameters: {"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}
- now
  parameters: {"type":"object"}

Return only the tool call in JSON format, without any other text."#;

#[test]
fn prompts_verbatim() {
    for (language, format, expected) in [
        (Language::Chinese, CallFormat::Jsonl, JSONL_CHINESE),
        (Language::Chinese, CallFormat::SingleJson, SINGLE_JSON_CHINESE),
        (Language::English, CallFormat::Jsonl, JSONL_ENGLISH),
        (Language::English, CallFormat::SingleJson, SINGLE_JSON_ENGLISH),
        (Language::English, CallFormat::Auto, JSONL_ENGLISH),
    ] {
        let prompter = ToolPrompter::new().with_language(language);
        let prompt = prompter.prompt(&format.into(), &tools()).unwrap();
        assert_eq!(prompt, ToolPrompt::Text(expected.to_owned()));
    }
}

#[test]
fn a_description_stays_with_its_tool() {
    let tools = [
        ToolDefinition::new("now").with_description("The time.\nIn UTC. {{ not a template }} <b>&\n"),
        ToolDefinition::new("then"),
    ];
    let prompt = ToolPrompter::new().prompt(&CallFormat::Jsonl.into(), &tools).unwrap();
    let expected = "- now: The time.\n  In UTC. {{ not a template }} <b>&\n  parameters: {\"type\":\"object\"}\n- then\n";
    assert!(prompt.text().unwrap().contains(expected), "{prompt:?}");
}

#[test]
fn tools_for_every_provider() {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}"#;
    let weather = r#""name":"weather","description":"The weather of a city.""#;
    for (shape, expected) in [
        (
            Provider::OpenAiChat,
            r#"[{"type":"function","function":{WEATHER,"parameters":SCHEMA}},{"type":"function","function":{"name":"now","parameters":{"type":"object"}}}]"#,
        ),
        (
            Provider::OpenAiResponses,
            r#"[{"type":"function",WEATHER,"parameters":SCHEMA,"strict":false},{"type":"function","name":"now","parameters":{"type":"object"},"strict":false}]"#,
        ),
        (
            Provider::Anthropic,
            r#"[{WEATHER,"input_schema":SCHEMA},{"name":"now","input_schema":{"type":"object"}}]"#,
        ),
        (
            Provider::Gemini,
            r#"[{"functionDeclarations":[{WEATHER,"parametersJsonSchema":SCHEMA},{"name":"now","parametersJsonSchema":{"type":"object"}}]}]"#,
        ),
        (
            Provider::Ollama,
            r#"[{"type":"function","function":{WEATHER,"parameters":SCHEMA}},{"type":"function","function":{"name":"now","parameters":{"type":"object"}}}]"#,
        ),
    ] {
        let expected = expected.replace("WEATHER", weather).replace("SCHEMA", schema);
        assert_eq!(ChatRequest::tools_to_json(shape, &tools()), expected);
        let prompter = ToolPrompter::new().with_provider(shape);
        let prompt = prompter.prompt(&ToolCalling::FunctionCalling, &tools()).unwrap();
        assert_eq!(prompt.tools(), Some(&*expected));
        assert_eq!(Provider::from_name(shape.as_str()), Some(shape));
        assert_eq!(ChatRequest::tools_to_json(shape, &[]), "[]");
    }
    let quoted = ChatRequest::tools_to_json(
        Provider::Ollama,
        &[ToolDefinition::new("a\"b").with_description("c\n\"d\"")],
    );
    let value: serde_json::Value = serde_json::from_str(&quoted).unwrap();
    assert_eq!(value[0]["function"]["description"], "c\n\"d\"");
}

struct Client {
    has_functions: bool,
}

impl FunctionCallingSupport for Client {
    fn supports_function_calling(&self) -> bool {
        self.has_functions
    }
}

#[test]
fn the_way_of_calling_depends_on_the_client() {
    for (has_functions, name) in [(true, "function_calling"), (false, "jsonl")] {
        let client = Client { has_functions };
        let calling = tool_calling_support(&client);
        assert_eq!(calling.as_str(), name);
        assert_eq!(ToolCalling::from_name(name), Some(calling.clone()));
        assert_eq!(ToolCalling::from_name(&format!(" {} ", name.to_uppercase())), Some(calling.clone()));
        let client: &dyn FunctionCallingSupport = &client;
        assert_eq!(tool_calling_support(client), calling);
        let prompt = ToolPrompter::new().prompt(&calling, &tools()).unwrap();
        assert_eq!(prompt.tools().is_some(), has_functions);
    }
}

#[test]
fn template_errors_are_reported() {
    let prompt = |template: &'static str| {
        let prompter = ToolPrompter::new().with_template(&CallFormat::Jsonl, template);
        prompter.prompt(&CallFormat::Jsonl.into(), &tools()).unwrap_err()
    };
    let error = prompt("{tool_descriptions}");
    assert!(matches!(error, ToolPromptError::NoTools { .. }), "{error}");
    let error = prompt("Tools:\n{{ tool_descriptions }");
    assert!(error.to_string().starts_with("the tool prompt for `jsonl`, line 2: "), "{error}");
    assert!(error.source().is_some());
    let error = prompt("{{ tool_descriptions }}\n\n{{ toolz }}");
    assert!(error.to_string().starts_with("the tool prompt for `jsonl`, line 3: "), "{error}");

    let cwm = CallFormat::from_name("cwm").unwrap();
    let own = ToolPrompter::new().with_template(&cwm, "{{ tool_descriptions }}");
    assert!(own.has_template(&cwm) && !ToolPrompter::new().has_template(&cwm));
    assert!(ToolPrompter::new().has_template(&CallFormat::from_name("gpt-oss").unwrap()));
    let error = ToolPrompter::new().prompt(&cwm.into(), &tools()).unwrap_err();
    let expected = "there is no built-in tool prompt for the format `cwm`: write your own, or use one of ";
    assert!(error.to_string().starts_with(expected), "{error}");
}
