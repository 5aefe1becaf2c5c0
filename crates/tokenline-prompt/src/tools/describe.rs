//! Descriptions of tools in prompts.

use tokenline_core::ToolDefinition;

use super::Language;

/// Lists the tools, each with its description and the JSON Schema of its parameters.
///
/// The schemas are compact, their members in the original order: models fill in parameters in that order. The list is
/// not JSON Lines, so that a definition is not mistaken for a call.
///
/// ```
/// use tokenline_core::{ToolDefinition, json::Raw};
/// use tokenline_prompt::tools::{Language, tool_descriptions};
///
/// let schema = Raw::new(r#"{"type": "object", "properties": {"city": {"type": "string"}}}"#)?;
/// let weather = ToolDefinition::new("weather").with_description("The weather of a city.").with_parameters(schema);
/// assert_eq!(
///     tool_descriptions(&[weather], Language::English),
///     "- weather: The weather of a city.\n  parameters: {\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn tool_descriptions(tools: &[ToolDefinition], language: Language) -> String {
    let (colon, parameters) = language.labels();
    let mut out = String::new();
    for tool in tools {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str("- ");
        out.push_str(&tool.name);
        if let Some(description) = tool.description.as_deref().map(str::trim).filter(|text| !text.is_empty())
        {
            out.push_str(colon);
            // Indents a description of several lines under its tool.
            for (at, line) in description.lines().enumerate() {
                out.push_str(if at > 0 { "\n  " } else { "" });
                out.push_str(line);
            }
        }
        out.push_str("\n  ");
        out.push_str(parameters);
        out.push_str(&tool.parameters.to_compact());
    }
    out
}

#[cfg(test)]
mod tests {
    use tokenline_core::json::Raw;

    use super::*;

    #[test]
    fn white_space_inside_strings_is_kept() {
        for (text, expected) in [
            ("{ \"a\" :\t[ 1.50 ,\r\n \" b \\\" c \" ] }", r#"{"a":[1.50," b \" c "]}"#),
            (r#"{ "a\\" : "\\" , "b" : " \\\" x" }"#, r#"{"a\\":"\\","b":" \\\" x"}"#),
        ] {
            let tool = ToolDefinition::new("t").with_parameters(Raw::new(text).unwrap());
            let described = tool_descriptions(&[tool], Language::English);
            assert_eq!(described, format!("- t\n  parameters: {expected}"));
        }
    }
}
