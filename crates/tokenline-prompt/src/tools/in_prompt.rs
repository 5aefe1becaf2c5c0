//! Requests for models without function calling: tools, calls and results as text.

use std::collections::HashMap;
use std::mem;

use tokenline_llm::request::{AssistantPart, ChatRequest, Message, ToolChoice};

use super::{ToolCalling, ToolPromptError, ToolPrompter};

impl ToolPrompter {
    /// Writes a request for a model that calls tools in its text: the tools are described in the system prompt, earlier
    /// calls are written as the model writes them, and results are the user's. For function calling, the request stays
    /// as it is.
    ///
    /// Read the response with the same format: [`TextMode::ToolCalls`](tokenline_llm::TextMode::ToolCalls). The validators of
    /// the request's tools stay.
    ///
    /// ```
    /// use tokenline_core::{CallFormat, CompletedBy, ToolCall, ToolDefinition, json::Raw};
    /// use tokenline_llm::request::{ChatRequest, Message};
    /// use tokenline_prompt::tools::ToolPrompter;
    ///
    /// let call = ToolCall::new("now", Raw::new("{}")?, CompletedBy::EndOfInput);
    /// let request = ChatRequest::new("qwen3")
    ///     .user("What time is it?")
    ///     .tools([ToolDefinition::new("now")])
    ///     .messages([Message::assistant("", [call.clone()]), Message::tool_result(&call, "12:00")]);
    ///
    /// let qwen = CallFormat::from_name("qwen3").unwrap().into();
    /// let request = ToolPrompter::new().tools_in_prompt(&qwen, request)?;
    /// assert!(request.tools.is_empty() && request.messages[0].text().contains(r#""name": "now""#));
    /// assert_eq!(request.messages[2].text(), "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
    /// assert_eq!(request.messages[3], Message::user("<tool_response>\n12:00\n</tool_response>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`prompt`](Self::prompt), and if a result lacks a name or id that the template needs.
    pub fn tools_in_prompt(
        &self,
        calling: &ToolCalling,
        mut request: ChatRequest,
    ) -> Result<ChatRequest, ToolPromptError> {
        if *calling == ToolCalling::FunctionCalling {
            return Ok(request);
        }
        let tools = mem::take(&mut request.tools);
        let choice = mem::take(&mut request.tool_choice);
        request.messages = self.as_text(calling, &request.messages)?;
        if tools.is_empty() || choice == ToolChoice::None {
            return Ok(request);
        }
        let mut prompt = self.prompt(calling, &tools)?.text().unwrap_or_default().to_owned();
        match choice {
            ToolChoice::Required => prompt += "\n\nYour next reply must call at least one of them.",
            ToolChoice::Tool(name) => prompt += &format!("\n\nYour next reply must call {name}."),
            _ => {}
        }
        match request.messages.first_mut() {
            Some(Message::System(text)) => *text = format!("{}\n\n{prompt}", text.trim_end()),
            _ => request.messages.insert(0, Message::System(prompt)),
        }
        Ok(request)
    }

    /// The messages with calls and results as text.
    fn as_text(&self, calling: &ToolCalling, messages: &[Message]) -> Result<Vec<Message>, ToolPromptError> {
        let is_result = |message: &Message| matches!(message, Message::Tool(_));
        // A conversation may have many results: none looks through the messages.
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut written = Vec::with_capacity(messages.len());
        for turn in messages.chunk_by(|one, next| is_result(one) && is_result(next)) {
            match turn {
                [Message::Tool(_), ..] => {
                    let results: Vec<Message> = turn.iter().map(|result| named(result, &names)).collect();
                    written.push(Message::user(self.results_as_user(calling, &results)?));
                }
                [message @ Message::Assistant(parts)] if message.tool_calls().next().is_some() => {
                    let calls = message.tool_calls();
                    names.extend(calls.filter_map(|call| Some((call.call_id.as_deref()?, &*call.name))));
                    written.push(Message::Assistant(self.said(calling, parts)?));
                }
                others => written.extend_from_slice(others),
            }
        }
        Ok(written)
    }

    /// The parts of a message, with its calls at the end of its text.
    fn said(
        &self,
        calling: &ToolCalling,
        parts: &[AssistantPart],
    ) -> Result<Vec<AssistantPart>, ToolPromptError> {
        let (mut said, mut text, mut calls) = (Vec::new(), String::new(), Vec::new());
        for part in parts {
            match part {
                AssistantPart::Text { text: more, .. } => text += more,
                AssistantPart::ToolCall { call, .. } => calls.push(call.clone()),
                part => said.push(part.clone()),
            }
        }
        let calls = self.calls(calling, &calls)?;
        let between = if text.trim().is_empty() { "" } else { "\n" };
        said.push(AssistantPart::text(format!("{}{between}{calls}", text.trim_end())));
        Ok(said)
    }

    /// Results that have their names, as a text of the user.
    fn results_as_user(&self, calling: &ToolCalling, results: &[Message]) -> Result<String, ToolPromptError> {
        match self.write_results(calling, results, true) {
            Ok(text) => Ok(text.trim().to_owned()),
            // JSON Lines, single objects, and templates of your own.
            Err(ToolPromptError::NoResults { .. }) => Ok(plain_results(results)),
            Err(error) => Err(error),
        }
    }
}

/// The result with the name of its tool, if an earlier call has its id.
fn named(message: &Message, names: &HashMap<&str, &str>) -> Message {
    let mut message = message.clone();
    if let Message::Tool(result) = &mut message
        && result.name.is_none()
    {
        let name = result.call_id.as_deref().and_then(|id| names.get(id));
        result.name = name.map(|name| (*name).to_owned());
    }
    message
}

/// Results in words.
fn plain_results(results: &[Message]) -> String {
    let results = results.iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    let texts: Vec<String> = results
        .map(|result| {
            let of = result.name.as_ref().map_or(String::new(), |name| format!(" of {name}"));
            let kind = if result.is_error { "Error" } else { "Result" };
            format!("{kind}{of}:\n{}", result.content)
        })
        .collect();
    texts.join("\n\n")
}
