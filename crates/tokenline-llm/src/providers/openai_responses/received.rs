//! Reads requests to OpenAI Responses.

use crate::Provider;
use crate::request::received::{Member, Read, Reading};
use crate::request::{AssistantPart, Message, Opaque, ResponseFormat, ReturnedMessage, ToolResult, UserPart};

pub(in crate::providers) fn read(body: &Member<'_>) -> Read<Reading> {
    let said = ReturnedMessage::default();
    let mut reader = Reader { reading: Reading::of(body)?, is_opening: true, said };
    reader.settings(body)?;
    if let Some(instructions) = body.get_text("instructions")? {
        reader.reading.request.messages.push(Message::System(instructions));
    }
    // A stored prompt or response may be all of it.
    match body.get("input") {
        Some(input) if input.value.as_str().is_some() => {
            reader.reading.replace("/input");
            reader.reading.request.messages.push(Message::user(input.text()?));
        }
        Some(input) => {
            for item in input.elements()? {
                reader.item(&item)?;
            }
        }
        None => {}
    }
    reader.end_turn();
    reader.tools(body)?;
    Ok(reader.reading)
}

struct Reader {
    reading: Reading,
    /// There are only system messages so far.
    is_opening: bool,
    /// The assistant message that is not complete.
    said: ReturnedMessage,
}

impl Reader {
    fn settings(&mut self, body: &Member<'_>) -> Read<()> {
        let reading = &mut self.reading;
        reading.request.max_tokens = body.get_u32("max_output_tokens")?;
        if let Some(format) = body.get("text").and_then(|text| text.get("format")) {
            reading.request.response_format = match &*format.kind() {
                "json_object" => ResponseFormat::Json,
                "json_schema" => format.json_format()?.into(),
                "text" => {
                    reading.understand("/text/format");
                    ResponseFormat::Text
                }
                _ => ResponseFormat::Text,
            };
        }
        let included: Vec<_> = body.list("include")?.iter().map(|name| name.value.as_str()).collect();
        if included.iter().all(|name| name.as_deref() == Some("reasoning.encrypted_content")) {
            // Other providers send such data in any case.
            reading.understand("/include");
        }
        if let Some(choice) = body.get("tool_choice") {
            reading.request.tool_choice = reading.openai_choice(&choice)?;
        }
        Ok(())
    }

    fn tools(&mut self, body: &Member<'_>) -> Read<()> {
        for tool in body.list("tools")? {
            match &*tool.kind() {
                "function" => self.reading.request.tools.push(tool.tool("parameters")?),
                "" => return Err(tool.error("must be an object with a type")),
                _ => {}
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &Member<'_>) -> Read<()> {
        match &*item.kind() {
            "message" => self.message(item)?,
            "" if item.get("role").is_some() => self.message(item)?,
            "" => return Err(item.error("must be an object with a type or a role")),
            "reasoning" => self.reasoning(item)?,
            "function_call" => {
                let (id, name) = (item.require_text("call_id")?, item.require_text("name")?);
                let call = self.reading.call(id, name, item.get("arguments"));
                self.said.push(AssistantPart::tool_call(call));
            }
            "function_call_output" => {
                let (output, call_id) = (item.require("output")?, item.require_text("call_id")?);
                let (call_id, content) = (Some(call_id), output.texts("\n")?);
                self.push(Message::Tool(ToolResult { call_id, name: None, content, is_error: false }));
                self.reading.take_media(&output, |part| Ok(UserPart::of_value(part.value)))?;
            }
            // Calls that the provider runs, their results, references: only the provider understands them.
            _ => {
                self.reading.foreign.push(item.pointer.clone());
                self.said.push(opaque(String::new(), item));
            }
        }
        Ok(())
    }

    fn message(&mut self, item: &Member<'_>) -> Read<()> {
        let (role, content) = (item.require("role")?, item.require("content")?);
        match &*role.text()? {
            "user" => self.push(Message::User(content.user_parts()?)),
            "assistant" => self.said.push(AssistantPart::text(content.texts("")?)),
            "system" | "developer" => {
                self.push(Message::System(content.texts("\n\n")?));
                if self.is_opening {
                    // Not a part of `instructions`, where the request's writer would put it.
                    let index = self.reading.request.messages.len() - 1;
                    let own = Message::Assistant(vec![opaque(String::new(), item)]);
                    self.reading.substitutes.push((index, own));
                }
            }
            other => return Err(role.error(format!("unknown role {other:?}"))),
        }
        Ok(())
    }

    fn reasoning(&mut self, item: &Member<'_>) -> Read<()> {
        if let Some(parts) = item.kept_parts("encrypted_content")? {
            let is_restored = self.said.restore(parts);
            self.reading.restore(is_restored, &item.pointer, &item.pointer);
            return Ok(());
        }
        let mut texts = Vec::new();
        for list in ["summary", "content"] {
            for part in item.list(list)? {
                texts.extend(part.part_text()?);
            }
        }
        self.said.push(opaque(texts.join("\n\n"), item));
        Ok(())
    }

    fn push(&mut self, message: Message) {
        self.end_turn();
        self.is_opening &= matches!(message, Message::System(_));
        self.reading.request.messages.push(message);
    }

    fn end_turn(&mut self) {
        let parts = self.said.take();
        if !parts.is_empty() {
            self.is_opening = false;
            self.reading.request.messages.push(Message::Assistant(parts));
        }
    }
}

/// An item that goes back unchanged.
fn opaque(text: String, item: &Member<'_>) -> AssistantPart {
    let opaque = Some(Opaque { provider: Provider::OpenAiResponses, data: item.raw() });
    AssistantPart::Reasoning { text, opaque }
}
