//! Reads requests to OpenAI chat completions.

use std::collections::VecDeque;

use serde_json::json;
use tokenline_core::ToolCall;
use tokenline_core::json::Raw;

use crate::Provider;
use crate::providers::values::{custom_input, is_null_or_empty};
use crate::request::received::{Member, Read, Reading};
use crate::request::{AssistantPart, Message, Opaque, ResponseFormat, ToolChoice, ToolResult, UserPart};

/// The members of an assistant message with reasoning, which servers expect back.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

pub(in crate::providers) fn read(body: &Member<'_>) -> Read<Reading> {
    let mut reader = Reader { reading: Reading::of(body)?, legacy_calls: VecDeque::new(), count: 0 };
    reader.settings(body)?;
    for message in body.require("messages")?.elements()? {
        let read = reader.message(&message)?;
        let content = message.get("content").filter(|_| matches!(read, Message::Tool(_)));
        reader.reading.request.messages.push(read);
        if let Some(content) = content {
            reader.reading.take_media(&content, |part| Ok(UserPart::of_value(part.value)))?;
        }
    }
    reader.tools(body)?;
    Ok(reader.reading)
}

struct Reader {
    reading: Reading,
    /// The ids of calls in the deprecated form, which has none, whose results are to come.
    legacy_calls: VecDeque<String>,
    /// The number of these ids.
    count: usize,
}

impl Reader {
    fn settings(&mut self, body: &Member<'_>) -> Read<()> {
        let reading = &mut self.reading;
        let max_tokens = body.get_u32("max_tokens")?;
        reading.request.max_tokens = body.get_u32("max_completion_tokens")?.or(max_tokens);
        // Servers take negative seeds, too: these are not the same for every provider.
        let seed = body.get("seed").and_then(|seed| seed.value.as_number()?.as_u64());
        reading.request.seed = seed;
        if let Some(stop) = body.get("stop") {
            reading.stop(&stop)?;
        }
        let options = body.get("stream_options");
        let usage = options.map(|options| options.get_bool("include_usage")).transpose()?.flatten();
        reading.include_usage = usage.unwrap_or_default();
        // Without a stream, nothing is asked for.
        reading.request.include_usage = reading.include_usage || !reading.request.stream;
        reading.understand("/stream_options/include_usage");
        reading.understand("/max_completion_tokens");
        if body.get("n").is_some_and(|n| n.value.raw() == "1") {
            reading.understand("/n");
        }
        if let Some(format) = body.get("response_format") {
            reading.request.response_format = match &*format.kind() {
                "json_object" => ResponseFormat::Json,
                "json_schema" => format.require("json_schema")?.json_format()?.into(),
                "text" => {
                    reading.understand("/response_format");
                    ResponseFormat::Text
                }
                // Such as a grammar of vLLM.
                _ => ResponseFormat::Text,
            };
        }
        Ok(())
    }

    fn tools(&mut self, body: &Member<'_>) -> Read<()> {
        for tool in body.list("tools")? {
            match &*tool.kind() {
                "function" => {
                    let tool = tool.require("function")?.tool("parameters")?;
                    self.reading.request.tools.push(tool);
                }
                "" => return Err(tool.error("must be an object with a type")),
                _ => {}
            }
        }
        for function in body.list("functions")? {
            self.reading.request.tools.push(function.tool("parameters")?);
            self.reading.replace("/functions");
        }
        if let Some(choice) = body.get("function_call") {
            self.reading.replace("/function_call");
            self.reading.request.tool_choice = match choice.value.as_str() {
                Some(_) => self.reading.openai_choice(&choice)?,
                None => ToolChoice::Tool(choice.require_text("name")?),
            };
        }
        if let Some(choice) = body.get("tool_choice") {
            self.reading.request.tool_choice = self.reading.openai_choice(&choice)?;
        }
        Ok(())
    }

    fn message(&mut self, message: &Member<'_>) -> Read<Message> {
        let role = message.require("role")?;
        let content = || message.require("content");
        Ok(match &*role.text()? {
            "system" | "developer" => Message::System(content()?.texts("\n\n")?),
            "user" => Message::User(content()?.user_parts()?),
            "assistant" => Message::Assistant(self.assistant(message)?),
            "tool" => Message::Tool(ToolResult {
                call_id: Some(message.require_text("tool_call_id")?),
                name: None,
                content: message.get("content").map_or(Ok(String::new()), |content| content.texts("\n"))?,
                is_error: false,
            }),
            "function" => self.legacy_result(message)?,
            role => {
                let place = message.require("role")?;
                return Err(place.error(format!("unknown role {role:?}")));
            }
        })
    }

    fn assistant(&mut self, message: &Member<'_>) -> Read<Vec<AssistantPart>> {
        let mut parts: Vec<_> = reasoning(message).into_iter().collect();
        let text = message.get("content").map(|content| content.texts("")).transpose()?;
        let text = match text.filter(|text| !text.is_empty()) {
            Some(text) => Some(text),
            None => message.get_text("refusal")?,
        };
        parts.extend(text.filter(|text| !text.is_empty()).map(AssistantPart::text));
        for call in message.list("tool_calls")? {
            parts.push(AssistantPart::tool_call(self.call(&call)?));
        }
        if let Some(call) = message.get("function_call") {
            let id = self.legacy_id();
            self.legacy_calls.push_back(id.clone());
            let mut call = self.reading.call(id, call.require_text("name")?, call.get("arguments"));
            call.is_synthetic_id = true;
            parts.push(AssistantPart::tool_call(call));
            self.reading.replace(format!("{}/function_call", message.pointer));
        }
        Ok(parts)
    }

    fn call(&mut self, call: &Member<'_>) -> Read<ToolCall> {
        let id = call.require_text("id")?;
        if let Some(custom) = call.get("custom") {
            // As calls of a response: an object with the text.
            let input = custom.get_text("input")?.unwrap_or_default();
            let mut call = self.reading.call(id, custom.require_text("name")?, None);
            call.parameters = Raw::new(&custom_input(&input)).unwrap_or(call.parameters);
            return Ok(call);
        }
        let function = call.require("function")?;
        Ok(self.reading.call(id, function.require_text("name")?, function.get("arguments")))
    }

    /// The result of a call in the deprecated form: the id is that of the call before.
    fn legacy_result(&mut self, message: &Member<'_>) -> Read<Message> {
        let id = self.legacy_calls.pop_front().unwrap_or_else(|| self.legacy_id());
        self.reading.replace(format!("{}/name", message.pointer));
        self.reading.replace(format!("{}/role", message.pointer));
        Ok(Message::Tool(ToolResult {
            call_id: Some(id),
            name: Some(message.require_text("name")?),
            content: message.get("content").map_or(Ok(String::new()), |content| content.texts("\n"))?,
            is_error: false,
        }))
    }

    fn legacy_id(&mut self) -> String {
        self.count += 1;
        format!("function_call_{}", self.count)
    }
}

/// The reasoning of an assistant message: one text under its name, or the members with details.
fn reasoning(message: &Member<'_>) -> Option<AssistantPart> {
    let present = REASONING.iter().filter_map(|name| {
        let value = message.value.get(name).filter(|value| !is_null_or_empty(*value))?;
        Some((*name, value))
    });
    let present: Vec<_> = present.collect();
    let text = present.iter().find_map(|(_, value)| value.as_str());
    let data = match present[..] {
        [] => return None,
        [(name, value)] if value.as_str().is_some() => Raw::from(json!(name)),
        _ => {
            let members = present.iter().map(|(name, value)| format!("\"{name}\":{}", value.raw()));
            Raw::new(&format!("{{{}}}", members.collect::<Vec<_>>().join(","))).ok()?
        }
    };
    let opaque = Some(Opaque { provider: Provider::OpenAiChat, data });
    Some(AssistantPart::Reasoning { text: text.unwrap_or_default().into_owned(), opaque })
}

impl Reading {
    /// The `tool_choice` of OpenAI's formats.
    pub(in crate::providers) fn openai_choice(&mut self, choice: &Member<'_>) -> Read<ToolChoice> {
        if let Some(mode) = choice.value.as_str() {
            self.understand("/tool_choice");
            return match &*mode {
                "auto" => Ok(ToolChoice::Auto),
                "none" => Ok(ToolChoice::None),
                "required" => Ok(ToolChoice::Required),
                mode => Err(choice.error(format!("unknown tool choice {mode:?}"))),
            };
        }
        match &*choice.kind() {
            "function" => {
                let function = choice.get("function").unwrap_or_else(|| choice.clone());
                self.understand("/tool_choice");
                Ok(ToolChoice::Tool(function.require_text("name")?))
            }
            "allowed_tools" => {
                let allowed = choice.get("allowed_tools").unwrap_or_else(|| choice.clone());
                self.understand("/tool_choice");
                // The request cannot restrict its tools.
                self.foreign.extend(allowed.get("tools").map(|tools| tools.pointer));
                match &*allowed.require("mode")?.text()? {
                    "required" => Ok(ToolChoice::Required),
                    _ => Ok(ToolChoice::Auto),
                }
            }
            "" => Err(choice.error("must be a string or an object with a type")),
            // A tool of the provider.
            _ => Ok(ToolChoice::Auto),
        }
    }
}
