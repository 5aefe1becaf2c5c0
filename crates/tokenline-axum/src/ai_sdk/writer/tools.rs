//! Tool calls, their results, and the message that keeps what the page does not show.

use tokenline::json::Raw;
use tokenline::llm::request::{AssistantPart, Message};
use tokenline::{Origin, RejectedCall, ToolCall};

use super::ChunkWriter;
use crate::ai_sdk::{DataPart, UiChunk};

/// The name of the data part that holds a step's message for the next request; see [`ChunkWriter::keep_message`].
pub(in crate::ai_sdk) const KEPT_MESSAGE: &str = "tokenline-message";

impl ChunkWriter {
    /// Writes the output of a tool: of a call in this message, or in the message that it continues.
    pub fn tool_output(&mut self, call: &ToolCall, output: Raw) {
        self.write_output(call, output);
    }

    /// Writes the error of a tool.
    pub fn tool_error(&mut self, call: &ToolCall, error_text: impl Into<String>) {
        self.write_error(call, error_text.into());
    }

    /// Writes the output of a tool. Returns whether the model wrote the call in its text.
    pub(in crate::ai_sdk) fn write_output(&mut self, call: &ToolCall, output: Raw) -> bool {
        let (tool_call_id, is_in_text) = self.steps.ids_mut().next_result(call);
        self.send(UiChunk::ToolOutputAvailable { tool_call_id, output, preliminary: false });
        is_in_text
    }

    /// Writes the error of a tool. Returns whether the model wrote the call in its text.
    pub(in crate::ai_sdk) fn write_error(&mut self, call: &ToolCall, error_text: String) -> bool {
        let (tool_call_id, is_in_text) = self.steps.ids_mut().next_result(call);
        self.send(UiChunk::ToolOutputError { tool_call_id, error_text });
        is_in_text
    }

    /// Keeps the message of the response for the next request, if the parts that the page shows do not say everything:
    /// the provider attached data to it, such as signatures and encrypted reasoning, or the model wrote calls in its
    /// text.
    ///
    /// The page returns the message as a part `data-tokenline-message`, and
    /// [`UseChatRequest::to_messages`](crate::ai_sdk::UseChatRequest::to_messages) puts it in the place of the step's
    /// parts. Call this method after the last event of a response.
    pub fn keep_message(&mut self, message: &Message) {
        let Message::Assistant(parts) = message else { return };
        if !self.steps.ids().has_text_calls() && parts.iter().all(|part| part.opaque().is_none()) {
            return;
        }
        let mut parts = parts.clone();
        self.steps.ids_mut().show(parts.iter_mut().filter_map(|part| match part {
            AssistantPart::ToolCall { call, .. } => Some(call),
            _ => None,
        }));
        let parts = serde_json::to_value(parts).expect("the parts of a message are strings");
        self.send(UiChunk::Data(DataPart::new(KEPT_MESSAGE, parts.into())));
    }

    /// The id by which the page knows the call that was written last.
    pub(in crate::ai_sdk) fn latest_call_id(&self) -> String {
        self.steps.ids().latest().to_owned()
    }
}

/// Why a call was rejected, as the page shows it and sends it back with the next message: it must equal what the model
/// receives.
pub(crate) fn error_text(call: &RejectedCall) -> String {
    match Message::rejected(call) {
        Some((_, Message::Tool(result))) if !is_in_text(call) => result.content,
        _ => format!("not run: {}", call.diagnostic.for_model()),
    }
}

/// The message that reports a rejected call to the model; `None` for a call without a name.
pub(in crate::ai_sdk) fn rejected_message(call: &RejectedCall) -> Option<Message> {
    let name = call.name.as_deref()?;
    if is_in_text(call) {
        return Some(text_call_result(name, &error_text(call)));
    }
    Message::rejected(call).map(|(_, message)| message)
}

fn is_in_text(call: &RejectedCall) -> bool {
    call.diagnostic.origin == Origin::Text
}

/// The result of a call as a message for the model.
pub(in crate::ai_sdk) fn call_result(
    call: &ToolCall,
    content: Result<String, String>,
    is_in_text: bool,
) -> Message {
    match content {
        Ok(content) | Err(content) if is_in_text => text_call_result(&call.name, &content),
        Ok(content) => Message::tool_result(call, content),
        Err(content) => Message::tool_error(call, content),
    }
}

/// The result of a call that the model wrote in its text. The provider knows nothing of the call, so the user reports
/// the result.
pub(in crate::ai_sdk) fn text_call_result(tool: &str, content: &str) -> Message {
    Message::user(format!("Result of the tool {tool}:\n{content}"))
}
