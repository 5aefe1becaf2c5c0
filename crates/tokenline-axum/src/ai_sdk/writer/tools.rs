//! Tool calls, their results, and the message that keeps what the page does not show.

use tokenline::json::Raw;
use tokenline::llm::request::{AssistantPart, Message};
use tokenline::{RejectedCall, ToolCall};

use super::ChunkWriter;
use crate::ai_sdk::calls::{CallPlace, MissingCall};
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
        let (tool_call_id, is_in_text) = self.calls.next_result(call);
        self.send(UiChunk::ToolOutputAvailable { tool_call_id, output, preliminary: false });
        is_in_text
    }

    /// Writes the error of a tool. Returns whether the model wrote the call in its text.
    pub(in crate::ai_sdk) fn write_error(&mut self, call: &ToolCall, error_text: String) -> bool {
        let (tool_call_id, is_in_text) = self.calls.next_result(call);
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
        if !self.calls.has_text_calls() && parts.iter().all(|part| part.opaque().is_none()) {
            return;
        }
        let mut parts = parts.clone();
        self.calls.show(parts.iter_mut().filter_map(|part| match part {
            AssistantPart::ToolCall { call, .. } => Some(call),
            _ => None,
        }));
        let parts = serde_json::to_value(parts).expect("the parts of a message are strings");
        self.send(UiChunk::Data(DataPart::new(KEPT_MESSAGE, parts.into())));
    }

    pub(super) fn begin_call(&mut self, number: u64, call_id: Option<&str>, name: &str) {
        self.open_step();
        self.close_part();
        let tool_call_id = self.calls.begin(number, call_id, name);
        self.send(UiChunk::ToolInputStart { tool_call_id, tool_name: name.to_owned(), dynamic: false });
    }

    pub(super) fn arguments(&mut self, number: u64, text: &str) {
        if let Some(tool_call_id) = self.calls.open_id(number) {
            self.send(UiChunk::ToolInputDelta { tool_call_id, input_text_delta: text.to_owned() });
        }
    }

    /// Writes a complete call. Returns the id to know it by.
    pub(in crate::ai_sdk) fn end_call(&mut self, place: CallPlace, call: &ToolCall) -> String {
        self.open_step();
        self.close_part();
        let tool_call_id = self.calls.end(place, call.call_id.as_deref(), false);
        let (tool_name, input) = (call.name.clone(), call.parameters.clone());
        let id = tool_call_id.clone();
        self.send(UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, dynamic: false });
        id
    }

    /// Writes a rejected call. Returns the message that reports it to the model.
    pub(in crate::ai_sdk) fn reject_call(
        &mut self,
        number: Option<u64>,
        call: &RejectedCall,
    ) -> Option<Message> {
        self.open_step();
        let tool_name = call.name.clone()?;
        self.close_part();
        let place = CallPlace::rejected(number, call);
        let tool_call_id = self.calls.end(place, call.call_id.as_deref(), true);
        let input = Raw::new(&call.received).unwrap_or_else(|_| Raw::from(serde_json::json!(call.received)));
        let message = Message::rejected(call).map(|(_, message)| message);
        // The page sends this text back with the next message, so it must equal the model's.
        let error_text = match &message {
            Some(Message::Tool(result)) if !place.is_in_text => result.content.clone(),
            _ => format!("not run: {}", call.diagnostic.for_model()),
        };
        let message =
            if place.is_in_text { Some(text_call_result(&tool_name, &error_text)) } else { message };
        self.send(UiChunk::ToolInputError { tool_call_id, tool_name, input, dynamic: false, error_text });
        message
    }

    /// Ends a call in a text that turned out to be text.
    pub(super) fn discard_call(&mut self, number: u64) {
        if let Some(call) = self.calls.take_one(number) {
            self.close_call(call, "this is not a call, but text");
        }
    }

    /// Ends the calls that have begun and have no end.
    pub(super) fn close_calls(&mut self) {
        for call in self.calls.take_open() {
            self.close_call(call, "the call is incomplete");
        }
    }

    fn close_call(&mut self, call: MissingCall, error_text: &str) {
        let MissingCall { tool_call_id, tool_name } = call;
        let (input, error_text) = (Raw::from(serde_json::Value::Null), error_text.to_owned());
        self.send(UiChunk::ToolInputError { tool_call_id, tool_name, input, dynamic: false, error_text });
    }
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
