//! Reads requests to Anthropic messages.

use std::mem;

use serde_json::{Value as Json, json};
use tokenline_core::json::Raw;

use crate::Provider;
use crate::request::received::{Content, Member, Read, Reading};
use crate::request::{
    AssistantPart, JsonFormat, Message, Opaque, ReturnedMessage, Source, ToolChoice, ToolResult, UserPart,
};

/// A name for schemas, which have none here.
const FORMAT_NAME: &str = "response";

pub(in crate::providers) fn read(body: &Member<'_>) -> Read<Reading> {
    let mut reader = Reader { reading: Reading::of(body)?, parts: Vec::new() };
    reader.settings(body)?;
    let system = body.get("system");
    if let Some(system) = &system {
        let text = system.texts("\n\n")?;
        if !text.is_empty() {
            reader.reading.request.messages.push(Message::System(text));
        }
    }
    let messages = body.require("messages")?.elements()?;
    reader.opening(system.as_ref(), &messages)?;
    for message in &messages {
        reader.message(message)?;
    }
    reader.tools(body)?;
    Ok(reader.reading)
}

struct Reader {
    reading: Reading,
    /// The parts of the user message that is not complete.
    parts: Vec<UserPart>,
}

impl Reader {
    fn settings(&mut self, body: &Member<'_>) -> Read<()> {
        let reading = &mut self.reading;
        reading.request.max_tokens = body.get_u32("max_tokens")?;
        if let Some(stop) = body.get("stop_sequences") {
            reading.stop(&stop)?;
        }
        let format = body.get("output_config").and_then(|config| config.get("format"));
        if let Some(format) = format.filter(|format| format.kind() == "json_schema") {
            reading.understand("/output_config/format");
            reading.request.response_format = JsonFormat::new(FORMAT_NAME, format.schema("schema")?).into();
        }
        if let Some(choice) = body.get("tool_choice") {
            reading.understand("/tool_choice/type");
            reading.understand("/tool_choice/name");
            reading.request.tool_choice = match &*choice.require("type")?.text()? {
                "auto" => ToolChoice::Auto,
                "any" => ToolChoice::Required,
                "none" => ToolChoice::None,
                "tool" => ToolChoice::Tool(choice.require_text("name")?),
                kind => return Err(choice.error(format!("unknown tool choice {kind:?}"))),
            };
        }
        Ok(())
    }

    fn tools(&mut self, body: &Member<'_>) -> Read<()> {
        for tool in body.list("tools")? {
            if matches!(&*tool.kind(), "" | "custom") {
                self.reading.request.tools.push(tool.tool("input_schema")?);
            }
        }
        Ok(())
    }

    /// System messages that open the conversation are written as a part of the system prompt: after its blocks, as blocks.
    fn opening(&mut self, system: Option<&Member<'_>>, messages: &[Member<'_>]) -> Read<()> {
        let is_system = |message: &&Member<'_>| role(message).as_deref() == Some("system");
        let opening: Vec<_> = messages.iter().take_while(is_system).collect();
        if opening.is_empty() {
            return Ok(());
        }
        let mut blocks = Vec::new();
        let contents = opening.iter().map(|message| message.require("content"));
        for content in system.cloned().map(Ok).into_iter().chain(contents) {
            let content = content?;
            match content.content()? {
                Content::Text(text) if text.is_empty() => {}
                Content::Text(text) => blocks.push(json!({"type": "text", "text": text})),
                Content::Parts(parts) => {
                    blocks.extend(parts.iter().filter_map(|part| part.value.to_value().ok()));
                }
            }
        }
        self.reading.placed.push(("/system".to_owned(), Json::Array(blocks)));
        self.reading.replace("/system");
        for message in opening {
            self.reading.replace(&*message.pointer);
        }
        Ok(())
    }

    fn message(&mut self, message: &Member<'_>) -> Read<()> {
        let (role, content) = (message.require("role")?, message.require("content")?);
        match &*role.text()? {
            "user" => self.user(&content)?,
            "assistant" => {
                let parts = self.assistant(&content)?;
                self.reading.request.messages.push(Message::Assistant(parts));
            }
            "system" => {
                let text = content.texts("\n\n")?;
                self.reading.request.messages.push(Message::System(text));
            }
            other => return Err(role.error(format!("unknown role {other:?}"))),
        }
        Ok(())
    }

    /// Results of tools are messages of their own.
    fn user(&mut self, content: &Member<'_>) -> Read<()> {
        let blocks = match content.content()? {
            Content::Text(text) => {
                self.reading.request.messages.push(Message::user(text));
                return Ok(());
            }
            Content::Parts(blocks) => blocks,
        };
        for block in blocks {
            match &*block.kind() {
                "text" => self.parts.push(UserPart::Text(block.require_text("text")?)),
                "tool_result" => {
                    self.end_parts();
                    let content = block.get("content");
                    let (is_error, mark) =
                        (block.get_bool("is_error")?, format!("{}/is_error", block.pointer));
                    match is_error {
                        Some(true) => self.reading.errors.push(mark),
                        _ => self.reading.understand(&mark),
                    }
                    self.reading.request.messages.push(Message::Tool(ToolResult {
                        call_id: Some(block.require_text("tool_use_id")?),
                        name: None,
                        content: content.as_ref().map_or(Ok(String::new()), |content| content.texts("\n"))?,
                        is_error: is_error.unwrap_or_default(),
                    }));
                    if let Some(content) = content {
                        self.reading.take_media(&content, |block| media(&block.kind(), block))?;
                    }
                }
                kind => self.parts.extend(media(kind, &block)?),
            }
        }
        self.end_parts();
        Ok(())
    }

    fn end_parts(&mut self) {
        let parts = mem::take(&mut self.parts);
        if !parts.is_empty() {
            self.reading.request.messages.push(Message::User(parts));
        }
    }

    fn assistant(&mut self, content: &Member<'_>) -> Read<Vec<AssistantPart>> {
        let blocks = match content.content()? {
            Content::Text(text) => return Ok(vec![AssistantPart::text(text)]),
            Content::Parts(blocks) => blocks,
        };
        let mut said = ReturnedMessage::default();
        for block in blocks {
            let part = match &*block.kind() {
                "text" => AssistantPart::text(block.require_text("text")?),
                "thinking" => {
                    let signature = block.get("signature").map(|signature| signature.value.raw());
                    let data = signature.and_then(|data| Raw::new(&format!("{{\"signature\":{data}}}")).ok());
                    let opaque = data.map(|data| Opaque { provider: Provider::Anthropic, data });
                    AssistantPart::Reasoning { text: block.require_text("thinking")?, opaque }
                }
                "tool_use" => {
                    let (id, name) = (block.require_text("id")?, block.require_text("name")?);
                    AssistantPart::tool_call(self.reading.call(id, name, block.get("input")))
                }
                kind => {
                    if kind == "redacted_thinking"
                        && let Some(parts) = block.kept_parts("data")?
                    {
                        let is_restored = said.restore(parts);
                        self.reading.restore(is_restored, &content.pointer, &block.pointer);
                        continue;
                    }
                    if !matches!(kind, "redacted_thinking" | "compaction") {
                        self.reading.foreign.push(block.pointer.clone());
                    }
                    // Only the provider understands it: calls that it runs, and their results, too.
                    let opaque = Some(Opaque { provider: Provider::Anthropic, data: block.raw() });
                    AssistantPart::Reasoning { text: String::new(), opaque }
                }
            };
            said.push(part);
        }
        Ok(said.take())
    }
}

fn role(message: &Member<'_>) -> Option<String> {
    message.get_text("role").ok().flatten()
}

/// An image or a document; `None` for other blocks, or if its data is not in the request.
fn media(kind: &str, block: &Member<'_>) -> Read<Option<UserPart>> {
    if !matches!(kind, "image" | "document") {
        return Ok(None);
    }
    let source = block.require("source")?;
    let data = match &*source.kind() {
        "url" => Source::Url(source.require_text("url")?),
        "base64" => Source::base64(source.require_text("media_type")?, source.require_text("data")?),
        // Documents of plain text.
        "text" => return source.require_text("data").map(|text| Some(UserPart::Text(text))),
        "content" => return source.require("content")?.texts("\n").map(|text| Some(UserPart::Text(text))),
        _ => return Ok(None),
    };
    Ok(Some(match kind {
        "image" => UserPart::Image(data),
        _ => UserPart::Document { name: block.get_text("title")?, source: data },
    }))
}
