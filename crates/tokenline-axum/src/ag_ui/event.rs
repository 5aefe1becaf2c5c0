//! The events of AG-UI.

use serde::Serialize;
use tokenline::json::Raw;
use tokenline::llm::Usage;

use crate::verbatim::verbatim;

/// An event of a run, as `@ag-ui/client` reads it. Members that are not set are absent.
///
/// Left out: chunks, which say the same as start, content and end; snapshots of messages; activities; subagents.
///
/// ```
/// use tokenline_axum::ag_ui::AgUiEvent;
///
/// let event = AgUiEvent::TextMessageEnd { message_id: "run-1-1".to_owned() };
/// assert_eq!(event.to_json(), r#"{"type":"TEXT_MESSAGE_END","messageId":"run-1-1"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AgUiEvent {
    /// The run begins.
    RunStarted {
        /// The conversation.
        thread_id: String,
        /// The run.
        run_id: String,
    },
    /// The run is complete.
    RunFinished {
        /// The conversation.
        thread_id: String,
        /// The run.
        run_id: String,
        /// How it ended.
        outcome: RunOutcome,
        /// The tokens of its responses.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    /// The run failed. What is open stays open.
    RunError {
        /// The reason, for people.
        message: String,
        /// The code of the error.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The tokens of its responses.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    /// A step begins: one response of the model, with the results of its tools.
    StepStarted {
        /// The name of the step.
        step_name: String,
    },
    /// A step is complete.
    StepFinished {
        /// The name of the step.
        step_name: String,
    },
    /// A message of text begins.
    TextMessageStart {
        /// The id of the message.
        message_id: String,
        /// Who speaks.
        role: AgUiRole,
    },
    /// More of a text.
    TextMessageContent {
        /// The id of the message.
        message_id: String,
        /// The next piece, which is not empty.
        delta: String,
    },
    /// A text is complete.
    TextMessageEnd {
        /// The id of the message.
        message_id: String,
    },
    /// A tool call begins.
    ToolCallStart {
        /// The id of the call.
        tool_call_id: String,
        /// The tool's name.
        tool_call_name: String,
        /// The message that the call belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<String>,
    },
    /// More arguments of a tool call.
    ToolCallArgs {
        /// The id of the call.
        tool_call_id: String,
        /// The next piece of their JSON text.
        delta: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// The id of the call.
        tool_call_id: String,
    },
    /// The result of a tool call.
    ToolCallResult {
        /// The id of the message with the result.
        message_id: String,
        /// The id of the call.
        tool_call_id: String,
        /// The result: text, or JSON as text.
        content: String,
        /// Always [`AgUiRole::Tool`].
        role: AgUiRole,
    },
    /// The state, complete.
    StateSnapshot {
        /// The state.
        #[serde(serialize_with = "verbatim")]
        snapshot: Raw,
    },
    /// Changes of the state.
    StateDelta {
        /// A JSON Patch (RFC 6902): an array of operations.
        #[serde(serialize_with = "verbatim")]
        delta: Raw,
    },
    /// Reasoning begins.
    ReasoningStart {
        /// The id of the reasoning.
        message_id: String,
    },
    /// A message of reasoning begins.
    ReasoningMessageStart {
        /// The id of the message.
        message_id: String,
        /// Always [`AgUiRole::Reasoning`].
        role: AgUiRole,
    },
    /// More of the reasoning.
    ReasoningMessageContent {
        /// The id of the message.
        message_id: String,
        /// The next piece, which is not empty.
        delta: String,
    },
    /// A message of reasoning is complete.
    ReasoningMessageEnd {
        /// The id of the message.
        message_id: String,
    },
    /// The reasoning is complete.
    ReasoningEnd {
        /// The id of the reasoning.
        message_id: String,
    },
    /// Something of the application.
    Custom {
        /// Its name.
        name: String,
        /// Its value.
        #[serde(serialize_with = "verbatim")]
        value: Raw,
    },
}

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AgUiRole {
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// The model, to itself.
    Reasoning,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum RunOutcome {
    /// It is complete.
    Success {
        /// The calls without a result: the front end runs their tools.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    /// It was cancelled.
    Cancelled,
}

/// The tokens of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenUsage {
    /// Tokens of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the response, including reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input and output tokens together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Output tokens used for reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Input tokens read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Input tokens written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
}

impl AgUiEvent {
    /// The event as JSON, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an event consists of strings and valid JSON")
    }
}

impl From<&Usage> for TokenUsage {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_input_tokens: usage.cache_creation_input_tokens,
        }
    }
}
