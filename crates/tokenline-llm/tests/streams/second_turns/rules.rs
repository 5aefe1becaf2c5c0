//! The providers' rules for the messages of a request.

use serde_json::Value;
use tokenline_llm::Provider;

/// All strings in a body, also those in strings that are JSON.
pub(super) fn strings(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, all)),
        Value::Object(members) => members.values().for_each(|value| strings(value, all)),
        _ => {}
    }
}

pub(super) fn all<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn is_plain(text: &str, others: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// The rules of a provider's API.
pub(super) fn check(provider: Provider, body: &Value) -> Result<(), String> {
    let (mut calls, mut results, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let blank = |text: &str| match provider {
        Provider::Anthropic | Provider::Bedrock => text.trim().is_empty(),
        _ => text.is_empty(),
    };
    let must = |holds: bool, what: &Value| if holds { Ok(()) } else { Err(format!("{provider:?}: {what}")) };
    match provider {
        Provider::OpenAiChat | Provider::Cohere | Provider::Ollama => {
            for message in all(body, "/messages") {
                let has_calls = all(message, "/tool_calls").count() > 0;
                let reasoning = ["reasoning_content", "reasoning_details", "tool_plan"];
                let has_reasoning = reasoning.iter().any(|name| message.get(name).is_some());
                let content = text(message, "/content");
                must(
                    message["role"] != "assistant" || has_calls || has_reasoning || !content.is_empty(),
                    message,
                )?;
                for call in all(message, "/tool_calls") {
                    calls.push(text(call, "/id"));
                    names.push(text(call, "/function/name"));
                }
                if message["role"] == "tool" {
                    results.push(text(message, "/tool_call_id"));
                }
            }
        }
        Provider::OpenAiResponses => {
            for item in all(body, "/input") {
                match text(item, "/type") {
                    "function_call" => {
                        calls.push(text(item, "/call_id"));
                        names.push(text(item, "/name"));
                    }
                    "function_call_output" => results.push(text(item, "/call_id")),
                    "message" => must(!blank(text(item, "/content")), item)?,
                    _ => {}
                }
            }
        }
        Provider::Anthropic | Provider::Bedrock => {
            let mut role = "assistant";
            for message in all(body, "/messages") {
                must(text(message, "/role") != role && all(message, "/content").count() > 0, message)?;
                role = text(message, "/role");
                for block in all(message, "/content") {
                    for part in [block].into_iter().chain(all(block, "/toolResult/content")) {
                        must(part.get("text").is_none() || !blank(text(part, "/text")), block)?;
                    }
                    let (call, result) = match provider {
                        Provider::Bedrock => (block.get("toolUse"), block.get("toolResult")),
                        _ => (
                            Some(block).filter(|block| block["type"] == "tool_use"),
                            Some(block).filter(|block| block["type"] == "tool_result"),
                        ),
                    };
                    if let Some(call) = call {
                        let id = text(call, if provider == Provider::Bedrock { "/toolUseId" } else { "/id" });
                        must(is_plain(id, "_-") && call["input"].is_object(), block)?;
                        calls.push(id);
                        names.push(text(call, "/name"));
                    }
                    if let Some(result) = result {
                        let of = if provider == Provider::Bedrock { "/toolUseId" } else { "/tool_use_id" };
                        results.push(text(result, of));
                        must(provider != Provider::Bedrock || all(result, "/content").count() > 0, block)?;
                        // The provider's SDK sends an empty result as it is.
                        let is_refused = |content: &str| !content.is_empty() && blank(content);
                        must(!result.get("content").and_then(Value::as_str).is_some_and(is_refused), block)?;
                    }
                }
            }
        }
        Provider::Gemini => {
            let mut role = "model";
            for content in all(body, "/contents") {
                must(text(content, "/role") != role && all(content, "/parts").count() > 0, content)?;
                role = text(content, "/role");
                for part in all(content, "/parts") {
                    let is_signed = part.get("thoughtSignature").is_some();
                    must(part.get("text").is_none() || is_signed || !blank(text(part, "/text")), part)?;
                    if let Some(call) = part.get("functionCall") {
                        calls.push(text(call, "/name"));
                        names.push(text(call, "/name"));
                    }
                    if let Some(result) = part.get("functionResponse") {
                        results.push(text(result, "/name"));
                    }
                }
            }
        }
        _ => {
            for step in all(body, "/input") {
                match text(step, "/type") {
                    "function_call" => {
                        calls.push(text(step, "/id"));
                        names.push(text(step, "/name"));
                    }
                    "function_result" => results.push(text(step, "/call_id")),
                    "model_output" => must(!blank(text(step, "/content/0/text")), step)?,
                    _ => {}
                }
            }
        }
    }
    calls.sort_unstable();
    results.sort_unstable();
    if calls != results && provider != Provider::Ollama {
        return Err(format!("{provider:?}: {calls:?} have the results {results:?}"));
    }
    let is_unique = calls.windows(2).all(|pair| pair[0] != pair[1]);
    let is_named = |name: &&str| match provider {
        Provider::Ollama => true,
        Provider::Gemini | Provider::GeminiInteractions => {
            is_plain(name, "_-.:") && !name.starts_with(|c: char| c.is_ascii_digit() || "-.:".contains(c))
        }
        _ => is_plain(name, "_-"),
    };
    let is_fine =
        names.iter().all(is_named) && (is_unique || matches!(provider, Provider::Gemini | Provider::Ollama));
    if is_fine { Ok(()) } else { Err(format!("{provider:?}: {names:?} {calls:?}")) }
}
