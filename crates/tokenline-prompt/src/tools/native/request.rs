//! Tools as a request has them.

use tokenline_core::ToolDefinition;

use super::NativeShape;

/// The JSON of a request's member `tools`, an array. Descriptions and schemas are as they were given, on
/// one line, the order of their members kept.
///
/// | shape | reference |
/// |---|---|
/// | OpenAI chat | <https://platform.openai.com/docs/api-reference/chat/create> |
/// | OpenAI Responses | <https://platform.openai.com/docs/api-reference/responses/create> |
/// | Anthropic | <https://docs.anthropic.com/en/api/messages> |
/// | Gemini | <https://ai.google.dev/api/caching#FunctionDeclaration> |
/// | Ollama | <https://docs.ollama.com/api/chat> |
///
/// ```
/// use tokenline_core::ToolDefinition;
/// use tokenline_prompt::tools::{NativeShape, native_tools};
///
/// let now = ToolDefinition::new("now").with_description("The time.");
/// assert_eq!(
///     native_tools(&[now], NativeShape::Anthropic),
///     r#"[{"name":"now","description":"The time.","input_schema":{"type":"object"}}]"#
/// );
/// ```
#[must_use]
pub fn native_tools(tools: &[ToolDefinition], shape: NativeShape) -> String {
    let list = |one: fn(&ToolDefinition) -> String| tools.iter().map(one).collect::<Vec<_>>().join(",");
    match shape {
        NativeShape::OpenAiChat | NativeShape::Ollama => {
            let wrapped = |tool: &ToolDefinition| {
                format!(r#"{{"type":"function","function":{{{}}}}}"#, members(tool, "parameters"))
            };
            format!("[{}]", list(wrapped))
        }
        NativeShape::OpenAiResponses => {
            // Without this they are taken for strict schemas, and changed to be some.
            let flat = |tool: &ToolDefinition| {
                format!(r#"{{"type":"function",{},"strict":false}}"#, members(tool, "parameters"))
            };
            format!("[{}]", list(flat))
        }
        NativeShape::Anthropic => {
            format!("[{}]", list(|tool| format!("{{{}}}", members(tool, "input_schema"))))
        }
        NativeShape::Gemini if tools.is_empty() => "[]".to_owned(),
        NativeShape::Gemini => {
            let declarations = list(|tool| format!("{{{}}}", members(tool, "parametersJsonSchema")));
            format!(r#"[{{"functionDeclarations":[{declarations}]}}]"#)
        }
    }
}

fn members(tool: &ToolDefinition, parameters: &str) -> String {
    let string = |text: &str| serde_json::Value::from(text).to_string();
    let description = tool.description.as_deref();
    let description =
        description.map_or_else(String::new, |text| format!(r#""description":{},"#, string(text)));
    format!(r#""name":{},{description}"{parameters}":{}"#, string(&tool.name), tool.parameters.to_compact())
}
